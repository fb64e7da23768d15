//! One look at one thread: its Python frames, and on demand their local variables.
//! Owns: the walk over all thread states of the thread, what a frame is afterwards. Never: decides whether the look may be believed
//! (snapshot.rs does: the thread may have run meanwhile). Keeps: I-06, I-07.

use genba_python::check;
use genba_python::layout::{CurrentFrame, Layout};
use genba_python::lists::ThreadStates;
use genba_python::memory::{Address, Fault, Memory};
use genba_python::stack::frames::{self, Frames};
use genba_python::stack::merge::{self, Circumstances, Mark, Python as Entry};
pub use genba_python::stack::walked::PythonEnd;
use genba_python::stack::walked::{PYTHON_MAX, PYTHON_WORDS, PythonEntry, PythonWord};
use genba_python::symbols::Symbols;
use genba_python::thread_states::{self, OwnStates, ThreadHints, in_gc, owner};
use genba_python::waits::locks::{Lock, lock_of};

use crate::kernel::refusal::Refusal;
use crate::kernel::registers::Registers;
use crate::kernel::threads::Task;
use crate::python::c_stack::{Modules, Place, Source, StackCopy, are_instructions_apart};
use crate::python::codes::{Code, Codes};
use crate::python::interpreter::Interpreter;
use crate::python::objects::{Objects, Types, Value};

const TAIL_WORDS: usize = 1 << 17;
const LOCALS_MAX: u64 = 100;
const NAME_CHARACTERS_MAX: u64 = 100;
/// `co_localsplusnames`, 3.11 to 3.15.
const LOCAL_NAMES: u64 = 96;
const OWNER_SHIM_MIN: u8 = 3;
/// Variables and values of a frame among which a lock is looked for. What lies behind the frame does no harm: a lock is known by its futex.
const FRAME_WORDS_MAX: u64 = 256;
/// `m_self` of a function in C that is bound to an object, 3.11 to 3.15.
const BOUND_TO: u64 = 24;

/// What a look saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// Innermost first.
    pub frames: Vec<Frame>,
    /// The same by position, with the C locals of the runs of the eval loop among them.
    pub entries: Vec<Entry<usize>>,
    /// `None`: not asked for, or the registers are not known.
    pub stack: Option<StackCopy>,
    pub end: PythonEnd,
    /// The thread holds the GIL of its interpreter and collects garbage.
    pub in_gc: bool,
    pub holds_gil: bool,
    /// The time for reading was over before all was read.
    pub is_late: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Row of `Codes`. `None`: its code object could not be copied.
    pub code: Option<u32>,
    /// Code units from the first instruction.
    pub instruction: u32,
    /// `None`: not asked for, or they could not be read.
    pub locals: Option<Locals>,
}

/// Variables of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locals {
    pub found: Vec<Local>,
    /// So many more are declared, and were not looked at.
    pub left_out: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Local {
    pub name: String,
    /// `None`: what lies there could not be read as an object.
    pub value: Option<Value>,
}

/// A frame of both stacks in one, innermost first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Position in `Look::frames`.
    Python(usize),
    C(Place),
    /// Why frames are missing here.
    Mark(&'static str),
}

pub type Merged = Vec<Shown>;

/// What is asked of a look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    pub locals: bool,
    /// C frames, too.
    pub native: bool,
}

/// Looks at the threads of one process.
pub struct Looker {
    pub interpreter: Interpreter,
    pub types: Types,
    pub states: ThreadStates,
    pub codes: Codes,
    pub modules: Modules,
    /// `None`: not asked yet.
    instructions_apart: Option<bool>,
    /// The newest thread state of each thread.
    all_states: Vec<Address>,
    tail: Vec<u64>,
    words: Box<[PythonWord; PYTHON_WORDS]>,
}

impl Looker {
    #[must_use]
    pub fn new(interpreter: Interpreter) -> Looker {
        Looker {
            types: Types::of(&interpreter.python, &interpreter.symbols),
            interpreter,
            states: ThreadStates::default(),
            codes: Codes::default(),
            modules: Modules::default(),
            instructions_apart: None,
            all_states: Vec::new(),
            tail: vec![0; TAIL_WORDS],
            words: Box::new([PythonWord::EMPTY; PYTHON_WORDS]),
        }
    }

