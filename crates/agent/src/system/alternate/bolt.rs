//! Whether the interpreter's file was made by BOLT, and its threads need alternate stacks for that.
//! Owns: that answer, found once: before `main`, or as a recording begins in a program that runs. Never: judges a file beyond the bounds below.

use super::stack::set_for_first_thread;
use crate::system::descriptor::Descriptor;
use crate::system::symbols;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// Sections of a file, and bytes of their names, beyond which it is none of those that are looked for.
const SECTIONS_MAX: usize = 256;
const NAMES_BYTES_MAX: usize = 16 << 10;

static NEEDED: AtomicBool = AtomicBool::new(false);
/// Genba came into a program that ran already: who is asked is said by fitted.rs.
static NEEDED_LATE: AtomicBool = AtomicBool::new(false);

#[must_use]
pub fn is_needed() -> bool {
    NEEDED.load(SeqCst)
}

#[must_use]
pub fn is_needed_late() -> bool {
    NEEDED_LATE.load(SeqCst)
}

/// In a program that runs already: `address` lies in the file with the interpreter.
pub fn begin_late(address: u64) {
    if !is_needed() && is_in_bolted_file(address) {
        NEEDED_LATE.store(true, SeqCst);
    }
}

/// Before `main`, on its thread: `address` lies in the file with the interpreter.
pub fn begin(address: u64) {
    if is_in_bolted_file(address) {
        NEEDED.store(true, SeqCst);
        set_for_first_thread();
    }
}

/// Whether the threads of a program with what lies there need alternate stacks.
#[must_use]
pub fn is_in_bolted_file(address: u64) -> bool {
    let file = symbols::file_around(address).and_then(|path| Descriptor::open_at(None, path, libc::O_RDONLY).ok());
    file.is_some_and(|file| is_made_by_bolt(&file))
}

/// BOLT keeps the code that it replaced in a section of its own.
fn is_made_by_bolt(file: &Descriptor) -> bool {
    section_names(file).is_some_and(|names| names.split(|byte| *byte == 0).any(|name| name == b".bolt.org.text"))
}

/// The names of all sections of an ELF file for x86-64, with a NUL behind each.
fn section_names(file: &Descriptor) -> Option<Vec<u8>> {
    const HEADER_BYTES: usize = 64;
    let header: Vec<u8> = file.read_at(0, HEADER_BYTES)?;
    let half = |at: usize| Some(usize::from(u16::from_le_bytes(*header.get(at..)?.first_chunk()?)));
    let sections_offset = u64::from_le_bytes(*header.get(40..)?.first_chunk()?);
    let (entry_bytes, count, names_index) = (half(58)?, half(60)?, half(62)?);
    if !header.starts_with(b"\x7fELF\x02\x01") || entry_bytes != HEADER_BYTES || count > SECTIONS_MAX {
        return None;
    }
    let entry = file.read_at(sections_offset.checked_add((names_index * entry_bytes) as u64)?, entry_bytes)?;
    let word = |at: usize| Some(u64::from_le_bytes(*entry.get(at..)?.first_chunk()?));
    let (offset, bytes) = (word(24)?, usize::try_from(word(32)?).ok()?);
    if bytes > NAMES_BYTES_MAX { None } else { file.read_at(offset, bytes) }
}
