//! Which thread states belong to which thread, where the GILs lie and who holds them: read from outside, as hints.
//! Owns: the lists. Never: believes a hint (the handler checks again whose they are), follows more than THREADS_MAX links.
//! Keeps: I-07 (a bound that was reached is told).

use crate::find::Python;
use crate::layout::Layout;
use crate::memory::{Address, Fault, Memory};
use crate::thread_states::{States, THREAD_STATES_MAX, ident_offset, is_of_first, owner};
use rustc_hash::FxHashMap;

const THREADS_MAX: usize = 20_000;
const INTERPRETERS_MAX: usize = 64;

/// Which bounds the lists of this process went beyond, ever.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Beyond {
    pub interpreters: bool,
    pub threads: bool,
    /// Seen by a look.
    pub states_of_a_thread: bool,
}

impl Beyond {
    /// What the recording says about each bound that was passed now and not `before`.
    pub fn since(self, before: Beyond) -> impl Iterator<Item = String> {
        [
            (self.interpreters && !before.interpreters).then(|| {
                format!("more than {INTERPRETERS_MAX} interpreters: no Python frames are shown in the oldest ones but the first")
            }),
            (self.threads && !before.threads).then(|| {
                format!("more than {THREADS_MAX} thread states: the threads of the others show no Python frames")
            }),
        ]
        .into_iter()
        .flatten()
    }
}

#[derive(Default)]
pub struct ThreadStates {
    by_tid: FxHashMap<u32, States>,
    /// By `threading.get_ident` (3.13 and later).
    by_ident: FxHashMap<u64, u32>,
    gils: Vec<Address>,
    /// 3.11, 3.12: the thread states of sub-interpreters, which any thread may use. No more than a question holds.
    shared: Vec<Address>,
    threads: usize,
    /// The descriptor of the process's first thread, once a thread state named it.
    first: Option<u64>,
    /// The heads of the lists when they were read.
    heads: u64,
    pub beyond: Beyond,
}

impl ThreadStates {
    #[must_use]
    pub fn of(&self, tid: u32) -> States {
        let mut states = self.by_tid.get(&tid).copied().unwrap_or_default();
        if states.len > 0 {
            for &state in &self.shared {
                if !states.addresses[..states.len].contains(&state) {
                    states.add(state);
                }
            }
        }
        states
    }

    /// The thread that `threading.get_ident` names so.
    #[must_use]
    pub fn with_ident(&self, ident: u64) -> Option<u32> {
        self.by_ident.get(&ident).copied()
    }

    /// Whether an interpreter or a thread state came since the lists were read: new ones stand first. Of those that went nothing is
    /// believed anyway.
    #[must_use]
    pub fn is_outdated<M: Memory>(&self, memory: &M, python: &Python) -> bool {
        heads(memory, python).is_ok_and(|heads| heads != self.heads)
    }

    /// Whether a futex at `address` is part of a GIL.
    #[must_use]
    pub fn is_gil(&self, python: &Python, address: u64) -> bool {
        self.gils.iter().any(|gil| (gil.0..gil.0 + python.layout.gil.bytes).contains(&address))
    }

