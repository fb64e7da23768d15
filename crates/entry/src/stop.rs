//! All threads of a process, stopped for a moment.
//! Owns: seizing and letting go, and what each waited signal is. Never: leaves a thread stopped: when the tracing thread ends, however it does,
//! the kernel lets all go on. Sources: ptrace(2), PTRACE_SEIZE and PTRACE_INTERRUPT; Linux kernel/exit.c (`wait_task_stopped`, `wait_task_zombie`).

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use genba_process::threads;
use nix::errno::Errno;
use nix::libc::{self, c_int, user_regs_struct};
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::Signal;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;

use crate::spot::{GOES_ON, NO_HANDLER, is_cut_short};

/// A thread in an uninterruptible call stops when it leaves the kernel. It is not waited for: until then it does nothing.
const STOP_MAX: Duration = Duration::from_millis(20);
/// One that gets no CPU stops when it gets one: for so long its tracer stays, while all others run.
pub const STAYS_MAX: Duration = Duration::from_millis(500);
pub const LOOKED_EVERY: Duration = Duration::from_micros(500);
/// Threads that are made while others are being stopped are found in the next round.
const ROUNDS_MAX: usize = 10;

/// How a thread stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stand {
    /// Not asked yet.
    Seized,
    /// Asked to stop.
    Asked,
    Stopped,
    /// By the program's own SIGSTOP or Ctrl-Z, with all others.
    WithAll,
    /// In the delivery of a signal, which it gets when it goes on.
    WithSignal(c_int),
    Gone,
}

impl Stand {
    /// To `waitid` each stop of a tracer's is a trap. That of an event has its number, and in a stop of the whole program (group-stop) the signal
    /// that stopped it; in the delivery of a signal the number is 0.
    const fn of(found: Result<WaitStatus, Errno>) -> Stand {
        match found {
            Ok(WaitStatus::StillAlive) => Stand::Asked,
            Ok(WaitStatus::PtraceEvent(_, signal, 0)) => Stand::WithSignal(signal as c_int),
            Ok(WaitStatus::PtraceEvent(_, Signal::SIGTRAP, _)) => Stand::Stopped,
            Ok(WaitStatus::PtraceEvent(..)) => Stand::WithAll,
            _ => Stand::Gone,
        }
    }
}

/// The threads of one process, traced by the calling thread.
pub struct Stop {
    pid: u32,
    threads: BTreeMap<i32, Stand>,
    began: Instant,
    /// Of those that stop later, too.
    waits_begin_anew: Cell<bool>,
}

impl Stop {
    /// Seizes all threads and stops them. `may_not_restart`: a filter that nobody has read, or one that was read, may forbid `restart_syscall`.
    ///
    /// # Errors
    /// The kernel's, of the first thread: `EPERM` (not allowed, or traced by another), `ESRCH`.
    pub fn all(pid: u32, may_not_restart: bool) -> Result<Stop, Errno> {
        let mut stop = Stop::of(pid);
        for _ in 0..ROUNDS_MAX {
            match stop.seize() {
                Ok(0) => break,
                Ok(_) => stop.interrupt(),
                Err(error) => {
                    if may_not_restart {
                        stop.begin_waits_anew();
                    }
                    stop.release();
                    return Err(error);
                }
            }
        }
        if stop.threads() == 0 { Err(Errno::ESRCH) } else { Ok(stop) }
    }

    /// Of no thread yet.
    pub fn of(pid: u32) -> Stop {
        Stop { pid, threads: BTreeMap::new(), began: Instant::now(), waits_begin_anew: Cell::new(false) }
    }

    /// How many threads there are that it did not have yet.
    pub fn seize(&mut self) -> Result<usize, Errno> {
        let is_new = |tid: &i32| !self.threads.contains_key(tid);
        let new: Vec<i32> = thread_ids(self.pid).into_iter().filter(is_new).collect();
        for &tid in &new {
            let stand = match ptrace::seize(Pid::from_raw(tid), Options::empty()) {
                Ok(()) => Stand::Seized,
                // It has ended, or ends at this moment: then the kernel says EPERM.
                Err(Errno::ESRCH | Errno::EPERM) if !is_alive(self.pid, tid) => Stand::Gone,
                Err(error) => return Err(error),
            };
            self.threads.insert(tid, stand);
        }
        Ok(new.len())
    }

