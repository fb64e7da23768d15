//! CPython's structures: which version it is, where things lie in it, which thread states are a thread's, the walk over its frames, and their
//! place among the C frames (`merge`).
//! Generic over `Memory` and `Symbols`, so that the handler, the sampler and a reader of another process share it.
//! Never: has a static, asks the dynamic linker, makes a system call. What the handler runs of it is generic or inline, so that it
//! is compiled with the handler's crate (`cargo xtask handler`; I-04).
//! Feature `std`: finding and checking an interpreter, and lists of all its thread states. They hold text and tables; the handler's crate is
//! compiled without them.
#![cfg_attr(not(any(test, feature = "std")), no_std)]

#[cfg(feature = "std")]
pub mod check;
pub mod code_capture;
#[cfg(feature = "std")]
pub mod find;
#[cfg(feature = "std")]
pub mod interpreter;
pub mod layout;
#[cfg(feature = "std")]
pub mod lists;
pub mod memory;
pub mod stack;
pub mod symbols;
pub mod thread_states;
pub mod waits;
