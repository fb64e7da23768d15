//! Finishes a write that genba's own signal cut short.
//! Owns: the one system call that is continued. Never: begins one, continues what a signal of the program's cut short.
//!
//! A `write` to a full pipe waits, but not with a signal pending: it returns what it has written so far, and many programs do not
//! ask how much that was (Python's unbuffered `sys.stdout` loses the rest). The kernel delivers the signal when that call returns, so the
//! handler finds it in the registers.

use crate::foreign::MASK;
use crate::handler::{Arrival, SHARED};
use crate::kept::{WAITING, send_kept};
use crate::memory::WordsByKernel;
use crate::unwind::Walk;
use core::arch::asm;
use core::sync::atomic::Ordering::SeqCst;

/// libc's `write` and what it calls on the way to the kernel.
const FRAMES_MAX: usize = 4;
/// Words of the ucontext (Linux x86-64): the registers.
const RDI: usize = 5 + 8;
const RSI: usize = 5 + 9;
const RDX: usize = 5 + 12;
const RAX: usize = 5 + 13;
const RCX: usize = 5 + 14;
/// SIGURG.
const SAMPLE_BIT: u64 = 1 << (23 - 1);

/// Writes the rest, if the signal arrived as a system call returned with less than asked for and that call was `write`.
///
/// # Safety
/// `context` is the ucontext of the signal being handled, and nothing else is left to do in the handler.
#[inline(always)]
pub unsafe fn finish_cut_write(context: *mut u64, arrival: &Arrival) {
    // SAFETY: the words lie in the ucontext.
    let (done, asked, returned_to) = unsafe { (*context.add(RAX), *context.add(RDX), *context.add(RCX)) };
    // `syscall` leaves its return address in rcx. A negative result is larger than any length.
    if done > 0 && done < asked && returned_to == arrival.registers.rip && is_in_write(arrival) {
        // SAFETY: as the caller promises.
        unsafe { finish_write(context) };
    }
}

/// Apart: rare. The number of the system call is not kept anywhere; that the thread
/// is in libc's `write` tells it.
#[inline(never)]
fn is_in_write(arrival: &Arrival) -> bool {
    let write = SHARED.write_begin.load(SeqCst)..SHARED.write_end.load(SeqCst);
    // SAFETY: null or a published table that is never freed.
    let Some(libc) = (unsafe { SHARED.write_rows.load(SeqCst).as_ref() }) else { return false };
    let memory = WordsByKernel { pid: arrival.pid };
    let mut walk = Walk::new(arrival.registers);
    for _ in 0..FRAMES_MAX {
        match walk.step(&memory, libc) {
            Ok(frame) if write.contains(&frame.pc) => return true,
            Ok(_) => {}
            Err((frame, _)) => return write.contains(&frame.pc),
        }
    }
    false
}

/// Puts the sum where the program looks.
///
/// # Safety
/// As `finish_cut_write`; the call was `write`.
#[inline(never)]
unsafe fn finish_write(context: *mut u64) {
    const SYS_WRITE: u64 = 1;
    const SYS_RT_SIGPROCMASK: u64 = 14;
    const SIG_SETMASK: u64 = 2;
    // SAFETY: the words lie in the ucontext. The program's own call is continued with its own arguments, from where it stopped:
    // the kernel judges them as it did before. While it waits, signals get through as outside of the handler, except
    // genba's: a second handler would continue the same write.
    unsafe {
        let done = *context.add(RAX);
        let (descriptor, from, left) =
            (*context.add(RDI), (*context.add(RSI)).wrapping_add(done), *context.add(RDX) - done);
        let mask = *context.add(MASK) | SAMPLE_BIT;
        // What was sent meanwhile gets through with the others.
        if WAITING.load(SeqCst) != 0 {
            send_kept();
        }
        asm!("syscall", inout("rax") SYS_RT_SIGPROCMASK => _, in("rdi") SIG_SETMASK, in("rsi") &raw const mask,
            in("rdx") 0_u64, in("r10") 8_u64, out("rcx") _, out("r11") _);
        let more: u64;
        asm!("syscall", inout("rax") SYS_WRITE => more, in("rdi") descriptor, in("rsi") from, in("rdx") left,
            out("rcx") _, out("r11") _);
        // An error (the other end closed, another signal) is the program's next call's to meet; what was written counts.
        if more <= left {
            *context.add(RAX) = done + more;
        }
        // A signal of the program's may have cut it again, and one of genba's wait behind it: that one must not take this for
        // another return. No code reads rcx after a system call.
        *context.add(RCX) = 0;
    }
}
