//! How much memory a file may take: what its calls, functions and samples cost here and in every view of them.
//! Owns: the bound and its words. Never: measures; a cost is what was measured once, rounded up.

use crate::Refused;

/// So much in any case, and so much for each byte of the file.
const BYTES_MIN: u64 = 96 << 20;
const BYTES_A_BYTE: u64 = 20;
/// What a file decompresses to counts up to so many times its size: a small file cannot ask for much.
const PLAIN_A_BYTE: u64 = 16;

/// A call: a function below its callers, and its line of `genba tree`.
pub const CALL_BYTES: u64 = 560;
/// A function, or a line of one, without its names.
pub const PLACE_BYTES: u64 = 1_200;
/// Names are kept so many times.
pub const NAME_COPIES: u64 = 6;
pub const SAMPLE_BYTES: u64 = 128;

#[derive(Clone, Copy, Debug)]
pub struct Room {
    max: u64,
    left: u64,
}

impl Room {
    pub fn of(file_bytes: usize) -> Room {
        Room::within(BYTES_MIN.saturating_add((file_bytes as u64).saturating_mul(BYTES_A_BYTE)))
    }

    pub fn of_compressed(file_bytes: usize, plain_bytes: usize) -> Room {
        Room::of(plain_bytes.min(file_bytes.saturating_mul(PLAIN_A_BYTE as usize)))
    }

    pub const fn within(max: u64) -> Room {
        Room { max, left: max }
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
        (Room { max: self.max, left: half }, Room { max: self.max, left: half })
    }

    pub const fn left(&self) -> u64 {
        self.left
    }

    pub fn refusal(&self) -> Refused {
        Refused::Unsupported(format!(
            "its stacks and functions need more than {} MB of memory, which is the most that genba takes here for a file of this size: genba pstats reads more of a .prof file; of stacks write fewer, or cut the deep ones",
            self.max / 1_000_000
        ))
    }
}
