//! Which code objects are known already, and copying those that are not.
//! Owns: the table's reading side, the layout of tail entries. Never: writes the table (I-08), copies where the code object
//! could die (I-09: the caller stands on its thread's stack, or its thread does not run).
//! Partner: agent/src/reading/codes.rs writes the table and reads the tail.

use crate::layout::Layout;
use crate::memory::{Address, Fault, Memory};
use core::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Relaxed};

/// Steps from a key's first slot (I-07).
pub const PROBES_MAX: usize = 16;
/// Letters of a text that are copied, of any script: as many as the kernel takes bytes of a path. Of a longer one both ends are copied, with
/// its length and a hash, so that no two become one.
pub const LETTERS_MAX: u64 = 4096;
const END_LETTERS: u64 = LETTERS_MAX / 2;
/// Bytes at each end of a longer text that its hash is made of.
pub const HASHED_BYTES_MAX: u64 = 1 << 15;
const HEADER_WORDS: usize = 7;
/// The longest names, and the least part of a location table that is copied with them.
pub const ENTRY_WORDS_MAX: usize =
    HEADER_WORDS + 2 * (LETTERS_MAX as usize / 2 + CUT_WORDS) + PART_BYTES_MIN as usize / 8;
/// Behind a text that was cut: its length, and its hash.
const CUT_WORDS: usize = 2;
/// A part of a location table smaller than this waits for the next sample.
const PART_BYTES_MIN: u64 = 256;

/// key 0: empty. `progress` = row of the code table << 32 | bytes of the location table known; COMPLETE when all.
#[repr(C)]
pub struct SeenEntry {
    pub key: AtomicU64,
    pub progress: AtomicU64,
}

pub const COMPLETE: u64 = 0xffff_ffff;

/// `mask` + 1 entries, a power of two.
#[repr(C)]
pub struct Seen {
    pub entries: *const SeenEntry,
    pub mask: u64,
}

impl Seen {
    #[inline(always)]
    #[must_use]
    pub fn find(&self, key: u64) -> Option<u64> {
        let mut slot = key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
        for _ in 0..PROBES_MAX {
            // SAFETY: the mask keeps the slot inside the published table, which outlives every walk (I-08).
            let entry = unsafe { &*self.entries.add((slot & self.mask) as usize) };
            // Acquire: pairs with the Release in agent/src/reading/codes.rs; `progress` is written before its key.
            match entry.key.load(Acquire) {
                0 => return None,
                found if found == key => return Some(entry.progress.load(Relaxed)),
                _ => slot += 1,
            }
        }
        None
    }
}

/// The words of a tail entry's head; names and part of the location table follow, each padded to eight bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TailHead {
    pub key: u64,
    pub code: u64,
    pub first_line: u32,
    pub qualname: CopiedStr,
    pub filename: CopiedStr,
    pub linetable_bytes: u32,
    pub part_offset: u32,
    pub part_bytes: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct CopiedStr {
    pub bytes: u32,
    /// Bytes a character: 1, 2 or 4.
    pub kind: u8,
    /// Half of the bytes are the text's first ones, half its last ones; `CUT_WORDS` follow.
    pub cut: bool,
}

impl CopiedStr {
    #[inline]
    const fn to_word(self) -> u64 {
        self.bytes as u64 | (self.kind as u64) << 32 | (self.cut as u64) << 40
    }

    #[inline]
    const fn from_word(word: u64) -> CopiedStr {
        CopiedStr { bytes: word as u32, kind: (word >> 32) as u8, cut: word >> 40 & 1 == 1 }
    }

    #[inline]
    #[must_use]
    pub const fn words(self) -> usize {
        (self.bytes as usize).div_ceil(8) + if self.cut { CUT_WORDS } else { 0 }
    }

    /// The text that was copied into `words`. Lone surrogates become `\udcXX`; between the ends of one that was cut stand its length and hash.
    #[cfg(feature = "std")]
    #[must_use]
    pub fn text(self, words: &[u64]) -> Option<String> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let bytes = bytes.get(..self.bytes as usize)?;
        if !self.cut {
            return letters(bytes, self.kind);
        }
        let (first, last) = bytes.split_at(bytes.len() / 2);
        let [.., length, hash] = words.get(..self.words())? else { return None };
        Some(format!("{}…({length} letters, {hash:016x})…{}", letters(first, self.kind)?, letters(last, self.kind)?))
    }
}

/// A str's own bytes as text.
#[cfg(feature = "std")]
#[must_use]
pub fn letters(bytes: &[u8], kind: u8) -> Option<String> {
    let unit = usize::from(kind);
    if !matches!(unit, 1 | 2 | 4) {
        return None;
    }
    let mut text = String::with_capacity(bytes.len());
    for unit in bytes.chunks_exact(unit) {
        let number = unit.iter().rev().fold(0, |number, &byte| number << 8 | u32::from(byte));
        match char::from_u32(number) {
            Some(letter) => text.push(letter),
            None => text.push_str(&format!("\\u{number:04x}")),
        }
    }
    Some(text)
}

