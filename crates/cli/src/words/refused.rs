//! A refusal of crates/process as a failure of the command.

use genba_process::refusal::Refusal;

use super::failure::Failure;

/// What it is, its details, and what helps.
pub fn refused(refusal: &Refusal) -> Failure {
    let failure = Failure::no(refusal.to_string());
    refusal.details().into_iter().fold(failure, Failure::detail).hint(refusal.hint())
}
