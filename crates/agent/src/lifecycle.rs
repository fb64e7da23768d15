//! The sampler's comings and goings: load, fork, exec, exit.
//! Owns: one file below for each subject. Never: lets a fork happen while the sampler runs (unless that is held up), keeps the program
//! waiting longer than their bounds, panics into the program. Partner: life.rs has the states.

pub mod awaited;
mod beginning;
mod ending;
mod forks;
mod last_thread;
mod loading;
mod orders;
pub mod start_block;
mod thread;

pub use beginning::begin;
pub use ending::{end, end_before_exit, on_unload};
pub use loading::{announce, on_load};
pub use orders::{alone, exec_failed, flush, flush_before_exec, own_stack, paused};
