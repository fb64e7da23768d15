//! From an answer to a row of the node table: names what was seen, merges it, interns it.
//! Owns: the modules' and code objects' rows, inferred frames. Never: reads the stack again (the answer is all there is).
//! Partner: merge.rs of crates/python is the pure part.

use crate::reading::codes::Codes;
use crate::reading::count_hooks;
use crate::reading::modules::{Loaded, Place};
use crate::reading::tail_calls::{self, CallTargets};
use crate::system::proc::monotonic_ns;
use crate::system::symbols;
use crate::writing::outcomes::Refused;
use crate::writing::recorder::depths::Depth;
use crate::writing::tables::{Node, Tables};
use genba_format::proto::NodeKind;
use genba_python::find::Python;
use genba_python::memory::{Address, Memory};
use genba_python::stack::merge::{self, Circumstances, Mark, Merged, Python as Entry};
use genba_python::stack::trampoline;
use genba_python::stack::walked::{Operand, PythonEnd, PythonEntry, PythonWord};
use genba_signal::jit::JIT;
use genba_signal::request::{Answer, Chain};
use genba_signal::unwind::{NativeEnd, NativeFrame};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::ffi::CStr;

/// A Python frame, named as far as it could be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PythonFrame {
    Code {
        row: u32,
        instruction: u32,
    },
    /// Its code object found no room in this answer; the next one will have it.
    NotCopied,
}

/// What an answer came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seen {
    /// The leaf node (index + 1).
    Leaf(u32),
    Nothing,
    /// Frames of several interpreters whose order cannot be told.
    Unordered,
}

impl Seen {
    /// What a look ends as. A thread without frames, or none that may be seen, is a sample without a stack.
    pub const fn node_or_refused(self, python_end: PythonEnd) -> Result<u32, Refused> {
        const NO_STACK: u32 = 0;
        match (self, python_end) {
            (Seen::Unordered, _) | (_, PythonEnd::Ambiguous | PythonEnd::TooMany) => Err(Refused::Ambiguous),
            (Seen::Leaf(node), _) => Ok(node),
            (Seen::Nothing, PythonEnd::Fault | PythonEnd::Popped) => Err(Refused::Unreadable),
            (Seen::Nothing, _) => Ok(NO_STACK),
        }
    }
}

