//! Another process, looked at from outside: what /proc says, its memory, the symbols of its files, the CPython in it.
//! Owns: the refusals and their words. Never: writes the other process's memory, prints, ends the command.
//! Needs no help of the other process: it may be blocked, in another container, or about to end.
#![forbid(unsafe_code)]

mod elf;
mod kernel;
mod machine;
mod python;

pub use elf::{files, symbols};
pub use kernel::stopped::tracer;
pub use kernel::{
    core_file, counted_calls, facts, identity, maps, memory, refusal, registers, rights, rules, stopped, threads,
};
pub use machine::{cgroups, clock_source, memory_left, processors, tree};
pub use python::{c_stack, codes, interpreter, look, objects, snapshot};
