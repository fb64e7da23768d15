//! The private list of callables, and the collector's pointer to it.
//! Owns: the pointer while collections are recorded, and the references that this takes. Never: changes `gc.callbacks`, or the pointer while
//! a collection runs: the collector would go on in the other list. Everything here runs at a safe point, with the GIL.

use super::at_exit;
use super::callables::{self, FIRST, SECOND};
use super::interpreter::{Interpreter, Object};
use super::known::{EXPLICIT, IS_ON, KNOWN, Known, PRIVATE, REAL, STATE};
use super::ring::RING;
use super::tried;
use crate::process::safe_point;
use crate::system::proc;
use genba_python::interpreter::collector::GENERATIONS;
use genba_python::memory::{Address, Memory};
use genba_signal::memory::WordsByKernel;
use std::ffi::CStr;
use std::sync::atomic::Ordering::SeqCst;

/// What an installation came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub enum Installed {
    Yes = 1,
    /// A collection runs at this moment.
    NotNow = 2,
    /// The collector's state is not where the version says.
    DoesNotFit = 3,
    /// `gc.callbacks` is not the list that the collector calls.
    Replaced = 4,
    /// The interpreter refused something, for want of memory.
    Failed = 5,
    /// What `genba gc try` asked for was not done.
    NotTried = 6,
    /// `atexit` does not take a function.
    NoExit = 7,
}

/// What `install` shall do.
pub const LIST: u64 = 1;
pub const EXIT: u64 = 2;

impl Installed {
    #[must_use]
    pub const fn of(word: u64) -> Installed {
        match word {
            1 => Installed::Yes,
            2 => Installed::NotNow,
            3 => Installed::DoesNotFit,
            4 => Installed::Replaced,
            6 => Installed::NotTried,
            7 => Installed::NoExit,
            _ => Installed::Failed,
        }
    }
}

/// The collector is told by its own word whether it runs.
fn is_collecting(known: &Known, state: Address) -> Option<bool> {
    let memory = WordsByKernel { pid: proc::own_pid() };
    Some(memory.half(state.at(known.collector.collecting)).ok()? != 0)
}

/// Work of the safe point: an `Installed`.
pub fn install(wanted: u64) -> u64 {
    // SAFETY: made by `into_raw` and never freed.
    let Some(known) = (unsafe { KNOWN.load(SeqCst).as_ref() }) else { return Installed::Failed as u64 };
    if callables::intern_keys(&known.interpreter).is_none() {
        return Installed::Failed as u64;
    }
    if is_importing(&known.interpreter) {
        return Installed::NotNow as u64;
    }
    if wanted & EXIT != 0 && !at_exit::register(&known.interpreter) {
        return Installed::NoExit as u64;
    }
    (if wanted & LIST == 0 { Installed::Yes } else { install_now(known) }) as u64
}

fn install_now(known: &Known) -> Installed {
    let interpreter = &known.interpreter;
    let memory = WordsByKernel { pid: proc::own_pid() };
    let Ok(state) = known.collector.address(&memory, &known.layout) else { return Installed::DoesNotFit };
    // SAFETY: with the GIL, by name, with nothing but text; the module is there in every program and has no code in Python.
    let module = unsafe {
        let null = core::ptr::null_mut();
        (interpreter.import)(c"gc".as_ptr(), null, null, null, 0)
    };
    if module.is_null() {
        // SAFETY: with the GIL.
        unsafe { (interpreter.forget_error)() };
        return Installed::Failed;
    }
    let is_tried = tried::apply(interpreter);
    let installed = if is_tried { install_beside(known, state, &memory, module) } else { Installed::NotTried };
    // SAFETY: the reference that the import gave.
    unsafe { (interpreter.release)(module) };
    installed
}

/// Whether an import of genba's could meet one of the program's. A thread that is importing `gc` makes a module that would take the private list for the program's. Importlib
/// keeps a lock for each module that is being imported, in the dict `_module_locks`, and looks for the module again once it has the lock. Up to 3.11, while a thread takes
/// such a lock, the dict `_blocking_on` has it under the thread's number, and a second import of the same thread in between would remove that and end the first with a `KeyError`;
/// later versions keep a list for each thread, in what is no dict.
fn is_importing(interpreter: &Interpreter) -> bool {
    let (importlib, gc) = callables::module_names();
    // SAFETY: with the GIL; interned texts, dicts of importlib's, an item that is only compared.
    unsafe {
        let module = (interpreter.loaded)(importlib);
        if module.is_null() {
            (interpreter.forget_error)();
            return true;
        }
        let locks = interpreter.get(module, c"_module_locks");
        let blocking = interpreter.get(module, c"_blocking_on");
        (interpreter.release)(module);
        let Some(locks) = locks else { return true };
        let is_locked = !(interpreter.dict_item)(locks, gc).is_null();
        (interpreter.release)(locks);
        let waiting = blocking.map_or(0, |blocking| {
            let length = (interpreter.dict_length)(blocking);
            (interpreter.release)(blocking);
            length
        });
        (interpreter.forget_error)();
        is_locked || waiting > 0
    }
}

