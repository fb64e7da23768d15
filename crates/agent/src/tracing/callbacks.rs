//! What sys.monitoring calls for each event of the program (3.12 and later).
//! Owns: which event begins or ends a call, as in cProfile. Never: raises, allocates but for a function or a caller seen for the first time.

use super::functions::Python;
use super::tracer::{Callable, Tracer, new_function, set_delayed};
use crate::collections::interpreter::{FASTCALL, Method, Object};
use std::ffi::CStr;

const fn method(name: &'static CStr, function: extern "C" fn(Object, *const Object, isize) -> Object) -> Method {
    Method { name: name.as_ptr(), function, flags: FASTCALL, doc: core::ptr::null() }
}

static ENTER_PYTHON: Method = method(c"enter_python", enter_python);
static LEAVE_PYTHON: Method = method(c"leave_python", leave_python);
static GO_ON_PYTHON: Method = method(c"go_on_python", go_on_python);
static THROW_INTO_PYTHON: Method = method(c"throw_into_python", throw_into_python);
static PAUSE_PYTHON: Method = method(c"pause_python", pause_python);
static ENTER_C: Method = method(c"enter_c", enter_c);
static LEAVE_C: Method = method(c"leave_c", leave_c);

/// Source: CPython Modules/_lsprof.c, `callback_table`.
pub static EVENTS: [(&CStr, &Method); 9] = [
    (c"PY_START", &ENTER_PYTHON),
    (c"PY_RESUME", &GO_ON_PYTHON),
    (c"PY_THROW", &THROW_INTO_PYTHON),
    (c"PY_RETURN", &LEAVE_PYTHON),
    (c"PY_YIELD", &PAUSE_PYTHON),
    (c"PY_UNWIND", &LEAVE_PYTHON),
    (c"CALL", &ENTER_C),
    (c"C_RETURN", &LEAVE_C),
    (c"C_RAISE", &LEAVE_C),
];

extern "C" fn enter_python(_: Object, arguments: *const Object, _: isize) -> Object {
    let tracer = Tracer::get();
    // SAFETY: the interpreter gives a code object first.
    enter(tracer, Callable::Code(unsafe { *arguments }));
    none(tracer)
}

extern "C" fn leave_python(_: Object, arguments: *const Object, _: isize) -> Object {
    let tracer = Tracer::get();
    // SAFETY: as above; with the GIL, and nothing of the interpreter's is called meanwhile.
    unsafe { (*tracer).leave(*arguments as u64) };
    none(tracer)
}

extern "C" fn go_on_python(own: Object, arguments: *const Object, count: isize) -> Object {
    // SAFETY: as in `leave_python`.
    unsafe { (*Tracer::get()).go_on(*arguments as u64) };
    enter_python(own, arguments, count)
}

extern "C" fn throw_into_python(own: Object, arguments: *const Object, count: isize) -> Object {
    // SAFETY: as in `leave_python`; what `place` calls runs no code.
    unsafe { (*Tracer::get()).thrown(*arguments as u64, |python| place(python, arguments)) };
    enter_python(own, arguments, count)
}

extern "C" fn pause_python(_: Object, arguments: *const Object, _: isize) -> Object {
    let tracer = Tracer::get();
    // SAFETY: as above.
    unsafe { (*tracer).pause(*arguments as u64, |python| place(python, arguments)) };
    none(tracer)
}

/// Where in the code the event is, in bytes: PyLong_AsLong of an int runs no code of anybody's, and cannot fail for one so small.
fn place(python: &Python, arguments: *const Object) -> u32 {
    // SAFETY: the interpreter gives a small int second.
    let place = unsafe { (python.number)(*arguments.add(1)) };
    u32::try_from(place).unwrap_or(0)
}

extern "C" fn enter_c(_: Object, arguments: *const Object, _: isize) -> Object {
    let tracer = Tracer::get();
    if let Some(callable) = c_function(tracer, arguments) {
        enter(tracer, callable);
    }
    none(tracer)
}

extern "C" fn leave_c(_: Object, arguments: *const Object, _: isize) -> Object {
    let tracer = Tracer::get();
    if let Some(callable) = c_function(tracer, arguments) {
        // SAFETY: as in `leave_python`.
        unsafe { (*tracer).leave(callable.key()) };
        // SAFETY: as above.
        if unsafe { (*tracer).beside.has_delayed() } && set_delayed(tracer).is_none() {
            return core::ptr::null_mut();
        }
    }
    none(tracer)
}

#[inline(always)]
pub fn enter(tracer: *mut Tracer, callable: Callable) {
    // SAFETY: never freed; callbacks run with the GIL, and nothing of the interpreter's is called while it is used.
    if unsafe { (*tracer).enter_known(callable.key()) } {
        return;
    }
    // SAFETY: as above.
    let known = unsafe { (*tracer).index(callable.key()) };
    if let Some(function) = known.or_else(|| new_function(tracer, callable)) {
        // SAFETY: as above.
        unsafe { (*tracer).enter(callable.key(), function) };
    }
}

/// The arguments are a code object, an offset, what is called, and its first argument or `MISSING`.
#[inline(always)]
fn c_function(tracer: *mut Tracer, arguments: *const Object) -> Option<Callable> {
    // SAFETY: the interpreter gives four arguments with these events.
    let (callable, first, tracer) = unsafe { (*arguments.add(2), *arguments.add(3), &*tracer) };
    let first = if first == tracer.missing { core::ptr::null_mut() } else { first };
    tracer.python.c_function(callable, first).map(Callable::C)
}

/// None lives for ever since 3.12: nobody counts its references.
#[inline(always)]
fn none(tracer: *mut Tracer) -> Object {
    // SAFETY: never freed.
    unsafe { (*tracer).python.none }
}
