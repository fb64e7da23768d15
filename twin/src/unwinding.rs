//! Two unwinders on the same registers and the same copy of the stack: `framehop`, and genba's flat rows.
//! Owns: the comparison, and the words for each difference that has a reason. Never: decides which of the two is right.

use std::collections::BTreeMap;

use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{ExplicitModuleSectionInfo, FrameAddress, Module, Unwinder};
use genba_python::memory::{Address, Fault, Memory};
use genba_signal::rows::{ModuleRows, Modules, Row, Rule, RuleCache};
use genba_signal::unwind::{NATIVE_MAX, NativeEnd, NativeFrame};
use genba_signal::walk_memory::WalkMemory;

use crate::cfi::{Compiler, Position};
use crate::files::Loaded;
use crate::process::Copied;
use crate::stopping::Registers;

/// A native frame; `cfa`: the stack pointer of its caller at the call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame {
    pub pc: u64,
    pub cfa: u64,
}

/// Why there is no further frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    Outermost,
    /// The outermost frame that could be told is the last of the list.
    Lost,
}

pub struct Framehop {
    unwinder: UnwinderX86_64<Vec<u8>>,
    cache: CacheX86_64,
}

impl Framehop {
    pub fn new(files: &[Loaded]) -> Framehop {
        let mut unwinder = UnwinderX86_64::new();
        for loaded in files {
            let file = &loaded.file;
            let range = |address: u64, bytes: &[u8]| address..address + bytes.len() as u64;
            let sections = ExplicitModuleSectionInfo {
                base_svma: 0,
                eh_frame_svma: Some(range(file.eh_frame.address, &file.eh_frame.bytes)),
                eh_frame: Some(file.eh_frame.bytes.clone()),
                eh_frame_hdr_svma: Some(range(file.eh_frame_header.address, &file.eh_frame_header.bytes)),
                eh_frame_hdr: Some(file.eh_frame_header.bytes.clone()),
                ..ExplicitModuleSectionInfo::default()
            };
            let (start, end) = loaded.code();
            unwinder.add_module(Module::new(file.path.clone(), start..end, loaded.bias, sections));
        }
        Framehop { unwinder, cache: CacheX86_64::new() }
    }

    /// Innermost first. The last frame, which has no caller, is left out.
    pub fn walk(&mut self, stack: &Copied, registers: Registers) -> (Vec<Frame>, End) {
        let mut frames = Vec::new();
        let mut now = UnwindRegsX86_64::new(registers.rip, registers.rsp, registers.rbp);
        let mut address = FrameAddress::from_instruction_pointer(registers.rip);
        let mut read = |address: u64| stack.word(address).ok_or(());
        while frames.len() < NATIVE_MAX {
            match self.unwinder.unwind_frame(address, &mut now, &mut self.cache, &mut read) {
                Ok(Some(caller)) => {
                    frames.push(Frame { pc: address.address(), cfa: now.sp() });
                    match FrameAddress::from_return_address(caller) {
                        Some(caller) => address = caller,
                        None => return (frames, End::Outermost),
                    }
                }
                Ok(None) => return (frames, End::Outermost),
                Err(_) => return (frames, End::Lost),
            }
        }
        (frames, End::Lost)
    }
}

/// Where the functions' entries begin in the section: each entry begins with its length and says then whose it is, 0 for a common one.
fn entries(section: &[u8]) -> Vec<u32> {
    let word = |at: usize| Some(u32::from_le_bytes(section.get(at..at + 4)?.try_into().ok()?));
    let mut entries = Vec::new();
    let mut at = 0;
    while let Some((length, owner)) = word(at).zip(word(at + 4)).filter(|&(length, _)| length > 0) {
        if owner > 0 {
            entries.extend(u32::try_from(at));
        }
        at += 4 + length as usize;
    }
    entries
}

/// genba's rows, compiled by the agent's compiler, walked by the handler's walk.
pub struct FlatRows {
    _rows: Vec<Vec<Row>>,
    _modules: Vec<ModuleRows>,
    _cache: Box<RuleCache>,
    table: Modules,
    walk_memory: Box<WalkMemory>,
}

impl Memory for Copied {
    fn word(&self, address: Address) -> Result<u64, Fault> {
        Copied::word(self, address.0).ok_or(Fault)
    }
}

