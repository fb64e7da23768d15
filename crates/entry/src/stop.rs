//! All threads of a process, stopped for a moment.
//! Owns: seizing and letting go, and what each waited signal is. Never: leaves a thread stopped: when the tracing thread ends, however it does,
//! the kernel lets all go on. Source: ptrace(2), PTRACE_SEIZE and PTRACE_INTERRUPT.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::libc::user_regs_struct;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::Signal;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;

use crate::spot::{GOES_ON, NO_HANDLER, is_cut_short};

/// A thread in an uninterruptible call stops when it leaves the kernel. It is not waited for: until then it does nothing.
const STOP_MAX: Duration = Duration::from_millis(20);
/// Threads that are made while others are being stopped are found in the next round.
const ROUNDS_MAX: usize = 10;

/// What stops a whole program. Source: Linux, kernel/signal.c (`do_signal_stop`); ptrace(2), group-stop.
pub const STOPPING: [Signal; 4] = [Signal::SIGSTOP, Signal::SIGTSTP, Signal::SIGTTIN, Signal::SIGTTOU];

/// How a thread stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stand {
    /// Asked to stop.
    Asked,
    Stopped,
    /// By the program's own SIGSTOP or Ctrl-Z, with all others.
    WithAll,
    /// In the delivery of a signal, which it gets when it goes on.
    WithSignal(Signal),
    Gone,
}

/// The threads of one process, traced by the calling thread.
pub struct Stop {
    pid: u32,
    threads: BTreeMap<i32, Stand>,
    began: Instant,
}

impl Stop {
    /// Seizes all threads and stops them.
    ///
    /// # Errors
    /// The kernel's, of the first thread: `EPERM` (not allowed, or traced by another), `ESRCH`.
    pub fn all(pid: u32) -> Result<Stop, Errno> {
        let mut stop = Stop { pid, threads: BTreeMap::new(), began: Instant::now() };
        for _ in 0..ROUNDS_MAX {
            let new: Vec<i32> = thread_ids(pid).into_iter().filter(|tid| !stop.threads.contains_key(tid)).collect();
            if new.is_empty() {
                break;
            }
            for tid in new {
                match ptrace::seize(Pid::from_raw(tid), Options::empty()) {
                    Ok(()) => drop(stop.threads.insert(tid, Stand::Asked)),
                    // It has ended, or ends at this moment: then the kernel says EPERM.
                    Err(Errno::ESRCH | Errno::EPERM) if !is_alive(pid, tid) => {
                        stop.threads.insert(tid, Stand::Gone);
                    }
                    Err(error) => {
                        stop.release();
                        return Err(error);
                    }
                }
            }
            stop.interrupt();
        }
        if stop.threads() == 0 { Err(Errno::ESRCH) } else { Ok(stop) }
    }

    fn interrupt(&mut self) {
        for (&tid, stand) in &mut self.threads {
            if *stand == Stand::Asked && ptrace::interrupt(Pid::from_raw(tid)).is_err() {
                *stand = Stand::Gone;
            }
        }
        let deadline = Instant::now() + STOP_MAX;
        while self.look() && Instant::now() < deadline {
            std::thread::yield_now();
        }
    }

    /// Whether a thread has still not stopped.
    fn look(&mut self) -> bool {
        for (&tid, stand) in &mut self.threads {
            if *stand != Stand::Asked {
                continue;
            }
            match how_it_stands(Pid::from_raw(tid)) {
                Ok(WaitStatus::PtraceEvent(_, signal, _)) if STOPPING.contains(&signal) => *stand = Stand::WithAll,
                Ok(WaitStatus::PtraceEvent(..)) => *stand = Stand::Stopped,
                Ok(WaitStatus::Stopped(_, signal)) => *stand = Stand::WithSignal(signal),
                Ok(WaitStatus::StillAlive) => continue,
                // Or a real-time signal is on its way, for which there is no name here: the end of this tracer lets it through.
                _ => *stand = Stand::Gone,
            }
            // At once: should genba be killed, no wait is broken either.
            if matches!(stand, Stand::Stopped | Stand::WithSignal(_)) {
                let _ = registers_of(Pid::from_raw(tid));
            }
        }
        self.threads.values().any(|stand| *stand == Stand::Asked)
    }

