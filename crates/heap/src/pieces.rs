//! A file that many answers share: the agent appends pieces, the command puts them together.
//! Owns: the head of a piece, and the word before the first one, by which the command asks. Never: believes a length (the reader).

use crate::bytes::{Sink, put_word};

pub const PIECE: [u8; 8] = *b"GENBAPC1";
/// The file begins with one word: when the user asked last (`CLOCK_REALTIME`), or 0. Only the command writes it.
pub const ASKED_BYTES: usize = 8;
/// Of a piece, before the words of the command line and the answer's bytes.
pub const HEAD_BYTES: usize = 72;
/// Where a head says how many bytes of an answer follow.
pub const LENGTH_AT: usize = 64;

/// What a walk was for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub enum Moment {
    /// The user sent a signal.
    Signal = 1,
    /// An interval has passed.
    Interval = 2,
    /// The process has grown to so many bytes.
    Resident = 3,
    BeforeCollection = 4,
    AfterCollection = 5,
    Exit = 6,
    /// Garbage in cycles, before a collection.
    Cycles = 7,
}

/// Why a walk is not in a copy, where nobody asked for that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub enum InPlace {
    /// It may be in a copy.
    Not = 0,
    /// A device driver does not bear copies.
    Device = 1,
    /// The system promises no more memory than there is.
    Overcommit = 2,
    /// The moment is over when the program goes on.
    Moment = 3,
    /// The container has too little memory left.
    Container = 4,
    /// The same, where all of it is killed at once.
    KilledAsOne = 5,
    /// It has less memory of its own than `SMALL_BYTES`.
    Small = 6,
}

/// In so many bytes fewer than half a million objects find room, which are walked in 20 ms: of the smallest ones, an average is 48 bytes. A copy
/// would gain little for that, and each page that the program writes to meanwhile costs.
pub const SMALL_BYTES: u64 = 24_000_000;

/// A copy is unwise where less than this part of the program's memory is left: the program writes to a tenth of its pages while the copy lives,
/// and each of them is there twice then.
pub const COPIED_PART: u64 = 10;

/// What the tables of a walk take of a program with so much memory of its own.
#[must_use]
pub const fn tables_at_most(own_bytes: u64) -> u64 {
    own_bytes / 4
}

/// What a copy takes where the program writes to all of its pages meanwhile: these, which are `own_bytes`, and the tables of the walk. So much has to
/// find room where the kernel kills a container as one.
#[must_use]
pub const fn copied_at_most(own_bytes: u64) -> u64 {
    own_bytes.saturating_add(tables_at_most(own_bytes))
}

/// Which answer a piece is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    pub pid: u64,
    /// Of this process's walks.
    pub number: u64,
    pub moment: u64,
    pub realtime_ns: u64,
    /// `Py_Version`.
    pub python: u64,
    pub in_place: u64,
}

/// The command line and the answer's bytes follow; their number is written at `LENGTH_AT` when it is known.
pub fn put_head(head: &Head, words: &[u8], sink: &mut impl Sink) -> bool {
    let numbers =
        [head.pid, head.number, head.moment, head.realtime_ns, head.python, head.in_place, words.len() as u64, 0];
    sink.put(&PIECE) && numbers.into_iter().all(|number| put_word(sink, number)) && sink.put(words)
}

#[cfg(any(test, feature = "std"))]
pub use reading::{Piece, read_piece};

#[cfg(any(test, feature = "std"))]
mod reading {
    use super::{Head, PIECE};
    use crate::bytes::Rest;

    /// One piece, and what follows it.
    pub struct Piece<'a> {
        pub head: Head,
        /// Of the command line, each with a NUL behind it; only the last piece of an answer has them.
        pub words: &'a [u8],
        pub answer: &'a [u8],
        pub rest: &'a [u8],
    }

    /// `Ok(None)`: it is not all there yet. `Err`: these are no bytes of a piece's.
    #[allow(clippy::result_unit_err)] // there is one way in which bytes are none
    pub fn read_piece(bytes: &[u8]) -> Result<Option<Piece<'_>>, ()> {
        let mut rest = Rest(bytes);
        match rest.take(PIECE.len()) {
            Some(magic) if magic == PIECE => {}
            Some(_) => return Err(()),
            None => return Ok(None),
        }
        Ok(piece(rest))
    }

    fn piece(mut rest: Rest<'_>) -> Option<Piece<'_>> {
        let head = Head {
            pid: rest.word()?,
            number: rest.word()?,
            moment: rest.word()?,
            realtime_ns: rest.word()?,
            python: rest.word()?,
            in_place: rest.word()?,
        };
        let (words, answer) = (usize::try_from(rest.word()?).ok()?, usize::try_from(rest.word()?).ok()?);
        Some(Piece { head, words: rest.take(words)?, answer: rest.take(answer)?, rest: rest.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::{HEAD_BYTES, Head, LENGTH_AT, put_head, read_piece};
    use crate::bytes::Sink;
    use std::vec::Vec;

    struct Bytes(Vec<u8>);

    impl Sink for Bytes {
        fn put(&mut self, bytes: &[u8]) -> bool {
            self.0.extend_from_slice(bytes);
            true
        }
    }

    #[test]
    fn pieces_come_back_one_after_the_other_and_half_of_one_does_not() {
        let head = Head { pid: 7, number: 1, moment: 3, realtime_ns: 5, python: 0x030d_00f0, in_place: 0 };
        let mut bytes = Bytes(Vec::new());
        put_head(&head, b"app.py\0", &mut bytes);
        assert_eq!(bytes.0.len(), HEAD_BYTES + 7);
        bytes.0[LENGTH_AT..LENGTH_AT + 8].copy_from_slice(&3_u64.to_le_bytes());
        bytes.put(b"abcdef");
        let piece = read_piece(&bytes.0).unwrap().unwrap();
        assert_eq!(
            (piece.head, piece.words, piece.answer, piece.rest),
            (head, &b"app.py\0"[..], &b"abc"[..], &b"def"[..])
        );
        for len in 0..HEAD_BYTES + 10 {
            assert!(read_piece(&bytes.0[..len]).unwrap().is_none(), "{len}");
        }
        assert!(read_piece(b"something else").is_err());
    }
}
