//! The two functions that the collector calls, and the private list's middle.
//! Owns: what is noted at the beginning and at the end of a collection. Never: allocates memory of genba's, locks, raises an exception;
//! calls more of the interpreter than looking up a number in the collector's own dict. Runs with the GIL, in the thread that collects.

use super::interpreter::{FASTCALL, Interpreter, Method, Object};
use super::known::{IS_ON, KNOWN, Known, PRIVATE, REAL, STATE};
use super::ring::{Event, RING};
use crate::heap::moments;
use crate::process::bells;
use crate::system::errno;
use crate::system::proc::{monotonic_ns, own_pid, own_tid};
use crate::system::signals::{self, mask};
use genba_python::memory::{Address, Memory};
use genba_python::thread_states::{States, ThreadHints};
use genba_signal::deposits;
use genba_signal::memory::{Guarded, WordsByKernel};
use genba_signal::request::{Question, Reading};
use genba_signal::rows::Registers;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::SeqCst};

pub static FIRST: Method = Method { name: c"first".as_ptr(), function: first, flags: FASTCALL, doc: core::ptr::null() };
pub static SECOND: Method =
    Method { name: c"second".as_ptr(), function: second, flags: FASTCALL, doc: core::ptr::null() };

/// The sampler is woken when so many collections wait: half of the buffers for their stacks.
const WAITING_MAX: u64 = deposits::collections::COLLECTIONS as u64 / 2;

/// Interned texts, never freed: a look-up by them allocates nothing.
static KEYS: [AtomicPtr<core::ffi::c_void>; 6] = [const { AtomicPtr::new(core::ptr::null_mut()) }; 6];
/// The generation whose collection is a full one.
const OLDEST: u32 = 2;
const GENERATION: usize = 0;
const COLLECTED: usize = 1;
const UNCOLLECTABLE: usize = 2;
const COLLECTIONS: usize = 3;
const IMPORTLIB: usize = 4;
const GC: usize = 5;

/// The collection that runs; the start is 0 while there is none, or its beginning was not seen.
static START_NS: AtomicU64 = AtomicU64::new(0);
static YOUNG: AtomicU32 = AtomicU32::new(0);
static THRESHOLD: AtomicU32 = AtomicU32::new(0);
static PENDING_BEFORE: AtomicU64 = AtomicU64::new(0);

/// None: there is no memory for them.
pub fn intern_keys(interpreter: &Interpreter) -> Option<()> {
    let texts = [c"generation", c"collected", c"uncollectable", c"collections", c"_frozen_importlib", c"gc"];
    for (key, text) in KEYS.iter().zip(texts).filter(|(key, _)| key.load(SeqCst).is_null()) {
        // SAFETY: with the GIL.
        let made = unsafe { (interpreter.intern)(text.as_ptr()) };
        if made.is_null() {
            // SAFETY: as above.
            unsafe { (interpreter.forget_error)() };
            return None;
        }
        key.store(made, SeqCst);
    }
    Some(())
}

/// Of importlib, and of `gc`.
pub fn module_names() -> (Object, Object) {
    (KEYS[IMPORTLIB].load(SeqCst), KEYS[GC].load(SeqCst))
}

/// `collections` of a dict of `gc.get_stats()`; 0: it does not say.
pub fn collections_of(interpreter: &Interpreter, stats: Object) -> u64 {
    if stats.is_null() {
        return 0;
    }
    interpreter.number_of(stats, KEYS[COLLECTIONS].load(SeqCst)).unwrap_or(0)
}

/// The middle of the private list becomes what the program's list holds. False: there is no memory for it.
pub fn take_over(interpreter: &Interpreter, real: Object, private: Object) -> bool {
    // SAFETY: with the GIL; both are lists, items are borrowed and compared only.
    unsafe {
        let (wanted, own) = ((interpreter.list_length)(real), (interpreter.list_length)(private));
        let is_same = own == wanted + 2
            && (0..wanted)
                .all(|index| (interpreter.list_item)(real, index) == (interpreter.list_item)(private, index + 1));
        if is_same || (interpreter.list_set_slice)(private, 1, own - 1, real) == 0 {
            return true;
        }
        (interpreter.forget_error)();
        false
    }
}

extern "C" fn first(_: Object, arguments: *const Object, count: isize) -> Object {
    in_callable(arguments, count, |known, is_stop, facts| {
        let now_ns = if is_stop { monotonic_ns() } else { 0 };
        if is_stop && IS_ON.load(SeqCst) {
            ends(known, facts, now_ns);
        }
        // Neither is within the pause that was noted.
        if moments::is_around_collections() && is_full(known, facts) {
            let _ = std::panic::catch_unwind(|| moments::around_collection(is_stop, STATE.load(SeqCst)));
        }
        let (real, private) = (REAL.load(SeqCst), PRIVATE.load(SeqCst));
        if !real.is_null() && !private.is_null() {
            let _ = take_over(&known.interpreter, real, private);
        }
    })
}

extern "C" fn second(_: Object, arguments: *const Object, count: isize) -> Object {
    in_callable(arguments, count, |known, is_stop, _| {
        if !is_stop && IS_ON.load(SeqCst) {
            begins(known);
        }
    })
}

