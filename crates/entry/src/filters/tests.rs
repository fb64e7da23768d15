//! The answers for filters as sandboxes write them, and for filters of real threads.

use super::bpf::{Instruction, value};
use super::{
    Action, Answer, Filtered, Filters, LISTS_MAX, List, Mode, answer, calls, judge, must_be_read, of_container,
};
use crate::Door;
use crate::stop::Stop;
use nix::errno::Errno;
use nix::libc::{self, *};

pub(super) const fn op(code: u32, k: u32) -> Instruction {
    Instruction { code: code as u16, if_true: 0, if_false: 0, k }
}

pub(super) const fn jump(condition: u32, k: u32, if_true: u8, if_false: u8) -> Instruction {
    Instruction { code: (BPF_JMP | condition) as u16, if_true, if_false, k }
}

pub(super) const NUMBER: Instruction = op(BPF_LD | BPF_W | BPF_ABS, 0);
const ARCH: Instruction = op(BPF_LD | BPF_W | BPF_ABS, 4);
const ARGUMENT: Instruction = op(BPF_LD | BPF_W | BPF_ABS, 16);
const X86_64: u32 = 0xc000_003e;
pub(super) const ALLOW: Instruction = op(BPF_RET, SECCOMP_RET_ALLOW);
const FAIL: Instruction = op(BPF_RET, SECCOMP_RET_ERRNO | 1);
const KILL: Instruction = op(BPF_RET, SECCOMP_RET_KILL_PROCESS);
const TRAP: Instruction = op(BPF_RET, SECCOMP_RET_TRAP);

/// As libseccomp writes it: another architecture ends the process, and what is not on the list has the last answer.
fn listed(numbers: &[i64], on_list: Instruction, otherwise: Instruction) -> Vec<Instruction> {
    let mut filter = vec![ARCH, jump(BPF_JEQ, X86_64, 1, 0), KILL, NUMBER];
    for &number in numbers {
        filter.extend([jump(BPF_JEQ, number as u32, 0, 1), on_list]);
    }
    filter.push(otherwise);
    filter
}

fn all_but(left_out: &[i64]) -> Vec<i64> {
    let numbers = calls::ALL.iter().copied().flatten().map(|&(number, _)| number);
    numbers.filter(|number| !left_out.contains(number)).collect()
}