    pub fn interrupt(&mut self) {
        self.ask();
        let deadline = Instant::now() + STOP_MAX;
        while self.look() && Instant::now() < deadline {
            std::thread::yield_now();
        }
    }

    fn ask(&mut self) {
        for (&tid, stand) in &mut self.threads {
            if matches!(stand, Stand::Seized | Stand::Asked) {
                *stand = ptrace::interrupt(Pid::from_raw(tid)).map_or(Stand::Gone, |()| Stand::Asked);
            }
        }
    }

    /// Whether a thread that was asked has still not stopped.
    fn look(&mut self) -> bool {
        for (&tid, stand) in &mut self.threads {
            if !matches!(stand, Stand::Seized | Stand::Asked) {
                continue;
            }
            let thread = Pid::from_raw(tid);
            let now = how_it_stands(thread);
            if now == Stand::Asked {
                continue;
            }
            *stand = now;
            // At once: should genba be killed before that, the wait ends with EINTR.
            if matches!(now, Stand::Stopped | Stand::WithSignal(_))
                && let Ok(mut registers) = registers_of(thread)
                && self.waits_begin_anew.get()
            {
                begin_wait_anew(thread, &mut registers);
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

    /// Whether one that has no handler would stop it now. A SIGCONT may have come meanwhile, so the next look has to tell.
    pub fn is_about_to_stop(&self) -> bool {
        let stops = |signal| [libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU].contains(&signal);
        self.threads.values().any(|stand| matches!(*stand, Stand::WithSignal(signal) if stops(signal)))
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

    /// Of all of those.
    pub fn registers(&self) -> Vec<(i32, user_regs_struct)> {
        let stopped = self.stopped().into_iter();
        stopped.filter_map(|tid| Some((tid, ptrace::getregs(Pid::from_raw(tid)).ok()?))).collect()
    }

    /// Waits with a time limit begin anew with the whole of it: a filter may end the program at `restart_syscall`. Where no handler runs after the
    /// delivery of a signal, that call is next there, too.
    pub fn begin_waits_anew(&self) {
        self.waits_begin_anew.set(true);
        for thread in self.stopped().into_iter().map(Pid::from_raw) {
            if let Ok(mut registers) = ptrace::getregs(thread) {
                begin_wait_anew(thread, &mut registers);
            }
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

    /// Lets all go on. The time from the first that was stopped to the last that was let go; then it stays for those that come later.
    pub fn release(mut self) -> Duration {
        self.look();
        self.let_go();
        let held = self.began.elapsed();
        self.stay();
        held
    }

    fn let_go(&mut self) {
        self.threads.retain(|&tid, stand| {
            let signal = match *stand {
                Stand::WithSignal(signal) => signal,
                Stand::Stopped | Stand::WithAll => 0,
                Stand::Seized | Stand::Asked | Stand::Gone => return true,
            };
            detach(Pid::from_raw(tid), signal);
            false
        });
    }

    /// The request to stop has ended their waits already, and without a tracer they return EINTR. So each is let go as it stops, and those that end
    /// are not kept: an exec of another thread waits for them. Whatever is left the kernel lets go when the calling thread ends.
    fn stay(&mut self) {
        let deadline = Instant::now() + STAYS_MAX;
        while self.look() && Instant::now() < deadline && self.expects_one() {
            self.let_go();
            self.reap();
            std::thread::sleep(LOOKED_EVERY);
        }
        self.let_go();
    }

    fn expects_one(&self) -> bool {
        self.threads.iter().any(|(&tid, stand)| *stand == Stand::Asked && is_expected(self.pid, tid))
    }

    /// The first thread is the process's, and its parent's to wait for.
    fn reap(&self) {
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::__WALL;
        for (&tid, stand) in &self.threads {
            if *stand == Stand::Gone && tid.cast_unsigned() != self.pid {
                // Gone already: then there is nobody to wait for.
                let _ = waitid(Id::Pid(Pid::from_raw(tid)), flags);
            }
        }
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }
}

/// Whether a thread that was asked stops as soon as it gets a CPU. In an uninterruptible call it may stay for long, and the call goes on.
pub fn is_expected(pid: u32, tid: i32) -> bool {
    let task = threads::task(pid, tid.cast_unsigned());
    task.is_some_and(|task| task.state != 'D' && !task.has_ended())
}

/// Of one thread that stands: its wait with a time limit begins anew.
pub fn begin_wait_anew(thread: Pid, registers: &mut user_regs_struct) {
    if registers.orig_rax.cast_signed() >= 0 && registers.rax.cast_signed() == GOES_ON {
        make_again(thread, registers);
    }
}

/// Of a thread that has just stopped. A wait without end that only the stop has ended goes on with the thread, also when genba is killed after this.
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

/// `Asked` of one that has not stopped. The kernel forgets a stop's signal once it was waited for, so it is only looked at: should this tracer end
/// without another word, the signal arrives.
pub fn how_it_stands(thread: Pid) -> Stand {
    let flags = WaitPidFlag::WSTOPPED
        | WaitPidFlag::WEXITED
        | WaitPidFlag::WNOHANG
        | WaitPidFlag::WNOWAIT
        | WaitPidFlag::__WALL;
    match waitid(Id::Pid(thread), flags) {
        // A real-time signal, which has no name here.
        Err(Errno::EINVAL) => {
            ptrace::getsiginfo(thread).map_or(Stand::Gone, |signal| Stand::WithSignal(signal.si_signo))
        }
        found => Stand::of(found),
    }
}

/// `signal`: what it was about to get, or 0. One that was killed meanwhile needs no more.
pub fn detach(thread: Pid, signal: c_int) {
    // SAFETY: the kernel takes both words as numbers.
    unsafe { libc::ptrace(libc::PTRACE_DETACH, thread.as_raw(), 0_usize, signal as usize) };
}

/// A call such as `ppoll` has a signal mask of its own while it waits: this ends that mask in a thread that is stopped within the call. A signal
/// that only the call lets through then stays pending, and ends the call when it is made again. The kernel tells the mask that the thread has
/// outside of the call, and forgets the call's when one is set. Before Linux 5.1 it tells and sets the call's, and nothing changes.
/// Source: Linux kernel/ptrace.c (`PTRACE_GETSIGMASK`, `PTRACE_SETSIGMASK`), kernel/signal.c (`set_user_sigmask`).
pub fn end_own_mask(thread: Pid) {
    let mut mask = 0_u64;
    // SAFETY: the third word is the size of a mask in bytes, and the kernel writes or reads so many.
    unsafe {
        let given = libc::ptrace(libc::PTRACE_GETSIGMASK, thread.as_raw(), size_of::<u64>(), &raw mut mask);
        if given == 0 {
            libc::ptrace(libc::PTRACE_SETSIGMASK, thread.as_raw(), size_of::<u64>(), &raw const mask);
        }
    }
}

/// Whether a signal has come for the thread or its process that a handler of the program's is due for: it runs as soon as the thread goes on.
pub fn is_to_handle(pid: u32, tid: i32) -> bool {
    has_one_to_handle(&text_of(&format!("/proc/{pid}/task/{tid}/status")))
}

/// Of a file in /proc; empty where there is none. The names of threads in it need not be text.
pub fn text_of(path: &str) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}

/// `status` has the mask that holds now, within a call that has one of its own that one.
fn has_one_to_handle(status: &str) -> bool {
    let set = |name: &str| {
        let text = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        text.and_then(|text| u64::from_str_radix(text.trim(), 16).ok()).unwrap_or(0)
    };
    (set("SigPnd") | set("ShdPnd")) & !set("SigBlk") & set("SigCgt") != 0
}

fn is_alive(pid: u32, tid: i32) -> bool {
    let stat = text_of(&format!("/proc/{pid}/task/{tid}/stat"));
    // Behind the name, which may hold any letter.
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['Z', 'X', 'x']))
}

pub fn thread_ids(pid: u32) -> Vec<i32> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests;
