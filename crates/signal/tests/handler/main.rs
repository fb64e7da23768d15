//! The handler's parts, over memory and stacks made of words. One subject a file. What the whole process shares has a target of its own:
//! the way out of the JIT's code (jit.rs) and the handlers of signals (restarted_calls.rs).

mod deposits;
#[path = "../../../python/tests/structures/layouts.rs"]
mod layouts;
mod requests;
mod stale;
mod unwinding;
mod walk_memory;
