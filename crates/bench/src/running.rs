//! Processes: how one is started, timed and ended; the shell around commands; snippets of Python; the order of all runs.
//! Never: judges a number, lays out text.

pub mod commands;
mod counters;
pub mod instructions;
pub mod interrupt;
pub mod process;
pub mod rounds;
pub mod shell;
pub mod snippets;

use crate::words::refusal::Refusal;

/// Why a run gave no number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Ctrl-C.
    Interrupted,
    Refused(Refusal),
}

impl From<Refusal> for Ended {
    fn from(refusal: Refusal) -> Ended {
        Ended::Refused(refusal)
    }
}