fn refused(list: &[Vec<Instruction>]) -> Option<(&'static str, Action)> {
    match judge(&list.to_vec()) {
        Ok(()) => None,
        Err(Filtered::Call { name, action, .. }) => Some((name, action)),
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn a_list_of_what_is_allowed_must_have_every_call() {
    assert_eq!(refused(&[listed(&all_but(&[]), ALLOW, KILL)]), None, "foreign architectures are ended, ours is not");
    assert_eq!(refused(&[listed(&all_but(&[SYS_prctl]), ALLOW, KILL)]), Some(("prctl", Action::EndsProcess)));
    let thread = op(BPF_RET, SECCOMP_RET_KILL_THREAD);
    assert_eq!(refused(&[listed(&all_but(&[SYS_rseq]), ALLOW, thread)]), Some(("rseq", Action::EndsThread)));
    assert_eq!(refused(&[listed(&[SYS_read, SYS_write], ALLOW, FAIL)]), None, "an error is no harm");
}

#[test]
fn a_list_of_what_is_forbidden_counts_where_genba_calls_it() {
    assert_eq!(refused(&[listed(&[SYS_mount, SYS_reboot], KILL, ALLOW)]), None);
    assert_eq!(
        refused(&[listed(&[SYS_mount, SYS_process_vm_readv], TRAP, ALLOW)]),
        Some(("process_vm_readv", Action::RaisesSigsys))
    );
    for (answer, action) in [(SECCOMP_RET_USER_NOTIF, Action::AsksSupervisor), (SECCOMP_RET_TRACE, Action::AsksTracer)]
    {
        assert_eq!(refused(&[listed(&[SYS_openat], op(BPF_RET, answer), ALLOW)]), Some(("openat", action)));
    }
    assert_eq!(refused(&[listed(&[SYS_openat], op(BPF_RET, SECCOMP_RET_LOG), ALLOW)]), None);
    assert_eq!(
        refused(&[listed(&[SYS_openat], op(BPF_RET, 0x1234_0000), ALLOW)]),
        Some(("openat", Action::EndsProcess))
    );
}

/// Docker's: `clone` without the flags of namespaces, `clone3` does not exist.
fn clone_by_its_flags(otherwise: Instruction) -> Vec<Instruction> {
    vec![
        NUMBER,
        jump(BPF_JEQ, SYS_clone3 as u32, 0, 1),
        op(BPF_RET, SECCOMP_RET_ERRNO | ENOSYS as u32),
        jump(BPF_JEQ, SYS_clone as u32, 0, 4),
        ARGUMENT,
        op(BPF_ALU | BPF_AND, 0x7e02_0000),
        jump(BPF_JEQ, 0, 1, 0),
        otherwise,
        ALLOW,
    ]
}

#[test]
fn arguments_are_unknown() {
    assert_eq!(refused(&[clone_by_its_flags(FAIL)]), None);
    assert_eq!(refused(&[clone_by_its_flags(KILL)]), Some(("clone", Action::EndsProcess)));
    let unknown_answer = vec![ARGUMENT, op(BPF_RET | 0x10, 0)];
    assert_eq!(refused(&[unknown_answer]), Some(("rt_sigprocmask", Action::EndsProcess)));
    let divides = vec![ARGUMENT, op(BPF_MISC, 0), NUMBER, op(BPF_ALU | BPF_DIV | BPF_X, 0), ALLOW];
    assert_eq!(refused(&[divides]), Some(("rt_sigprocmask", Action::EndsThread)), "by zero");
}

#[test]
fn where_ways_meet_again_the_number_is_still_known() {
    let meets = vec![
        NUMBER,
        op(BPF_ST, 3),
        ARGUMENT,
        jump(BPF_JGT, 7, 0, 1),
        op(BPF_LDX, 5),
        op(BPF_LD | BPF_MEM, 3),
        jump(BPF_JEQ, SYS_mount as u32, 0, 1),
        KILL,
        ALLOW,
    ];
    assert_eq!(refused(std::slice::from_ref(&meets)), None);
    assert_eq!(answer(&vec![meets], SYS_mount), Some(Action::EndsProcess));
}

#[test]
fn what_differs_where_ways_meet_is_unknown() {
    for (keep, take) in [
        (vec![], vec![]),
        (vec![op(BPF_MISC, 0)], vec![op(BPF_LD | BPF_IMM, 9), op(BPF_MISC | 0x80, 0)]),
        (vec![op(BPF_ST, 7)], vec![op(BPF_LD | BPF_IMM, 9), op(BPF_LD | BPF_MEM, 7)]),
    ] {
        for number in [1, 2] {
            let way = |number: u32| [vec![op(BPF_LD | BPF_IMM, number)], keep.clone()].concat();
            let (this, that) = (way(1), way(2));
            let mut filter = vec![ARGUMENT, jump(BPF_JEQ, 7, 0, this.len() as u8 + 1)];
            filter.extend([this, vec![op(BPF_JMP | BPF_JA, that.len() as u32)], that, take.clone()].concat());
            filter.extend([jump(BPF_JEQ, number, 0, 1), KILL, ALLOW]);
            assert_eq!(refused(&[filter]), Some(("rt_sigprocmask", Action::EndsProcess)));
        }
    }
}

#[test]
fn of_several_filters_the_strictest_answers() {
    let trace = op(BPF_RET, SECCOMP_RET_TRACE);
    let [traced, failed] = [trace, FAIL].map(|answer| listed(&[SYS_prctl], answer, ALLOW));
    assert_eq!(refused(&[traced.clone(), failed.clone()]), None, "the tracer is never asked");
    assert_eq!(refused(&[failed.clone(), listed(&[SYS_prctl], KILL, ALLOW)]), Some(("prctl", Action::EndsProcess)));
    let at_times = vec![ARGUMENT, jump(BPF_JEQ, 1, 0, 1), FAIL, ALLOW];
    assert_eq!(refused(&[traced, at_times]), Some(("prctl", Action::AsksTracer)));
}

#[test]
fn what_the_kernel_takes_for_no_filter_ends_the_process_and_ends() {
    for filter in [vec![], vec![NUMBER], vec![op(BPF_JMP | BPF_JA, u32::MAX)], vec![jump(BPF_JEQ, 5, 200, 200), ALLOW]]
    {
        assert_eq!(refused(&[filter]), Some(("rt_sigprocmask", Action::EndsProcess)));
    }
}

#[test]
fn the_longest_filters_take_no_time() {
    // All its jumps are on unknown values, and each way keeps another number.
    let mut forks = vec![ARGUMENT];
    while forks.len() < 4090 {
        forks.extend([
            jump(BPF_JSET, 1, 0, 1),
            op(BPF_ALU | BPF_ADD, 1),
            op(BPF_MISC, 0),
            op(BPF_ALU | BPF_LSH | BPF_X, 0),
        ]);
    }
    forks.push(ALLOW);
    let began = std::time::Instant::now();
    assert_eq!(refused(&vec![forks; 8]), None);
    assert!(began.elapsed().as_secs() < 10, "{:?}", began.elapsed());
}

#[test]
fn the_order_of_the_actions_is_the_kernel_s() {
    let order = [
        SECCOMP_RET_KILL_PROCESS,
        SECCOMP_RET_KILL_THREAD,
        SECCOMP_RET_TRAP,
        SECCOMP_RET_ERRNO,
        SECCOMP_RET_USER_NOTIF,
        SECCOMP_RET_TRACE,
        SECCOMP_RET_LOG,
        SECCOMP_RET_ALLOW,
    ];
    assert!(order.map(value).is_sorted());
}

#[test]
fn filters_that_genba_has_too_are_not_read() {
    let status =
        |mode: u32, count: u32| Mode::parse(&format!("NoNewPrivs:\t1\nSeccomp:\t{mode}\nSeccomp_filters:\t{count}\n"));
    let must = |own: Mode, threads: &[Mode]| must_be_read(Some(own), threads.iter().copied());
    assert_eq!(must(status(0, 0), &[status(0, 0), status(0, 0)]), Ok(false));
    assert_eq!(must(status(0, 0), &[status(0, 0), status(2, 1)]), Ok(true));
    assert_eq!(must(status(2, 1), &[status(2, 1), status(0, 0)]), Ok(false));
    assert_eq!(must(status(2, 1), &[status(2, 1), status(2, 2)]), Ok(true));
    assert_eq!(must(status(2, 1), &[status(2, 1), status(1, 0)]), Err(Filtered::Strict));
    let old = Mode::parse("Seccomp:\t2\n");
    assert_eq!(must(old, &[old]), Ok(true), "nobody knows how many");
    let elsewhere = |threads: &[Mode]| must_be_read(None, threads.iter().copied());
    assert_eq!(elsewhere(&[status(2, 1)]), Ok(true), "as many as any container has");
    assert_eq!(elsewhere(&[status(0, 0)]), Ok(false));
}

/// As systemd's services in a container, each in control groups of its own.
#[test]
fn filters_of_a_whole_container_are_not_read() {
    let status = |numbers: &str, mode: u32, count: u32| {
        format!("Name:\tx\nNSpid:\t{numbers}\nSeccomp:\t{mode}\nSeccomp_filters:\t{count}\n")
    };
    let must = |own: &str, first: &str, thread: &str| {
        must_be_read(of_container(own, first), std::iter::once(Mode::parse(thread)))
    };
    let (own, first, service) = (status("70", 2, 2), status("1", 2, 2), status("40", 2, 2));
    assert_eq!(must(&own, &first, &service), Ok(false));
    assert_eq!(must(&own, &first, &status("40", 2, 3)), Ok(true), "one of the service's own");
    assert_eq!(must(&status("70", 2, 3), &first, &status("40", 2, 3)), Ok(true), "each has one of its own");
    assert_eq!(must(&own, &status("1", 2, 1), &service), Ok(true));
    assert_eq!(must(&own, &status("1", 0, 0), &service), Ok(true));
    assert_eq!(must(&own, "", &service), Ok(true), "the first one is hidden");
    assert_eq!(must(&status("4070\t70", 2, 2), &first, &service), Ok(true), "another namespace's process 1");
    assert_eq!(must("Seccomp:\t2\nSeccomp_filters:\t2\n", &first, &service), Ok(true), "an old kernel");
    let uncounted = "NSpid:\t1\nSeccomp:\t2\n";
    assert_eq!(must(uncounted, uncounted, uncounted), Ok(true), "nobody knows how many");
    assert_eq!(must(&own, &first, &status("40", 1, 0)), Err(Filtered::Strict));
}

/// A child that lives under these filters until it is killed.
struct Child(i32);

impl Child {
    fn under(filters: &[Vec<Instruction>]) -> Child {
        let mut ends = [0; 2];
        // SAFETY: the child only makes system calls, on memory that was made before the fork; it never returns.
        unsafe {
            assert_eq!(pipe(ends.as_mut_ptr()), 0);
            let child = fork();
            if child == 0 {
                let is_set = filters.iter().all(|filter| install(filter));
                write(ends[1], [u8::from(is_set)].as_ptr().cast(), 1);
                loop {
                    pause();
                }
            }
            let mut is_set = 0_u8;
            assert_eq!(read(ends[0], (&raw mut is_set).cast(), 1), 1);
            close(ends[0]);
            close(ends[1]);
            assert_eq!(is_set, 1);
            Child(child)
        }
    }

    fn check(&self) -> (Result<(), Filtered>, bool) {
        let mut filters = Filters::look(self.0.cast_unsigned(), Door::Attached).unwrap();
        let stop = Stop::all(self.0.cast_unsigned(), false).unwrap();
        let checked = filters.check(self.0);
        stop.release();
        (checked, filters.may_restart())
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // SAFETY: the number of a child that nobody else waits for.
        unsafe {
            kill(self.0, SIGKILL);
            waitpid(self.0, core::ptr::null_mut(), __WALL);
        }
    }
}

/// # Safety
/// In a child.
pub(super) unsafe fn install(filter: &[Instruction]) -> bool {
    let program = sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut().cast() };
    // SAFETY: `Instruction` has the form of `sock_filter`, and the kernel only reads.
    unsafe {
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &raw const program) == 0
    }
}

