//! The hooks of a process that was running when genba came: what memcpy and memmove of its files lead to meanwhile (calls.rs).
//! Owns: the two functions, each thread's pointer to its count. Never: calls anything on the usual way, changes what a copy does, is reached from
//! genba's own code, whose calls lead to libc's. Partners: crates/copies does the same for a process that `genba run --copies` starts.

use core::arch::{asm, naked_asm};
use genba_signal::deposits::counts::{Slot, genba_on_copy};
use std::sync::atomic::AtomicU64;

core::arch::global_asm!(
    ".pushsection .tbss.genba_copied,\"awT\",@nobits",
    ".hidden genba_copied",
    ".globl genba_copied",
    ".type genba_copied,@object",
    ".size genba_copied, 8",
    ".p2align 3",
    "genba_copied:",
    ".zero 8",
    ".popsection",
);

/// libc's memmove, which serves memcpy, too. Set before anything leads to the hooks, and for good: a thread may be on its way through them.
pub(super) static REAL: AtomicU64 = AtomicU64::new(0);
/// libc's checked form, for the copy that it refuses.
pub(super) static REAL_CHECKED: AtomicU64 = AtomicU64::new(0);

/// For memcpy and memmove: three loads and a subtraction on the usual way.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn copy() {
    naked_asm!(
        ".cfi_startproc",
        "mov rax, qword ptr [rip + genba_copied@GOTTPOFF]",
        "mov rax, qword ptr fs:[rax]",
        "test rax, rax",
        "jz {slow}",
        "sub qword ptr [rax], rdx",
        "js {slow}",
        "jmp qword ptr [rip + {real}]",
        ".cfi_endproc",
        slow = sym slow,
        real = sym REAL,
    )
}

/// For their checked forms: more bytes than `rcx` end the process, in libc's words.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn copy_checked() {
    naked_asm!(
        ".cfi_startproc",
        "cmp rcx, rdx",
        "jae {copy}",
        "jmp qword ptr [rip + {real}]",
        ".cfi_endproc",
        copy = sym copy,
        real = sym REAL_CHECKED,
    )
}

/// The thread has no slot, or its count has run out. The registers of the arguments are kept; all others are the caller's to lose.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn slow() {
    naked_asm!(
        ".cfi_startproc",
        "push rdi",
        ".cfi_adjust_cfa_offset 8",
        "push rsi",
        ".cfi_adjust_cfa_offset 8",
        "push rdx",
        ".cfi_adjust_cfa_offset 8",
        // Where this thread's pointer lies, the bytes, the stack pointer of the call, rbp, the function that is called.
        "mov rdi, qword ptr fs:[0]",
        "add rdi, qword ptr [rip + genba_copied@GOTTPOFF]",
        "mov rsi, rdx",
        "lea rdx, [rsp + 24]",
        "mov rcx, rbp",
        "mov r8, qword ptr [rip + {real}]",
        "call {sample}",
        "pop rdx",
        ".cfi_adjust_cfa_offset -8",
        "pop rsi",
        ".cfi_adjust_cfa_offset -8",
        "pop rdi",
        ".cfi_adjust_cfa_offset -8",
        "jmp qword ptr [rip + {real}]",
        ".cfi_endproc",
        sample = sym genba_on_copy,
        real = sym REAL,
    )
}

/// Where the calling thread's pointer to its slot lies.
pub(super) fn word() -> *mut *const Slot {
    let word: *mut *const Slot;
    // SAFETY: reads the thread pointer and a constant that the dynamic linker has written.
    unsafe {
        asm!("mov {word}, qword ptr fs:[0]", "add {word}, qword ptr [rip + genba_copied@GOTTPOFF]", word = out(reg) word,
            options(nostack, readonly));
    }
    word
}
