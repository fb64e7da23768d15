//! What a recording's garbage collections come to: how much time, where they ran, what they gained, and what would spare the program some.
//! Owns: the sums, the place of a collection, the advice. Never: says what caused a collection: from CPython 3.12 on it runs where the
//! interpreter's loop next looks, which is behind the allocation that made it due. Keeps: each advice follows from numbers of the recording.

use std::collections::{BTreeMap, BTreeSet};

use crate::tables::own_code::event_loop::EventLoop;
use crate::tables::own_code::own_code;
use crate::tables::profile::{
    Collection, Collector, FileIndex, FrameIndex, FunctionIndex, Home, MarkKind, NodeIndex, ProcessIndex, Profile,
    Reason,
};

/// Sums over some collections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    pub collections: u64,
    pub pause_ns: u64,
    pub longest_ns: u64,
    /// None: at least one of them does not tell.
    pub examined: Option<u64>,
    pub collected: u64,
    pub uncollectable: u64,
}

impl Sum {
    fn add(&mut self, row: &Collection) {
        self.examined = match (self.examined, row.examined, self.collections) {
            (_, examined, 0) => examined,
            (Some(sum), Some(examined), _) => Some(sum.saturating_add(examined)),
            _ => None,
        };
        self.collections += 1;
        self.pause_ns = self.pause_ns.saturating_add(row.pause_ns);
        self.longest_ns = self.longest_ns.max(row.pause_ns);
        self.collected = self.collected.saturating_add(row.collected);
        self.uncollectable = self.uncollectable.saturating_add(row.uncollectable);
    }
}

/// The line of the user's own code under which a collection ran; of other code where there is none of the user's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub file: FileIndex,
    pub line: u32,
    pub function: FunctionIndex,
}

/// The collections that a threshold can spare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spared {
    pub collections: u64,
    pub pause_ns: u64,
    /// So many of them the interpreter may not have begun: nothing tells who did.
    pub unknown: u64,
}

/// What follows for the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Advice {
    /// This threshold may spare all collections that the interpreter began. `waiting_bytes`: what would have waited.
    Threshold { threshold: u64, of: Spared, young: u64, collected: u64, waiting_bytes: u64 },
    /// A threshold that may spare all would be too high; with this one about one in `one_in` would still run, and look at as many times more.
    /// `full`: those of `of` that look at all objects.
    HigherThreshold { threshold: u64, one_in: u64, of: Spared, full: Spared, waiting_bytes: u64 },
    /// The garbage is real: collect it when nobody waits. The collections and pauses are those at places where much of it was freed.
    BetweenRequests { collections: u64, pause_ns: u64, longest_ns: u64, collected: u64 },
    /// Cycles that the program makes all the time can be broken instead.
    BreakCycles { collected: u64 },
    /// Full collections look at objects that stay, in processes that have forked and in the children.
    Freeze { collections: u64, pause_ns: u64, examined: u64 },
}

#[derive(Debug, Default)]
pub struct Summary {
    pub all: Sum,
    pub by_generation: BTreeMap<u32, Sum>,
    pub by_reason: BTreeMap<Reason, Sum>,
    /// The largest pause first. None: no Python code is known.
    pub by_place: Vec<(Option<Place>, Sum)>,
    /// Row of `Profile::collections`.
    pub worst: Option<usize>,
    /// Wall time of the processes whose collections were recorded.
    pub wall_ns: u64,
    pub before: u64,
    pub lost: u64,
    pub is_incremental: bool,
    pub advice: Vec<Advice>,
}

/// For each collection, its place.
pub fn places(profile: &Profile) -> Vec<Option<Place>> {
    let event_loop = EventLoop::of(profile);
    let mut known: BTreeMap<NodeIndex, Option<Place>> = BTreeMap::new();
    let rows = profile.collections.iter().map(|row| {
        let node = row.node?;
        *known.entry(node).or_insert_with(|| place(profile, own_code(profile, &event_loop, Some(node)).deepest?))
    });
    rows.collect()
}

fn place(profile: &Profile, frame: FrameIndex) -> Option<Place> {
    let function = profile.frames[frame].function;
    let Home::Python { file, first_line, .. } = profile.functions[function].home else { return None };
    let line = profile.frames[frame].location.map_or(first_line, |location| location.line);
    Some(Place { file, line, function })
}

