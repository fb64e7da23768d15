//! Exact counts: every call of every function, as cProfile counts them, for `genba trace`. Nothing is sampled in such a process.
//! Owns: the counts of this process, and the file that they go to. Never: runs beside a sampler; prints; touches the counts without the GIL
//! of the main interpreter, which is the one lock that they have.
//!
//! | when                                     | what happens                                                        |
//! |------------------------------------------|---------------------------------------------------------------------|
//! | the library is loaded                    | an audit hook waits for the program's first instruction             |
//! | the interpreter is about to run it       | callbacks are installed: sys.monitoring's, on 3.11 a profile function |
//! | the program's outermost frame is left    | the main thread is not counted any more; other threads are          |
//! | the process ends, or becomes another one | the counts go into the file                                         |
//! | `genba.trace` in a program (within.rs)   | callbacks are installed, and taken away at the end of its block     |

mod beside;
mod callbacks;
mod clock;
mod counts;
mod file;
mod functions;
mod hook;
mod monitoring;
mod names;
mod profile_function;
mod tracer;
pub mod within;

pub use file::{end, is_on};
pub use hook::begin;
