//! Functions of `sys` by which the program becomes a profiler, too: genba makes way for it.
//! Owns: how they are called while genba counts. Never: changes what they return or raise, or what `repr` and `help` say of them.
//!
//! | the program calls          | what would differ because genba counts      | what is done                                  |
//! |----------------------------|---------------------------------------------|-----------------------------------------------|
//! | `sys.setprofile`           | calls of C give events, so the new function would see the end of the very call that sets it | it is set when that end has been counted |
//! | `sys.monitoring.use_tool_id` | genba has that number                     | genba takes another one first                 |

use super::functions::Python;
use super::monitoring;
use super::tracer::{Beside, Delayed, Led, OfOne, Tracer, own_memory};
use crate::collections::interpreter::{FASTCALL, Method, Object};
use std::ffi::{CStr, c_int};
use std::sync::atomic::{AtomicPtr, Ordering::SeqCst};

/// `METH_O`: one argument.
const ONE: c_int = 8;
/// `METH_NOARGS`.
const NOTHING: c_int = 4;
/// Places in `Beside::led`.
const OF_ONE_THREAD: usize = 0;
const OF_ALL_THREADS: usize = 1;
const TOOL: usize = 2;

/// Behind the callbacks. With the GIL. What is not as genba knows it stays as it is.
pub fn install(tracer: *mut Tracer) {
    // SAFETY: never freed; with the GIL. What `sys` has is borrowed.
    unsafe {
        let python = (*tracer).python;
        let monitoring = (python.of_sys)(c"monitoring".as_ptr());
        let asked = held(python, (python.of_sys)(c"getprofile".as_ptr()));
        (*tracer).beside.asked = asked.and_then(|found| {
            let is_known = has_flags(python, found, NOTHING);
            if !is_known {
                (python.release)(found);
            }
            is_known.then_some(found)
        });
        let of_one = |function: OfOne| {
            core::mem::transmute::<OfOne, extern "C" fn(Object, *const Object, isize) -> Object>(function)
        };
        let lead = |which: usize, found: Option<Object>, flags, function| {
            if let Some(found) = found {
                (*tracer).beside.led[which] = led(python, which, found, flags, function);
            }
        };
        let of_sys = |name: &CStr| held(python, (python.of_sys)(name.as_ptr()));
        lead(OF_ONE_THREAD, of_sys(c"setprofile"), ONE, of_one(set_profile));
        lead(OF_ALL_THREADS, of_sys(c"_setprofileallthreads"), ONE, of_one(set_profile_of_all));
        if !monitoring.is_null() {
            lead(TOOL, python.get(monitoring, c"use_tool_id"), FASTCALL, use_tool);
        }
    }
}

/// With the GIL.
pub fn uninstall(tracer: *mut Tracer) {
    // SAFETY: never freed; with the GIL. Each object was held once.
    unsafe {
        let python = (*tracer).python;
        let Beside { led, delayed, asked } = core::mem::take(&mut (*tracer).beside);
        for led in led.into_iter().flatten() {
            let place = Python::method_of(led.function);
            if *place == led.copy {
                *place = led.original;
            }
            (python.release)(led.function);
        }
        asked.into_iter().for_each(|found| (python.release)(found));
        delayed.into_iter().for_each(|one| (python.release)(one.argument));
    }
}

extern "C" fn set_profile(own: Object, argument: Object) -> Object {
    set(OF_ONE_THREAD, own, argument)
}

extern "C" fn set_profile_of_all(own: Object, argument: Object) -> Object {
    set(OF_ALL_THREADS, own, argument)
}

fn set(which: usize, own: Object, argument: Object) -> Object {
    let tracer = Tracer::get();
    // Nobody calls a function that is led no more.
    let Some(function) = original(tracer, which).map(of_one) else { return core::ptr::null_mut() };
    // SAFETY: never freed; with the GIL. The interpreter is called when nothing of the tracer's is in use.
    unsafe {
        let python = (*tracer).python;
        if argument != python.none && ends_with_an_event(tracer, which) && !would_see_its_own_end(tracer) {
            let delayed = &mut (*tracer).beside.delayed;
            if delayed.try_reserve(1).is_ok() {
                (python.hold)(argument);
                (python.hold)(python.none);
                delayed.push(Delayed { thread: own_memory(), function, own, argument });
                return python.none;
            }
        }
    }
    function(own, argument)
}

/// It was called by Python code: the tracer has its beginning as the last event, and gets its end.
fn ends_with_an_event(tracer: *mut Tracer, which: usize) -> bool {
    // SAFETY: never freed; with the GIL, and nothing of the interpreter's is called meanwhile.
    unsafe {
        let copy = (*tracer).beside.led[which].map(|led| led.copy as u64);
        copy.is_some() && (*tracer).innermost() == copy
    }
}

