//! The report, from a recording written as text to the text that is printed.

use crate::notation;
use expect_test::{Expect, expect};
use genba_profile::build::{Additions, profile};
use genba_profile::paint::Paint;
use genba_profile::profile::{Mark, MarkKind, ProcessIndex, Profile, Recorder};
use genba_profile::reading::Reading;
use genba_profile::report::{By, Options, Sort, markdown, report, text};
use genba_profile::show::Show;
use genba_profile::table::TableIndex;
use genba_profile::verdict::verdict;
use genba_profile::warnings::warnings;
use genba_profile::weight::Weight;

fn check(recording: &str, options: Options, expected: Expect) {
    let reading = Reading::of(profile(&notation::recording(recording), &Additions::default()));
    let report = report(&reading, &options);
    expected.assert_eq(&text::text(&reading, &report, None, Paint::Plain));
}

const SLICES: &str = "
    process 4127 3.15.2 executable=/usr/bin/python3.15 cwd=/home/me
    source /home/me/slices.py
    |import sys
    |
    |
    |def before(b):
    |    n = 0
    |    for i in range(len(b)): n += len(b[i:][:2])
    |
    |
    |def after(b):
    |    n = 0
    |    for i in range(len(b)):
    |        n += len(b[i:i + 2])
    |
    |before(b'x' * 9); after(b'x')
    <module>@slices.py:14[0-16] > before@slices.py:6[37-42] > ?bytes.__getitem__[python3.15] > PyBytes_FromStringAndSize[python3.15] > memmove[libc.so.6] x1900
    <module>@slices.py:14[0-16] > before@slices.py:6[37-42] > ?bytes.__getitem__[python3.15] x20
    <module>@slices.py:14[0-16] > before@slices.py:6[37-46] > ?bytes.__getitem__[python3.15] x18
    <module>@slices.py:14[18-29] > after@slices.py:12[17-27] x25
    <module>@slices.py:14[18-29] > after@slices.py:12[8-28] x3
    refused moved 2
";

