//! Whose code a row is, from a recording written as text to the report's rows.

use crate::notation;
use expect_test::{Expect, expect};
use genba_profile::build::{Additions, profile};
use genba_profile::paint::Paint;
use genba_profile::reading::Reading;
use genba_profile::report::{By, Options, Sort, report, text};
use genba_profile::tree;
use genba_profile::verdict::verdict;

fn check(recording: &str, options: Options, expected: Expect) {
    let reading = Reading::of(profile(&notation::recording(recording), &Additions::default()));
    let report = report(&reading, &options);
    expected.assert_eq(&text::text(&reading, &report, None, Paint::Plain));
}

#[test]
fn without_code_of_the_users_own_libraries_stand_for_it() {
    check(
        "
        process 7 3.13.0 executable=/usr/bin/python3.13 cwd=/app
        main@/v/lib/python3.13/site-packages/tool.py:3 > loads@/usr/lib/python3.13/json/__init__.py:300 x200
        ",
        Options::default(),
        expect![[r#"
            CPython 3.13.0 · 320 ms wall · 320 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
            ticks 200 = sampled 200 + dropped 0 + refused 0 · CPU covered 100.0 %
            one place: 100.0 % of 320 ms CPU is tool.py:3 main

            100.0 %  320 ms  tool.py:3 main
                                 loads 100 %
        "#]],
    );
}

/// joblib sends them to its workers by cloudpickle, without their file.
#[test]
fn functions_of_main_in_a_worker_are_own_code() {
    check(
        "
        process 7 3.13.0 executable=/usr/bin/python3.13 cwd=/app
        <module>@app.py:9 > __call__@/v/lib/python3.13/site-packages/joblib/parallel.py:2072 x20
        process 8 3.13.0 executable=/usr/bin/python3.13 cwd=/app
        __call__@/v/lib/python3.13/site-packages/joblib/parallel.py:607 > work@<dynamic-code>:3 > sqrt@/usr/lib/python3.13/x.py:3 x200
        ",
        Options::default(),
        expect![[r#"
            CPython 3.13.0 · 320 ms wall · 352 ms CPU · 2 processes, 2 threads · sampled every 1.6 ms
            ticks 220 = sampled 220 + dropped 0 + refused 0 · CPU covered 100.0 %
            one place: 90.9 % of 352 ms CPU is <dynamic-code>:3 work

             90.9 %   320 ms  <dynamic-code>:3 work
                                  sqrt 100 %
              9.1 %  32.0 ms  app.py:9 <module>
                                  __call__ 100 %
        "#]],
    );
}

/// Each has another command line: names and descriptors of its own.
#[test]
fn a_function_in_no_file_is_one_in_all_workers_of_a_program() {
    check(
        "
        process 7 3.13.0 cwd=/app argv=python+app.py
        <module>@app.py:9 x20
        process 8 3.13.0 cwd=/app parent=7 argv=python+-m+joblib.externals.loky.backend.popen_loky_posix+--pipe+14
        work@<dynamic-code>:3[4-9] x100
        process 9 3.13.0 cwd=/app parent=7 argv=python+-m+joblib.externals.loky.backend.popen_loky_posix+--pipe+15
        work@<dynamic-code>:3[4-9] x100
        process 10 3.13.0 cwd=/app argv=python+other.py
        work@<dynamic-code>:3[4-9] x20
        ",
        Options::default(),
        expect![[r#"
            CPython 3.13.0 · 160 ms wall · 384 ms CPU · 4 processes, 4 threads · sampled every 1.6 ms
            ticks 240 = sampled 240 + dropped 0 + refused 0 · CPU covered 100.0 %
            one place: 83.3 % of 384 ms CPU is <dynamic-code>:3 work

             83.3 %   320 ms  <dynamic-code>:3 work (columns 5 to 9)
              8.3 %  32.0 ms  app.py:9 <module>
              8.3 %  32.0 ms  <dynamic-code>:3 work (columns 5 to 9)
        "#]],
    );
}

#[test]
fn a_few_samples_of_own_code_change_nothing() {
    check(
        "
        process 7 3.13.0 executable=/usr/bin/python3.13 cwd=/app
        main@/v/lib/python3.13/site-packages/tool.py:3 > loads@/usr/lib/python3.13/json/__init__.py:300 x190
        main@/v/lib/python3.13/site-packages/tool.py:3 > conf@conf.py:1 x6
        main@/v/lib/python3.13/site-packages/tool.py:3 > __init__@<string>:2 x4
        ",
        Options::default(),
        expect![[r#"
            CPython 3.13.0 · 320 ms wall · 320 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
            ticks 200 = sampled 200 + dropped 0 + refused 0 · CPU covered 100.0 %
            one place: 97.0 % of 320 ms CPU is tool.py:3 main

             97.0 %   310 ms  tool.py:3 main
                                  loads 98 %
              3.0 %  9.60 ms  conf.py:1 conf
        "#]],
    );
}

#[test]
fn each_process_has_its_own_code() {
    check(
        "
        process 7 3.13.0 executable=/usr/bin/python3.13 cwd=/app
        main@app.py:3 > loads@/usr/lib/python3.13/json/__init__.py:300 x100
        process 8 3.13.0 executable=/usr/bin/python3.13 cwd=/app
        main@/v/lib/python3.13/site-packages/tool.py:3 > loads@/usr/lib/python3.13/json/__init__.py:300 x60
        process 9 3.13.0 executable=/usr/bin/python3.13 cwd=/app
        _run@<frozen·runpy>:3 > loads@/usr/lib/python3.13/json/__init__.py:300 x40
        ",
        Options::default(),
        expect![[r#"
            CPython 3.13.0 · 160 ms wall · 320 ms CPU · 3 processes, 3 threads · sampled every 1.6 ms
            ticks 200 = sampled 200 + dropped 0 + refused 0 · CPU covered 100.0 %
            one place: 50.0 % of 320 ms CPU is app.py:3 main
              and 30.0 % is tool.py:3 main

             50.0 %   160 ms  app.py:3 main
                                  loads 100 %
             30.0 %  96.0 ms  tool.py:3 main
                                  loads 100 %
             20.0 %  64.0 ms  __init__.py:300 loads
        "#]],
    );
}

/// A library's own thread beside the user's code, and a worker that runs nothing but that library.
#[test]
fn what_processes_see_as_of_different_owners_is_one_row() {
    const TWO: &str = "
        process 7 3.13.0 executable=/usr/bin/python3.13 cwd=/app
        main@app.py:3 x100
        main@/v/lib/python3.13/site-packages/tool.py:3 x20
        process 8 3.13.0 executable=/usr/bin/python3.13 cwd=/app
        main@/v/lib/python3.13/site-packages/tool.py:3 x60
        ";
    check(
        TWO,
        Options::default(),
        expect![[r#"
            CPython 3.13.0 · 192 ms wall · 288 ms CPU · 2 processes, 2 threads · sampled every 1.6 ms
            ticks 180 = sampled 180 + dropped 0 + refused 0 · CPU covered 100.0 %
            one place: 55.6 % of 288 ms CPU is app.py:3 main
              and 44.4 % is tool.py:3 main

             55.6 %  160 ms  app.py:3 main
             44.4 %  128 ms  tool.py:3 main
        "#]],
    );
    let reading = Reading::of(profile(&notation::recording(TWO), &Additions::default()));
    for by in [By::Expression, By::Line, By::Function, By::Module] {
        let rows = report(&reading, &Options { by, ..Options::default() }).rows;
        assert_eq!(rows.iter().map(|row| row.own.samples).collect::<Vec<_>>(), [100, 80], "{by:?}");
    }
    assert_eq!(tree::tree(&reading, &tree::Options::default()).roots.len(), 2);
}

/// One process runs an interpreter that was built in this folder, the other one that was installed; each met another expression of the line.
#[test]
fn a_line_is_one_whosever_code_each_process_takes_it_for() {
    const TWO: &str = "
        process 7 3.13.0 executable=/src/python cwd=/app
        main@app.py:3 x30
        sell@/src/Lib/plug.py:5[0-4] x35
        process 8 3.13.0 executable=/usr/bin/python3.13 cwd=/app
        sell@/src/Lib/plug.py:5[6-9] x35
        ";
    let reading = Reading::of(profile(&notation::recording(TWO), &Additions::default()));
    assert_eq!(reading.profile.files.iter().filter(|file| file.path.ends_with("plug.py")).count(), 2);
    let report = report(&reading, &Options { by: By::Line, ..Options::default() });
    assert_eq!(report.rows.iter().map(|row| row.own.samples).collect::<Vec<_>>(), [70, 30]);
    let text = text::text(&reading, &report, None, Paint::Plain);
    assert!(text.contains("one line: 70.0 % of 160 ms CPU is plug.py:5 sell, in 2 expressions"), "{text}");
}

#[test]
fn code_without_a_file_counts_where_nothing_else_does() {
    check(
        "
        process 7 3.13.0 executable=/usr/bin/python3.13 cwd=/app argv=python3+-c+work()
        run@/usr/lib/python3.13/threading.py:90 > work@<string>:2 > loads@/usr/lib/python3.13/json/__init__.py:300 x100
        run@/usr/lib/python3.13/threading.py:90 > work@<stdin>:2 > loads@/usr/lib/python3.13/json/__init__.py:300 x9
        run@/usr/lib/python3.13/threading.py:90 > __init__@<string>:2 x30
        ",
        Options::default(),
        expect![[r#"
            CPython 3.13.0 · 222 ms wall · 222 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
            ticks 139 = sampled 139 + dropped 0 + refused 0 · CPU covered 100.0 %
            one place: 71.9 % of 222 ms CPU is <string>:2 work

             71.9 %   160 ms  <string>:2 work
                                  loads 100 %
             21.6 %  48.0 ms  <string>:2 __init__
              6.5 %  14.4 ms  <stdin>:2 work
                                  loads 100 %
        "#]],
    );
}

/// As pytest-xdist does, whose workers run texts that they are sent.
#[test]
fn code_without_a_file_does_not_count_where_the_user_has_files() {
    check(
        "
        process 7 3.13.0 executable=/usr/bin/python3.13 cwd=/app argv=python3+-c+work()
        <module>@<string>:1 > <module>@<string>:8 > test@test_app.py:2 > loads@/usr/lib/python3.13/json/__init__.py:300 x40
        <module>@<string>:1 > <module>@<string>:8 > collect@/v/lib/python3.13/site-packages/_pytest/main.py:2 x60
        process 8 3.13.0 executable=/usr/bin/python3.13 cwd=/app argv=python3+-c+work()
        <module>@<string>:1 > collect@/v/lib/python3.13/site-packages/_pytest/main.py:2 x20
        ",
        Options::default(),
        expect![[r#"
            CPython 3.13.0 · 160 ms wall · 192 ms CPU · 2 processes, 2 threads · sampled every 1.6 ms
            ticks 120 = sampled 120 + dropped 0 + refused 0 · CPU covered 100.0 %
            one place: 50.0 % of 192 ms CPU is main.py:2 collect
              and 33.3 % is test_app.py:2 test

             50.0 %  96.0 ms  main.py:2 collect
             33.3 %  64.0 ms  test_app.py:2 test
                                  loads 100 %
             16.7 %  32.0 ms  <string>:1 <module>
                                  collect 100 %
        "#]],
    );
}

/// Code without a file belongs to whoever runs it: a `.pth` line run by `site`, an `__init__` that dataclasses made.
/// Where the program itself has no file (`python -c`), it is the user's own.
#[test]
fn code_without_a_file_is_its_callers() {
    const HEADER: &str = "
    process 4127 3.15.2 executable=/usr/bin/python3.15 cwd=/home/me
    ";
    let rows = |stacks: &str| {
        let reading = Reading::of(profile(&notation::recording(&format!("{HEADER}{stacks}")), &Additions::default()));
        let report = report(&reading, &Options { by: By::Function, ..Options::default() });
        let text = text::text(&reading, &report, None, Paint::Plain);
        text.lines().skip(1).map(|line| format!("{}\n", line.trim_end())).collect::<String>()
    };
    expect![[r#"
        ticks 150 = sampled 150 + dropped 0 + refused 0 · CPU covered 100.0 %
        one place: 60.0 % of 240 ms CPU is app.py:3 <module>
          and 40.0 % is x.py:1 files

         60.0 %   144 ms  app.py:1 <module>
                              __init__ 100 %
         40.0 %  96.0 ms  x.py:1 files
    "#]]
    .assert_eq(&rows(
        "<module>@app.py:3[0-9] > __init__@<string>:2[0-4] x90
    addpackage@<frozen·site>:206[0-9] > <module>@<string>:1[0-9] > files@/usr/lib/python3.15/x.py:1[0-9] x60
    ",
    ));
    expect![[r#"
        ticks 90 = sampled 90 + dropped 0 + refused 0 · CPU covered 100.0 %
        one place: 100.0 % of 144 ms CPU is <string>:2 f

        100.0 %  144 ms  <string>:1 f
    "#]]
    .assert_eq(&rows("<module>@<string>:1[0-9] > f@<string>:2[0-4] x90\n    "));
}

/// Whoever started the loop is on the stack of every task.
#[test]
fn a_task_without_own_code_is_not_the_place_that_started_the_loop() {
    let to_loop = "<module>@app.py:30[0-9] > run_forever@/usr/lib/python3.13/asyncio/base_events.py:600 > Handle._run@/usr/lib/python3.13/asyncio/events.py:87 > task_step[_asyncio.so]";
    let recording = format!(
        "process 7 3.13.0 argv=app.py cwd=/home/me
        {to_loop} > get@/v/lib/python3.13/site-packages/client.py:5[0-9] > send[libc.so.6] x90
        {to_loop} > main@app.py:12[4-9] > get@/v/lib/python3.13/site-packages/client.py:5[0-9] x60
        <module>@app.py:30[0-9] > run_forever@/usr/lib/python3.13/asyncio/base_events.py:600 > select[libpython3.13.so] x30"
    );
    check(
        &recording,
        Options::default(),
        expect![[r#"
            CPython 3.13.0 · 288 ms wall · 288 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
            ticks 180 = sampled 180 + dropped 0 + refused 0 · CPU covered 100.0 %
            one place: 50.0 % of 288 ms CPU is client.py:5 get
              and 33.3 % is app.py:12 main

             50.0 %   144 ms  client.py:5 get (columns 1 to 9)
                                  send (libc) 100 %
             33.3 %  96.0 ms  app.py:12 main (columns 5 to 9)
                                  get 100 %
             16.7 %  48.0 ms  app.py:30 <module> (columns 1 to 9)
                                  run_forever → select 100 %
        "#]],
    );
    check(
        &recording,
        Options { sort: Sort::Total, ..Options::default() },
        expect![[r#"
            CPython 3.13.0 · 288 ms wall · 288 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
            ticks 180 = sampled 180 + dropped 0 + refused 0 · CPU covered 100.0 %
            one place: 50.0 % of 288 ms CPU is client.py:5 get
              and 33.3 % is app.py:12 main

            100.0 %   288 ms (self 48.0 ms)  app.py:30 <module> (columns 1 to 9)
                                                 run_forever → select 100 %
             50.0 %    144 ms (self 144 ms)  client.py:5 get (columns 1 to 9)
                                                 send (libc) 100 %
             33.3 %  96.0 ms (self 96.0 ms)  app.py:12 main (columns 5 to 9)
                                                 get 100 %
        "#]],
    );
}

#[test]
fn the_loops_own_work_is_a_row_of_its_own() {
    let base = "/usr/lib/python3.13/asyncio";
    let run_once = format!(
        "<module>@app.py:30[0-9] > run_forever@{base}/base_events.py:600 > BaseEventLoop._run_once@{base}/base_events.py:700"
    );
    let given = format!("{run_once} > Handle._run@{base}/events.py:87");
    check(
        &format!(
            "process 7 3.13.0 argv=app.py cwd=/home/me
        {given} > _read_ready@{base}/selector_events.py:9 > recv[libc.so.6] x90
        {run_once} > select@/usr/lib/python3.13/selectors.py:5 > epoll_wait[libc.so.6] x30
        {run_once} > select@/usr/lib/python3.13/selectors.py:5 > epoll_wait[libc.so.6] x30 poll
        {given} > main@app.py:12[4-9] x30"
        ),
        Options::default(),
        expect![[r#"
            CPython 3.13.0 · 288 ms wall · 240 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
            ticks 180 = sampled 180 + dropped 0 + refused 0 · CPU covered 100.0 %
            no single cause: the largest expression has 20.0 %, the ten largest 20.0 % of 240 ms CPU
              80.0 % is the event loop itself (asyncio): fewer and larger reads, writes and callbacks
              next: main (app.py) has 20.0 % with what it calls (genba report --by function --sort total)

             80.0 %   192 ms  event loop (asyncio)
                                  _read_ready → recv (libc) 75 %
             20.0 %  48.0 ms  app.py:12 main (columns 5 to 9)
        "#]],
    );
}

/// No expression is large beside the loop, which is none.
#[test]
fn a_loop_that_has_more_than_any_expression_is_told_under_each_reason_of_size() {
    let base = "/usr/lib/python3.13/asyncio";
    let run_once = format!("<module>@app.py:30[0-9] > BaseEventLoop._run_once@{base}/base_events.py:700");
    let given = format!("{run_once} > Handle._run@{base}/events.py:87");
    let told = |expressions: u32, samples: u32| {
        let tasks = (1..=expressions).map(|line| format!("{given} > f{line}@app.py:{line}[4-9] x{samples}\n"));
        let text = format!("process 7 3.13.0\n{run_once} x300\n{}", tasks.collect::<String>());
        let profile = profile(&notation::recording(&text), &Additions::default());
        let verdict = verdict(&profile);
        let details = verdict.said(&profile).details;
        let advice = details.iter().map(ToString::to_string).find(|detail| detail.contains("event loop itself"));
        (verdict.reason.name(), advice)
    };
    let line = |share: &str| {
        Some(format!("{share} % is the event loop itself (asyncio): fewer and larger reads, writes and callbacks"))
    };
    assert_eq!(told(20, 10), ("spread", line("60.0")));
    assert_eq!(told(1, 250), ("one place", line("54.5")));
    assert_eq!(told(1, 350), ("one place", None));
}
