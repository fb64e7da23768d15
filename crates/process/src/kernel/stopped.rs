//! One thread of another process, stopped for a moment.
//! Owns: PTRACE_SEIZE, PTRACE_INTERRUPT and letting go. Never: writes registers or memory, swallows a signal of the thread's, leaves a
//! thread stopped. The tracer is a thread of its own that ends here: when the other thread does not stop in time, the kernel
//! takes the request back as that tracer ends. Source: ptrace(2); Linux, kernel/ptrace.c (`exit_ptrace`), kernel/exit.c (`wait_task_stopped`).

pub mod tracer;

use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::Signal;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;

use self::tracer::in_own_thread;
use crate::kernel::registers::Registers;
use crate::kernel::threads;

/// For so long a thread is stopped at most.
pub const STOPPED_MAX: Duration = Duration::from_millis(1);
/// A thread that waits for a CPU stops when it gets one.
const ARRIVAL_MAX: Duration = Duration::from_millis(50);
/// Until then the answer is waited for without sleeping.
const SPIN_MAX: Duration = Duration::from_micros(300);
const HIGHEST_PRIORITY: i32 = -20;
const NAP: Duration = Duration::from_micros(50);

/// What `work` gave, and what the stop cost.
#[derive(Clone, Copy, Debug)]
pub struct Stop<T> {
    pub found: T,
    /// At most so long it was stopped.
    pub stopped_ns: u64,
    /// It was on no CPU when it was asked to stop.
    pub waited_for_cpu: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotStopped {
    /// The kernel says no, or another tracer has it.
    Forbidden,
    Gone,
    /// It went to sleep: no system call of its is cut short for a look.
    Asleep,
    /// It did not stop in time.
    Late,
}

/// Stops a thread that runs, does `work` and lets it go on. `work` gets the moment at which it has to be done, and the
/// thread's registers.
///
/// # Errors
/// As `NotStopped` says; then `work` was not done.
pub fn with_stopped<T: Send>(
    pid: u32,
    tid: u32,
    work: impl FnOnce(Instant, Registers) -> T + Send,
) -> Result<Stop<T>, NotStopped> {
    in_own_thread(|| trace(pid, tid, work)).unwrap_or(Err(NotStopped::Late))
}

fn trace<T>(pid: u32, tid: u32, work: impl FnOnce(Instant, Registers) -> T) -> Result<Stop<T>, NotStopped> {
    // As root it is not made to wait for a CPU while the other thread is stopped. Without the right the stop may last longer, and says so.
    let _ = rustix::process::setpriority_process(None, HIGHEST_PRIORITY);
    let thread = Pid::from_raw(tid.cast_signed());
    ptrace::seize(thread, Options::empty()).map_err(refused)?;
    let arrivals = threads::arrivals(pid, tid);
    if threads::task(pid, tid).is_none_or(|task| !task.is_runnable()) {
        return Err(NotStopped::Asleep);
    }
    ptrace::interrupt(thread).map_err(refused)?;
    let asked = Instant::now();
    let mut ran_last = asked;
    let signal = loop {
        match stop_of(thread)? {
            Some(Reached::Stop(signal)) => break signal,
            None if asked.elapsed() > ARRIVAL_MAX => return Err(NotStopped::Late),
            None => {
                ran_last = Instant::now();
                if asked.elapsed() > SPIN_MAX { std::thread::sleep(NAP) } else { std::thread::yield_now() }
            }
        }
    };
    let arrivals_now = threads::arrivals(pid, tid);
    let registers = ptrace::getregs(thread).map_or_else(|_| Registers::default(), Registers::from);
    let found = work(ran_last + STOPPED_MAX, registers);
    let _ = ptrace::detach(thread, signal);
    let stopped_ns = u64::try_from(ran_last.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let waited_for_cpu = arrivals.zip(arrivals_now).is_some_and(|(before, after)| after > before);
    Ok(Stop { found, stopped_ns, waited_for_cpu })
}

enum Reached {
    /// With the signal that it was about to get, which it gets when it goes on.
    Stop(Option<Signal>),
}

/// `None`: it runs still. The kernel forgets a stop's signal once it was waited for, so it is only looked at: should this tracer end without
/// another word, the signal arrives.
fn stop_of(thread: Pid) -> Result<Option<Reached>, NotStopped> {
    let flags = WaitPidFlag::WSTOPPED
        | WaitPidFlag::WEXITED
        | WaitPidFlag::WNOHANG
        | WaitPidFlag::WNOWAIT
        | WaitPidFlag::__WALL;
    match waitid(Id::Pid(thread), flags) {
        // To `waitid` each stop of a tracer's is a trap. In the delivery of a signal the number of its event is 0.
        Ok(WaitStatus::PtraceEvent(_, signal, 0)) => Ok(Some(Reached::Stop(Some(signal)))),
        Ok(WaitStatus::PtraceEvent(..)) => Ok(Some(Reached::Stop(None))),
        Ok(WaitStatus::StillAlive) => Ok(None),
        Ok(WaitStatus::Exited(..) | WaitStatus::Signaled(..)) | Err(Errno::ECHILD | Errno::ESRCH) => {
            Err(NotStopped::Gone)
        }
        // A real-time signal is on its way, for which this crate has no name: the end of this tracer lets it through.
        Ok(_) | Err(_) => Err(NotStopped::Late),
    }
}

const fn refused(error: Errno) -> NotStopped {
    match error {
        Errno::ESRCH => NotStopped::Gone,
        _ => NotStopped::Forbidden,
    }
}

#[cfg(test)]
mod tests {
    use super::{Options, Pid, Reached, Signal, ptrace, stop_of};
    use nix::sys::signal::kill;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;
    use std::time::{Duration, Instant};

    #[test]
    fn a_signal_that_is_being_delivered_arrives() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let thread = Pid::from_raw(child.id().cast_signed());
        ptrace::seize(thread, Options::empty()).unwrap();
        kill(thread, Signal::SIGUSR1).unwrap();
        let deadline = Instant::now() + Duration::from_secs(5);
        let signal = loop {
            match stop_of(thread) {
                Ok(Some(Reached::Stop(signal))) => break signal,
                Ok(None) if Instant::now() < deadline => std::thread::yield_now(),
                _ => break None,
            }
        };
        let _ = ptrace::detach(thread, signal);
        if signal.is_none() {
            let _ = child.kill();
        }
        assert_eq!(child.wait().unwrap().signal(), Some(Signal::SIGUSR1 as i32));
    }
}
