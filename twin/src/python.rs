//! Python frames of a stopped thread, read from outside.
//! Owns: a table of offsets of its own, and where a chain of frames begins. Never: shares a line with the walk in
//! crates/signal, which it is there to judge. Source: offsetof, printed from the headers of CPython 3.11.7, 3.12.1, 3.13.0,
//! 3.14.10 and 3.15.2.

use std::collections::HashMap;

use crate::files::Loaded;
use crate::process::{Copied, Process};

const FRAMES_MAX: usize = 2000;
const FRAME_BYTES: usize = 80;
const CODE_BYTES: usize = 144;
const OWNER_SHIM_MIN: u8 = 3;

/// Bytes from the beginning of each struct.
struct Offsets {
    interpreters_head: u64,
    threads_head: u64,
    native_thread_id: u64,
    current: Current,
    code: u64,
    previous: u64,
    owner: u64,
    is_entry: Option<u64>,
    first_line: u64,
    characters_ascii: u64,
    /// 3.15: each chain ends with a frame inside the thread state that belongs to no run of the eval loop.
    ends_in_sentinel: bool,
}

#[derive(Clone, Copy)]
enum Current {
    /// Thread state -> a C local of the newest run of the eval loop -> frame, and the C local of the run before.
    CFrame {
        cframe: u64,
        frame: u64,
        previous: u64,
    },
    Frame(u64),
}

const THREAD_NEXT: u64 = 8;
const FILENAME: u64 = 112;
const QUALNAME: u64 = 128;
const LENGTH: u64 = 16;
const STATE: u64 = 32;
/// What a compact str that is not ASCII has more in front of its characters.
const NOT_ASCII: u64 = 16;

fn offsets(minor: u8) -> Option<Offsets> {
    let newer = Offsets {
        interpreters_head: 632,
        threads_head: 7344,
        native_thread_id: 160,
        current: Current::Frame(72),
        code: 0,
        previous: 8,
        owner: 70,
        is_entry: None,
        first_line: 68,
        characters_ascii: 40,
        ends_in_sentinel: false,
    };
    Some(match minor {
        11 => Offsets {
            interpreters_head: 40,
            threads_head: 16,
            current: Current::CFrame { cframe: 56, frame: 8, previous: 16 },
            code: 32,
            previous: 48,
            owner: 69,
            is_entry: Some(68),
            first_line: 72,
            characters_ascii: 48,
            ..newer
        },
        12 => Offsets {
            interpreters_head: 40,
            threads_head: 72,
            native_thread_id: 144,
            current: Current::CFrame { cframe: 56, frame: 0, previous: 8 },
            ..newer
        },
        13 => newer,
        14 => Offsets { interpreters_head: 808, owner: 74, ..newer },
        15 => Offsets {
            interpreters_head: 936,
            threads_head: 7336,
            native_thread_id: 184,
            owner: 74,
            ends_in_sentinel: true,
            ..newer
        },
        _ => return None,
    })
}

/// A frame, or a place in the C stack where one run of the eval loop keeps a local.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Entry {
    Frame(String),
    Local(u64),
}

pub struct Reader {
    offsets: Offsets,
    thread_state: u64,
    code_type: u64,
    /// By address and the words that tell a code object from a later one there.
    names: HashMap<(u64, u64, u64), String>,
}

impl Reader {
    pub fn new(process: Process, tid: i32, minor: u8, files: &[Loaded]) -> Result<Reader, String> {
        let offsets = offsets(minor).ok_or_else(|| format!("no offsets for CPython 3.{minor}"))?;
        let symbol = |name: &str| files.iter().find_map(|one| Some(one.file.symbol(name)?.wrapping_add(one.bias)));
        let (Some(runtime), Some(code_type)) = (symbol("_PyRuntime"), symbol("PyCode_Type")) else {
            return Err("no file of the process defines _PyRuntime and PyCode_Type".to_owned());
        };
        let head = |address: u64| process.word(address).ok_or_else(|| format!("cannot read {address:#x}"));
        let interpreter = head(runtime + offsets.interpreters_head)?;
        let mut thread_state = head(interpreter + offsets.threads_head)?;
        while thread_state != 0 {
            if head(thread_state + offsets.native_thread_id)? == tid as u64 {
                return Ok(Reader { offsets, thread_state, code_type, names: HashMap::new() });
            }
            thread_state = head(thread_state + THREAD_NEXT)?;
        }
        Err(format!("no thread state of CPython 3.{minor} belongs to thread {tid}"))
    }

