//! The GIL of the main interpreter, held by a thread of genba's: nothing of the program's Python runs meanwhile, and its objects are whole.
//! Owns: the thread state that this takes. Never: called by a thread of the program's, or in a signal handler.
//!
//! A pending call would run in the main thread alone, which may wait in a system call for hours. Any other thread of Python's gets the GIL
//! then, so genba asks as one of them does. Where the interpreter is being finalised CPython ends a thread that asks (before 3.14; later it
//! never returns), by `pthread_exit`. That unwinds the stack; `genba_call_alone` has no unwind data, so it ends there, and no
//! frame of Rust's is met.

use crate::system::symbols;
use std::ffi::c_int;

core::arch::global_asm!(
    ".pushsection .text.genba_call_alone,\"ax\",@progbits",
    ".hidden genba_call_alone",
    ".globl genba_call_alone",
    ".type genba_call_alone,@function",
    "genba_call_alone:",
    "push rbx",
    "call rdi",
    "pop rbx",
    "ret",
    ".size genba_call_alone, . - genba_call_alone",
    ".popsection",
);

unsafe extern "C" {
    /// Calls a function without arguments. Needs no frame of its caller's if that function ends the thread.
    fn genba_call_alone(function: u64) -> c_int;
}

/// Whether there is an interpreter. With or without the GIL.
pub fn is_initialized() -> bool {
    type IsInitialized = unsafe extern "C" fn() -> c_int;
    // SAFETY: the interpreter's function of this name: reads one flag.
    symbols::address(c"Py_IsInitialized")
        .is_some_and(|address| unsafe { core::mem::transmute::<u64, IsInitialized>(address)() } != 0)
}

/// Held until it is dropped.
pub struct Gil {
    state: c_int,
    release: u64,
}

impl Gil {
    /// Waits for it. `None`: there is no interpreter.
    ///
    /// # Safety
    /// The calling thread is one of genba's, and holds nothing that must be given back if it ends in here.
    pub unsafe fn take() -> Option<Gil> {
        let (ensure, release) = (symbols::address(c"PyGILState_Ensure")?, symbols::address(c"PyGILState_Release")?);
        // SAFETY: the interpreter's function of this name.
        is_initialized().then(|| Gil { state: unsafe { genba_call_alone(ensure) }, release })
    }
}

/// What a collection found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Collection {
    /// Objects that nothing refers to.
    pub found: u64,
}

/// A full collection, as `gc.collect()`: finalizers of the program run. After `gc.disable()` the interpreter's function does nothing, so
/// the collector is enabled meanwhile. With the GIL.
pub fn collect() -> Collection {
    type Switch = unsafe extern "C" fn() -> c_int;
    type Collect = unsafe extern "C" fn() -> isize;
    let functions = [c"PyGC_Enable", c"PyGC_Disable", c"PyGC_Collect"].map(symbols::address);
    let [Some(enable), Some(disable), Some(collect)] = functions else { return Collection::default() };
    // SAFETY: the interpreter's functions of these names; the GIL is held.
    unsafe {
        let was_enabled = core::mem::transmute::<u64, Switch>(enable)();
        let found = core::mem::transmute::<u64, Collect>(collect)();
        if was_enabled == 0 {
            core::mem::transmute::<u64, Switch>(disable)();
        }
        Collection { found: u64::try_from(found).unwrap_or(0) }
    }
}

impl Drop for Gil {
    fn drop(&mut self) {
        type Release = unsafe extern "C" fn(c_int);
        // SAFETY: the interpreter's function; this thread took the GIL.
        unsafe { core::mem::transmute::<u64, Release>(self.release)(self.state) };
    }
}