/// Everything that turns answers into rows.
pub struct Stacks {
    pub loaded: Loaded,
    pub codes: Codes,
    calls: CallTargets,
    places: FxHashMap<u64, Option<Place>>,
    known_addresses: Vec<(u64, &'static str)>,
    anonymous_row: Option<u32>,
    /// Each instruction of the interpreter is a function of its own (tail calls between them). `None`: not looked at since the files changed.
    instructions_apart: Option<bool>,
    /// Where `_PyEval_EvalFrameDefault` begins.
    eval_loop: Option<u64>,
}

/// libc functions that the dynamic linker may bind to a variant without a name of its own.
const MAYBE_INDIRECT: [(&CStr, &str); 26] = [
    (c"memmove", "memmove"),
    (c"memcpy", "memcpy"),
    (c"mempcpy", "mempcpy"),
    (c"memset", "memset"),
    (c"memcmp", "memcmp"),
    (c"memchr", "memchr"),
    (c"memrchr", "memrchr"),
    (c"rawmemchr", "rawmemchr"),
    (c"strlen", "strlen"),
    (c"strnlen", "strnlen"),
    (c"strcmp", "strcmp"),
    (c"strncmp", "strncmp"),
    (c"strcasecmp", "strcasecmp"),
    (c"strchr", "strchr"),
    (c"strrchr", "strrchr"),
    (c"strchrnul", "strchrnul"),
    (c"strcpy", "strcpy"),
    (c"strncpy", "strncpy"),
    (c"stpcpy", "stpcpy"),
    (c"strcat", "strcat"),
    (c"strstr", "strstr"),
    (c"strspn", "strspn"),
    (c"strcspn", "strcspn"),
    (c"wcslen", "wcslen"),
    (c"wmemset", "wmemset"),
    (c"wmemchr", "wmemchr"),
];
const EVAL_LOOP: &CStr = c"_PyEval_EvalFrameDefault";
/// Places by instruction: as many as 0.7 MB hold, which is what a program's hot code needs. They are found again quickly.
const PLACES_MAX: usize = (1 << 14) / 8 * 7;

impl Stacks {
    #[must_use]
    pub fn new(loaded: Loaded) -> Stacks {
        let mut known_addresses: Vec<(u64, &'static str)> = Vec::new();
        for (symbol, name) in MAYBE_INDIRECT {
            // Where genba's own functions come before libc's, libc's are meant.
            let next = if count_hooks::copies_are_loaded() { symbols::next(symbol) } else { None };
            if let Some(address) = next.or_else(|| symbols::address(symbol)) {
                // memcpy and memmove may be one function: the first name stays.
                if !known_addresses.iter().any(|&(known, _)| known == address) {
                    known_addresses.push((address, name));
                }
            }
        }
        Stacks {
            loaded,
            codes: Codes::new(),
            calls: CallTargets::default(),
            places: FxHashMap::default(),
            known_addresses,
            anonymous_row: None,
            instructions_apart: None,
            eval_loop: symbols::address(EVAL_LOOP),
        }
    }

    /// Keeps what was compiled, forgets the rows of a recording: the next one, or a forked child's, begins without any.
    pub fn begin_anew(&mut self) {
        for module in &mut self.loaded.modules {
            module.row = None;
        }
        self.codes.begin_anew();
        self.anonymous_row = None;
    }

    /// Looks whether files came or went, and compiles new ones until `deadline_ns`.
    pub fn refresh(&mut self, deadline_ns: u64) {
        let changed = self.loaded.refresh();
        if self.loaded.compile(deadline_ns, monotonic_ns) || changed {
            self.calls.forget();
            self.places.clear();
            self.instructions_apart = None;
        }
        self.codes.free_retired();
    }

    /// What a look at the files does when there is nothing new.
    pub fn free_retired(&mut self) {
        self.loaded.free_retired();
        self.codes.free_retired();
    }

    /// What was seen as a row. `generation`: the list of files at the time.
    pub fn node<M: Memory>(
        &mut self,
        memory: &M,
        python: Option<&Python>,
        tables: &mut Tables,
        tick: u64,
        generation: u64,
        answer: &Answer,
    ) -> Seen {
        let native = &*self.past_hooks(&answer.native[..answer.native_len]);
        let chains = &answer.chains[..answer.chains_len];
        let Some(entries) = self.entries(tables, answer, chains) else { return Seen::Unordered };
        if native.is_empty() && entries.is_empty() {
            return Seen::Nothing;
        }
        let places: Vec<Option<Place>> = native
            .iter()
            .enumerate()
            .map(|(position, frame)| {
                self.place(position, frame).filter(|&place| self.loaded.was_there(place, generation))
            })
            .collect();
        let targets: Vec<Option<u64>> = native
            .iter()
            .enumerate()
            .map(|(position, frame)| {
                let below = position.checked_sub(1)?;
                let callee = places.get(below)?.as_ref()?.function?;
                let target = self.calls.target(memory, &self.loaded, frame.pc).filter(|&target| target != callee);
                target.filter(|_| below > 0 || !tail_calls::is_on_its_way(memory, frame.pc, native[below].pc))
            })
            .collect();
        let hidden: Vec<bool> = targets.iter().map(Option::is_some).collect();
        let instructions_apart =
            *self.instructions_apart.get_or_insert_with(|| instructions_apart(memory, self.eval_loop, &self.loaded));
        let slot = python
            .zip(innermost_operand(answer, chains))
            .and_then(|(python, operand)| self.slot(memory, python, operand));
        let eval_loops: Vec<bool> = match self.eval_loop {
            Some(begin) if chains.len() > 1 => {
                places.iter().map(|place| place.is_some_and(|place| place.function == Some(begin))).collect()
            }
            _ => Vec::new(),
        };
        let circumstances = Circumstances {
            native_end: answer.native_end,
            python_cut: chains.iter().find_map(|chain| match chain.end {
                PythonEnd::Fault | PythonEnd::Popped => Some(Mark::PythonCut),
                PythonEnd::TooDeep => Some(Mark::PythonTooDeep),
                _ => None,
            }),
            hidden: &hidden,
            instructions_apart,
            eval_loops: &eval_loops,
        };
        let mut merged = merge::merge(native, &entries, circumstances);
        if let Some(slot) = slot {
            insert_operand(&mut merged, python.and_then(|python| python.get_item), &places, &targets, slot);
        }
        let mut parent = 0;
        for frame in merged.iter().rev() {
            let node = match *frame {
                Merged::Python(PythonFrame::Code { row, instruction }) => {
                    Node { parent, kind: NodeKind::Python, table: row, address: u64::from(instruction) }
                }
                Merged::Python(PythonFrame::NotCopied) => mark(tables, parent, "[Python function, not named yet]"),
                // It stands for the eval loop that called it, which the Python frames replace, too.
                Merged::Native(position)
                    if self.is_generated(native, answer.native_end, position, places[position]) =>
                {
                    continue;
                }
                // `py_trampoline_evaluator` stands for the call that the Python frame replaces.
                Merged::Native(position) if self.is_called_by_perf(memory, native, position, &places) => continue,
                Merged::Native(position) => {
                    let kind = if position == 0 { NodeKind::CLeaf } else { NodeKind::CReturn };
                    self.native_node(tables, tick, parent, kind, places[position], native[position].pc)
                }
                Merged::InferredCall { caller } => {
                    let Some(target) = targets[caller] else { continue };
                    let place = self.loaded.place(target);
                    self.native_node(tables, tick, parent, NodeKind::CInferredCall, place, target)
                }
                Merged::InferredOperand => {
                    let Some(slot) = slot else { continue };
                    let place = self.loaded.place(slot);
                    self.native_node(tables, tick, parent, NodeKind::CInferredOperands, place, slot)
                }
                Merged::Mark(why) => mark(tables, parent, why.text()),
            };
            parent = tables.node(node);
        }
        if parent == 0 { Seen::Nothing } else { Seen::Leaf(parent) }
    }

    /// The Python frames alone, as a row.
    pub fn python_node(&mut self, tables: &mut Tables, answer: &Answer) -> Seen {
        let Some(entries) = self.entries(tables, answer, &answer.chains[..answer.chains_len]) else {
            return Seen::Unordered;
        };
        let nothing = Circumstances {
            native_end: NativeEnd::Off,
            python_cut: None,
            hidden: &[],
            instructions_apart: false,
            eval_loops: &[],
        };
        let mut parent = 0;
        for frame in merge::merge(&[], &entries, nothing).iter().rev() {
            let node = match *frame {
                Merged::Python(PythonFrame::Code { row, instruction }) => {
                    Node { parent, kind: NodeKind::Python, table: row, address: u64::from(instruction) }
                }
                Merged::Python(PythonFrame::NotCopied) => mark(tables, parent, "[Python function, not named yet]"),
                Merged::Mark(why) => mark(tables, parent, why.text()),
                Merged::Native(_) | Merged::InferredCall { .. } | Merged::InferredOperand => continue,
            };
            parent = tables.node(node);
        }
        if parent == 0 { Seen::Nothing } else { Seen::Leaf(parent) }
    }

    /// How often the function of the outermost frame that was read is in the stack, where what is beyond was counted. `None`: nobody knows, as of a
    /// code object that was met for the first time.
    #[must_use]
    pub fn depth(&self, answer: &Answer) -> Option<Depth> {
        let beyond = answer.beyond?;
        let words = &answer.python[..answer.python_len];
        let known = |word: &PythonWord| match word.entry() {
            PythonEntry::Known { code, .. } => Some(code),
            _ => None,
        };
        let mut outermost = words.iter().rev().filter(|word| !matches!(word.entry(), PythonEntry::Shim { .. }));
        let [of_last, of_before] = beyond.alike;
        let last = known(outermost.next()?)?;
        let (code, alike) = if self.codes.is_interpreters_own(last) {
            // No stack shows that one.
            (outermost.map(known).find(|code| *code != Some(last))??, of_before)
        } else {
            (last, of_last)
        };
        let read = words.iter().filter(|word| known(word) == Some(code)).count();
        Some(Depth { code, frames: read as u64 + u64::from(alike), is_whole: beyond.is_whole() })
    }

    /// The Python frames of all thread states, innermost first; `None` when their order cannot be told.
    fn entries(&mut self, tables: &mut Tables, answer: &Answer, chains: &[Chain]) -> Option<Vec<Entry<PythonFrame>>> {
        let mut words = &answer.python[..answer.python_len];
        let mut read = Vec::with_capacity(chains.len());
        for chain in chains {
            let (own, others) = words.split_at(chain.len.min(words.len()));
            words = others;
            let entries: Vec<_> = own.iter().filter_map(|word| self.entry(tables, answer, word.entry())).collect();
            read.push(entries);
        }
        merge::interleave(&read.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }

    /// `None`: a frame that is no function's.
    fn entry(&mut self, tables: &mut Tables, answer: &Answer, entry: PythonEntry) -> Option<Entry<PythonFrame>> {
        let (row, instruction) = match entry {
            PythonEntry::Known { code, instruction } => (Some(code), instruction),
            PythonEntry::InTail { position, instruction } => {
                let tail = &answer.tail[..answer.tail_len];
                (self.codes.register(tables, tail, position), instruction)
            }
            PythonEntry::NoRoom => (None, 0),
            PythonEntry::Shim { address } => return Some(Entry::Shim(address)),
        };
        match row {
            Some(row) if self.codes.is_interpreters_own(row) => None,
            Some(row) => Some(Entry::Frame(PythonFrame::Code { row, instruction })),
            None => Some(Entry::Frame(PythonFrame::NotCopied)),
        }
    }

    /// Code of no file from which the walk went on: CPython made it, for its JIT (genba_signal::jit) or for `-X perf`.
    fn is_generated(&self, native: &[NativeFrame], end: NativeEnd, position: usize, place: Option<Place>) -> bool {
        let went_on = position + 1 < native.len() || end != NativeEnd::NoModule;
        place.is_none() && went_on && !self.loaded.was_ever_code(native[position].pc)
    }

    /// The caller of one of CPython's trampolines for `-X perf`. Without a JIT nothing else lets the walk go on from code of no file; their bytes may be gone
    /// meanwhile, because CPython frees them at its end.
    fn is_called_by_perf<M: Memory>(
        &self,
        memory: &M,
        native: &[NativeFrame],
        position: usize,
        places: &[Option<Place>],
    ) -> bool {
        let Some(callee) = position.checked_sub(1) else { return false };
        self.is_generated(native, NativeEnd::Off, callee, places[callee])
            && (!JIT.is_on() || trampoline::at(memory, native[callee].pc, callee == 0).is_some())
    }

    /// A thread in a hook of this library's, or in what a hook calls, is shown at the copy that it goes on to.
    fn past_hooks<'a>(&mut self, native: &'a [NativeFrame]) -> Cow<'a, [NativeFrame]> {
        let Some((hook, real)) = count_hooks::way() else { return Cow::Borrowed(native) };
        let Some(own) = self.loaded.place(hook).map(|place| place.module) else { return Cow::Borrowed(native) };
        let mut last = None;
        for (position, frame) in native.iter().enumerate() {
            let Some(place) = self.place(position, frame).filter(|place| place.module == own) else { break };
            if place.function.is_some_and(count_hooks::is_way) {
                last = Some(position);
            }
        }
        let Some(last) = last else { return Cow::Borrowed(native) };
        let copy = NativeFrame { pc: real, cfa: native[last].cfa };
        Cow::Owned([&[copy], &native[last + 1..]].concat())
    }

