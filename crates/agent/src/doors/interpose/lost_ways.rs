//! Calls after which this process may find its recording no longer: it has another root, or is another user.
//! Owns: `chroot` and `setuid` with its kin. Never: changes what they do, waits for a sampler that has its files. They may be called in signal
//! handlers and unwound by `pthread_cancel`: nothing here takes memory, or a lock that its holder may not take once more, and nothing needs a drop.
//!
//! Other groups take the way from nobody who may change them: root needs none, and drops them before it becomes another user. After `unshare` and
//! `setns` the calling thread alone is elsewhere, and the sampler opens the recording where it was.

use crate::lifecycle::awaited;
use crate::process::files_over_fork;
use crate::system::real::next;
use std::ffi::{c_char, c_int};

macro_rules! once_opened {
    ($($name:ident $text:literal ($($argument:ident: $type:ty),*);)*) => {$(
        /// # Safety
        /// As libc's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($argument: $type),*) -> c_int {
            let real = next!($text, unsafe extern "C-unwind" fn($($type),*) -> c_int, -1);
            // In this order: a sampler that begins in between finds what the first has put there, or the second waits for it.
            awaited::keep_way();
            files_over_fork::await_opened();
            // SAFETY: libc's function with the caller's arguments.
            unsafe { real($($argument),*) }
        }
    )*};
}

once_opened! {
    chroot c"chroot" (path: *const c_char);
    seteuid c"seteuid" (user: libc::uid_t);
    setresuid c"setresuid" (real_user: libc::uid_t, effective: libc::uid_t, saved: libc::uid_t);
    setreuid c"setreuid" (real_user: libc::uid_t, effective: libc::uid_t);
    setuid c"setuid" (user: libc::uid_t);
}
