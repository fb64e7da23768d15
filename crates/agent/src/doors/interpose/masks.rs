//! Calls that change a thread's mask: the program sees SIGURG blocked, and genba still samples the thread.
//! Owns: `pthread_sigmask`, `sigprocmask` and their older forms. Never: changes what the program believes: signals/mask.rs does. Programs
//! call these in signal handlers and after `vfork`.

use crate::system::real::next;
use crate::system::signals::mask;
use std::ffi::c_int;

type Set = *const libc::sigset_t;
type Old = *mut libc::sigset_t;

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_sigmask(how: c_int, set: Set, old: Old) -> c_int {
    let real = next!(c"pthread_sigmask", mask::Change, libc::ENOSYS);
    // SAFETY: the caller's promises.
    unsafe { mask::program_changes(how, set, old, real) }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigprocmask(how: c_int, set: Set, old: Old) -> c_int {
    let real = next!(c"sigprocmask", mask::Change, -1);
    // SAFETY: the caller's promises.
    unsafe { mask::program_changes(how, set, old, real) }
}

/// As BSD had it: the first 32 signals, bit n - 1 for signal n. Gives the ones before.
#[unsafe(no_mangle)]
pub extern "C" fn sigblock(signals: c_int) -> c_int {
    change_first(libc::SIG_BLOCK, signals)
}

#[unsafe(no_mangle)]
pub extern "C" fn sigsetmask(signals: c_int) -> c_int {
    change_first(libc::SIG_SETMASK, signals)
}

#[unsafe(no_mangle)]
pub extern "C" fn siggetmask() -> c_int {
    change_first(libc::SIG_BLOCK, 0)
}

/// As System V had it.
#[unsafe(no_mangle)]
pub extern "C" fn sighold(signal: c_int) -> c_int {
    change_one(libc::SIG_BLOCK, signal).map_or(-1, |_| 0)
}

#[unsafe(no_mangle)]
pub extern "C" fn sigrelse(signal: c_int) -> c_int {
    change_one(libc::SIG_UNBLOCK, signal).map_or(-1, |_| 0)
}

/// Gives whether the signal was blocked. `None`: there is no such signal; errno says so.
pub(super) fn change_one(how: c_int, signal: c_int) -> Option<bool> {
    // SAFETY: masks on this stack; `sigaddset` judges the number.
    unsafe {
        let (mut one, mut before): (libc::sigset_t, libc::sigset_t) = (core::mem::zeroed(), core::mem::zeroed());
        if libc::sigaddset(&raw mut one, signal) != 0 || sigprocmask(how, &raw const one, &raw mut before) != 0 {
            return None;
        }
        Some(mask::word(&before) & mask::bit(signal) != 0)
    }
}

fn change_first(how: c_int, signals: c_int) -> c_int {
    // SAFETY: masks on this stack, whose first eight bytes are the kernel's.
    unsafe {
        let (mut set, mut old): (libc::sigset_t, libc::sigset_t) = (core::mem::zeroed(), core::mem::zeroed());
        (&raw mut set).cast::<u64>().write(u64::from(signals as u32));
        if sigprocmask(how, &raw const set, &raw mut old) != 0 {
            return -1;
        }
        mask::word(&old) as u32 as c_int
    }
}
