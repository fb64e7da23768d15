//! The ways to another program: what is in memory goes into the file first.
//! Owns: the `exec` family. `execl`, `execlp` and `execle` take a list of any length and are left to libc (docs/limits.md).
//! Never: lets a sample signal wait for the next program.

use crate::lifecycle;
use crate::system::programs::next_program::{self, Program, Words};
use crate::system::real::next;
use crate::system::signals;
use crate::system::signals::mask;
use std::ffi::{c_char, c_int};

type Execve = unsafe extern "C" fn(*const c_char, Words, Words) -> c_int;

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execve(path: *const c_char, argv: Words, envp: Words) -> c_int {
    let real = next!(c"execve", Execve, -1);
    // SAFETY: libc's function with the caller's arguments.
    unsafe { instead(Program::Path(path), envp, |envp| real(path, argv, envp)) }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execv(path: *const c_char, argv: Words) -> c_int {
    let real = next!(c"execve", Execve, -1);
    // SAFETY: as above; libc's `execv` does the same.
    unsafe { instead(Program::Path(path), next_program::own_environment(), |envp| real(path, argv, envp)) }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execvp(file: *const c_char, argv: Words) -> c_int {
    let real = next!(c"execvpe", Execve, -1);
    // SAFETY: as above; libc's `execvp` does the same.
    unsafe { instead(Program::File(file), next_program::own_environment(), |envp| real(file, argv, envp)) }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execvpe(file: *const c_char, argv: Words, envp: Words) -> c_int {
    let real = next!(c"execvpe", Execve, -1);
    // SAFETY: as above.
    unsafe { instead(Program::File(file), envp, |envp| real(file, argv, envp)) }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fexecve(descriptor: c_int, argv: Words, envp: Words) -> c_int {
    let real = next!(c"fexecve", unsafe extern "C" fn(c_int, Words, Words) -> c_int, -1);
    // SAFETY: as above.
    unsafe { instead(Program::Descriptor(descriptor), envp, |envp| real(descriptor, argv, envp)) }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execveat(folder: c_int, path: *const c_char, argv: Words, envp: Words, flags: c_int) -> c_int {
    let lent = before();
    // SAFETY: the system call itself; libc has it since 2.34 only, and sets errno in the same way.
    unsafe { failed(lent, libc::syscall(libc::SYS_execveat, folder, path, argv, envp, flags) as c_int) }
}

/// Runs `call` with the environment that fits `program`, and with all that comes before another program. A program that is not there costs nothing of that.
///
/// # Safety
/// As libc's.
unsafe fn instead(program: Program, envp: Words, call: impl FnOnce(Words) -> c_int) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        if !next_program::is_there(program) {
            return call(envp);
        }
        let lent = before();
        failed(lent, next_program::in_environment(program, envp, call))
    }
}

/// The next program inherits the mask that this one believes in. True: the kernel had another one.
#[must_use]
fn before() -> bool {
    // First: the flush is answered after the last signal that was on its way to this thread.
    signals::leaves(true);
    lifecycle::flush_before_exec();
    let lent = mask::lend();
    signals::drop_pending();
    lent
}

/// Behind a call that came back; `errno` stays.
fn failed(lent: bool, result: c_int) -> c_int {
    mask::unlend(lent);
    signals::leaves(false);
    lifecycle::exec_failed();
    result
}
