//! A signal of the program's that must wait, although the kernel delivers it: SIGURG in a thread that blocks it in the program's
//! belief only (agent/src/system/signals/mask.rs), SIGSEGV and SIGBUS within genba's handler (kept.rs).
//! Owns: blocking the signal in the kernel, and sending it again with the same record. Never: touches a signal of genba's. Keeps: I-04. The
//! kernel reads the thread's storage at a fixed place and allocates nothing: a thread that was made without libc may have no storage there.

use crate::handler::SHARED;
use core::arch::asm;
use core::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// The word of the ucontext that holds the signal mask (Linux x86-64).
pub(crate) const MASK: usize = 37;
const SIGURG: u64 = 23;
/// What the kernel keeps of a signal, in words.
pub(crate) const RECORD_WORDS: usize = 16;
/// A record of `tgkill` or `pthread_kill`: for one thread.
const SI_TKILL: i32 = -6;

/// How often a signal of the program's was given back by `keep_for_later`.
pub static GIVEN_BACK: AtomicU64 = AtomicU64::new(0);

/// From here on the kernel blocks the signal in this thread, and it is sent again: to the thread, or to the process, whose other threads are
/// then asked in turn. False: the thread does not block it.
///
/// # Safety
/// The two records of the signal being handled.
pub unsafe fn keep_for_later(info: *const u64, context: *mut u64) -> bool {
    let offset = SHARED.wish.load(SeqCst);
    if offset == 0 {
        return false;
    }
    let tid = own_tid();
    if !is_wished(tid, offset) {
        return false;
    }
    GIVEN_BACK.fetch_add(1, SeqCst);
    // SAFETY: as the caller promises.
    unsafe { send_again_blocked(SIGURG, info, context, tid, To::AsItCame) };
    true
}

/// Blocks the signal where `context` goes on, and sends it again. Now, too: a handler may leave its own signal open.
///
/// # Safety
/// The two records of the signal being handled.
pub(crate) unsafe fn send_again_blocked(signal: u64, info: *const u64, context: *mut u64, tid: u64, to: To) {
    // SAFETY: as the caller promises.
    unsafe {
        *context.add(MASK) |= bit(signal);
        block(bit(signal));
        send_again(signal, info, tid, to);
    }
}

pub(crate) const fn bit(signal: u64) -> u64 {
    1 << (signal - 1)
}

/// Whether the record says that the signal is for a single thread.
///
/// # Safety
/// A signal's record.
pub(crate) unsafe fn is_for_thread(info: *const u64) -> bool {
    // SAFETY: the code is in its second word.
    unsafe { *info.add(1) as i32 == SI_TKILL }
}

pub(crate) fn own_pid() -> u64 {
    const SYS_GETPID: u64 = 39;
    // SAFETY: asks.
    unsafe { call(SYS_GETPID, [0; 6]) }
}

pub(crate) fn own_tid() -> u64 {
    const SYS_GETTID: u64 = 186;
    // SAFETY: asks.
    unsafe { call(SYS_GETTID, [0; 6]) }
}

/// In this thread, beside what is blocked.
pub(crate) fn block(mask: u64) {
    const SYS_RT_SIGPROCMASK: u64 = 14;
    const SIG_BLOCK: u64 = 0;
    // SAFETY: the kernel reads a mask on this stack.
    unsafe { call(SYS_RT_SIGPROCMASK, [SIG_BLOCK, &raw const mask as u64, 0, 8, 0, 0]) };
}

/// Who gets the signal when it is sent again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum To {
    /// The thread's or the process's, as the record says.
    AsItCame,
    /// The thread's: the kernel had chosen it, and without genba it would have had it by now.
    Thread,
}

/// If the kernel or a filter forbids that, it sends the nearest record that they allow.
///
/// # Safety
/// The record of a signal that came to this thread.
pub(crate) unsafe fn send_again(signal: u64, info: *const u64, tid: u64, to: To) {
    const SYS_RT_SIGQUEUEINFO: u64 = 129;
    const SYS_TGKILL: u64 = 234;
    const SYS_RT_TGSIGQUEUEINFO: u64 = 297;
    // SAFETY: the kernel reads the record, and lets a process send itself any, but for records of `kill`: those a thread may send to its own
    // number only, which the kernel takes for its process where it wants one.
    unsafe {
        let pid = own_pid();
        let to_thread = || call(SYS_RT_TGSIGQUEUEINFO, [pid, tid, signal, info as u64, 0, 0]) == 0;
        let to_process = || call(SYS_RT_SIGQUEUEINFO, [tid, signal, info as u64, 0, 0, 0]) == 0;
        let is_sent = match to {
            _ if is_for_thread(info) => to_thread(),
            To::AsItCame => to_process() || to_thread(),
            To::Thread => to_thread() || to_process(),
        };
        if !is_sent {
            call(SYS_TGKILL, [pid, tid, signal, 0, 0, 0]);
        }
    }
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
pub(crate) unsafe fn call(number: u64, arguments: [u64; 6]) -> u64 {
    let result;
    // SAFETY: as the caller promises; the kernel changes rcx and r11 alone.
    unsafe {
        asm!("syscall", inout("rax") number => result, in("rdi") arguments[0], in("rsi") arguments[1], in("rdx") arguments[2],
            in("r10") arguments[3], in("r8") arguments[4], in("r9") arguments[5], out("rcx") _, out("r11") _, options(nostack));
    }
    result
}