    fn place(&mut self, position: usize, frame: &NativeFrame) -> Option<Place> {
        if self.places.len() >= PLACES_MAX {
            self.places.clear();
        }
        let loaded = &self.loaded;
        // A return address may lie behind its function's last instruction.
        let back = u64::from(position > 0);
        *self.places.entry(frame.pc << 1 | back).or_insert_with(|| {
            let place = loaded.place(frame.pc - back)?;
            Some(Place { file_address: place.file_address + back, ..place })
        })
    }

    fn native_node(
        &mut self,
        tables: &mut Tables,
        tick: u64,
        parent: u32,
        kind: NodeKind,
        place: Option<Place>,
        pc: u64,
    ) -> Node {
        const ANONYMOUS: u32 = 2;
        let Some(place) = place else {
            if self.loaded.was_ever_code(pc) {
                return mark(tables, parent, "[code of a file that came or went]");
            }
            let table = *self.anonymous_row.get_or_insert_with(|| tables.module("[anonymous]", &[], ANONYMOUS, tick));
            return Node { parent, kind, table, address: pc };
        };
        let module = &mut self.loaded.modules[place.module];
        let table = match module.row {
            Some(row) => row,
            None => {
                let row = tables.module(&module.path, &module.build_id, module.kind as u32, tick);
                for &(address, name) in &self.known_addresses {
                    if (module.start..module.end).contains(&address) {
                        tables.known_address(row, address.wrapping_sub(module.bias), name);
                    }
                }
                module.row = Some(row);
                row
            }
        };
        Node { parent, kind, table, address: place.file_address }
    }

