//! The functions of libc that genba stands in front of, when it is preloaded.
//! Owns: the exported names. Never: changes what the program gets; `errno` is the real function's.
//! Only calls through the dynamic linker come here; a raw system call is noticed by `signals::held` on the next tick.

use crate::{lifecycle, proc, signals, symbols};
use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// The next definition of a function, found once.
struct Next(AtomicU64, &'static CStr);

impl Next {
    const fn named(name: &'static CStr) -> Next {
        Next(AtomicU64::new(0), name)
    }

    fn address(&self) -> u64 {
        let mut address = self.0.load(SeqCst);
        if address == 0 {
            address = symbols::next(self.1).unwrap_or(0);
            self.0.store(address, SeqCst);
        }
        address
    }
}

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

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn signal(signal: c_int, handler: libc::sighandler_t) -> libc::sighandler_t {
    static NEXT: Next = Next::named(c"signal");
    type Signal = unsafe extern "C" fn(c_int, libc::sighandler_t) -> libc::sighandler_t;
    // SAFETY: `new` and `old` are on this stack; the real function gets the caller's arguments.
    unsafe {
        let mut new: libc::sigaction = core::mem::zeroed();
        let mut old: libc::sigaction = core::mem::zeroed();
        new.sa_sigaction = handler;
        new.sa_flags = libc::SA_RESTART;
        match signals::program_sigaction(signal, &raw const new, &raw mut old, lifecycle::paused) {
            Some(0) => old.sa_sigaction,
            Some(_) => libc::SIG_ERR,
            None => match NEXT.address() {
                0 => libc::SIG_ERR,
                real => core::mem::transmute::<u64, Signal>(real)(signal, handler),
            },
        }
    }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _exit(status: c_int) -> ! {
    lifecycle::end_before_exit();
    // SAFETY: ends the process, as the caller wants.
    unsafe {
        loop {
            libc::syscall(libc::SYS_exit_group, status);
        }
    }
}

/// # Safety
/// As libc's.
#[allow(non_snake_case)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _Exit(status: c_int) -> ! {
    // SAFETY: the same function by its ISO C name.
    unsafe { _exit(status) }
}

/// How Python ends after an interrupt: it sends itself the signal with its default action.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kill(pid: libc::pid_t, signal: c_int) -> c_int {
    if pid as u32 == proc::own_pid() {
        end_when_fatal(signal);
    }
    // SAFETY: the system call with the caller's arguments; it sets errno as libc's `kill` does.
    unsafe { libc::syscall(libc::SYS_kill, pid, signal) as c_int }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn raise(signal: c_int) -> c_int {
    end_when_fatal(signal);
    // SAFETY: the system call behind libc's `raise`; it sets errno as that does.
    unsafe { libc::syscall(libc::SYS_tgkill, proc::own_pid(), proc::own_tid(), signal) as c_int }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn abort() -> ! {
    static NEXT: Next = Next::named(c"abort");
    type Abort = unsafe extern "C" fn() -> !;
    end_when_fatal(libc::SIGABRT);
    // SAFETY: libc's function; where there is none, the process ends all the same.
    unsafe {
        match NEXT.address() {
            0 => _exit(127),
            real => core::mem::transmute::<u64, Abort>(real)(),
        }
    }
}

/// Writes the last block when a signal that the process sends itself will end it.
fn end_when_fatal(signal: c_int) {
    const FATAL: [c_int; 14] = [
        libc::SIGHUP,
        libc::SIGINT,
        libc::SIGQUIT,
        libc::SIGILL,
        libc::SIGTRAP,
        libc::SIGABRT,
        libc::SIGFPE,
        libc::SIGKILL,
        libc::SIGUSR1,
        libc::SIGUSR2,
        libc::SIGPIPE,
        libc::SIGALRM,
        libc::SIGTERM,
        libc::SIGSYS,
    ];
    let errno = proc::errno();
    // SAFETY: asks only; the answers go to locals.
    let ends = FATAL.contains(&signal)
        && unsafe {
            let mut now: libc::sigaction = core::mem::zeroed();
            signals::real_sigaction(signal, core::ptr::null(), &raw mut now);
            let mut blocked: libc::sigset_t = core::mem::zeroed();
            libc::pthread_sigmask(libc::SIG_BLOCK, core::ptr::null(), &raw mut blocked);
            now.sa_sigaction == libc::SIG_DFL && libc::sigismember(&raw const blocked, signal) == 0
        };
    if ends {
        lifecycle::end_before_exit();
    }
    lifecycle::set_errno(errno);
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execve(path: *const c_char, argv: *const *const c_char, envp: *const *const c_char) -> c_int {
    static NEXT: Next = Next::named(c"execve");
    type Execve = unsafe extern "C" fn(*const c_char, *const *const c_char, *const *const c_char) -> c_int;
    lifecycle::flush_before_exec();
    // SAFETY: libc's function with the caller's arguments.
    unsafe {
        match NEXT.address() {
            0 => libc::syscall(libc::SYS_execve, path, argv, envp) as c_int,
            real => core::mem::transmute::<u64, Execve>(real)(path, argv, envp),
        }
    }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execv(path: *const c_char, argv: *const *const c_char) -> c_int {
    static NEXT: Next = Next::named(c"execv");
    type Execv = unsafe extern "C" fn(*const c_char, *const *const c_char) -> c_int;
    lifecycle::flush_before_exec();
    // SAFETY: libc's function with the caller's arguments.
    unsafe {
        match NEXT.address() {
            0 => {
                *libc::__errno_location() = libc::ENOSYS;
                -1
            }
            real => core::mem::transmute::<u64, Execv>(real)(path, argv),
        }
    }
}

/// Where this library was loaded from.
#[must_use]
pub fn own_path() -> Option<String> {
    // SAFETY: dladdr fills the record; its name belongs to the linker.
    unsafe {
        let mut found: libc::Dl_info = core::mem::zeroed();
        if libc::dladdr((own_path as *const ()).cast(), &raw mut found) == 0 || found.dli_fname.is_null() {
            return None;
        }
        Some(CStr::from_ptr(found.dli_fname).to_string_lossy().into_owned())
    }
}
