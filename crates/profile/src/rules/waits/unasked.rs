//! Threads that cannot be asked for their stacks: they block the signal that asks them, as a library that masks all signals in its threads
//! does, or the program has that signal for itself.
//! Owns: which threads these are, and how much CPU of theirs is in no sample. Never: says what is to be done about it.

use std::collections::BTreeMap;

use foldhash::HashMap;

use crate::tables::profile::{Mark, MarkKind, Process, ProcessIndex, Profile, Thread, ThreadIndex};

/// The agent's word for a tick at which the program had the signal for itself.
pub const SIGNAL_TAKEN: &str = "signal taken";

/// Each once, with its CPU that is in no sample. A mark names the last thread of its number that had begun.
pub fn masked_threads(profile: &Profile) -> BTreeMap<ThreadIndex, (&Thread, u64)> {
    let marks = || profile.marks.iter().filter(|mark| mark.kind == MarkKind::Masked);
    let mut of_number: HashMap<_, Vec<_>> = marks().map(|mark| ((mark.process, mark.value), Vec::new())).collect();
    // There may be very many threads, and hardly ever a mark.
    if of_number.is_empty() {
        return BTreeMap::new();
    }
    for (index, thread) in profile.threads.enumerate() {
        if let Some(threads) = of_number.get_mut(&(thread.process, thread.tid.map(u64::from))) {
            threads.push((index, thread));
        }
    }
    let of_mark = |mark: &Mark| {
        let Mark { process, value, at_ns, .. } = *mark;
        let had_begun = |thread: &Thread| thread.start_ns.is_none_or(|start_ns| start_ns <= at_ns);
        let begun = of_number.get(&(process, value))?.iter().filter(|(_, thread)| had_begun(thread));
        let &(index, thread) = begun.max_by_key(|(_, thread)| thread.start_ns)?;
        Some((index, (thread, thread.cpu_not_sampled_ns.filter(|_| !thread.is_genba_s())?)))
    };
    marks().filter_map(of_mark).collect()
}

pub fn masked_ns(profile: &Profile) -> u64 {
    masked_threads(profile).values().fold(0, |sum, (_, unseen_ns)| sum.saturating_add(*unseen_ns))
}

/// CPU in no sample of processes that took the signal, where most of their lost ticks were lost to that.
pub fn taken_ns(profile: &Profile) -> u64 {
    let took = |process: &Process| {
        let taken = process.accounting.refused.get(SIGNAL_TAKEN).copied().unwrap_or(0);
        u128::from(taken) * 2 > u128::from(process.accounting.lost())
    };
    let masked = masked_threads(profile);
    let own_masked_ns = |index: ProcessIndex| {
        let own = masked.values().filter(|(thread, _)| thread.process == index);
        own.fold(0_u64, |sum, (_, unseen_ns)| sum.saturating_add(*unseen_ns))
    };
    let taken = profile.processes.enumerate().filter(|(_, process)| took(process));
    taken.fold(0, |sum, (index, process)| {
        let otherwise_ns = process.clocks.cpu_before_ns.saturating_add(own_masked_ns(index));
        sum.saturating_add(process.clocks.cpu_not_sampled_ns.saturating_sub(otherwise_ns))
    })
}
