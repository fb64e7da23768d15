//! System calls that demand a single thread: genba's steps aside for them.
//! Owns: `unshare` and `setns`, and that it is known when one leads to another place. Never: makes a call succeed that fails without genba.

use crate::lifecycle;
use crate::process::files_over_fork;
use crate::system::errno;
use crate::system::real::next;
use std::ffi::c_int;

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unshare(flags: c_int) -> c_int {
    let real = next!(c"unshare", unsafe extern "C" fn(c_int) -> c_int, -1);
    // SAFETY: libc's function with the caller's arguments.
    let result = once_more_alone(|| unsafe { real(flags) });
    if result == 0 && flags & (libc::CLONE_NEWNS | libc::CLONE_NEWUSER | libc::CLONE_FS) != 0 {
        files_over_fork::goes_elsewhere();
    }
    result
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn setns(descriptor: c_int, kind: c_int) -> c_int {
    let real = next!(c"setns", unsafe extern "C" fn(c_int, c_int) -> c_int, -1);
    // SAFETY: libc's function with the caller's arguments.
    let result = once_more_alone(|| unsafe { real(descriptor, kind) });
    if result == 0 {
        files_over_fork::goes_elsewhere();
    }
    result
}

/// A call that fails changes nothing, so it can be made again without the sampler when a second thread may be the cause.
fn once_more_alone(call: impl Fn() -> c_int) -> c_int {
    let before = errno::get();
    let mut result = call();
    if result == -1 && [libc::EINVAL, libc::EUSERS].contains(&errno::get()) {
        let errno = errno::get();
        let ran = lifecycle::alone(&mut || {
            // The kernel lets go of a thread that ended a moment after it is gone from the list.
            for _ in 0..100 {
                errno::set(before);
                result = call();
                if result != -1 {
                    break;
                }
                // SAFETY: no arguments, no memory; it cannot fail.
                unsafe {
                    let errno = errno::get();
                    libc::sched_yield();
                    errno::set(errno);
                }
            }
        });
        if !ran {
            errno::set(errno);
        }
    }
    result
}
