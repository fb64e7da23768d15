//! What follows from the runs: which is fastest, which pairs differ, which command is slower than it may be.
//! Never: runs anything, lays out text.

pub mod findings;
