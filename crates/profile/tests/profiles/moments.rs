//! The moments of samples add up to their groups, whatever the length of a bin, a window or a filter.
//! testdata/page/moments.json is read by web/model/tables/moments.test.ts, too, filters.json by kept.test.ts beside it, and held.json by
//! web/model/time/time-line.test.ts.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::num::NonZeroU64;

use crate::notation;
use crate::random::Random;
use expect_test::expect_file;
use genba_format::{Recording, read};
use genba_profile::build::{Additions, profile_over_time, promoted};
use genba_profile::export;
use genba_profile::filter::{Filter, apply};
use genba_profile::glob::Glob;
use genba_profile::profile::{FrameIndex, FrameKind, Moment, Profile, SampleGroup};
use genba_profile::reading::Reading;
use genba_profile::report::{By, Options, Row, report};
use genba_profile::state::in_words;
use genba_profile::table::TableIndex;
use genba_profile::weight::{Totals, Weight};
use genba_profile::window::{Bins, Window};
use regex::Regex;
use serde_json::json;

/// Two processes, waits longer than a bin, and a thread beside another.
const SEVERAL: &str = "
    process 7 3.13.0 cwd=/app
    main@a.py:1 > wait@a.py:2 > poll[libc.so.6] x20 poll at=3
    main@a.py:1 > slow@a.py:3 x3 ticks=50 wall=4000
    thread 8 worker
    spin[libblas.so] x10 at=5
    lost block
    main@a.py:1 > other@a.py:7 x3
    process 9 3.13.0 cwd=/app
    main@a.py:1 > other@a.py:8 x12 at=17
";

/// A nanosecond for each sample that ends in a bin: at most so many.
const ROUNDED_NS: u64 = 30;

fn profile(recording: &Recording, bin_ns: u64, window: Option<Window>) -> Profile {
    let bins = Bins { length_ns: NonZeroU64::new(bin_ns).expect("not 0") };
    promoted(profile_over_time(recording, &Additions::default(), window, bins))
}

fn assert_moments_are_the_groups(profile: &Profile, words: &str) {
    let mut groups = BTreeMap::new();
    for group in &profile.samples {
        let key = (group.node.map(TableIndex::position), group.thread.position(), format!("{:?}", group.state));
        let sum: &mut (u64, u64, u64) = groups.entry((key, group.in_window)).or_default();
        *sum = (sum.0 + group.samples, sum.1 + group.cpu_ns, sum.2 + group.wall_ns);
    }
    let mut moments = BTreeMap::new();
    for moment in &profile.moments {
        let key = (moment.node.map(TableIndex::position), moment.thread.position(), format!("{:?}", moment.state));
        let sum: &mut (u64, u64, u64) = moments.entry((key, moment.in_window)).or_default();
        *sum = (sum.0 + u64::from(moment.samples), sum.1 + moment.cpu_ns, sum.2 + moment.wall_ns);
    }
    assert!(!groups.is_empty(), "{words}");
    assert_eq!(groups, moments, "{words}");
}

#[test]
fn moments_are_the_groups() {
    const GOLDEN: [&[u8]; 3] = [
        include_bytes!("../../../../testdata/golden/v1.genba"),
        include_bytes!("../../../../testdata/golden/v2.genba"),
        include_bytes!("../../../../testdata/golden/v3.genba"),
    ];
    let golden = GOLDEN.map(|bytes| read(bytes).expect("a recording"));
    for recording in golden.iter().chain([&notation::recording(SEVERAL)]) {
        for bin_ns in [1, 1_000, 333_333, 1_600_000, 40_000_000, u64::MAX] {
            let window = Some(Window { start_ns: 20_000_000, end_ns: Some(60_000_000) });
            assert_moments_are_the_groups(&profile(recording, bin_ns, None), &format!("{bin_ns} ns"));
            assert_moments_are_the_groups(&profile(recording, bin_ns, window), &format!("{bin_ns} ns in a window"));
        }
    }
}

/// Samples of one thread, each as long as it comes, with all or none of that time on a CPU.
fn several_threads(random: &mut Random) -> String {
    let mut text = String::from("process 7 3.13.0 cwd=/app\n");
    for thread in 8..8 + random.below(4) {
        writeln!(text, "thread {thread} worker").expect("a string");
        for _ in 0..1 + random.below(30) {
            let every = 1 + random.below(40);
            let state = random.of(&["running", "gil", "poll"]);
            writeln!(
                text,
                "main@a.py:1 > f@a.py:{} x{} {state} every={every}",
                1 + random.below(9),
                1 + random.below(3)
            )
            .expect("a string");
        }
    }
    text
}

