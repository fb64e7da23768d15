//! Recordings of other profilers: from their bytes to a recording of genba's, in memory, so that every view reads it unchanged.
//! Owns: which files are known, by their content. Never: opens a file, panics on what it reads, invents a clock or a state that the file
//! does not tell.
//! Keeps: memory is bounded by the bytes of the file (`room.rs`), also where they are compressed (`compressed.rs`).
#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod builder;
mod collapsed;
mod compressed;
mod prof;
mod room;
mod traced;
mod vmprof;

use std::fmt;

pub use room::COUNTS_BYTES_MIN;
pub use traced::{Counts, profs, traced, traced_within};

use genba_format::{MAGIC, Recording};

use crate::room::Size;

/// All kinds of files that are read, for errors and help.
pub const KINDS: &str =
    "recordings of genba, logs of vmprof (plain, gzip or bz2), .prof files and collapsed stacks (`a;b;c 12`)";

/// A file of another profiler, as a recording.
#[derive(Debug)]
pub struct Imported {
    pub recording: Recording,
    /// Where it is from and what a sample stands for: `imported from vmprof (log format 7): …`.
    pub words: String,
    /// What the file does not tell, for whoever wants to check it.
    pub unknown: String,
    /// One sentence for each thing that is wrong with the file. What is intact was read.
    pub faults: Vec<String>,
    /// What a reader should know though nothing is wrong with the file: that the program was killed.
    pub notes: Vec<String>,
    /// Why the samples have no order in time; none: they have one.
    pub timeless: Option<&'static str>,
    /// A sample is one call, and each call was counted: no share is uncertain.
    pub counts_calls: bool,
}

/// Why a file is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// None of the kinds that are known; `begins` are the first bytes (at most 8).
    Unknown { begins: Vec<u8> },
    /// Known, and not read: which one.
    Unsupported(String),
    /// It needs more memory than the caller gives, which is less than a file of its size may take.
    TooLarge { most_bytes: u64 },
    /// Known, and nothing of it can be trusted.
    Damaged { kind: &'static str, byte: u64, expected: String, found: String },
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Unknown { begins } => {
                write!(f, "it begins with \"{}\"; genba reads {KINDS}", begins.escape_ascii())
            }
            Refused::Unsupported(what) => f.write_str(what),
            Refused::TooLarge { most_bytes } => {
                let most = most_bytes / 1_000_000;
                write!(f, "it needs more than {most} MB of memory, the most that genba takes of what is left here")
            }
            Refused::Damaged { kind, byte, expected, found } => {
                write!(f, "{kind}, damaged at byte {byte}: expected {expected}, found {found}")
            }
        }
    }
}

impl std::error::Error for Refused {}

/// Reads the file whatever its name is.
pub fn read(bytes: &[u8]) -> Result<Imported, Refused> {
    read_within(bytes, u64::MAX)
}

/// `most_bytes`: of memory, where that is less than a file of its size may take.
pub fn read_within(bytes: &[u8], most_bytes: u64) -> Result<Imported, Refused> {
    let Some(plain) = compressed::decompress(bytes)? else {
        return read_plain(bytes, Size { most_bytes, ..Size::of(bytes) });
    };
    if plain.bytes.starts_with(&MAGIC) {
        let words = "a recording of genba that was compressed: decompress it first; its blocks are compressed already";
        return Err(Refused::Unsupported(words.to_owned()));
    }
    let size = Size { stored_bytes: Some(bytes.len() as u64), most_bytes, ..Size::of(&plain.bytes) };
    let mut imported = read_plain(&plain.bytes, size)?;
    imported.faults.extend(plain.fault);
    Ok(imported)
}

fn read_plain(bytes: &[u8], size: Size) -> Result<Imported, Refused> {
    if vmprof::is_log(bytes)? {
        return vmprof::read(bytes, size.room());
    }
    if genba_pstats::is_prof(bytes) {
        return prof::read(bytes, size.room());
    }
    if collapsed::is_collapsed(bytes) {
        return collapsed::read(bytes, size.room());
    }
    Err(Refused::Unknown { begins: bytes.iter().take(8).copied().collect() })
}
