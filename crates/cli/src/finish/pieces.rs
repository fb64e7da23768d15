//! Pieces of a module's code, and what is known of each, encoded: whoever asks for a few addresses reads and decodes a few of them.
//! Owns: finding the piece that has an address; the texts that a piece carries itself. Never: knows what is encoded.

use std::collections::{BTreeSet, HashMap};

/// What is known of the code from `start` up to `end`. Needs no other piece to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    pub start: u64,
    pub end: u64,
    /// A message of protobuf.
    pub rows: Vec<u8>,
}

/// The index of the piece that has `address`. `pieces` are sorted by their start.
pub fn index_of(pieces: &[Piece], address: u64) -> Option<usize> {
    let index = pieces.partition_point(|piece| piece.start <= address).checked_sub(1)?;
    (address < pieces.get(index)?.end).then_some(index)
}

/// Each of `addresses` that lies in a piece, with the piece as `decode` gives it; each piece is decoded once.
pub fn each_decoded<Decoded>(
    pieces: &[Piece],
    addresses: &BTreeSet<u64>,
    decode: impl Fn(&Piece) -> Option<Decoded>,
    mut take: impl FnMut(&Decoded, u64),
) {
    let mut last: Option<(usize, Option<Decoded>)> = None;
    for &address in addresses {
        let Some(index) = index_of(pieces, address) else { continue };
        if last.as_ref().is_none_or(|&(last, _)| last != index) {
            last = Some((index, pieces.get(index).and_then(&decode)));
        }
        if let Some((_, Some(decoded))) = &last {
            take(decoded, address);
        }
    }
}

/// Texts by index + 1; 0 is none.
#[derive(Default)]
pub struct Texts {
    index_of: HashMap<String, u32>,
    pub all: Vec<String>,
}

impl Texts {
    pub fn index(&mut self, text: Option<&str>) -> u32 {
        let Some(text) = text else { return 0 };
        if let Some(&known) = self.index_of.get(text) {
            return known;
        }
        self.all.push(text.to_owned());
        let index = self.all.len() as u32;
        self.index_of.insert(text.to_owned(), index);
        index
    }
}

/// The text of an index that `Texts::index` gave.
pub fn text(all: &[String], index: u32) -> Option<&str> {
    all.get(index.checked_sub(1)? as usize).map(String::as_str)
}