    /// The function that subscripts a container of this type. The type is believed only when it is a static one: the
    /// operand was read through a pointer that may be stale. Offsets: CPython 3.14, 3.15 Include/cpython/object.h.
    fn slot<M: Memory>(&self, memory: &M, python: &Python, operand: Operand) -> Option<u64> {
        const TP_AS_MAPPING: u64 = 112;
        const MP_SUBSCRIPT: u64 = 8;
        let container_type = operand.container_type;
        if container_type.0 & 7 != 0 || !self.loaded.is_static_data(container_type.0) {
            return None;
        }
        if memory.word(container_type.at(8)).ok()? != python.layout.type_type {
            return None;
        }
        let mapping = memory.address(container_type.at(TP_AS_MAPPING)).ok()?;
        if !self.loaded.is_static_data(mapping.0) {
            return None;
        }
        let slot = memory.word(Address(mapping.0).at(MP_SUBSCRIPT)).ok()?;
        self.loaded.place(slot).filter(|place| place.function == Some(slot)).map(|_| slot)
    }
}

fn instructions_apart(memory: &impl Memory, eval_loop: Option<u64>, loaded: &Loaded) -> bool {
    let Some(begin) = eval_loop else { return false };
    merge::are_instructions_apart(memory, begin, |address| loaded.place(address)?.function)
}

/// The operand of the innermost Python frame: that of the chain whose first C local lies lowest.
fn innermost_operand(answer: &Answer, chains: &[Chain]) -> Option<Operand> {
    let mut words = &answer.python[..answer.python_len];
    let mut innermost = (u64::MAX, None);
    for chain in chains {
        let (own, others) = words.split_at(chain.len.min(words.len()));
        words = others;
        let first = own.iter().find_map(|word| match word.entry() {
            PythonEntry::Shim { address } => Some(address),
            _ => None,
        });
        if !own.is_empty() && first.unwrap_or(0) < innermost.0 {
            innermost = (first.unwrap_or(0), chain.operand);
        }
    }
    innermost.1
}

/// Puts the slot function above `PyObject_GetItem`, when that is what the eval loop called and the slot's own frame is not
/// there: both left the stack by tail calls.
fn insert_operand(
    merged: &mut Vec<Merged<PythonFrame>>,
    get_item: Option<u64>,
    places: &[Option<Place>],
    targets: &[Option<u64>],
    slot: u64,
) {
    let Some(get_item) = get_item else { return };
    let Some(innermost) = merged.iter().position(|frame| matches!(frame, Merged::Python(_))) else { return };
    let function = |frame: &Merged<PythonFrame>| match *frame {
        Merged::Native(position) => places[position].and_then(|place| place.function),
        Merged::InferredCall { caller } => targets[caller],
        _ => None,
    };
    let above = &merged[..innermost];
    if above.last().and_then(function) == Some(get_item)
        && above.len() > 1
        && !above.iter().any(|frame| function(frame) == Some(slot))
    {
        merged.insert(innermost - 1, Merged::InferredOperand);
    }
}

fn mark(tables: &mut Tables, parent: u32, text: &str) -> Node {
    Node { parent, kind: NodeKind::Mark, table: tables.string(text.as_bytes()), address: 0 }
}