    /// Innermost first. `None`: what stands there is no chain of frames.
    pub fn read(&mut self, process: Process) -> Option<Vec<Entry>> {
        match self.offsets.current {
            Current::Frame(offset) => self.chain(process, process.word(self.thread_state + offset)?, Vec::new()),
            Current::CFrame { cframe, frame, previous } => {
                let newest = process.word(self.thread_state + cframe)?;
                let mut locals = Vec::new();
                let mut next = newest;
                while next != 0 && locals.len() < FRAMES_MAX {
                    locals.push(next);
                    next = process.word(next + previous)?;
                }
                // The outermost is a part of the thread state and belongs to no run.
                locals.pop();
                let before = process.word(*locals.get(1).unwrap_or(&0) + frame);
                let first = process.word(newest + frame)?;
                if before.is_none_or(|before| self.joins(process, first, newest, before)) {
                    return self.chain(process, first, locals);
                }
                // This run has been announced but not begun: its C local holds what an earlier call left there.
                locals.remove(0);
                self.chain(process, before?, locals)
            }
        }
    }

    /// Whether the frames from `first` on lead to the first one of the run `newest`, with `before` behind it.
    fn joins(&self, process: Process, first: u64, newest: u64, before: u64) -> bool {
        const NEAR_BYTES: u64 = 4096;
        let mut address = first;
        for _ in 0..FRAMES_MAX {
            let Some(frame) = process.read(address, FRAME_BYTES) else { return false };
            let (Some(owner), Some(previous)) =
                (byte(&frame, self.offsets.owner), frame.word(address + self.offsets.previous))
            else {
                return false;
            };
            if owner >= OWNER_SHIM_MIN {
                return previous == before && address.abs_diff(newest) < NEAR_BYTES;
            }
            let code = frame.word(address + self.offsets.code).unwrap_or(0);
            if process.word(code + 8) != Some(self.code_type) {
                return false;
            }
            if self.offsets.is_entry.is_some_and(|offset| byte(&frame, offset).is_some_and(|flag| flag & 1 == 1)) {
                return previous == before;
            }
            address = previous;
        }
        false
    }

    fn chain(&mut self, process: Process, first: u64, locals: Vec<u64>) -> Option<Vec<Entry>> {
        let mut locals = locals.into_iter();
        let mut entries = Vec::new();
        let mut address = first;
        while address != 0 {
            if entries.len() > FRAMES_MAX {
                return None;
            }
            let frame = process.read(address, FRAME_BYTES)?;
            let previous = frame.word(address + self.offsets.previous)?;
            if byte(&frame, self.offsets.owner)? >= OWNER_SHIM_MIN {
                if previous != 0 || !self.offsets.ends_in_sentinel {
                    entries.push(Entry::Local(address));
                }
            } else {
                let code = frame.word(address + self.offsets.code)? & !7;
                entries.push(Entry::Frame(self.name(process, code)?));
                if let Some(offset) = self.offsets.is_entry
                    && byte(&frame, offset)? & 1 == 1
                {
                    entries.push(Entry::Local(locals.next()?));
                }
            }
            address = previous;
        }
        Some(entries)
    }

    /// `qualified name (file:first line)`.
    fn name(&mut self, process: Process, code: u64) -> Option<String> {
        let object = process.read(code, CODE_BYTES)?;
        if object.word(code + 8)? != self.code_type {
            return None;
        }
        let (filename, qualname) = (object.word(code + FILENAME)?, object.word(code + QUALNAME)?);
        let key = (code, filename, qualname);
        if let Some(known) = self.names.get(&key) {
            return Some(known.clone());
        }
        let first_line = object.word(code + self.offsets.first_line)? as u32;
        let name = format!("{} ({}:{first_line})", self.text(process, qualname)?, self.text(process, filename)?);
        self.names.insert(key, name.clone());
        Some(name)
    }

    /// An ASCII str; other characters are not worth the trouble here.
    fn text(&self, process: Process, object: u64) -> Option<String> {
        const LENGTH_MAX: u64 = 4096;
        let (length, state) = (process.word(object + LENGTH)?, process.word(object + STATE)?);
        let is_ascii = state >> 6 & 1 == 1;
        if length > LENGTH_MAX {
            return None;
        }
        let begin = self.offsets.characters_ascii + if is_ascii { 0 } else { NOT_ASCII };
        let copied = process.read(object + begin, length as usize)?;
        Some(copied.bytes.iter().map(|&byte| if byte.is_ascii() { char::from(byte) } else { '?' }).collect())
    }
}

fn byte(copied: &Copied, offset: u64) -> Option<u8> {
    copied.bytes.get(offset as usize).copied()
}
