//! The callbacks of sys.monitoring (3.12 and later): a tool of genba's own beside those of the program.
//! Owns: the tool's number. Never: takes a number that a profiler or debugger of the program would ask for while another one is free.

use super::callbacks::EVENTS;
use super::functions::Python;
use super::tracer::Tracer;
use crate::collections::interpreter::Object;
use std::ffi::c_int;

/// In the order in which they are tried. 0 is meant for debuggers, 1 for coverage, 2 for profilers, 5 for optimizers; 3 and 4 for nobody.
const TOOLS: [c_int; 6] = [4, 3, 5, 2, 1, 0];

/// With the GIL.
///
/// # Errors
/// Why there are no callbacks, in words.
pub fn install(tracer: *mut Tracer) -> Result<(), &'static str> {
    // SAFETY: never freed; with the GIL.
    let python = unsafe { (*tracer).python };
    // SAFETY: as above; what `sys` has is borrowed, and stays.
    let monitoring = unsafe { (python.of_sys)(c"monitoring".as_ptr()) };
    if monitoring.is_null() {
        return Err("this interpreter has no sys.monitoring");
    }
    // SAFETY: as above.
    if unsafe { (*tracer).missing.is_null() } {
        let missing = python.get(monitoring, c"MISSING").ok_or("sys.monitoring has no MISSING")?;
        // SAFETY: as above. The reference is kept for good.
        unsafe { (*tracer).missing = missing };
    }
    let tool = TOOLS.into_iter().find(|tool| take(python, monitoring, *tool));
    let tool = tool.ok_or("other tools have taken all six numbers of sys.monitoring")?;
    // SAFETY: as above.
    unsafe { (*tracer).tool = Some(tool) };
    set(python, monitoring, tool)
}

/// The program asks for the number that genba has: genba takes another one, if there is one. With the GIL.
pub fn give_way(tracer: *mut Tracer) {
    // SAFETY: never freed; with the GIL; what `sys` has is borrowed, and stays.
    let (python, monitoring, own) = unsafe {
        let python = (*tracer).python;
        (python, (python.of_sys)(c"monitoring".as_ptr()), (*tracer).tool)
    };
    let Some(own) = own.filter(|_| !monitoring.is_null()) else { return };
    let Some(other) = TOOLS.into_iter().find(|tool| *tool != own && take(python, monitoring, *tool)) else { return };
    if set(python, monitoring, other).is_err() {
        return remove(python, monitoring, other);
    }
    // SAFETY: as above.
    if unsafe { (*tracer).tool } != Some(own) {
        // Another thread has ended the count meanwhile.
        return remove(python, monitoring, other);
    }
    // SAFETY: as above.
    unsafe { (*tracer).tool = Some(other) };
    remove(python, monitoring, own);
}

fn set(python: &Python, monitoring: Object, tool: c_int) -> Result<(), &'static str> {
    let events = python.get(monitoring, c"events").ok_or("sys.monitoring has no events")?;
    let registered = register(python, monitoring, events, tool);
    // SAFETY: as above.
    let called = unsafe {
        (python.release)(events);
        (python.call_method)(monitoring, c"set_events".as_ptr(), c"ii".as_ptr(), tool, registered?)
    };
    if done(python, called) { Ok(()) } else { Err("sys.monitoring.set_events failed") }
}

/// All events as bits.
fn register(python: &Python, monitoring: Object, events: Object, tool: c_int) -> Result<c_int, &'static str> {
    let mut all: c_int = 0;
    for (name, method) in EVENTS {
        let event = python.get(events, name).ok_or("sys.monitoring lacks an event")?;
        // SAFETY: with the GIL; the interpreter's own functions with arguments of its own. References are given back.
        let is_registered = unsafe {
            let bit = (python.number)(event) as c_int;
            (python.release)(event);
            let function = (python.function)(method, core::ptr::null_mut(), core::ptr::null_mut());
            if function.is_null() {
                (python.forget_error)();
                return Err("there is no memory");
            }
            let called =
                (python.call_method)(monitoring, c"register_callback".as_ptr(), c"iiO".as_ptr(), tool, bit, function);
            (python.release)(function);
            all |= bit;
            done(python, called)
        };
        if !is_registered {
            return Err("sys.monitoring.register_callback failed");
        }
    }
    Ok(all)
}

/// The callbacks go, and the number is free again. With the GIL.
pub fn uninstall(tracer: *mut Tracer) {
    // SAFETY: never freed; with the GIL.
    let (python, tool) = unsafe { ((*tracer).python, (*tracer).tool.take()) };
    let Some(tool) = tool else { return };
    // SAFETY: as above; what `sys` has is borrowed, and stays.
    let monitoring = unsafe { (python.of_sys)(c"monitoring".as_ptr()) };
    if !monitoring.is_null() {
        remove(python, monitoring, tool);
    }
}

fn remove(python: &Python, monitoring: Object, tool: c_int) {
    // SAFETY: with the GIL; the interpreter's own functions with arguments of its own. References are given back.
    unsafe {
        done(python, (python.call_method)(monitoring, c"set_events".as_ptr(), c"ii".as_ptr(), tool, 0 as c_int));
        if let Some(events) = python.get(monitoring, c"events") {
            for (name, _) in EVENTS {
                let Some(event) = python.get(events, name) else { continue };
                let bit = (python.number)(event) as c_int;
                (python.release)(event);
                let callback = c"register_callback".as_ptr();
                done(python, (python.call_method)(monitoring, callback, c"iiO".as_ptr(), tool, bit, python.none));
            }
            (python.release)(events);
        }
        done(python, (python.call_method)(monitoring, c"free_tool_id".as_ptr(), c"i".as_ptr(), tool));
    }
}

/// False: it is another tool's.
fn take(python: &Python, monitoring: Object, tool: c_int) -> bool {
    // SAFETY: with the GIL; the interpreter's own functions with arguments of its own.
    unsafe {
        let taken =
            (python.call_method)(monitoring, c"use_tool_id".as_ptr(), c"is".as_ptr(), tool, c"genba trace".as_ptr());
        done(python, taken)
    }
}

fn done(python: &Python, result: Object) -> bool {
    // SAFETY: with the GIL; the reference that a call gave, or none and an exception.
    unsafe {
        if result.is_null() {
            (python.forget_error)();
            return false;
        }
        (python.release)(result);
    }
    true
}
