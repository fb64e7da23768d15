//! A program that sets seccomp filters for itself: from then on its threads make no system call of genba's where they end.
//! Owns: `prctl`. Never: changes what it does. Partner: system/threads/ends.rs.

use crate::system::real::next;
use crate::system::threads::ends;
use std::ffi::{c_int, c_ulong};

type Prctl = unsafe extern "C" fn(c_int, c_ulong, c_ulong, c_ulong, c_ulong) -> c_int;

/// Of libc's variable arguments the kernel takes four.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prctl(
    option: c_int,
    first: c_ulong,
    second: c_ulong,
    third: c_ulong,
    fourth: c_ulong,
) -> c_int {
    let real = next!(c"prctl", Prctl, -1);
    // Without privileges the first of the two comes before any filter, however that is set.
    if option == libc::PR_SET_NO_NEW_PRIVS || option == libc::PR_SET_SECCOMP {
        ends::want_never();
    }
    // SAFETY: libc's function with the caller's arguments.
    unsafe { real(option, first, second, third, fourth) }
}
