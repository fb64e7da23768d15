//! The ways in which a process ends itself: the last block is written first.
//! Owns: `_exit`, and signals that the process sends itself with their default action; before it kills others, these are asked to write
//! (bells.rs). Never: ends the recording of a process that may live on; what it cannot know (a signal for another thread, a handler that
//! ends it) costs the last 250 ms.

use crate::lifecycle;
use crate::process::bells;
use crate::system::errno;
use crate::system::proc;
use crate::system::real::{self, next};
use crate::system::signals;
use crate::system::signals::mask;
use std::ffi::{c_int, c_void};

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
    if is_own(pid) {
        end_when_fatal(signal, Blocked::Stays);
    }
    bells::before_signal(pid, signal);
    // SAFETY: the system call with the caller's arguments; it sets errno as libc's `kill` does.
    unsafe { libc::syscall(libc::SYS_kill, pid, signal) as c_int }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn killpg(group: libc::pid_t, signal: c_int) -> c_int {
    if group >= 0 && is_own(-group) {
        end_when_fatal(signal, Blocked::Stays);
    }
    if group >= 0 {
        bells::before_signal(-group, signal);
    }
    let real = next!(c"killpg", unsafe extern "C" fn(libc::pid_t, c_int) -> c_int, -1);
    // SAFETY: libc's function with the caller's arguments.
    unsafe { real(group, signal) }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigqueue(pid: libc::pid_t, signal: c_int, value: libc::sigval) -> c_int {
    if pid as u32 == proc::own_pid() {
        end_when_fatal(signal, Blocked::Stays);
    }
    let real = next!(c"sigqueue", unsafe extern "C" fn(libc::pid_t, c_int, libc::sigval) -> c_int, -1);
    // SAFETY: as above.
    unsafe { real(pid, signal, value) }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn raise(signal: c_int) -> c_int {
    end_when_fatal(signal, Blocked::Stays);
    // SAFETY: the system call behind libc's `raise`; it sets errno as that does.
    unsafe { libc::syscall(libc::SYS_tgkill, proc::own_pid(), proc::own_tid(), signal) as c_int }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_kill(thread: libc::pthread_t, signal: c_int) -> c_int {
    // SAFETY: asks which thread this is.
    if thread == unsafe { libc::pthread_self() } {
        end_when_fatal(signal, Blocked::Stays);
    }
    let real = next!(c"pthread_kill", unsafe extern "C" fn(libc::pthread_t, c_int) -> c_int, libc::ENOSYS);
    // SAFETY: as above.
    unsafe { real(thread, signal) }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_sigqueue(thread: libc::pthread_t, signal: c_int, value: *mut c_void) -> c_int {
    // SAFETY: asks which thread this is.
    if thread == unsafe { libc::pthread_self() } {
        end_when_fatal(signal, Blocked::Stays);
    }
    type Queue = unsafe extern "C" fn(libc::pthread_t, c_int, *mut c_void) -> c_int;
    let real = next!(c"pthread_sigqueue", Queue, libc::ENOSYS);
    // SAFETY: as above; the value is a union the size of a pointer.
    unsafe { real(thread, signal, value) }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tgkill(pid: libc::pid_t, tid: libc::pid_t, signal: c_int) -> c_int {
    if pid as u32 == proc::own_pid() && tid as u32 == proc::own_tid() {
        end_when_fatal(signal, Blocked::Stays);
    }
    // SAFETY: the system call; libc has it since 2.30 only, and sets errno in the same way.
    unsafe { libc::syscall(libc::SYS_tgkill, pid, tid, signal) as c_int }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn abort() -> ! {
    end_when_fatal(libc::SIGABRT, Blocked::IsUnblocked);
    // SAFETY: libc's function; where there is none, the process ends all the same. A handler may leave it by `longjmp`.
    unsafe {
        match real::address(const { real::position(c"abort") }) {
            None => _exit(127),
            Some(real) => core::mem::transmute::<u64, unsafe extern "C-unwind" fn() -> !>(real)(),
        }
    }
}

/// Whether a signal to `pid`, as `kill` takes it, comes to this process too.
fn is_own(pid: libc::pid_t) -> bool {
    // SAFETY: no arguments, no memory.
    pid as u32 == proc::own_pid() || pid == 0 || (pid < -1 && -pid == unsafe { libc::getpgrp() })
}

/// What becomes of a signal that this thread blocks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Blocked {
    Stays,
    IsUnblocked,
}

/// Writes the last block when a signal that the process sends itself will end it.
fn end_when_fatal(signal: c_int, blocked: Blocked) {
    const HARMLESS: [c_int; 8] = [
        libc::SIGCHLD,
        libc::SIGCONT,
        libc::SIGSTOP,
        libc::SIGTSTP,
        libc::SIGTTIN,
        libc::SIGTTOU,
        libc::SIGURG,
        libc::SIGWINCH,
    ];
    if !(1..=64).contains(&signal) || HARMLESS.contains(&signal) {
        return;
    }
    let errno = errno::get();
    let action = signals::seen_by_program(signal).sa_sigaction;
    let is_blocked = mask::in_kernel(libc::SIG_BLOCK, 0) & mask::bit(signal) != 0;
    let ends = match blocked {
        Blocked::Stays => action == libc::SIG_DFL && !is_blocked,
        // `abort` does not take no for an answer; only a handler may leave it.
        Blocked::IsUnblocked => action == libc::SIG_DFL || action == libc::SIG_IGN,
    };
    if ends {
        lifecycle::end_before_exit();
    }
    errno::set(errno);
}
