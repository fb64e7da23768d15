//! What the kernel does with a signal, and which signals are genba's.
//! Owns: libc's own `sigaction`, the process whose handlers these are, the address of genba's entry. Never: knows what the program believes.

use crate::system::proc::own_pid;
use crate::system::symbols;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};

pub const SAMPLE: c_int = libc::SIGURG;
pub const OURS: [c_int; 3] = [SAMPLE, libc::SIGSEGV, libc::SIGBUS];
type SigactionFn = unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int;

/// Whose views these are: a vfork child runs in the same memory with handlers of its own.
pub static PROCESS: AtomicU32 = AtomicU32::new(0);
static REAL: AtomicU64 = AtomicU64::new(0);

/// Finds libc's own `sigaction`, when the library is loaded: it is called where the dynamic linker must not be.
pub fn find_real() {
    REAL.store(symbols::next(c"sigaction").unwrap_or(0), SeqCst);
}

/// libc's own `sigaction`.
///
/// # Safety
/// As `sigaction`: pointers are null or valid.
pub unsafe fn real_sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    if REAL.load(SeqCst) == 0 {
        find_real();
    }
    let address = REAL.load(SeqCst);
    if address == 0 {
        return -1;
    }
    // SAFETY: dlsym gave libc's function of this name; its arguments are the caller's.
    unsafe { core::mem::transmute::<u64, SigactionFn>(address)(signal, new, old) }
}

pub fn index_of(signal: c_int) -> Option<usize> {
    OURS.iter().position(|&ours| ours == signal)
}

/// Whether this process has the views: a vfork child has its parent's memory.
#[must_use]
pub fn is_own_process() -> bool {
    PROCESS.load(SeqCst) == own_pid()
}

/// What the kernel does with a signal now.
pub fn in_kernel(signal: c_int) -> libc::sigaction {
    // SAFETY: asks only; the answer goes to a local.
    unsafe {
        let mut now: libc::sigaction = core::mem::zeroed();
        real_sigaction(signal, core::ptr::null(), &raw mut now);
        now
    }
}

unsafe extern "C" {
    fn genba_on_fault();
}

/// Genba's entry for faults (faults.rs), the address that the kernel has.
#[must_use]
pub fn entry() -> usize {
    genba_on_fault as *const () as usize
}
