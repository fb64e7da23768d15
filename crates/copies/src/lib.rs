//! `libgenba_copies.so`: memcpy and memmove of a program recorded with `--copies`. They count bytes and go on to libc's own.
//! Owns: the four functions, and each thread's pointer to its count. Never: decides what a sample is (the agent's `genba_on_copy` does),
//! calls anything on the usual way, changes what a copy does.
//!
//! A library of its own, so that nothing in it can call the functions that it replaces. The agent finds the two functions at the end by
//! name; as long as it has not, each copy only goes on to libc's. A copy that comes before the dynamic linker has filled in this
//! library's tables (from another library's constructor or IFUNC resolver) is made by the processor's own instruction.
#![no_builtins]

use core::arch::naked_asm;
use core::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::ffi::{c_int, c_void};

core::arch::global_asm!(
    ".pushsection .tbss.genba_copies_slot,\"awT\",@nobits",
    ".hidden genba_copies_slot",
    ".globl genba_copies_slot",
    ".type genba_copies_slot,@object",
    ".size genba_copies_slot, 8",
    ".p2align 3",
    "genba_copies_slot:",
    ".zero 8",
    ".popsection",
);

/// libc's memmove; 0: not found yet. It serves memcpy, too: on x86-64 both are one function, and the memcpy of old programs
/// (`memcpy@GLIBC_2.2.5`) lets areas overlap.
static REAL: AtomicU64 = AtomicU64::new(0);
/// The agent's function for a thread without a count and for one whose count has run out; 0: nobody counts.
static SAMPLE: AtomicU64 = AtomicU64::new(0);

extern "C" fn on_load() {
    // SAFETY: dlsym reads the linker's tables; the name ends in NUL. RTLD_NEXT begins behind this library.
    let real = unsafe { libc::dlsym(libc::RTLD_NEXT, c"memmove".as_ptr()) };
    REAL.store(real as u64, SeqCst);
}

#[used]
#[unsafe(link_section = ".init_array")]
static ON_LOAD: extern "C" fn() = on_load;

/// The usual way: three loads and a subtraction. Whoever has a slot knows that `REAL` was found.
macro_rules! copy_and_count {
    () => {
        naked_asm!(
            ".cfi_startproc",
            "mov rax, qword ptr [rip + genba_copies_slot@GOTTPOFF]",
            "test rax, rax",
            "jz {early}",
            "mov rax, qword ptr fs:[rax]",
            "test rax, rax",
            "jz {slow}",
            "sub qword ptr [rax], rdx",
            "js {slow}",
            "jmp qword ptr [rip + {real}]",
            ".cfi_endproc",
            early = sym early,
            slow = sym slow,
            real = sym REAL,
        )
    };
}

/// # Safety
/// As libc's.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcpy(to: *mut c_void, from: *const c_void, bytes: usize) -> *mut c_void {
    copy_and_count!()
}

/// # Safety
/// As libc's.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memmove(to: *mut c_void, from: *const c_void, bytes: usize) -> *mut c_void {
    copy_and_count!()
}

unsafe extern "C" {
    /// libc's: says that a buffer overflows, and ends the process.
    fn __chk_fail() -> !;
}

/// libc's checked forms: more bytes than `room` end the process.
macro_rules! check_copy_and_count {
    () => {
        naked_asm!(".cfi_startproc", "cmp rcx, rdx", "jb {fail}", "jmp {copy}", ".cfi_endproc", fail = sym fail, copy = sym copy)
    };
}

/// # Safety
/// As libc's.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __memcpy_chk(to: *mut c_void, from: *const c_void, bytes: usize, room: usize) -> *mut c_void {
    check_copy_and_count!()
}

/// # Safety
/// As libc's.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __memmove_chk(to: *mut c_void, from: *const c_void, bytes: usize, room: usize) -> *mut c_void {
    check_copy_and_count!()
}

/// The same as `memmove`, under a name that no other library can take.
#[unsafe(naked)]
unsafe extern "C" fn copy(to: *mut c_void, from: *const c_void, bytes: usize) -> *mut c_void {
    copy_and_count!()
}

/// Jumped to, so that the stack is as libc's own function would find it.
#[unsafe(naked)]
unsafe extern "C" fn fail() {
    naked_asm!(".cfi_startproc", "jmp qword ptr [rip + {fail}@GOTPCREL]", ".cfi_endproc", fail = sym __chk_fail)
}

/// The thread has no slot, or its count has run out. The registers of the arguments are kept; all others are the caller's to lose.
#[unsafe(naked)]
unsafe extern "C" fn slow() {
    naked_asm!(
        ".cfi_startproc",
        "mov r11, qword ptr [rip + {sample}]",
        "test r11, r11",
        "jz 2f",
        "cmp qword ptr [rip + {real}], 0",
        "je {early}",
        "push rdi",
        ".cfi_adjust_cfa_offset 8",
        "push rsi",
        ".cfi_adjust_cfa_offset 8",
        "push rdx",
        ".cfi_adjust_cfa_offset 8",
        // Where this thread's pointer lies, the bytes, the stack pointer of the call, rbp, the function that is called.
        "mov rdi, qword ptr fs:[0]",
        "add rdi, qword ptr [rip + genba_copies_slot@GOTTPOFF]",
        "mov rsi, rdx",
        "lea rdx, [rsp + 24]",
        "mov rcx, rbp",
        "mov r8, qword ptr [rip + {real}]",
        "call r11",
        "pop rdx",
        ".cfi_adjust_cfa_offset -8",
        "pop rsi",
        ".cfi_adjust_cfa_offset -8",
        "pop rdi",
        ".cfi_adjust_cfa_offset -8",
        "jmp qword ptr [rip + {real}]",
        "2:",
        "cmp qword ptr [rip + {real}], 0",
        "je {early}",
        "jmp qword ptr [rip + {real}]",
        ".cfi_endproc",
        sample = sym SAMPLE,
        real = sym REAL,
        early = sym early,
    )
}

/// Needs nothing that the linker fills in.
#[unsafe(naked)]
unsafe extern "C" fn early() {
    naked_asm!(
        ".cfi_startproc",
        "mov rax, rdi",
        "mov rcx, rdx",
        "mov r8, rdi",
        "sub r8, rsi",
        "cmp r8, rdx",
        "jb 2f",
        "rep movsb",
        "ret",
        // The areas overlap, and the bytes go up: the last one first.
        "2:",
        "lea rdi, [rdi + rdx - 1]",
        "lea rsi, [rsi + rdx - 1]",
        "std",
        "rep movsb",
        "cld",
        "ret",
        ".cfi_endproc",
    )
}

/// From now on `sample` is asked. 0: libc's memmove was not found, and nothing is counted. The agent's thread may come before this
/// library's constructor.
#[unsafe(no_mangle)]
pub extern "C" fn genba_copies_begin(sample: u64) -> c_int {
    on_load();
    if REAL.load(SeqCst) == 0 {
        return 0;
    }
    SAMPLE.store(sample, SeqCst);
    1
}

/// Where the calling thread's pointer to its slot lies.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub extern "C" fn genba_copies_word() -> *mut u64 {
    naked_asm!(
        ".cfi_startproc",
        "mov rax, qword ptr fs:[0]",
        "add rax, qword ptr [rip + genba_copies_slot@GOTTPOFF]",
        "ret",
        ".cfi_endproc",
    )
}
