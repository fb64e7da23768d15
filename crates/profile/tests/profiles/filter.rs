//! Filters, from a recording written as text: what is kept, what the header says about it, and what keeps nothing.

use crate::notation;
use expect_test::{Expect, expect};
use genba_profile::build::{Additions, profile, profile_in_window};
use genba_profile::export::collapsed::{self, collapsed};
use genba_profile::export::json;
use genba_profile::filter::{Filter, NothingKept};
use genba_profile::glob::Glob;
use genba_profile::profile::{Profile, SampleGroup};
use genba_profile::reading::Reading;
use genba_profile::report::{Options, report, text};
use genba_profile::weight::{Totals, Weight};
use genba_profile::window::Window;
use regex::Regex;

/// Each sample is 1.6 ms; those of a process follow each other in the order of the lines.
const RECORDING: &str = "
    process 7 3.13.0 executable=/usr/bin/python3.13 argv=python3+/app/web.py cwd=/app
    source /app/app.py
    |render(page)
    |store(page)
    thread 7 main
    <module>@app.py:1[0-12] > render@page.py:3 > dumps@/usr/lib/python3.13/json/__init__.py:4 > encode[_json.so] x50
    <module>@app.py:2[0-11] > store@db.py:9 > write[libc.so.6] x25
    refused moved 2
    thread 8 worker
    run@pool.py:5 > render@page.py:3 x20
    run@pool.py:5 > poll[libc.so.6] x10 poll
    process 9 3.13.0 executable=/usr/bin/python3.13 argv=python3+/app/worker.py cwd=/app
    thread 9 main
    <module>@worker.py:2 > render@page.py:4 x5
";

fn filtered(filter: &Filter) -> Result<Reading, String> {
    let profile = profile_in_window(&notation::recording(RECORDING), &Additions::default(), filter.window);
    Reading::filtered(profile, filter).map_err(|nothing| nothing.to_string())
}

/// The line that begins with `kept:`, and the stacks that are left with their weight in µs of wall time.
fn check(filter: &Filter, expected: Expect) {
    expected.assert_eq(&match filtered(filter) {
        Err(words) => format!("error: {words}\n"),
        Ok(reading) => {
            let page = text::text(&reading, &report(&reading, &Options::default()), None, Default::default());
            let kept: Vec<&str> = page.lines().filter(|line| line.starts_with("kept:")).collect();
            let stacks = collapsed(&reading, collapsed::Options { weight: Weight::Wall, threads: false });
            let stacks = stacks.to_string();
            format!("{}\n{}", kept.join("\n"), stacks.replace("000\n", " µs\n"))
        }
    });
}

fn globs(names: &[&str]) -> Vec<Glob> {
    names.iter().map(|name| Glob::new(name).expect("a short glob")).collect()
}

fn regex(text: &str) -> Option<Regex> {
    Some(Regex::new(text).expect("a regular expression"))
}

