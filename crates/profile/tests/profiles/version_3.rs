//! What came with the third version of the format: contexts, measures, and a process that goes on under another key.
//! The golden recording has one of each.

use genba_format::context::ContextKind;
use genba_format::measure::{Measure, Totals};
use genba_format::{Recording, read};
use genba_profile::build::{self, Additions};
use genba_profile::joined::joined;
use genba_profile::profile::Profile;
use genba_profile::table::TableIndex;

const GOLDEN: &[u8] = include_bytes!("../../../../testdata/golden/v3.genba");

fn recording() -> Recording {
    let recording = read(GOLDEN).expect("a recording");
    assert_eq!(recording.faults, []);
    recording
}

fn profile() -> Profile {
    build::profile(&recording(), &Additions::default())
}

#[test]
fn segments_are_one_process() {
    let profile = profile();
    let pids: Vec<_> = profile.processes.iter().map(|process| process.pid).collect();
    assert_eq!(pids, [Some(4127), Some(4130)]);
    let process = profile.processes.iter().next().expect("the parent");
    assert_eq!((process.blocks, process.ended.as_deref()), (4, Some("exit")));
    // From the first segment's beginning to the second one's end; the second one's clock goes on from the first one's.
    assert_eq!((process.start_ns, process.wall_ns), (0, 1_000_000_000));
    assert_eq!(process.clocks.cpu_ns, 29_500_000 + 500_000);
    let clocks = process.clocks;
    assert_eq!(clocks.cpu_sampled_ns + clocks.cpu_not_sampled_ns + clocks.cpu_genba_ns, clocks.cpu_ns);
}

#[test]
fn a_segment_whose_first_one_is_elsewhere_is_a_process() {
    let mut recording = recording();
    recording.blocks.retain(|read| read.header.process_key.starts_with(b"segment"));
    let profile = build::profile(&recording, &Additions::default());
    let process = profile.processes.iter().next().expect("the segment");
    assert_eq!((profile.processes.len(), process.clocks.cpu_ns), (1, 500_000));
}

#[test]
fn samples_are_in_their_contexts() {
    for profile in [profile(), two_of_it()] {
        let contexts: Vec<_> = profile.contexts.iter().map(|row| (row.kind, row.name.as_str())).collect();
        assert_eq!(contexts[..2], [(ContextKind::Interpreter, ""), (ContextKind::Task, "crawl")]);
        for (index, context) in profile.contexts.enumerate().filter(|(_, context)| context.name == "crawl") {
            let parent = context.parent.expect("the interpreter");
            assert_eq!(profile.contexts[parent].kind, ContextKind::Interpreter);
            assert_eq!(profile.contexts[parent].process, context.process);
            let within = profile.samples.iter().filter(|group| group.context == Some(index));
            assert_eq!(within.map(|group| group.ticks).sum::<u64>(), 3);
        }
    }
}

#[test]
fn a_measure_keeps_its_totals_and_its_places() {
    let profile = profile();
    let measure = Measure::Other(77);
    let process = profile.processes.iter().next().expect("the parent");
    let totals = Totals { exact: 6_000, genba: 100, sampled: 4_100, not_sampled: 1_800 };
    assert_eq!(process.measures.get(&measure), Some(&totals));
    let groups: Vec<_> = profile
        .weights
        .iter()
        .map(|group| (group.measure, group.node.is_some(), group.context.is_some(), group.count, group.weight))
        .collect();
    assert_eq!(groups, [(measure, true, true, 3, 4_096), (measure, false, false, 1, 4)]);
}

#[test]
fn two_recordings_keep_theirs_apart() {
    let (one, two) = (profile(), two_of_it());
    assert_eq!(two.contexts.len(), 2 * one.contexts.len());
    assert_eq!(two.weights.len(), 2 * one.weights.len());
    for group in &two.weights {
        if let Some(context) = group.context {
            assert_eq!(two.contexts[context].process.position(), two.threads[group.thread].process.position());
        }
    }
}

fn two_of_it() -> Profile {
    joined(vec![("a".to_owned(), profile()), ("b".to_owned(), profile())])
}
