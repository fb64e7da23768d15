//! From what a handler found, or the kernel says of a sleeping thread, to a stack and what it waits for.
//! Never: decides when a thread is asked.

pub mod cfi;
pub mod codes;
pub mod count_hooks;
pub mod modules;
pub mod stacks;
pub mod tail_calls;
pub mod waited_on;