/// Why there are none although they were asked for, as the agents noted it.
pub fn why_none(profile: &Profile) -> Vec<&str> {
    const NOTE: &str = "garbage collections are not recorded: ";
    let notes = profile.marks.iter().filter(|mark| mark.kind == MarkKind::Note);
    let mut found: Vec<&str> = notes.filter_map(|mark| mark.text.as_deref()?.strip_prefix(NOTE)).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// None: the recording has nothing of collections.
pub fn summary(profile: &Profile) -> Option<Summary> {
    if profile.collectors.is_empty() && profile.collections.is_empty() {
        return None;
    }
    let mut summary = Summary::default();
    let mut by_place: BTreeMap<Option<Place>, Sum> = BTreeMap::new();
    let places = places(profile);
    for (position, (row, place)) in profile.collections.iter().zip(&places).enumerate() {
        summary.all.add(row);
        summary.by_generation.entry(row.generation).or_default().add(row);
        summary.by_reason.entry(row.reason).or_default().add(row);
        by_place.entry(*place).or_default().add(row);
        let longest_ns = summary.worst.map_or(0, |worst| profile.collections[worst].pause_ns);
        if summary.worst.is_none() || row.pause_ns > longest_ns {
            summary.worst = Some(position);
        }
    }
    summary.by_place = by_place.into_iter().collect();
    summary.by_place.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.pause_ns));
    for collector in &profile.collectors {
        summary.wall_ns = summary.wall_ns.saturating_add(profile.processes[collector.process].wall_ns);
        summary.lost = summary.lost.saturating_add(collector.lost);
        summary.is_incremental |= collector.is_incremental;
    }
    summary.before = before(profile);
    summary.advice = advice(profile, &places);
    Some(summary)
}

/// How many are in no row because they ran before the first one that could be recorded. A forked child counts on from its parent's, and
/// these are in the parent's rows, or among those that the parent counts as not recorded.
fn before(profile: &Profile) -> u64 {
    let count = |collector: &Collector| collector.before.iter().fold(0_u64, |sum, count| sum.saturating_add(*count));
    let mut begun_ns: BTreeMap<ProcessIndex, Vec<u64>> = BTreeMap::new();
    for row in &profile.collections {
        begun_ns.entry(row.process).or_default().push(row.at_ns);
    }
    begun_ns.values_mut().for_each(|begun_ns| begun_ns.sort_unstable());
    let collector_of: BTreeMap<ProcessIndex, &Collector> =
        profile.collectors.iter().map(|collector| (collector.process, collector)).collect();
    let inherited = |collector: &Collector| {
        let process = &profile.processes[collector.process];
        let parent = collector_of.get(&process.parent.filter(|_| process.is_forked)?)?;
        let rows = begun_ns.get(&parent.process).map_or(0, |of| of.partition_point(|at_ns| *at_ns < process.start_ns));
        Some(count(parent).saturating_add(parent.lost).saturating_add(rows as u64))
    };
    profile.collectors.iter().fold(0, |sum, collector| {
        sum.saturating_add(count(collector).saturating_sub(inherited(collector).unwrap_or(0)))
    })
}

/// A threshold up to here is one that somebody would set.
const THRESHOLD_MAX: u64 = 1_000_000;
/// What a higher threshold multiplies the present one by.
const TIMES: u64 = 10;
/// Full collections that look at fewer objects than that are cheap.
const EXAMINED_MIN: u64 = 10_000;

/// So many bytes a container and what hangs off it are taken for: an instance with attributes or a small dict. Recordings hold none.
pub const GARBAGE_BYTES: u64 = 200;

/// Garbage that is a smaller part of the objects that the interpreter counted is what any program leaves when it imports.
const GARBAGE_ONE_IN: u64 = 100;

/// `places`: of each collection.
fn advice(profile: &Profile, places: &[Option<Place>]) -> Vec<Advice> {
    let (mut own, mut unknown, mut full) = (Sum::default(), Sum::default(), Sum::default());
    let mut own_at: BTreeMap<Option<Place>, Freed> = BTreeMap::new();
    let mut counters: BTreeMap<ProcessIndex, Counters> = BTreeMap::new();
    for (row, place) in profile.collections.iter().zip(places) {
        match row.reason {
            Reason::Threshold => {
                own.add(row);
                own_at.entry(*place).or_default().add(row);
            }
            // With a threshold of 0 the interpreter begins none.
            Reason::Unknown if row.threshold > 0 => unknown.add(row),
            _ => continue,
        }
        if row.generation >= 2 {
            full.add(row);
        }
        let of = counters.entry(row.process).or_default();
        of.young = of.young.saturating_add(row.young);
        of.collected = of.collected.saturating_add(row.collected);
        of.threshold = of.threshold.max(row.threshold);
    }
    let mut advice = Vec::new();
    let collections = own.collections + unknown.collections;
    if collections > 0 {
        let pause_ns = own.pause_ns.saturating_add(unknown.pause_ns);
        let full = Spared { collections: full.collections, pause_ns: full.pause_ns, unknown: 0 };
        advice.extend(of_threshold(Spared { collections, pause_ns, unknown: unknown.collections }, full, &counters));
    }
    advice.extend(of_garbage(&own_at));
    advice.extend(freeze(profile));
    advice
}

/// Of one process: sums of the collections that the interpreter began, or may have begun, and the largest threshold.
#[derive(Clone, Copy, Default)]
struct Counters {
    young: u64,
    collected: u64,
    threshold: u64,
}

impl Counters {
    /// How far the counter may come without these collections: as far as it had come each time, and once more as much as it may have come since.
    /// CPython keeps a part of the freed garbage and does not count objects that it makes of that again; without the collection it counts them.
    const fn whole(self) -> u64 {
        self.young.saturating_add(self.collected).saturating_add(self.threshold)
    }
}

