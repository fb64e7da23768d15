//! The CPython in a process: where it is, and what its threads do.
//! Owns: nothing itself. Never: reads the process but by `kernel`.

pub mod c_stack;
pub mod codes;
pub mod interpreter;
pub mod look;
pub mod objects;
mod sizes;
pub mod snapshot;
mod typed_text;
