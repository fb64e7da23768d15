//! The recording: framing, writing, reading, recovering, and the two laws. FORMAT.md is its description.
//! Owns: every byte of a `.genba` file, and which words of a command line are kept out of it. Never: opens a file, asks a clock, prints, panics on what it reads.
//! Without the feature `read` only the writing half is here: what the agent needs inside the program.
#![forbid(unsafe_code)]

#[cfg(feature = "read")]
mod compress;
pub mod context;
mod framing;
pub mod masking;
pub mod measure;
mod planes;
pub mod proto;
#[cfg(feature = "read")]
mod reading;
pub mod state;

pub use framing::{
    BlockHeader, HEADER_BYTES, MAGIC, NO_SINGLE_THREAD, PLAIN_BYTES_MAX, ProcessKey, QUANTUM_NS, TooLarge, VERSION,
    encode_block,
};

/// Stands for the file of a function of which no file is told: recordings of other profilers have such functions.
pub const NO_FILE: &str = "<no file>";

/// `Recorder.exit_code` of a command that did not wait for its program's end: the program goes on, or another process asked for its code.
pub const UNKNOWN_EXIT_CODE: i32 = -1;

#[cfg(feature = "read")]
pub use compress::compress;
#[cfg(feature = "read")]
pub use reading::{
    BlockName, Event, Fault, FaultKind, LostBlocks, NotARecording, Order, ReadBlock, Reader, Recording, columns, laws,
    read,
};
