//! Two times of one recording, compared.

use crate::compared::{run, told};
use crate::random::Random;
use expect_test::expect;
use genba_profile::difference_view::{Comparison, Run, comparison, json, text};
use genba_profile::filter::Filter;
use genba_profile::paint::Paint;
use genba_profile::weight::Weight;
use genba_profile::window::Window;
use serde_json::Value;

fn side(recording: &str, start_us: u64, end_us: u64) -> Vec<Run> {
    side_of("app.genba", recording, start_us, end_us)
}

fn side_of(name: &str, recording: &str, start_us: u64, end_us: u64) -> Vec<Run> {
    let window = Window { start_ns: start_us * 1_000, end_ns: Some(end_us * 1_000) };
    vec![run(name, recording, &Filter { window: Some(window), ..Filter::default() })]
}

/// Of each side: the part of its CPU that samples hold.
fn covered(all: &Comparison) -> [f64; 2] {
    let page: Value = serde_json::from_str(&json::json(all, None, &[]).expect("JSON")).expect("JSON");
    ["before", "after"].map(|side| page["sides"][side]["cpu_covered"].as_f64().expect("a part"))
}

/// The program did as much in both times. Of the second one, half is in no sample.
#[test]
fn each_time_has_its_own_cpu_in_no_sample() {
    let recording = "process 7 3.13.0 cwd=/app
        main@app.py:3 x250
        main@app.py:3 x125
        unsampled 200ms
        unsampled 0ms until=400ms";
    let (before, after) = (side(recording, 0, 400_800), side(recording, 400_800, 800_800));
    let all = comparison(&before, &after, Some(Weight::Cpu));
    let verdict = all.verdict();
    let words = " of B's 399 ms: what is in no sample is in no row";
    assert!(verdict.starts_with("not comparable: ") && verdict.contains(words), "{verdict}");
    assert_eq!(told(&all), ["main -200 open"]);
    let [of_first, of_second] = covered(&all);
    assert!(of_first > 0.99 && of_second < 0.51, "{of_first} {of_second}");
}

/// The CPU that a process used before genba was loaded belongs to no time of its recording.
#[test]
fn cpu_before_the_recording_is_in_no_time() {
    let recording = "process 7 3.13.0 cwd=/app cpu_before_ms=500
        main@app.py:3 x250
        main@app.py:3 x250
        unsampled 500ms until=400ms";
    let (before, after) = (side(recording, 0, 400_800), side(recording, 400_800, 800_800));
    let [of_first, of_second] = covered(&comparison(&before, &after, Some(Weight::Cpu)));
    assert!(of_first > 0.99 && of_second > 0.99, "{of_first} {of_second}");
}

/// More recordings tell more only where each is of one of the times.
#[test]
fn the_advice_on_two_times_of_one_recording_can_be_followed() {
    let recording = format!("process 7 3.13.0 cwd=/app\n{}", "main@app.py:3 x5\nmain@app.py:4 x5\n".repeat(80));
    let (before, after) = (side(&recording, 0, 640_800), side(&recording, 640_800, 1_281_600));
    let page = text::text(&comparison(&before, &after, None), None, None, Paint::Plain);
    let advice = page.lines().find(|line| line.starts_with("to tell a change")).expect("an advice");
    let ends = " recordings for each of the two times (genba diff --before-time ..640.8ms --after-time 640.8ms..1.2816s A1 A2 … -- B1 B2 …)";
    assert!(advice.ends_with(ends), "{advice}");
    let (before, after) = (side(&recording, 0, 32_800), side(&recording, 32_800, 65_600));
    let verdict = comparison(&before, &after, None).verdict();
    expect!["too few samples to tell: A has 20, B has 20, and genba compares from 100 on one side and 10 on the other; compare times 6 times as long, or record with a --rate 6 times as high"]
        .assert_eq(&verdict);
}

/// The same time of a longer run has no more samples.
#[test]
fn the_advice_on_a_time_asks_for_no_longer_runs() {
    // 400 samples of two functions by chance.
    let recording = |key: usize| {
        let mut random = Random(7);
        let sample = |random: &mut Random| if random.next() < 0.5 { "f@app.py:3" } else { "g@app.py:5" };
        let samples = (0..400).map(|_| format!("{} x1\n", sample(&mut random)));
        format!("process 7 3.13.0 cwd=/app key={key}\n") + &samples.collect::<String>()
    };
    let window = Window { start_ns: 0, end_ns: Some(600_000_000) };
    let filter = Filter { window: Some(window), ..Filter::default() };
    let runs = |first_key: usize| -> Vec<Run> {
        let keys = first_key..first_key + 10;
        keys.map(|key| run(&format!("{key}.genba"), &recording(key), &filter)).collect()
    };
    let page = text::text(&comparison(&runs(1), &runs(11), None), None, None, Paint::Plain);
    let advice = page.lines().find(|line| line.starts_with("to tell a change")).expect("an advice");
    assert!(advice.contains(", or as many as now, each with a --rate "), "{advice}");
}

