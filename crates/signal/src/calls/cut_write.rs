//! Finishes a write that genba's own signal cut short.
//! Owns: the one system call that is continued. Never: begins one, continues what a signal of the program's cut short.
//!
//! A `write` to a full pipe waits, but not with a signal pending: it returns what it has written so far, and many programs do not
//! ask how much that was (Python's unbuffered `sys.stdout` loses the rest). The kernel delivers the signal when that call returns, so the
//! handler finds it in the registers.
//!
//! While the rest is written, handlers of the program's may run. They must find the thread's own stack as they would without genba, and an
//! alternate one free. So a handler of genba's that runs on an alternate stack moves its frame to the thread's own first. The kernel finds
//! a frame by the stack pointer with which the handler returns, and the registers' part by a pointer in it, which is aligned to 64 bytes.
//! Sources: Linux 6.12, arch/x86/kernel/signal_64.c, arch/x86/include/uapi/asm/sigcontext.h.

use crate::foreign::MASK;
use crate::handler::{Arrival, SHARED};
use crate::kept::{WAITING, send_kept};
use crate::memory::WordsByKernel;
use crate::unwind::Walk;
use core::arch::asm;
use core::sync::atomic::Ordering::SeqCst;

/// libc's `write` and what it calls on the way to the kernel.
const FRAMES_MAX: usize = 4;
/// Words of the ucontext (Linux x86-64): the alternate stack's lowest address and its size, and the registers.
const STACK: usize = 2;
const STACK_BYTES: usize = 4;
const FLOATING: usize = 5 + 23;
const RSP: usize = 5 + 15;
const RDI: usize = 5 + 8;
const RSI: usize = 5 + 9;
const RDX: usize = 5 + 12;
const RAX: usize = 5 + 13;
const RCX: usize = 5 + 14;
/// SIGURG.
const SAMPLE_BIT: u64 = 1 << (23 - 1);

/// The ucontext with which the rest is to be written, if the signal arrived as a system call returned with less than asked for and that call was
/// `write`; else null. The frame around it is where the handler goes on.
///
/// # Safety
/// `context` is the ucontext of the signal being handled, and nothing else is left to do in the handler.
#[inline(always)]
pub unsafe fn of_cut_write(context: *mut u64, arrival: &Arrival) -> *mut u64 {
    // SAFETY: the words lie in the ucontext.
    let (done, asked, returned_to) = unsafe { (*context.add(RAX), *context.add(RDX), *context.add(RCX)) };
    // `syscall` leaves its return address in rcx. A negative result is larger than any length.
    if done > 0 && done < asked && returned_to == arrival.registers.rip && is_in_write(arrival) {
        // SAFETY: as the caller promises.
        return unsafe { on_thread_s_stack(context) };
    }
    core::ptr::null_mut()
}

/// The frame moves to the thread's own stack, if it is on an alternate one and the thread was not. Null: there is no room beside that stack.
///
/// # Safety
/// As `of_cut_write`.
#[inline(never)]
unsafe fn on_thread_s_stack(context: *mut u64) -> *mut u64 {
    const RED_ZONE_BYTES: u64 = 128;
    const ALIGNMENT: u64 = 64;
    /// The address for the handler's return, the ucontext and the siginfo.
    const RETURN_BYTES: u64 = 8;
    const FRAME_BYTES: u64 = RETURN_BYTES + 304 + 128;
    // SAFETY: the kernel's record. Below the red zone of a thread that has just returned from a system call nothing is in use.
    unsafe {
        let (lowest, bytes, interrupted) = (*context.add(STACK), *context.add(STACK_BYTES), *context.add(RSP));
        let is_on_it = |address: u64| address.wrapping_sub(lowest) < bytes;
        let begin = context as u64 - RETURN_BYTES;
        if !is_on_it(begin) || is_on_it(interrupted) {
            return context;
        }
        let floating = *context.add(FLOATING);
        let end = if floating == 0 { begin + FRAME_BYTES } else { floating + floating_bytes(floating) };
        let distance = interrupted.wrapping_sub(RED_ZONE_BYTES).wrapping_sub(end) & !(ALIGNMENT - 1);
        let moved = begin.wrapping_add(distance);
        // Genba's own stack is the lowest part of the thread's, and is next where little is left of that.
        let room = moved.wrapping_sub(ROOM_BYTES);
        if is_on_it(room) || is_on_it(moved) || is_on_it(interrupted.wrapping_sub(RED_ZONE_BYTES)) {
            return core::ptr::null_mut();
        }
        asm!("rep movsb", inout("rsi") begin => _, inout("rdi") moved => _, inout("rcx") end - begin => _,
            options(nostack, preserves_flags));
        let context = context.wrapping_byte_add(distance as usize);
        if floating != 0 {
            *context.add(FLOATING) = floating.wrapping_add(distance);
        }
        context
    }
}

/// What the handler itself needs of the stack from there on.
const ROOM_BYTES: u64 = 1024;

/// How much the floating-point registers of a frame take.
///
/// # Safety
/// The address at which the kernel wrote them.
unsafe fn floating_bytes(floating: u64) -> u64 {
    const LEGACY_BYTES: u64 = 512;
    /// Where the kernel says so, and how it marks that.
    const SOFTWARE_AT: u64 = 464;
    const MAGIC: u32 = 0x4650_5853;
    // SAFETY: the kernel's part for the registers has at least the legacy ones.
    unsafe {
        let software = (floating + SOFTWARE_AT) as *const u32;
        if software.read() == MAGIC { u64::from(software.add(1).read()) } else { LEGACY_BYTES }
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

/// Writes the rest, and puts the sum where the program looks.
///
/// # Safety
/// What `of_cut_write` gave, and the stack is at the frame around it.
pub(crate) unsafe extern "C" fn finish_write(context: *mut u64) {
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
