//! Collections, as the terminal and the viewer add them up: testdata/page/collections.json is read by web/model/time/pauses.test.ts, too.

use crate::notation;
use expect_test::expect_file;
use genba_format::{Recording, proto};
use genba_profile::build::{Additions, profile, profile_over_time};
use genba_profile::collections::{Sum, page, summary, text};
use genba_profile::paint::Paint;
use genba_profile::profile::{Collection, Collector, NodeIndex, Profile, Reason};
use genba_profile::reading::Reading;
use genba_profile::state::in_words;
use genba_profile::verdict::verdict;
use genba_profile::window::Bins;
use serde_json::{Value, json};
use std::num::NonZeroU64;

const PROGRAM: &str = "
    process 7 3.13.0 cwd=/app
    main@a.py:1 > work@a.py:7 x9
    main@a.py:1 > tidy@a.py:9 x4
";

/// The stack that ends in this function.
fn node_of(profile: &Profile, name: &str) -> Option<NodeIndex> {
    let is_wanted = |node: &Option<NodeIndex>| {
        let mut stack = profile.stack(*node);
        stack.next().is_some_and(|frame| profile.functions[profile.frames[frame].function].name == name)
    };
    profile.samples.iter().map(|group| group.node).find(is_wanted).flatten()
}

fn reading() -> Reading {
    let mut profile = profile(&notation::recording(PROGRAM), &Additions::default());
    let process = profile.threads[profile.samples[0].thread].process;
    let (work, tidy) = (node_of(&profile, "work"), node_of(&profile, "tidy"));
    let rows = [
        (10, 9_000, 0, Reason::CCall, Some(5), 0, work),
        (20, 20_000, 0, Reason::Explicit, Some(6), 1, work),
        (30, 2_000_000, 2, Reason::Explicit, None, 2, tidy),
        (90, 30_000, 1, Reason::Unknown, Some(7), 3, work),
        (95, 10_000, 0, Reason::Shutdown, Some(8), 0, None),
    ];
    for (at_ns, pause_ns, generation, reason, examined, collected, node) in rows {
        let uncollectable = u64::from(generation == 2);
        profile.collections.push(Collection {
            process,
            thread: None,
            node,
            at_ns,
            pause_ns,
            generation,
            reason,
            examined,
            collected,
            uncollectable,
            young: 0,
            threshold: 0,
        });
    }
    profile.collectors.push(Collector { process, before: vec![5, 1, 0], lost: 2, is_incremental: false });
    profile.processes[process].wall_ns = 20_800_000;
    Reading::of(profile)
}

fn sum(of: &Sum) -> Value {
    json!({
        "collections": of.collections,
        "pause_ns": of.pause_ns,
        "longest_ns": of.longest_ns,
        "examined": of.examined,
        "collected": of.collected,
    })
}

/// `below 10 µs  ███  3`, without the bar.
fn pauses(line: &str) -> Value {
    let words: Vec<&str> = line.split_whitespace().collect();
    let count: u64 = words[words.len() - 1].parse().expect("a count");
    json!([words[..3].join(" "), count])
}

#[test]
fn collections_are_added_up_as_the_viewer_adds_them_up() {
    let reading = reading();
    let summary = summary(&reading).expect("collections");
    let shown: Value = serde_json::from_str(&page::json(&reading, &summary).expect("JSON")).expect("JSON");
    let by_generation: Vec<Value> =
        summary.by_generation.iter().map(|(generation, of)| json!([generation, sum(of)])).collect();
    let mut by_place: Vec<Value> = Vec::new();
    for (place, of) in &summary.by_place {
        let name = match place {
            Some(place) => format!("a.py:{} {}", place.line, reading.functions[place.function].name),
            None => "no Python code".to_owned(),
        };
        by_place.push(json!([name, sum(of)]));
    }
    let screen = text::text(&reading, &summary, None, Paint::Plain);
    let bins: Vec<Value> = screen.lines().filter(|line| line.trim_start().starts_with("below ")).map(pauses).collect();
    let answers = json!({
        "page": shown,
        "all": sum(&summary.all),
        "by_generation": by_generation,
        "by_place": by_place,
        "pauses": bins,
    });
    let golden = serde_json::to_string_pretty(&answers).expect("JSON") + "\n";
    expect_file!["../../../../testdata/page/collections.json"].assert_eq(&golden);
}

/// Of 240 samples 60 are of genba's functions that the collector calls, and of what these call.
const WALKED: &str = "
    process 7 3.13.0 cwd=/app
    work@a.py:1 > gc_collect_main[python] > invoke_gc_callback[python] > +0x1000[genba-agent-1a.so] > list_traverse[python] x50 gc
    work@a.py:1 > gc_collect_main[python] > invoke_gc_callback[python] > +0x2000[genba-agent-1a.so] x10 gc
    work@a.py:1 > gc_collect_main[python] > list_traverse[python] x20 gc
    work@a.py:1 > gc_collect_main[python] > +0x3000[genba-agent-1a.so] > ends@a.py:9 x10 gc
    work@a.py:1 > waitpid[genba-agent-1a.so] > waitpid[libc.so.6] x150
";

#[test]
fn cpu_of_genba_within_collections_is_genbas() {
    let cpu = |recording: &Recording| {
        let bins = Bins { length_ns: NonZeroU64::new(10_000_000).expect("not 0") };
        let profile = profile_over_time(recording, &Additions::default(), None, bins);
        let clocks = profile.processes[profile.threads[profile.samples[0].thread].process].clocks;
        let sampled_ns: u64 = profile.samples.iter().map(|group| group.cpu_ns).sum();
        assert_eq!(profile.moments.iter().map(|moment| moment.cpu_ns).sum::<u64>(), sampled_ns);
        assert_eq!(clocks.cpu_sampled_ns, sampled_ns);
        assert_eq!(clocks.cpu_ns, sampled_ns + clocks.cpu_not_sampled_ns + clocks.cpu_genba_ns);
        let in_gc = profile.samples.iter().filter(|group| in_words(group.state) == "in gc");
        let (in_gc_ns, samples) =
            in_gc.fold((0, 0), |(ns, samples), group| (ns + group.cpu_ns, samples + group.samples));
        (sampled_ns, in_gc_ns, samples, verdict(&profile).reason.name() == "gc")
    };
    let mut recording = notation::recording(WALKED);
    let (all_ns, in_gc_ns, samples, is_gc) = cpu(&recording);
    let sample_ns = all_ns / 240;
    // Without a record of collections no function of genba's is called by them.
    assert_eq!((in_gc_ns, samples, is_gc), (90 * sample_ns, 90, true));
    recording.blocks[0].block.collector = Some(proto::Collector::default());
    assert_eq!(cpu(&recording), (180 * sample_ns, 30 * sample_ns, 90, false));
}
