//! What a function is called in a `.prof` file: file, line and name of Python code, cProfile's words for one written in C.
//! Owns: those words, and whether a function's calls make coroutines. Never: keeps an error of its own in the program's thread. Source: CPython Modules/_lsprof.c, `normalizeUserObj`, and
//! Lib/cProfile.py, `label`.

use super::functions::{CFunction, Python};
use crate::collections::interpreter::Object;
use std::ffi::{CStr, c_char, c_long};

/// UTF-8, where Python has half a surrogate pair with its three bytes: so marshal writes text.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Name {
    pub file: Vec<u8>,
    pub line: u64,
    pub name: Vec<u8>,
}

impl Name {
    /// Whether python/genba/_tracing.py calls it in front of a function that `genba.trace` decorates, also while counting is under way.
    pub fn is_around_decorated(&self) -> bool {
        const AROUND: [&[u8]; 2] = [b"traced", b"_claimed_for_a_call"];
        self.file.ends_with(b"/genba/_tracing.py") && AROUND.contains(&self.name.as_slice())
    }
}

/// None: there is no memory for it.
pub fn of_code(python: &Python, code: Object) -> Option<Name> {
    quietly(python, || {
        let text = |attribute| with(python, python.get(code, attribute)?, |object| text(python, object));
        let line = with(python, python.get(code, c"co_firstlineno")?, |object| {
            // SAFETY: with the GIL.
            Some(unsafe { (python.number)(object) })
        })?;
        Some(Name { file: text(c"co_filename")?, line: u64::try_from(line).unwrap_or(0), name: text(c"co_name")? })
    })
}

/// Whether its calls make coroutines. An asynchronous generator also gives values, of which nobody knows how long they are not asked for.
/// Source: CPython Include/cpython/code.h, `CO_COROUTINE` and `CO_ITERABLE_COROUTINE`.
pub fn makes_coroutines(python: &Python, code: Object) -> bool {
    const FLAGS: c_long = 0x80 | 0x100;
    let flags = quietly(python, || {
        with(python, python.get(code, c"co_flags")?, |object| {
            // SAFETY: with the GIL.
            Some(unsafe { (python.number)(object) })
        })
    });
    flags.is_some_and(|flags| flags & FLAGS != 0)
}

/// The same of a function written in C.
pub fn of_c(python: &Python, function: CFunction) -> Option<Name> {
    // SAFETY: a `PyMethodDef` has a name that lives as long as it.
    let name = unsafe { CStr::from_ptr((*function.method).name) };
    quietly(python, || {
        let own =
            if function.own.is_null() { None } else { of_type(python, Python::type_of(function.own), name.as_ptr()) };
        let module = || (!function.module.is_null()).then(|| text(python, function.module)).flatten();
        let name = match own {
            Some(own) => own,
            None if function.own.is_null() => match module().filter(|module| module != b"builtins") {
                Some(module) => joined(&[b"<", &module, b".", name.to_bytes(), b">"])?,
                None => joined(&[b"<", name.to_bytes(), b">"])?,
            },
            None => match module() {
                Some(module) => joined(&[b"<built-in method ", &module, b".", name.to_bytes(), b">"])?,
                None => joined(&[b"<built-in method ", name.to_bytes(), b">"])?,
            },
        };
        Some(Name { file: joined(&[b"~"])?, line: 0, name })
    })
}

/// What the type of an object shows of its own attribute, such as `<method 'append' of 'list' objects>`.
fn of_type(python: &Python, kind: Object, name: *const c_char) -> Option<Vec<u8>> {
    // SAFETY: with the GIL. What is found is borrowed, and held while its `__repr__` runs.
    unsafe {
        let key = (python.text)(name);
        if key.is_null() {
            (python.forget_error)();
            return None;
        }
        let found = (python.look_up)(kind, key);
        (python.release)(key);
        if found.is_null() {
            (python.forget_error)();
            return None;
        }
        (python.hold)(found);
        let shown = (python.repr)(found);
        (python.release)(found);
        if shown.is_null() {
            (python.forget_error)();
            return None;
        }
        with(python, shown, |shown| text(python, shown))
    }
}

/// None: it is no text.
pub fn text(python: &Python, object: Object) -> Option<Vec<u8>> {
    // SAFETY: with the GIL.
    let encoded = unsafe { (python.encoded)(object, c"utf-8".as_ptr(), c"surrogatepass".as_ptr()) };
    if encoded.is_null() {
        // SAFETY: as above.
        unsafe { (python.forget_error)() };
        return None;
    }
    with(python, encoded, |encoded| {
        let (mut begin, mut length) = (core::ptr::null_mut(), 0);
        // SAFETY: an object that holds bytes, which stay while it is held.
        unsafe {
            if (python.bytes)(encoded, &raw mut begin, &raw mut length) != 0 {
                (python.forget_error)();
                return None;
            }
            joined(&[std::slice::from_raw_parts(begin.cast::<u8>(), usize::try_from(length).ok()?)])
        }
    })
}

fn joined(parts: &[&[u8]]) -> Option<Vec<u8>> {
    let mut whole = Vec::new();
    whole.try_reserve_exact(parts.iter().map(|part| part.len()).sum()).ok()?;
    parts.iter().for_each(|part| whole.extend_from_slice(part));
    Some(whole)
}

/// Releases the object afterwards.
fn with<Of>(python: &Python, object: Object, work: impl FnOnce(Object) -> Option<Of>) -> Option<Of> {
    let result = work(object);
    // SAFETY: the reference that the caller has.
    unsafe { (python.release)(object) };
    result
}

/// The exception that this thread has stays its own.
fn quietly<Of>(python: &Python, work: impl FnOnce() -> Option<Of>) -> Option<Of> {
    let mut error = [core::ptr::null_mut(); 3];
    let [kind, value, traceback] = &mut error;
    // SAFETY: with the GIL; three references, which go back.
    unsafe { (python.take_error)(kind, value, traceback) };
    let result = work();
    // SAFETY: as above.
    unsafe { (python.give_error)(error[0], error[1], error[2]) };
    result
}