#[test]
fn threads_by_name_by_number_and_several() {
    check(
        &Filter { threads: globs(&["worker"]), ..Filter::default() },
        expect![[r#"
        kept: 20.0 % of 160 ms CPU (--thread worker). Shares below are of what is kept.
        run (/app/pool.py:5);poll [libc.so.6];in poll(2) 16000 µs
        run (/app/pool.py:5);render (/app/page.py:3) 32000 µs
    "#]],
    );
    check(
        &Filter { threads: globs(&["8"]), ..Filter::default() },
        expect![[r#"
        kept: 20.0 % of 160 ms CPU (--thread 8). Shares below are of what is kept.
        run (/app/pool.py:5);poll [libc.so.6];in poll(2) 16000 µs
        run (/app/pool.py:5);render (/app/page.py:3) 32000 µs
    "#]],
    );
    // Two processes have a thread of that name.
    check(
        &Filter { threads: globs(&["main"]), ..Filter::default() },
        expect![[r#"
        kept: 80.0 % of 160 ms CPU (--thread main). Shares below are of what is kept.
        <module> (/app/app.py:1);render (/app/page.py:3);dumps (/usr/lib/python3.13/json/__init__.py:4);encode [_json.so] 80000 µs
        <module> (/app/app.py:2);store (/app/db.py:9);write [libc.so.6] 40000 µs
        <module> (/app/worker.py:2);render (/app/page.py:4) 8000 µs
    "#]],
    );
    check(
        &Filter { threads: globs(&["work*", "9"]), ..Filter::default() },
        expect![[r#"
        kept: 25.0 % of 160 ms CPU (--thread 'work*' --thread 9). Shares below are of what is kept.
        <module> (/app/worker.py:2);render (/app/page.py:4) 8000 µs
        run (/app/pool.py:5);poll [libc.so.6];in poll(2) 16000 µs
        run (/app/pool.py:5);render (/app/page.py:3) 32000 µs
    "#]],
    );
    check(
        &Filter { threads: globs(&["worker", "wrong"]), ..Filter::default() },
        expect![[r#"
        error: no thread is called `wrong` or has that number
    "#]],
    );
}

#[test]
fn processes_by_number_and_by_a_word_of_the_command_line() {
    check(
        &Filter { processes: globs(&["9"]), ..Filter::default() },
        expect![[r#"
        kept: 5.0 % of 160 ms CPU (--process 9). Shares below are of what is kept.
        <module> (/app/worker.py:2);render (/app/page.py:4) 8000 µs
    "#]],
    );
    check(
        &Filter { processes: globs(&["worker.py"]), ..Filter::default() },
        expect![[r#"
        kept: 5.0 % of 160 ms CPU (--process worker.py). Shares below are of what is kept.
        <module> (/app/worker.py:2);render (/app/page.py:4) 8000 µs
    "#]],
    );
    check(
        &Filter { processes: globs(&["9"]), threads: globs(&["worker"]), ..Filter::default() },
        expect![[r#"
        error: no thread is called `worker` or has that number
    "#]],
    );
    check(
        &Filter { processes: globs(&["worker"]), ..Filter::default() },
        expect![[r#"
        error: no process is called `worker` or has that number
    "#]],
    );
}

#[test]
fn a_depth_that_was_counted_outside_of_the_window_is_none_of_it() {
    let deep = notation::recording("process 7 3.13.0\nfib@app.py:6[4-9] x3\ndeep 4000\n");
    // It was counted as the process began.
    let depths = |start_ns, end_ns| {
        profile_in_window(&deep, &Additions::default(), Some(Window { start_ns, end_ns })).stack_depths.len()
    };
    assert_eq!([depths(0, None), depths(0, Some(1)), depths(1, None)], [1, 1, 0]);
}

#[test]
fn a_window_keeps_what_was_taken_in_it() {
    let window = |start_ms: u64, end_ms: Option<u64>| Filter {
        window: Some(Window { start_ns: start_ms * 1_000_000, end_ns: end_ms.map(|end_ms| end_ms * 1_000_000) }),
        ..Filter::default()
    };
    // Sample n of a process ends after n × 1.6 ms: the first one that ends at 80 ms or later is number 50, and 75 ends at 120.
    check(
        &window(80, Some(120)),
        expect![[r#"
        kept: 25.0 % of 160 ms CPU (--time 80ms..120ms). Shares below are of what is kept.
        <module> (/app/app.py:1);render (/app/page.py:3);dumps (/usr/lib/python3.13/json/__init__.py:4);encode [_json.so] 1600 µs
        <module> (/app/app.py:2);store (/app/db.py:9);write [libc.so.6] 38400 µs
    "#]],
    );
    check(
        &window(120, None),
        expect![[r#"
        kept: 21.0 % of 160 ms CPU (--time 120ms..). Shares below are of what is kept.
        <module> (/app/app.py:2);store (/app/db.py:9);write [libc.so.6] 1600 µs
        run (/app/pool.py:5);poll [libc.so.6];in poll(2) 16000 µs
        run (/app/pool.py:5);render (/app/page.py:3) 32000 µs
    "#]],
    );
    check(
        &window(0, Some(8)),
        expect![[r#"
        kept: 8.0 % of 160 ms CPU (--time ..8ms). Shares below are of what is kept.
        <module> (/app/app.py:1);render (/app/page.py:3);dumps (/usr/lib/python3.13/json/__init__.py:4);encode [_json.so] 6400 µs
        <module> (/app/worker.py:2);render (/app/page.py:4) 6400 µs
    "#]],
    );
    check(
        &window(9_000, None),
        expect![[r#"
        error: no sample was taken in 9s..: the recording goes on for 168 ms
    "#]],
    );
}

/// A wait is one sample, of which a window has the part that it holds. It began once.
#[test]
fn a_window_keeps_its_part_of_a_wait() {
    let recording = notation::recording(
        "process 7 3.13.0 cwd=/app\nmain@app.py:1 x10\nmain@app.py:2 > poll[libc.so.6] x1 poll every=50\nmain@app.py:1 x10\n",
    );
    let kept = |start_ms: u64, end_ms: u64| {
        let window = Window { start_ns: start_ms * 1_000_000, end_ns: Some(end_ms * 1_000_000) };
        let profile = profile_in_window(&recording, &Additions::default(), Some(window));
        let waiting = || profile.samples.iter().filter(|group| group.state.is_waiting());
        let within: Vec<_> = waiting().filter(|group| group.in_window).map(|group| group.wall_ns / 1_000_000).collect();
        let [waits, samples] = [|group: &SampleGroup| group.waits, |group: &SampleGroup| group.samples]
            .map(|of| waiting().map(of).sum::<u64>());
        let all_ns: u64 = waiting().map(|group| group.wall_ns).sum();
        assert_eq!((waits, samples, all_ns), (1, 1, 80_000_000), "{start_ms}..{end_ms}");
        within
    };
    // From 16 ms to 96 ms.
    assert_eq!(kept(0, 16), Vec::<u64>::new());
    assert_eq!(kept(0, 20), [4]);
    assert_eq!(kept(40, 60), [20], "it neither begins nor ends there");
    assert_eq!(kept(90, 200), [6]);
    assert_eq!(kept(0, 200), [80]);
    assert_eq!(kept(100, 200), Vec::<u64>::new());
}

#[test]
fn how_long_the_recording_goes_on_has_three_digits() {
    let window = Window { start_ns: 9_000_000_000, end_ns: None };
    let nothing = NothingKept::EmptyWindow { window, span_ns: 222_158_979 };
    assert_eq!(nothing.to_string(), "no sample was taken in 9s..: the recording goes on for 222 ms");
}

#[test]
fn focus_keeps_stacks_by_name_file_or_module() {
    check(
        &Filter { focus: regex("^render$"), ..Filter::default() },
        expect![[r#"
        kept: 75.0 % of 160 ms CPU (--focus '^render$'). Shares below are of what is kept.
        <module> (/app/app.py:1);render (/app/page.py:3);dumps (/usr/lib/python3.13/json/__init__.py:4);encode [_json.so] 80000 µs
        <module> (/app/worker.py:2);render (/app/page.py:4) 8000 µs
        run (/app/pool.py:5);render (/app/page.py:3) 32000 µs
    "#]],
    );
    check(
        &Filter { focus: regex("json/"), ..Filter::default() },
        expect![[r#"
        kept: 50.0 % of 160 ms CPU (--focus json/). Shares below are of what is kept.
        <module> (/app/app.py:1);render (/app/page.py:3);dumps (/usr/lib/python3.13/json/__init__.py:4);encode [_json.so] 80000 µs
    "#]],
    );
    check(
        &Filter { focus: regex("libc"), ..Filter::default() },
        expect![[r#"
        kept: 25.0 % of 160 ms CPU (--focus libc). Shares below are of what is kept.
        <module> (/app/app.py:2);store (/app/db.py:9);write [libc.so.6] 40000 µs
        run (/app/pool.py:5);poll [libc.so.6];in poll(2) 16000 µs
    "#]],
    );
    check(
        &Filter { focus: regex("a b|nothing"), ..Filter::default() },
        expect![[r#"
        error: --focus 'a b|nothing': no frame of this recording has such a name or file
    "#]],
    );
    check(
        &Filter { focus: regex("^store$"), threads: globs(&["worker"]), ..Filter::default() },
        expect![[r#"
            error: no sample is left by --thread worker --focus '^store$' together
        "#]],
    );
}

#[test]
fn what_is_hidden_folds_into_its_callers() {
    check(
        &Filter { hide: regex("json|^render$"), ..Filter::default() },
        expect![[r#"
        kept: 100.0 % of 160 ms CPU (--hide 'json|^render$'). Shares below are of what is kept.
        <module> (/app/app.py:1) 80000 µs
        <module> (/app/app.py:2);store (/app/db.py:9);write [libc.so.6] 40000 µs
        <module> (/app/worker.py:2) 8000 µs
        run (/app/pool.py:5) 32000 µs
        run (/app/pool.py:5);poll [libc.so.6];in poll(2) 16000 µs
    "#]],
    );
    // All of a stack.
    check(
        &Filter { hide: regex("pool.py|page.py|worker.py"), ..Filter::default() },
        expect![[r#"
        kept: 100.0 % of 160 ms CPU (--hide 'pool.py|page.py|worker.py'). Shares below are of what is kept.
        (hidden) 40000 µs
        <module> (/app/app.py:1);dumps (/usr/lib/python3.13/json/__init__.py:4);encode [_json.so] 80000 µs
        <module> (/app/app.py:2);store (/app/db.py:9);write [libc.so.6] 40000 µs
        poll [libc.so.6];in poll(2) 16000 µs
    "#]],
    );
    check(
        &Filter { hide: regex("nothing"), ..Filter::default() },
        expect![[r#"
        error: --hide nothing: no frame of this recording has such a name or file
    "#]],
    );
    // The focus is looked for before anything is hidden.
    check(
        &Filter { focus: regex("^dumps$"), hide: regex("^dumps$"), ..Filter::default() },
        expect![[r#"
        kept: 50.0 % of 160 ms CPU (--focus '^dumps$' --hide '^dumps$'). Shares below are of what is kept.
        <module> (/app/app.py:1);render (/app/page.py:3);encode [_json.so] 80000 µs
    "#]],
    );
}

/// The viewer keeps the same: web/model/tables/kept.test.ts.
#[test]
fn a_mark_has_no_name_to_keep_or_to_take_out() {
    let recording = notation::recording("process 7 3.13.0\n!stack·cut > main@app.py:1 x3");
    let words = |filter: &Filter| {
        let kept = Reading::filtered(profile(&recording, &Additions::default()), filter);
        kept.err().map(|nothing| nothing.to_string()).unwrap_or_default()
    };
    let no_frame = |flag: &str| format!("{flag} cut: no frame of this recording has such a name or file");
    assert_eq!(words(&Filter { focus: regex("cut"), ..Filter::default() }), no_frame("--focus"));
    assert_eq!(words(&Filter { hide: regex("cut"), ..Filter::default() }), no_frame("--hide"));
}

#[test]
fn hiding_and_complementary_windows_keep_every_nanosecond() {
    let sums = |profile: &Profile| {
        let ticks: u64 = profile.samples.iter().map(|group| group.ticks).sum();
        let squares: u64 = profile.samples.iter().map(|group| group.cpu_us2).sum();
        (Totals::of_profile(profile), ticks, squares)
    };
    let whole = profile(&notation::recording(RECORDING), &Additions::default());
    let hidden = filtered(&Filter { hide: regex("e"), ..Filter::default() }).expect("something is kept");
    assert_eq!(sums(&hidden), sums(&whole));
    assert_eq!(hidden.accounting(), whole.accounting());
    for cut_ns in [1_600_001, 80_000_000, 81_000_000, 120_000_000] {
        let side = |start_ns, end_ns| {
            let filter = Filter { window: Some(Window { start_ns, end_ns }), ..Filter::default() };
            sums(&filtered(&filter).expect("something is kept"))
        };
        let (before, after) = (side(0, Some(cut_ns)), side(cut_ns, None));
        let mut both = before.0;
        both.add(after.0);
        assert_eq!((both, before.1 + after.1, before.2 + after.2), sums(&whole), "{cut_ns}");
    }
}

#[test]
fn the_header_speaks_of_the_whole_recording_and_says_what_is_kept() {
    let reading = filtered(&Filter { threads: globs(&["worker"]), ..Filter::default() }).expect("something is kept");
    let page = text::text(&reading, &report(&reading, &Options::default()), None, Default::default());
    expect![[r#"
        CPython 3.13.0 · 168 ms wall · 160 ms CPU · 2 processes, 3 threads · sampled every 1.6 ms
        ticks 112 = sampled 110 + dropped 0 + refused 2 (moved 2) · CPU covered 100.0 %
        one place: 70.0 % of 160 ms CPU is page.py:3 render
        kept: 20.0 % of 160 ms CPU (--thread worker). Shares below are of what is kept.

        100.0 %  32.0 ms  page.py:3 render
    "#]]
    .assert_eq(&page);
}

/// The accounting stays that of the whole; the samples are those that are kept.
#[test]
fn the_whole_profile_as_json_says_what_it_is_a_part_of() {
    let filter = Filter { focus: regex("^dumps$"), ..Filter::default() };
    let page = |filter: &Filter| {
        let context = json::Context { genba_version: "0", recording: None, warnings: &[] };
        let page = json::json(&filtered(filter).unwrap(), context).unwrap();
        let page: serde_json::Value = serde_json::from_str(&page).unwrap();
        format!("{}\n{}\n{}\n", page["filters"], page["accounting"]["sampled"], page["samples"]["samples"])
    };
    expect![[r#"
        null
        110
        [50,25,20,10,5]
    "#]]
    .assert_eq(&page(&Filter::default()));
    expect![[r#"
        {"flags":["--focus '^dumps$'"],"kept":{"cpu_ns":80000000,"samples":50,"wall_ns":80000000},"share":0.5,"whole":{"cpu_ns":160000000,"samples":100,"wall_ns":176000000}}
        110
        [50]
    "#]].assert_eq(&page(&filter));
}
