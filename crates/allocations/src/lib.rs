//! `libgenba_allocations.so`: malloc and its family, of a program recorded with `--alloc`. They count bytes and go on to the allocator's own.
//! Owns: those functions, and each thread's pointer to its count. Never: decides what a sample is (the agent's `genba_on_allocation` does),
//! calls anything on the usual way, allocates or frees, changes what an allocation gives back.
//!
//! A library of its own, as that of copies is. Where another allocator is preloaded (jemalloc), the functions behind this library are its
//! own, and its `free` stays the only one. `python.rs` has the functions for CPython's small objects, which do not come here.
#![no_builtins]

mod python;

use core::arch::naked_asm;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use std::ffi::{c_int, c_void};

core::arch::global_asm!(
    ".pushsection .tbss.genba_allocations_slot,\"awT\",@nobits",
    ".hidden genba_allocations_slot",
    ".globl genba_allocations_slot",
    ".type genba_allocations_slot,@object",
    ".size genba_allocations_slot, 8",
    ".p2align 3",
    "genba_allocations_slot:",
    ".zero 8",
    ".popsection",
);

unsafe extern "C" {
    fn __libc_malloc(bytes: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, bytes: usize) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, bytes: usize) -> *mut c_void;
    fn __libc_memalign(alignment: usize, bytes: usize) -> *mut c_void;
}

/// A function behind this library. Until it was looked for it is libc's own, which needs nothing but the linker's relocations.
#[repr(C)]
struct Real {
    function: AtomicU64,
    early: unsafe extern "C" fn(),
}

macro_rules! real {
    ($static:ident, $early:path) => {
        static $static: Real = Real {
            function: AtomicU64::new(0),
            // SAFETY: jumped to with the arguments that it takes.
            early: unsafe { core::mem::transmute::<*const (), unsafe extern "C" fn()>($early as *const ()) },
        };
    };
}

real!(MALLOC, __libc_malloc);
real!(CALLOC, __libc_calloc);
real!(REALLOC, __libc_realloc);
real!(ALIGNED_ALLOC, __libc_memalign);
real!(MEMALIGN, __libc_memalign);
real!(POSIX_MEMALIGN, no_memory);

/// The agent's function for a thread without a count and for one whose count has run out; 0: nobody counts.
static SAMPLE: AtomicU64 = AtomicU64::new(0);
/// 1: some thread has looked for the functions, or is doing so.
static IS_LOOKED_FOR: AtomicU32 = AtomicU32::new(0);

/// ENOMEM: who asks before anything could be looked for gets nothing.
unsafe extern "C" fn no_memory(_: *mut *mut c_void, _: usize, _: usize) -> c_int {
    libc::ENOMEM
}

/// Looks for the functions behind this library. An allocation that the linker makes meanwhile is libc's own.
extern "C" fn look_for() {
    if IS_LOOKED_FOR.swap(1, SeqCst) != 0 {
        return;
    }
    for (real, name) in [
        (&MALLOC, c"malloc"),
        (&CALLOC, c"calloc"),
        (&REALLOC, c"realloc"),
        (&ALIGNED_ALLOC, c"aligned_alloc"),
        (&MEMALIGN, c"memalign"),
        (&POSIX_MEMALIGN, c"posix_memalign"),
    ] {
        // SAFETY: dlsym reads the linker's tables; the name ends in NUL. RTLD_NEXT begins behind this library.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
        if !found.is_null() {
            real.function.store(found as u64, SeqCst);
        }
    }
}

extern "C" fn on_load() {
    look_for();
}

#[used]
#[unsafe(link_section = ".init_array")]
static ON_LOAD: extern "C" fn() = on_load;

/// r10 has the bytes: takes them from the thread's count. Whoever has a slot knows that the function was found. Above 1 TiB a request
/// fails as a rule, and would be all of the count: it is not counted.
macro_rules! count_and_go_on {
    ($bytes:literal $(, $more:literal)*; $real:ident) => {
        naked_asm!(
            ".cfi_startproc",
            $bytes,
            $($more,)*
            "mov rax, r10",
            "shr rax, 40",
            "jnz 9f",
            "mov rax, qword ptr [rip + genba_allocations_slot@GOTTPOFF]",
            "mov rax, qword ptr fs:[rax]",
            "test rax, rax",
            "jz 8f",
            "sub qword ptr [rax], r10",
            "js 8f",
            "jmp qword ptr [rip + {real}]",
            "9:",
            "xor r10d, r10d",
            "8:",
            "lea r11, [rip + {real}]",
            "jmp {slow}",
            ".cfi_endproc",
            real = sym $real,
            slow = sym crate::slow,
        )
    };
}
pub(crate) use count_and_go_on;

