//! What a recording's garbage collections come to, on made collections: sums, places, advice.

use super::*;
use crate::tables::profile::{Mark, Process};
use crate::tables::table::TableIndex;

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

fn profile(rows: Vec<Collection>) -> Profile {
    let mut profile = Profile { collections: rows, ..Profile::default() };
    let process = profile.processes.push(Process { wall_ns: 1_000, ..Process::default() });
    let collector = Collector { process, before: vec![5, 1, 0], lost: 2, is_incremental: false };
    profile.collectors.push(collector);
    profile
}

fn advice(profile: &Profile) -> Vec<Advice> {
    super::advice(profile, &places(profile))
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
    let rows = vec![row(Reason::Threshold, 0, 1, 0), row(Reason::Threshold, 3, 1, 0), row(Reason::Threshold, 0, 1, 0)];
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
                full: Spared::default(),
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
    let rows = vec![row(Reason::Threshold, 0, 10, 3), row(Reason::Unknown, 0, 20, 4), row(Reason::Unknown, 0, 30, 5)];
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
    let freeze = |profile: &Profile| advice(profile).into_iter().find(|advice| matches!(advice, Advice::Freeze { .. }));
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

/// A program that loads what stays, and then answers requests which leave garbage.
#[test]
fn only_pauses_where_garbage_was_freed_are_spared() {
    let place = |line| Some(Place { file: FileIndex::new(0), line, function: FunctionIndex::new(0) });
    let rows = [vec![row(Reason::Threshold, 2, 500, 0); 3], vec![row(Reason::Threshold, 0, 10, 300); 2]].concat();
    let [load, request] = [place(9), place(11)];
    let told = super::advice(&profile(rows), &[load, load, load, request, request]);
    let between = Advice::BetweenRequests { collections: 2, pause_ns: 20, longest_ns: 10, collected: 600 };
    assert!(told.contains(&between), "{told:?}");
}

#[test]
fn a_higher_threshold_knows_the_full_collections() {
    let mut rows = vec![row(Reason::Threshold, 0, 10, 0); 2_000];
    rows.extend([row(Reason::Threshold, 2, 70, 0), row(Reason::Shutdown, 2, 90, 0)]);
    let full = Spared { collections: 1, pause_ns: 70, unknown: 0 };
    let told = advice(&profile(rows));
    assert!(matches!(told[..], [Advice::HigherThreshold { full: found, .. }] if found == full), "{told:?}");
}

#[test]
fn what_was_freed_is_of_the_collections_that_the_interpreter_began() {
    let of = |rows| freed(&profile(rows)).map(|freed| (freed.collected(), freed.is_much()));
    assert_eq!(of(vec![row(Reason::Explicit, 2, 10, 50)]), None);
    assert_eq!(of(vec![row(Reason::Threshold, 0, 10, 8), row(Reason::Shutdown, 2, 10, 50)]), Some((8, true)));
    assert_eq!(of(vec![row(Reason::Threshold, 0, 10, 6)]), Some((6, false)));
}
