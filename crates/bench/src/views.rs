//! What a person reads.
//! Never: decides anything.

pub mod page;
mod ratios;
pub mod report;
mod start_up;
mod strips;
