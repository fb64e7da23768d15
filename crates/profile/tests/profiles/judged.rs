//! The verdict on a recording that is written down, with its lines.
use expect_test::Expect;
use genba_profile::build::{Additions, profile};
use genba_profile::verdict::verdict;

use crate::notation;

pub fn check(recording: &str, expected: Expect) {
    let profile = profile(&notation::recording(recording), &Additions::default());
    let verdict = verdict(&profile);
    let said = verdict.said(&profile);
    let lines = [format!("{}: {}\n", verdict.reason.name(), said.first)];
    let details = said.details.iter().map(|detail| format!("{detail}\n"));
    expected.assert_eq(&lines.into_iter().chain(details).collect::<String>());
}

pub const PROCESS: &str = "process 7 3.13.0\n";

/// Samples of as many expressions, each of `each` samples and in a function of its own.
pub fn expressions(count: usize, each: usize) -> String {
    (1..=count).map(|line| format!("f{line}@app.py:{line}[4-9] x{each}\n")).collect()
}
