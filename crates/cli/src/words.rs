//! What the command says, and reads, in words.
//! Owns: nothing itself. Never: knows of a verb.

pub mod commands;
pub mod durations;
pub mod failure;
pub mod memory_share;
pub mod numbers;
pub mod of_others;
pub mod pids;
pub mod progress;
pub mod refused;
pub mod tags;
