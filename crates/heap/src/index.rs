//! Numbers for objects, from 0 on, and one count for each.
//! Owns: the bits of the addresses, the numbers that follow from them, and the counts. Never: stores an address; counts below zero.
//!
//! One bit for eight bytes of address, in pieces of 64 MiB of address as in `Seen`. Each 64 bits have the number of the first object among
//! them, so a number is one look and one count of bits away.

use crate::ground::{Ground, NoMemory};

const PIECE_BITS: u32 = 26;
const WORDS: usize = 1 << (PIECE_BITS - 9);
/// Bits, and a number for each 64 of them.
const PIECE_BYTES: usize = WORDS * (8 + 4);
const ADDRESS_BITS: u32 = 47;
const PIECES: usize = 1 << (ADDRESS_BITS - PIECE_BITS);
/// So many pieces are 1 TiB of address with objects in it.
const USED_MAX: usize = 1 << 14;

pub struct Index {
    pieces: *mut *mut u8,
    /// Which of them there are, in the order in which they came.
    used: *mut u32,
    used_len: usize,
    /// The first number of each.
    firsts: *mut u32,
    len: u32,
    /// One for each number, once there are numbers.
    counts: *mut u32,
}

/// How far one has come through the objects.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Cursor {
    piece: usize,
    word: usize,
    bits: u64,
    has_begun: bool,
    next: u32,
}

impl Index {
    pub fn new(ground: &impl Ground) -> Option<Index> {
        let pieces = ground.map(PIECES * size_of::<*mut u8>()).cast::<*mut u8>();
        let used = ground.map(USED_MAX * 4).cast::<u32>();
        let firsts = ground.map(USED_MAX * 4).cast::<u32>();
        let is_there = !pieces.is_null() && !used.is_null() && !firsts.is_null();
        is_there.then_some(Index { pieces, used, used_len: 0, firsts, len: 0, counts: core::ptr::null_mut() })
    }

    /// Before there are numbers. An address may come again.
    #[inline]
    pub fn insert(&mut self, address: u64, ground: &impl Ground) -> Result<(), NoMemory> {
        let piece = (address >> PIECE_BITS) as usize;
        if piece >= PIECES {
            return Ok(());
        }
        // SAFETY: within the table; a piece is null or a mapping of PIECE_BYTES, and the word lies in it.
        unsafe {
            let slot = self.pieces.add(piece);
            if (*slot).is_null() {
                if self.used_len == USED_MAX {
                    return Err(NoMemory);
                }
                *slot = ground.map(PIECE_BYTES);
                if (*slot).is_null() {
                    return Err(NoMemory);
                }
                self.used.add(self.used_len).write(piece as u32);
                self.used_len += 1;
            }
            *(*slot).cast::<u64>().add(word_of(address)) |= bit_of(address);
        }
        Ok(())
    }

    /// Gives the numbers. No address comes any more.
    pub fn number(&mut self, ground: &impl Ground) -> Result<(), NoMemory> {
        let mut next: u32 = 0;
        for place in 0..self.used_len {
            let (bits, numbers) = self.piece(place);
            // SAFETY: below USED_MAX.
            unsafe { self.firsts.add(place).write(next) };
            for word in 0..WORDS {
                // SAFETY: within the piece.
                unsafe {
                    let count = (*bits.add(word)).count_ones();
                    numbers.add(word).write(next);
                    next = next.checked_add(count).ok_or(NoMemory)?;
                }
            }
        }
        self.len = next;
        self.counts = ground.map(self.counts_bytes()).cast();
        if self.counts.is_null() { Err(NoMemory) } else { Ok(()) }
    }

    /// How many objects have a number.
    #[must_use]
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// The object with a number.
    pub fn address(&self, number: u32) -> Option<u64> {
        // SAFETY: below `used_len`, which is at most USED_MAX; words are within their piece.
        unsafe {
            let place = last_of(self.used_len, |place| *self.firsts.add(place) <= number)?;
            let (bits, numbers) = self.piece(place);
            let word = last_of(WORDS, |word| *numbers.add(word) <= number)?;
            let mut left = *bits.add(word);
            for _ in 0..number - *numbers.add(word) {
                left &= left.wrapping_sub(1);
            }
            let (piece, bit) = (*self.used.add(place), u64::from(left.trailing_zeros()));
            (left != 0).then_some(u64::from(piece) << PIECE_BITS | (word as u64) << 9 | bit << 3)
        }
    }

    const fn counts_bytes(&self) -> usize {
        self.len as usize * 4 + 4
    }

    fn piece(&self, place: usize) -> (*mut u64, *mut u32) {
        // SAFETY: below `used_len`, of which each piece is a mapping.
        unsafe {
            let piece = *self.pieces.add(*self.used.add(place) as usize);
            (piece.cast(), piece.add(WORDS * 8).cast())
        }
    }

