//! Which thread is the sampler's: by its number, and by the stack it runs on.
//! Owns: both. Never: asks the kernel or thread-local storage; a signal handler asks here.

use crate::system::signals::mask;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::SeqCst};

/// The sampler's thread; 0: not known.
pub static SAMPLER_TID: AtomicU32 = AtomicU32::new(0);
/// Where the stack of the thread begins that may be ended where it stands: the sampler's. 0: none.
static SAMPLER_STACK: AtomicUsize = AtomicUsize::new(0);
pub const STACK_BYTES: usize = 1 << 20;

/// Runs the sampler's life on this thread, whose stack begins here. Faults of its reads come through while it is known by its stack: one that
/// was sent to the process must not find the program's handler here.
pub fn as_sampler<T>(life: impl FnOnce() -> T) -> T {
    const OF_READS: u64 = mask::bit(libc::SIGSEGV) | mask::bit(libc::SIGBUS);
    let here = 0_u8;
    let begin = (&raw const here).addr();
    SAMPLER_STACK.store(begin, SeqCst);
    mask::in_kernel(libc::SIG_UNBLOCK, OF_READS);
    let result = life();
    mask::in_kernel(libc::SIG_BLOCK, OF_READS);
    // A sampler that has parked may be another thread's by now.
    let _ = SAMPLER_STACK.compare_exchange(begin, 0, SeqCst, SeqCst);
    result
}

/// No thread may be ended any more: also in a forked child, which has none but the program's.
pub fn no_sampler() {
    SAMPLER_STACK.store(0, SeqCst);
}

/// By its stack: neither a system call, which a filter may forbid, nor thread-local storage, which may take memory.
pub fn is_sampler() -> bool {
    let here = 0_u8;
    SAMPLER_STACK.load(SeqCst).checked_sub((&raw const here).addr()).is_some_and(|depth| depth < STACK_BYTES)
}