    pub fn threads(&self) -> usize {
        self.threads.values().filter(|stand| **stand != Stand::Gone).count()
    }

    /// Whether a signal has stopped the whole program: then no thread goes on before another signal.
    pub fn is_with_all(&self) -> bool {
        self.threads.values().any(|stand| *stand == Stand::WithAll)
    }

    /// Whether each thread has stopped.
    pub fn is_whole(&self) -> bool {
        !self.threads.values().any(|stand| *stand == Stand::Asked)
    }

    /// The stopped threads to which no signal was about to be delivered, with their registers.
    pub fn standing(&self) -> Vec<(i32, user_regs_struct)> {
        let standing = self.threads.iter().filter(|(_, stand)| **stand == Stand::Stopped);
        standing.filter_map(|(&tid, _)| Some((tid, ptrace::getregs(Pid::from_raw(tid)).ok()?))).collect()
    }

    /// Those whose registers and filters can be read.
    pub fn stopped(&self) -> Vec<i32> {
        let is_stopped = |stand: &Stand| matches!(stand, Stand::Stopped | Stand::WithSignal(_));
        self.threads.iter().filter(|(_, stand)| is_stopped(stand)).map(|(&tid, _)| tid).collect()
    }

    /// Waits with a time limit begin anew with the whole of it: a filter may end the program at `restart_syscall`.
    pub fn begin_waits_anew(&self) {
        for (tid, mut registers) in self.standing() {
            begin_wait_anew(Pid::from_raw(tid), &mut registers);
        }
    }

    /// Lets one thread go on from other registers, before the others.
    ///
    /// # Errors
    /// The kernel's: it was killed.
    pub fn send(&mut self, tid: i32, registers: user_regs_struct) -> Result<(), Errno> {
        let thread = Pid::from_raw(tid);
        ptrace::setregs(thread, registers)?;
        self.threads.remove(&tid);
        ptrace::detach(thread, None)
    }

    /// Lets all go on. The time from the first that was stopped to the last that was let go.
    pub fn release(mut self) -> Duration {
        self.look();
        for (&tid, stand) in &self.threads {
            let signal = match stand {
                Stand::WithSignal(signal) => Some(*signal),
                Stand::Stopped | Stand::WithAll => None,
                // The kernel lets it go when this thread ends.
                Stand::Asked | Stand::Gone => continue,
            };
            // Killed meanwhile: then nobody needs it.
            let _ = ptrace::detach(Pid::from_raw(tid), signal);
        }
        self.began.elapsed()
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }
}

/// The same of one thread that stands.
pub fn begin_wait_anew(thread: Pid, registers: &mut user_regs_struct) {
    if registers.orig_rax.cast_signed() >= 0 && registers.rax.cast_signed() == GOES_ON {
        make_again(thread, registers);
    }
}

/// Of a thread that has just stopped. A wait without end that only the stop has ended goes on with the thread, also when genba is killed.
pub fn registers_of(thread: Pid) -> Result<user_regs_struct, Errno> {
    let mut registers = ptrace::getregs(thread)?;
    if is_cut_short(&registers) {
        make_again(thread, &mut registers);
    }
    Ok(registers)
}

/// When the thread goes on, unless a handler of the program's runs before: that one ends the call with EINTR, as without genba.
fn make_again(thread: Pid, registers: &mut user_regs_struct) {
    registers.rax = NO_HANDLER.cast_unsigned();
    // Killed meanwhile: then nobody needs it.
    let _ = ptrace::setregs(thread, *registers);
}

/// The kernel forgets a stop's signal once it was waited for, so it is only looked at: should this tracer end without another word, the signal
/// arrives.
pub fn how_it_stands(thread: Pid) -> Result<WaitStatus, Errno> {
    let flags = WaitPidFlag::WSTOPPED
        | WaitPidFlag::WEXITED
        | WaitPidFlag::WNOHANG
        | WaitPidFlag::WNOWAIT
        | WaitPidFlag::__WALL;
    waitid(Id::Pid(thread), flags)
}

fn is_alive(pid: u32, tid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/task/{tid}/stat")).unwrap_or_default();
    // Behind the name, which may hold any letter.
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['Z', 'X', 'x']))
}

pub fn thread_ids(pid: u32) -> Vec<i32> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}
