//! The environment that `genba run` leaves to the program: LD_PRELOAD and GENBA_SESSION; and what systemd says there to one process alone.
//! Owns: reading them, and taking them away again. Never: runs after `main` has begun.

use crate::system::own_ids::own_pid;
use crate::system::symbols;
use std::ffi::{CStr, CString};

/// `--no-children`: what this process starts is not recorded.
pub fn leave() {
    let own = symbols::own_path();
    let is_own = |path: &String| Some(path) == own.as_ref() || is_hooks(path);
    let rest: Vec<String> = preloaded().filter(|path| !is_own(path)).collect();
    // SAFETY: runs before `main`, in the only thread.
    unsafe {
        libc::unsetenv(c"GENBA_SESSION".as_ptr());
        match CString::new(rest.join(":")) {
            Ok(rest) if !rest.is_empty() => libc::setenv(c"LD_PRELOAD".as_ptr(), rest.as_ptr(), 1),
            _ => libc::unsetenv(c"LD_PRELOAD".as_ptr()),
        };
    }
}

/// Beside the sockets and the watchdog that systemd gives a process it writes that one's pid (sd_listen_fds(3), sd_watchdog_enabled(3)), and by
/// itself, too (systemd.exec(5)). It started `genba run`, whose child, the program, takes that place.
pub fn take_place_of(command: u32) {
    // SAFETY: no arguments, no memory.
    if u32::try_from(unsafe { libc::getppid() }) != Ok(command) {
        return;
    }
    let (command, own) = (command.to_string(), CString::new(own_pid().to_string()).unwrap_or_default());
    let is_meant = |name| variable(name).is_some_and(|pid| pid == command);
    // SAFETY: runs before `main`, in the only thread.
    unsafe {
        if is_meant(c"LISTEN_PID") {
            // Newer ones say the inode of that process's pidfd, too. Where it is not said, the pid is enough.
            libc::unsetenv(c"LISTEN_PIDFDID".as_ptr());
        }
        for name in [c"LISTEN_PID", c"WATCHDOG_PID", c"SYSTEMD_EXEC_PID"] {
            if is_meant(name) {
                libc::setenv(name.as_ptr(), own.as_ptr(), 1);
            }
        }
    }
}

/// The library of `--copies` or `--alloc`, by its name as the command gives it.
#[must_use]
pub fn is_hooks(path: &str) -> bool {
    path.rsplit('/')
        .next()
        .is_some_and(|name| name.starts_with("genba-copies-") || name.starts_with("genba-allocations-"))
}

/// What LD_PRELOAD names.
pub fn preloaded() -> impl Iterator<Item = String> {
    let list = variable(c"LD_PRELOAD").unwrap_or_default();
    let paths: Vec<String> = list.split([':', ' ']).filter(|path| !path.is_empty()).map(str::to_owned).collect();
    paths.into_iter()
}

pub fn variable(name: &CStr) -> Option<String> {
    // SAFETY: runs before `main`, in the only thread: nobody changes the environment meanwhile.
    unsafe {
        let value = libc::getenv(name.as_ptr());
        (!value.is_null()).then(|| CStr::from_ptr(value).to_string_lossy().into_owned())
    }
}