    #[inline]
    pub fn number_of(&self, address: u64) -> Option<u32> {
        let piece = (address >> PIECE_BITS) as usize;
        if piece >= PIECES {
            return None;
        }
        // SAFETY: as in `insert`.
        unsafe {
            let piece = *self.pieces.add(piece);
            if piece.is_null() {
                return None;
            }
            let (word, bit) = (word_of(address), bit_of(address));
            let bits = *piece.cast::<u64>().add(word);
            let first = *piece.add(WORDS * 8).cast::<u32>().add(word);
            (bits & bit != 0).then(|| first + (bits & (bit - 1)).count_ones())
        }
    }

    /// The count of an object; `None`: it has no number.
    #[inline]
    pub fn count(&mut self, address: u64) -> Option<&mut u32> {
        let number = self.number_of(address)?;
        // SAFETY: numbers are below `len`.
        Some(unsafe { &mut *self.counts.add(number as usize) })
    }

    /// The next object, by its address, and its count.
    pub fn next(&self, cursor: &mut Cursor) -> Option<(u64, u32)> {
        while cursor.bits == 0 {
            if cursor.has_begun {
                cursor.word += 1;
            }
            cursor.has_begun = true;
            if cursor.word == WORDS {
                (cursor.piece, cursor.word) = (cursor.piece + 1, 0);
            }
            if cursor.piece >= self.used_len {
                cursor.has_begun = false;
                return None;
            }
            // SAFETY: within the piece.
            cursor.bits = unsafe { *self.piece(cursor.piece).0.add(cursor.word) };
        }
        let bit = cursor.bits.trailing_zeros();
        cursor.bits &= cursor.bits - 1;
        // SAFETY: below `used_len`; numbers are given in this order, and are below `len`.
        let (piece, count) = unsafe { (*self.used.add(cursor.piece), *self.counts.add(cursor.next as usize)) };
        cursor.next += 1;
        Some((u64::from(piece) << PIECE_BITS | (cursor.word as u64) << 9 | u64::from(bit) << 3, count))
    }

    pub fn give_back(self, ground: &impl Ground) {
        // SAFETY: all of them are this index's own, and it is consumed.
        unsafe {
            for place in 0..self.used_len {
                ground.unmap(self.piece(place).0.cast(), PIECE_BYTES);
            }
            if !self.counts.is_null() {
                ground.unmap(self.counts.cast(), self.counts_bytes());
            }
            ground.unmap(self.used.cast(), USED_MAX * 4);
            ground.unmap(self.firsts.cast(), USED_MAX * 4);
            ground.unmap(self.pieces.cast(), PIECES * size_of::<*mut u8>());
        }
    }
}

/// The last place, counted from 0, of which something is so that is so of all before it.
fn last_of(len: usize, is_so: impl Fn(usize) -> bool) -> Option<usize> {
    let (mut first, mut end) = (0, len);
    while first < end {
        let middle = first.midpoint(end);
        if is_so(middle) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    first.checked_sub(1)
}

const fn word_of(address: u64) -> usize {
    (address >> 9) as usize & (WORDS - 1)
}

const fn bit_of(address: u64) -> u64 {
    1 << (address >> 3 & 63)
}

#[cfg(test)]
mod tests {
    use super::{Cursor, Index};
    use crate::ground::NoMemory;
    use crate::ground::tests::Heap;
    use std::cell::Cell;

    #[test]
    fn each_address_has_a_number_and_a_count_of_its_own() {
        let heap = Heap(Cell::new(1000));
        let mut index = Index::new(&heap).unwrap();
        let addresses: Vec<u64> = (0..300).map(|place| 0x7f00_0000_0000 + place * place * 0x5_1238).collect();
        for &address in addresses.iter().chain(&addresses[..7]).chain(&[8, 1 << 47]) {
            index.insert(address, &heap).unwrap();
        }
        index.number(&heap).unwrap();
        for (place, &address) in addresses.iter().enumerate() {
            *index.count(address).unwrap() = place as u32;
        }
        assert!(index.count(0x7f00_0000_0010).is_none() && index.count(1 << 47).is_none() && index.count(16).is_none());
        *index.count(8).unwrap() = 300;
        let (mut cursor, mut found) = (Cursor::default(), Vec::new());
        while let Some((address, count)) = index.next(&mut cursor) {
            assert_eq!(addresses.get(count as usize).copied().unwrap_or(8), address);
            let number = index.number_of(address).unwrap();
            assert_eq!((index.address(number), number as usize), (Some(address), found.len()));
            found.push(count);
        }
        assert_eq!((index.len(), index.address(index.len())), (301, None));
        found.sort_unstable();
        assert_eq!(found, (0..=300).collect::<Vec<u32>>());
        assert_eq!(index.next(&mut cursor), None);
        index.give_back(&heap);
    }

    #[test]
    fn an_index_without_objects_ends_at_once() {
        let heap = Heap(Cell::new(20));
        let mut index = Index::new(&heap).unwrap();
        index.number(&heap).unwrap();
        assert_eq!(index.next(&mut Cursor::default()), None);
        heap.0.set(0);
        assert_eq!(index.insert(8, &heap), Err(NoMemory));
        index.give_back(&heap);
    }
}
