//! The files that a process has mapped.
//! Owns: nothing itself. Never: knows Python.

pub mod files;
pub mod symbols;
pub mod unwind;
