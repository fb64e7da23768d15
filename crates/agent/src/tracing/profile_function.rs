//! The profile function of CPython 3.11, one a thread, as cProfile has it there.
//! Owns: in which threads it is. Never: takes the place of the program's own profile function.
//!
//! A thread that is started gets it from the thread that starts it, before its first instruction. A profile function of the program's (cProfile,
//! `sys.setprofile`) takes genba's place in its thread. When it is gone, genba's comes back.

use super::callbacks::enter;
use super::functions::{Profiling, Python};
use super::tracer::{Callable, Tracer, set_delayed};
use crate::collections::interpreter::Object;
use std::ffi::c_int;

/// `tracing`, `cframe`, `c_profilefunc` and `c_tracefunc` of a thread state. Source: CPython 3.11, Include/cpython/pystate.h.
const TRACING: u64 = 44;
const C_FRAME: u64 = 56;
const PROFILE_FUNCTION: u64 = 64;
const TRACE_FUNCTION: u64 = 72;
/// Of `use_tracing`, the first byte of a `_PyCFrame`.
const IS_TRACED: u8 = 255;
/// `f_frame` of a frame object, and `f_code` of what that leads to. Source: CPython 3.11, Include/internal/pycore_frame.h.
const FRAME_DATA: usize = 24;
const CODE: usize = 32;
/// `prev_instr` and `owner` of the same.
const INSTRUCTION: usize = 56;
const OWNER: usize = 69;
/// An owner that is a generator or coroutine: it has the frame within, and `gi_frame_state` so many bytes in front. Source: CPython 3.11,
/// Include/cpython/genobject.h.
const GENERATOR: u8 = 1;
const STATE_IN_FRONT: usize = 5;
const SUSPENDED: i8 = -1;
/// Source: CPython 3.11, Include/opcode.h.
const RETURN_GENERATOR: u8 = 75;
const RESUME_QUICK: u8 = 150;
const RESUME: u8 = 151;
/// Source: CPython Include/cpython/pystate.h.
const CALL: c_int = 0;
const RETURN: c_int = 3;
const C_CALL: c_int = 4;
const C_EXCEPTION: c_int = 5;
const C_RETURN: c_int = 6;

/// With the GIL.
///
/// # Errors
/// Why there is none, in words.
pub fn install(tracer: *mut Tracer) -> Result<(), &'static str> {
    // SAFETY: never freed; with the GIL.
    let known = unsafe { (*tracer).profiling };
    let profiling = match known {
        Some(profiling) => profiling,
        None => &*Box::leak(Box::new(
            Profiling::find().ok_or("this interpreter does not export what a profile function needs")?,
        )),
    };
    // SAFETY: as above.
    let python = unsafe {
        (*tracer).profiling = Some(profiling);
        (*tracer).python
    };
    into_threads(python, profiling);
    Ok(())
}

/// Out of each thread that has it. With the GIL.
pub fn uninstall(tracer: *mut Tracer) {
    // SAFETY: never freed.
    let (python, profiling) = unsafe { ((*tracer).python, (*tracer).profiling) };
    let Some(profiling) = profiling else { return };
    for_each_thread(python, profiling, |thread, function| {
        if function == own() {
            // SAFETY: as in `for_each_thread`.
            unsafe { set(thread, 0) };
        }
    });
}

/// Into each thread of the main interpreter that has none.
fn into_threads(python: &Python, profiling: &Profiling) {
    for_each_thread(python, profiling, |thread, function| {
        if function == 0 {
            // SAFETY: as in `for_each_thread`.
            unsafe { set(thread, own()) };
        }
    });
}

/// Whether a thread has a profile function that is the program's.
fn has_other(python: &Python, profiling: &Profiling) -> bool {
    let mut has_other = false;
    for_each_thread(python, profiling, |_, function| has_other |= function != 0 && function != own());
    has_other
}

/// As `_PyEval_SetProfile` does where neither the old function nor the new one has an object, without its audit event: the program's hooks may raise,
/// or let threads end while the list of threads is read.
///
/// # Safety
/// A thread state of the list, with the GIL.
unsafe fn set(thread: u64, function: u64) {
    let place = |offset: u64| core::ptr::with_exposed_provenance_mut::<u64>((thread + offset) as usize);
    // SAFETY: fields of a thread state, which only who has the GIL changes.
    unsafe {
        let frame = place(C_FRAME).read();
        // Another thread is making this thread state, without the GIL.
        if frame == 0 {
            return;
        }
        place(PROFILE_FUNCTION).write(function);
        let is_within = core::ptr::with_exposed_provenance::<c_int>((thread + TRACING) as usize).read() != 0;
        let is_traced = !is_within && (function != 0 || place(TRACE_FUNCTION).read() != 0);
        core::ptr::with_exposed_provenance_mut::<u8>(frame as usize).write(if is_traced { IS_TRACED } else { 0 });
    }
}

