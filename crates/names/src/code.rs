//! What the instructions say.
//! Owns: who calls whom, and the names that follow. Never: runs one.

pub mod flow;
pub mod ifunc;
pub mod lineage;