#[test]
fn the_first_row_is_the_guilty_expression() {
    check(
        SLICES,
        Options { share_min: 0.01, ..Options::default() },
        expect![[r#"
            CPython 3.15.2 · 3.15 s wall · 3.15 s CPU · 1 process, 1 thread · sampled every 1.6 ms
            ticks 1,968 = sampled 1,966 + dropped 0 + refused 2 (moved 2) · CPU covered 100.0 %
            one place: 97.7 % of 3.15 s CPU is slices.py:6 before   b[i:]

             97.7 %   3.07 s  slices.py:6 before    for i in range(len(b)): n += len(b[i:][:2])
                                                                                     ~~~~~
                                  bytes.__getitem__ → PyBytes_FromStringAndSize → memmove (libc) 99 %
              1.3 %  40.0 ms  slices.py:12 after    n += len(b[i:i + 2])
                                                             ~~~~~~~~~~
              1.1 %  2 more rows (--min-share 0 --limit 0 shows them all)
        "#]],
    );
}

#[test]
fn by_total_a_caller_counts_too() {
    let options = Options { by: By::Function, sort: Sort::Total, ..Options::default() };
    check(
        SLICES,
        options,
        expect![[r#"
            CPython 3.15.2 · 3.15 s wall · 3.15 s CPU · 1 process, 1 thread · sampled every 1.6 ms
            ticks 1,968 = sampled 1,966 + dropped 0 + refused 2 (moved 2) · CPU covered 100.0 %
            one place: 97.7 % of 3.15 s CPU is slices.py:6 before   b[i:]

            100.0 %      3.15 s (self 0 ns)  slices.py:1 <module>
             98.6 %    3.10 s (self 3.10 s)  slices.py:1 before
                                                 bytes.__getitem__ → PyBytes_FromStringAndSize → memmove (libc) 98 %
              1.4 %  44.8 ms (self 44.8 ms)  slices.py:1 after
        "#]],
    );
}

#[test]
fn by_line_and_without_c() {
    let options = Options { by: By::Line, show: Show::Python, rows_max: Some(1), ..Options::default() };
    check(
        SLICES,
        options,
        expect![[r#"
            CPython 3.15.2 · 3.15 s wall · 3.15 s CPU · 1 process, 1 thread · sampled every 1.6 ms
            ticks 1,968 = sampled 1,966 + dropped 0 + refused 2 (moved 2) · CPU covered 100.0 %
            one place: 97.7 % of 3.15 s CPU is slices.py:6 before   b[i:]

             98.6 %  3.10 s  slices.py:6 before    for i in range(len(b)): n += len(b[i:][:2])
              1.4 %  1 more row (--min-share 0 --limit 0 shows them all)
        "#]],
    );
}

#[test]
fn each_sample_counts_for_the_users_own_code() {
    check(
        "
        process 7 3.13.0 executable=/usr/bin/python3.13 cwd=/app
        source /app/app.py
        |import json
        |def load(t):
        |\ttabs = 表;\treturn json.loads(t), 表[i:]
        load@app.py:3[20-33] > loads@/usr/lib/python3.13/json/__init__.py:300[4-20] > scan_once[_json.cpython-313.so] x300
        load@app.py:3[20-33] > loads@/usr/lib/python3.13/json/__init__.py:300[4-20] x50
        load@app.py:3[35-42] x60
        load@app.py:3 x4
        run@/usr/lib/python3.13/threading.py:90[4-9] > get@/usr/lib/python3.13/queue.py:5 x40
        start_thread[libc.so.6] > dgemm[libopenblas.so.0] > +0x4321[libopenblas.so.0] x30
        (none) x2
        ",
        Options::default(),
        expect![[r#"
            CPython 3.13.0 · 778 ms wall · 778 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
            ticks 486 = sampled 486 + dropped 0 + refused 0 · CPU covered 100.0 %
            one place: 72.0 % of 778 ms CPU is app.py:3 load   json.loads(t)

             72.0 %   560 ms  app.py:3 load        tabs = 表;      return json.loads(t), 表[i:]
                                                                          ~~~~~~~~~~~~~
                                  loads → scan_once (_json.so) 86 %
             12.3 %  96.0 ms                                                             ~~~~~~
              0.8 %  6.40 ms                       elsewhere in this line
              8.2 %  64.0 ms  queue.py:5 get
              6.6 %  51.2 ms  outside of Python
                                  start_thread → dgemm → libopenblas.so.0+0x4321 94 %
        "#]],
    );
}

#[test]
fn an_expression_over_several_lines_says_so() {
    check(
        "
        process 7 3.13.0 cwd=/app
        source /app/app.py
        |x = total([
        |  1,
        |]) + 1
        <module>@app.py:1[4-3:2] > sum[python3.13] x200
        ",
        Options::default(),
        expect![[r#"
            CPython 3.13.0 · 320 ms wall · 320 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
            ticks 200 = sampled 200 + dropped 0 + refused 0 · CPU covered 100.0 %
            one place: 100.0 % of 320 ms CPU is app.py:1 <module>   total([ 1, ])

            100.0 %  320 ms  app.py:1 <module>    x = total([
                                                      ~~~~~~~ goes on for 2 lines
                                 sum 100 %
        "#]],
    );
}

const WAITING: &str = "
    process 7 3.13.0 cwd=/app
    source /app/app.py
    |sock.recv()
    |work()
    <module>@app.py:2[0-6] x20
    <module>@app.py:1[0-11] > sock_recv[python3.13] > poll[libc.so.6] x100 poll ticks=3
    <module>@app.py:1[0-11] x5 gil
";

/// What the kernel told of threads that no tick met has one row, and is none of them.
#[test]
fn the_lines_above_the_rows_count_the_same_threads() {
    let text = "process 7 3.13.0
        wait@app.py:1[0-4] x400 poll
        thread 8 worker
        work@app.py:2[0-4] x20
        thread 4294967295 short·threads
        work@app.py:2[0-4] x20";
    let reading = Reading::of(profile(&notation::recording(text), &Additions::default()));
    let shown = text::text(&reading, &report(&reading, &Options::default()), None, Paint::Plain);
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].contains(" · 1 process, 2 threads · "), "{shown}");
    assert!(lines[2].ends_with(". Shares below are of 704 ms in 2 threads."), "{shown}");
}

#[test]
fn a_program_that_waits_is_weighed_by_wall_time() {
    check(
        WAITING,
        Options::default(),
        expect![[r#"
            CPython 3.13.0 · 520 ms wall · 32.0 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
            ticks 325 = sampled 325 + dropped 0 + refused 0 · CPU covered 100.0 %
            waiting: 520 ms wall, 32.0 ms CPU (6.2 %). Shares below are of 520 ms in 1 thread.
               92.3 %   480 ms  app.py:1 <module>   sock.recv()   waiting for an event (poll)

             93.8 %   488 ms  app.py:1 <module>    sock.recv()
                                                   ~~~~~~~~~~~
                                  sock_recv → poll (libc) → in poll(2) 98 %
              6.2 %  32.0 ms  app.py:2 <module>    work()
                                                   ~~~~~~
        "#]],
    );
    check(
        WAITING,
        Options { weight: Some(Weight::Samples), ..Options::default() },
        expect![[r#"
            CPython 3.13.0 · 520 ms wall · 32.0 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
            ticks 325 = sampled 325 + dropped 0 + refused 0 · CPU covered 100.0 %
            waiting: 520 ms wall, 32.0 ms CPU (6.2 %)
               92.3 %   480 ms  app.py:1 <module>   sock.recv()   waiting for an event (poll)
            weight: samples

            100.0 %  20  app.py:2 <module>    work()
                                              ~~~~~~
        "#]],
    );
}

/// 300 ms of a process that `--duration` stopped recording, and whose sampler backed off; the run took 10 s.
#[test]
fn what_was_not_recorded_is_no_waiting() {
    let mut profile = profile(&notation::recording("process 7 3.13.0\n f@a.py:1 x200"), &Additions::default());
    let process = ProcessIndex::new(0);
    profile.recorder =
        Some(Recorder { argv: Vec::new(), exit_code: Some(0), exit_signal: None, wall_ns: 10_000_000_000 });
    let mark = |kind, value| Mark { process, at_ns: 300_000_000, kind, text: Some("--duration is over".into()), value };
    profile.marks = vec![mark(MarkKind::Rate, Some(3_200_000)), mark(MarkKind::Stopped, None)];
    profile.processes[process].clocks.cpu_genba_ns = 20_000_000;
    profile.processes[process].clocks.cpu_ns += 20_000_000;
    let reading = Reading::of(profile);
    let report = report(&reading, &Options::default());
    expect![[r#"
        CPython 3.13.0 · 10.0 s wall · 320 ms CPU + 20.0 ms genba's · 1 process, 1 thread · sampled every 1.6 ms, later 3.2 ms
        ticks 200 = sampled 200 + dropped 0 + refused 0 · CPU covered 100.0 %
        one place: 100.0 % of 320 ms CPU is a.py:1 f

        100.0 %  320 ms  a.py:1 f
    "#]]
    .assert_eq(&text::text(&reading, &report, None, Paint::Plain));
    expect![[r#"
        process 7 (CPython 3.13.0): recorded for its first 300 ms only: --duration is over; a longer --duration records more"#]]
    .assert_eq(&warnings(&reading, Weight::Cpu).join("\n"));
}

fn of_run(recording: &str, wall_ns: u64) -> Profile {
    let profile = profile(&notation::recording(recording), &Additions::default());
    let recorder = Recorder { argv: Vec::new(), exit_code: Some(0), exit_signal: None, wall_ns };
    Profile { recorder: Some(recorder), ..profile }
}

/// `genba attach --duration 300ms` asks a process to stop its recording then, and a daemon is recorded when the run is over.
#[test]
fn a_run_took_as_long_as_samples_were_taken() {
    let daemon = of_run("process 7 3.13.0\n f@a.py:1 x220", 30_000_000);
    assert_eq!(daemon.wall_ns(), 352_000_000);
    assert_eq!(verdict(&daemon).reason.name(), "one place");
}

/// `genba run --duration 520ms`.
#[test]
fn a_verdict_has_the_wall_time_that_its_cpu_is_of() {
    let profile = of_run(&format!("{WAITING}\nend duration\n"), 10_000_000_000);
    let first = verdict(&profile).said(&profile).first.to_string();
    assert_eq!(first, "520 ms wall, 32.0 ms CPU (6.2 %)");
}

#[test]
fn how_often_it_ticked_for_most_of_the_time() {
    let first_line = |marks: &[(u64, u64)], budget_per_mille| {
        let mut profile = profile(&notation::recording("process 7 3.13.0\n f@a.py:1 x1000"), &Additions::default());
        let process = ProcessIndex::new(0);
        profile.processes[process].budget_per_mille = budget_per_mille;
        let mark = |&(at_ns, value)| Mark { process, at_ns, kind: MarkKind::Rate, text: None, value: Some(value) };
        profile.marks = marks.iter().map(mark).collect();
        let reading = Reading::of(profile);
        let report = report(&reading, &Options::default());
        text::text(&reading, &report, None, Paint::Plain)
            .lines()
            .next()
            .unwrap()
            .rsplit(" · ")
            .next()
            .unwrap()
            .to_string()
    };
    // It took 1.6 s.
    assert_eq!(first_line(&[], Some(20)), "sampled every 1.6 ms");
    assert_eq!(first_line(&[(500_000_000, 5_000_000)], Some(20)), "sampled every 1.6 ms, mostly 5 ms (budget 2 %)");
    assert_eq!(
        first_line(&[(200_000_000, 7_000_000), (700_000_000, 5_000_000)], Some(5)),
        "sampled every 1.6 ms, mostly 5 ms (budget 0.5 %)"
    );
    assert_eq!(first_line(&[(1_400_000_000, 5_000_000)], Some(20)), "sampled every 1.6 ms, later 5 ms (budget 2 %)");
    // Of an older genba.
    assert_eq!(first_line(&[(500_000_000, 3_200_000)], None), "sampled every 1.6 ms, mostly 3.2 ms");
}

/// A zip archive, `python -c`: the expressions of one line must not look the same.
#[test]
fn without_its_text_an_expression_is_its_columns() {
    check(
        "process 7 3.13.0 cwd=/app\n f@a.py:4[45-51] x200\n f@a.py:4[8-9] x100\n f@a.py:4[8-6:3] x100\n f@a.py:4 x100",
        Options::default(),
        expect![[r#"
            CPython 3.13.0 · 800 ms wall · 800 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
            ticks 500 = sampled 500 + dropped 0 + refused 0 · CPU covered 100.0 %
            one place: 40.0 % of 800 ms CPU is a.py:4 f
              and 20.0 % is a.py:4 f

             40.0 %  320 ms  a.py:4 f (columns 46 to 51)
             20.0 %  160 ms  a.py:4 f
             20.0 %  160 ms  a.py:4 f (column 9)
             20.0 %  160 ms  a.py:4 f (column 9 to line 6, column 3)
        "#]],
    );
}

const TWO_PROCESSES: &str = "
    process 7 3.13.0 cwd=/app argv=python3+app.py
    thread 7 main
    <module>@app.py:2 x200
    thread 8 worker
    work@a/part.py:2 x100
    process 9 3.13.0 cwd=/app argv=python3+child.py parent=7
    work@b/part.py:4 x100
";

#[test]
fn by_thread_process_and_module() {
    for (by, expected) in [
        (
            By::Thread,
            expect![[r#"
                CPython 3.13.0 · 480 ms wall · 640 ms CPU · 2 processes, 3 threads · sampled every 1.6 ms
                ticks 400 = sampled 400 + dropped 0 + refused 0 · CPU covered 100.0 %
                one place: 50.0 % of 640 ms CPU is app.py:2 <module>
                  and 25.0 % is a/part.py:2 work

                 50.0 %  320 ms  thread 7 main of process 7
                 25.0 %  160 ms  thread 8 worker of process 7
                 25.0 %  160 ms  thread 9 main of process 9
            "#]],
        ),
        (
            By::Process,
            expect![[r#"
                CPython 3.13.0 · 480 ms wall · 640 ms CPU · 2 processes, 3 threads · sampled every 1.6 ms
                ticks 400 = sampled 400 + dropped 0 + refused 0 · CPU covered 100.0 %
                one place: 50.0 % of 640 ms CPU is app.py:2 <module>
                  and 25.0 % is a/part.py:2 work

                 75.0 %  480 ms  process 7 python3 app.py
                 25.0 %  160 ms  process 9 python3 child.py
            "#]],
        ),
        (
            By::Module,
            expect![[r#"
                CPython 3.13.0 · 480 ms wall · 640 ms CPU · 2 processes, 3 threads · sampled every 1.6 ms
                ticks 400 = sampled 400 + dropped 0 + refused 0 · CPU covered 100.0 %
                one place: 50.0 % of 640 ms CPU is app.py:2 <module>
                  and 25.0 % is a/part.py:2 work

                 50.0 %  320 ms  /app/app.py
                 25.0 %  160 ms  /app/a/part.py
                 25.0 %  160 ms  /app/b/part.py
            "#]],
        ),
        (
            By::Line,
            expect![[r#"
                CPython 3.13.0 · 480 ms wall · 640 ms CPU · 2 processes, 3 threads · sampled every 1.6 ms
                ticks 400 = sampled 400 + dropped 0 + refused 0 · CPU covered 100.0 %
                one place: 50.0 % of 640 ms CPU is app.py:2 <module>
                  and 25.0 % is a/part.py:2 work

                 50.0 %  320 ms  app.py:2 <module>
                 25.0 %  160 ms  a/part.py:2 work
                 25.0 %  160 ms  b/part.py:4 work
            "#]],
        ),
    ] {
        check(TWO_PROCESSES, Options { by, ..Options::default() }, expected);
    }
}

#[test]
fn a_long_way_down_is_shown_by_its_ends() {
    let way = |links: u32| (1..=links).map(|link| format!(" > f{link}[x.so]")).collect::<String>();
    let recording = format!("process 7 3.13.0\n a@a.py:1{} x200\n a@a.py:2{} x100", way(10), way(11));
    check(
        &recording,
        Options::default(),
        expect![[r#"
            CPython 3.13.0 · 480 ms wall · 480 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
            ticks 300 = sampled 300 + dropped 0 + refused 0 · CPU covered 100.0 %
            one place: 66.7 % of 480 ms CPU is a.py:1 a
              and 33.3 % is a.py:2 a

             66.7 %  320 ms  a.py:1 a
                                 f1 → f2 → f3 → f4 → f5 → f6 → f7 → f8 → f9 → f10 (x.so) 100 %
             33.3 %  160 ms  a.py:2 a
                                 f1 → f2 → f3 → f4 → (2 more) → f7 → f8 → f9 → f10 → f11 (x.so) 100 %
        "#]],
    );
}

#[test]
fn as_markdown() {
    let reading = Reading::of(profile(&notation::recording(SLICES), &Additions::default()));
    let report = report(&reading, &Options::default());
    let warnings = ["a | b".to_string()];
    expect![[r#"
        CPython 3.15.2 · 3.15 s wall · 3.15 s CPU · 1 process, 1 thread · sampled every 1.6 ms  
        ticks 1,968 = sampled 1,966 + dropped 0 + refused 2 (moved 2) · CPU covered 100.0 %  
        one place: 97.7 % of 3.15 s CPU is `slices.py:6 before`   `b[i:]`  

        | share | CPU | where | expression | underneath |
        |--:|--:|---|---|---|
        | 97.7 % | 3.07 s | `slices.py:6 before` | `b[i:]` | bytes.\_\_getitem\_\_ → PyBytes\_FromStringAndSize → memmove (libc) 99 % |
        | 0.9 % | 28.8 ms |  | `b[i:][:2]` | bytes.\_\_getitem\_\_ 100 % |
        | 1.3 % | 40.0 ms | `slices.py:12 after` | `b[i:i + 2]` |  |
        | 0.2 % | 4.80 ms |  | `n += len(b[i:i + 2])` |  |

        **warning:** a \| b
    "#]].assert_eq(&markdown::markdown(&reading, &report, &warnings));
}

/// A bar ends a cell, within code, too. Elsewhere a backslash would be shown.
#[test]
fn a_bar_is_escaped_in_tables_alone() {
    let text = "process 7 3.13.0 cwd=/app\nsource /app/a.py\n|x = s | i\nf@a.py:1[4-9] x1000";
    let reading = Reading::of(profile(&notation::recording(text), &Additions::default()));
    let page = markdown::markdown(&reading, &report(&reading, &Options::default()), &[]);
    assert!(page.contains("`a.py:1 f`   `s | i`  \n"), "{page}");
    assert!(page.contains("| `a.py:1 f` | `s \\| i` |"), "{page}");
}

/// The second of two such rows has just under 2 %.
#[test]
fn a_small_row_does_not_show_that_a_stack_was_cut() {
    let cut = |line: usize, samples: usize| {
        format!("main@app.py:{line}[0-9] > !C·stack·cut > memmove[libc.so.6] x{samples}\n")
    };
    let text = format!("process 7 3.13.0\nmain@app.py:1[0-9] x961\n{}{}", cut(2, 20), cut(3, 19));
    check(
        &text,
        Options::default(),
        expect![[r#"
            CPython 3.13.0 · 1.60 s wall · 1.60 s CPU · 1 process, 1 thread · sampled every 1.6 ms
            ticks 1,000 = sampled 1,000 + dropped 0 + refused 0 · CPU covered 100.0 %
            one place: 96.1 % of 1.60 s CPU is app.py:1 main

             96.1 %   1.54 s  app.py:1 main (columns 1 to 9)
              2.0 %  32.0 ms  app.py:2 main (columns 1 to 9)
                                  C stack cut → memmove (libc) 100 %
              1.9 %  30.4 ms  app.py:3 main (columns 1 to 9)
        "#]],
    );
    let reading = Reading::of(profile(&notation::recording(&text), &Additions::default()));
    let page = markdown::markdown(&reading, &report(&reading, &Options::default()), &[]);
    assert_eq!(page.matches("memmove").count(), 1, "{page}");
}

/// As in counts of calls, which name neither classes nor lines that ran.
#[test]
fn functions_of_one_name_in_one_file_have_their_lines() {
    let text = "process 7 3.13.0\nwork^3@app.py:4 x600\nwork^9@app.py:10 x400\nmain^20@app.py:21 x100";
    let mut profile = profile(&notation::recording(text), &Additions::default());
    profile.frames.iter_mut().for_each(|frame| frame.location = None);
    let reading = Reading::of(profile);
    let page = text::text(&reading, &report(&reading, &Options::default()), None, Paint::Plain);
    let names: Vec<&str> = page.lines().rev().take(3).filter_map(|row| row.split("  ").last()).collect();
    assert_eq!(names, ["app.py main", "app.py:9 work", "app.py:3 work"], "{page}");
}

#[test]
fn a_file_is_called_the_same_in_the_verdict_and_in_the_rows() {
    check(
        "
        process 7 3.13.0
        <module>@main.py:1[0-9] > page@/app/shop/views.py:88[0-9] x300
        <module>@main.py:1[0-9] > login@/app/users/views.py:8[0-9] x2
        ",
        Options { share_min: 0.1, ..Options::default() },
        expect![[r#"
            CPython 3.13.0 · 483 ms wall · 483 ms CPU · 1 process, 1 thread · sampled every 1.6 ms
            ticks 302 = sampled 302 + dropped 0 + refused 0 · CPU covered 100.0 %
            one place: 99.3 % of 483 ms CPU is shop/views.py:88 page

             99.3 %  480 ms  shop/views.py:88 page (columns 1 to 9)
              0.7 %  1 more row (--min-share 0 --limit 0 shows them all)
        "#]],
    );
}
