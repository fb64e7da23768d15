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
    /// A threshold that may spare all would be too high; with this one about one in `one_in` would still run.
    HigherThreshold { threshold: u64, one_in: u64, of: Spared, waiting_bytes: u64 },
    /// The garbage is real: collect it when nobody waits.
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
    for (position, (row, place)) in profile.collections.iter().zip(places(profile)).enumerate() {
        summary.all.add(row);
        summary.by_generation.entry(row.generation).or_default().add(row);
        summary.by_reason.entry(row.reason).or_default().add(row);
        by_place.entry(place).or_default().add(row);
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
    summary.advice = advice(profile);
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

fn advice(profile: &Profile) -> Vec<Advice> {
    let (mut own, mut own_young, mut unknown) = (Sum::default(), 0_u64, Sum::default());
    let mut counters: BTreeMap<ProcessIndex, Counters> = BTreeMap::new();
    for row in &profile.collections {
        match row.reason {
            Reason::Threshold => {
                own.add(row);
                own_young = own_young.saturating_add(row.young);
            }
            // With a threshold of 0 the interpreter begins none.
            Reason::Unknown if row.threshold > 0 => unknown.add(row),
            _ => continue,
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
        advice.extend(of_threshold(Spared { collections, pause_ns, unknown: unknown.collections }, &counters));
    }
    if own.collections > 0 {
        advice.extend(of_garbage(&own, own_young));
    }
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
fn of_threshold(of: Spared, counters: &BTreeMap<ProcessIndex, Counters>) -> Option<Advice> {
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
    is_one.then_some(Advice::HigherThreshold { threshold: higher, one_in: TIMES, of, waiting_bytes })
}

/// Where they freed much.
fn of_garbage(own: &Sum, counted: u64) -> Vec<Advice> {
    let Sum { collections, pause_ns, longest_ns, collected, .. } = *own;
    if collected.saturating_mul(GARBAGE_ONE_IN) < counted.max(1) {
        return Vec::new();
    }
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
mod tests {
    use super::*;
    use crate::tables::profile::{Mark, Process};

    fn row(reason: Reason, generation: u32, pause_ns: u64, collected: u64) -> Collection {
        Collection {
            process: ProcessIndex::new(0),
            thread: None,
            node: None,
            at_ns: 0,
            pause_ns,
            generation,
            reason,
            examined: (generation < 3).then_some(20_000),
            collected,
            uncollectable: 0,
            young: 701,
            threshold: 700,
        }
    }

    use crate::tables::table::TableIndex;

    fn profile(rows: Vec<Collection>) -> Profile {
        let mut profile = Profile { collections: rows, ..Profile::default() };
        let process = profile.processes.push(Process { wall_ns: 1_000, ..Process::default() });
        let collector = Collector { process, before: vec![5, 1, 0], lost: 2, is_incremental: false };
        profile.collectors.push(collector);
        profile
    }

    #[test]
    fn sums_tell_what_each_collection_told() {
        let rows =
            vec![row(Reason::Threshold, 0, 10, 0), row(Reason::Explicit, 2, 30, 7), row(Reason::Threshold, 0, 20, 1)];
        let summary = summary(&profile(rows)).unwrap();
        assert_eq!((summary.all.collections, summary.all.pause_ns, summary.all.longest_ns), (3, 60, 30));
        assert_eq!((summary.all.examined, summary.all.collected), (Some(60_000), 8));
        assert_eq!((summary.worst, summary.before, summary.lost, summary.wall_ns), (Some(1), 6, 2, 1_000));
        assert_eq!(summary.by_generation[&0].collections, 2);
        assert_eq!(summary.by_reason[&Reason::Explicit].pause_ns, 30);
        assert_eq!(summary.by_place, [(None, summary.all)]);
    }

    #[test]
    fn one_that_does_not_tell_what_it_examined_takes_the_sum_away() {
        let rows =
            vec![row(Reason::Threshold, 0, 1, 0), row(Reason::Threshold, 3, 1, 0), row(Reason::Threshold, 0, 1, 0)];
        assert_eq!(summary(&profile(rows)).unwrap().all.examined, None);
    }

    #[test]
    fn why_there_are_none_is_what_the_agents_noted() {
        let mark = |kind, text: &str| Mark {
            process: ProcessIndex::new(0),
            at_ns: 0,
            kind,
            text: Some(text.to_owned()),
            value: None,
        };
        let mut profile = Profile::default();
        let note = "garbage collections are not recorded: no list";
        profile.marks = vec![
            mark(MarkKind::Note, note),
            mark(MarkKind::Note, "something else"),
            mark(MarkKind::Program, note),
            mark(MarkKind::Note, note),
        ];
        assert_eq!(why_none(&profile), ["no list"]);
        assert!(why_none(&Profile::default()).is_empty());
    }

    #[test]
    fn nothing_is_said_where_nothing_was_recorded() {
        assert!(summary(&Profile::default()).is_none());
        assert_eq!(summary(&profile(Vec::new())).unwrap().all, Sum::default());
    }

    #[test]
    fn a_threshold_is_above_all_that_was_counted() {
        let rows =
            vec![row(Reason::Threshold, 0, 10, 0), row(Reason::Explicit, 2, 30, 0), row(Reason::Threshold, 0, 20, 0)];
        let of = Spared { collections: 2, pause_ns: 30, unknown: 0 };
        let threshold = Advice::Threshold { threshold: 5_000, of, young: 1_402, collected: 0, waiting_bytes: 0 };
        assert_eq!(advice(&profile(rows)), [threshold]);
        let many = vec![row(Reason::Threshold, 0, 10, 8); 2_000];
        assert_eq!(
            advice(&profile(many)),
            [
                Advice::HigherThreshold {
                    threshold: 7_000,
                    one_in: 10,
                    of: Spared { collections: 2_000, pause_ns: 20_000, unknown: 0 },
                    waiting_bytes: 1_400_000,
                },
                Advice::BetweenRequests { collections: 2_000, pause_ns: 20_000, longest_ns: 10, collected: 16_000 },
                Advice::BreakCycles { collected: 16_000 },
            ]
        );
        let few = advice(&profile(vec![row(Reason::Threshold, 0, 10, 50)]));
        assert!(matches!(few[0], Advice::Threshold { collected: 50, waiting_bytes: 10_000, .. }), "{few:?}");
        let hardly_any = advice(&profile(vec![row(Reason::Threshold, 0, 10, 6); 2_000]));
        let is_of_garbage = |one: &Advice| matches!(one, Advice::BetweenRequests { .. } | Advice::BreakCycles { .. });
        assert!(!hardly_any.iter().any(is_of_garbage));
        assert_eq!(advice(&profile(vec![row(Reason::Explicit, 2, 30, 0)])), []);
    }

    /// 478 collections whose counters came to 956,484 freed 857,148; 150,000 objects that stayed and these are more than a million.
    #[test]
    fn what_free_lists_give_back_is_counted_without_the_collection() {
        let rows = |collected| {
            vec![Collection { young: 2_001, threshold: 2_000, ..row(Reason::Threshold, 0, 10, collected) }; 478]
        };
        let threshold = |collected| match advice(&profile(rows(collected)))[0] {
            Advice::Threshold { threshold, .. } => Ok(threshold),
            Advice::HigherThreshold { threshold, .. } => Err(threshold),
            ref other => panic!("{other:?}"),
        };
        assert_eq!([threshold(0), threshold(80), threshold(1_793)], [Ok(1_000_000), Ok(1_000_000), Err(20_000)]);
    }

    #[test]
    fn collections_of_which_nothing_tells_who_began_them_may_be_the_interpreters() {
        let rows =
            vec![row(Reason::Threshold, 0, 10, 3), row(Reason::Unknown, 0, 20, 4), row(Reason::Unknown, 0, 30, 5)];
        let of = Spared { collections: 3, pause_ns: 60, unknown: 2 };
        let all = Advice::Threshold { threshold: 5_000, of, young: 2_103, collected: 12, waiting_bytes: 2_400 };
        assert_eq!(advice(&profile(rows.clone()))[0], all);
        // Garbage of them may be what the program collected itself.
        assert!(matches!(advice(&profile(rows[1..].to_vec()))[..], [Advice::Threshold { .. }]));
        let off = Collection { threshold: 0, ..row(Reason::Unknown, 2, 10, 0) };
        assert_eq!(advice(&profile(vec![off])), []);
    }

    /// A child of the first process, which began when that had run for 100 ns.
    fn child(profile: &mut Profile, is_forked: bool, before: u64) -> ProcessIndex {
        let parent = Some(ProcessIndex::new(0));
        let process = profile.processes.push(Process { parent, is_forked, start_ns: 100, ..Process::default() });
        let collector = Collector { process, before: vec![before], lost: 0, is_incremental: false };
        profile.collectors.push(collector);
        process
    }

    #[test]
    fn what_a_forked_child_inherits_is_counted_once() {
        let at = |at_ns| Collection { at_ns, ..row(Reason::Explicit, 0, 10, 0) };
        // 6 before the first that could be recorded, 3 rows and 2 lost ones before the fork.
        let mut profile = profile(vec![at(0), at(1), at(99), at(100)]);
        child(&mut profile, true, 11);
        let second = child(&mut profile, true, 11);
        assert_eq!(summary(&profile).unwrap().before, 6);
        let third = child(&mut profile, true, 11);
        profile.processes[third].parent = Some(second);
        assert_eq!(summary(&profile).unwrap().before, 6);
        // Two of its own, before genba could record them there; and those of a program that was started.
        child(&mut profile, true, 13);
        child(&mut profile, false, 4);
        assert_eq!(summary(&profile).unwrap().before, 12);
    }

    #[test]
    fn what_stays_is_frozen_where_processes_fork() {
        let full = |process, at_ns, reason| Collection { process, at_ns, ..row(reason, 2, 10, 0) };
        let parent = ProcessIndex::new(0);
        let of_parent = |at_ns| full(parent, at_ns, Reason::Threshold);
        let mut profile = profile(vec![of_parent(20), of_parent(99)]);
        let freeze =
            |profile: &Profile| advice(profile).into_iter().find(|advice| matches!(advice, Advice::Freeze { .. }));
        let other_program = child(&mut profile, false, 0);
        profile.collections.push(full(other_program, 300, Reason::Threshold));
        assert_eq!(freeze(&profile), None);
        let forked = child(&mut profile, true, 0);
        assert_eq!(freeze(&profile), None);
        profile.collections.extend([full(forked, 110, Reason::Explicit), of_parent(120)]);
        let spared = Some(Advice::Freeze { collections: 2, pause_ns: 20, examined: 40_000 });
        assert_eq!(freeze(&profile), spared);
        let exec_of = Some(forked);
        let exec_of = profile.processes.push(Process { exec_of, parent: Some(parent), ..Process::default() });
        profile.collections.push(full(exec_of, 400, Reason::Explicit));
        assert_eq!(freeze(&profile), None);
    }

    #[test]
    fn collections_that_the_program_asks_for_are_spared_by_freezing_too() {
        let mut profile = profile(Vec::new());
        let process = child(&mut profile, true, 0);
        profile.collections = vec![Collection { process, at_ns: 100, ..row(Reason::Explicit, 2, 10, 0) }];
        assert_eq!(advice(&profile), [Advice::Freeze { collections: 1, pause_ns: 10, examined: 20_000 }]);
    }
}
