//! A file of kept facts: a head that tells where each piece lies, then the pieces. Each has its own sum, so that a reader reads only
//! the pieces that have the addresses it asks for.
//! Owns: that layout. Never: opens a file; gives a piece whose sum is wrong.
//!
//!     magic, bytes of the head (u32), its CRC-32C (u32), head, pieces of functions, pieces of places

use std::collections::BTreeSet;

use prost::Message;

use crate::finish::elf_files::LookedFor;
use crate::finish::facts::Facts;
use crate::finish::pieces::Piece;

/// Begins a file; changes with its layout.
const MAGIC: [u8; 8] = *b"genba n2";
const BEGIN_BYTES: usize = MAGIC.len() + 2 * size_of::<u32>();

#[derive(Clone, PartialEq, Message)]
struct Head {
    #[prost(message, repeated, tag = "1")]
    looked_for: Vec<LookedFor>,
    #[prost(bool, tag = "2")]
    has_all_functions: bool,
    #[prost(bool, tag = "3")]
    has_all_units: bool,
    #[prost(uint64, repeated, tag = "4")]
    in_no_unit: Vec<u64>,
    #[prost(message, required, tag = "5")]
    functions: Directory,
    #[prost(message, required, tag = "6")]
    places: Directory,
}

/// A column each; one entry a piece.
#[derive(Clone, PartialEq, Message)]
struct Directory {
    /// As differences to the start of the piece before.
    #[prost(uint64, repeated, tag = "1")]
    start_delta: Vec<u64>,
    #[prost(uint64, repeated, tag = "2")]
    code_bytes: Vec<u64>,
    #[prost(uint32, repeated, tag = "3")]
    stored_bytes: Vec<u32>,
    #[prost(fixed32, repeated, tag = "4")]
    sum: Vec<u32>,
}

impl Directory {
    fn of(pieces: &[Piece]) -> Self {
        let mut directory = Directory::default();
        let mut before = 0;
        for piece in pieces {
            directory.start_delta.push(piece.start - before);
            directory.code_bytes.push(piece.end - piece.start);
            directory.stored_bytes.push(piece.rows.len() as u32);
            directory.sum.push(crc32c::crc32c(&piece.rows));
            before = piece.start;
        }
        directory
    }

    fn all_bytes(&self) -> u64 {
        self.stored_bytes.iter().copied().map(u64::from).sum()
    }
}

/// `looked_for`: where the file with the symbols was looked for, and what lay there.
pub fn encode(facts: &Facts, looked_for: Vec<LookedFor>) -> Vec<u8> {
    let head = Head {
        looked_for,
        has_all_functions: facts.has_all_functions,
        has_all_units: facts.has_all_units,
        in_no_unit: facts.in_no_unit.clone(),
        functions: Directory::of(&facts.functions),
        places: Directory::of(&facts.places),
    };
    let head = head.encode_to_vec();
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&(head.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&crc32c::crc32c(&head).to_le_bytes());
    bytes.extend_from_slice(&head);
    for piece in facts.functions.iter().chain(&facts.places) {
        bytes.extend_from_slice(&piece.rows);
    }
    bytes
}

/// A file whose head was read. `read` gives bytes of it from an offset on, or `None`.
pub struct KeptFile<Read> {
    read: Read,
    head: Head,
    pieces_offset: u64,
}

impl<Read: Fn(u64, usize) -> Option<Vec<u8>>> KeptFile<Read> {
    /// `None`: damaged, cut, or of another version.
    pub fn of(read: Read, file_bytes: u64) -> Option<Self> {
        let begin = read(0, BEGIN_BYTES)?;
        let (magic, rest) = begin.split_first_chunk()?;
        let (head_bytes, sum) = rest.split_first_chunk()?;
        let (head_bytes, sum) = (u32::from_le_bytes(*head_bytes), u32::from_le_bytes(*sum.first_chunk()?));
        let pieces_offset = BEGIN_BYTES as u64 + u64::from(head_bytes);
        if *magic != MAGIC || pieces_offset > file_bytes {
            return None;
        }
        let head = read(BEGIN_BYTES as u64, head_bytes as usize)?;
        if crc32c::crc32c(&head) != sum {
            return None;
        }
        let head = Head::decode(head.as_slice()).ok()?;
        let is_whole = pieces_offset + head.functions.all_bytes() + head.places.all_bytes() == file_bytes;
        is_whole.then_some(KeptFile { read, head, pieces_offset })
    }

    pub fn looked_for(&self) -> &[LookedFor] {
        &self.head.looked_for
    }

