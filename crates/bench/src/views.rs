//! What a person reads.
//! Never: decides anything.

pub mod report;
mod start_up;
mod strips;