/// From 3.12 on, a specialised call of a class runs its `__init__` above a frame of the interpreter's own, without any
/// location: no traceback shows it. Source: CPython 3.12 to 3.15, `_Py_InitCleanup` in Python/ceval.c and Python/specialize.c.
#[must_use]
pub fn is_init_cleanup(qualname: &str, filename: &str, linetable_bytes: u32) -> bool {
    qualname == "__init__" && filename == "__init__" && linetable_bytes <= 1
}

/// Where a str of the program keeps its letters, and which of them are copied.
#[derive(Clone, Copy, Debug)]
pub struct Located {
    pub copied: CopiedStr,
    first: Address,
    letters: u64,
}

impl Located {
    const NONE: Located =
        Located { copied: CopiedStr { bytes: 0, kind: 0, cut: false }, first: Address::NULL, letters: 0 };

    /// One number for all of a text that is too long to be copied: of its length and of `HASHED_BYTES_MAX` at each end.
    fn hash<M: Memory>(&self, memory: &M) -> Result<u64, Fault> {
        let bytes = self.letters * u64::from(self.copied.kind);
        let half_bytes = bytes.div_ceil(2).min(HASHED_BYTES_MAX);
        let mut hash = self.letters;
        for from in [self.first, self.first.at(bytes - half_bytes)] {
            let mut offset = 0;
            // The last word overlaps the one before, so that none is read beyond the text.
            while offset < half_bytes {
                let word = memory.word(from.at(offset.min(half_bytes.saturating_sub(8))))?;
                hash = (hash ^ word).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
                hash ^= hash >> 32;
                offset += 8;
            }
        }
        Ok(hash)
    }
}

impl TailHead {
    /// Reads an entry's head; its data begin HEADER_WORDS later.
    #[inline]
    #[must_use]
    pub fn read(tail: &[u64], position: usize) -> Option<(TailHead, &[u64])> {
        let words = tail.get(position..)?;
        let (&[key, code, first_line, qualname, filename, linetable_bytes, part], rest) =
            words.split_first_chunk::<HEADER_WORDS>()?;
        let head = TailHead {
            key,
            code,
            first_line: first_line as u32,
            qualname: CopiedStr::from_word(qualname),
            filename: CopiedStr::from_word(filename),
            linetable_bytes: linetable_bytes as u32,
            part_offset: part as u32,
            part_bytes: (part >> 32) as u32,
        };
        Some((head, rest))
    }
}

/// A code object's key: its address and what tells it from a later one at the same address.
#[inline(always)]
pub fn key<M: Memory>(memory: &M, layout: &Layout, code: Address) -> Result<u64, Fault> {
    let qualname = memory.address(code.at(layout.codes.qualname))?;
    let linetable = memory.word(code.at(layout.codes.linetable))?;
    let size = memory.word(code.at(16))?;
    let distinction = match layout.codes.version {
        Some(version) => u64::from(memory.half(code.at(version))?),
        None => memory.word(qualname.at(layout.strings.hash))?,
    };
    let line = u64::from(memory.half(code.at(layout.codes.first_line))?);
    let mut hash = code.0;
    for word in [qualname.0, linetable, size, distinction.rotate_right(32), line] {
        hash = (hash ^ word).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
        hash ^= hash >> 32;
    }
    Ok(hash | 1)
}

/// Room for copied code objects: whole entries only.
pub struct Tail<'a> {
    words: &'a mut [u64],
    len: usize,
}

