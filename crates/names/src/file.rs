//! What an ELF file says of itself: bytes, functions, symbols, debug information.
//! Owns: one file below for each table. Never: guesses.

pub mod cells;
pub mod elf;
pub mod extents;
pub mod inlined;
pub mod stubs;
pub mod symbols;
