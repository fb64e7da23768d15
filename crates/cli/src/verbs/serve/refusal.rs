//! A problem of the server as the failure of a command.

use genba_server::Problem;

use crate::words::failure::Failure;

/// The server's words as a command's.
pub fn failure(problem: Problem) -> Failure {
    let failure = match problem.status {
        400 | 401 => Failure::usage(problem.title),
        _ => Failure::no(problem.title),
    };
    let failure = problem.detail.into_iter().fold(failure, Failure::detail);
    problem.hint.into_iter().fold(failure, Failure::hint)
}
