//! A profile: tables made from recordings, and every view of them. Pure: bytes and tables in, text and tables out.
//! Never: opens a file, asks a clock or the environment, prints, starts a thread. The caller owns all of these.
//! Begin at `profile` (the tables), `build` (recording to tables) and `report` (the first view).
#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod making;
mod rules;
mod tables;
mod views;
mod words;

pub use making::{build, cpu_over_time, growing, joined, near_hits, rare};
pub use rules::verdict::{clock_calls, not_followed};
pub use rules::{difference, filter, nameless, pace, phase, reading, show, verdict, warnings, weight};
pub use tables::{hits, locations, owner, profile, source_text, state, table, window};
pub use views::difference as difference_view;
pub use views::{collections, export, heaps, integrity, lines, live, memory, report, summary, tree};
pub use words::{figures, glob, paint, shell, wrap};
