//! A call that a signal of the program's ends is ended, also where genba's signal comes with that one. The thread has no CPU until both wait for
//! it: it runs only when nobody else wants its CPU, and somebody does. From then on it has every CPU, so that a busy machine ends it too.
//! A target of its own: it installs the process's handlers of signals, and says which process the handler is in.

use genba_signal::genba_on_sample;
use genba_signal::handler::{SAMPLE_CODE, SHARED};
use genba_signal::kept::HANDLER_MASK;
use std::io::{Error, ErrorKind, Read, Write};
use std::os::fd::FromRawFd;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::time::Duration;
use std::{fs, mem, ptr, thread};

const ROUNDS: u32 = 20;
static HANDLED: AtomicU32 = AtomicU32::new(0);

extern "C" fn count(_: i32) {
    HANDLED.fetch_add(1, SeqCst);
}

fn install(signal: i32, handler: usize, flags: i32, mask: u64) {
    // SAFETY: a handler of the right shape, and a mask that the kernel's 64 signals fill.
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        (action.sa_sigaction, action.sa_flags) = (handler, flags);
        (&raw mut action.sa_mask).cast::<u64>().write(mask);
        assert_eq!(libc::sigaction(signal, &raw const action, ptr::null_mut()), 0);
    }
}

fn mask(how: i32, signal: i32) {
    // SAFETY: a mask on this stack.
    unsafe {
        let mut set: libc::sigset_t = mem::zeroed();
        libc::sigaddset(&raw mut set, signal);
        libc::pthread_sigmask(how, &raw const set, ptr::null_mut());
    }
}

/// All CPUs that the calling thread may use.
fn all_cpus() -> libc::cpu_set_t {
    // SAFETY: a set on this stack.
    unsafe {
        let mut set: libc::cpu_set_t = mem::zeroed();
        assert_eq!(libc::sched_getaffinity(0, size_of_val(&set), &raw mut set), 0);
        set
    }
}

/// The first of them alone.
fn first_cpu(all: &libc::cpu_set_t) -> libc::cpu_set_t {
    // SAFETY: sets on this stack.
    unsafe {
        let mut first: libc::cpu_set_t = mem::zeroed();
        let cpu = (0..libc::CPU_SETSIZE as usize).find(|&cpu| libc::CPU_ISSET(cpu, all)).expect("a CPU");
        libc::CPU_SET(cpu, &mut first);
        first
    }
}

/// A thread (0: this one) runs on these CPUs only. False: it has ended.
fn pin(tid: i32, cpus: &libc::cpu_set_t) -> bool {
    // SAFETY: reads the set.
    unsafe { libc::sched_setaffinity(tid, size_of_val(cpus), cpus) == 0 }
}

/// From now on a thread runs only when nobody else wants its CPU, or as any other. False: it has ended, or that takes rights.
fn run_idly(tid: i32, idly: bool) -> bool {
    let policy = if idly { libc::SCHED_IDLE } else { libc::SCHED_OTHER };
    // SAFETY: a record on this stack.
    unsafe {
        let parameter: libc::sched_param = mem::zeroed();
        libc::sched_setscheduler(tid, policy, &raw const parameter) == 0
    }
}

/// genba's signal to one thread, if it is still there, with a ticket of no open question.
fn ask(tid: i32) {
    // SAFETY: a siginfo of the kernel's size; a process may send itself any with a negative code.
    unsafe {
        let mut info = [0_u64; 16];
        info[0] = libc::SIGURG as u64;
        info[1] = u64::from(SAMPLE_CODE as u32);
        info[2] = u64::from(std::process::id());
        info[3] = u64::MAX;
        let pid = std::process::id() as i32;
        libc::syscall(libc::SYS_rt_tgsigqueueinfo, pid, tid, libc::SIGURG, info.as_ptr());
    }
}

fn sleeps_in_read(tid: i32) -> bool {
    fs::read_to_string(format!("/proc/self/task/{tid}/syscall")).is_ok_and(|words| words.starts_with("0 "))
}

