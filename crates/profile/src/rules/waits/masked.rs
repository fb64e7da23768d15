//! Threads that block the signal which asks them for their stacks, as a library that masks all signals in its threads does.
//! Owns: which threads these are, and how much CPU of theirs is in no sample. Never: says what is to be done about it.

use crate::tables::profile::{Mark, MarkKind, Profile, Thread};

/// Each with its CPU that is in no sample.
pub fn threads(profile: &Profile) -> impl Iterator<Item = (&Thread, u64)> {
    let marks = profile.marks.iter().filter(|mark| mark.kind == MarkKind::Masked);
    marks.filter_map(|mark| thread_of(profile, mark))
}

pub fn unseen_ns(profile: &Profile) -> u64 {
    threads(profile).fold(0, |sum, (_, unseen_ns)| sum.saturating_add(unseen_ns))
}

/// The thread that a mark names, the last of this number that had begun, and its CPU that is in no sample.
fn thread_of<'p>(profile: &'p Profile, mark: &Mark) -> Option<(&'p Thread, u64)> {
    let of_mark = |thread: &&Thread| {
        thread.process == mark.process
            && thread.tid.map(u64::from) == mark.value
            && thread.start_ns.is_none_or(|start_ns| start_ns <= mark.at_ns)
    };
    let thread = profile.threads.iter().filter(of_mark).max_by_key(|thread| thread.start_ns)?;
    Some((thread, thread.cpu_not_sampled_ns.filter(|_| !thread.is_genba_s())?))
}