/// The kernel tells of the whole run how long it waited for a CPU. The samples tell in which time that was.
#[test]
fn each_time_has_its_own_wait_for_a_cpu() {
    // 400 samples of 1.6 ms with a CPU to themselves, then as many that took half as long again.
    let recording = "process 7 3.13.0 cwd=/app
        main@app.py:3 x400
        main@app.py:3 x400 wall=150
        turns 7 900 320ms
        ended 7 1280ms 0ms";
    let (before, after) = (side(recording, 0, 640_800), side(recording, 640_800, 1_281_600));
    let all = comparison(&before, &after, Some(Weight::Wall));
    assert_eq!(told(&all), ["main +320 open"]);
    assert!(!all.difference.whole.certain, "{}", all.verdict());
    let page = text::text(&all, None, None, Paint::Plain);
    let told = page.lines().find(|line| line.contains("waited for a CPU"));
    expect!["a run of B waited for a CPU 33 % of its time, of A 0 %: the intervals are wider for that"]
        .assert_eq(told.unwrap_or_default());
}

/// `load`, then `compute`, and on one side a wait for a CPU before both: the same work begins later, and ends later.
#[test]
fn what_a_program_waited_for_a_cpu_moves_no_claim_into_a_time() {
    // 1,500 samples of 1.6 ms, behind 250 in which it was ready and had no CPU.
    let work = "load@app.py:3 x500\ncompute@app.py:4 x1000\n";
    let recording = |key: u32, waits: &str, queue_ms: u32| {
        let clocks = format!("turns 7 900 {queue_ms}ms\nended 7 2400ms 0ms\n");
        format!("process 7 3.13.0 cwd=/app key={key}\n{waits}{work}{clocks}")
    };
    let compared = |queue_ms: u32, (start_us, end_us): (u64, Option<u64>), weight: Weight| {
        let window = Window { start_ns: start_us * 1_000, end_ns: end_us.map(|end_us| end_us * 1_000) };
        let filter = Filter { window: Some(window), ..Filter::default() };
        let before = [run("a.genba", &recording(1, "", 0), &filter)];
        let after = [run("b.genba", &recording(2, "load@app.py:3 x250 cpu\n", queue_ms), &filter)];
        let all = comparison(&before, &after, Some(weight));
        (told(&all), all.difference.whole.certain, all.verdict())
    };
    let open = |(rows, whole_is_certain, verdict): (Vec<String>, bool, String)| {
        let is_open = verdict.starts_with("no difference that these recordings can tell");
        assert!(is_open && !whole_is_certain && rows.iter().all(|row| row.ends_with(" open")), "{rows:?} {verdict}");
        rows
    };
    // The wait is before the time. By samples, 250 of each are 400 ms.
    let behind_it = (400_800, Some(1_440_800));
    assert_eq!(open(compared(400, behind_it, Weight::Cpu)), ["load +400 open", "compute -400 open"]);
    open(compared(400, behind_it, Weight::Wall));
    open(compared(400, behind_it, Weight::Samples));
    // A time without an end has more of the work.
    assert_eq!(open(compared(400, (400_800, None), Weight::Cpu)), ["load +400 open", "compute +0 open"]);
    // It is within the time, so the time has less of the work.
    assert_eq!(open(compared(400, (0, Some(1_040_800)), Weight::Cpu)), ["compute -240 open", "load -160 open"]);
}

/// Others had the CPU in 40 % of the time, before the time that is compared and in it: the CPU before it is in proportion, and only the kernel tells.
#[test]
fn what_a_program_waited_for_a_cpu_all_the_time_moves_no_claim_into_a_time() {
    let idle = "process 7 3.13.0 cwd=/app key=1
        load@app.py:3 x2004
        compute@app.py:4 x3996
        turns 7 900 0ms
        ended 7 9600ms 0ms";
    let in_turns = |function: &str, rounds: usize| format!("{function} x3\n{function} x2 cpu\n").repeat(rounds);
    let work = in_turns("load@app.py:3", 668) + &in_turns("compute@app.py:4", 1_332);
    let rows = |queue_ms: u32| {
        let clocks = format!("turns 7 900 {queue_ms}ms\nended 7 9600ms 0ms\n");
        let busy = format!("process 7 3.13.0 cwd=/app key=2\n{work}{clocks}");
        let before = side_of("a.genba", idle, 1_600_800, 5_760_800);
        let after = side_of("b.genba", &busy, 1_600_800, 5_760_800);
        let all = comparison(&before, &after, Some(Weight::Cpu));
        assert!(!all.verdict().starts_with("not comparable"), "{}", all.verdict());
        told(&all)
    };
    // Of the wait, 640 ms are before the time, and 1,664 ms in it.
    assert_eq!(rows(6_400), ["compute -2304 open", "load +640 open"]);
    assert_eq!(rows(0)[0], "compute -2304 certain");
}

