//! A call that waits until the interpreter has finished its present work.
//! Owns: the pending call. Never: takes the GIL, waits.

use crate::system::symbols;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};

/// So often the call puts itself back before it runs where it should not; on a stack of another kind (a greenlet's), nothing is outside.
const AGAIN_MAX: u32 = 1 << 16;

/// A place on the stack of what must be over first: the interpreter's pending calls also run in Python code that this one calls.
static BEGUN_AT: AtomicU64 = AtomicU64::new(0);
static AGAIN: AtomicU32 = AtomicU32::new(0);

/// Runs `call` once, in the main thread, after the C function that this one was called from; no other one may be waiting to run.
/// False: there is no interpreter for it.
pub fn run(call: fn()) -> bool {
    type IsInitialized = unsafe extern "C" fn() -> c_int;
    // Before it is initialised and after it is finalised the interpreter has no list of calls.
    let initialized = symbols::address(c"Py_IsInitialized")
        // SAFETY: the interpreter's function of this name: reads one flag.
        .is_some_and(|address| unsafe { core::mem::transmute::<u64, IsInitialized>(address)() } != 0);
    BEGUN_AT.store(stack_address(), SeqCst);
    AGAIN.store(AGAIN_MAX, SeqCst);
    initialized && add(call as *mut c_void)
}

fn add(call: *mut c_void) -> bool {
    type AddPendingCall = unsafe extern "C" fn(extern "C" fn(*mut c_void) -> c_int, *mut c_void) -> c_int;
    symbols::address(c"Py_AddPendingCall")
        // SAFETY: the interpreter's function of this name; callable from any thread, with or without the GIL.
        .is_some_and(|address| unsafe { core::mem::transmute::<u64, AddPendingCall>(address)(pending, call) } == 0)
}

extern "C" fn pending(call: *mut c_void) -> c_int {
    let is_within = stack_address() < BEGUN_AT.load(SeqCst);
    let again = AGAIN.load(SeqCst);
    if is_within && again > 0 {
        AGAIN.store(again - 1, SeqCst);
        if add(call) {
            return 0;
        }
    }
    // SAFETY: what `run` was given.
    unsafe { core::mem::transmute::<*mut c_void, fn()>(call)() };
    0
}

/// Of the caller's frame, or a little below.
#[inline(always)]
fn stack_address() -> u64 {
    let here = 0u8;
    std::hint::black_box(&raw const here) as u64
}
