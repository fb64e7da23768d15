//! What the kernel and the C library are asked, and the program's signals and stacks.
//! Never: knows CPython, a recording or the sampler.

pub mod alternate;
pub mod descriptor;
pub mod errno;
pub mod own_ids;
pub mod proc;
pub mod programs;
pub mod real;
pub mod sampler_stack;
pub mod signals;
pub mod symbols;
pub mod tasks;
pub mod threads;