#[test]
fn the_filters_of_a_real_thread() {
    let fails = listed(&[SYS_prctl + 1000], FAIL, ALLOW);
    let kills = listed(&[SYS_rseq], KILL, ALLOW);
    let ends_waits = listed(&[SYS_restart_syscall], TRAP, ALLOW);
    let rseq = Filtered::Call { number: SYS_rseq, name: "rseq", action: Action::EndsProcess };
    let restart = Filtered::Call { number: SYS_restart_syscall, name: "restart_syscall", action: Action::RaisesSigsys };
    let cases: [(Result<(), Filtered>, bool, List); 4] = [
        (Ok(()), true, vec![]),
        (Ok(()), true, vec![fails.clone(), fails.clone()]),
        (Err(rseq), true, vec![kills, fails]),
        (Err(restart), false, vec![ends_waits]),
    ];
    for (expected, may_restart, list) in cases {
        match Child::under(&list).check() {
            // Without CAP_SYS_ADMIN, under a filter, or in a kernel without CONFIG_CHECKPOINT_RESTORE.
            (Err(Filtered::Unread(Errno::EACCES | Errno::EIO)), false) => {}
            found => assert_eq!(found, (expected, may_restart), "{list:?}"),
        }
    }
}

#[test]
fn a_wait_that_was_cut_short_begins_anew_without_restart_syscall() {
    // SAFETY: the child only makes system calls.
    let child = Child(unsafe {
        let child = fork();
        if child == 0 {
            install(&[NUMBER, jump(BPF_JEQ, SYS_restart_syscall as u32, 0, 1), KILL, ALLOW]);
            prctl(PR_SET_NAME, c"waits".as_ptr());
            loop {
                libc::poll(core::ptr::null_mut(), 0, 60_000);
            }
        }
        child
    });
    let waits =
        || std::fs::read_to_string(format!("/proc/{}/syscall", child.0)).is_ok_and(|text| text.starts_with("7 "));
    while !waits() {
        std::thread::yield_now();
    }
    // It may get no CPU for a while.
    let goes_on = || {
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(5);
        while !waits() && std::time::Instant::now() < deadline {
            std::thread::yield_now();
        }
        waits()
    };
    for _ in 0..3 {
        let stop = Stop::all(child.0.cast_unsigned(), false).unwrap();
        stop.begin_waits_anew();
        stop.release();
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!(goes_on(), "{:?}", std::fs::read_to_string(format!("/proc/{}/syscall", child.0)));
    }
    let is_held = || {
        std::fs::read_to_string(format!("/proc/{}/status", child.0)).is_ok_and(|status| status.contains("State:\tt"))
    };
    for _ in 0..3 {
        let mut stop = Stop::of(child.0.cast_unsigned());
        assert_eq!(stop.seize(), Ok(1));
        // SAFETY: numbers. Nobody handles it, so `restart_syscall` would be next.
        let sent = unsafe { kill(child.0, SIGCHLD) };
        assert_eq!(sent, 0);
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(5);
        while !is_held() {
            assert!(std::time::Instant::now() < deadline, "it has ended");
            std::thread::yield_now();
        }
        stop.interrupt();
        assert!(stop.standing().is_empty() && stop.stopped() == [child.0]);
        stop.begin_waits_anew();
        stop.release();
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!(goes_on(), "{:?}", std::fs::read_to_string(format!("/proc/{}/syscall", child.0)));
    }
}