    /// Reads the lists of thread states anew, and checks the layout on one of them (I-10).
    ///
    /// # Errors
    /// `Misfit`: by this layout something is not what it has to be.
    pub fn refresh(&mut self, tids: &[u32]) -> Result<(), Refusal> {
        const TRIES: usize = 8;
        let Interpreter { memory, python, facts, file, version, .. } = &self.interpreter;
        let mut misfits = 0;
        for _ in 0..TRIES {
            memory.forget();
            self.states.refresh(memory, python, facts.own_pid());
            let first = |tid: &u32| Some(self.states.of(*tid)).filter(|states| states.len > 0);
            let states = tids.iter().filter_map(first).flat_map(|states| states.addresses.into_iter().take(states.len));
            let judged: Vec<bool> = states.filter_map(|state| check::fits(memory, python, state)).collect();
            if judged.is_empty() || judged.contains(&true) {
                self.all_states = tids.iter().flat_map(|&tid| self.states.of(tid).addresses).collect();
                self.all_states.retain(|state| !state.is_null());
                return Ok(());
            }
            misfits += 1;
        }
        debug_assert_eq!(misfits, TRIES);
        Err(Refusal::Misfit { pid: facts.pid, program: file.clone(), version: version.clone() })
    }

    /// The numbers that Python knows its threads by, with their names.
    #[must_use]
    pub fn thread_names(&self) -> Vec<(u64, String)> {
        const TRIES: usize = 4;
        let mut last = None;
        for _ in 0..TRIES {
            self.interpreter.memory.forget();
            let names = self.objects().thread_names();
            match names {
                // Read twice: the table may change under the look.
                Ok(names) if last.as_ref() == Some(&names) => return names,
                Ok(names) => last = Some(names),
                Err(Fault) => {}
            }
        }
        last.unwrap_or_default()
    }

    /// The text that somebody typed, by the name that its code has for a file. `None`: there is none, or it changes at this moment.
    #[must_use]
    pub fn typed_text(&self, filename: &str) -> Option<String> {
        let read = || {
            self.interpreter.memory.forget();
            self.objects().typed_text(filename).ok()
        };
        let text = read()?;
        // Read twice: the program runs.
        (read()? == text).then_some(text)
    }

