//! Sleeping until another thread changes a word.
//! Owns: the two system calls. Never: waits without end, takes memory, locks, changes `errno`: both may be called in a signal handler, and
//! inside of a function of libc's that genba replaces.

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
    keeping_errno(|| unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            FUTEX_WAIT_BITSET | reach.flag(),
            value,
            &raw const deadline,
            core::ptr::null::<u32>(),
            u32::MAX,
        )
    });
}

pub fn wake(word: &AtomicU32, reach: Reach) {
    const FUTEX_WAKE: i32 = 1;
    // SAFETY: the kernel uses the address as a name only.
    keeping_errno(|| unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), FUTEX_WAKE | reach.flag(), i32::MAX) });
}

/// A wait that a signal, the time or a new value ended is no failure of the caller's.
fn keeping_errno(call: impl FnOnce() -> i64) {
    // SAFETY: the address of this thread's errno is always valid.
    unsafe {
        let errno = *libc::__errno_location();
        call();
        *libc::__errno_location() = errno;
    }
}

#[cfg(test)]
mod tests {
    use super::{Reach, wait, wake};
    use std::sync::atomic::AtomicU32;

    #[test]
    fn errno_stays() {
        let (word, own) = (AtomicU32::new(0), 77);
        // SAFETY: the address of this thread's errno is always valid.
        let errno = || unsafe { &mut *libc::__errno_location() };
        for value in [1, 0] {
            *errno() = own;
            wait(&word, value, 1, Reach::Process);
            assert_eq!(*errno(), own, "another value (EAGAIN), or a time that is over (ETIMEDOUT)");
        }
        wake(&word, Reach::Shared);
        assert_eq!(*errno(), own);
    }
}