/// One that the question before the stop did not meet.
#[test]
fn a_filter_that_was_set_since_the_look_is_asked() {
    let kills = listed(&[SYS_rseq], KILL, ALLOW);
    let mut ends = [0; 2];
    // SAFETY: the child only makes system calls, on memory that was made before the fork; it never returns.
    let child = Child(unsafe {
        assert_eq!(pipe(ends.as_mut_ptr()), 0);
        let child = fork();
        if child == 0 {
            let mut told = 0_u8;
            read(ends[0], (&raw mut told).cast(), 1);
            install(&kills);
            loop {
                pause();
            }
        }
        child
    });
    let mode = || Mode::of_thread(child.0.cast_unsigned(), child.0);
    let mut filters = Filters::look(child.0.cast_unsigned(), Door::Attached).unwrap();
    let mut check = || {
        let stop = Stop::all(child.0.cast_unsigned(), false).unwrap();
        let checked = filters.check(child.0);
        stop.release();
        checked
    };
    let (before, first) = (mode(), check());
    // SAFETY: a byte into a pipe, whose ends nobody else has.
    unsafe {
        assert_eq!(write(ends[1], [1_u8].as_ptr().cast(), 1), 1);
        close(ends[0]);
        close(ends[1]);
    }
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(5);
    while mode() == before {
        assert!(std::time::Instant::now() < deadline, "it sets no filter");
        std::thread::yield_now();
    }
    let unread = |found: Result<(), Filtered>| matches!(found, Err(Filtered::Unread(Errno::EACCES | Errno::EIO)));
    assert!(first == Ok(()) || unread(first), "{first:?}");
    let rseq = Filtered::Call { number: SYS_rseq, name: "rseq", action: Action::EndsProcess };
    let second = check();
    assert!(second == Err(rseq) || unread(second), "{second:?}");
}

#[test]
fn each_distinct_list_is_judged_once_and_the_newest_are_kept() {
    let mut filters = Filters::unasked(std::process::id(), Door::Attached);
    let fails = vec![listed(&[SYS_prctl + 1000], FAIL, ALLOW)];
    let kills = vec![listed(&[SYS_rseq], KILL, ALLOW)];
    let ends_waits = vec![listed(&[SYS_restart_syscall], TRAP, ALLOW)];
    for _ in 0..3 {
        assert_eq!(filters.judge_once(fails.clone()), Answer::FINE);
        let said = filters.judge_once(kills.clone());
        assert!(matches!(said.calls, Err(Filtered::Call { name: "rseq", .. })) && said.may_restart, "{said:?}");
        let said = filters.judge_once(ends_waits.clone());
        assert!(said.calls.is_err() && !said.may_restart, "{said:?}");
        assert_eq!(filters.judged.len(), 3);
    }
    for number in 0..LISTS_MAX as i64 {
        filters.judge_once(vec![listed(&[SYS_prctl + number], ALLOW, ALLOW)]);
    }
    assert_eq!(filters.judged.len(), LISTS_MAX);
    assert!(filters.judged.iter().all(|(list, _)| *list != fails), "the oldest has gone");
}
