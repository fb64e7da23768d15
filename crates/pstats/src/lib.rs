//! `.prof` files, as cProfile and profile write them: from their bytes to what pstats shows of them, in the same words.
//! Owns: the functions, callers, counts and times of such files, sums of several, their order, and what is printed. Never: opens a file
//! (whoever runs the browser does), panics on what it reads, makes a call tree of functions and callers.
//! Keeps: memory is bounded by the bytes of the file.
//! Source: CPython 3.13, Lib/pstats.py, Lib/cmd.py and Lib/re/_parser.py; Python/marshal.c of 2.7 and 3.6 to 3.15.
#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod browser;
mod difference;
mod expression;
mod functions;
mod marshal;
mod pairing;
mod prof;
mod restriction;
mod sort;
mod stats;
mod text;

pub use browser::{Browser, Completion, Loading, NotLoaded, Purpose, completion};
pub use difference::{Difference, Order, difference};
pub use functions::{Awaits, Callers, Function, FunctionId, Functions, Prof, Row, Timing};
pub use marshal::Damaged;
pub use prof::{is_prof, read, read_within};
pub use restriction::{OutOfRange, Restriction};
pub use sort::UnknownKey;
pub use stats::Stats;
pub use text::Listing;
