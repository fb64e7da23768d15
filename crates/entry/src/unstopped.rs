//! Ctrl-Z while genba holds threads of a program: they would be held for as long as genba is stopped.
//! Owns: that those signals wait until no thread is held. Never: touches a signal that somebody handles or ignores already, hopes for anything
//! against SIGSTOP.
//!
//! A mask would not do: the signal is for the process, so any thread without that mask would take it, and stop them all.
//! Source: signal(7), Linux kernel/signal.c (`complete_signal`, `do_signal_stop`).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::libc::c_int;
use nix::sys::signal::{self, SaFlags, SigAction, SigHandler, SigSet, Signal};

const STOPPING: [Signal; 3] = [Signal::SIGTSTP, Signal::SIGTTIN, Signal::SIGTTOU];
static CAME: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];
static HELD: Mutex<Held> = Mutex::new(Held { count: 0, before: [None; 3] });

struct Held {
    /// Of those that hold threads at this moment.
    count: usize,
    before: [Option<SigAction>; 3],
}

/// As long as there is one, Ctrl-Z waits. Begins before the first thread is stopped, and ends after the tracer.
#[must_use]
pub struct Unstopped(());

impl Unstopped {
    pub fn begin() -> Unstopped {
        let mut held = held();
        if held.count == 0 {
            held.before = STOPPING.map(put_off);
        }
        held.count += 1;
        Unstopped(())
    }
}

impl Drop for Unstopped {
    fn drop(&mut self) {
        let mut held = held();
        held.count -= 1;
        if held.count > 0 {
            return;
        }
        for (signal, before) in STOPPING.into_iter().zip(std::mem::take(&mut held.before)) {
            if let Some(before) = before {
                set(signal, &before);
            }
        }
        drop(held);
        for (signal, came) in STOPPING.into_iter().zip(&CAME) {
            if came.swap(false, Ordering::Relaxed) {
                let _ = signal::raise(signal);
            }
        }
    }
}

fn held() -> MutexGuard<'static, Held> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What was set before, if it was to stop.
fn put_off(signal: Signal) -> Option<SigAction> {
    // With a handler a write to the terminal would begin again and again.
    let handler = if signal == Signal::SIGTTOU { SigHandler::SigIgn } else { SigHandler::Handler(note) };
    let before = set(signal, &SigAction::new(handler, SaFlags::SA_RESTART, SigSet::empty()))?;
    if matches!(before.handler(), SigHandler::SigDfl) {
        return Some(before);
    }
    set(signal, &before);
    None
}

fn set(signal: Signal, action: &SigAction) -> Option<SigAction> {
    // SAFETY: it is what was set before, or `note`, which only stores to an atomic.
    unsafe { signal::sigaction(signal, action) }.ok()
}

extern "C" fn note(number: c_int) {
    for (signal, came) in STOPPING.iter().zip(&CAME) {
        if *signal as c_int == number {
            came.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Unstopped;

    const TSTP: u64 = 1 << 19;

    fn has(set: &str) -> bool {
        let status = std::fs::read_to_string("/proc/self/status").expect("a /proc");
        let text = status.lines().find_map(|line| line.strip_prefix(set)?.strip_prefix(":\t"));
        u64::from_str_radix(text.expect("a set of signals"), 16).is_ok_and(|signals| signals & TSTP != 0)
    }

    #[test]
    fn the_last_one_that_holds_threads_gives_ctrl_z_back() {
        if has("SigIgn") {
            return;
        }
        let first = Unstopped::begin();
        let second = Unstopped::begin();
        assert!(has("SigCgt"));
        drop(first);
        assert!(has("SigCgt"));
        drop(second);
        // Other tests hold threads, too, for a moment.
        while has("SigCgt") {
            std::thread::yield_now();
        }
        assert!(!has("SigIgn"));
    }
}
