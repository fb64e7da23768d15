//! The alternate stack that the program believes a thread has, where genba gave that thread one.
//! Owns: what `sigaltstack` means there. Never: leaves such a thread without a stack that genba's handler fits on.
//!
//! The kernel has the program's stack where that is large enough. Elsewhere it has genba's, and the head of genba's stack holds what the
//! program set. The address at which genba's stack begins for the kernel tells whether the program set one, because the return of a handler
//! makes the kernel take back the stack that it had before.

use super::stack::{NONE, Own, holds, in_kernel, map};
use crate::system::errno;
use crate::system::signals::{self, ALTERNATE_BYTES_MIN};
use std::ffi::c_int;

/// Not in the libc crate: the kernel takes the stack away for as long as a handler runs.
const SS_AUTODISARM: c_int = 1 << 31;

/// `sigaltstack`, in a build that needs alternate stacks.
///
/// # Safety
/// Null or valid, both.
pub unsafe fn program_sigaltstack(new: *const libc::stack_t, old: *mut libc::stack_t) -> c_int {
    // SAFETY: the caller's promise; what the kernel writes is on this stack. `new` is read before `old` is written: they may be one.
    unsafe {
        let mut now = NONE;
        if libc::syscall(libc::SYS_sigaltstack, core::ptr::null::<libc::stack_t>(), &raw mut now) != 0 {
            return -1;
        }
        let own = Own::here();
        let instead = own.and_then(|own| own.programs(now.ss_sp));
        if let Some(programs) = instead {
            now = programs;
            if now.ss_flags & SS_AUTODISARM == 0 && holds(&now, (&raw const now) as usize) {
                now.ss_flags |= libc::SS_ONSTACK;
            }
        }
        if let Some(new) = new.as_ref() {
            if instead.is_some() && now.ss_flags & libc::SS_ONSTACK != 0 {
                errno::set(libc::EPERM);
                return -1;
            }
            // A vfork child's stack is its own, the head of genba's its parent's.
            let result = if signals::is_own_process() { change(own, new) } else { in_kernel(new) };
            if result != 0 {
                return result;
            }
        }
        if let Some(old) = old.as_mut() {
            *old = now;
        }
    }
    0
}

fn change(own: Option<Own>, new: &libc::stack_t) -> c_int {
    if new.ss_flags & !SS_AUTODISARM == libc::SS_DISABLE {
        let Some(own) = own else { return in_kernel(new) };
        return in_kernel(&own.as_kernels(false));
    }
    if new.ss_size >= ALTERNATE_BYTES_MIN {
        return in_kernel(new);
    }
    // A thread that had none (it is small, or one of very many) gets one now.
    let Some(own) = own.or_else(|| map(0)) else { return in_kernel(new) };
    // The kernel judges what the program wants; meanwhile no signal of genba's may come.
    let was_blocked = signals::block_sample();
    let result = in_kernel(new);
    if result == 0 {
        own.keep_programs(*new);
        own.begin(true);
    }
    if !was_blocked {
        signals::unblock_sample();
    }
    result
}
