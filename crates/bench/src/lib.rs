//! Commands and Python snippets, measured in turns, and whether they differ. `genba bench` is this crate behind a command line.
//! Owns: how something is started and timed, the order of runs, the statistics, the screen, the exported files. Never: prints; decides an exit
//! code; reads the command line.
//! Begin at `rounds` (the order of runs), `comparison` (whether they differ) and `report` (the screen).
#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod files;
mod judging;
mod running;
mod statistics;
mod subjects;
mod views;
mod words;

pub use files::{csv, json, tables};
pub use judging::findings;
pub use running::{Ended, commands, instructions, interrupt, process, rounds, shell, snippets};
pub use statistics::{comparison, earlier, needed, summary};
pub use subjects::{lines, measured, scan};
pub use views::{page, report};
pub use words::{refusal, units};
