//! The names that `threading` has for threads: `threading._active`, looked up by the number of a thread, and `Thread._name`.
//! Owns: the way from an interpreter to that dict, and when a name is believed. Never: runs Python, takes the GIL, looks at anything but the
//! exact types. Keeps: I-06, I-07.
//!
//! The program may change all of it meanwhile: entries come and go, and what was freed may be anything else. So each object on the way is
//! checked by its type, and a name counts only when two looks, each from the dict on, led to the same str with the same letters, each under a
//! thread state that was this thread's before and after. A thread has its entry from before its first own line until after its last one.

use crate::code_capture::{Tail, locate};
use crate::find::Python;
use crate::interpreter::objects::Objects;
use crate::memory::{Address, Fault, Memory};
use crate::thread_states::{ThreadHints, ident_offset, is_own};

/// Interpreters whose dict is kept in mind.
const KNOWN_MAX: usize = 64;

/// Where `threading._active` lies in each interpreter.
#[derive(Debug, Default)]
pub struct ThreadNames {
    known: Vec<Known>,
}

#[derive(Debug)]
struct Known {
    interpreter: Address,
    /// 0: not found.
    active: u64,
    /// It was looked for since `look_again`.
    is_sought: bool,
}

impl ThreadNames {
    /// What was not found may be looked for again: that takes a look at each imported module.
    pub fn look_again(&mut self) {
        self.known.iter_mut().for_each(|known| known.is_sought = false);
    }

    /// One look at the name of this thread: the address of the str, and its letters. `None`: `threading` does not know it, or it changes at
    /// this moment. Two looks that are equal make a name, the second with no memory kept from the first.
    pub fn look<M: Memory>(&mut self, memory: &M, python: &Python, thread: &ThreadHints) -> Option<(u64, String)> {
        let objects = Objects { memory, python };
        let mut own = thread.states.addresses.iter().take(thread.states.len).copied();
        own.find_map(|state| self.named(&objects, thread, state))
    }

    /// The address of the str, and its letters.
    fn named<M: Memory>(
        &mut self,
        objects: &Objects<M>,
        thread: &ThreadHints,
        state: Address,
    ) -> Option<(u64, String)> {
        let layout = &objects.python.layout;
        let is_own = || is_own(objects.memory, layout, thread.pid, thread.tid, state);
        if !is_own() {
            return None;
        }
        let ident = objects.memory.word(state.at(ident_offset(layout))).ok()?;
        let interpreter = objects.memory.address(state.at(layout.threads.interpreter)).ok()?;
        let thread = self.thread(objects, interpreter, ident)?;
        let name = name_of(objects, thread).ok()?;
        is_own().then_some(name)
    }

    /// The object that `threading` has for a number of its own.
    fn thread<M: Memory>(&mut self, objects: &Objects<M>, interpreter: Address, ident: u64) -> Option<u64> {
        let position = self.known.iter().position(|known| known.interpreter == interpreter);
        let position = position.unwrap_or_else(|| {
            if self.known.len() >= KNOWN_MAX {
                // Most of these interpreters have ended.
                self.known.clear();
            }
            self.known.push(Known { interpreter, active: 0, is_sought: false });
            self.known.len() - 1
        });
        let known = self.known.get_mut(position)?;
        if let Ok(thread) = objects.item_of_int(known.active, ident) {
            return Some(thread);
        }
        if std::mem::replace(&mut known.is_sought, true) {
            return None;
        }
        known.active = active(objects, interpreter).ok()?;
        objects.item_of_int(known.active, ident).ok()
    }
}

/// The names of all threads of an interpreter, by `threading.get_ident`. A name is left out where it cannot be told.
///
/// # Errors
/// `Fault`: the program has not imported `threading`, or changes its table at this moment.
pub fn all<M: Memory>(
    objects: &Objects<M>,
    interpreter: Address,
    mut number: impl FnMut(u64) -> Option<u64>,
) -> Result<Vec<(u64, String)>, Fault> {
    let mut found = Vec::new();
    objects.entries(active(objects, interpreter)?, |ident, thread| {
        found.extend(number(ident).zip(name_of(objects, thread).ok().map(|(_, name)| name)));
        true
    })?;
    Ok(found)
}

/// `Thread._name`: the str, and its letters as they are recorded.
fn name_of<M: Memory>(objects: &Objects<M>, thread: u64) -> Result<(u64, String), Fault> {
    let name = objects.attribute(thread, "_name")?;
    if objects.type_of(name)? != objects.python.str_type {
        return Err(Fault);
    }
    let located = locate(objects.memory, &objects.python.layout, Address(name))?;
    let mut words = vec![0; located.copied.words()];
    Tail::new(&mut words).push_text(objects.memory, &located)?;
    Ok((name, located.copied.text(&words).ok_or(Fault)?))
}

/// The dict `threading._active` of an interpreter.
fn active<M: Memory>(objects: &Objects<M>, interpreter: Address) -> Result<u64, Fault> {
    objects.global(interpreter, "threading", "_active")
}