fn install_beside(known: &Known, state: Address, memory: &WordsByKernel, module: Object) -> Installed {
    let interpreter = &known.interpreter;
    match (is_collecting(known, state), known.collector.fits(memory, state)) {
        (Some(true), _) => return Installed::NotNow,
        (Some(false), Ok(true)) => {}
        _ => return Installed::DoesNotFit,
    }
    if !REAL.load(SeqCst).is_null() {
        // Still there from the recording before.
        RING.begin(collections_before(interpreter, module));
        IS_ON.store(true, SeqCst);
        return Installed::Yes;
    }
    // A module that is being imported has none yet.
    let Some(real) = interpreter.get(module, c"callbacks") else { return Installed::NotNow };
    let pointer = state.at(known.collector.callbacks);
    let is_real = memory.word(pointer) == Ok(real as u64) && Interpreter::is_of_type(real, interpreter.list_type);
    // SAFETY: the reference that `get` gave; the collector has its own.
    unsafe { (interpreter.release)(real) };
    if !is_real {
        return Installed::Replaced;
    }
    let Some(private) = private_list(interpreter) else { return Installed::Failed };
    if !callables::take_over(interpreter, real, private) {
        return Installed::Failed;
    }
    RING.begin(collections_before(interpreter, module));
    EXPLICIT.store(address_of_collect(interpreter, module), SeqCst);
    // What ran before may have begun a collection.
    if is_collecting(known, state) != Some(false) || memory.word(pointer) != Ok(real as u64) {
        return Installed::NotNow;
    }
    STATE.store(state.0, SeqCst);
    REAL.store(real, SeqCst);
    // SAFETY: the word was just read, holds a list that the collector calls, and changes with the GIL alone. The collector's reference to the
    // program's list is genba's from here on; for the private one it gets another.
    unsafe {
        (interpreter.hold)(private);
        (pointer.0 as *mut Object).write(private);
    }
    IS_ON.store(true, SeqCst);
    Installed::Yes
}

/// Genba's two callables with nothing between; neither they nor the list are among the objects that the program can ask the collector for.
fn private_list(interpreter: &Interpreter) -> Option<Object> {
    let made = PRIVATE.load(SeqCst);
    if !made.is_null() {
        return Some(made);
    }
    let null = core::ptr::null_mut();
    // SAFETY: with the GIL; the definitions are statics. What is made is kept for good, so that nothing can lead to freed memory.
    unsafe {
        let list = (interpreter.list)(0);
        let first = (interpreter.function)(&raw const FIRST, null, null);
        let second = (interpreter.function)(&raw const SECOND, null, null);
        let is_made = !list.is_null() && !first.is_null() && !second.is_null();
        if !is_made || (interpreter.list_append)(list, first) != 0 || (interpreter.list_append)(list, second) != 0 {
            (interpreter.forget_error)();
            return None;
        }
        for object in [list, first, second] {
            (interpreter.untrack)(object);
        }
        PRIVATE.store(list, SeqCst);
        Some(list)
    }
}

/// As `gc.get_stats()` tells; 0 where the program has put another function there.
fn collections_before(interpreter: &Interpreter, module: Object) -> [u64; GENERATIONS as usize] {
    let mut before = [0; GENERATIONS as usize];
    with_builtin(interpreter, module, c"get_stats", |function| {
        // SAFETY: with the GIL; a function of the interpreter's without arguments. Items are borrowed from the list, which is released last.
        unsafe {
            let stats = (interpreter.call)(function);
            if stats.is_null() {
                return (interpreter.forget_error)();
            }
            for (generation, before) in before.iter_mut().enumerate() {
                let item = (interpreter.list_item)(stats, generation as isize);
                *before = callables::collections_of(interpreter, item);
            }
            (interpreter.release)(stats);
        }
    });
    before
}

fn address_of_collect(interpreter: &Interpreter, module: Object) -> u64 {
    let mut address = 0;
    with_builtin(interpreter, module, c"collect", |function| {
        // SAFETY: with the GIL, of a built-in function.
        address = unsafe { (interpreter.function_address)(function) };
    });
    address
}

fn with_builtin(interpreter: &Interpreter, module: Object, name: &CStr, work: impl FnOnce(Object)) {
    let Some(function) = interpreter.get(module, name) else { return };
    if Interpreter::is_of_type(function, interpreter.function_type) {
        work(function);
    }
    // SAFETY: the reference that `get` gave.
    unsafe { (interpreter.release)(function) };
}

/// Nothing is noted any more, and at the next safe point the collector calls the program's list again.
pub fn withdraw() {
    IS_ON.store(false, SeqCst);
    if !REAL.load(SeqCst).is_null() {
        safe_point::run_after_this_call(restore);
    }
}

/// Work of the safe point.
fn restore(_: u64) -> u64 {
    // SAFETY: made by `into_raw` and never freed.
    let Some(known) = (unsafe { KNOWN.load(SeqCst).as_ref() }) else { return 0 };
    let state = Address(STATE.load(SeqCst));
    // Another recording may have begun meanwhile.
    if IS_ON.load(SeqCst) || REAL.load(SeqCst).is_null() {
        return 0;
    }
    if is_collecting(known, state) != Some(false) {
        safe_point::run_after_this_call(restore);
        return 0;
    }
    let (real, private) = (REAL.swap(core::ptr::null_mut(), SeqCst), PRIVATE.load(SeqCst));
    let interpreter = &known.interpreter;
    let pointer = state.at(known.collector.callbacks).0 as *mut Object;
    // SAFETY: with the GIL, and no collection runs. Each list's reference goes back to where it came from.
    unsafe {
        if pointer.read() == private {
            pointer.write(real);
            (interpreter.release)(private);
        }
        let length = (interpreter.list_length)(private);
        if (interpreter.list_set_slice)(private, 1, length - 1, core::ptr::null_mut()) != 0 {
            (interpreter.forget_error)();
        }
    }
    1
}