/// A read from a pipe without data meets SIGVTALRM and genba's signal at the same time. What the call returns, if anything ends it.
fn ended(flags: i32, blocked: bool) -> Option<ErrorKind> {
    install(libc::SIGVTALRM, count as *const () as usize, flags, 0);
    let mut ends = [0_i32; 2];
    // SAFETY: two descriptors, each owned by one file from here on.
    let (mut reader, mut writer) = unsafe {
        assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
        (fs::File::from_raw_fd(ends[0]), fs::File::from_raw_fd(ends[1]))
    };
    let (tid, busy, began) = (AtomicI32::new(0), AtomicBool::new(true), AtomicBool::new(false));
    let (told, result) = channel();
    let all = all_cpus();
    let first = first_cpu(&all);
    thread::scope(|scope| {
        scope.spawn(|| {
            mask(if blocked { libc::SIG_BLOCK } else { libc::SIG_UNBLOCK }, libc::SIGVTALRM);
            // SAFETY: asks.
            tid.store(unsafe { libc::gettid() }, SeqCst);
            // SAFETY: one byte on this stack; `Read` would repeat a call that was ended.
            let done = unsafe { libc::read(ends[0], [0_u8; 1].as_mut_ptr().cast(), 1) };
            let _ = told.send((done < 0).then(|| Error::last_os_error().kind()));
        });
        while tid.load(SeqCst) == 0 || !sleeps_in_read(tid.load(SeqCst)) {
            thread::sleep(Duration::from_millis(1));
        }
        scope.spawn(|| {
            assert!(pin(0, &first));
            began.store(true, SeqCst);
            while busy.load(SeqCst) {
                std::hint::spin_loop();
            }
        });
        while !began.load(SeqCst) {
            thread::sleep(Duration::from_millis(1));
        }
        assert!(pin(tid.load(SeqCst), &first) && run_idly(tid.load(SeqCst), true));
        // SAFETY: sends. Of two signals to a thread the kernel delivers the lower number first, here SIGURG, as it delivers a thread's before the
        // process's.
        unsafe { libc::syscall(libc::SYS_tgkill, std::process::id() as i32, tid.load(SeqCst), libc::SIGVTALRM) };
        ask(tid.load(SeqCst));
        busy.store(false, SeqCst);
        pin(tid.load(SeqCst), &all);
        // Without rights it waits for a CPU that nobody wants.
        run_idly(tid.load(SeqCst), false);
        let early = result.recv_timeout(Duration::from_millis(if flags == 0 && !blocked { 60_000 } else { 50 }));
        if early.is_err() {
            writer.write_all(b"x").expect("the read takes it");
            assert_eq!(result.recv(), Ok(None));
        } else {
            writer.write_all(b"x").expect("nobody reads");
            reader.read_exact(&mut [0]).expect("it is there");
        }
        early.ok().flatten()
    })
}

/// This thread may ask, take and block signals, and send none.
fn forbid_to_send() {
    const CALLS: [i64; 4] = [libc::SYS_kill, libc::SYS_tgkill, libc::SYS_rt_sigqueueinfo, libc::SYS_rt_tgsigqueueinfo];
    let step = |code: u32, yes: u8, k: u32| libc::sock_filter { code: code as u16, jt: yes, jf: 0, k };
    let mut steps = vec![step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0)];
    for (at, &call) in CALLS.iter().enumerate() {
        steps.push(step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, (CALLS.len() - at) as u8, call as u32));
    }
    steps.push(step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW));
    steps.push(step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32));
    let program = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: the kernel copies the program.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program), 0);
    }
}

