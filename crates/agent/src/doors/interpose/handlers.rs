//! `sigaction` and its older forms, and `sigaltstack`: the program sees its own handlers as if genba had none.
//! Owns: what the older forms mean for genba's three signals, and for every signal in builds that need alternate stacks
//! (signals/on_stack.rs). Other calls go to libc. Never: keeps a handler that the program replaced. Source of the older forms: glibc's manual, sysdeps/posix and signal/ of glibc 2.17 to 2.42.

use super::masks;
use crate::lifecycle;
use crate::system::alternate;
use crate::system::errno;
use crate::system::real::next;
use crate::system::signals;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// `sigset`'s third disposition: block the signal.
const SIG_HOLD: libc::sighandler_t = 2;
/// What `sysv_signal` sets beside the two flags that mean something.
const SA_INTERRUPT: c_int = 0x2000_0000;
/// `siginterrupt` was called for signal n: bit n - 1.
static INTERRUPTS: AtomicU64 = AtomicU64::new(0);

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    // SAFETY: the caller's promises are those of `sigaction`.
    unsafe {
        match signals::program_sigaction(signal, new, old, lifecycle::paused) {
            Some(result) => result,
            None => signals::real_sigaction(signal, new, old),
        }
    }
}

type Signal = unsafe extern "C" fn(c_int, libc::sighandler_t) -> libc::sighandler_t;

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn signal(signal: c_int, handler: libc::sighandler_t) -> libc::sighandler_t {
    if signals::is_shared(signal) {
        return restarting(signal, handler);
    }
    let real = next!(c"signal", Signal, libc::SIG_ERR);
    // SAFETY: libc's function with the caller's arguments.
    unsafe { real(signal, handler) }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsd_signal(signal: c_int, handler: libc::sighandler_t) -> libc::sighandler_t {
    if signals::is_shared(signal) {
        return restarting(signal, handler);
    }
    let real = next!(c"bsd_signal", Signal, libc::SIG_ERR);
    // SAFETY: as above.
    unsafe { real(signal, handler) }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sysv_signal(signal: c_int, handler: libc::sighandler_t) -> libc::sighandler_t {
    if signals::is_shared(signal) {
        return once(signal, handler);
    }
    let real = next!(c"sysv_signal", Signal, libc::SIG_ERR);
    // SAFETY: as above.
    unsafe { real(signal, handler) }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __sysv_signal(signal: c_int, handler: libc::sighandler_t) -> libc::sighandler_t {
    if signals::is_shared(signal) {
        return once(signal, handler);
    }
    let real = next!(c"__sysv_signal", Signal, libc::SIG_ERR);
    // SAFETY: as above.
    unsafe { real(signal, handler) }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigset(signal: c_int, disposition: libc::sighandler_t) -> libc::sighandler_t {
    if !signals::is_shared(signal) {
        let real = next!(c"sigset", Signal, libc::SIG_ERR);
        // SAFETY: as above.
        return unsafe { real(signal, disposition) };
    }
    let how = if disposition == SIG_HOLD { libc::SIG_BLOCK } else { libc::SIG_UNBLOCK };
    let old = if disposition == SIG_HOLD {
        signals::seen_by_program(signal).sa_sigaction
    } else {
        set(signal, disposition, 0, false)
    };
    if old == libc::SIG_ERR {
        return old;
    }
    if masks::change_one(how, signal) == Some(true) { SIG_HOLD } else { old }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigignore(signal: c_int) -> c_int {
    if signals::is_shared(signal) {
        return if set(signal, libc::SIG_IGN, 0, false) == libc::SIG_ERR { -1 } else { 0 };
    }
    let real = next!(c"sigignore", unsafe extern "C" fn(c_int) -> c_int, -1);
    // SAFETY: as above.
    unsafe { real(signal) }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn siginterrupt(signal: c_int, interrupts: c_int) -> c_int {
    if !signals::is_shared(signal) {
        let real = next!(c"siginterrupt", unsafe extern "C" fn(c_int, c_int) -> c_int, -1);
        // SAFETY: as above.
        return unsafe { real(signal, interrupts) };
    }
    let bit = 1 << (signal - 1);
    let mut action = signals::seen_by_program(signal);
    if interrupts == 0 {
        INTERRUPTS.fetch_and(!bit, SeqCst);
        action.sa_flags |= libc::SA_RESTART;
    } else {
        INTERRUPTS.fetch_or(bit, SeqCst);
        action.sa_flags &= !libc::SA_RESTART;
    }
    // SAFETY: the action is on this stack.
    unsafe { sigaction(signal, &raw const action, core::ptr::null_mut()) }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigaltstack(new: *const libc::stack_t, old: *mut libc::stack_t) -> c_int {
    if alternate::is_needed() {
        // SAFETY: null or valid, as the caller promises.
        return unsafe { alternate::program_sigaltstack(new, old) };
    }
    // SAFETY: as above.
    if let Some(new) = unsafe { new.as_ref() }
        && new.ss_flags & libc::SS_DISABLE == 0
    {
        signals::alternate_stack(new.ss_size);
    }
    // SAFETY: the system call with the caller's arguments; it sets errno as libc's function does.
    unsafe { libc::syscall(libc::SYS_sigaltstack, new, old) as c_int }
}

/// As BSD had it: the handler stays, and system calls go on.
fn restarting(signal: c_int, handler: libc::sighandler_t) -> libc::sighandler_t {
    let flags = if INTERRUPTS.load(SeqCst) & 1 << (signal - 1) == 0 { libc::SA_RESTART } else { 0 };
    set(signal, handler, flags, true)
}

/// As System V had it: one signal, and the handler is gone.
fn once(signal: c_int, handler: libc::sighandler_t) -> libc::sighandler_t {
    set(signal, handler, libc::SA_RESETHAND | libc::SA_NODEFER | SA_INTERRUPT, false)
}

fn set(signal: c_int, handler: libc::sighandler_t, flags: c_int, masks_itself: bool) -> libc::sighandler_t {
    if handler == libc::SIG_ERR {
        errno::set(libc::EINVAL);
        return libc::SIG_ERR;
    }
    // SAFETY: both actions are on this stack; zero is an empty mask.
    unsafe {
        let mut new: libc::sigaction = core::mem::zeroed();
        let mut old: libc::sigaction = core::mem::zeroed();
        new.sa_sigaction = handler;
        new.sa_flags = flags;
        if masks_itself {
            libc::sigaddset(&raw mut new.sa_mask, signal);
        }
        match sigaction(signal, &raw const new, &raw mut old) {
            0 => old.sa_sigaction,
            _ => libc::SIG_ERR,
        }
    }
}
