//! A function among those that the interpreter calls before it ends (`atexit`): for the heap at that moment.
//! Owns: its registration, once a process. Never: takes it back: `atexit.unregister` compares by code of the program. Without a recording the
//! function does nothing.

use super::interpreter::{FASTCALL, Interpreter, Method, Object};
use super::known::KNOWN;
use crate::heap::moments;
use crate::system::errno;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

static EXIT: Method = Method { name: c"exit".as_ptr(), function: exit, flags: FASTCALL, doc: core::ptr::null() };
static IS_REGISTERED: AtomicBool = AtomicBool::new(false);

/// With the GIL, at the safe point. False: it cannot be done.
pub fn register(interpreter: &Interpreter) -> bool {
    if IS_REGISTERED.load(SeqCst) {
        return true;
    }
    let null = core::ptr::null_mut();
    // SAFETY: with the GIL; a module of the interpreter's without code in Python, and its own function; references are given back.
    let is_done = unsafe {
        let module = (interpreter.import)(c"atexit".as_ptr(), null, null, null, 0);
        if module.is_null() {
            (interpreter.forget_error)();
            return false;
        }
        let register = interpreter.get(module, c"register");
        (interpreter.release)(module);
        let Some(register) = register else { return false };
        let own = match Interpreter::is_of_type(register, interpreter.function_type) {
            true => (interpreter.function)(&raw const EXIT, null, null),
            false => null,
        };
        let done = if own.is_null() { null } else { (interpreter.call_with)(register, own) };
        if done.is_null() {
            (interpreter.forget_error)();
        } else {
            (interpreter.release)(done);
        }
        if !own.is_null() {
            (interpreter.untrack)(own);
            (interpreter.release)(own);
        }
        (interpreter.release)(register);
        !done.is_null()
    };
    IS_REGISTERED.store(is_done, SeqCst);
    is_done
}

extern "C" fn exit(_: Object, _: *const Object, _: isize) -> Object {
    // SAFETY: made by `into_raw` and never freed; this is registered only once it is there.
    let Some(known) = (unsafe { KNOWN.load(SeqCst).as_ref() }) else { return core::ptr::null_mut() };
    let errno = errno::get();
    let _ = std::panic::catch_unwind(moments::at_exit);
    errno::set(errno);
    // SAFETY: with the GIL.
    unsafe { (known.interpreter.hold)(known.interpreter.none) };
    known.interpreter.none
}