/// A signal for the process waits while a thread is about to call `read` again. In a child, which has no thread of the tests' beside that one.
/// `is_taken`: another thread takes the signal first. `is_filtered`: a filter forbids this thread, and no other one, to send signals. Whether the
/// call ended, and whether the signal was this thread's alone from then on.
fn ended_by_one_for_the_process(is_taken: bool, is_filtered: bool) -> (bool, bool) {
    const RIP: usize = 5 + 16;
    const RAX: usize = 5 + 13;
    const RCX: usize = 5 + 14;
    const SYSCALL: u64 = 0x1000;
    // SAFETY: the child ends below; no other thread runs here but the one that waits for this.
    let child = unsafe { libc::fork() };
    if child != 0 {
        let mut status = 0;
        // SAFETY: waits for that child.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        let code = libc::WEXITSTATUS(status);
        assert!(libc::WIFEXITED(status) && code < 4, "{status}");
        return (code & 1 != 0, code & 2 != 0);
    }
    let pid = std::process::id();
    SHARED.pid.store(pid, SeqCst);
    mask(libc::SIG_BLOCK, libc::SIGVTALRM);
    let another_takes_it = || {
        let take = || {
            // SAFETY: a mask and a time on this stack.
            unsafe {
                let mut set: libc::sigset_t = mem::zeroed();
                libc::sigaddset(&raw mut set, libc::SIGVTALRM);
                let at_once: libc::timespec = mem::zeroed();
                libc::sigtimedwait(&raw const set, ptr::null_mut(), &raw const at_once) == libc::SIGVTALRM
            }
        };
        thread::spawn(take).join().is_ok_and(|taken| taken)
    };
    // SAFETY: sends to this process, whose threads all block it.
    unsafe { libc::kill(pid as i32, libc::SIGVTALRM) };
    let is_right = another_takes_it() || !is_taken;
    if !is_taken {
        // SAFETY: as above.
        unsafe { libc::kill(pid as i32, libc::SIGVTALRM) };
    }
    if is_filtered {
        forbid_to_send();
    }
    // As the kernel gives it to a handler, with SIGVTALRM open in the thread.
    let mut context = [0_u64; 128];
    (context[RIP], context[RCX], context[RAX]) = (SYSCALL, SYSCALL + 2, libc::SYS_read as u64);
    let info = [libc::SIGURG as u64, u64::from(SAMPLE_CODE as u32), u64::from(pid), u64::MAX];
    // SAFETY: two records as the kernel makes them.
    unsafe { genba_on_sample(libc::SIGURG, info.as_ptr(), context.as_mut_ptr()) };
    let has_ended = context[RIP] == SYSCALL + 2 && context[RAX] == -i64::from(libc::EINTR) as u64;
    let is_own = !another_takes_it();
    let handled = HANDLED.load(SeqCst);
    mask(libc::SIG_UNBLOCK, libc::SIGVTALRM);
    let was_handled = HANDLED.load(SeqCst) == handled + 1;
    // Else nobody has it any more.
    let is_right = is_right && (is_taken || was_handled || !is_own);
    let is_own = is_own && was_handled;
    let code = if is_right { i32::from(has_ended) | i32::from(is_own) << 1 } else { 4 };
    // SAFETY: ends the child.
    unsafe { libc::_exit(code) }
}

/// One test: signals are the process's.
#[test]
fn both_at_once() {
    SHARED.pid.store(std::process::id(), SeqCst);
    install(libc::SIGURG, genba_on_sample as *const () as usize, libc::SA_SIGINFO | libc::SA_RESTART, HANDLER_MASK);
    for round in 0..ROUNDS {
        let handled = HANDLED.load(SeqCst);
        assert_eq!(ended(0, false), Some(ErrorKind::Interrupted), "round {round}");
        assert_eq!(HANDLED.load(SeqCst), handled + 1);
    }
    assert_eq!(ended(libc::SA_RESTART, false), None, "calls go on after its handler");
    assert_eq!(ended(0, true), None, "the program blocks it");
    install(libc::SIGVTALRM, count as *const () as usize, 0, 0);
    assert_eq!(ended_by_one_for_the_process(false, false), (true, true));
    assert_eq!(ended_by_one_for_the_process(true, false), (false, false), "another thread has it");
    assert_eq!(ended_by_one_for_the_process(false, true), (true, false), "what cannot be given back is not taken");
}
