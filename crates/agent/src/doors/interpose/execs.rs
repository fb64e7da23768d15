//! The ways to another program: what is in memory goes into the file first.
//! Owns: the `exec` family.
//! Never: lets a sample signal wait for the next program.

use crate::lifecycle;
use crate::system::programs::next_program::{self, Program, Words};
use crate::system::real::next;
use crate::system::signals;
use crate::system::signals::mask;
use core::arch::naked_asm;
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

/// The whole list of a caller of `execl` and its kind becomes one array on this stack, as in libc: five of its words came in registers, the others
/// lie above the return address. Behind the null that ends it may come one more, the environment of `execle`.
macro_rules! with_list {
    ($($name:ident => $call:ident;)*) => {$(
        /// # Safety
        /// As libc's; the list behind the first argument ends with a null.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name(path: *const c_char, first: *const c_char) -> c_int {
            naked_asm!(
                ".cfi_startproc",
                "push rbp",
                ".cfi_def_cfa_offset 16",
                ".cfi_offset rbp, -16",
                "mov rbp, rsp",
                ".cfi_def_cfa_register rbp",
                "sub rsp, 48",
                "mov [rsp], rsi",
                "mov [rsp + 8], rdx",
                "mov [rsp + 16], rcx",
                "mov [rsp + 24], r8",
                "mov [rsp + 32], r9",
                // rax: how many words, with the null.
                "xor eax, eax",
                "2: mov rcx, [rsp + 8 * rax]",
                "cmp rax, 5",
                "jb 3f",
                "mov rcx, [rbp + 8 * rax - 24]",
                "3: inc rax",
                "test rcx, rcx",
                "jnz 2b",
                "mov r11, rsp",
                "lea rcx, [8 * rax + 16]",
                "and rcx, -16",
                "sub rsp, rcx",
                "xor ecx, ecx",
                "4: mov rdx, [r11 + 8 * rcx]",
                "cmp rcx, 5",
                "jb 5f",
                "mov rdx, [rbp + 8 * rcx - 24]",
                "5: mov [rsp + 8 * rcx], rdx",
                "inc rcx",
                "cmp rcx, rax",
                "jbe 4b",
                // The last word that was copied, the one behind the null, is in rdx.
                "mov rsi, rsp",
                "call {call}",
                "leave",
                ".cfi_def_cfa rsp, 8",
                "ret",
                ".cfi_endproc",
                call = sym $call,
            )
        }
    )*};
}

with_list! {
    execl => listed;
    execlp => listed_file;
    execle => listed_with_environment;
}

unsafe extern "C" fn listed(path: *const c_char, argv: Words, _: Words) -> c_int {
    // SAFETY: the caller's promises.
    unsafe { execv(path, argv) }
}

unsafe extern "C" fn listed_file(file: *const c_char, argv: Words, _: Words) -> c_int {
    // SAFETY: the caller's promises.
    unsafe { execvp(file, argv) }
}

unsafe extern "C" fn listed_with_environment(path: *const c_char, argv: Words, envp: Words) -> c_int {
    // SAFETY: the caller's promises.
    unsafe { execve(path, argv, envp) }
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
    // SAFETY: the caller's promises.
    let program = unsafe {
        if path.is_null() {
            None
        } else if flags & libc::AT_EMPTY_PATH != 0 && *path == 0 {
            Some(Program::Descriptor(folder))
        } else {
            (folder == libc::AT_FDCWD || *path == b'/' as c_char).then_some(Program::Path(path))
        }
    };
    // SAFETY: the system call itself; libc has it since 2.34 only, and sets errno in the same way.
    let call = |envp: Words| unsafe { libc::syscall(libc::SYS_execveat, folder, path, argv, envp, flags) as c_int };
    match program {
        // SAFETY: the caller's promises.
        Some(program) => unsafe { instead(program, envp, call) },
        None => {
            let lent = before();
            failed(lent, call(envp))
        }
    }
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