/// # Safety
/// As libc's.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc(bytes: usize) -> *mut c_void {
    count_and_go_on!("mov r10, rdi"; MALLOC)
}

/// # Safety
/// As libc's.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn calloc(count: usize, bytes: usize) -> *mut c_void {
    count_and_go_on!("mov r10, rdi", "imul r10, rsi", "jo 9f"; CALLOC)
}

/// # Safety
/// As libc's.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn realloc(block: *mut c_void, bytes: usize) -> *mut c_void {
    count_and_go_on!("mov r10, rsi"; REALLOC)
}

/// # Safety
/// As libc's.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aligned_alloc(alignment: usize, bytes: usize) -> *mut c_void {
    count_and_go_on!("mov r10, rsi"; ALIGNED_ALLOC)
}

/// # Safety
/// As libc's.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memalign(alignment: usize, bytes: usize) -> *mut c_void {
    count_and_go_on!("mov r10, rsi"; MEMALIGN)
}

/// # Safety
/// As libc's.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_memalign(block: *mut *mut c_void, alignment: usize, bytes: usize) -> c_int {
    count_and_go_on!("mov r10, rdx"; POSIX_MEMALIGN)
}

/// The thread has no slot, or its count has run out, or the request is too large to be one. r10: the bytes, r11: the `Real`. The registers
/// of the arguments are kept; all others are the caller's to lose.
#[unsafe(naked)]
unsafe extern "C" fn slow() {
    naked_asm!(
        ".cfi_startproc",
        "push rdi",
        ".cfi_adjust_cfa_offset 8",
        "push rsi",
        ".cfi_adjust_cfa_offset 8",
        "push rdx",
        ".cfi_adjust_cfa_offset 8",
        "push rcx",
        ".cfi_adjust_cfa_offset 8",
        "push r11",
        ".cfi_adjust_cfa_offset 8",
        "push r10",
        ".cfi_adjust_cfa_offset 8",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 8",
        "cmp qword ptr [r11], 0",
        "jne 2f",
        "call {look_for}",
        "2:",
        "mov rax, qword ptr [rip + {sample}]",
        "mov rsi, qword ptr [rsp + 8]",
        "mov r8, qword ptr [rsp + 16]",
        "mov r8, qword ptr [r8]",
        "test rax, rax",
        "jz 3f",
        "test rsi, rsi",
        "jz 3f",
        "test r8, r8",
        "jz 3f",
        // Where this thread's pointer lies, the bytes, the stack pointer of the call, rbp, the function that is called.
        "mov rdi, qword ptr fs:[0]",
        "add rdi, qword ptr [rip + genba_allocations_slot@GOTTPOFF]",
        "lea rdx, [rsp + 56]",
        "mov rcx, rbp",
        "call rax",
        "3:",
        "add rsp, 8",
        ".cfi_adjust_cfa_offset -8",
        "pop r10",
        ".cfi_adjust_cfa_offset -8",
        "pop r11",
        ".cfi_adjust_cfa_offset -8",
        "pop rcx",
        ".cfi_adjust_cfa_offset -8",
        "pop rdx",
        ".cfi_adjust_cfa_offset -8",
        "pop rsi",
        ".cfi_adjust_cfa_offset -8",
        "pop rdi",
        ".cfi_adjust_cfa_offset -8",
        "mov rax, qword ptr [r11]",
        "test rax, rax",
        "jz 4f",
        "jmp rax",
        "4:",
        "jmp qword ptr [r11 + 8]",
        ".cfi_endproc",
        sample = sym SAMPLE,
        look_for = sym look_for,
    )
}

/// From now on `sample` is asked. 0: there is no malloc behind this library, and nothing is counted.
#[unsafe(no_mangle)]
pub extern "C" fn genba_allocations_begin(sample: u64) -> c_int {
    look_for();
    if MALLOC.function.load(SeqCst) == 0 {
        return 0;
    }
    SAMPLE.store(sample, SeqCst);
    1
}

/// Where the calling thread's pointer to its slot lies.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub extern "C" fn genba_allocations_word() -> *mut u64 {
    naked_asm!(
        ".cfi_startproc",
        "mov rax, qword ptr fs:[0]",
        "add rax, qword ptr [rip + genba_allocations_slot@GOTTPOFF]",
        "ret",
        ".cfi_endproc",
    )
}
