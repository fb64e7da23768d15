//! From samples and tables to blocks in the file.
//! Never: asks a thread.

pub mod compressor;
pub mod outcomes;
pub mod reaped;
pub mod recorder;
pub mod tables;
pub mod time_stamps;
