//! A handler of the program's that asks for `SA_ONSTACK` runs where it would without genba: on the program's alternate stack, or on the
//! thread's own stack. Where the kernel has put its frame on genba's alternate stack, the frame moves there before the handler begins.
//! Owns: where that is. Never: takes what is below the stack pointer by 128 bytes or less; moves a frame that does not fit.
//!
//! A frame of the kernel may lie anywhere: it finds the frame again by the stack pointer as the handler returns, and the registers' part by
//! a pointer in it, which is aligned to 64 bytes. Genba's stack is free as soon as the frame has left. Sources: arch/x86/kernel/signal_64.c,
//! arch/x86/include/uapi/asm/sigcontext.h.

use super::stack::{Own, holds};

/// The address for the handler's return lies below the record that the handler gets.
const RETURN_BYTES: usize = 8;
/// That address, the record and the siginfo.
const FRAME_BYTES: usize = RETURN_BYTES + 304 + 128;
const ALIGNMENT: usize = 64;
const RED_ZONE_BYTES: usize = 128;

/// Copies the frame of the handler that this record is for. By how many bytes it, the record and the siginfo are elsewhere now; 0: all stays.
///
/// # Safety
/// The kernel's record; nothing of the frame is in use but by the caller, who goes on there.
pub unsafe fn distance_to_programs_stack(context: *mut libc::ucontext_t) -> usize {
    let Some(own) = Own::here() else { return 0 };
    let begin = context as usize - RETURN_BYTES;
    if !own.holds(begin) {
        return 0;
    }
    // SAFETY: the kernel's record. The place where the frame goes is unused memory of the program's stack, as where the kernel would have
    // put it: where there is none the process dies of it, as it would there.
    unsafe {
        let interrupted = (&(*context).uc_mcontext.gregs)[libc::REG_RSP as usize] as usize;
        let registers = (*context).uc_mcontext.fpregs as usize;
        let end = if registers == 0 { begin + FRAME_BYTES } else { registers + registers_bytes(registers) };
        // In the midst of this very function, for another signal.
        if own.holds(interrupted) || !own.holds(end) {
            return 0;
        }
        let Some(programs) = own.programs((*context).uc_stack.ss_sp) else { return 0 };
        let is_on_thread = programs.ss_size == 0;
        let (lowest, top) = if is_on_thread || holds(&programs, interrupted) {
            (programs.ss_sp as usize, interrupted - RED_ZONE_BYTES)
        } else {
            (programs.ss_sp as usize, programs.ss_sp as usize + programs.ss_size)
        };
        let distance = top.wrapping_sub(end) & !(ALIGNMENT - 1);
        let moved = begin.wrapping_add(distance);
        // Too small; or so little is left of the thread's stack that genba's is the next of it.
        if moved < lowest || own.holds(moved) {
            return 0;
        }
        core::ptr::copy_nonoverlapping(begin as *const u8, moved as *mut u8, end - begin);
        if registers != 0 {
            let context = context.wrapping_byte_add(distance);
            (*context).uc_mcontext.fpregs = (*context).uc_mcontext.fpregs.wrapping_byte_add(distance);
        }
        distance
    }
}

/// How much the registers of a frame take.
///
/// # Safety
/// `registers` is the address at which the kernel wrote them into the frame.
const unsafe fn registers_bytes(registers: usize) -> usize {
    const LEGACY_BYTES: usize = 512;
    /// Where the kernel says so, and how it marks that.
    const SOFTWARE_AT: usize = 464;
    const MAGIC: u32 = 0x4650_5853;
    // SAFETY: the kernel's part for the registers has at least the legacy ones.
    unsafe {
        let software = (registers + SOFTWARE_AT) as *const u32;
        if software.read() == MAGIC { software.add(1).read() as usize } else { LEGACY_BYTES }
    }
}