    /// The threads that hold a GIL, or were the last to do so.
    pub fn holders<'a, M: Memory>(
        &'a self,
        memory: &'a M,
        python: &'a Python,
        pid: u32,
    ) -> impl Iterator<Item = u32> + 'a {
        let layout = &python.layout;
        self.gils.iter().filter_map(move |gil| {
            let state = memory.address(gil.at(layout.gil.last_holder)).ok().filter(|state| !state.is_null())?;
            owner(memory, layout, pid, state).ok()
        })
    }

    /// Reads the lists of the process `pid` again. They may change meanwhile: what could not be read is missing until the next time.
    pub fn refresh<M: Memory>(&mut self, memory: &M, python: &Python, pid: u32) {
        self.by_tid.clear();
        self.by_ident.clear();
        self.gils.clear();
        self.shared.clear();
        self.threads = 0;
        self.heads = heads(memory, python).unwrap_or(0);
        let _ = self.read(memory, python, pid);
    }

    fn read<M: Memory>(&mut self, memory: &M, python: &Python, pid: u32) -> Result<(), Fault> {
        let layout = &python.layout;
        let main = main_interpreter(memory, python)?;
        // The main interpreter is the oldest one and stands last in the list.
        self.read_interpreter(memory, layout, pid, main, true)?;
        let mut interpreter = memory.address(python.runtime.at(layout.runtime.interpreters_head))?;
        for _ in 0..INTERPRETERS_MAX {
            if interpreter.is_null() {
                break;
            }
            if interpreter != main {
                self.read_interpreter(memory, layout, pid, interpreter, false)?;
            }
            interpreter = memory.address(interpreter.at(layout.runtime.interpreter_next))?;
        }
        self.beyond.interpreters |= !interpreter.is_null();
        Ok(())
    }

    fn read_interpreter<M: Memory>(
        &mut self,
        memory: &M,
        layout: &Layout,
        pid: u32,
        interpreter: Address,
        is_main: bool,
    ) -> Result<(), Fault> {
        let gil = match (layout.gil.pointer, layout.gil.address) {
            (Some(offset), _) => memory.address(interpreter.at(offset))?,
            (None, Some(address)) => Address(address),
            (None, None) => Address::NULL,
        };
        if !gil.is_null() && !self.gils.contains(&gil) {
            self.gils.push(gil);
        }
        let mut state = memory.address(interpreter.at(layout.runtime.threads_head))?;
        while !state.is_null() && self.threads < THREADS_MAX {
            self.threads += 1;
            let descriptor = memory.word(state.at(ident_offset(layout))).ok();
            let tid = self.owner(memory, layout, pid, state, descriptor)?;
            let states = self.by_tid.entry(tid).or_default();
            states.more |= !states.add(state);
            if layout.minor >= 13 {
                // The newest comes first: in a child that C code forked it may have the stack of a thread that is not there.
                self.by_ident.entry(descriptor.ok_or(Fault)?).or_insert(tid);
            }
            if layout.threads.ident.is_some() && !is_main && self.shared.len() < THREAD_STATES_MAX {
                self.shared.push(state);
            }
            state = memory.address(state.at(layout.threads.next))?;
        }
        self.beyond.threads |= !state.is_null();
        Ok(())
    }

    /// The thread whose thread state it is. `descriptor`: the one that it names. Each lies on a page of its own: once the first thread's is known,
    /// no other one is read.
    fn owner<M: Memory>(
        &mut self,
        memory: &M,
        layout: &Layout,
        pid: u32,
        state: Address,
        descriptor: Option<u64>,
    ) -> Result<u32, Fault> {
        if self.first.is_some() && self.first != descriptor {
            return Ok(memory.word(state.at(layout.threads.native_id))? as u32);
        }
        let tid = owner(memory, layout, pid, state)?;
        if self.first.is_none() && tid == pid && is_of_first(memory, layout, pid, state) {
            self.first = descriptor;
        }
        Ok(tid)
    }
}

/// It stands behind the head of the list (CPython 3.11 to 3.15, pycore_runtime.h, `struct pyinterpreters`). Before it is made nothing is
/// read: a debugger would stop at the fault.
fn main_interpreter<M: Memory>(memory: &M, python: &Python) -> Result<Address, Fault> {
    let main = memory.address(python.runtime.at(python.layout.runtime.interpreters_head).at(8))?;
    if main.is_null() { Err(Fault) } else { Ok(main) }
}

/// One number for the beginnings of all lists.
fn heads<M: Memory>(memory: &M, python: &Python) -> Result<u64, Fault> {
    let layout = &python.layout;
    let mut interpreter = memory.address(python.runtime.at(layout.runtime.interpreters_head))?;
    let mut heads = memory.word(main_interpreter(memory, python)?.at(layout.runtime.threads_head))?;
    for _ in 0..INTERPRETERS_MAX {
        if interpreter.is_null() {
            break;
        }
        let threads = memory.word(interpreter.at(layout.runtime.threads_head))?;
        for word in [interpreter.0, threads] {
            heads = (heads ^ word).wrapping_mul(0xFF51_AFD7_ED55_8CCD).rotate_left(29);
        }
        interpreter = memory.address(interpreter.at(layout.runtime.interpreter_next))?;
    }
    Ok(heads)
}
