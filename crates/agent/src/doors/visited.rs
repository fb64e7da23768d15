//! Where each thread of a running program comes by once, if its build does not bear signals on a thread's own stack: `genba attach` sets its
//! registers to `genba_visit`, on a stack that is here. It gives itself an alternate stack (alternate/fitted.rs), and jumps back.
//! Owns: the instructions, the words that the command fills in, the stack. Never: two threads at a time (the command sees to that); returns
//! with anything changed; needs the command: when that is killed the thread finds back by itself.
//!
//! From `THROUGH` on the thread uses nothing that the next one uses: what it needs to find back was copied to memory of its own. The last
//! instruction takes all from there at once, and so needs neither a register nor a word at a fixed place.
//! Sources: as crates/entry/src/code.rs, whose partner is crates/entry/src/visit.rs; Intel SDM volume 2, IRET (to the same privilege level).

use crate::system::alternate::fitted;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Registers with all vector state (11 kB with AMX), and what a handler of the program's needs that comes before signals are blocked.
const STACK_BYTES: usize = 64 << 10;

/// The command fills these in before a thread is sent.
#[repr(C)]
struct Filled {
    back_to: AtomicU64,
    stack_pointer: AtomicU64,
    vector_state_bytes: AtomicU64,
    /// 0, as the command writes it: not here yet; 1: on the way; 2: through; 3: through, and no other one may come, for want of memory.
    state: AtomicU32,
    /// Which thread was sent here last; 0: nobody was.
    tid: AtomicU32,
}

static FILLED: Filled = Filled {
    back_to: AtomicU64::new(0),
    stack_pointer: AtomicU64::new(0),
    vector_state_bytes: AtomicU64::new(0),
    state: AtomicU32::new(0),
    tid: AtomicU32::new(0),
};

/// Where all this lies; the command finds it by its name.
#[repr(C)]
pub struct Words {
    filled: Address,
    code: Address,
    code_end: Address,
    stack: Address,
    stack_bytes: u64,
    table: Address,
}

#[unsafe(export_name = "genba_visit_words")]
pub static WORDS: Words = Words {
    filled: Address((&raw const FILLED).cast()),
    code: Address(&raw const genba_visit),
    code_end: Address(&raw const genba_visit_end),
    stack: Address((&raw const STACK).cast()),
    stack_bytes: STACK_BYTES as u64,
    table: Address((&raw const fitted::TABLE).cast()),
};

struct Address(#[expect(dead_code, reason = "the command reads it")] *const u8);

// SAFETY: an address that nobody reads from here.
unsafe impl Sync for Address {}

#[repr(C, align(64))]
struct Stack(core::cell::UnsafeCell<[u8; STACK_BYTES]>);

// SAFETY: one thread at a time uses it.
unsafe impl Sync for Stack {}

static STACK: Stack = Stack(core::cell::UnsafeCell::new([0; STACK_BYTES]));
/// For the one thread that found no memory of its own: what it needs to find back, at the upper end.
static LAST: Stack = Stack(core::cell::UnsafeCell::new([0; STACK_BYTES]));

core::arch::global_asm!(
    ".pushsection .text.genba_visit,\"ax\",@progbits",
    ".hidden genba_visit",
    ".hidden genba_visit_end",
    ".globl genba_visit",
    ".globl genba_visit_end",
    ".type genba_visit,@function",
    ".type genba_visit_end,@function",
    ".balign 16",
    "genba_visit:",
    ".cfi_startproc",
    ".cfi_undefined rip",
    "mov dword ptr [rip + {filled} + 24], 1",
    "pushfq",
    "push rax",
    "push rcx",
    "push rdx",
    "push rbx",
    "push rbp",
    "push rsi",
    "push rdi",
    "push r8",
    "push r9",
    "push r10",
    "push r11",
    "push r12",
    "push r13",
    "push r14",
    "push r15",
    "cld",
    "mov rbp, rsp",
    // -8: the mask before; -16: all signals.
    "sub rsp, 32",
    "mov qword ptr [rbp - 16], -1",
    "mov eax, 14", // rt_sigprocmask
    "mov edi, 2",  // SIG_SETMASK
    "lea rsi, [rbp - 16]",
    "lea rdx, [rbp - 8]",
    "mov r10d, 8",
    "syscall",
    "sub rsp, [rip + {filled} + 16]",
    "and rsp, -64",
    // XRSTOR wants the header clean.
    "xor eax, eax",
    "mov [rsp + 512], rax",
    "mov [rsp + 520], rax",
    "mov [rsp + 528], rax",
    "mov [rsp + 536], rax",
    "mov [rsp + 544], rax",
    "mov [rsp + 552], rax",
    "mov [rsp + 560], rax",
    "mov [rsp + 568], rax",
    "mov eax, -1",
    "mov edx, -1",
    "xsave64 [rsp]",
    "call {fit}",
    "mov r13d, 2",
    "mov rbx, rax",
    "test rax, rax",
    "jnz 2f",
    "lea rbx, [rip + {last} + {last_back}]",
    "mov r13d, 3",
    "2: mov eax, -1",
    "mov edx, -1",
    "xrstor64 [rsp]",
    // The registers, as they were pushed; what IRET takes: instruction, cs, flags, stack pointer, ss; the mask.
    "mov rsi, rbp",
    "mov rdi, rbx",
    "mov ecx, 15",
    "rep movsq",
    "mov rax, [rip + {filled}]",
    "mov [rdi], rax",
    "mov eax, cs",
    "mov [rdi + 8], rax",
    "mov rax, [rsi]",
    "mov [rdi + 16], rax",
    "mov rax, [rip + {filled} + 8]",
    "mov [rdi + 24], rax",
    "mov eax, ss",
    "mov [rdi + 32], rax",
    "mov rax, [rbp - 8]",
    "mov [rdi + 40], rax",
    "lea rsi, [rdi + 40]",
    "mov rsp, rbx",
    "mov dword ptr [rip + {filled} + 24], r13d",
    "mov eax, 14",
    "mov edi, 2",
    "xor edx, edx",
    "mov r10d, 8",
    "syscall",
    "pop r15",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop r11",
    "pop r10",
    "pop r9",
    "pop r8",
    "pop rdi",
    "pop rsi",
    "pop rbp",
    "pop rbx",
    "pop rdx",
    "pop rcx",
    "pop rax",
    "iretq",
    ".cfi_endproc",
    ".size genba_visit, . - genba_visit",
    "genba_visit_end:",
    "ud2",
    ".popsection",
    filled = sym FILLED,
    fit = sym fit,
    last = sym LAST,
    last_back = const STACK_BYTES - 256,
);

unsafe extern "C" {
    static genba_visit: u8;
    static genba_visit_end: u8;
}

extern "C" fn fit() -> usize {
    fitted::fit()
}
