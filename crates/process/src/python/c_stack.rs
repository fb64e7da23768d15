//! The C stack of a thread: copied while the thread stands still, walked afterwards.
//! Owns: which files' tables are asked, the frames, where each lies in its file. Never: reads the stack a second time, guesses a frame.
//! A copy has `COPY_BYTES_MAX` of the stack: what lies deeper is cut, and says so.

use std::collections::HashMap;
use std::path::PathBuf;

pub use genba_python::stack::native::NativeEnd;
use genba_python::stack::native::NativeFrame;
use genba_python::stack::trampoline::{self, Trampoline};

use crate::elf::files::{self, Segment};
use crate::elf::unwind::{Step, Tables};
use crate::kernel::maps::Mapping;
use crate::kernel::memory::Remote;
use crate::kernel::registers::{KEPT_BY_CALLEES, RBP, RIP, RSP, Registers};

/// Python's own frames take 0.2 to 0.5 kB of it each.
const COPY_BYTES_MAX: u64 = 256 << 10;
/// A deeper stack is cut at its root.
const FRAMES_MAX: usize = 512;
const VDSO: &str = "[vdso]";

/// What has to be read while the thread stands still.
#[derive(Clone, PartialEq, Eq)]
pub struct StackCopy {
    registers: Registers,
    bytes: Vec<u8>,
}

/// A file of the process, for the names of what lies in it.
#[derive(Debug)]
pub struct Module {
    /// As the process has it; `[vdso]` for the kernel's own.
    pub path: PathBuf,
    pub build_id: Vec<u8>,
    bias: u64,
    tables: Option<Tables>,
}

/// An instruction of a module, by its address in the file: inside of the call, not behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub module: usize,
    pub address: u64,
}

/// Innermost first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CStack {
    pub frames: Vec<NativeFrame>,
    /// One for each frame. `None`: code of no file.
    pub places: Vec<Option<Place>>,
    pub end: NativeEnd,
    /// A signal handler is among them.
    pub has_handler: bool,
}

/// The files of a process, each opened when a frame lies in it.
#[derive(Debug, Default)]
pub struct Modules {
    pub all: Vec<Module>,
    /// By the start of a mapping. `None`: nothing can be read of it.
    known: HashMap<u64, Option<usize>>,
    /// Of other files nothing is read.
    is_shut: bool,
    /// Addresses in files that would have been opened.
    missed: Vec<u64>,
}

impl StackCopy {
    pub fn of(memory: &Remote, registers: Registers) -> StackCopy {
        let bytes = memory.copy_from(registers.stack_pointer(), COPY_BYTES_MAX);
        StackCopy { registers, bytes }
    }

    fn word(&self, address: u64) -> Option<u64> {
        let at = usize::try_from(address.checked_sub(self.registers.stack_pointer())?).ok()?;
        self.bytes.get(at..)?.first_chunk().map(|eight| u64::from_le_bytes(*eight))
    }
}

impl std::fmt::Debug for StackCopy {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} bytes from {:x}", self.bytes.len(), self.registers.stack_pointer())
    }
}

fn past_trampoline(
    registers: &Registers,
    found: Trampoline,
    word: impl Fn(u64) -> Option<u64>,
) -> Result<Step, NativeEnd> {
    let stack_pointer = registers.stack_pointer();
    let cfa = stack_pointer.wrapping_add(found.cfa_offset_bytes);
    let mut caller = Registers::default();
    for number in KEPT_BY_CALLEES {
        caller.set(number, registers.get(number));
    }
    caller.set(RSP, Some(cfa));
    caller.set(RIP, Some(word(cfa.wrapping_sub(8)).ok_or(NativeEnd::Fault)?));
    if found.saves_rbp {
        caller.set(RBP, Some(word(stack_pointer).ok_or(NativeEnd::Fault)?));
    }
    Ok(Step { cfa, caller: Some(caller), is_signal: false })
}

/// Where files and memory of the process are.
#[derive(Clone, Copy)]
pub struct Source<'s> {
    pub pid: u32,
    pub memory: &'s Remote,
    pub maps: &'s [Mapping],
    /// Of a core file: what it was made of lies on this machine.
    pub core: Option<&'s std::path::Path>,
}

impl Modules {
    pub fn walk(&mut self, source: Source<'_>, copy: &StackCopy) -> CStack {
        let mut stack = CStack { frames: Vec::new(), places: Vec::new(), end: NativeEnd::TooDeep, has_handler: false };
        let mut registers = copy.registers;
        // At the first instruction the pc is the thread's own; later it is a return address, one behind the call.
        let mut is_exact = true;
        // CPython's own code for `-X perf`, and `py_trampoline_evaluator`, which called it, stand for a call that the Python frame replaces.
        let mut is_called_by_perf = false;
        while stack.frames.len() < FRAMES_MAX {
            let Some(pc) = registers.get(RIP) else {
                stack.end = NativeEnd::NoFramePointer;
                break;
            };
            let inside = if is_exact { pc } else { pc.wrapping_sub(1) };
            let module = self.at(source, inside).and_then(|index| Some((index, self.all.get(index)?)));
            let place = module.map(|(index, found)| Place { module: index, address: inside.wrapping_sub(found.bias) });
            stack.places.push(place.filter(|_| !is_called_by_perf));
            let perf = if module.is_none() { trampoline::at(source.memory, pc, is_exact) } else { None };
            is_called_by_perf = perf.is_some();
            let step = match (module, perf) {
                (None, Some(perf)) => past_trampoline(&registers, perf, |address| copy.word(address)),
                (None, None) => Err(NativeEnd::NoModule),
                (Some((_, Module { tables: None, .. })), _) => Err(NativeEnd::NoRule),
                (Some((_, Module { tables: Some(tables), .. })), _) => {
                    tables.step(&registers, inside, |address| copy.word(address))
                }
            };
            match step {
                Ok(step) => {
                    stack.frames.push(NativeFrame { pc, cfa: step.cfa });
                    let Some(caller) = step.caller else {
                        stack.end = NativeEnd::Complete;
                        break;
                    };
                    is_exact = step.is_signal;
                    stack.has_handler |= step.is_signal;
                    registers = caller;
                }
                Err(end) => {
                    stack.frames.push(NativeFrame { pc, cfa: registers.stack_pointer() });
                    stack.end = end;
                    break;
                }
            }
        }
        stack
    }