    #[must_use]
    pub const fn objects(&self) -> Objects<'_> {
        Objects { memory: &self.interpreter.memory, python: &self.interpreter.python, types: &self.types }
    }

    pub fn look(&mut self, task: &Task, registers: Registers, wanted: Wanted) -> Look {
        let Interpreter { memory, python, facts, .. } = &self.interpreter;
        let layout = &python.layout;
        let mut seen = Look {
            frames: Vec::new(),
            entries: Vec::new(),
            stack: None,
            end: PythonEnd::Complete,
            in_gc: false,
            holds_gil: false,
            is_late: false,
        };
        if wanted.native && registers != Registers::default() {
            seen.stack = Some(StackCopy::of(memory, registers));
        }
        let hints = ThreadHints { pid: facts.own_pid(), tid: task.own_tid, states: self.states.of(task.own_tid) };
        for state in hints.states.addresses.into_iter().take(hints.states.len) {
            seen.holds_gil |= gil_holder(memory, layout, state) == Ok(Some(state));
            seen.in_gc |= in_gc(memory, layout, state) == Ok(true);
        }
        let mut own = OwnStates::EMPTY;
        if let Err(end) = thread_states::find(memory, layout, &hints, registers.stack_pointer(), &mut own) {
            seen.end = end;
        }
        let mut chains: Vec<Vec<Entry<usize>>> = Vec::new();
        for state in own.iter() {
            let mut found = Frames::new(&mut self.words, &mut self.tail);
            let end = frames::walk(memory, layout, &self.codes.seen(), state, &mut found);
            let (len, top_not_begun) = (found.len, found.top_not_begun);
            if end != PythonEnd::Complete {
                seen.end = end;
            }
            let entries: Vec<PythonEntry> = self.words.iter().take(len).map(|word| word.entry()).collect();
            let mut chain: Vec<Frame> = Vec::new();
            let first = seen.frames.len();
            let placed = entries.into_iter().filter_map(|entry| match entry {
                PythonEntry::Shim { address } => Some(Entry::Shim(address)),
                entry => {
                    let frame = frame(entry, &mut self.codes, &self.tail);
                    let code = frame.code.and_then(|row| self.codes.row(row));
                    let is_shown = !code.is_some_and(Code::is_interpreters_own);
                    // One that is not shown has its place in the chain, too: `locals` are found by it.
                    chain.push(frame);
                    is_shown.then(|| Entry::Frame(first + chain.len() - 1))
                }
            });
            let placed: Vec<Entry<usize>> = placed.collect();
            if wanted.locals {
                let objects = Objects { memory, python, types: &self.types };
                let mut places = frame_addresses(memory, layout, state, top_not_begun).unwrap_or_default();
                if end == PythonEnd::TooDeep {
                    // Among the words of such a walk are shims, which have no place.
                    places.truncate(chain.len());
                }
                if places.len() == chain.len() {
                    for (frame, place) in chain.iter_mut().zip(places) {
                        frame.locals = locals(objects, layout, place).ok();
                    }
                }
            }
            seen.frames.extend(chain);
            chains.push(placed);
        }
        // With sub-interpreters the frames of the inner one lie lower on the same stack.
        seen.entries = merge::interleave(&chains.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap_or_else(|| {
            seen.end = PythonEnd::Ambiguous;
            chains.concat()
        });
        let in_order = seen.entries.iter().filter_map(|entry| match entry {
            Entry::Frame(position) => Some(*position),
            Entry::Shim(_) => None,
        });
        let in_order: Vec<usize> = in_order.collect();
        let mut frames: Vec<Option<Frame>> = seen.frames.drain(..).map(Some).collect();
        seen.frames = in_order.iter().filter_map(|&position| frames.get_mut(position)?.take()).collect();
        for (position, entry) in (0..).zip(seen.entries.iter_mut().filter(|entry| matches!(entry, Entry::Frame(_)))) {
            *entry = Entry::Frame(position);
        }
        seen.is_late = memory.is_late();
        seen
    }

    /// The C frames of a look with the Python frames among them; `None`: their registers were not known.
    pub fn merged(&mut self, look: &Look) -> Option<Merged> {
        let copy = look.stack.as_ref()?;
        let Interpreter { memory, python: _, facts, maps, core, symbols, .. } = &self.interpreter;
        let source = Source { pid: facts.pid, memory, maps, core: core.as_ref().map(|core| core.path.as_path()) };
        let stack = self.modules.walk(source, copy);
        let eval_loop = symbols.address(c"_PyEval_EvalFrameDefault");
        let modules = &mut self.modules;
        let instructions_apart = *self.instructions_apart.get_or_insert_with(|| {
            eval_loop.is_some_and(|eval_loop| are_instructions_apart(modules, source, eval_loop))
        });
        let python_cut = match look.end {
            PythonEnd::Fault | PythonEnd::Popped => Some(Mark::PythonCut),
            PythonEnd::TooDeep => Some(Mark::PythonTooDeep),
            _ => None,
        };
        let circumstances =
            Circumstances { native_end: stack.end, python_cut, hidden: &[], instructions_apart, eval_loops: &[] };
        let merged = merge::merge(&stack.frames, &look.entries, circumstances).into_iter();
        let shown = merged.filter_map(|frame| match frame {
            merge::Merged::Python(position) => Some(Shown::Python(position)),
            merge::Merged::Native(position) => Some(Shown::C(stack.places.get(position).copied().flatten()?)),
            merge::Merged::Mark(mark) => Some(Shown::Mark(mark.text())),
            merge::Merged::InferredCall { .. } | merge::Merged::InferredOperand => None,
        });
        Some(shown.collect())
    }

    /// The thread that `threading.get_ident` names so, by Python's number for it.
    #[must_use]
    pub fn tid_of(&self, ident: u64) -> Option<u32> {
        if let Some(tid) = self.states.with_ident(ident) {
            return Some(tid);
        }
        let Interpreter { memory, python, facts, .. } = &self.interpreter;
        let offset = python.layout.threads.ident?;
        let has_ident = |state: &&Address| memory.word(state.at(offset)) == Ok(ident);
        let state = self.all_states.iter().find(has_ident)?;
        owner(memory, &python.layout, facts.own_pid(), *state).ok()
    }

    /// The lock that a thread waits for by way of this futex, among the values of its innermost Python frame: before 3.14 CPython has no list
    /// of who waits. With the place that names the holder of an RLock.
    #[must_use]
    pub fn lock_in_frame(&self, task: &Task, futex: u64) -> Option<(Lock, Address)> {
        let Interpreter { memory, python, .. } = &self.interpreter;
        let layout = &python.layout;
        let states = self.states.of(task.own_tid);
        states.addresses.into_iter().take(states.len).find_map(|state| {
            let frame = *frame_addresses(memory, layout, state, false).ok()?.first()?;
            let word = |index: u64| memory.word(frame.at(layout.frames.locals + 8 * index)).ok();
            (0..FRAME_WORDS_MAX).map_while(word).map(|word| word & !7).find_map(|value| {
                // `with` on 3.11 keeps no more than the lock's bound `__exit__`.
                let bound_to = memory.word(Address(value.checked_add(BOUND_TO)?)).ok();
                [Some(value), bound_to].into_iter().flatten().find_map(|object| lock_of(object, futex, memory))
            })
        })
    }

    /// The thread that holds the GIL that this one waits for, by Python's number for it.
    #[must_use]
    pub fn holder_for(&self, task: &Task) -> Option<u32> {
        let Interpreter { memory, python, facts, .. } = &self.interpreter;
        let states = self.states.of(task.own_tid);
        let mut own = states.addresses.into_iter().take(states.len);
        own.find_map(|state| {
            let holder = gil_holder(memory, &python.layout, state).ok().flatten()?;
            owner(memory, &python.layout, facts.own_pid(), holder).ok()
        })
    }
}

