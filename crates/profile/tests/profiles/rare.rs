//! Rare calls become marks, and no total changes: not of a call that stays, not of all, not of a moment.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use crate::notation;
use expect_test::expect;
use genba_profile::build::{Additions, profile_over_time, promoted};
use genba_profile::profile::{NodeIndex, Profile};
use genba_profile::rare::{Rare, join_rare};
use genba_profile::table::TableIndex;
use genba_profile::window::Bins;

const PROFILE: &str = "
    process 7 3.13.0 cwd=/app
    main@a.py:1 > load@a.py:2 > memcpy[libc.so.6] x90
    main@a.py:1 > load@a.py:2 > rare1@a.py:20 > deep@a.py:30 x1
    main@a.py:1 > load@a.py:2 > rare2@a.py:21 x1
    main@a.py:1 > load@a.py:2 x2
    main@a.py:1 > rare3@a.py:22 x1
    main@a.py:1 > wait@a.py:4 > poll[libc.so.6] x40 poll at=200
    rare4@a.py:23 x1 at=300
";

fn profile() -> Profile {
    let bins = Bins { length_ns: NonZeroU64::new(10_000_000).expect("not 0") };
    promoted(profile_over_time(&notation::recording(PROFILE), &Additions::default(), None, bins))
}

fn words(profile: &Profile, leaf: Option<NodeIndex>) -> String {
    let mut names: Vec<&str> =
        profile.stack(leaf).map(|at| &*profile.functions[profile.frames[at].function].name).collect();
    names.reverse();
    names.join(" > ")
}

/// Samples, CPU and wall time of each stack and all below it, by its words.
fn totals(profile: &Profile) -> BTreeMap<String, [u64; 3]> {
    let mut totals = BTreeMap::new();
    for group in &profile.samples {
        let mut at = group.node;
        while let Some(node) = at {
            let total: &mut [u64; 3] = totals.entry(words(profile, Some(node))).or_default();
            *total = [total[0] + group.samples, total[1] + group.cpu_ns, total[2] + group.wall_ns];
            at = profile.nodes[node].parent;
        }
    }
    totals
}

#[test]
fn calls_below_the_share_are_one_mark_below_their_caller() {
    let mut joined = profile();
    let rare = join_rare(&mut joined, 0.02, "rarer than 2 %");
    assert_eq!(rare, Rare { nodes: 5, samples: 4, cpu_ns: 4 * 1_600_000, wall_ns: 4 * 1_600_000 });
    let shown: String =
        totals(&joined).into_iter().map(|(stack, [samples, ..])| format!("{samples} {stack}\n")).collect();
    expect![[r#"
        135 main
        94 main > load
        90 main > load > memcpy
        2 main > load > rarer than 2 %
        1 main > rarer than 2 %
        40 main > wait
        40 main > wait > poll
        1 rarer than 2 %
    "#]]
    .assert_eq(&shown);
}

#[test]
fn what_stays_weighs_what_it_weighed() {
    for share in [0.0, 0.005, 0.02, 0.5, 1.1] {
        let (whole, mut joined) = (profile(), profile());
        let before = totals(&whole);
        join_rare(&mut joined, share, "rare");
        for (stack, total) in totals(&joined) {
            if !stack.ends_with("rare") {
                assert_eq!(before.get(&stack), Some(&total), "{share}: {stack}");
            }
        }
        let sums = |profile: &Profile| {
            profile.samples.iter().fold([0; 3], |sum: [u64; 3], group| {
                [sum[0] + group.samples, sum[1] + group.cpu_ns, sum[2] + group.wall_ns]
            })
        };
        assert_eq!(sums(&whole), sums(&joined), "{share}");
        assert!(joined.nodes.len() <= whole.nodes.len() + 1 && joined.frames.len() <= whole.frames.len() + 1);
        // Each group's moments are still the group's.
        let mut left: BTreeMap<_, i128> = BTreeMap::new();
        for group in &joined.samples {
            *left
                .entry((group.node.map(TableIndex::position), group.thread, format!("{:?}", group.state)))
                .or_default() += i128::from(group.wall_ns);
        }
        for moment in &joined.moments {
            *left
                .entry((moment.node.map(TableIndex::position), moment.thread, format!("{:?}", moment.state)))
                .or_default() -= i128::from(moment.wall_ns);
        }
        assert!(left.values().all(|wall_ns| *wall_ns == 0), "{share}: {left:?}");
    }
}
