//! The tree of call paths, from a recording written as text to the text that is printed.

use crate::notation;
use expect_test::{Expect, expect};
use genba_profile::build::{Additions, profile};
use genba_profile::paint::Paint;
use genba_profile::reading::Reading;
use genba_profile::show::Show;
use genba_profile::tree::{Options, Order, Step, Tree, json, text, tree};
use genba_profile::weight::{Totals, Weight};

fn check(recording: &str, options: Options, expected: Expect) {
    let reading = Reading::of(profile(&notation::recording(recording), &Additions::default()));
    let tree = tree(&reading, &options);
    expected.assert_eq(&text::text(&reading, &tree, &options, None, Paint::Plain));
}

const TWO_CALLERS: &str = "
    process 7 3.13.0 cwd=/app
    foo@app.py:10 > sum12@app.py:3 > sum1@app.py:5 > sum[python3.13] x10
    foo@app.py:10 > sum12@app.py:4 > sum2@app.py:7 > sum[python3.13] x100
    bar@app.py:11 > sum12@app.py:3 > sum1@app.py:5 > sum[python3.13] x30
    bar@app.py:11 > sum12@app.py:4 > sum2@app.py:7 > ?sum[python3.13] x10
    bar@app.py:11 > sum12@app.py:4 x2
    bar@app.py:11 > sleep[python3.13] x1 poll
";