/// A column higher than its thread could be is a falsehood that everybody sees.
#[test]
fn no_thread_has_more_cpu_in_a_bin_than_its_length() {
    let mut random = Random(33);
    let mut full = 0;
    for number in 0..200 {
        let text = several_threads(&mut random);
        let recording = notation::recording(&text);
        for bin_ns in [4_000_000, 33_333_333, 400_000_000] {
            let profile = profile(&recording, bin_ns, None);
            let mut columns = BTreeMap::new();
            for moment in &profile.moments {
                *columns.entry((moment.thread.position(), moment.bin)).or_insert(0) += moment.cpu_ns;
            }
            let most = columns.values().copied().max().unwrap_or(0);
            // A part that is not whole nanoseconds is rounded down at one bin's end, and counts in the next.
            assert!(most <= bin_ns + ROUNDED_NS, "program {number}: {most} of {bin_ns} ns\n{text}");
            full += u32::from(most == bin_ns);
        }
    }
    assert!(full > 100, "{full} of 600 have a bin that is full");
}

#[test]
fn filters_keep_moments_as_they_keep_samples() {
    let recording = notation::recording(SEVERAL);
    let pattern = |text: &str| Some(Regex::new(text).expect("a pattern"));
    let window = Window { start_ns: 20_000_000, end_ns: None };
    for filter in [
        Filter { focus: pattern("other"), ..Filter::default() },
        Filter { hide: pattern("^main$|poll"), ..Filter::default() },
        Filter { window: Some(window), focus: pattern("main"), hide: pattern("slow"), ..Filter::default() },
    ] {
        let (kept, _) = apply(profile(&recording, 1_600_000, filter.window), &filter).expect("something is kept");
        assert_moments_are_the_groups(&kept, &filter.flags().join(" "));
    }
}

/// What the viewer is tested against: tables with moments, and what each range of bins holds by the moments themselves.
#[test]
fn ranges_of_time_as_the_viewer_sums_them() {
    let profile = profile(&notation::recording(SEVERAL), 4_000_000, None);
    let bins = 1 + profile.moments.iter().map(|moment| moment.bin).max().expect("moments");
    let sums = |first: u32, end: u32| {
        let mut sums: BTreeMap<(Option<usize>, usize, String), [u64; 3]> = BTreeMap::new();
        for moment in profile.moments.iter().filter(|moment| (first..end).contains(&moment.bin)) {
            let key = (moment.node.map(TableIndex::position), moment.thread.position(), in_words(moment.state));
            let sum = sums.entry(key).or_default();
            *sum = [sum[0] + u64::from(moment.samples), sum[1] + moment.cpu_ns, sum[2] + moment.wall_ns];
        }
        let rows = sums.into_iter().filter(|(_, sum)| *sum != [0; 3]);
        let rows = rows.map(|((node, thread, state), sum)| json!({ "node": node, "thread": thread, "state": state, "samples": sum[0], "cpu_ns": sum[1], "wall_ns": sum[2] }));
        json!({ "first_bin": first, "end_bin": end, "rows": rows.collect::<Vec<_>>() })
    };
    let ranges: Vec<_> = [(0, bins), (0, 1), (3, bins / 2), (bins / 2, bins), (bins - 1, bins)]
        .map(|(first, end)| sums(first, end))
        .into();
    let reading = Reading::of(profile);
    let context = export::json::Context { genba_version: "1", recording: Some("app.genba"), warnings: &[] };
    let tables: serde_json::Value =
        serde_json::from_str(&export::json::json(&reading, context).expect("JSON")).expect("JSON");
    let golden = serde_json::to_string_pretty(&json!({ "profile": tables, "ranges": ranges })).expect("JSON") + "\n";
    expect_file!["../../../../testdata/page/moments.json"].assert_eq(&golden);
}

