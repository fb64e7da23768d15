//! Handlers of the program's that ask for `SA_ONSTACK`, in builds where genba gives threads alternate stacks (alternate.rs).
//! Owns: `sigaction` for the signals that are none of genba's. Never: keeps back anything but the handler's address.
//!
//! The kernel has genba's entry (faults.rs) in the handler's place, with the program's own flags and mask.

use super::actions::{PROCESS, entry, index_of, real_sigaction};
use super::view::{VIEWS, changing};
use crate::system::proc::own_pid;
use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

pub const SIGNALS: c_int = 64;
/// The program's, where the kernel has genba's entry, and some time after: a signal may be on its way.
static HANDLERS: [AtomicUsize; SIGNALS as usize + 1] = [const { AtomicUsize::new(0) }; SIGNALS as usize + 1];

/// Go's handlers run where the kernel puts them: Go asks the kernel itself for a thread's alternate stack, takes genba's for the program's,
/// and ends the process when its handler runs elsewhere. It is known by one handler for SIGURG and SIGSEGV; genba sends nothing then.
pub fn stays(handler: usize) -> bool {
    VIEWS[..2].iter().all(|view| view.read().sa_sigaction == handler)
}

/// Those that came before genba did.
pub fn install() {
    for signal in (1..=SIGNALS).filter(|&signal| index_of(signal).is_none()) {
        // SAFETY: asks; the answer goes to a local, and is put back.
        unsafe {
            let mut now: libc::sigaction = core::mem::zeroed();
            if real_sigaction(signal, core::ptr::null(), &raw mut now) == 0 && is_concerned(&now) {
                program_sigaction(signal, &raw const now, core::ptr::null_mut());
            }
        }
    }
}

const fn is_concerned(action: &libc::sigaction) -> bool {
    action.sa_flags & libc::SA_ONSTACK != 0 && !matches!(action.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN)
}

/// The program's handler for a signal that came to genba's entry.
pub fn handler(signal: c_int) -> usize {
    HANDLERS.get(signal as usize).map_or(0, |handler| handler.load(SeqCst))
}

/// What the program believes, where the kernel tells `now`.
pub fn seen(signal: c_int, mut now: libc::sigaction) -> libc::sigaction {
    if now.sa_sigaction == entry() {
        now.sa_sigaction = handler(signal);
    }
    now
}

/// The program calls `sigaction` for `signal`, which is from 1 to `SIGNALS` and none of genba's.
///
/// # Safety
/// As `sigaction`.
pub unsafe fn program_sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    // SAFETY: null or valid, as the caller promises; what the kernel tells goes to this stack.
    unsafe {
        let mut told: libc::sigaction = core::mem::zeroed();
        let result = match new.as_ref() {
            Some(new) if PROCESS.load(SeqCst) == own_pid() => changing(|_| {
                let before = handler(signal);
                let mut given = *new;
                if is_concerned(new) && new.sa_sigaction != entry() {
                    // Before the kernel's: from there on genba's entry may be asked for it.
                    HANDLERS[signal as usize].store(new.sa_sigaction, SeqCst);
                    given.sa_sigaction = entry();
                }
                let result = real_sigaction(signal, &raw const given, &raw mut told);
                if result != 0 {
                    HANDLERS[signal as usize].store(before, SeqCst);
                } else if told.sa_sigaction == entry() {
                    told.sa_sigaction = before;
                }
                result
            }),
            // A question, or a vfork child's: the kernel's table is its own, and the handlers are its parent's.
            _ => {
                let result = real_sigaction(signal, new, &raw mut told);
                told = seen(signal, told);
                result
            }
        };
        if result == 0
            && let Some(old) = old.as_mut()
        {
            *old = told;
        }
        result
    }
}
