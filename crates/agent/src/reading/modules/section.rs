//! A file's unwind sections, copied out of the program's memory a piece at a time: a large file must not hold up a tick.
//! Owns: every read of loaded files. Never: reads raw (I-06): a file that was cut short after it was mapped, or unmapped since, ends the
//! copy. A part of modules.rs.

use crate::reading::cfi::{Compiler, Position};
use crate::system::errno;
use crate::system::signals;
use genba_python::memory::{Address, Memory};
use genba_signal::memory::Guarded;
use std::ffi::c_void;
use std::ops::Range;

/// So much is copied between two looks at the clock: 0.1 ms, when it is in memory.
const PIECE_BYTES: usize = 1 << 17;
/// A section that is larger is cut there.
const SECTION_BYTES_MAX: u64 = 1 << 30;

/// Where `.eh_frame` and its search table lie, as `.eh_frame_hdr` says (LSB 5.0, chapter 10.6.2).
pub(super) struct Section {
    header: u64,
    /// The entries, and the segment's end behind them.
    entries: Range<u64>,
    table: Range<u64>,
}

impl Section {
    pub(super) fn behind(header: u64, segments: &[(u64, u64)]) -> Option<Section> {
        const PCREL_SDATA4: u8 = 0x1b;
        const UDATA4: u8 = 0x03;
        const DATAREL_SDATA4: u8 = 0x3b;
        let head = copy(header, 12).or_else(|| copy(header, 8))?;
        let [_, PCREL_SDATA4, count_encoding, table_encoding, relative @ ..] = *head.first_chunk::<8>()? else {
            return None;
        };
        let first = (header + 4).wrapping_add_signed(i64::from(i32::from_le_bytes(relative)));
        let segment_end = |address: u64| {
            segments.iter().find(|(first, behind)| (*first..*behind).contains(&address)).map(|&(_, behind)| behind)
        };
        let count =
            head.get(8..).and_then(|count| count.first_chunk::<4>()).map_or(0, |count| u32::from_le_bytes(*count));
        let table = header + 12..header + 12 + u64::from(count) * Table::ENTRY_BYTES;
        let is_searchable = (count_encoding, table_encoding) == (UDATA4, DATAREL_SDATA4)
            && segment_end(header).is_some_and(|behind| table.end <= behind);
        Some(Section {
            header,
            entries: first..segment_end(first)?.min(first + SECTION_BYTES_MAX),
            table: if is_searchable { table } else { 0..0 },
        })
    }
}

/// A section on its way out of the program's memory.
pub(super) struct Copier {
    section: Option<Section>,
    code: Range<u64>,
    bytes: Vec<u8>,
    /// Where the next entry begins in the section.
    next: usize,
    /// The functions' entries: where they begin in the section, in the section's order.
    found: Vec<u32>,
    is_whole: bool,
    table: Table,
}

/// The search table's entries, as far as they are read: the same places, in the order of the code.
#[derive(Default)]
struct Table {
    read: u64,
    sorted: Vec<u32>,
}

impl Table {
    const ENTRY_BYTES: u64 = 8;
}

impl Copier {
    pub(super) fn new(section: Option<Section>, code: Range<u64>) -> Copier {
        Copier {
            section,
            code,
            bytes: Vec::new(),
            next: 0,
            found: Vec::new(),
            is_whole: false,
            table: Table::default(),
        }
    }

    /// Copies one more piece. True: `finish` has all it needs.
    pub(super) fn advance(&mut self) -> bool {
        let Some(section) = &self.section else { return true };
        if !self.is_whole {
            let from = section.entries.start + self.bytes.len() as u64;
            let piece = section.entries.end.saturating_sub(from).min(PIECE_BYTES as u64) as usize;
            let copied = piece > 0 && copy_more(&mut self.bytes, from, piece);
            self.is_whole = !copied || self.find_entries();
            return false;
        }
        let left = section.table.end - section.table.start - self.table.read;
        // A table that leaves functions out is none.
        if left == 0 || section.table.end - section.table.start < self.found.len() as u64 * Table::ENTRY_BYTES {
            return true;
        }
        let mut piece = Vec::new();
        if !copy_more(&mut piece, section.table.start + self.table.read, left.min(PIECE_BYTES as u64) as usize) {
            self.table.sorted.clear();
            return true;
        }
        self.table.read += piece.len() as u64;
        for entry in piece.as_chunks::<8>().0 {
            let [_, _, _, _, relative @ ..] = *entry;
            let address = section.header.wrapping_add_signed(i64::from(i32::from_le_bytes(relative)));
            let place = address.wrapping_sub(section.entries.start);
            if place < self.bytes.len() as u64 {
                self.table.sorted.push(place as u32);
            }
        }
        self.table.read == section.table.end - section.table.start
    }

    /// Goes on over what is copied. True: the section ends there, by its mark or because an entry makes no sense.
    fn find_entries(&mut self) -> bool {
        let word = |at: usize| Some(u32::from_le_bytes(*self.bytes.get(at..)?.first_chunk::<4>()?));
        while let (Some(length), Some(cie)) = (word(self.next), word(self.next + 4)) {
            if length == 0 || length == u32::MAX {
                self.bytes.truncate(self.next);
                return true;
            }
            let behind = self.next + 4 + length as usize;
            if behind > self.bytes.len() {
                break;
            }
            if cie != 0 {
                self.found.push(self.next as u32);
            }
            self.next = behind;
        }
        false
    }

