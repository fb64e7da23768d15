//! What a person reads.
//! Never: decides anything.

mod ratios;
pub mod report;
mod start_up;
mod strips;
