//! How much memory a file may take: what its calls, functions and samples cost here and in every view of them.
//! Owns: the bound and its words. Never: measures; a cost is what was measured once, rounded up.

use crate::Refused;

/// So much in any case, and so much for each byte of the file.
pub const BYTES_MIN: u64 = 96 << 20;
const BYTES_A_BYTE: u64 = 20;
/// The same of counts of calls as pstats reads them, for all together that are added up or compared: sorting spells their names out once more.
pub const COUNTS_BYTES_MIN: u64 = 48 << 20;
/// A compressed file has at most so much for each of its own bytes: a small one cannot ask for much.
const BYTES_A_STORED_BYTE: u64 = 320;

/// A call: a function below its callers, and its line of `genba tree` without the names there.
pub const CALL_BYTES: u64 = 560;
/// A function, or a line of one, without its names.
pub const PLACE_BYTES: u64 = 1_200;
/// The names of a function are kept so many times.
pub const NAME_COPIES: u64 = 4;
/// And for each call of it so many times, where calls are sorted and where each has a line: a long name may be called by many.
pub const NAME_COPIES_OF_CALL: u64 = 2;
pub const SAMPLE_BYTES: u64 = 128;

/// How large a file is as it is read, and as it was stored, where that was compressed.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub plain_bytes: u64,
    pub stored_bytes: Option<u64>,
    /// Of memory, whatever its size is.
    pub most_bytes: u64,
}

impl Size {
    pub const fn of(bytes: &[u8]) -> Size {
        Size { plain_bytes: bytes.len() as u64, stored_bytes: None, most_bytes: u64::MAX }
    }

    pub const fn room(self) -> Room {
        self.room_beside(BYTES_MIN)
    }

    /// What counts of calls may take for their size alone.
    pub const fn more_bytes_of_counts(self) -> u64 {
        self.room_beside(0).left()
    }

    /// Of one of several. `bytes_min`: what the ones before it have left of that.
    pub const fn room_beside(self, bytes_min: u64) -> Room {
        let of_plain = self.plain_bytes.saturating_mul(BYTES_A_BYTE);
        let more = match self.stored_bytes {
            Some(bytes) if bytes.saturating_mul(BYTES_A_STORED_BYTE) < of_plain => bytes * BYTES_A_STORED_BYTE,
            _ => of_plain,
        };
        let by_size = Room::within(bytes_min.saturating_add(more));
        if self.most_bytes < by_size.max { Room { is_given: true, ..Room::within(self.most_bytes) } } else { by_size }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Room {
    max: u64,
    left: u64,
    /// By the caller, who has no more.
    is_given: bool,
}

impl Room {
    pub const fn within(max: u64) -> Room {
        Room { max, left: max, is_given: false }
    }

    /// # Errors
    /// There is not so much left.
    pub fn take(&mut self, bytes: u64) -> Result<(), Refused> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(self.refusal()),
        }
    }

    /// For what is kept beside what the rest is for.
    pub const fn halves(self) -> (Room, Room) {
        let half = self.left / 2;
        (Room { left: half, ..self }, Room { left: half, ..self })
    }

    pub const fn left(&self) -> u64 {
        self.left
    }

    pub fn refusal(&self) -> Refused {
        if self.is_given {
            return Refused::TooLarge { most_bytes: self.max };
        }
        Refused::Unsupported(format!(
            "its stacks and functions need more than {} MB of memory, which is the most that genba takes here for a file of this size: genba pstats reads more of a .prof file; of stacks write fewer, or cut the deep ones",
            self.max / 1_000_000
        ))
    }
}