/// Without genba as well: calls of C give events for somebody else's sake.
fn would_see_its_own_end(tracer: *mut Tracer) -> bool {
    // SAFETY: never freed; with the GIL. What `sys` has is borrowed.
    unsafe {
        let (python, tool) = ((*tracer).python, (*tracer).tool);
        let Some(tool) = tool else {
            // On 3.11 it is this thread that has or has not somebody else's function.
            return !(*tracer).beside.asked.is_some_and(|function| is_without(python, function));
        };
        let monitoring = (python.of_sys)(c"monitoring".as_ptr());
        if monitoring.is_null() {
            return true;
        }
        let events = (python.call_method)(monitoring, c"_all_events".as_ptr(), core::ptr::null());
        if events.is_null() {
            (python.forget_error)();
            return true;
        }
        let tools = (python.call_method)(events, c"get".as_ptr(), c"si".as_ptr(), c"CALL".as_ptr(), 0 as c_int);
        (python.release)(events);
        if tools.is_null() {
            (python.forget_error)();
            return true;
        }
        let bits = (python.number)(tools);
        (python.release)(tools);
        bits != 1 << tool
    }
}

/// Whether `sys.getprofile` gives None.
///
/// # Safety
/// With the GIL. The function is `sys.getprofile`.
unsafe fn is_without(python: &Python, function: Object) -> bool {
    // SAFETY: a function of the interpreter's without arguments; with the GIL.
    unsafe {
        let method = *Python::method_of(function);
        let Some(called) = python.c_function(function, core::ptr::null_mut()) else { return false };
        let found = of_one((*method).function)(called.own, core::ptr::null_mut());
        if found.is_null() {
            (python.forget_error)();
            return false;
        }
        (python.release)(found);
        found == python.none
    }
}

extern "C" fn use_tool(own: Object, arguments: *const Object, count: isize) -> Object {
    let tracer = Tracer::get();
    // SAFETY: never freed; with the GIL; the interpreter gives so many arguments.
    unsafe {
        let python = (*tracer).python;
        // Read first: what follows may let another thread run, which ends the count.
        let function = original(tracer, TOOL);
        if count > 0 && Python::type_of(*arguments) == python.integer_type {
            let number = (python.number)(*arguments);
            if number == -1 {
                (python.forget_error)();
            }
            if (*tracer).tool.is_some_and(|tool| i64::from(tool) == number) {
                monitoring::give_way(tracer);
            }
        }
        match function {
            Some(function) => function(own, arguments, count),
            None => core::ptr::null_mut(),
        }
    }
}

fn original(tracer: *mut Tracer, which: usize) -> Option<extern "C" fn(Object, *const Object, isize) -> Object> {
    // SAFETY: never freed; with the GIL. The definition is the interpreter's, for good.
    unsafe { (*tracer).beside.led[which].map(|led| (*led.original).function) }
}

fn of_one(function: extern "C" fn(Object, *const Object, isize) -> Object) -> OfOne {
    // SAFETY: who asks knows by its flags that it takes one argument, or none.
    unsafe { core::mem::transmute(function) }
}

/// Used again by the next recording: a program may make one for each request.
static COPIES: [AtomicPtr<Method>; 3] = [const { AtomicPtr::new(core::ptr::null_mut()) }; 3];

/// None: it is not what genba knows. Takes the reference.
///
/// # Safety
/// With the GIL. The function is an object of the interpreter's.
unsafe fn led(
    python: &Python,
    which: usize,
    function: Object,
    flags: c_int,
    instead: extern "C" fn(Object, *const Object, isize) -> Object,
) -> Option<Led> {
    // SAFETY: with the GIL. The definition lives as long as the interpreter; the copy for ever.
    unsafe {
        if !has_flags(python, function, flags) {
            (python.release)(function);
            return None;
        }
        let place = Python::method_of(function);
        let original = *place;
        let Method { name, doc, .. } = *original;
        let made = COPIES[which].load(SeqCst);
        // Of another interpreter the texts are others.
        let copy: *const Method = if !made.is_null() && ((*made).name, (*made).doc) == (name, doc) {
            made
        } else {
            Box::into_raw(Box::new(Method { name, function: instead, flags, doc }))
        };
        COPIES[which].store(copy.cast_mut(), SeqCst);
        *place = copy;
        Some(Led { function, original, copy })
    }
}

/// # Safety
/// With the GIL. The function is an object of the interpreter's.
unsafe fn has_flags(python: &Python, function: Object, flags: c_int) -> bool {
    // SAFETY: with the GIL; an object of that type has a definition.
    unsafe { Python::type_of(function) == python.function_type && (**Python::method_of(function)).flags == flags }
}

/// None: it is null.
///
/// # Safety
/// With the GIL. An object of the interpreter's, or null.
unsafe fn held(python: &Python, found: Object) -> Option<Object> {
    if found.is_null() {
        return None;
    }
    // SAFETY: with the GIL.
    unsafe { (python.hold)(found) };
    Some(found)
}
