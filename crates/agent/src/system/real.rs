//! The real functions of libc, which genba's own stand in front of.
//! Owns: their names and addresses. Never: looks for one where the dynamic linker must not be called.

pub mod direct;

use crate::system::symbols;
use std::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// Every function whose real one is called.
const NAMES: [&CStr; 76] = [
    c"__poll_chk",
    c"__ppoll_chk",
    c"__recv_chk",
    c"__recvfrom_chk",
    c"__sysv_signal",
    c"abort",
    c"accept",
    c"accept4",
    c"bsd_signal",
    c"chroot",
    c"clock_nanosleep",
    c"connect",
    c"epoll_pwait",
    c"epoll_pwait2",
    c"epoll_wait",
    c"execve",
    c"execvpe",
    c"fallocate",
    c"fallocate64",
    c"fexecve",
    c"killpg",
    c"msgrcv",
    c"msgsnd",
    c"nanosleep",
    c"pause",
    c"pidfd_spawn",
    c"pidfd_spawnp",
    c"poll",
    c"posix_fallocate",
    c"posix_fallocate64",
    c"posix_spawn",
    c"posix_spawnp",
    c"ppoll",
    c"prctl",
    c"pselect",
    c"pthread_create",
    c"pthread_kill",
    c"pthread_sigmask",
    c"pthread_sigqueue",
    c"recv",
    c"recvfrom",
    c"recvmmsg",
    c"recvmsg",
    c"select",
    c"sem_clockwait",
    c"sem_timedwait",
    c"semop",
    c"semtimedop",
    c"send",
    c"sendmmsg",
    c"sendmsg",
    c"sendto",
    c"seteuid",
    c"setns",
    c"setresuid",
    c"setreuid",
    c"setsockopt",
    c"setuid",
    c"sigignore",
    c"siginterrupt",
    c"signal",
    c"signalfd",
    c"sigpending",
    c"sigprocmask",
    c"sigqueue",
    c"sigset",
    c"sigsuspend",
    c"sigtimedwait",
    c"sleep",
    c"sysv_signal",
    c"thrd_create",
    c"thrd_sleep",
    c"unshare",
    c"usleep",
    c"wait4",
    c"waitid",
];
/// Their real ones; `NONE`: libc has no such function; 0: not looked for yet.
static FOUND: [AtomicU64; NAMES.len()] = [const { AtomicU64::new(0) }; NAMES.len()];
const NONE: u64 = 1;

/// Finds all real functions, when the library is loaded: some of them are called where the dynamic linker must not be (in signal handlers,
/// after `vfork`, and after a `fork` with threads).
pub fn find_all() {
    direct::find_all();
    for position in 0..NAMES.len() {
        address(position);
    }
}

/// The place of a function in `NAMES`; without one the library does not compile.
pub const fn position(name: &CStr) -> usize {
    direct::position_in(&NAMES, name)
}

/// The real function. `None`: libc has no such one. Before `find_all` has run (another library's constructor may come earlier) it is looked for.
pub fn address(position: usize) -> Option<u64> {
    let mut address = FOUND[position].load(SeqCst);
    if address == 0 {
        address = symbols::next(NAMES[position]).unwrap_or(NONE);
        FOUND[position].store(address, SeqCst);
    }
    Some(address).filter(|&address| address != NONE)
}

/// The real function `$name` as a `$type`; where libc has none, the whole function ends with ENOSYS and `$missing`.
macro_rules! next {
    ($name:literal, $type:ty, $missing:expr) => {{
        const POSITION: usize = crate::system::real::position($name);
        match crate::system::real::address(POSITION) {
            None => {
                crate::system::errno::set(libc::ENOSYS);
                return $missing;
            }
            // SAFETY: dlsym gave libc's function of this name, which has this type.
            Some(real) => unsafe { core::mem::transmute::<u64, $type>(real) },
        }
    }};
}
pub(crate) use next;

#[cfg(test)]
mod tests {
    use super::{FOUND, NAMES, address, find_all, position};
    use crate::system::symbols;
    use std::sync::atomic::Ordering::SeqCst;

    #[test]
    fn all_are_found_at_once() {
        find_all();
        for (found, name) in FOUND.iter().zip(NAMES) {
            assert_ne!(found.load(SeqCst), 0, "{name:?} would be looked for when it is called");
            assert_eq!(address(position(name)), symbols::next(name), "{name:?}");
        }
    }
}
