//! Ctrl-Z while genba holds threads of a program: they would be held for as long as genba is stopped.
//! Owns: that those signals wait until no thread is held, and are forgotten when SIGCONT comes before that, as the kernel does.
//! Never: touches a signal that somebody handles or ignores already, hopes for anything against SIGSTOP.
//!
//! A mask would not do: the signal is for the process, so any thread without that mask would take it, and stop them all.
//! Source: signal(7), Linux kernel/signal.c (`complete_signal`, `do_signal_stop`).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::libc::c_int;
use nix::sys::signal::{self, SaFlags, SigAction, SigHandler, SigSet, Signal};

const STOPPING: [Signal; 3] = [Signal::SIGTSTP, Signal::SIGTTIN, Signal::SIGTTOU];
static CAME: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];
static HELD: Mutex<Held> = Mutex::new(Held { count: 0, before: [None; 3], continuing: None });

struct Held {
    /// Of those that hold threads at this moment.
    count: usize,
    before: [Option<SigAction>; 3],
    /// Of SIGCONT.
    continuing: Option<SigAction>,
}

/// As long as there is one, Ctrl-Z waits. Begins before the first thread is stopped, and ends after the tracer.
#[must_use]
pub struct Unstopped(());

impl Unstopped {
    pub fn begin() -> Unstopped {
        let mut held = held();
        if held.count == 0 {
            held.before = STOPPING.map(|signal| {
                // With a handler a write to the terminal would begin again and again.
                let is_ignored = signal == Signal::SIGTTOU;
                put_off(signal, if is_ignored { SigHandler::SigIgn } else { SigHandler::Handler(note) })
            });
            held.continuing = put_off(Signal::SIGCONT, SigHandler::Handler(forget));
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
        if let Some(before) = held.continuing.take() {
            set(Signal::SIGCONT, &before);
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

/// What was set before, if it was the default.
fn put_off(signal: Signal, handler: SigHandler) -> Option<SigAction> {
    let before = set(signal, &SigAction::new(handler, SaFlags::SA_RESTART, SigSet::empty()))?;
    if matches!(before.handler(), SigHandler::SigDfl) {
        return Some(before);
    }
    set(signal, &before);
    None
}

fn set(signal: Signal, action: &SigAction) -> Option<SigAction> {
    // SAFETY: it is what was set before, or `note` or `forget`, which only store to atomics.
    unsafe { signal::sigaction(signal, action) }.ok()
}

extern "C" fn note(number: c_int) {
    for (signal, came) in STOPPING.iter().zip(&CAME) {
        if *signal as c_int == number {
            came.store(true, Ordering::Relaxed);
        }
    }
}

extern "C" fn forget(_: c_int) {
    for came in &CAME {
        came.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::{CAME, Unstopped, signal};
    use std::sync::atomic::Ordering;

    const TSTP: u64 = 1 << 19;
    const CONT: u64 = 1 << 17;

    fn has(set: &str) -> bool {
        has_signal(set, TSTP)
    }

    fn has_signal(set: &str, wanted: u64) -> bool {
        let status = std::fs::read_to_string("/proc/self/status").expect("a /proc");
        let text = status.lines().find_map(|line| line.strip_prefix(set)?.strip_prefix(":\t"));
        u64::from_str_radix(text.expect("a set of signals"), 16).is_ok_and(|signals| signals & wanted != 0)
    }

    #[test]
    fn a_ctrl_z_that_is_taken_back_stops_nothing() {
        if has("SigIgn") || has_signal("SigIgn", CONT) {
            return eprintln!("skipped: whoever started the tests ignores SIGTSTP or SIGCONT");
        }
        let unstopped = Unstopped::begin();
        signal::raise(signal::Signal::SIGTSTP).expect("a handler notes it");
        let has_come = CAME[0].load(Ordering::Relaxed);
        signal::raise(signal::Signal::SIGCONT).expect("a handler forgets it");
        // Else the tests would stop here.
        let stays = CAME[0].swap(false, Ordering::Relaxed);
        drop(unstopped);
        assert_eq!((has_come, stays), (true, false));
    }

    #[test]
    fn the_last_one_that_holds_threads_gives_ctrl_z_back() {
        if has("SigIgn") {
            return eprintln!("skipped: whoever started the tests ignores SIGTSTP");
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
