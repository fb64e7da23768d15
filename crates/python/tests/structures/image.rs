//! The words of a program's memory that a look at it reads, and what the look finds.
//! Owns: the look, the text form of an image. Never: reads a program by itself. Partner: twin/src/image.rs makes images of living ones.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::fmt::Write;

use genba_python::check::fits;
use genba_python::code_capture::{Seen, SeenEntry, TailHead};
use genba_python::find::{Found, find};
use genba_python::lists::ThreadStates;
use genba_python::memory::{Address, Fault, Memory};
use genba_python::stack::frames::{Frames, walk};
use genba_python::stack::walked::{PYTHON_WORDS, PythonEnd, PythonEntry, PythonWord};
use genba_python::symbols::Symbols;

/// By address; `None`: it could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    pub words: BTreeMap<u64, Option<u64>>,
    pub symbols: BTreeMap<String, u64>,
}

impl Memory for Image {
    /// What the look did not read when the image was made is not there.
    fn word(&self, address: Address) -> Result<u64, Fault> {
        self.words.get(&address.0).copied().flatten().ok_or(Fault)
    }
}

impl Symbols for Image {
    fn address(&self, name: &CStr) -> Option<u64> {
        self.symbols.get(name.to_str().ok()?).copied()
    }
}

impl Image {
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for (name, address) in &self.symbols {
            let _ = writeln!(text, "symbol {address:x} {name}");
        }
        for (address, word) in &self.words {
            let _ = match word {
                Some(word) => writeln!(text, "word {address:x} {word:x}"),
                None => writeln!(text, "fault {address:x}"),
            };
        }
        text
    }

    /// Lines that begin otherwise are for the reader.
    pub fn from_text(text: &str) -> Image {
        let number = |digits: &str| u64::from_str_radix(digits, 16).expect("a number in hexadecimal digits");
        let mut image = Image::default();
        for line in text.lines() {
            match line.split(' ').collect::<Vec<_>>()[..] {
                ["symbol", address, name] => drop(image.symbols.insert(name.to_owned(), number(address))),
                ["word", address, word] => drop(image.words.insert(number(address), Some(number(word)))),
                ["fault", address] => drop(image.words.insert(number(address), None)),
                _ => {}
            }
        }
        image
    }
}

/// What a look finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    pub version: String,
    pub threads: Vec<Thread>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    pub tid: u32,
    /// As `fits` says.
    pub layout_fits: Option<bool>,
    pub end: PythonEnd,
    /// Before 3.13: the newest run of the eval loop has no frame that is known to have begun, and its frames are left out.
    pub top_not_begun: bool,
    /// Innermost first.
    pub frames: Vec<Frame>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    pub qualname: String,
    pub filename: String,
    pub first_line: u32,
}

/// Finds the interpreter and walks over the frames of these threads, the first one first. None: there is none that is known.
pub fn look<From: Memory + Symbols>(from: &From, tids: &[u32]) -> Option<Look> {
    let Found::Yes { python, version } = find(from, from) else { return None };
    let mut states = ThreadStates::default();
    states.refresh(from, &python, tids.first().copied().unwrap_or(0));
    let mut threads = Vec::new();
    for &tid in tids {
        let own = states.of(tid);
        for &state in &own.addresses[..own.len] {
            let layout_fits = fits(from, &python, state);
            let entry = SeenEntry { key: 0.into(), progress: 0.into() };
            let (seen, mut tail) = (Seen { entries: &raw const entry, mask: 0 }, vec![0; 1 << 14]);
            let mut words = [PythonWord::default(); PYTHON_WORDS];
            let mut frames = Frames::new(&mut words, &mut tail);
            let end = walk(from, &python.layout, &seen, state, &mut frames);
            let (len, top_not_begun) = (frames.len, frames.top_not_begun);
            let frames = words[..len].iter().filter_map(|word| frame(word.entry(), &tail)).collect();
            threads.push(Thread { tid, layout_fits, end, top_not_begun, frames });
        }
    }
    Some(Look { version, threads })
}

/// None: no frame of Python code. One whose code object could not be read has no name.
fn frame(entry: PythonEntry, tail: &[u64]) -> Option<Frame> {
    let position = match entry {
        PythonEntry::InTail { position, .. } => position,
        PythonEntry::Shim { .. } => return None,
        _ => return Some(Frame::default()),
    };
    let (head, data) = TailHead::read(tail, position as usize)?;
    let text = |words: &[u64], bytes: u32| {
        let all: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        String::from_utf8_lossy(all.get(..bytes as usize).unwrap_or_default()).into_owned()
    };
    let (qualname, rest) = data.split_at_checked(head.qualname.words())?;
    let filename = rest.get(..head.filename.words())?;
    Some(Frame {
        qualname: text(qualname, head.qualname.bytes),
        filename: text(filename, head.filename.bytes),
        first_line: head.first_line,
    })
}
