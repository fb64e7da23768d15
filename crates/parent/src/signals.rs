//! Signals that wait until a thread takes them, with all that the kernel tells of them, and go on to another process.
//! Owns: the mask, the wait, the sending. Never: has a handler: a signal that is blocked interrupts no call, stops nobody and ends nobody, a real-time one
//! queues with its value, and one that is ignored waits like any other (signal(7)).

use std::ffi::c_int;
use std::io;

/// The signals that a thread blocks.
#[derive(Clone, Copy)]
pub struct Mask(libc::sigset_t);

/// Who made a signal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// A process, by `kill`, `sigqueue` or the like.
    Sent,
    /// The kernel: a key or the end of a terminal, a timer, a file, a child, a mistake of this process's.
    Kernel,
}

/// A signal that was taken.
pub struct Arrived(libc::siginfo_t);

impl Mask {
    /// Blocks every signal in this thread and in all that it makes from here on. What was blocked before.
    ///
    /// # Errors
    /// The kernel's.
    pub fn block_all() -> io::Result<Mask> {
        let (all, mut before) = (all(), Mask(none()));
        // SAFETY: reads one set and writes another, both on this stack.
        answer(unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before.0) })?;
        Ok(before)
    }

    /// This thread blocks these and no others.
    ///
    /// # Errors
    /// The kernel's.
    pub fn set(self) -> io::Result<()> {
        // SAFETY: reads one set on this stack.
        answer(unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, core::ptr::null_mut()) })
    }
}

/// From here on Ctrl-Z, and reading or writing on a terminal in the background, stop this process as any other. What came before was the program's,
/// and nobody may have taken it yet.
pub fn unblock_stops() {
    let mut stops = none();
    let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: sets and a time on this stack, and signals that there are.
    unsafe {
        for signal in [libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU] {
            libc::sigaddset(&raw mut stops, signal);
        }
        while libc::sigtimedwait(&raw const stops, core::ptr::null_mut(), &raw const at_once) > 0 {}
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const stops, core::ptr::null_mut());
    }
}

/// Waits for the next signal. Every thread of this process blocks all of them.
#[must_use]
pub fn next_signal() -> Arrived {
    let all = all();
    loop {
        // SAFETY: reads a set and writes one siginfo, both on this stack.
        unsafe {
            let mut arrived: libc::siginfo_t = core::mem::zeroed();
            if libc::sigwaitinfo(&raw const all, &raw mut arrived) > 0 {
                return Arrived(arrived);
            }
        }
    }
}

impl Arrived {
    #[must_use]
    pub const fn signal(&self) -> c_int {
        self.0.si_signo
    }

    #[must_use]
    pub fn origin(&self) -> Origin {
        // SAFETY: these codes have a pid beside them (sigaction(2)).
        let from_here = self.is_plain() && unsafe { self.0.si_pid() } == std::process::id().cast_signed();
        // The kernel writes the process's own pid where a write of its own was too much (SIGPIPE, SIGXFSZ).
        if self.0.si_code > 0 || from_here { Origin::Kernel } else { Origin::Sent }
    }

    /// By `kill` or one of its kind, which queue no value.
    const fn is_plain(&self) -> bool {
        matches!(self.0.si_code, libc::SI_USER | libc::SI_TKILL)
    }

    /// Sends it to another process: where it has a value, with that and with the sender it names.
    pub fn pass_on(&self, pid: u32) {
        let pid = pid.cast_signed();
        // SAFETY: the kernel reads the siginfo. It takes codes below 0 but one (rt_sigqueueinfo(2)).
        let is_queued = self.0.si_code < 0
            && !self.is_plain()
            && unsafe { libc::syscall(libc::SYS_rt_sigqueueinfo, pid, self.signal(), &raw const self.0) } == 0;
        if !is_queued {
            // SAFETY: plain numbers. Where the process has ended there is nothing to pass on to.
            unsafe { libc::kill(pid, self.signal()) };
        }
    }
}

fn none() -> libc::sigset_t {
    // SAFETY: writes one set on this stack.
    unsafe {
        let mut set = core::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        set
    }
}

/// All but the two that glibc keeps to itself.
fn all() -> libc::sigset_t {
    let mut set = none();
    // SAFETY: writes one set on this stack.
    unsafe { libc::sigfillset(&raw mut set) };
    set
}

fn answer(error: c_int) -> io::Result<()> {
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}

#[cfg(test)]
mod tests {
    use super::{Mask, unblock_stops};

    #[test]
    fn a_stop_from_before_stops_nobody() {
        let before = Mask::block_all().unwrap();
        // SAFETY: a signal for this thread, which blocks it.
        unsafe { libc::raise(libc::SIGTSTP) };
        unblock_stops();
        before.set().unwrap();
    }
}
