//! How a name is written for people.
//! Owns: the rules for C++, Rust and compiled Python, and the words of its slots. Never: reads a file.

pub mod compiled_python;
pub mod demangle;
pub mod slots;
pub mod spelling;
