//! Real threads: in the delivery of a signal, late, in an uninterruptible call, and about to end.

use super::{STAYS_MAX, Stand, Stop, end_own_mask, has_one_to_handle, is_to_handle};
use genba_process::tracer::in_own_thread;
use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::Signal;
use nix::sys::wait::WaitStatus;
use nix::unistd::Pid;
use std::time::{Duration, Instant};

/// It is killed in the end.
struct Child(i32);

impl Child {
    /// In `epoll_wait` without a time limit. It ends when the wait does.
    fn waiting() -> Child {
        // SAFETY: the child only makes system calls, and never returns.
        let child = Child(unsafe {
            let child = libc::fork();
            if child == 0 {
                let mut event: libc::epoll_event = core::mem::zeroed();
                libc::epoll_wait(libc::epoll_create1(0), &raw mut event, 1, -1);
                libc::_exit(1);
            }
            child
        });
        assert!(child.waits());
        child
    }

    /// In a `ppoll` whose mask lets a signal through that the thread has blocked else. It ends when the wait does.
    fn masked() -> Child {
        let handler: extern "C" fn(libc::c_int) = nothing;
        // SAFETY: the child only makes system calls, and never returns.
        let child = Child(unsafe {
            let child = libc::fork();
            if child == 0 {
                let mut mask: libc::sigset_t = core::mem::zeroed();
                libc::signal(libc::SIGUSR1, handler as libc::sighandler_t);
                libc::sigaddset(&raw mut mask, libc::SIGUSR1);
                libc::sigprocmask(libc::SIG_BLOCK, &raw const mask, core::ptr::null_mut());
                libc::sigemptyset(&raw mut mask);
                libc::ppoll(core::ptr::null_mut(), 0, core::ptr::null(), &raw const mask);
                libc::_exit(1);
            }
            child
        });
        assert!(child.waits_in(libc::SYS_ppoll));
        child
    }

    /// In an uninterruptible call, as the parent of a vfork is.
    fn uninterruptible() -> Child {
        // SAFETY: both children only make system calls, and never return. Without CLONE_VM each has a memory of its own.
        let child = Child(unsafe {
            let child = libc::fork();
            if child == 0 {
                let flags = libc::c_long::from(libc::CLONE_VFORK | libc::SIGCHLD);
                if libc::syscall(libc::SYS_clone, flags, 0_usize, 0_usize, 0_usize, 0_usize) == 0 {
                    libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                    loop {
                        libc::pause();
                    }
                }
                libc::_exit(1);
            }
            child
        });
        assert!(until(|| child.is_in_state("D")));
        child
    }

    fn seized(&self) -> Stop {
        let mut stop = Stop::of(self.0.cast_unsigned());
        assert_eq!(stop.seize(), Ok(1));
        stop
    }

    fn gets(&self, signal: i32) {
        // SAFETY: numbers.
        let sent = unsafe { libc::kill(self.0, signal) };
        assert_eq!(sent, 0);
    }

    fn waits(&self) -> bool {
        self.waits_in(libc::SYS_epoll_wait)
    }

    fn waits_in(&self, number: libc::c_long) -> bool {
        let call = format!("{number} ");
        until(|| std::fs::read_to_string(format!("/proc/{}/syscall", self.0)).is_ok_and(|text| text.starts_with(&call)))
    }

    fn is_in_state(&self, letter: &str) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0)).unwrap_or_default();
        status.contains(&format!("State:\t{letter}"))
    }

    /// The signal that ended it.
    fn end(self) -> i32 {
        let mut status = 0;
        // SAFETY: a number of this process's, and the kernel writes one word.
        let ended = unsafe { libc::waitpid(self.0, &raw mut status, 0) };
        assert_eq!(ended, self.0);
        // From here on its number may be another's.
        core::mem::forget(self);
        if libc::WIFSIGNALED(status) { libc::WTERMSIG(status) } else { 0 }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // SAFETY: the number of a child that nobody else waits for.
        unsafe {
            libc::kill(self.0, libc::SIGKILL);
            libc::waitpid(self.0, core::ptr::null_mut(), 0);
        }
    }
}

extern "C" fn nothing(_: libc::c_int) {}