    /// From now on a walk ends at a file that is not open yet, as at code of no file: opening one takes long while threads are held.
    pub fn shut(&mut self) {
        self.is_shut = true;
    }

    /// Whether a walk ended at a file that is not open yet.
    pub fn has_missed(&self) -> bool {
        !self.missed.is_empty()
    }

    /// Opens the files at which walks ended. Whether there were any.
    pub fn open_missed(&mut self, source: Source<'_>) -> bool {
        let missed = std::mem::take(&mut self.missed);
        let was_shut = std::mem::replace(&mut self.is_shut, false);
        for &address in &missed {
            let _ = self.at(source, address);
        }
        self.is_shut = was_shut;
        !missed.is_empty()
    }

    /// The beginning of the function that has an address.
    pub fn function_at(&mut self, source: Source<'_>, address: u64) -> Option<u64> {
        let index = self.at(source, address)?;
        self.all.get(index)?.tables.as_ref()?.function_at(address)
    }

    fn at(&mut self, source: Source<'_>, address: u64) -> Option<usize> {
        let mapping = source.maps.iter().find(|mapping| mapping.contains(address) && mapping.permissions.execute)?;
        if let Some(&known) = self.known.get(&mapping.start) {
            return known;
        }
        // Code that was made while the program runs has no file to open.
        if self.is_shut && mapping.path.is_some() {
            self.missed.push(address);
            return None;
        }
        let module = Module::of(source, mapping);
        let found = module.map(|module| {
            let same = |known: &Module| known.path == module.path && known.bias == module.bias;
            self.all.iter().position(same).unwrap_or_else(|| {
                self.all.push(module);
                self.all.len() - 1
            })
        });
        self.known.insert(mapping.start, found);
        found
    }
}

impl Module {
    fn of(source: Source<'_>, mapping: &Mapping) -> Option<Module> {
        let path = mapping.path.clone()?;
        if path.as_os_str() == VDSO {
            return Module::of_vdso(source.memory, mapping);
        }
        let mapped = files::mapped(std::slice::from_ref(mapping)).pop()?;
        let loaded = match source.core {
            None => mapped.open(source.pid, source.memory).ok()?,
            Some(core) => mapped.open_here(core, source.memory).ok()?.0,
        };
        let tables = Tables::of(&loaded.segments, |address, bytes| loaded.bytes_at_address(address, bytes));
        Some(Module { path, build_id: loaded.build_id().unwrap_or_default(), bias: loaded.bias, tables })
    }

    /// The kernel's own file, which lies in memory alone.
    fn of_vdso(memory: &Remote, mapping: &Mapping) -> Option<Module> {
        let image = memory.copy_from(mapping.start, mapping.end - mapping.start);
        let (segments, build_id): (Vec<Segment>, _) = files::of_image(&image, mapping.start)?;
        let tables = Tables::of(&segments, |address, bytes| {
            let at = usize::try_from(address.checked_sub(mapping.start)?).ok()?;
            Some(image.get(at..)?.get(..usize::try_from(bytes).ok()?)?.to_vec())
        });
        Some(Module { path: PathBuf::from(VDSO), build_id, bias: mapping.start, tables })
    }
}

/// Whether each instruction of the interpreter is a function of its own.
pub fn are_instructions_apart(modules: &mut Modules, source: Source<'_>, eval_loop: u64) -> bool {
    let modules = std::cell::RefCell::new(modules);
    genba_python::stack::merge::are_instructions_apart(source.memory, eval_loop, |address| {
        modules.borrow_mut().function_at(source, address)
    })
}

#[cfg(test)]
mod tests {
    use super::{Modules, Source};
    use crate::kernel::maps;
    use crate::kernel::memory::Remote;

    #[test]
    fn a_file_is_opened_after_it_was_missed_and_only_then() {
        let pid = std::process::id();
        let (memory, maps) = (Remote::new(pid), maps::read(pid).expect("a /proc"));
        let source = Source { pid, memory: &memory, maps: &maps, core: None };
        let address = (Modules::shut as *const ()).addr() as u64;
        let mut modules = Modules::default();
        modules.shut();
        assert!(!modules.has_missed() && !modules.open_missed(source), "nobody asked yet");
        assert_eq!((modules.function_at(source, address), modules.all.len()), (None, 0));
        assert!(modules.open_missed(source));
        assert_eq!((modules.function_at(source, address), modules.all.len()), (Some(address), 1));
        assert!(!modules.open_missed(source), "it is open");
    }
}
