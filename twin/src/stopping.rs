//! Stops one thread of a process and lets it go on: `PTRACE_SEIZE`, `PTRACE_INTERRUPT`, registers, detach.
//! Owns: every ptrace call. Never: leaves a thread stopped (a `Stopped` detaches when it is dropped), swallows a signal.
//!
//! A thread is seized for each stop anew, so that signals between stops reach it without a detour.

use std::io::Error;

/// A stopped thread. Dropped, it runs on.
pub struct Stopped {
    tid: i32,
    /// A signal that was about to be delivered: handed on when the thread goes on.
    signal: i32,
}

#[derive(Clone, Copy, Debug)]
pub struct Registers {
    pub rip: u64,
    pub rsp: u64,
    pub rbp: u64,
}

/// What the thread did when it was asked to stop.
pub enum Stop {
    At(Stopped, Registers),
    /// A signal came first: where the thread stands now is decided by that signal and not by chance.
    Signalled,
}

pub fn stop(tid: i32) -> Result<Stop, String> {
    request(libc::PTRACE_SEIZE, tid, 0)?;
    let mut stopped = Stopped { tid, signal: 0 };
    request(libc::PTRACE_INTERRUPT, tid, 0)?;
    let mut status = 0;
    // SAFETY: waits for a thread that this one has seized; `status` is written only.
    if unsafe { libc::waitpid(tid, &raw mut status, libc::__WALL) } != tid {
        return Err(format!("cannot wait for thread {tid}: {}", Error::last_os_error()));
    }
    if !libc::WIFSTOPPED(status) {
        stopped.signal = -1;
        return Err(format!("thread {tid} ended (status {status:#x})"));
    }
    if status >> 16 != libc::PTRACE_EVENT_STOP {
        stopped.signal = libc::WSTOPSIG(status);
        return Ok(Stop::Signalled);
    }
    let registers = stopped.registers()?;
    Ok(Stop::At(stopped, registers))
}

impl Stopped {
    fn registers(&self) -> Result<Registers, String> {
        // SAFETY: plain numbers, for which zero is a value.
        let mut all: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        request(libc::PTRACE_GETREGS, self.tid, (&raw mut all) as usize)?;
        Ok(Registers { rip: all.rip, rsp: all.rsp, rbp: all.rbp })
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        if self.signal >= 0 {
            // A thread that was killed meanwhile needs no detaching.
            let _ = request(libc::PTRACE_DETACH, self.tid, self.signal as usize);
        }
    }
}

fn request(what: libc::c_uint, tid: i32, data: usize) -> Result<(), String> {
    // SAFETY: the requests used here take no address, and as data a number or a user_regs_struct of the caller.
    let done = unsafe { libc::ptrace(what, tid, 0_usize, data) };
    if done == 0 { Ok(()) } else { Err(format!("ptrace request {what:#x} on {tid}: {}", Error::last_os_error())) }
}