/// Every way out gives None, as a callback does.
#[inline(always)]
fn in_callable(arguments: *const Object, count: isize, work: impl FnOnce(&Known, bool, Object)) -> Object {
    // SAFETY: made by `into_raw` and never freed; the callables exist only once it is there.
    let Some(known) = (unsafe { KNOWN.load(SeqCst).as_ref() }) else { return core::ptr::null_mut() };
    let errno = errno::get();
    let interpreter = &known.interpreter;
    if count == 2 {
        // SAFETY: the collector gives two arguments, the phase and a dict.
        let (phase, facts) = unsafe { (*arguments, *arguments.add(1)) };
        // SAFETY: with the GIL; the phase is text of the collector's.
        let is_stop = unsafe { (interpreter.compare)(phase, c"stop".as_ptr()) } == 0;
        work(known, is_stop, facts);
    }
    errno::set(errno);
    // SAFETY: with the GIL.
    unsafe { (interpreter.hold)(interpreter.none) };
    interpreter.none
}

/// Whether a fault of this thread's reaches genba's handler.
fn reading() -> Reading {
    let faults = mask::bit(libc::SIGSEGV) | mask::bit(libc::SIGBUS);
    if signals::held().faults && mask::in_kernel(libc::SIG_BLOCK, 0) & faults == 0 {
        Reading::Guarded
    } else {
        Reading::ByKernel
    }
}

fn word(reading: Reading, at: Address) -> Option<u64> {
    match reading {
        Reading::Guarded => Guarded.word(at).ok(),
        Reading::ByKernel => WordsByKernel { pid: own_pid() }.word(at).ok(),
    }
}

/// Of all generations, and not when the interpreter ends.
fn is_full(known: &Known, facts: Object) -> bool {
    let generation = known.interpreter.number_of(facts, KEYS[GENERATION].load(SeqCst));
    generation == Some(u64::from(OLDEST)) && !known.interpreter.is_finalizing()
}

fn begins(known: &Known) {
    let (state, reading) = (Address(STATE.load(SeqCst)), reading());
    // Threshold and counter lie side by side.
    let both = word(reading, state.at(known.collector.threshold())).unwrap_or(0);
    THRESHOLD.store(both as u32, SeqCst);
    YOUNG.store((both >> 32) as u32, SeqCst);
    let pending = known.collector.long_lived_pending.and_then(|offset| word(reading, state.at(offset)));
    PENDING_BEFORE.store(pending.unwrap_or(0), SeqCst);
    START_NS.store(monotonic_ns(), SeqCst);
}

fn ends(known: &Known, facts: Object, now_ns: u64) {
    let start_ns = START_NS.swap(0, SeqCst);
    if start_ns == 0 {
        return;
    }
    let interpreter = &known.interpreter;
    let number = |key: usize| interpreter.number_of(facts, KEYS[key].load(SeqCst)).unwrap_or(0);
    let (generation, collected) = (number(GENERATION) as u32, number(COLLECTED));
    let (state, reading, tid) = (Address(STATE.load(SeqCst)), reading(), own_tid());
    let at = |offset: Option<u64>| word(reading, state.at(offset?));
    let young = YOUNG.load(SeqCst);
    let examined = match (generation, at(known.collector.long_lived_total), at(known.collector.long_lived_pending)) {
        (0, Some(_), _) => Some(u64::from(young).max(collected)),
        (1, _, Some(pending)) => Some(pending.saturating_sub(PENDING_BEFORE.load(SeqCst)) + collected),
        (2, Some(total), _) => Some(total + collected),
        _ => None,
    };
    let mut states = States::EMPTY;
    // SAFETY: with the GIL: there is a thread state.
    states.add(Address(unsafe { (interpreter.thread_state)() }));
    let thread = ThreadHints { pid: own_pid(), tid, states };
    let question = Question { thread, native: true, counts_beyond: false, reading };
    let stack = deposits::collections::leave(&question, registers());
    let is_added = RING.add(Event {
        start_ns,
        pause_ns: now_ns.saturating_sub(start_ns),
        generation,
        tid,
        is_finalizing: interpreter.is_finalizing(),
        examined,
        collected,
        uncollectable: number(UNCOLLECTABLE),
        young,
        threshold: THRESHOLD.load(SeqCst),
        stack,
    });
    if let Some(ticket) = stack.filter(|_| !is_added) {
        // Nobody will come for it.
        deposits::collections::POOL.done(ticket);
    }
    if RING.waiting().is_multiple_of(WAITING_MAX) {
        bells::ring_own();
    }
}

/// Of this place in the caller: inlined, so that the unwind tables of its function describe them.
#[inline(always)]
fn registers() -> Registers {
    let (rip, rsp, rbp): (u64, u64, u64);
    // SAFETY: reads three registers; the address is that of the next instruction.
    unsafe {
        core::arch::asm!("lea {rip}, [rip]", "mov {rsp}, rsp", "mov {rbp}, rbp", rip = out(reg) rip, rsp = out(reg) rsp,
            rbp = out(reg) rbp, options(nomem, nostack, preserves_flags));
    }
    Registers { rip, rsp, rbp: Some(rbp) }
}
