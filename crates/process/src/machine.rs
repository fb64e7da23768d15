//! What /proc and /sys say of the machine, and of the share of it that this process has.
//! Owns: nothing itself. Never: judges; reads a file other than below a root, so that a test may make one.

pub mod cgroups;
pub mod clock_source;
pub mod memory_left;
pub mod processors;
pub mod tree;
