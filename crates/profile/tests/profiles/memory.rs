//! Memory in windows of time, and the stacks of that time, as the viewer says them: testdata/page/memory.json is read by
//! web/model/time/memory.test.ts, too.

use std::num::NonZeroU64;

use crate::notation;
use expect_test::expect_file;
use genba_profile::build::{Additions, profile, profile_over_time, promoted};
use genba_profile::export;
use genba_profile::memory::{NoMemory, Range, json, memory};
use genba_profile::reading::Reading;
use genba_profile::window::Bins;
use serde_json::{Value, json};

const BIN_NS: u64 = 4_000_000;

/// Two processes; in the first one calls of libc under two expressions of one function, and a wait.
const SEVERAL: &str = "
    process 7 3.13.0 cwd=/app
    main@a.py:1[0-4] > load@a.py:2[0-9] > memmove[libc.so.6] x9
    main@a.py:2[0-4] > load@a.py:2[0-9] > memmove[libc.so.6] x4
    main@a.py:1[0-4] > load@a.py:3[4-9] > poll[libc.so.6] x20 poll
    main@a.py:1[0-4] > load@a.py:3[4-9] x3
    main@a.py:1[0-4] > other@a.py:7 x5
    rss 1ms 40000000
    rss 9ms 40000001
    rss 17ms 72000000
    rss 60ms 30000000
    process 9 3.13.0 cwd=/app
    main@a.py:1[0-4] > spin[libblas.so] x12
    rss 2ms 50000000
    rss 30ms 1000000
";

fn reading(notation: &str) -> Reading {
    let bins = Bins { length_ns: NonZeroU64::new(BIN_NS).expect("not 0") };
    let recording = notation::recording(notation);
    Reading::of(promoted(profile_over_time(&recording, &Additions::default(), None, bins)))
}

#[test]
fn ranges_as_the_viewer_says_them() {
    let reading = reading(SEVERAL);
    let asked = [(None, None), (Some((0, 4)), None), (Some((4, 9)), Some(0)), (None, Some(1)), (Some((1, 3)), Some(1))];
    let answers = asked.map(|(bins, process): (Option<(u64, u64)>, Option<usize>)| {
        let range = Range { from_ns: bins.map(|(first, _)| first * BIN_NS), to_ns: bins.map(|(_, end)| end * BIN_NS) };
        let whole = memory(&reading, range, 1, process).expect("an answer");
        let answer: Value = serde_json::from_str(&json(&whole).expect("JSON")).expect("JSON");
        json!({ "bins": bins.map(|(first, end)| [first, end]), "answer": answer })
    });
    let context = export::json::Context { genba_version: "1", recording: Some("app.genba"), warnings: &[] };
    let tables: Value = serde_json::from_str(&export::json::json(&reading, context).expect("JSON")).expect("JSON");
    let golden = serde_json::to_string_pretty(&json!({ "profile": tables, "ranges": answers })).expect("JSON") + "\n";
    expect_file!["../../../../testdata/page/memory.json"].assert_eq(&golden);
}

#[test]
fn windows_cover_the_range_and_hold_each_size_once() {
    let reading = reading(SEVERAL);
    let range = Range { from_ns: Some(1_000_000), to_ns: Some(61_000_000) };
    let answer: Value =
        serde_json::from_str(&json(&memory(&reading, range, 4, Some(0)).expect("an answer")).expect("JSON"))
            .expect("JSON");
    let windows: Vec<String> = answer["windows"].as_array().expect("a list").iter().map(Value::to_string).collect();
    assert_eq!(
        windows,
        [
            r#"{"from_ns":1000000,"max_bytes":40000001,"mean_bytes":40000001,"to_ns":16000000}"#,
            r#"{"from_ns":16000000,"max_bytes":72000000,"mean_bytes":72000000,"to_ns":31000000}"#,
            r#"{"from_ns":31000000,"max_bytes":null,"mean_bytes":null,"to_ns":46000000}"#,
            r#"{"from_ns":46000000,"max_bytes":30000000,"mean_bytes":30000000,"to_ns":61000000}"#,
        ]
    );
    // Never more windows than nanoseconds, nor than a thousand.
    let count = |from_ns: u64, to_ns: u64, windows: u32| {
        let range = Range { from_ns: Some(from_ns), to_ns: Some(to_ns) };
        let answer = json(&memory(&reading, range, windows, None).expect("an answer")).expect("JSON");
        answer.matches("mean_bytes").count()
    };
    assert_eq!([count(5, 8, 100), count(0, 1_000_000, 5_000), count(0, 9, 0)], [3, 1_000, 1]);
}

#[test]
fn what_is_not_there_is_refused() {
    let reading = reading(SEVERAL);
    let no_process = NoMemory::NoProcess { asked: 2, processes: 2 };
    assert_eq!(memory(&reading, Range::default(), 1, Some(2)).err(), Some(no_process));
    let backwards = Range { from_ns: Some(9), to_ns: Some(9) };
    assert_eq!(memory(&reading, backwards, 1, None).err(), Some(NoMemory::EmptyRange { from_ns: 9, to_ns: 9 }));
    // Behind the end nothing is.
    let behind = Range { from_ns: Some(u64::MAX - 1), to_ns: None };
    let answer = json(&memory(&reading, behind, 9, None).expect("an answer")).expect("JSON");
    assert!(answer.contains(r#""mean_bytes":null"#), "{answer}");
}

#[test]
fn without_memory_and_without_moments_the_stacks_are_of_all_samples() {
    let recording =
        notation::recording("process 7 3.13.0 cwd=/app\n main@a.py:1 > f@a.py:3 x3\n main@a.py:1 > g@a.py:4 x4");
    let reading = Reading::of(profile(&recording, &Additions::default()));
    let answer: Value =
        serde_json::from_str(&json(&memory(&reading, Range::default(), 1, None).expect("an answer")).expect("JSON"))
            .expect("JSON");
    let names = |frames: &Value| -> Vec<String> {
        let frames = frames.as_array().expect("a list").iter();
        frames
            .map(|frame| {
                format!(
                    "{} {}:{}",
                    frame["kind"].as_str().unwrap_or_default(),
                    frame["name"].as_str().unwrap_or_default(),
                    frame["line"]
                )
            })
            .collect()
    };
    assert_eq!(answer["process"], Value::Null);
    assert_eq!(names(&answer["common"]), ["function main:1"]);
    assert_eq!(names(&answer["most_frequent"]["frames"]), ["function main:1", "function g:1", "expression :4"]);
    assert_eq!(answer["most_frequent"]["samples"], 4);
}
