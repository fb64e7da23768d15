//! What children of the program did, where `--no-children` left it out of some recordings.
//! Owns: the words about it. Never: counts a process of which nothing is compared.

use std::collections::BTreeSet;

use crate::tables::profile::{ProcessIndex, Profile};
use crate::words::figures::counted;

/// Of one recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Children {
    pub are_left_out: bool,
    /// Processes that have samples, of those that filters keep.
    pub sampled: usize,
}

impl Children {
    #[must_use]
    pub fn of(profile: &Profile) -> Children {
        let samples = profile.samples.iter().filter(|group| group.samples > 0 || group.wall_ns > 0);
        let sampled: BTreeSet<ProcessIndex> = samples.map(|group| profile.threads[group.thread].process).collect();
        let are_left_out = profile.processes.iter().any(|process| process.without_children);
        Children { are_left_out, sampled: sampled.len() }
    }
}

/// Some recordings have what children did, and others were told to leave it out. `before` and `after`: of each recording of a side.
#[must_use]
pub fn children_apart(before: &[Children], after: &[Children]) -> Option<String> {
    let all = || before.iter().chain(after);
    let most = all().filter(|children| !children.are_left_out).map(|children| children.sampled).max()?;
    let are_left_out = |side: &[Children]| side.iter().all(|children| children.are_left_out);
    let sides = match (are_left_out(before), are_left_out(after)) {
        (true, _) => ("A was", "B"),
        (_, true) => ("B was", "A"),
        _ => ("some recordings were", "another one"),
    };
    let is_told = most > 1 && all().any(|children| children.are_left_out);
    is_told.then(|| {
        let ((without, with), processes) = (sides, counted(most as u64, "process", "processes"));
        format!("{without} made with --no-children, {with} has samples of {processes}: record all in one way")
    })
}
