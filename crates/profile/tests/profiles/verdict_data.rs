//! The verdict as data: what a script reads in place of its words.

use crate::judged::expressions;
use crate::notation;
use expect_test::{Expect, expect};
use genba_format::measure::{Measure, Totals};
use genba_profile::build::{Additions, profile};
use genba_profile::profile::Profile;
use genba_profile::reading::Reading;
use genba_profile::summary::header;
use genba_profile::verdict::{json, verdict};
use genba_profile::weight::Weight;
use serde_json::Value;

const PROCESS: &str = "process 7 3.13.0\n";

/// All but the words, without keys that hold nothing; one value a line.
fn check(recording: &str, expected: Expect) {
    let profile = profile(&notation::recording(recording), &Additions::default());
    let verdict = verdict(&profile);
    let page = serde_json::to_value(json::page(&profile, &verdict)).unwrap();
    let said = said(&page["lines"]);
    assert_eq!(said.first(), page["words"].as_str().map(str::to_owned).as_ref());
    assert_eq!(said[1..], texts(&page["details"]));
    let mut shown = format!("{} of {} ns {}\n", page["name"], page["whole_ns"], page["weight"]);
    shown += &format!("figures {}\n", page["figures"]);
    for key in ["places", "advice"] {
        for one in page[key].as_array().unwrap() {
            shown += &format!("{key} {}\n", without_empty(one));
        }
    }
    expected.assert_eq(&shown);
}

/// Each line, put together from its pieces.
fn said(lines: &Value) -> Vec<String> {
    let line = |line: &Value| line.as_array().unwrap().iter().map(|piece| piece["text"].as_str().unwrap()).collect();
    lines.as_array().unwrap().iter().map(line).collect()
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

fn without_empty(value: &Value) -> Value {
    let is_empty = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty) || *value == 0;
    let object = value.as_object().unwrap().iter().filter(|(_, value)| !is_empty(value));
    object.map(|(key, value)| (key.clone(), value.clone())).collect()
}

#[test]
fn what_another_run_may_be_called_is_a_key_where_it_is_another_name() {
    let may_be = |hot: usize| {
        let recording = format!("{PROCESS}hot@app.py:100[4-9] x{hot}\n{}", expressions(4, 150));
        let profile = profile(&notation::recording(&recording), &Additions::default());
        let page = serde_json::to_value(json::page(&profile, &verdict(&profile))).unwrap();
        page["may_be"].clone()
    };
    assert_eq!(may_be(400), serde_json::json!(["no single cause"]));
    assert_eq!(may_be(600), Value::Null);
}

