//! A SIGSEGV or SIGBUS that is sent to a thread while genba's handler looks at it. Both are open there, because a guarded read may fault; the
//! program's handler must not run on top of genba's.
//! Owns: the records of such signals. The end of the handler sends them again, and they arrive after its return. Never: touches a signal
//! that an instruction made. Keeps: I-04.
//!
//! A signal that arrives after the handler's last check for such signals (lib.rs) needs no record: the handler reads nothing any more. The
//! signal is blocked for the rest of the handler and sent again at once.

use crate::foreign::{
    MASK, RECORD_WORDS, To, bit, block, is_for_thread, own_pid, own_tid, send_again, send_again_blocked,
};
use crate::memory::WordsByKernel;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use genba_python::memory::{Address, Memory};

const SIGBUS: u64 = 7;
const SIGSEGV: u64 = 11;
const SIGURG: u64 = 23;
/// Blocked in the handler, and never by a program: 32 and 33 libc keeps for itself, and leaves out of each mask that is set through it.
const ONLY_IN_HANDLER: u64 = bit(32) | bit(33) | bit(SIGURG);
/// Signals that the handler's own instructions may make: they are open in it. SIGTRAP is a watchpoint's.
const MADE_BY_HANDLER: [u64; 4] = [SIGBUS, SIGSEGV, 5, 31];
/// As many as buffers, so as many as handlers may look at one time.
const KEPT_MAX: usize = 64;

/// What the kernel blocks while the handler runs.
pub const HANDLER_MASK: u64 = {
    let (mut mask, mut at) = (u64::MAX, 0);
    while at < MADE_BY_HANDLER.len() {
        mask &= !bit(MADE_BY_HANDLER[at]);
        at += 1;
    }
    mask
};

/// Word: 0 is free; else the thread's number, the signal, and what is done with it.
struct Kept {
    state: AtomicU64,
    record: UnsafeCell<[u64; RECORD_WORDS]>,
}

const BUSY: u64 = 1;
const FULL: u64 = 2;
const FOR_THREAD: u64 = 4;

// SAFETY: `record` is touched only by the one who has swapped `state` to BUSY.
unsafe impl Sync for Kept {}

static KEPT: [Kept; KEPT_MAX] =
    [const { Kept { state: AtomicU64::new(0), record: UnsafeCell::new([0; RECORD_WORDS]) } }; KEPT_MAX];
/// Entries that are not free. The handler asks this at its end.
pub(crate) static WAITING: AtomicU32 = AtomicU32::new(0);

unsafe extern "C" {
    fn genba_on_sample_asked();
    fn genba_on_sample_end();
    static __ehdr_start: u8;
    static etext: u8;
}

core::arch::global_asm!(".hidden __ehdr_start", ".hidden etext");

/// If the signal was sent into genba's own handler on this thread it waits until that has returned. False: it was not.
///
/// # Safety
/// The two records of the signal being handled, SIGSEGV or SIGBUS; nobody's instruction made it.
pub unsafe fn keep_for_the_end(signal: u64, info: *const u64, context: *mut u64) -> bool {
    const RIP: usize = 5 + 16;
    // SAFETY: the words lie in the ucontext, the record at `info`.
    unsafe {
        let (mask, pc) = (*context.add(MASK), *context.add(RIP));
        if mask & ONLY_IN_HANDLER != ONLY_IN_HANDLER {
            return false;
        }
        if (&raw const __ehdr_start as u64..&raw const etext as u64).contains(&pc) {
            let at_end = genba_on_sample_asked as *const () as u64..genba_on_sample_end as *const () as u64;
            if !at_end.contains(&pc) {
                return keep(signal, info);
            }
        } else if !is_return_to_kernel(pc) {
            return false;
        }
        send_again_blocked(signal, info, context, own_tid(), To::Thread);
    }
    true
}

/// Whether the next that happens at `pc` is the return from a signal handler.
fn is_return_to_kernel(pc: u64) -> bool {
    /// `mov rax, 15`, `syscall`.
    const CODE: u128 = 0x05_0f_00_00_00_0f_c0_c7_48;
    const CODE_BYTES: u32 = 9;
    const MOV_BYTES: u64 = 7;
    let memory = WordsByKernel { pid: own_pid() as u32 };
    let begins = |begin: u64| {
        let mut code = 0_u128;
        for half in 0..2 {
            let Ok(word) = memory.word(Address(begin.wrapping_add(half * 8))) else { return false };
            code |= u128::from(word) << (half * 64);
        }
        code & ((1 << (CODE_BYTES * 8)) - 1) == CODE
    };
    begins(pc) || begins(pc.wrapping_sub(MOV_BYTES))
}

/// Keeps the record. A second record of the same kind is merged with the first, as in the kernel. False: no room.
///
/// # Safety
/// A signal's record.
unsafe fn keep(signal: u64, info: *const u64) -> bool {
    // SAFETY: as the caller promises.
    let kind = if unsafe { is_for_thread(info) } { FOR_THREAD } else { 0 };
    let name = own_tid() << 16 | signal << 8 | kind;
    for kept in &KEPT {
        if kept.state.load(SeqCst) == name | FULL {
            return true;
        }
    }
    for kept in &KEPT {
        if kept.state.compare_exchange(0, name | BUSY, SeqCst, SeqCst).is_ok() {
            WAITING.fetch_add(1, SeqCst);
            // SAFETY: this swap made the entry this thread's; the record has so many words.
            unsafe {
                let words = kept.record.get().cast::<u64>();
                for at in 0..RECORD_WORDS {
                    *words.add(at) = *info.add(at);
                }
            }
            kept.state.store(name | FULL, SeqCst);
            return true;
        }
    }
    false
}

/// Runs at the handler's end if signals wait, perhaps for another thread.
pub(crate) extern "C" fn send_kept() {
    // First, so that no more arrive; signals that are sent from here on wait.
    block(bit(SIGSEGV) | bit(SIGBUS));
    let tid = own_tid();
    for kept in &KEPT {
        let state = kept.state.load(SeqCst);
        if state >> 16 == tid && state & FULL != 0 {
            // SAFETY: only this thread takes its own; nobody else touches it until it is free.
            unsafe { send_again(state >> 8 & 0xff, kept.record.get().cast(), tid, To::Thread) };
            kept.state.store(0, SeqCst);
            WAITING.fetch_sub(1, SeqCst);
        }
    }
}

/// For a forked child: the threads of these signals do not exist there.
pub fn forget() {
    for kept in &KEPT {
        kept.state.store(0, SeqCst);
    }
    WAITING.store(0, SeqCst);
}
