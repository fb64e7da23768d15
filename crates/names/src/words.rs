//! How a name is written for people.
//! Owns: the rules for C++, Rust and compiled Python. Never: reads a file.

pub mod compiled_python;
pub mod demangle;
pub mod spelling;
