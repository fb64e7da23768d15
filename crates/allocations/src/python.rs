//! CPython's small objects: pymalloc's malloc, calloc and realloc of the domains obj and mem, with a count before them.
//! Owns: those three functions, and when they take the place of CPython's. Never: replaces `free` or the context, counts what goes on to malloc.
//!
//! pymalloc serves 1 to 512 bytes and hands everything else to malloc, which counts it (lib.rs): so nothing is counted twice.
//! A function that is replaced while other threads call it is harmless: the context and `free` stay, and a block of either way is the same.

use crate::{Real, count_and_go_on};
use core::arch::naked_asm;
use core::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::ffi::{c_int, c_void};

static PY_MALLOC: Real = Real { function: AtomicU64::new(0), early: nothing };
static PY_CALLOC: Real = Real { function: AtomicU64::new(0), early: nothing };
static PY_REALLOC: Real = Real { function: AtomicU64::new(0), early: nothing };

/// Never reached: the three are known before anybody comes here.
#[unsafe(naked)]
unsafe extern "C" fn nothing() {
    naked_asm!(".cfi_startproc", "xor eax, eax", "ret", ".cfi_endproc")
}

/// `PyMemAllocatorEx`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
struct Allocator {
    context: u64,
    malloc: u64,
    calloc: u64,
    realloc: u64,
    free: u64,
}

type Access = unsafe extern "C" fn(c_int, *mut Allocator);

/// `PYMEM_DOMAIN_RAW`, `_MEM`, `_OBJ`.
const RAW: c_int = 0;
const MEM: c_int = 1;
const OBJ: c_int = 2;

#[unsafe(naked)]
unsafe extern "C" fn py_malloc(context: *mut c_void, bytes: usize) -> *mut c_void {
    count_and_go_on!("mov r10, rsi", "lea rax, [rsi - 1]", "cmp rax, 512", "jae 9f"; PY_MALLOC)
}

#[unsafe(naked)]
unsafe extern "C" fn py_calloc(context: *mut c_void, count: usize, bytes: usize) -> *mut c_void {
    count_and_go_on!("mov r10, rsi", "imul r10, rdx", "jo 9f", "lea rax, [r10 - 1]", "cmp rax, 512", "jae 9f"; PY_CALLOC)
}

/// Whose the old block was is not known before: a block of malloc's goes on to libc's realloc, which counts. So this counts afterwards, when
/// nothing was counted meanwhile.
#[unsafe(naked)]
unsafe extern "C" fn py_realloc(context: *mut c_void, block: *mut c_void, bytes: usize) -> *mut c_void {
    naked_asm!(
        ".cfi_startproc",
        "lea rax, [rdx - 1]",
        "cmp rax, 512",
        "jae 9f",
        "mov rax, qword ptr [rip + genba_allocations_slot@GOTTPOFF]",
        "mov rax, qword ptr fs:[rax]",
        "test rax, rax",
        "jz 9f",
        "sub rsp, 24",
        ".cfi_adjust_cfa_offset 24",
        "mov rcx, qword ptr [rax]",
        "mov qword ptr [rsp], rax",
        "mov qword ptr [rsp + 8], rcx",
        "mov qword ptr [rsp + 16], rdx",
        "call qword ptr [rip + {real}]",
        "mov rdi, qword ptr [rsp]",
        "mov rcx, qword ptr [rsp + 8]",
        "mov rsi, qword ptr [rsp + 16]",
        "cmp qword ptr [rdi], rcx",
        "jne 2f",
        "sub qword ptr [rdi], rsi",
        "jns 2f",
        "mov r9, qword ptr [rip + {sample}]",
        "test r9, r9",
        "jz 2f",
        "mov qword ptr [rsp], rax",
        "mov rdi, qword ptr fs:[0]",
        "add rdi, qword ptr [rip + genba_allocations_slot@GOTTPOFF]",
        "lea rdx, [rsp + 24]",
        "mov rcx, rbp",
        "mov r8, qword ptr [rip + {real}]",
        "call r9",
        "mov rax, qword ptr [rsp]",
        "2:",
        "add rsp, 24",
        ".cfi_adjust_cfa_offset -24",
        "ret",
        "9:",
        "jmp qword ptr [rip + {real}]",
        ".cfi_endproc",
        real = sym PY_REALLOC,
        sample = sym crate::SAMPLE,
    )
}

/// What there was to count.
pub const COUNTED: c_int = 0;
/// All domains go on to malloc (`PYTHONMALLOC=malloc`): there is nothing else to count.
pub const ALL_MALLOC: c_int = 1;
/// Others' functions, a debugging allocator or tracemalloc: small objects are not counted.
pub const FOREIGN: c_int = 2;

/// Counts small objects from here on. `get`, `set`: `PyMem_GetAllocator` and `PyMem_SetAllocator` of an initialised interpreter.
///
/// # Safety
/// The two are those functions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn genba_allocations_begin_python(get: u64, set: u64) -> c_int {
    // SAFETY: the caller's promise.
    let (get, set) = unsafe { (core::mem::transmute::<u64, Access>(get), core::mem::transmute::<u64, Access>(set)) };
    let of = |domain| {
        let mut found = Allocator { context: 0, malloc: 0, calloc: 0, realloc: 0, free: 0 };
        // SAFETY: CPython fills the record, whose layout is that of all versions known.
        unsafe { get(domain, &raw mut found) };
        found
    };
    let (raw, mem, obj) = (of(RAW), of(MEM), of(OBJ));
    if obj.malloc == py_malloc as *const () as u64 {
        return COUNTED;
    }
    if obj != mem || obj.context != 0 || raw.context != 0 {
        return FOREIGN;
    }
    if obj.malloc == raw.malloc {
        return ALL_MALLOC;
    }
    PY_MALLOC.function.store(obj.malloc, SeqCst);
    PY_CALLOC.function.store(obj.calloc, SeqCst);
    PY_REALLOC.function.store(obj.realloc, SeqCst);
    let mut own = Allocator {
        malloc: py_malloc as *const () as u64,
        calloc: py_calloc as *const () as u64,
        realloc: py_realloc as *const () as u64,
        ..obj
    };
    for domain in [MEM, OBJ] {
        // SAFETY: as above.
        unsafe { set(domain, &raw mut own) };
    }
    COUNTED
}
