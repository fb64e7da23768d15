//! Sleeping until another thread changes a word.
//! Owns: the two system calls. Never: waits without end, takes memory, locks: both may be called in a signal handler.

use std::sync::atomic::AtomicU32;

/// Whose threads sleep on a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// This process's.
    Process,
    /// Those of every process that has mapped it.
    Shared,
}

impl Reach {
    const fn flag(self) -> i32 {
        match self {
            Reach::Process => 128,
            Reach::Shared => 0,
        }
    }
}

/// Sleeps while `word` is `value`, until `deadline_ns` (CLOCK_MONOTONIC).
pub fn wait(word: &AtomicU32, value: u32, deadline_ns: u64, reach: Reach) {
    const FUTEX_WAIT_BITSET: i32 = 9;
    let deadline =
        libc::timespec { tv_sec: (deadline_ns / 1_000_000_000) as i64, tv_nsec: (deadline_ns % 1_000_000_000) as i64 };
    // SAFETY: the kernel reads the word and the timespec, both of which outlive the call.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            FUTEX_WAIT_BITSET | reach.flag(),
            value,
            &raw const deadline,
            core::ptr::null::<u32>(),
            u32::MAX,
        );
    }
}

pub fn wake(word: &AtomicU32, reach: Reach) {
    const FUTEX_WAKE: i32 = 1;
    // SAFETY: the kernel uses the address as a name only.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), FUTEX_WAKE | reach.flag(), i32::MAX) };
}
