//! What runs inside the signal handler: guarded reads, unwinding, request buffers; the walk over
//! CPython's frames is genba_python's.
//! Never: calls libc or the interpreter, allocates, locks, waits, panics, formats, loops without a bound (I-04, I-07).
//! `core` only; the check `cargo xtask handler` allows no undefined symbol.
#![no_std]

mod calls;
pub mod deposits;
pub mod foreign;
pub mod handler;
pub mod jit;
pub mod kept;
pub mod memory;
pub mod request;
pub mod rows;
pub mod unwind;
pub mod walk_memory;

use handler::Arrival;
use rows::Registers;

core::arch::global_asm!(
    ".pushsection .text.genba_on_sample,\"ax\",@progbits",
    ".globl genba_on_sample",
    ".hidden genba_on_sample",
    ".type genba_on_sample,@function",
    "genba_on_sample:",
    ".cfi_startproc",
    "sub rsp, 8",
    ".cfi_adjust_cfa_offset 8",
    "call {look}",
    "add rsp, 8",
    ".cfi_adjust_cfa_offset -8",
    "test rax, rax",
    "jz 3f",
    // A write is to be finished, where the frame is now (cut_write.rs).
    "lea rsp, [rax - 8]",
    "mov rdi, rax",
    "sub rsp, 8",
    ".cfi_adjust_cfa_offset 8",
    "call {finish_write}",
    "add rsp, 8",
    ".cfi_adjust_cfa_offset -8",
    "3:",
    "cmp dword ptr [rip + {waiting}], 0",
    // A signal that comes after this point finds that the check is over (kept.rs).
    ".globl genba_on_sample_asked",
    ".hidden genba_on_sample_asked",
    "genba_on_sample_asked:",
    "je 2f",
    "sub rsp, 8",
    ".cfi_adjust_cfa_offset 8",
    "call {send_kept}",
    "add rsp, 8",
    ".cfi_adjust_cfa_offset -8",
    "2:",
    "ret",
    ".globl genba_on_sample_end",
    ".hidden genba_on_sample_end",
    "genba_on_sample_end:",
    ".cfi_endproc",
    ".size genba_on_sample, . - genba_on_sample",
    ".popsection",
    look = sym on_sample,
    finish_write = sym calls::cut_write::finish_write,
    waiting = sym kept::WAITING,
    send_kept = sym kept::send_kept,
);

unsafe extern "C" {
    /// The signal handler itself, as `sigaction` with SA_SIGINFO wants it.
    ///
    /// # Safety
    /// Only the kernel calls this, with the two records of the signal being handled.
    pub fn genba_on_sample(signal: i32, info: *const u64, context: *mut u64);
}

/// What the handler does before its end. Offsets: Linux x86-64 siginfo and ucontext. Not null: the ucontext of a write that is to be finished.
///
/// # Safety
/// The same as for the handler.
unsafe extern "C" fn on_sample(_signal: i32, info: *const u64, context: *mut u64) -> *mut u64 {
    const MASK_FAULTS: u64 = 1 << (11 - 1) | 1 << (7 - 1);
    /// The frame of one more signal, up to 3.4 kB with AVX-512 and 11 kB with AMX, and what its handler needs.
    const FAULT_BYTES: u64 = 12 << 10;
    // SAFETY: ucontext begins with flags, link, and the alternate stack: address, flags, size. The handler of a fault goes there
    // when the program's own wants it, wherever this one runs.
    let small = unsafe {
        let (bottom, bytes) = (*context.add(2), *context.add(4));
        let above = (context as u64).wrapping_sub(bottom);
        let left = if above < bytes { above } else { bytes };
        bytes != 0 && left < FAULT_BYTES
    };
    // SAFETY: siginfo is 128 bytes, ucontext at least 304; both lie on this stack and are 8-byte aligned.
    let arrival = unsafe {
        Arrival {
            code: *info.add(1) as i32,
            pid: *info.add(2) as u32,
            value: *info.add(3),
            registers: Registers {
                rip: *context.add(5 + 16),
                rsp: *context.add(5 + 15),
                rbp: Some(*context.add(5 + 10)),
            },
            faults_welcome: *context.add(37) & MASK_FAULTS == 0 && !small,
        }
    };
    // One that is not genba's is ignored by default, or waits; a program that has its own handler took ours away
    // (agent/src/system/signals.rs).
    if handler::answer(&arrival) {
        // SAFETY: the context is the kernel's, and the answer is given. A call was restarted, or has returned, or neither.
        unsafe {
            calls::restarted_call::end_restarted_call(context, &arrival);
            return calls::cut_write::of_cut_write(context, &arrival);
        }
    } else if arrival.code != handler::SAMPLE_CODE {
        // SAFETY: the kernel's two records.
        unsafe { foreign::keep_for_later(info, context) };
    }
    core::ptr::null_mut()
}