fn own() -> u64 {
    profile as *const () as u64
}

/// The thread states of the main interpreter, and the profile function that each has now. With the GIL.
fn for_each_thread(python: &Python, profiling: &Profiling, mut each: impl FnMut(u64, u64)) {
    // SAFETY: with the GIL: no thread state goes away. The word of one that is there is its own.
    unsafe {
        let mut thread = (profiling.first_thread)((python.main_interpreter)());
        while thread != 0 {
            each(thread, core::ptr::with_exposed_provenance::<u64>((thread + PROFILE_FUNCTION) as usize).read());
            thread = (profiling.next_thread)(thread);
        }
    }
}

/// Work of the safe point: after the program has changed a profile function.
pub fn come_back(_: u64) -> u64 {
    let tracer = Tracer::get();
    // SAFETY: never freed; with the GIL.
    let kept = unsafe { tracer.as_ref() }.filter(|tracer| !tracer.is_stopped);
    let Some((python, Some(profiling))) = kept.map(|tracer| (tracer.python, tracer.profiling)) else { return 0 };
    into_threads(python, profiling);
    // SAFETY: as above, and nothing of the interpreter's is called meanwhile.
    unsafe { (*tracer).has_given_way |= has_other(python, profiling) };
    0
}

/// What a frame object leads to.
///
/// # Safety
/// A frame object whose frame is under way, with the GIL.
#[inline(always)]
unsafe fn data_of(frame: Object) -> Object {
    // SAFETY: a field of the frame object.
    unsafe { frame.byte_add(FRAME_DATA).cast::<Object>().read() }
}

/// As `PyFrame_GetCode` finds it, without a reference of its own: two events a call, each of which would count one up and down.
///
/// # Safety
/// Of `data_of`, with the GIL.
#[inline(always)]
unsafe fn code_of(data: Object) -> Object {
    // SAFETY: a field of the frame.
    unsafe { data.byte_add(CODE).cast::<Object>().read() }
}

/// Whether a coroutine that is entered has waited: it is behind its `await`, or gets an exception there. One that begins is at `RESUME 0`, or
/// at the instruction that made it if it begins with an exception.
///
/// # Safety
/// Of `data_of`, of a coroutine that is about to run, with the GIL.
unsafe fn has_waited(data: Object) -> bool {
    // SAFETY: a field of the frame, and the instruction that it leads to, of two bytes.
    let [instruction, argument] = unsafe { data.byte_add(INSTRUCTION).cast::<*const [u8; 2]>().read().read() };
    match instruction {
        RETURN_GENERATOR => false,
        RESUME | RESUME_QUICK => argument != 0,
        _ => true,
    }
}

/// Whether a coroutine that is left goes on later.
///
/// # Safety
/// Of `data_of`, with the GIL.
unsafe fn is_paused(data: Object) -> bool {
    // SAFETY: a field of the frame; in front of one that a generator or coroutine has within lies a field of that.
    unsafe {
        data.byte_add(OWNER).cast::<u8>().read() == GENERATOR
            && data.byte_sub(STATE_IN_FRONT).cast::<i8>().read() == SUSPENDED
    }
}

extern "C" fn profile(_: Object, frame: Object, what: c_int, argument: Object) -> c_int {
    let tracer = Tracer::get();
    // SAFETY: never freed; with the GIL.
    let (python, profiling) = unsafe { ((*tracer).python, (*tracer).profiling) };
    let Some(profiling) = profiling else { return 0 };
    match what {
        CALL | RETURN => {
            // SAFETY: the frame is under way, and holds its code.
            let (data, code) = unsafe { (data_of(frame), code_of(data_of(frame))) };
            if what == CALL {
                // SAFETY: with the GIL, and nothing of the interpreter's is called meanwhile.
                unsafe { (*tracer).begins_or_goes_on(code as u64, || has_waited(data)) };
                enter(tracer, Callable::Code(code));
            } else {
                // SAFETY: as above.
                unsafe { (*tracer).ends_or_pauses(code as u64, || is_paused(data)) };
            }
        }
        C_CALL => {
            if let Some(function) = python.c_function(argument, core::ptr::null_mut()) {
                enter(tracer, Callable::C(function));
            }
        }
        C_EXCEPTION | C_RETURN => {
            if let Some(function) = python.c_function(argument, core::ptr::null_mut()) {
                // SAFETY: as above.
                let starts_thread = unsafe {
                    (*tracer).leave(function.method as u64);
                    (*tracer).starts_threads(function.method as u64)
                };
                if starts_thread {
                    into_threads(python, profiling);
                }
                // SAFETY: as above.
                if unsafe { (*tracer).beside.has_delayed() } && set_delayed(tracer).is_none() {
                    return -1;
                }
            }
        }
        _ => {}
    }
    0
}
