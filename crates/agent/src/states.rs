//! Which thread states belong to which thread, where the GILs lie and who holds them: read from outside, as hints.
//! Owns: the lists. Never: believes a hint (the handler checks `native_thread_id` again), follows more than THREADS_MAX links.

use crate::python::Python;
use genba_signal::memory::{Address, Fault, Memory};
use genba_signal::request::THREAD_STATES_MAX;
use rustc_hash::FxHashMap;

const THREADS_MAX: usize = 20_000;
const INTERPRETERS_MAX: usize = 64;

/// The thread states of one thread; more than one with sub-interpreters.
#[derive(Clone, Copy, Default, Debug)]
pub struct States {
    pub addresses: [Address; THREAD_STATES_MAX],
    pub len: usize,
}

#[derive(Default)]
pub struct ThreadStates {
    by_tid: FxHashMap<u32, States>,
    gils: Vec<Address>,
}

impl ThreadStates {
    #[must_use]
    pub fn of(&self, tid: u32) -> States {
        self.by_tid.get(&tid).copied().unwrap_or_default()
    }

    /// Whether a futex at `address` is part of a GIL.
    #[must_use]
    pub fn is_gil(&self, python: &Python, address: u64) -> bool {
        self.gils.iter().any(|gil| (gil.0..gil.0 + python.layout.gil_bytes).contains(&address))
    }

    /// The threads that hold a GIL, or were the last to do so.
    pub fn holders<'a, M: Memory>(&'a self, memory: &'a M, python: &'a Python) -> impl Iterator<Item = u32> + 'a {
        let layout = &python.layout;
        self.gils.iter().filter_map(|gil| {
            let state = memory.address(gil.at(layout.gil_last_holder)).ok().filter(|state| !state.is_null())?;
            memory.word(state.at(layout.native_thread_id)).ok().map(|tid| tid as u32)
        })
    }

    /// Reads the lists again. They may change meanwhile: what could not be read is missing until the next time.
    pub fn refresh<M: Memory>(&mut self, memory: &M, python: &Python) {
        self.by_tid.clear();
        self.gils.clear();
        let _ = self.read(memory, python);
    }

    fn read<M: Memory>(&mut self, memory: &M, python: &Python) -> Result<(), Fault> {
        let layout = &python.layout;
        let mut interpreter = memory.address(python.runtime.at(layout.interpreters_head))?;
        let mut threads = 0;
        for _ in 0..INTERPRETERS_MAX {
            if interpreter.is_null() {
                break;
            }
            let gil = match (layout.gil_pointer, layout.gil_address) {
                (Some(offset), _) => memory.address(interpreter.at(offset))?,
                (None, Some(address)) => Address(address),
                (None, None) => Address::NULL,
            };
            if !gil.is_null() && !self.gils.contains(&gil) {
                self.gils.push(gil);
            }
            let mut state = memory.address(interpreter.at(layout.threads_head))?;
            while !state.is_null() && threads < THREADS_MAX {
                threads += 1;
                let tid = memory.word(state.at(layout.native_thread_id))? as u32;
                let states = self.by_tid.entry(tid).or_default();
                if let Some(slot) = states.addresses.get_mut(states.len) {
                    *slot = state;
                    states.len += 1;
                }
                state = memory.address(state.at(layout.thread_next))?;
            }
            interpreter = memory.address(interpreter.at(layout.interpreter_next))?;
        }
        Ok(())
    }
}