#[test]
fn callers_are_never_merged() {
    check(
        TWO_CALLERS,
        Options::default(),
        expect![[r#"
            CPython 3.13.0 · 245 ms wall · 243 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
            ticks 153 = sampled 153 + dropped 0 + refused 0 · CPU covered 100.0 %

              share      CPU     self     wall     self  path
             72.4 %   176 ms        –   176 ms        –  foo (app.py:1)
             72.4 %   176 ms        –   176 ms        –    sum12 (app.py:1)
             65.8 %   160 ms        –   160 ms        –      sum2 (app.py:1)
             65.8 %   160 ms   160 ms   160 ms   160 ms        sum [python3.13]
              6.6 %  16.0 ms        –  16.0 ms        –      sum1 (app.py:1)
              6.6 %  16.0 ms  16.0 ms  16.0 ms  16.0 ms        sum [python3.13]
             27.6 %  67.2 ms        –  68.8 ms        –  bar (app.py:1)
             27.6 %  67.2 ms  3.20 ms  67.2 ms  3.20 ms    sum12 (app.py:1)
             19.7 %  48.0 ms        –  48.0 ms        –      sum1 (app.py:1)
             19.7 %  48.0 ms  48.0 ms  48.0 ms  48.0 ms        sum [python3.13]
              6.6 %  16.0 ms        –  16.0 ms        –      sum2 (app.py:1)
              6.6 %  16.0 ms  16.0 ms  16.0 ms  16.0 ms        sum (inferred) [python3.13]
              0.0 %                                      (1 more path not shown, without CPU)
        "#]],
    );
}

/// A just-in-time compiler's: nobody tells where its functions begin.
#[test]
fn generated_code_is_one_function() {
    check(
        "process 7 3.13.0 cwd=/app\n f@app.py:3 > !cut > +0x7f0000001234[anonymous] x10\n f@app.py:3 > !cut > +0x7f0000001239[anonymous] x30",
        Options::default(),
        expect![[r#"
            CPython 3.13.0 · 64.0 ms wall · 64.0 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
            ticks 40 = sampled 40 + dropped 0 + refused 0 · CPU covered 100.0 %

              share      CPU     self     wall     self  path
            100.0 %  64.0 ms        –  64.0 ms        –  f (app.py:1)
            100.0 %  64.0 ms        –  64.0 ms        –    (cut)
            100.0 %  64.0 ms  64.0 ms  64.0 ms  64.0 ms      generated code
        "#]],
    );
}

/// A thread that waits for a CPU tells no C functions. Its stack is that of the same calls in other samples, where these went one way.
#[test]
fn a_wait_for_a_cpu_is_in_the_path_of_its_calls() {
    let wall = Options { weight: Some(Weight::Wall), ..Options::default() };
    check(
        "
        process 7 3.13.0 cwd=/app
        main[python3.13] > <module>@app.py:10 > map_next[python3.13] > sum1@app.py:5 > sum[python3.13] x10
        <module>@app.py:10 > sum1@app.py:5 x4 cpu
        <module>@app.py:10 > sum1@app.py:6 x2 cpu
        <module>@app.py:10 > other@app.py:8 x1 cpu
        new@app.py:12 x1 cpu
        ",
        wall,
        expect![[r#"
            CPython 3.13.0 · 28.8 ms wall · 16.0 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
            ticks 18 = sampled 18 + dropped 0 + refused 0 · CPU covered 100.0 %
            weight: wall

              share      CPU     self     wall     self  path
             94.4 %  16.0 ms        –  27.2 ms        –  main [python3.13]
             94.4 %  16.0 ms        –  27.2 ms        –    <module> (app.py:1)
             88.9 %  16.0 ms        –  25.6 ms        –      map_next [python3.13]
             88.9 %  16.0 ms        –  25.6 ms        –        sum1 (app.py:1)
             55.6 %  16.0 ms  16.0 ms  16.0 ms  16.0 ms          sum [python3.13]
             33.3 %        –        –  9.60 ms  9.60 ms          waiting for CPU
              5.6 %        –        –  1.60 ms        –      other (app.py:1)
              5.6 %        –        –  1.60 ms  1.60 ms        waiting for CPU
              5.6 %        –        –  1.60 ms        –  new (app.py:1)
              5.6 %        –        –  1.60 ms  1.60 ms    waiting for CPU
        "#]],
    );
}

#[test]
fn from_the_leaves() {
    check(
        TWO_CALLERS,
        Options { inverted: true, share_min: 0.1, ..Options::default() },
        expect![[r#"
            CPython 3.13.0 · 245 ms wall · 243 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
            ticks 153 = sampled 153 + dropped 0 + refused 0 · CPU covered 100.0 %

              share      CPU     self     wall     self  path
             92.1 %   224 ms        –   224 ms        –  sum [python3.13]
             65.8 %   160 ms        –   160 ms        –    sum2 (app.py:1)
             65.8 %   160 ms        –   160 ms        –      sum12 (app.py:1)
             65.8 %   160 ms   160 ms   160 ms   160 ms        foo (app.py:1)
             26.3 %  64.0 ms        –  64.0 ms        –    sum1 (app.py:1)
             26.3 %  64.0 ms        –  64.0 ms        –      sum12 (app.py:1)
             19.7 %  48.0 ms  48.0 ms  48.0 ms  48.0 ms        bar (app.py:1)
             14.5 %                                      (4 more paths not shown, under 10 % in each place)
        "#]],
    );
}

#[test]
fn what_is_folded_is_said() {
    check(
        TWO_CALLERS,
        Options { share_min: 0.15, ..Options::default() },
        expect![[r#"
            CPython 3.13.0 · 245 ms wall · 243 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
            ticks 153 = sampled 153 + dropped 0 + refused 0 · CPU covered 100.0 %

              share      CPU     self     wall     self  path
             72.4 %   176 ms        –   176 ms        –  foo (app.py:1)
             72.4 %   176 ms        –   176 ms        –    sum12 (app.py:1)
             65.8 %   160 ms        –   160 ms        –      sum2 (app.py:1)
             65.8 %   160 ms   160 ms   160 ms   160 ms        sum [python3.13]
             27.6 %  67.2 ms        –  68.8 ms        –  bar (app.py:1)
             27.6 %  67.2 ms  3.20 ms  67.2 ms  3.20 ms    sum12 (app.py:1)
             19.7 %  48.0 ms        –  48.0 ms        –      sum1 (app.py:1)
             19.7 %  48.0 ms  48.0 ms  48.0 ms  48.0 ms        sum [python3.13]
             13.2 %                                      (3 more paths not shown, under 15 % in each place)
        "#]],
    );
    check(
        TWO_CALLERS,
        Options { depth_max: Some(2), show: Show::Python, ..Options::default() },
        expect![[r#"
            CPython 3.13.0 · 245 ms wall · 243 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
            ticks 153 = sampled 153 + dropped 0 + refused 0 · CPU covered 100.0 %

              share      CPU     self     wall     self  path
             72.4 %   176 ms        –   176 ms        –  foo (app.py:1)
             72.4 %   176 ms        –   176 ms        –    sum12 (app.py:1)
             72.4 %                                          (2 more paths not shown)
             27.6 %  67.2 ms        –  68.8 ms        –  bar (app.py:1)
             27.6 %  67.2 ms  3.20 ms  67.2 ms  3.20 ms    sum12 (app.py:1)
             26.3 %                                          (2 more paths not shown)
              0.0 %                                      (1 more path not shown, without CPU)
        "#]],
    );
}

/// `main` calls one that passes on what it got, one that keeps it, and two small ones.
const FOUR_CALLS: &str = "
    process 7 3.13.0 cwd=/app
    main@app.py:1 > passes@app.py:2 > works@app.py:3 x60
    main@app.py:1 > passes@app.py:2 x5
    main@app.py:1 > keeps@app.py:4 x20
    main@app.py:1 > small@app.py:5 x10
    main@app.py:1 > tiny@app.py:6 x5
    other@app.py:7 x10
";

#[test]
fn the_order_is_by_total_or_by_self_and_no_more_than_the_limit_are_shown() {
    let options = Options { sort: Order::Own, ..Options::default() };
    check(
        FOUR_CALLS,
        options,
        expect![[r#"
            CPython 3.13.0 · 176 ms wall · 176 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
            ticks 110 = sampled 110 + dropped 0 + refused 0 · CPU covered 100.0 %

              share      CPU     self     wall     self  path
              9.1 %  16.0 ms  16.0 ms  16.0 ms  16.0 ms  other (app.py:1)
             90.9 %   160 ms        –   160 ms        –  main (app.py:1)
             18.2 %  32.0 ms  32.0 ms  32.0 ms  32.0 ms    keeps (app.py:1)
              9.1 %  16.0 ms  16.0 ms  16.0 ms  16.0 ms    small (app.py:1)
             59.1 %   104 ms  8.00 ms   104 ms  8.00 ms    passes (app.py:1)
             54.5 %  96.0 ms  96.0 ms  96.0 ms  96.0 ms      works (app.py:1)
              4.5 %  8.00 ms  8.00 ms  8.00 ms  8.00 ms    tiny (app.py:1)
        "#]],
    );
    check(
        FOUR_CALLS,
        Options { children_max: Some(2), ..Options::default() },
        expect![[r#"
            CPython 3.13.0 · 176 ms wall · 176 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
            ticks 110 = sampled 110 + dropped 0 + refused 0 · CPU covered 100.0 %

              share      CPU     self     wall     self  path
             90.9 %   160 ms        –   160 ms        –  main (app.py:1)
             59.1 %   104 ms  8.00 ms   104 ms  8.00 ms    passes (app.py:1)
             54.5 %  96.0 ms  96.0 ms  96.0 ms  96.0 ms      works (app.py:1)
             18.2 %  32.0 ms  32.0 ms  32.0 ms  32.0 ms    keeps (app.py:1)
             13.6 %                                        (2 more paths not shown)
              9.1 %  16.0 ms  16.0 ms  16.0 ms  16.0 ms  other (app.py:1)
        "#]],
    );
    // The limit counts in the order that was asked for; what is too small is not counted.
    let options = Options { sort: Order::Own, children_max: Some(1), share_min: 0.2, ..Options::default() };
    check(
        FOUR_CALLS,
        options,
        expect![[r#"
            CPython 3.13.0 · 176 ms wall · 176 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
            ticks 110 = sampled 110 + dropped 0 + refused 0 · CPU covered 100.0 %

              share      CPU     self     wall     self  path
             90.9 %   160 ms        –   160 ms        –  main (app.py:1)
             59.1 %   104 ms  8.00 ms   104 ms  8.00 ms    passes (app.py:1)
             54.5 %  96.0 ms  96.0 ms  96.0 ms  96.0 ms      works (app.py:1)
             31.8 %                                        (3 more paths not shown)
              9.1 %                                      (1 more path not shown, under 20 % in each place)
        "#]],
    );
}

#[test]
fn as_a_table_too_the_order_and_the_limit_hold() {
    let reading = Reading::of(profile(&notation::recording(FOUR_CALLS), &Additions::default()));
    let names = |options: Options| {
        let page = json::json(&reading, &tree(&reading, &options), &options).unwrap();
        let page: serde_json::Value = serde_json::from_str(&page).unwrap();
        let rows = page["branches"].as_array().unwrap().iter();
        rows.map(|row| format!("{} {}", row["parent"], row["name"])).collect::<Vec<_>>().join(", ")
    };
    expect![[r#"null "main", 0 "passes", 1 "works", 0 "keeps", 0 "small", 0 "tiny", null "other""#]]
        .assert_eq(&names(Options::default()));
    expect![[r#"null "other", null "main", 1 "keeps", 1 "small""#]].assert_eq(&names(Options {
        sort: Order::Own,
        children_max: Some(2),
        ..Options::default()
    }));
}

#[test]
fn a_deep_recursion_does_not_run_off_the_screen() {
    let frames = vec!["down@app.py:3"; 44].join(" > ");
    let recording = format!("process 7 3.13.0 cwd=/app\n{frames} x1");
    let reading = Reading::of(profile(&notation::recording(&recording), &Additions::default()));
    let options = Options::default();
    let page = text::text(&reading, &tree(&reading, &options), &options, None, Paint::Plain);
    let last: Vec<&str> = page.lines().rev().take(3).map(str::trim).collect();
    expect![[r#"
        100.0 %  1.60 ms  1.60 ms  1.60 ms  1.60 ms                                                                                  [43] down (app.py:1)
        100.0 %  1.60 ms        –  1.60 ms        –                                                                                  [42] down (app.py:1)
        100.0 %  1.60 ms        –  1.60 ms        –                                                                                  [41] down (app.py:1)"#]].assert_eq(&last.join("\n"));
}

#[test]
fn as_a_table_a_parent_stands_before_its_children() {
    let reading = Reading::of(profile(&notation::recording(TWO_CALLERS), &Additions::default()));
    let rows = |options: Options| {
        let page = json::json(&reading, &tree(&reading, &options), &options).unwrap();
        let page: serde_json::Value = serde_json::from_str(&page).unwrap();
        let of = |row: &serde_json::Value, key: &str| row[key].to_string();
        let line = |row: &serde_json::Value| {
            let keys = ["parent", "kind", "name", "first_line", "total_samples", "samples"];
            keys.map(|key| of(row, key)).join(" ") + "\n"
        };
        let whole = format!("{} {} {}\n", of(&page, "weight"), of(&page, "samples"), of(&page, "cpu_ns"));
        whole + &page["branches"].as_array().unwrap().iter().map(line).collect::<String>()
    };
    expect![[r#"
        "cpu" 152 243200000
        null "python" "foo" 1 110 0
        0 "python" "sum12" 1 110 0
        1 "python" "sum2" 1 100 0
        2 "c" "sum" null 100 100
        1 "python" "sum1" 1 10 0
        4 "c" "sum" null 10 10
        null "python" "bar" 1 42 0
        6 "python" "sum12" 1 42 2
        7 "python" "sum1" 1 30 0
        8 "c" "sum" null 30 30
        7 "python" "sum2" 1 10 0
        10 "inferred" "sum" null 10 10
        6 "c" "sleep" null 0 0
        12 "state" "in poll(2)" null 0 0
    "#]]
    .assert_eq(&rows(Options::default()));
    expect![[r#"
        "cpu" 152 243200000
        null "python" "foo" 1 110 0
        0 "python" "sum12" 1 110 0
        1 "python" "sum2" 1 100 0
    "#]]
    .assert_eq(&rows(Options { share_min: 0.3, depth_max: Some(3), ..Options::default() }));
}

const TASKS: &str = "
    process 7 3.13.0 cwd=/app
    <module>@app.py:30 > run_once@/usr/lib/python3.13/asyncio/base_events.py:600 > Handle._run@/usr/lib/python3.13/asyncio/events.py:87 > context_run[python3.13] > task_step[_asyncio.so] > answer@app.py:10 > read@/usr/lib/python3.13/asyncio/streams.py:40 > find[python3.13] x30
    <module>@app.py:30 > run_once@/usr/lib/python3.13/asyncio/base_events.py:600 > Handle._run@/usr/lib/python3.13/asyncio/events.py:87 > context_run[python3.13] > step@/usr/lib/python3.13/asyncio/tasks.py:300 > answer@app.py:11 x20
    <module>@app.py:30 > run_once@/usr/lib/python3.13/asyncio/base_events.py:600 > Handle._run@/usr/lib/python3.13/asyncio/events.py:87 > context_run[python3.13] > ready@/usr/lib/python3.13/asyncio/selector_events.py:9 > recv[python3.13] x10
    <module>@app.py:30 > run_once@/usr/lib/python3.13/asyncio/base_events.py:600 > select[python3.13] x10 poll
    <module>@app.py:2 x5
    thread 8 other
    bootstrap@/usr/lib/python3.13/threading.py:9 > run_once@/usr/lib/python3.13/asyncio/base_events.py:600 > Handle._run@/usr/lib/python3.13/asyncio/events.py:87 > tick@app.py:20 > Handle._run@/usr/lib/python3.13/asyncio/events.py:87 > nested@app.py:21 x10
";

#[test]
fn what_the_event_loop_runs_stands_directly_under_it() {
    check(
        TASKS,
        Options { weight: Some(Weight::Wall), ..Options::default() },
        expect![[r#"
            CPython 3.13.0 · 136 ms wall · 120 ms CPU · 1 process, 2 threads · sampled every 1.6 ms
            ticks 85 = sampled 85 + dropped 0 + refused 0 · CPU covered 100.0 %
            weight: wall

              share      CPU     self     wall     self  path
             70.6 %  96.0 ms        –  96.0 ms        –  event loop (asyncio)
             58.8 %  80.0 ms  32.0 ms  80.0 ms  32.0 ms    answer (app.py:1)
             35.3 %  48.0 ms        –  48.0 ms        –      read (streams.py:1)
             35.3 %  48.0 ms  48.0 ms  48.0 ms  48.0 ms        find [python3.13]
             11.8 %  16.0 ms        –  16.0 ms        –    tick (app.py:1)
             11.8 %  16.0 ms        –  16.0 ms        –      Handle._run (events.py:1)
             11.8 %  16.0 ms  16.0 ms  16.0 ms  16.0 ms        nested (app.py:1)
             29.4 %  24.0 ms  8.00 ms  40.0 ms  8.00 ms  <module> (app.py:1)
             23.5 %  16.0 ms        –  32.0 ms        –    run_once (base_events.py:1)
             11.8 %  16.0 ms        –  16.0 ms        –      Handle._run (events.py:1)
             11.8 %  16.0 ms        –  16.0 ms        –        context_run [python3.13]
             11.8 %  16.0 ms        –  16.0 ms        –          ready (selector_events.py:1)
             11.8 %  16.0 ms  16.0 ms  16.0 ms  16.0 ms            recv [python3.13]
             11.8 %        –        –  16.0 ms        –      select [python3.13]
             11.8 %        –        –  16.0 ms  16.0 ms        in poll(2)

            event loop (asyncio): the loop's own calls are left out; --whole shows them
        "#]],
    );
}

#[test]
fn every_call_of_the_loop_where_it_is_asked_for() {
    check(
        TASKS,
        Options { weight: Some(Weight::Wall), whole: true, ..Options::default() },
        expect![[r#"
            CPython 3.13.0 · 136 ms wall · 120 ms CPU · 1 process, 2 threads · sampled every 1.6 ms
            ticks 85 = sampled 85 + dropped 0 + refused 0 · CPU covered 100.0 %
            weight: wall

              share      CPU     self     wall     self  path
             88.2 %   104 ms  8.00 ms   120 ms  8.00 ms  <module> (app.py:1)
             82.4 %  96.0 ms        –   112 ms        –    run_once (base_events.py:1)
             70.6 %  96.0 ms        –  96.0 ms        –      Handle._run (events.py:1)
             70.6 %  96.0 ms        –  96.0 ms        –        context_run [python3.13]
             35.3 %  48.0 ms        –  48.0 ms        –          task_step [_asyncio.so]
             35.3 %  48.0 ms        –  48.0 ms        –            answer (app.py:1)
             35.3 %  48.0 ms        –  48.0 ms        –              read (streams.py:1)
             35.3 %  48.0 ms  48.0 ms  48.0 ms  48.0 ms                find [python3.13]
             23.5 %  32.0 ms        –  32.0 ms        –          step (tasks.py:1)
             23.5 %  32.0 ms  32.0 ms  32.0 ms  32.0 ms            answer (app.py:1)
             11.8 %  16.0 ms        –  16.0 ms        –          ready (selector_events.py:1)
             11.8 %  16.0 ms  16.0 ms  16.0 ms  16.0 ms            recv [python3.13]
             11.8 %        –        –  16.0 ms        –      select [python3.13]
             11.8 %        –        –  16.0 ms  16.0 ms        in poll(2)
             11.8 %  16.0 ms        –  16.0 ms        –  bootstrap (threading.py:1)
             11.8 %  16.0 ms        –  16.0 ms        –    run_once (base_events.py:1)
             11.8 %  16.0 ms        –  16.0 ms        –      Handle._run (events.py:1)
             11.8 %  16.0 ms        –  16.0 ms        –        tick (app.py:1)
             11.8 %  16.0 ms        –  16.0 ms        –          Handle._run (events.py:1)
             11.8 %  16.0 ms  16.0 ms  16.0 ms  16.0 ms            nested (app.py:1)
        "#]],
    );
}

#[test]
fn the_loop_is_not_left_out_from_the_leaves_on() {
    check(
        TASKS,
        Options { inverted: true, depth_max: Some(3), ..Options::default() },
        expect![[r#"
            CPython 3.13.0 · 136 ms wall · 120 ms CPU · 1 process, 2 threads · sampled every 1.6 ms
            ticks 85 = sampled 85 + dropped 0 + refused 0 · CPU covered 100.0 %

              share      CPU     self     wall     self  path
             40.0 %  48.0 ms        –  48.0 ms        –  find [python3.13]
             40.0 %  48.0 ms        –  48.0 ms        –    read (streams.py:1)
             40.0 %  48.0 ms        –  48.0 ms        –      answer (app.py:1)
             40.0 %                                            (1 more path not shown)
             26.7 %  32.0 ms        –  32.0 ms        –  answer (app.py:1)
             26.7 %  32.0 ms        –  32.0 ms        –    step (tasks.py:1)
             26.7 %  32.0 ms        –  32.0 ms        –      context_run [python3.13]
             26.7 %                                            (1 more path not shown)
             13.3 %  16.0 ms        –  16.0 ms        –  nested (app.py:1)
             13.3 %  16.0 ms        –  16.0 ms        –    Handle._run (events.py:1)
             13.3 %  16.0 ms        –  16.0 ms        –      tick (app.py:1)
             13.3 %                                            (1 more path not shown)
             13.3 %  16.0 ms        –  16.0 ms        –  recv [python3.13]
             13.3 %  16.0 ms        –  16.0 ms        –    ready (selector_events.py:1)
             13.3 %  16.0 ms        –  16.0 ms        –      context_run [python3.13]
             13.3 %                                            (1 more path not shown)
              6.7 %  8.00 ms  8.00 ms  8.00 ms  8.00 ms  <module> (app.py:1)
              0.0 %                                      (1 more path not shown, without CPU)
        "#]],
    );
}

#[test]
fn what_is_left_out_of_the_tree_changes_no_sum() {
    let reading = Reading::of(profile(&notation::recording(TASKS), &Additions::default()));
    for show in [Show::Both, Show::Python, Show::C] {
        let [folded, whole] = [false, true].map(|whole| tree(&reading, &Options { show, whole, ..Options::default() }));
        let in_loop = |tree: &Tree| tree.branches.iter().any(|branch| branch.step == Step::EventLoop);
        assert!(in_loop(&folded) && !in_loop(&whole));
        for tree in [&folded, &whole] {
            let (mut own, mut roots) = (Totals::default(), Totals::default());
            tree.branches.iter().for_each(|branch| own.add(branch.own));
            tree.roots.iter().for_each(|root| roots.add(tree.branches[*root].total));
            assert_eq!((own, roots), (tree.whole, tree.whole));
        }
        assert_eq!(folded.whole, whole.whole);
    }
}

#[test]
fn as_a_table_the_loop_is_a_kind() {
    let reading = Reading::of(profile(&notation::recording(TASKS), &Additions::default()));
    let options = Options::default();
    let page = json::json(&reading, &tree(&reading, &options), &options).unwrap();
    let page: serde_json::Value = serde_json::from_str(&page).unwrap();
    let row = &page["branches"][0];
    assert_eq!((row["kind"].as_str(), row["name"].as_str()), (Some("loop"), Some("event loop (asyncio)")));
    assert_eq!(row["file"], serde_json::Value::Null);
    assert_eq!(page["branches"][1]["name"], "answer");
}
