//! What the parent of a program needs of the kernel, and a command without `unsafe` cannot ask: how it was started itself, a program started in
//! the same way, signals with their origin and their value, the news of every child, and what libc does to read a clock; for `genba serve` what it
//! does with freed memory.
//! Owns: those system calls. Never: decides what becomes of a signal or of a child (crates/cli/src/verbs/run does).

mod beginning;
mod children;
mod clocks;
mod memory;
mod signals;

pub use beginning::{start, was_ignored};
pub use children::{News, next_news, reap, take_stop};
pub use clocks::Clock;
pub use memory::give_large_pieces_back;
pub use signals::{Arrived, Mask, Origin, next_signal, unblock_stops};