/// Only the thread that holds the GIL runs Python, or collects garbage: the viewer's lanes have colours of their own for that. A recording
/// does not say who held it while C code ran.
#[test]
fn who_surely_held_the_gil_as_the_viewer_shows_it() {
    let profile = profile(&notation::recording(SEVERAL), 4_000_000, None);
    let is_python = |leaf: FrameIndex| profile.frames[leaf].kind == FrameKind::Python;
    let holds = |moment: &&Moment| match in_words(moment.state).as_str() {
        "in gc" => true,
        "running" => profile.stack(moment.node).next().is_some_and(is_python),
        _ => false,
    };
    let mut held: BTreeMap<(usize, u32), u64> = BTreeMap::new();
    for moment in profile.moments.iter().filter(holds) {
        *held.entry((moment.thread.position(), moment.bin)).or_default() += moment.wall_ns;
    }
    let rows = held.into_iter().filter(|(_, wall_ns)| *wall_ns > 0);
    let rows = rows.map(|((thread, bin), wall_ns)| json!({ "bin": bin, "thread": thread, "wall_ns": wall_ns }));
    let golden = serde_json::to_string_pretty(&rows.collect::<Vec<_>>()).expect("JSON") + "\n";
    expect_file!["../../../../testdata/page/held.json"].assert_eq(&golden);
}

/// A process and a thread by their numbers, then patterns for `focus` and `hide`; "": none.
type Asked = (Option<u32>, Option<u32>, &'static str, &'static str);

const ASKED: [Asked; 9] = [
    (None, None, "", ""),
    (Some(9), None, "", ""),
    (None, Some(8), "", ""),
    (None, None, "^other$", ""),
    (None, None, "libc|libblas", ""),
    (None, None, "", "^main$"),
    (None, None, r"a\.py", "^(wait|poll)$"),
    (Some(7), Some(7), "main", "slow|blas"),
    // Two stacks are taken out whole.
    (None, None, "", "^(main|slow|spin)$"),
];

fn globs(number: Option<u32>) -> Vec<Glob> {
    number.iter().map(|number| Glob::new(&number.to_string()).expect("a short glob")).collect()
}

/// Its thread, stack and state, then samples, CPU and wall time: `1 main;other running: 3 4800000 4800000`
fn sample_words(profile: &Profile, group: &SampleGroup) -> String {
    let name = |frame: FrameIndex| profile.functions[profile.frames[frame].function].name.as_str();
    let mut names: Vec<&str> = profile.stack(group.node).map(name).collect();
    names.reverse();
    let (thread, stack, state) = (group.thread.position(), names.join(";"), in_words(group.state));
    format!("{thread} {stack} {state}: {} {} {}", group.samples, group.cpu_ns, group.wall_ns)
}

/// CPU and wall time: `1: 20800000 20800000`
fn thread_words(row: &Row) -> String {
    let thread = row.subject.thread.expect("rows are threads");
    format!("{}: {} {}", thread.position(), row.own.cpu_ns, row.own.wall_ns)
}

/// What the viewer is tested against, beside the tables of `ranges_of_time_as_the_viewer_sums_them`: what is kept, and of each thread.
#[test]
fn filters_as_the_viewer_keeps_them() {
    let recording = notation::recording(SEVERAL);
    let pattern = |text: &str| (!text.is_empty()).then(|| Regex::new(text).expect("a pattern"));
    let answers = ASKED.map(|(process, thread, focus, hide)| {
        let filter = Filter {
            threads: globs(thread),
            processes: globs(process),
            focus: pattern(focus),
            hide: pattern(hide),
            ..Filter::default()
        };
        let reading = Reading::filtered(profile(&recording, 4_000_000, None), &filter).expect("something is kept");
        let Totals { samples, cpu_ns, wall_ns, .. } = Totals::of_profile(&reading);
        let mut rows: Vec<_> = reading.samples.iter().map(|group| sample_words(&reading, group)).collect();
        rows.sort();
        let options = Options { by: By::Thread, weight: Some(Weight::Wall), ..Options::default() };
        let mut threads: Vec<_> = report(&reading, &options).rows.iter().map(thread_words).collect();
        threads.sort();
        let kept = [samples, cpu_ns, wall_ns];
        json!({ "process": process, "thread": thread, "focus": focus, "hide": hide, "kept": kept, "rows": rows, "threads": threads })
    });
    let golden = serde_json::to_string_pretty(&answers).expect("JSON") + "\n";
    expect_file!["../../../../testdata/page/filters.json"].assert_eq(&golden);
}

#[test]
fn nothing_is_there_unless_asked_for() {
    let plain = genba_profile::build::profile(&notation::recording(SEVERAL), &Additions::default());
    assert!(plain.moments.is_empty());
}
