//! A walk over frames that tests make up: of one thread, whose code object has names that are known already.

use crate::layouts::REGION;
use genba_python::code_capture::{self, COMPLETE, Seen, SeenEntry};
use genba_python::layout::Layout;
use genba_python::memory::{Address, Memory};
use genba_python::stack::frames::{Frames, Rest, walk};
use genba_python::stack::walked::{PYTHON_WORDS, PythonEnd, PythonWord};
use std::sync::atomic::AtomicU64;

pub const STATE: Address = Address(REGION);
pub const CODE: Address = Address(REGION + 0x2000);

/// How the walk ends, how many words there are, and where it would go on. `innermost_cfa`: that of the innermost native frame.
pub fn walked<M: Memory>(memory: &M, layout: &Layout, innermost_cfa: Option<u64>) -> (PythonEnd, usize, Option<Rest>) {
    let key = code_capture::key(memory, layout, CODE).unwrap_or(0);
    let entry = SeenEntry { key: AtomicU64::new(key), progress: AtomicU64::new(COMPLETE) };
    let (seen, mut tail) = (Seen { entries: &raw const entry, mask: 0 }, [0; 64]);
    let mut python = [PythonWord::default(); PYTHON_WORDS];
    let mut frames = Frames { innermost_cfa, ..Frames::new(&mut python, &mut tail) };
    let end = walk(memory, layout, &seen, STATE, &mut frames);
    (end, frames.len, frames.rest)
}