impl FlatRows {
    pub fn new(files: &[Loaded]) -> FlatRows {
        let mut sorted: Vec<&Loaded> = files.iter().collect();
        sorted.sort_by_key(|loaded| loaded.code().0);
        let compile = |loaded: &&Loaded| {
            let (start, end) = loaded.code();
            let file = &loaded.file;
            let position = Position {
                section_address: file.eh_frame.address.wrapping_add(loaded.bias),
                header_address: file.eh_frame_header.address.wrapping_add(loaded.bias),
                start,
                end,
            };
            let mut compiler = Compiler::new(file.eh_frame.bytes.clone(), entries(&file.eh_frame.bytes), position);
            compiler.advance(usize::MAX >> 1);
            compiler.finish().rows
        };
        let rows: Vec<Vec<Row>> = sorted.iter().map(compile).collect();
        let module = |(loaded, rows): (&&Loaded, &Vec<Row>)| {
            let (start, end) = loaded.code();
            ModuleRows { start, end, rows: rows.as_ptr(), rows_len: rows.len() }
        };
        let modules: Vec<ModuleRows> = sorted.iter().zip(&rows).map(module).collect();
        // SAFETY: a RuleCache is atomics, for which zeroed memory is a value.
        let cache: Box<RuleCache> = unsafe { Box::new_zeroed().assume_init() };
        let table =
            Modules { modules: modules.as_ptr(), modules_len: modules.len(), generation: 1, cache: &raw const *cache };
        FlatRows { _rows: rows, _modules: modules, _cache: cache, table, walk_memory: Box::new(WalkMemory::EMPTY) }
    }

    /// As `Framehop::walk`, with genba's own word for the end; helped by the walk before, as in the handler.
    pub fn walk(&mut self, stack: &Copied, registers: Registers) -> (Vec<Frame>, NativeEnd) {
        let Registers { rip, rsp, rbp } = registers;
        let registers = genba_signal::rows::Registers { rip, rsp, rbp: Some(rbp) };
        let mut out = [NativeFrame::default(); NATIVE_MAX];
        let (len, end) = self.walk_memory.walk(stack, &self.table, registers, &mut out);
        // The last one has no caller.
        let with_caller = if end == NativeEnd::TooDeep { len } else { len - 1 };
        (out.iter().take(with_caller).map(|frame| Frame { pc: frame.pc, cfa: frame.cfa }).collect(), end)
    }

    /// The first of these frames that the kernel made for a signal.
    pub fn signal_frame(&self, frames: &[Frame]) -> Option<usize> {
        let lookup = |(position, frame): (usize, &Frame)| frame.pc - u64::from(position > 0);
        frames.iter().enumerate().map(lookup).position(|pc| self.table.search(pc) == Some(Rule::SIGNAL))
    }
}

/// What the comparison came to.
#[derive(Default)]
pub struct Comparison {
    pub stacks: u64,
    /// Frames on which pc and CFA agree.
    pub frames: u64,
    /// Stacks with a difference that has a reason, by the reason.
    pub explained: BTreeMap<&'static str, u64>,
    /// Each in words.
    pub unexplained: Vec<String>,
}

impl Comparison {
    pub fn add(
        &mut self,
        registers: Registers,
        framehop: &(Vec<Frame>, End),
        flat: &FlatRows,
        rows: &(Vec<Frame>, NativeEnd),
        spell: impl Fn(u64) -> String,
    ) {
        self.stacks += 1;
        let same = framehop.0.iter().zip(&rows.0).take_while(|(one, other)| one == other).count();
        self.frames += same as u64;
        let signal = flat.signal_frame(&rows.0).is_some_and(|position| position <= same);
        let both_ended = same == framehop.0.len() && same == rows.0.len();
        let reason = match (framehop.1, rows.1) {
            _ if signal => Some("behind a signal frame, which framehop takes for a call"),
            (End::Outermost, NativeEnd::Complete) if both_ended => return,
            (End::Lost, _) if same == framehop.0.len() && rows.0.len() >= same && rows.1 == NativeEnd::Complete => {
                Some("framehop has no rule for a frame, genba goes on to the first one")
            }
            (_, NativeEnd::NoRule | NativeEnd::NoModule) if same == rows.0.len() => {
                Some("no unwind rules: genba ends, framehop follows rbp")
            }
            _ => None,
        };
        match reason {
            Some(reason) => *self.explained.entry(reason).or_default() += 1,
            None => {
                let list = |frames: &[Frame]| {
                    let words: Vec<String> = frames
                        .iter()
                        .skip(same.saturating_sub(1))
                        .take(4)
                        .map(|frame| format!("{} pc {:#x} cfa {:#x}", spell(frame.pc), frame.pc, frame.cfa))
                        .collect();
                    words.join(", ")
                };
                self.unexplained.push(format!(
                    "{same} frames agree; framehop {:?}: {}; rows {:?}: {}; {registers:x?}",
                    framehop.1,
                    list(&framehop.0),
                    rows.1,
                    list(&rows.0)
                ));
            }
        }
    }
}
