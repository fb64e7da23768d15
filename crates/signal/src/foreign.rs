//! A SIGURG of the program's that meets a thread which blocks it in the program's belief, and not in the kernel (agent/src/signals/mask.rs).
//! Owns: that it waits then, as it would without genba. Never: touches one of genba's. Keeps: I-04; the thread's storage is read at a
//! fixed place, which allocates nothing, by the kernel: a thread that was made without libc may have none there.

use crate::handler::SHARED;
use core::arch::asm;
use core::sync::atomic::Ordering::SeqCst;

/// The word of the ucontext that holds the signal mask (Linux x86-64).
const MASK: usize = 37;
const SIGURG: u64 = 23;
const BIT: u64 = 1 << (SIGURG - 1);

/// From here on the kernel blocks the signal in this thread, and it is sent again: to the thread, or to the process, whose other threads are
/// then asked in turn. False: the thread does not block it.
///
/// # Safety
/// The two records of the signal being handled.
pub unsafe fn keep_for_later(info: *const u64, context: *mut u64) -> bool {
    const SI_TKILL: i32 = -6;
    const SYS_RT_SIGPROCMASK: u64 = 14;
    const SYS_GETPID: u64 = 39;
    const SYS_RT_SIGQUEUEINFO: u64 = 129;
    const SYS_GETTID: u64 = 186;
    const SYS_RT_TGSIGQUEUEINFO: u64 = 297;
    const SIG_BLOCK: u64 = 0;
    let offset = SHARED.wish.load(SeqCst);
    if offset == 0 {
        return false;
    }
    // SAFETY: the system calls read a mask on this stack and the signal's own record; the kernel lets a process send itself any record. The
    // mask is blocked now, too: a handler may leave its own signal open.
    unsafe {
        let tid = call(SYS_GETTID, [0; 6]);
        if !is_wished(tid, offset) {
            return false;
        }
        *context.add(MASK) |= BIT;
        let mask = BIT;
        call(SYS_RT_SIGPROCMASK, [SIG_BLOCK, &raw const mask as u64, 0, 8, 0, 0]);
        if *info.add(1) as i32 == SI_TKILL {
            call(SYS_RT_TGSIGQUEUEINFO, [call(SYS_GETPID, [0; 6]), tid, SIGURG, info as u64, 0, 0]);
        } else {
            // The kernel takes any thread's number for its process here, and lets a thread send a record of `kill` to its own number only.
            call(SYS_RT_SIGQUEUEINFO, [tid, SIGURG, info as u64, 0, 0, 0]);
        }
    }
    true
}

/// Whether this thread's word, so far from its thread pointer, is its number. The kernel compares: where there is no such memory it says so.
fn is_wished(tid: u64, offset: u64) -> bool {
    const SYS_ARCH_PRCTL: u64 = 158;
    const SYS_FUTEX: u64 = 202;
    const ARCH_GET_FS: u64 = 0x1003;
    const FUTEX_CMP_REQUEUE_PRIVATE: u64 = 4 | 128;
    let mut pointer = 0_u64;
    // SAFETY: the kernel writes one word on this stack and compares the thread's word; nobody is woken, nobody moved.
    unsafe {
        if call(SYS_ARCH_PRCTL, [ARCH_GET_FS, &raw mut pointer as u64, 0, 0, 0, 0]) != 0 {
            return false;
        }
        let word = pointer.wrapping_add(offset);
        call(SYS_FUTEX, [word, FUTEX_CMP_REQUEUE_PRIVATE, 0, 0, word, tid]) == 0
    }
}

/// # Safety
/// As the system call itself.
unsafe fn call(number: u64, arguments: [u64; 6]) -> u64 {
    let result;
    // SAFETY: as the caller promises; the kernel changes rcx and r11 alone.
    unsafe {
        asm!("syscall", inout("rax") number => result, in("rdi") arguments[0], in("rsi") arguments[1], in("rdx") arguments[2],
            in("r10") arguments[3], in("r8") arguments[4], in("r9") arguments[5], out("rcx") _, out("r11") _, options(nostack));
    }
    result
}