/// A threshold that may spare the program those that the interpreter began.
fn of_threshold(of: Spared, full: Spared, counters: &BTreeMap<ProcessIndex, Counters>) -> Option<Advice> {
    let most = |number: fn(&Counters) -> u64| counters.values().map(number).max().unwrap_or(0);
    let threshold = most(|of| of.threshold);
    let enough = round_up(most(|of| of.whole()));
    if enough <= THRESHOLD_MAX {
        let collected = counters.values().fold(0_u64, |sum, of| sum.saturating_add(of.collected));
        let waiting_bytes = collected.saturating_mul(GARBAGE_BYTES);
        return Some(Advice::Threshold { threshold: enough, of, young: most(|of| of.young), collected, waiting_bytes });
    }
    let higher = threshold.saturating_mul(TIMES);
    // Between two collections, if all that is counted until then is garbage.
    let waiting_bytes = higher.saturating_mul(GARBAGE_BYTES);
    let is_one = threshold > 0 && higher <= THRESHOLD_MAX;
    is_one.then_some(Advice::HigherThreshold { threshold: higher, one_in: TIMES, of, full, waiting_bytes })
}

/// Of some collections: their sums, and what the interpreter's counters had reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Freed {
    sum: Sum,
    young: u64,
}

impl Freed {
    fn add(&mut self, row: &Collection) {
        self.sum.add(row);
        self.young = self.young.saturating_add(row.young);
    }

    pub const fn collected(&self) -> u64 {
        self.sum.collected
    }

    pub const fn is_much(&self) -> bool {
        let counted = if self.young == 0 { 1 } else { self.young };
        self.sum.collected.saturating_mul(GARBAGE_ONE_IN) >= counted
    }
}

/// By the collections that the interpreter began while the program ran. None: none was recorded.
pub fn freed(profile: &Profile) -> Option<Freed> {
    let mut freed = Freed::default();
    profile.collections.iter().filter(|row| row.reason == Reason::Threshold).for_each(|row| freed.add(row));
    (freed.sum.collections > 0).then_some(freed)
}

/// Where they freed much. Those at a place where hardly anything was garbage are in no sum of the pauses: they may run before the first request.
fn of_garbage(own_at: &BTreeMap<Option<Place>, Freed>) -> Vec<Advice> {
    let (mut all, mut pauses) = (Freed::default(), Sum::default());
    for at in own_at.values() {
        all.sum.collected = all.sum.collected.saturating_add(at.sum.collected);
        all.young = all.young.saturating_add(at.young);
        if at.is_much() {
            pauses.collections += at.sum.collections;
            pauses.pause_ns = pauses.pause_ns.saturating_add(at.sum.pause_ns);
            pauses.longest_ns = pauses.longest_ns.max(at.sum.longest_ns);
        }
    }
    if !all.is_much() {
        return Vec::new();
    }
    let (Sum { collections, pause_ns, longest_ns, .. }, collected) = (pauses, all.sum.collected);
    vec![Advice::BetweenRequests { collections, pause_ns, longest_ns, collected }, Advice::BreakCycles { collected }]
}

/// Whoever began them: the full collections of forked children, and of their parents from the first fork on.
fn freeze(profile: &Profile) -> Option<Advice> {
    let marked = profile.marks.iter().filter(|mark| mark.kind == MarkKind::Exec).map(|mark| mark.process);
    let became_another = marked.filter(|process| profile.became_another(*process));
    // Another program has none of the parent's objects.
    let left: BTreeSet<ProcessIndex> =
        profile.processes.iter().filter_map(|process| process.exec_of).chain(became_another).collect();
    let mut from_ns: BTreeMap<ProcessIndex, u64> = BTreeMap::new();
    for (index, process) in profile.processes.enumerate() {
        let Some(parent) = process.parent.filter(|_| process.is_forked && !left.contains(&index)) else { continue };
        from_ns.insert(index, 0);
        let of_parent = from_ns.entry(parent).or_insert(process.start_ns);
        *of_parent = (*of_parent).min(process.start_ns);
    }
    let mut full = Sum::default();
    for row in profile.collections.iter().filter(|row| row.generation >= 2) {
        if from_ns.get(&row.process).is_some_and(|from_ns| row.at_ns >= *from_ns) {
            full.add(row);
        }
    }
    let Sum { collections, pause_ns, collected, .. } = full;
    let examined = full.examined?;
    let stay = examined >= EXAMINED_MIN.saturating_mul(collections) && collected < examined / TIMES;
    stay.then_some(Advice::Freeze { collections, pause_ns, examined })
}

/// 1, 2 or 5 and zeros, above the number.
fn round_up(number: u64) -> u64 {
    let mut power: u64 = 1;
    loop {
        for digit in [1, 2, 5] {
            let round = power.saturating_mul(digit);
            if round > number || round == u64::MAX {
                return round;
            }
        }
        power = power.saturating_mul(10);
    }
}

#[cfg(test)]
mod tests;