    pub(super) fn finish(mut self) -> Compiler {
        let Range { start, end } = self.code;
        let (section_address, header_address) =
            self.section.as_ref().map_or((start, start), |section| (section.entries.start, section.header));
        self.bytes.truncate(self.next);
        let entries = if self.table.sorted.len() < self.found.len() { self.found } else { self.table.sorted };
        Compiler::new(self.bytes, entries, Position { section_address, header_address, start, end })
    }
}

/// Copies memory of the program.
pub(in crate::reading) fn copy(address: u64, bytes: usize) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    copy_more(&mut out, address, bytes).then_some(out)
}

/// Appends so many bytes of the program's memory. False: nothing was appended.
fn copy_more(out: &mut Vec<u8>, address: u64, bytes: usize) -> bool {
    out.reserve(bytes);
    let room = &mut out.spare_capacity_mut()[..bytes];
    let local = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: bytes };
    let remote = libc::iovec { iov_base: address as *mut c_void, iov_len: bytes };
    // SAFETY: the kernel writes at most `bytes` bytes into the room; a bad address is an error.
    let copied = unsafe {
        let (local, remote) = (&raw const local, &raw const remote);
        libc::syscall(libc::SYS_process_vm_readv, libc::getpid(), local, 1_u64, remote, 1_u64, 0_u64)
    };
    let is_refused = copied < 0 && errno::get() != libc::EFAULT;
    if copied == bytes as i64 || (is_refused && copy_guarded(room, address)) {
        // SAFETY: the kernel, or `copy_guarded`, wrote all of the room.
        unsafe { out.set_len(out.len() + bytes) };
        return true;
    }
    false
}

/// The same by loads, where a filter refuses that system call.
fn copy_guarded(room: &mut [std::mem::MaybeUninit<u8>], address: u64) -> bool {
    if !signals::held().faults {
        return false;
    }
    // Whole words, each of which lies on one page: bytes beside the range are read too, and left out.
    let mut word_at = address & !7;
    let mut word = Guarded.word(Address(word_at));
    for (offset, byte) in room.iter_mut().enumerate() {
        let at = address + offset as u64;
        if at & !7 != word_at {
            word_at = at & !7;
            word = Guarded.word(Address(word_at));
        }
        let Ok(word) = word else { return false };
        byte.write((word >> ((at & 7) * 8)) as u8);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::{Copier, PIECE_BYTES, Section, Table};

    /// A section of so many functions' entries behind one CIE, an end mark, its head and a search table with `listed` of them, backwards.
    fn section(functions: usize, listed: usize) -> Vec<u8> {
        const HEAD_BYTES: usize = 12;
        let entries_at = HEAD_BYTES + listed * Table::ENTRY_BYTES as usize;
        let mut bytes = vec![1, 0x1b, 0x03, 0x3b];
        bytes.extend((entries_at as i32 - 4).to_le_bytes());
        bytes.extend((listed as u32).to_le_bytes());
        for function in (0..listed).rev() {
            bytes.extend([0; 4]);
            bytes.extend((entries_at as i32 + 16 + 16 * function as i32).to_le_bytes());
        }
        for entry in 0..=functions {
            bytes.extend(12_u32.to_le_bytes());
            bytes.extend((16 * entry as u32).to_le_bytes());
            bytes.extend([0; 8]);
        }
        bytes.extend([0; 4]);
        bytes.extend([0xaa; 5000]);
        bytes
    }

    fn copied(bytes: &[u8]) -> (Copier, usize) {
        let start = bytes.as_ptr().addr() as u64;
        let section = Section::behind(start, &[(start, start + bytes.len() as u64)]).unwrap();
        let mut copier = Copier::new(Some(section), 0..1);
        let pieces = (1..).find(|_| copier.advance()).unwrap();
        (copier, pieces)
    }

    #[test]
    fn a_large_section_comes_in_pieces_and_in_the_order_of_its_table() {
        let functions = 3 * PIECE_BYTES / 16;
        let (copier, pieces) = copied(&section(functions, functions));
        assert!(pieces > 4, "{pieces} pieces");
        assert_eq!(copier.next, 16 * (functions + 1));
        assert_eq!(copier.found, (1..=functions as u32).map(|entry| 16 * entry).collect::<Vec<_>>());
        assert!(copier.table.sorted.iter().eq(copier.found.iter().rev()));
    }

    #[test]
    fn a_table_that_leaves_functions_out_is_not_used() {
        let (copier, _) = copied(&section(100, 99));
        assert_eq!((copier.found.len(), copier.table.sorted.len()), (100, 0));
    }

    #[test]
    fn a_section_that_cannot_be_read_has_no_functions() {
        let whole = section(10, 10);
        let start = whole.as_ptr().addr() as u64;
        let mut section = Section::behind(start, &[(start, start + whole.len() as u64)]).unwrap();
        section.entries = 4096..8192;
        let mut copier = Copier::new(Some(section), 0..1);
        let _ = (1..).find(|_| copier.advance());
        assert_eq!((copier.found.len(), copier.next), (0, 0));
    }
}
