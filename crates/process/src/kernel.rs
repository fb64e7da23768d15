//! What the kernel tells about a process and its threads, and what it lets genba do with them.
//! Owns: nothing itself. Never: knows ELF or Python.

pub mod core_file;
pub mod counted_calls;
pub mod facts;
pub mod identity;
pub mod maps;
pub mod memory;
pub mod refusal;
pub mod registers;
pub mod rights;
pub mod rules;
pub mod stopped;
pub mod threads;
