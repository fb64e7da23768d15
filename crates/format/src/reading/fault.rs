//! What is wrong with a recording, as data: byte, block, field, expected, found. Advice is the command's.
//! Owns: the kinds of faults and their sentence. Never: decides what is kept.

use std::fmt;

use crate::framing::ProcessKey;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// Bytes that are no intact block, or a block whose content contradicts itself: it is left out.
    Damaged,
    /// The file ends within a block.
    Cut,
    /// The next block begins within a block, and its process wrote none after it: it was killed, or could write no more.
    Unfinished,
    /// Sequence numbers of a process key are missing.
    Lost,
    /// The same block stands twice; it is counted once. A warning.
    Duplicate,
    /// Written by a newer genba.
    TooNew,
}

/// One thing wrong in a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub kind: FaultKind,
    /// Offset in the file: where the field stands that is wrong, or where the bytes end.
    pub byte: u64,
    /// How many blocks with right checksums stand before `byte`: the number (from 0) of the block that is wrong.
    pub block: u64,
    /// Whose block it is, where an intact header says so.
    pub owner: Option<BlockName>,
    /// E.g. `magic`, `payload checksum`, `tables.nodes.parent[3]`.
    pub field: String,
    pub expected: String,
    pub found: String,
}

/// What tells one block from all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockName {
    pub process_key: ProcessKey,
    pub sequence: u64,
}

impl Fault {
    /// True where nothing is missing from the recording.
    pub fn is_warning(&self) -> bool {
        self.kind == FaultKind::Duplicate
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            FaultKind::Damaged => "damaged",
            FaultKind::Cut => "cut",
            FaultKind::Unfinished => "unfinished",
            FaultKind::Lost => "incomplete",
            FaultKind::Duplicate => "repeated",
            FaultKind::TooNew => "newer than this genba",
        };
        write!(
            f,
            "{what} at byte {} (block {}, field `{}`): expected {}, found {}",
            self.byte, self.block, self.field, self.expected, self.found
        )
    }
}

/// Bytes that hold no block of a recording at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotARecording {
    /// No byte at all: the recording was created and nothing was written to it.
    Empty,
    /// The magic stands nowhere; `begins` are the first bytes (at most 8).
    NoMagic { begins: Vec<u8> },
}

impl fmt::Display for NotARecording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotARecording::Empty => f.write_str("empty at byte 0: expected a block, found the end of the file"),
            NotARecording::NoMagic { begins } => write!(
                f,
                "not a recording at byte 0 (block 0, field `magic`): expected \"\\x89genba\\r\\n\", found \"{}\"",
                begins.escape_ascii()
            ),
        }
    }
}

impl std::error::Error for NotARecording {}