fn frame(entry: PythonEntry, codes: &mut Codes, tail: &[u64]) -> Frame {
    let (code, instruction) = match entry {
        PythonEntry::Known { code, instruction } => (Some(code), instruction),
        PythonEntry::InTail { position, instruction } => (codes.take(tail, position), instruction),
        PythonEntry::NoRoom | PythonEntry::Shim { .. } => (None, 0),
    };
    Frame { code, instruction, locals: None }
}

/// The thread state that holds the GIL of this one's interpreter; `None`: nobody does.
fn gil_holder(memory: &impl Memory, layout: &Layout, state: Address) -> Result<Option<Address>, Fault> {
    let gil = match (layout.gil.pointer, layout.gil.address) {
        (Some(offset), _) => memory.address(memory.address(state.at(layout.threads.interpreter))?.at(offset))?,
        (None, address) => Address(address.ok_or(Fault)?),
    };
    let is_locked = memory.half(gil.at(layout.gil.locked))? == 1;
    let holder = memory.address(gil.at(layout.gil.last_holder))?;
    Ok(Some(holder).filter(|holder| is_locked && !holder.is_null()))
}

/// The frames of Python code, in the order of the walk.
fn frame_addresses(
    memory: &impl Memory,
    layout: &Layout,
    state: Address,
    top_not_begun: bool,
) -> Result<Vec<Address>, Fault> {
    let (mut frame, base) = match layout.threads.current {
        CurrentFrame::InThreadState { current_frame, base_frame } => {
            let base = base_frame.map_or(Ok(Address::NULL), |offset| memory.address(state.at(offset)))?;
            (memory.address(state.at(current_frame))?, base)
        }
        CurrentFrame::ByCFrame { cframe, current_frame, previous, .. } => {
            let mut run = memory.address(state.at(cframe))?;
            if top_not_begun {
                run = memory.address(run.at(previous))?;
            }
            (memory.address(run.at(current_frame))?, Address::NULL)
        }
    };
    let mut found = Vec::new();
    while !frame.is_null() && frame != base && found.len() < PYTHON_MAX {
        if memory.byte(frame.at(layout.frames.owner))? < OWNER_SHIM_MIN {
            found.push(frame);
        }
        frame = memory.address(frame.at(layout.frames.previous))?;
    }
    Ok(found)
}

/// The variables of a frame that have a value: its own, those of cells, those of the functions around it.
fn locals(objects: Objects, layout: &Layout, frame: Address) -> Result<Locals, Fault> {
    let memory = objects.memory;
    let code = memory.word(frame.at(layout.frames.code))? & !7;
    let names = memory.word(Address(code + LOCAL_NAMES))?;
    let declared = objects.length_of_tuple(names)?;
    let names = objects.tuple(names, LOCALS_MAX)?;
    let mut found = Vec::new();
    for (index, name) in (0_u64..).zip(names) {
        let reference = memory.word(frame.at(layout.frames.locals + 8 * index))?;
        // From 3.14 on the lowest bits are marks; both set: no object.
        if reference & !7 == 0 || reference & 3 == 3 {
            continue;
        }
        let (name, cut) = objects.text(name, NAME_CHARACTERS_MAX)?;
        let name = if cut > 0 { name + "…" } else { name };
        match objects.behind_cell(reference & !7) {
            Ok(None) => {}
            Ok(Some(object)) => found.push(Local { name, value: objects.value(object).ok() }),
            Err(Fault) => found.push(Local { name, value: None }),
        }
    }
    Ok(Locals { found, left_out: declared.saturating_sub(LOCALS_MAX) })
}
