//! Numbers and the accounting in words, as the terminal and the viewer say them: testdata/page/figures.json and accounting.json are read by
//! web/model/words.test.ts, too.

use std::collections::BTreeMap;

use genba_profile::figures::{count, duration, percent, setting, size};
use genba_profile::profile::{Accounting, Clocks, Process, Profile};
use genba_profile::summary::law_line;
use genba_profile::warnings::warnings;
use genba_profile::weight::Weight;
use serde_json::Value;

const FIGURES: &str = include_str!("../../../../testdata/page/figures.json");
const ACCOUNTING: &str = include_str!("../../../../testdata/page/accounting.json");

/// Each row of a subject is its numbers, and then what is said of them.
fn check(figures: &Value, subject: &str, words: impl Fn(&[u64]) -> String) {
    let rows = figures[subject].as_array().expect("rows");
    assert!(!rows.is_empty(), "{subject}");
    for row in rows {
        let (said, numbers) = row.as_array().expect("a row").split_last().expect("words");
        let numbers: Vec<u64> = numbers.iter().map(|number| number.as_u64().expect("a whole number")).collect();
        assert_eq!(said.as_str(), Some(words(&numbers).as_str()), "{subject} {numbers:?}");
    }
}

#[test]
fn numbers_are_said_as_the_viewer_says_them() {
    let figures: Value = serde_json::from_str(FIGURES).expect("JSON");
    check(&figures, "durations", |of| duration(of[0]));
    check(&figures, "settings", |of| setting(of[0]));
    check(&figures, "shares", |of| format!("{} %", percent(of[0], of[1])));
    check(&figures, "sizes", |of| size(of[0]));
    check(&figures, "counts", |of| count(of[0]));
}

fn number(of: &Value, key: &str) -> u64 {
    of[key].as_u64().expect("a whole number")
}

fn reasons(of: &Value) -> BTreeMap<String, u64> {
    let reasons = of.as_object().expect("reasons").iter();
    reasons.map(|(reason, ticks)| (reason.clone(), ticks.as_u64().expect("ticks"))).collect()
}

fn accounted(case: &Value) -> Profile {
    let (accounting, clocks) = (&case["accounting"], &case["clocks"]);
    let mut profile = Profile::default();
    profile.processes.push(Process {
        accounting: Accounting {
            ticks: number(accounting, "ticks"),
            sampled: number(accounting, "sampled"),
            dropped: reasons(&accounting["dropped"]),
            refused: reasons(&accounting["refused"]),
        },
        clocks: Clocks {
            cpu_sampled_ns: number(clocks, "cpu_sampled_ns"),
            cpu_not_sampled_ns: number(clocks, "cpu_not_sampled_ns"),
            cpu_before_ns: number(clocks, "cpu_before_ns"),
            cpu_not_recorded_ns: number(clocks, "cpu_not_recorded_ns"),
            cpu_lost_ns: clocks["cpu_lost_ns"].as_u64().unwrap_or(0),
            ..Clocks::default()
        },
        ..Process::default()
    });
    profile
}

#[test]
fn the_accounting_is_said_as_the_viewer_says_it() {
    let cases: Vec<Value> = serde_json::from_str(ACCOUNTING).expect("JSON");
    assert!(!cases.is_empty());
    for case in &cases {
        let profile = accounted(case);
        let said = |key: &str, words: &str| case[key].as_str().map_or(String::new(), |said| words.replace('#', said));
        let law = said("ticks", "#") + &said("covered", " · CPU covered #");
        let law = law + &said("in_lost_blocks", ", # in lost blocks") + &said("not_recorded", ", # not recorded");
        assert_eq!(law_line(&profile), law);
        let warnings = warnings(&profile, Weight::Cpu);
        for (key, words) in [("lost", " of the ticks gave no sample"), ("not_sampled", " are in no sample")] {
            let found = warnings.iter().find(|warning| warning.contains(words));
            match case[key].as_str() {
                None => assert_eq!(found, None, "{case}"),
                Some(said) => assert!(
                    found.is_some_and(|warning| warning.contains(&format!("{said}{words}"))),
                    "{case}: {warnings:?}"
                ),
            }
        }
    }
}