#[test]
fn a_place_has_file_line_and_function() {
    check(
        &format!("{PROCESS}main@/app.py:1[4-9] > copy[libc.so] x60\nmain@/app.py:2[4-9] x40\n"),
        expect![[r#"
        "one place" of 160000000 ns "cpu"
        figures {"cpu_ns":160000000}
        places {"file":"/app.py","function":"main","kind":"expression","line":1,"part_ns":96000000,"share":0.6}
        places {"file":"/app.py","function":"main","kind":"expression","line":2,"part_ns":64000000,"share":0.4}
    "#]],
    );
    check(
        &format!(
            "{PROCESS}{}",
            "main@/app.py:1[4-9] x20\nmain@/app.py:1[10-12] x20\nmain@/app.py:2[4-9] x24\nf@/app.py:9[4-9] x12\ng@/app.py:19[4-9] x12\n"
        ),
        expect![[r#"
            "one line" of 140800000 ns "cpu"
            figures {"cpu_ns":140800000,"expressions":2}
            places {"file":"/app.py","function":"main","kind":"line","line":1,"part_ns":64000000,"share":0.45454545454545453}
            places {"file":"/app.py","function":"main","kind":"expression","line":1,"part_ns":32000000,"share":0.22727272727272727}
            places {"file":"/app.py","function":"main","kind":"expression","line":1,"part_ns":32000000,"share":0.22727272727272727}
        "#]],
    );
}

#[test]
fn what_a_wait_was() {
    let thread =
        |tid: u64| format!("thread {tid} pool\nget@/v/lib/python3.13/site-packages/pool.py:3[4-9] x200 asleep\n");
    let threads: String = (8..10).map(thread).collect();
    check(
        &format!("{PROCESS}main@/app.py:1[4-9] x300 poll\nmain@/app.py:2[4-9] x5\n{threads}"),
        expect![[r#"
            "waiting" of 1128000000 ns "wall"
            figures {"cpu_ns":8000000,"in_queue_ns":0,"wall_ns":1128000000}
            places {"file":"/app.py","function":"main","kind":"expression","line":1,"part_ns":480000000,"share":0.425531914893617,"wait":{"holder":null,"seen":1,"state":"in poll(2)","turns":0,"wall_ns":480000000}}
            places {"kind":"idle threads","others":[{"file":"/v/lib/python3.13/site-packages/pool.py","function":"get","line":3,"name":null,"share":0.5673758865248227}],"part_ns":640000000,"share":0.5673758865248227,"threads":2}
        "#]],
    );
}

#[test]
fn what_led_to_a_library() {
    let library = "/v/lib/python3.13/site-packages";
    let calls: String = (1..=30)
        .map(|line| format!("f{line}@/app.py:{line}[4-9] > get@{library}/web/get.py:{line}[0-9] x10\n"))
        .collect();
    check(
        &format!("{PROCESS}{calls}"),
        expect![[r#"
            "spread" of 480000000 ns "cpu"
            figures {"cpu_ns":480000000,"largest_ns":16000000,"ten_largest_ns":160000000}
            places {"kind":"library","name":"web","others":[{"file":"/app.py","function":"f1","line":1,"name":null,"share":0.03333333333333333},{"file":"/app.py","function":"f2","line":2,"name":null,"share":0.03333333333333333}],"others_left_out":28,"part_ns":480000000,"share":1.0}
        "#]],
    );
}

#[test]
fn advice_is_one_of_few() {
    check(
        &format!("{PROCESS}main@/app.py:1[4-9] x3\n"),
        expect![[r#"
        "too short to judge" of 4800000 ns "cpu"
        figures {"samples":3,"wall_ns":4800000}
        advice {"kind":"run_longer"}
    "#]],
    );
    check(
        &format!("{PROCESS}main@/app.py:1[4-9] > _gc_collect[libpython.so] x30 gc\nmain@/app.py:2[4-9] x60\n"),
        expect![[r#"
            "gc" of 144000000 ns "cpu"
            figures {"cpu_ns":144000000,"gc_cpu_ns":48000000}
            places {"file":"/app.py","function":"main","kind":"expression","line":1,"part_ns":48000000,"share":0.3333333333333333}
            advice {"file":"/app.py","function":"main","kind":"also_one_place","line":2,"share":0.6666666666666666}
            advice {"kind":"raise_gc_threshold"}
        "#]],
    );
    let work = |line: u32, each: usize| format!("main@/app.py:99[4-9] > f{line}@/app.py:{line}[4-9] x{each}\n");
    check(
        &format!("{PROCESS}{}", (1..=6).map(|line| work(line, 20)).collect::<String>()),
        expect![[r#"
        "no single cause" of 192000000 ns "cpu"
        figures {"cpu_ns":192000000,"largest_ns":32000000,"ten_largest_ns":192000000}
        advice {"file":"/app.py","function":"f1","kind":"look_at_function","share":0.16666666666666666}
    "#]],
    );
}

/// Lines 1 and 2 allocated: bytes, the standard error of that estimate, and how often. `not_sampled` bytes are in no sample.
fn allocating(places: [(u64, u64, u64); 2], not_sampled: u64) -> Profile {
    let recording = notation::recording(&format!("{PROCESS}main@/app.py:1[4-9] x60\nmain@/app.py:2[4-9] x40\n"));
    let mut profile = profile(&recording, &Additions::default());
    let (mut sampled, mut kib2) = (0, 0);
    assert_eq!(profile.samples.len(), 2);
    for (group, (bytes, error_bytes, allocations)) in profile.samples.iter_mut().zip(places) {
        group.allocated_bytes = bytes;
        group.allocated_kib2 = (error_bytes / 1024).pow(2);
        group.allocations = allocations;
        (sampled, kib2) = (sampled + bytes, kib2 + group.allocated_kib2);
    }
    assert!(sampled > 0 && kib2 > 0);
    let totals = Totals { exact: sampled + not_sampled, genba: 0, sampled, not_sampled };
    profile.processes.iter_mut().for_each(|process| {
        process.measures.insert(Measure::Allocated, totals);
    });
    profile
}

/// What is said of allocations, and the weight's line above the rows.
fn check_allocations(profile: Profile, expected: Expect) {
    let said = verdict(&profile).said(&profile).details;
    let said = said.iter().map(ToString::to_string).filter(|line| line.starts_with("allocations: "));
    let reading = Reading::of(profile);
    let weight = header(&reading, &reading.choice(Some(Weight::Allocated))).into_iter().filter_map(|line| {
        let (before, _) = line.split_once(" of them in no sample")?;
        Some(line[..line[before.len()..].find(". ")? + before.len()].to_owned())
    });
    expected.assert_eq(&said.chain(weight).map(|line| line + "\n").collect::<String>());
}

#[test]
fn a_share_of_all_allocated_bytes_counts_those_without_a_sample() {
    let of_two = |not_sampled| allocating([(390_000_000, 4_000_000, 3_900), (10_000_000, 1_000_000, 100)], not_sampled);
    check_allocations(
        of_two(100_000),
        expect![[r#"
        allocations: app.py:1 main  allocates 390 MB ± 1.92 MB, 100 kB each time (97.5 % of all allocated bytes)
        weight: bytes asked for of CPython's allocator and of malloc, 400 MB, 100 kB of them in no sample
    "#]],
    );
    check_allocations(
        of_two(600_000_000),
        expect![[r#"
        allocations: app.py:1 main  allocates 390 MB ± 1.92 MB, 100 kB each time (39.0 % of all allocated bytes)
        weight: bytes asked for of CPython's allocator and of malloc, 1.00 GB, 600 MB of them in no sample; shares below are of the other 400 MB
    "#]],
    );
    // Of all it is less than a fifth.
    check_allocations(
        of_two(1_600_000_000),
        expect![[r#"
        weight: bytes asked for of CPython's allocator and of malloc, 2.00 GB, 1.60 GB of them in no sample; shares below are of the other 400 MB
    "#]],
    );
}

#[test]
fn how_much_an_expression_allocated_is_told_as_far_as_it_is_known() {
    let beside = (300_000_000, 15_000_000, 3_000);
    check_allocations(
        allocating([(300_000_000, 15_000_000, 6_000), beside], 0),
        expect![[r#"
        allocations: app.py:1 main  allocates 300 MB ± 20.8 MB, 50.0 kB each time (50.0 % of all allocated bytes)
        allocations: app.py:2 main  allocates 300 MB ± 20.8 MB, 100 kB each time (50.0 % of all allocated bytes)
        weight: bytes asked for of CPython's allocator and of malloc, 600 MB, 0 bytes of them in no sample
    "#]],
    );
    // How often is known as little as how much.
    check_allocations(
        allocating([(309_000_000, 150_000_000, 6_000), beside], 0),
        expect![[r#"
        allocations: app.py:1 main  allocates 309 MB ± 146 MB (50.7 % of all allocated bytes)
        allocations: app.py:2 main  allocates 300 MB ± 146 MB (49.3 % of all allocated bytes)
        weight: bytes asked for of CPython's allocator and of malloc, 609 MB, 0 bytes of them in no sample
    "#]],
    );
    // Where each is so large, smaller ones are not seen.
    check_allocations(
        allocating([(900_000_000, 15_000_000, 90), beside], 0),
        expect![[r#"
        allocations: app.py:1 main  allocates 900 MB ± 23.2 MB (75.0 % of all allocated bytes)
        allocations: app.py:2 main  allocates 300 MB ± 23.2 MB, 100 kB each time (25.0 % of all allocated bytes)
        weight: bytes asked for of CPython's allocator and of malloc, 1.20 GB, 0 bytes of them in no sample
    "#]],
    );
    // It may be all error.
    check_allocations(
        allocating([(100_000_000, 90_000_000, 90), beside], 0),
        expect![[r#"
        allocations: app.py:2 main  allocates 300 MB ± 133 MB (75.0 % of all allocated bytes)
        weight: bytes asked for of CPython's allocator and of malloc, 400 MB, 0 bytes of them in no sample
    "#]],
    );
}

#[test]
fn an_earlier_recording_tells_no_margin_of_its_copies() {
    let mut profile = allocating([(300_000_000, 15_000_000, 6_000), (1_000_000, 1_000, 1)], 0);
    for group in &mut profile.samples {
        (group.copied_bytes, group.copies) = (group.allocated_bytes, group.allocations);
    }
    let page = serde_json::to_value(json::page(&profile, &verdict(&profile))).unwrap();
    let keys = ["bytes", "margin_bytes", "copies", "each_bytes"].map(|key| page["copies"][0][key].clone());
    assert_eq!(keys, [Value::from(300_000_000), Value::Null, Value::from(6_000), Value::Null]);
    let copied = " copies 300 MB (99.7 % of all that memcpy and memmove copied)";
    assert!(texts(&page["details"]).iter().any(|line| line.ends_with(copied)), "{page}");
}
