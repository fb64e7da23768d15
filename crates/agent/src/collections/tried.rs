//! What `genba gc try` has the interpreter do before the program goes on: set a threshold, freeze before each fork.
//! Owns: those lines of Python, and that a process runs them once. Never: runs where nobody asked for it; a threshold that the program sets
//! later is the program's.

use super::interpreter::Interpreter;
use super::interpreter::Object;
use crate::process::session::Session;
use crate::system::symbols;
use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering::SeqCst};

/// `Py_file_input`: the text is a module's. Source: CPython Include/compile.h; the same in all versions.
const FILE_INPUT: c_int = 257;

/// Never freed; null: nothing is asked for.
static TEXT: AtomicPtr<c_char> = AtomicPtr::new(core::ptr::null_mut());
static IS_DONE: AtomicBool = AtomicBool::new(false);

/// Before the safe point.
pub fn ask(session: &Session) {
    let Some(text) = text(&session.gc_threshold, session.gc_freeze) else { return };
    if let (true, Ok(text)) = (TEXT.load(SeqCst).is_null(), CString::new(text)) {
        TEXT.store(text.into_raw(), SeqCst);
    }
}

/// As somebody would write it who changes the program. The modules are built in; `posix` is there from the interpreter's start on.
fn text(threshold: &[u32], freeze: bool) -> Option<String> {
    let numbers: Vec<String> = threshold.iter().map(u32::to_string).collect();
    let mut text = String::new();
    if !numbers.is_empty() {
        text += &format!("import gc\ngc.set_threshold({})\n", numbers.join(", "));
    }
    if freeze {
        text += "import gc, posix\nposix.register_at_fork(before=gc.freeze)\n";
    }
    (!text.is_empty()).then_some(text)
}

/// With the GIL, at the safe point. False: it was asked for, and could not be done.
pub fn apply(interpreter: &Interpreter) -> bool {
    let text = TEXT.load(SeqCst);
    if text.is_null() || IS_DONE.swap(true, SeqCst) {
        return true;
    }
    let (Some(run), Some(dict)) = (symbols::address(c"PyRun_StringFlags"), symbols::address(c"PyDict_New")) else {
        return false;
    };
    type Run = unsafe extern "C" fn(*const c_char, c_int, Object, Object, *mut c_void) -> Object;
    type Dict = unsafe extern "C" fn() -> Object;
    // SAFETY: the interpreter's functions of these names have these signatures; with the GIL. The text is never freed. What the lines define
    // is gone with the dict.
    unsafe {
        let globals = core::mem::transmute::<u64, Dict>(dict)();
        if globals.is_null() {
            (interpreter.forget_error)();
            return false;
        }
        let run = core::mem::transmute::<u64, Run>(run);
        let done = run(text, FILE_INPUT, globals, globals, core::ptr::null_mut());
        if done.is_null() {
            (interpreter.forget_error)();
        } else {
            (interpreter.release)(done);
        }
        (interpreter.release)(globals);
        !done.is_null()
    }
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn lines_say_what_was_asked_for() {
        assert_eq!(text(&[], false), None);
        assert_eq!(text(&[10_000, 5], false).unwrap(), "import gc\ngc.set_threshold(10000, 5)\n");
        assert_eq!(text(&[], true).unwrap(), "import gc, posix\nposix.register_at_fork(before=gc.freeze)\n");
    }
}