impl<'a> Tail<'a> {
    #[inline]
    pub fn new(words: &'a mut [u64]) -> Tail<'a> {
        Tail { words, len: 0 }
    }

    #[inline]
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// An entry of the same key made in this walk already (recursion).
    #[inline]
    pub fn position(&self, key: u64) -> Option<u32> {
        let mut position = 0;
        while position < self.len {
            let (head, _) = TailHead::read(self.words, position)?;
            if head.key == key {
                return Some(position as u32);
            }
            position += head.words();
        }
        None
    }

    /// Copies a code object, as much of its location table as there is room for. `known_bytes`: names are known and the
    /// location table up to there. `Ok(None)`: no room now, the next sample has.
    #[inline(never)]
    pub fn copy<M: Memory>(
        &mut self,
        memory: &M,
        layout: &Layout,
        code: Address,
        key: u64,
        known_bytes: Option<u32>,
    ) -> Result<Option<u32>, Fault> {
        if memory.word(code.at(8))? != layout.codes.type_address {
            return Err(Fault);
        }
        let linetable = memory.address(code.at(layout.codes.linetable))?;
        let linetable_bytes = memory.word(linetable.at(layout.strings.bytes_size))?.min(u64::from(u32::MAX - 1));
        let (mut qualname, mut filename) = (Located::NONE, Located::NONE);
        if known_bytes.is_none() {
            qualname = locate(memory, layout, memory.address(code.at(layout.codes.qualname))?)?;
            filename = locate(memory, layout, memory.address(code.at(layout.codes.filename))?)?;
        }
        let part_offset = u64::from(known_bytes.unwrap_or(0)).min(linetable_bytes);
        let names_words = qualname.copied.words() + filename.copied.words();
        let free_words = self.words.len().wrapping_sub(self.len);
        if free_words < HEADER_WORDS + names_words {
            return Ok(None);
        }
        let room_bytes = (free_words - HEADER_WORDS - names_words) as u64 * 8;
        let rest_bytes = linetable_bytes - part_offset;
        if rest_bytes > room_bytes && room_bytes < PART_BYTES_MIN {
            return Ok(None);
        }
        let head = TailHead {
            key,
            code: code.0,
            first_line: memory.half(code.at(layout.codes.first_line))?,
            qualname: qualname.copied,
            filename: filename.copied,
            linetable_bytes: linetable_bytes as u32,
            part_offset: part_offset as u32,
            part_bytes: rest_bytes.min(room_bytes) as u32,
        };
        let position = self.len;
        self.push(head.key);
        self.push(head.code);
        self.push(u64::from(head.first_line));
        self.push(head.qualname.to_word());
        self.push(head.filename.to_word());
        self.push(u64::from(head.linetable_bytes));
        self.push(u64::from(head.part_offset) | u64::from(head.part_bytes) << 32);
        let copied =
            self.push_text(memory, &qualname).and_then(|()| self.push_text(memory, &filename)).and_then(|()| {
                self.push_bytes(
                    memory,
                    linetable.at(layout.strings.bytes_value).at(part_offset),
                    u64::from(head.part_bytes),
                )
            });
        if copied.is_err() {
            self.len = position;
            return Err(Fault);
        }
        Ok(Some(position as u32))
    }

    #[inline(always)]
    fn push(&mut self, word: u64) {
        if let Some(slot) = self.words.get_mut(self.len) {
            *slot = word;
            self.len += 1;
        }
    }

    /// Copies a text, as `CopiedStr::text` reads it. The caller knows that there is room.
    pub fn push_text<M: Memory>(&mut self, memory: &M, text: &Located) -> Result<(), Fault> {
        let bytes = u64::from(text.copied.bytes);
        if !text.copied.cut {
            return self.push_bytes(memory, text.first, bytes);
        }
        // An end is whole words, whatever the letters' width.
        let end_bytes = bytes / 2;
        let last = text.first.at(text.letters * u64::from(text.copied.kind) - end_bytes);
        self.push_bytes(memory, text.first, end_bytes)?;
        self.push_bytes(memory, last, end_bytes)?;
        self.push(text.letters);
        self.push(text.hash(memory)?);
        Ok(())
    }

    /// Copies `bytes` bytes, reading no word that lies wholly outside of them. At most a step for each word of the tail (I-07).
    fn push_bytes<M: Memory>(&mut self, memory: &M, from: Address, bytes: u64) -> Result<(), Fault> {
        let mut offset = 0;
        while offset + 8 <= bytes {
            let word = memory.word(from.at(offset))?;
            self.push(word);
            offset += 8;
        }
        if offset < bytes {
            let mut word = 0;
            let mut shift_bits = 0;
            while offset < bytes {
                word |= u64::from(memory.byte(from.at(offset))?) << shift_bits;
                shift_bits += 8;
                offset += 1;
            }
            self.push(word);
        }
        Ok(())
    }
}

impl TailHead {
    /// Words of the whole entry.
    #[inline]
    #[must_use]
    pub const fn words(&self) -> usize {
        HEADER_WORDS + self.qualname.words() + self.filename.words() + (self.part_bytes as usize).div_ceil(8)
    }
}

/// Finds a str's letters. Source: CPython 3.11 to 3.15, Include/cpython/unicodeobject.h, PyASCIIObject.
///
/// # Errors
/// `Fault`, also of what is no str.
pub fn locate<M: Memory>(memory: &M, layout: &Layout, object: Address) -> Result<Located, Fault> {
    let letters = memory.word(object.at(layout.strings.length))?;
    let state = memory.half(object.at(layout.strings.state))?;
    let (kind, compact, ascii) = ((state >> 2 & 7) as u8, state >> 5 & 1 == 1, state >> 6 & 1 == 1);
    if !compact || !matches!(kind, 1 | 2 | 4) || letters > 1 << 40 {
        return Err(Fault);
    }
    let cut = letters > LETTERS_MAX;
    let copied_letters = if cut { 2 * END_LETTERS } else { letters };
    let copied = CopiedStr { bytes: (copied_letters * u64::from(kind)) as u32, kind, cut };
    let first = object.at(if ascii { layout.strings.ascii } else { layout.strings.compact });
    Ok(Located { copied, first, letters })
}