/// `ask` waits for a server that answers later on one side: the same work begins later, and ends later.
#[test]
fn what_a_program_slept_before_a_time_is_allowed_for() {
    let recording = |key: u32, asleep: u32| {
        let work = "load@app.py:3 x500\ncompute@app.py:4 x1000\n";
        format!("process 7 3.13.0 cwd=/app key={key}\nask@app.py:2 x{asleep} asleep\n{work}")
    };
    let compared = |end_us: Option<u64>, weight: Weight| {
        // 300 samples of 1.6 ms. Of the work, the one has done 250 of them then, and the other one nothing.
        let window = Window { start_ns: 480_800_000, end_ns: end_us.map(|end_us| end_us * 1_000) };
        let filter = Filter { window: Some(window), ..Filter::default() };
        let before = [run("a.genba", &recording(1, 50), &filter)];
        let after = [run("b.genba", &recording(2, 300), &filter)];
        let all = comparison(&before, &after, Some(weight));
        let verdict = all.verdict();
        assert!(verdict.starts_with("no difference that these recordings can tell"), "{verdict}");
        assert!(!all.difference.whole.certain, "{verdict}");
        let page = text::text(&all, None, None, Paint::Plain);
        let line = page.lines().find(|line| line.starts_with("before the time")).unwrap_or_default().to_owned();
        (told(&all), line)
    };
    let (rows, line) = compared(Some(1_520_800), Weight::Cpu);
    assert_eq!(rows, ["load +400 open", "compute -400 open"]);
    expect!["before the time that is compared a run took 400 ms of CPU in A, 0 ns in B: the intervals are wider for that; record both sides in turn, or name the same part of the work with --before-time and --after-time"]
        .assert_eq(&line);
    for weight in [Weight::Wall, Weight::Samples] {
        let (rows, _) = compared(Some(1_520_800), weight);
        assert!(rows.len() == 2 && rows.iter().all(|row| row.ends_with(" open")), "{rows:?}");
    }
    // A time without an end has more of the work.
    assert_eq!(compared(None, Weight::Cpu).0, ["load +400 open", "compute +0 open"]);
}

/// One every 32 ms, each of so many samples in `handle`, and then a wait for the next one.
fn requests(samples: u32, count: usize) -> String {
    format!("handle@app.py:3 x{samples}\nserve@app.py:4 x{} asleep\n", 20 - samples).repeat(count)
}

/// The change of `handle`, and whether a line tells what was before the time.
fn row_of_requests(before: &[Run], after: &[Run]) -> (String, bool) {
    let all = comparison(before, after, Some(Weight::Cpu));
    let page = text::text(&all, None, None, Paint::Plain);
    let row = told(&all).into_iter().find(|row| row.starts_with("handle ")).unwrap_or_default();
    (row, page.contains("before the time that is compared"))
}

/// Each request became 30 % faster: both sides have come as far when the time begins, with less CPU on one of them.
#[test]
fn less_cpu_before_a_time_and_in_it_is_a_change() {
    let of = |key: u32, samples: u32| {
        let recording = format!("process 7 3.13.0 cwd=/app key={key}\n{}", requests(samples, 600));
        // The second 200 requests of 600.
        side_of(&format!("{key}.genba"), &recording, 6_400_800, 12_800_800)
    };
    assert_eq!(row_of_requests(&of(1, 10), &of(2, 7)), ("handle -960 certain".to_owned(), false));
    assert_eq!(row_of_requests(&of(1, 7), &of(2, 10)), ("handle +960 certain".to_owned(), false));
}

/// What was before it is alike.
#[test]
fn a_change_in_a_time_alone_is_no_delay() {
    let of = |key: u32, samples: u32| {
        let recording = format!("process 7 3.13.0 cwd=/app key={key}\nload@app.py:2 x2500\n{}", requests(samples, 400));
        // The first 200 requests of 400.
        side_of(&format!("{key}.genba"), &recording, 4_000_800, 10_400_800)
    };
    assert_eq!(row_of_requests(&of(1, 10), &of(2, 7)), ("handle -960 certain".to_owned(), false));
}

/// A program that was recorded to its end, and for a part of its run.
#[test]
fn a_time_that_one_recording_does_not_have_whole_is_not_compared() {
    let recording = |samples: u32| format!("process 7 3.13.0 cwd=/app\nmain@app.py:3 x{samples}\n");
    let (whole, stopped) = (recording(1_000), recording(250) + "end duration\n");
    let verdict = |start_ms: u64, end_ms: Option<u64>| {
        let window = Window { start_ns: start_ms * 1_000_000, end_ns: end_ms.map(|end_ms| end_ms * 1_000_000) };
        let filter = Filter { window: Some(window), ..Filter::default() };
        let (before, after) = (vec![run("a.genba", &whole, &filter)], vec![run("b.genba", &stopped, &filter)]);
        comparison(&before, &after, Some(Weight::Cpu)).verdict()
    };
    let part = verdict(0, Some(800));
    let words = "not comparable: of the time that is compared one recording has 400 ms, another one 800 ms: ";
    assert!(part.starts_with(words), "{part}");
    let to_the_end = verdict(100, None);
    assert!(to_the_end.starts_with("not comparable: A ended with exit code 0, B went on "), "{to_the_end}");
    let both_have_it = verdict(0, Some(400));
    assert!(both_have_it.starts_with("no difference that these recordings can tell"), "{both_have_it}");
}