fn until(mut is_so: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + Duration::from_secs(5);
    while !is_so() {
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

/// As it is seized, and before it is asked to stop.
fn stopped_with(child: &Child, signal: i32) -> Stop {
    let mut stop = child.seized();
    child.gets(signal);
    assert!(until(|| child.is_in_state("t")));
    stop.interrupt();
    assert_eq!(stop.threads.values().copied().collect::<Vec<_>>(), [Stand::WithSignal(signal)]);
    assert!(stop.standing().is_empty(), "nobody is sent in place of a handler");
    stop
}

#[test]
fn a_signal_that_is_being_delivered_arrives() {
    for signal in [libc::SIGUSR1, libc::SIGRTMIN() + 5] {
        let child = Child::waiting();
        stopped_with(&child, signal).release();
        assert_eq!(child.end(), signal);
    }
    let child = Child::waiting();
    stopped_with(&child, libc::SIGCHLD).release();
    std::thread::sleep(Duration::from_millis(20));
    assert!(child.waits(), "nobody handles it, so it ends no wait");
}

#[test]
fn stops_are_told_apart() {
    let event = |signal, number| Stand::of(Ok(WaitStatus::PtraceEvent(Pid::from_raw(7), signal, number)));
    assert_eq!(event(Signal::SIGTRAP, libc::PTRACE_EVENT_STOP), Stand::Stopped);
    assert_eq!(event(Signal::SIGTSTP, libc::PTRACE_EVENT_STOP), Stand::WithAll);
    assert_eq!(event(Signal::SIGTSTP, 0), Stand::WithSignal(libc::SIGTSTP));
    assert_eq!(event(Signal::SIGTRAP, 0), Stand::WithSignal(libc::SIGTRAP));
    assert_eq!(Stand::of(Ok(WaitStatus::StillAlive)), Stand::Asked);
    assert_eq!(Stand::of(Ok(WaitStatus::Exited(Pid::from_raw(7), 0))), Stand::Gone);
    assert_eq!(Stand::of(Err(Errno::ECHILD)), Stand::Gone);
}

/// As if it had got no CPU for so long.
#[test]
fn a_wait_of_a_thread_that_stops_later_goes_on() {
    let child = Child::waiting();
    for _ in 0..20 {
        let late = || {
            let mut stop = child.seized();
            stop.ask();
            stop.release();
        };
        // Should it stop later still, its tracer's end lets it go.
        in_own_thread(late).expect("a thread that can be seized");
        std::thread::sleep(Duration::from_millis(5));
        assert!(child.waits());
    }
}

#[test]
fn nobody_waits_for_a_thread_that_stays_in_the_kernel_or_ends() {
    let child = Child::uninterruptible();
    let mut stop = child.seized();
    stop.ask();
    let began = Instant::now();
    stop.release();
    assert!(began.elapsed() < STAYS_MAX, "{:?}", began.elapsed());
    let child = Child::waiting();
    let mut stop = child.seized();
    stop.ask();
    child.gets(libc::SIGKILL);
    let began = Instant::now();
    stop.release();
    // It may get no CPU to end.
    assert!(began.elapsed() < 2 * STAYS_MAX, "{:?}", began.elapsed());
}

/// Before Linux 5.1 the mask of the call stays.
#[test]
fn a_signal_that_only_a_call_lets_through_ends_the_call_when_it_is_made_again() {
    let child = Child::masked();
    let mut stop = child.seized();
    // It may get no CPU for a while.
    assert!(until(|| {
        stop.interrupt();
        stop.is_whole()
    }));
    assert_eq!(stop.stopped(), [child.0]);
    let is_due = || is_to_handle(child.0.cast_unsigned(), child.0);
    end_own_mask(Pid::from_raw(child.0));
    child.gets(libc::SIGUSR1);
    assert!(!is_due(), "no handler runs on top of what the thread does next");
    stop.release();
    assert!(until(|| child.is_in_state("Z")), "the wait goes on without the signal");
    assert_eq!(child.end(), 0);
}

#[test]
fn a_program_that_is_about_to_stop_is_told() {
    let child = Child::waiting();
    let stop = stopped_with(&child, libc::SIGSTOP);
    assert!(stop.is_about_to_stop() && !stop.is_with_all());
    stop.release();
    assert!(until(|| child.is_in_state("T")), "and it stops");
    let child = Child::waiting();
    let stop = stopped_with(&child, libc::SIGUSR1);
    assert!(!stop.is_about_to_stop());
    stop.release();
}

#[test]
fn a_handler_is_due_where_it_is_set_and_its_signal_is_not_blocked() {
    let status = |pending: u64, shared: u64, blocked: u64, caught: u64| {
        let sets = format!("SigPnd:\t{pending:016x}\nShdPnd:\t{shared:016x}\nSigBlk:\t{blocked:016x}\n");
        format!("Name:\tpython\n{sets}SigIgn:\t0000000001001000\nSigCgt:\t{caught:016x}\n")
    };
    assert!(has_one_to_handle(&status(0x200, 0, 0, 0x200)) && has_one_to_handle(&status(0, 0x200, 0x100, 0x300)));
    assert!(!has_one_to_handle(&status(0x200, 0x200, 0x200, 0x200)), "blocked");
    assert!(!has_one_to_handle(&status(0x200, 0x200, 0, 0x100)), "nobody handles it");
    assert!(!has_one_to_handle(&status(0, 0, 0, u64::MAX)) && !has_one_to_handle(""));
}