    /// With the pieces that have one of `addresses`, or with all. `None`: one of them is damaged.
    pub fn facts(&self, addresses: Option<&BTreeSet<u64>>) -> Option<Facts> {
        let Head { functions, places, .. } = &self.head;
        Some(Facts {
            has_all_functions: self.head.has_all_functions,
            functions: self.pieces(functions, self.pieces_offset, addresses)?,
            has_all_units: self.head.has_all_units,
            places: self.pieces(places, self.pieces_offset + functions.all_bytes(), addresses)?,
            in_no_unit: self.head.in_no_unit.clone(),
        })
    }

    fn pieces(&self, directory: &Directory, offset: u64, addresses: Option<&BTreeSet<u64>>) -> Option<Vec<Piece>> {
        let Directory { start_delta, code_bytes, stored_bytes, sum } = directory;
        let rows = start_delta.iter().zip(code_bytes).zip(stored_bytes.iter().zip(sum));
        let (mut start, mut behind) = (0_u64, offset);
        let mut next = addresses.and_then(BTreeSet::first).copied();
        let mut pieces = Vec::new();
        for ((delta, code_bytes), (&stored_bytes, &sum)) in rows {
            start = start.wrapping_add(*delta);
            let (end, from) = (start.saturating_add(*code_bytes), behind);
            behind += u64::from(stored_bytes);
            if let Some(addresses) = addresses {
                // Starts ascend, so the first address from here on is looked up once for many pieces.
                if next.is_some_and(|address| address < start) {
                    next = addresses.range(start..).next().copied();
                }
                if next.is_none_or(|address| address >= end) {
                    continue;
                }
            }
            let rows = (self.read)(from, stored_bytes as usize)?;
            if crc32c::crc32c(&rows) != sum {
                return None;
            }
            pieces.push(Piece { start, end, rows });
        }
        Some(pieces)
    }
}

#[cfg(test)]
mod tests {
    use super::{KeptFile, encode};
    use crate::finish::facts::Facts;
    use crate::finish::pieces::Piece;
    use genba_names::Names;
    use std::cell::RefCell;
    use std::collections::BTreeSet;

    const SHOP: &[u8] = include_bytes!("../../../../names/tests/shop/shop.so");

    fn shop() -> Facts {
        let names = Names::new(SHOP, None, &[]).unwrap();
        let mut facts = Facts::default();
        facts.learn(&names, &BTreeSet::new());
        facts
    }

    fn piece(start: u64, end: u64) -> Piece {
        Piece { start, end, rows: start.to_le_bytes().repeat(40) }
    }

    fn invented() -> Facts {
        Facts {
            has_all_functions: true,
            functions: vec![piece(100, 200), piece(250, 300), piece(300, 400)],
            has_all_units: false,
            places: vec![piece(100, 180), piece(280, 350)],
            in_no_unit: vec![250, 251],
        }
    }

    fn decoded(bytes: &[u8], addresses: Option<&BTreeSet<u64>>) -> Option<Facts> {
        let read = |offset: u64, count: usize| Some(bytes.get(offset as usize..)?.get(..count)?.to_vec());
        KeptFile::of(read, bytes.len() as u64)?.facts(addresses)
    }

    #[test]
    fn what_was_encoded_is_decoded() {
        for facts in [Facts::default(), shop(), invented()] {
            assert_eq!(decoded(&encode(&facts, Vec::new()), None), Some(facts));
        }
    }

    #[test]
    fn pieces_without_the_addresses_asked_are_not_read() {
        let facts = invented();
        let bytes = encode(&facts, Vec::new());
        let asked: RefCell<Vec<u64>> = RefCell::default();
        let read = |offset: u64, count: usize| {
            asked.borrow_mut().push(count as u64);
            Some(bytes[offset as usize..][..count].to_vec())
        };
        let file = KeptFile::of(read, bytes.len() as u64).unwrap();
        asked.borrow_mut().clear();
        let found = file.facts(Some(&BTreeSet::from([99, 200, 299, 350, 400]))).unwrap();
        assert_eq!(found.functions, [piece(250, 300), piece(300, 400)]);
        assert_eq!(found.places, [piece(280, 350)]);
        assert_eq!(*asked.borrow(), [320, 320, 320]);
        assert!(found.cover(&BTreeSet::from([250, 299])) && !found.cover(&BTreeSet::from([350])));
    }

    #[test]
    fn damaged_pieces_do_not_count() {
        let facts = shop();
        let bytes = encode(&facts, Vec::new());
        for end in 0..bytes.len() {
            assert_eq!(decoded(&bytes[..end], None), None, "cut at {end}");
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            assert_eq!(decoded(&damaged, None), None, "damaged at {at}");
        }
        let mut longer = bytes;
        longer.push(0);
        assert_eq!(decoded(&longer, None), None);
    }
}
