//! The verdict: each reason just where its rule begins to hold, and just before.

use crate::judged::{PROCESS, check, expressions};
use expect_test::expect;

#[test]
fn one_place_from_two_fifths() {
    check(
        &format!("{PROCESS}hot@app.py:100[4-9] x40\n{}", expressions(4, 15)),
        expect![[r#"
        one place: 40.0 % of 160 ms CPU is app.py:100 hot
    "#]],
    );
    check(
        &format!("{PROCESS}hot@app.py:100[4-9] x39\n{}other@app.py:99 x1", expressions(4, 15)),
        expect![[r#"
            no single cause: the largest expression has 39.0 %, the ten largest 100.0 % of 160 ms CPU
            next: hot (app.py) has 39.0 % with what it calls (genba report --by function --sort total)
        "#]],
    );
}

/// The line that is there now may not be the one that ran.
#[test]
fn a_place_in_a_changed_file_says_that_it_changed() {
    check(
        &format!("{PROCESS}source app.py changed\nhot@app.py:100[4-9] x40\n{}", expressions(4, 15)),
        expect![[r#"
            one place: 40.0 % of 160 ms CPU is app.py:100 hot (the file was changed after the program began)
        "#]],
    );
}

#[test]
fn a_clock_that_takes_a_tenth_is_measured_by_the_doctor() {
    let recording = |clock: usize, thread: usize| {
        format!(
            "{PROCESS}hot@app.py:100[4-9] x{}\nhot@app.py:100[4-9] > time_monotonic[python3] > clock_gettime[libc.so.6] x{clock}\n\
             hot@app.py:100[4-9] > time_thread_time[python3] > clock_gettime[libc.so.6] x{thread}\n",
            100 - clock - thread
        )
    };
    check(
        &recording(10, 0),
        expect![[r#"
        one place: 100.0 % of 160 ms CPU is app.py:100 hot
        10.0 % is spent reading the clock: genba doctor --clock FILE says whether a faster one would help
    "#]],
    );
    check(
        &recording(9, 20),
        expect![[r#"
        one place: 100.0 % of 160 ms CPU is app.py:100 hot
    "#]],
    );
}

#[test]
fn one_line_from_two_fifths() {
    let line = |first: usize, second: usize| {
        format!(
            "{PROCESS}hot@app.py:100[4-9] x{first}\nhot.<locals>.<genexpr>@app.py:100[12-20] x{second}\n{}",
            expressions(4, 15)
        )
    };
    check(
        &line(30, 10),
        expect![[r#"
            one line: 40.0 % of 160 ms CPU is app.py:100 hot, in 2 expressions
             30.0 %  48.0 ms  app.py:100 hot (columns 5 to 9)
             10.0 %  16.0 ms  app.py:100 hot.<locals>.<genexpr> (columns 13 to 20)
        "#]],
    );
    check(
        &line(30, 9),
        expect![[r#"
            no single cause: the largest expression has 30.3 %, the ten largest 100.0 % of 158 ms CPU
            next: hot (app.py) has 30.3 % with what it calls (genba report --by function --sort total)
        "#]],
    );
}

#[test]
fn one_function_from_two_fifths() {
    let function = |each: usize| {
        let lines: String = (100..104).map(|line| format!("Shop.sell@app.py:{line}[4-9] x{each}\n")).collect();
        format!("{PROCESS}{lines}{}", expressions(6, 10))
    };
    check(
        &function(10),
        expect![[r#"
        one function: 40.0 % of 160 ms CPU is Shop.sell (app.py), in 4 lines
         10.0 %  16.0 ms  line 100
         10.0 %  16.0 ms  line 101
         10.0 %  16.0 ms  line 102
         10.0 %  16.0 ms  line 103
    "#]],
    );
    check(
        &function(9),
        expect![[r#"
            no single cause: the largest expression has 10.4 %, the ten largest 100.0 % of 154 ms CPU
            next: Shop.sell (app.py) has 37.5 % with what it calls (genba report --by function --sort total)
        "#]],
    );
}

#[test]
fn what_ran_outside_of_python_is_no_place() {
    check(
        &format!("{PROCESS}free[libc.so.6] x45\n{}", expressions(11, 5)),
        expect![[r#"
            no single cause: the largest expression has 5.0 %, the ten largest 50.0 % of 160 ms CPU
            next: f1 (app.py) has 5.0 % with what it calls (genba report --by function --sort total)
        "#]],
    );
    check(
        &format!("{PROCESS}free[libc.so.6] x50\nhot@app.py:100[4-9] x50\n"),
        expect![[r#"
        one place: 50.0 % of 160 ms CPU is app.py:100 hot
    "#]],
    );
}

#[test]
fn a_library_is_called_by_its_name_wherever_it_lies() {
    let process = "process 7 3.13.0\n";
    let json = "loads@/opt/python3/lib/python3.13/json/__init__.py:300[4-20]";
    let calls: String = (1..=20).map(|line| format!("f{line}@app.py:{line}[4-9] > {json} x10\n")).collect();
    check(
        &format!("{process}{calls}"),
        expect![[r#"
            spread: no expression over 5.0 %; the top ten make 50.0 % of 320 ms CPU. By library:
            100.0 %   320 ms  json   ← app.py:1 f1 5.0 %, ← app.py:2 f2 5.0 %, 18 more
        "#]],
    );
}

#[test]
fn spread_up_to_a_tenth_and_a_half() {
    check(
        &format!("{PROCESS}{}", expressions(20, 10)),
        expect![[r#"
        spread: no expression over 5.0 %; the top ten make 50.0 % of 320 ms CPU. By library:
        100.0 %   320 ms  your code (20 expressions)
    "#]],
    );
    check(
        &format!("{PROCESS}{}", expressions(19, 10)),
        expect![[r#"
            no single cause: the largest expression has 5.3 %, the ten largest 52.6 % of 304 ms CPU
            next: f1 (app.py) has 5.3 % with what it calls (genba report --by function --sort total)
        "#]],
    );
    check(
        &format!("{PROCESS}hot@app.py:100[4-9] x19\n{}", expressions(40, 4)),
        expect![[r#"
            no single cause: the largest expression has 10.6 %, the ten largest 30.7 % of 286 ms CPU
            next: hot (app.py) has 10.6 % with what it calls (genba report --by function --sort total)
        "#]],
    );
}

/// Of 1.96 standard errors: 1.5 points for 11.1 % of 1,800 samples, 1.1 of 3,600.
#[test]
fn more_than_a_tenth_is_what_cannot_be_chance() {
    check(
        &format!("{PROCESS}hot@app.py:100[4-9] x200\n{}", expressions(40, 40)),
        expect![[r#"
            spread: no expression over 11.1 %; the top ten make 31.1 % of 2.88 s CPU. By library:
            100.0 %   2.88 s  your code (41 expressions)
        "#]],
    );
    check(
        &format!("{PROCESS}hot@app.py:100[4-9] x400\n{}", expressions(40, 80)),
        expect![[r#"
            no single cause: the largest expression has 11.1 %, the ten largest 31.1 % of 5.76 s CPU
            next: hot (app.py) has 11.1 % with what it calls (genba report --by function --sort total)
        "#]],
    );
}

/// 3.0 points for 40 % of 1,000 samples: both sides name each other, and 44 % is on one side.
#[test]
fn both_sides_of_a_bound_say_that_it_is_close() {
    check(
        &format!("{PROCESS}hot@app.py:100[4-9] x400\n{}", expressions(4, 150)),
        expect![[r#"
            one place: 40.0 % of 1.60 s CPU is app.py:100 hot
            close to a bound: another run may be called no single cause
        "#]],
    );
    check(
        &format!("{PROCESS}hot@app.py:100[4-9] x390\n{}other@app.py:99 x10", expressions(4, 150)),
        expect![[r#"
            no single cause: the largest expression has 39.0 %, the ten largest 100.0 % of 1.60 s CPU
            next: hot (app.py) has 39.0 % with what it calls (genba report --by function --sort total)
            close to a bound: another run may be called one place
        "#]],
    );
    check(
        &format!("{PROCESS}hot@app.py:100[4-9] x440\n{}", expressions(4, 140)),
        expect![[r#"
        one place: 44.0 % of 1.60 s CPU is app.py:100 hot
    "#]],
    );
    // 2.5 points for 21 %.
    check(
        &format!("{PROCESS}make@app.py:7[4-9] x210 gc\nload@app.py:9[4-9] x450\n{}", expressions(4, 85)),
        expect![[r#"
            gc: 21.0 % of 1.60 s CPU is the cycle collector, set off by:
             21.0 %   336 ms  app.py:7 make
            one place has more: 45.0 % is app.py:9 load
            higher gc.set_threshold(), or gc.freeze() after start-up, if little of it frees anything
            close to a bound: another run may be called one place
        "#]],
    );
}

#[test]
fn the_collector_from_a_fifth() {
    check(
        &format!("{PROCESS}make@app.py:7[4-9] x20 gc\n{}", expressions(8, 10)),
        expect![[r#"
        gc: 20.0 % of 160 ms CPU is the cycle collector, set off by:
         20.0 %  32.0 ms  app.py:7 make
        higher gc.set_threshold(), or gc.freeze() after start-up, if little of it frees anything
    "#]],
    );
    check(
        &format!("{PROCESS}make@app.py:7[4-9] x19 gc\n{}main@app.py:50 x1", expressions(8, 10)),
        expect![[r#"
            no single cause: the largest expression has 19.0 %, the ten largest 100.0 % of 160 ms CPU
            next: make (app.py) has 19.0 % with what it calls (genba report --by function --sort total)
        "#]],
    );
}

/// A place is told beside the collector where it has two fifths without its own collections, and more than the collector.
#[test]
fn a_place_that_is_larger_than_the_reason_is_told() {
    let program = |collecting: usize, loading: usize, others: usize| {
        let both = format!("make@app.py:7[4-9] x{collecting} gc\nload@app.py:9[4-9] x{loading}\n");
        format!("{PROCESS}{both}{}", expressions(3, others))
    };
    check(
        &program(25, 60, 5),
        expect![[r#"
            gc: 25.0 % of 160 ms CPU is the cycle collector, set off by:
             25.0 %  40.0 ms  app.py:7 make
            one place has more: 60.0 % is app.py:9 load
            higher gc.set_threshold(), or gc.freeze() after start-up, if little of it frees anything
        "#]],
    );
    check(
        &program(25, 39, 12),
        expect![[r#"
            gc: 25.0 % of 160 ms CPU is the cycle collector, set off by:
             25.0 %  40.0 ms  app.py:7 make
            higher gc.set_threshold(), or gc.freeze() after start-up, if little of it frees anything
        "#]],
    );
    check(
        &program(50, 44, 2),
        expect![[r#"
            gc: 50.0 % of 160 ms CPU is the cycle collector, set off by:
             50.0 %  80.0 ms  app.py:7 make
            higher gc.set_threshold(), or gc.freeze() after start-up, if little of it frees anything
        "#]],
    );
    check(
        &format!("{PROCESS}load@app.py:9[4-9] x60\n{}thread 8 pool\ndgemm[libblas.so] x35\n", expressions(1, 5)),
        expect![[r#"
            native threads: 35.0 % of 160 ms CPU is on 1 thread without Python
             35.0 %  56.0 ms  libblas.so on 1 thread
            one place has more: 60.0 % is app.py:9 load
        "#]],
    );
}

#[test]
fn a_recursion_that_was_counted_beyond_what_a_sample_holds() {
    let cut =
        "![Python·stack·cut:·more·than·1,536·frames] > fib@app.py:2[4-9] > fib@app.py:2[4-9] > fib@app.py:2[4-9] x50\n";
    check(
        &format!("{PROCESS}{cut}deep 4000\n{}", expressions(5, 10)),
        expect![[r#"
        recursion: fib (app.py:1) ×4000 deep holds 50.0 % of 160 ms CPU
    "#]],
    );
    check(
        &format!("{PROCESS}{cut}deep 17920 or more\n{}", expressions(5, 10)),
        expect![[r#"
        recursion: fib (app.py:1) ×17920 or more deep holds 50.0 % of 160 ms CPU
    "#]],
    );
    // The function that was counted is another one.
    let other = cut.replacen("> ", "> main@app.py:9[0-3] > ", 1);
    check(
        &format!("{PROCESS}{other}deep 4000\n{}", expressions(5, 10)),
        expect![[r#"
        recursion: fib (app.py:1) ×3 or more deep holds 50.0 % of 160 ms CPU
    "#]],
    );
    // One stack was counted, and in another one fib may be more often.
    let (half, other_half) = (cut.replace("x50", "x25"), other.replace("x50", "x25"));
    check(
        &format!("{PROCESS}{half}deep 4000\n{other_half}{}", expressions(5, 10)),
        expect![[r#"
        recursion: fib (app.py:1) ×4000 or more deep holds 50.0 % of 160 ms CPU
    "#]],
    );
    // A stack that its sample holds whole has it more often than the one that was counted.
    let whole = "fib@app.py:2[4-9] > fib@app.py:2[4-9] > fib@app.py:2[4-9] > fib@app.py:2[4-9] x25\n";
    check(
        &format!("{PROCESS}{half}deep 3\n{whole}{}", expressions(5, 10)),
        expect![[r#"
        recursion: fib (app.py:1) ×4 deep holds 50.0 % of 160 ms CPU
    "#]],
    );
}

/// Texts that `exec` ran, one in the other.
#[test]
fn modules_are_no_recursion() {
    let text = "<module>@<string>:1";
    check(
        &format!("{PROCESS}{text} > {text} > {text} > {text} x100\n"),
        expect![[r#"
        one place: 100.0 % of 160 ms CPU is <string>:1 <module>
    "#]],
    );
}

#[test]
fn recursion_from_a_half_and_three_calls() {
    let three = "fib@app.py:2[4-9] > fib@app.py:2[4-9] > fib@app.py:2[4-9] x50\n";
    check(
        &format!("{PROCESS}{three}{}", expressions(5, 10)),
        expect![[r#"
        recursion: fib (app.py:1) ×3 deep holds 50.0 % of 160 ms CPU
    "#]],
    );
    let cut = format!("![Python·stack·cut:·more·than·1,536·frames] > {three}");
    check(
        &format!("{PROCESS}{cut}{}", expressions(5, 10)),
        expect![[r#"
        recursion: fib (app.py:1) ×3 or more deep holds 50.0 % of 160 ms CPU
    "#]],
    );
    let two = "fib@app.py:2[4-9] > fib@app.py:2[4-9] x50\n";
    check(
        &format!("{PROCESS}{two}{}", expressions(5, 10)),
        expect![[r#"
        one place: 50.0 % of 160 ms CPU is app.py:2 fib
    "#]],
    );
}

/// Not to the C++ runtime that it happened to be in; to a runtime where nothing else is on its stack.
#[test]
fn start_up_from_half_of_the_wall_time() {
    let import = "<module>@app.py:3[0-13] > _find_and_load@<frozen·importlib._bootstrap>:1 > <module>@/usr/lib/python3.13/json/__init__.py:1 x50\n";
    check(
        &format!("{PROCESS}{import}{}", expressions(5, 10)),
        expect![[r#"
        start-up: 80.0 ms of 160 ms is importing
         50.0 %  80.0 ms  app.py:3 <module>   (running 80.0 ms)
    "#]],
    );
    check(
        &format!("{PROCESS}{import}{}", expressions(6, 10)),
        expect![[r#"
        one place: 45.5 % of 176 ms CPU is app.py:3 <module>
    "#]],
    );
}

/// Six processes that import for a third of their time each: one clock on the wall, and more importing than it shows.
#[test]
fn processes_side_by_side_are_judged_one_by_one() {
    let process = |pid: u32, importing: u32, working: u32| {
        format!(
            "process {pid} 3.13.0 executable=/usr/bin/python3.13 cwd=/app\n\
             <module>@app.py:3[0-13] > _find_and_load@<frozen·importlib._bootstrap>:1 > <module>@/usr/lib/python3.13/json/__init__.py:1 x{importing}\n\
             work@app.py:9 x{working}\n"
        )
    };
    let several = |importing, working| (7..13).map(|pid| process(pid, importing, working)).collect::<String>();
    check(
        &several(30, 60),
        expect![[r#"
        one place: 66.7 % of 864 ms CPU is app.py:9 work
        and 33.3 % is app.py:3 <module>
    "#]],
    );
    check(
        &several(60, 30),
        expect![[r#"
        start-up: 576 ms of 864 ms in 6 processes together is importing
         66.7 %   576 ms  app.py:3 <module>   (running 576 ms)
    "#]],
    );
    // Those that import used little of the CPU.
    check(
        &format!("{}{}", process(7, 60, 30), process(8, 10, 100)),
        expect![[r#"
        one place: 65.0 % of 320 ms CPU is app.py:9 work
        and 35.0 % is app.py:3 <module>
    "#]],
    );
}

#[test]
fn what_an_import_did() {
    let import = "<module>@app.py:3[0-13] > _find_and_load@<frozen·importlib._bootstrap>:1 > <module>@/usr/lib/python3.13/json/__init__.py:1";
    check(
        &format!(
            "{PROCESS}{import} x50\n{import} x10 cpu\n{import} > poll[libc.so.6] x20 poll\n{import} > dlopen[libc.so.6] x5\n"
        ),
        expect![[r#"
            start-up: 136 ms of 136 ms is importing
            100.0 %   136 ms  app.py:3 <module>   (running 80.0 ms, loading libraries 8.00 ms, waiting 32.0 ms, waiting for a CPU or the GIL 16.0 ms)
        "#]],
    );
}

#[test]
fn a_library_that_compiles_by_the_import_machinery_imports_nothing() {
    let compiles = "main@/usr/lib/python3.13/compileall.py:3[0-13] > source_to_code@<frozen·importlib._bootstrap_external>:1 > _call_with_frames_removed@<frozen·importlib._bootstrap>:1 x50\n";
    check(
        &format!("{PROCESS}{compiles}{}", expressions(5, 10)),
        expect![[r#"
            one place: 50.0 % of 160 ms CPU is <frozen importlib._bootstrap>:1 _call_with_frames_removed
        "#]],
    );
}

/// A step of a task, as the loop runs it.
const STEP: &str = "<module>@app.py:30[4-9] > run_forever@/usr/lib/python3.13/asyncio/base_events.py:600 > Handle._run@/usr/lib/python3.13/asyncio/events.py:87 > context_run[libpython3.13.so] > task_step[_asyncio.so]";

#[test]
fn the_loop_itself_is_no_task() {
    let own = "StreamReader.feed_data@/usr/lib/python3.13/asyncio/streams.py:400 > memmove[libc.so.6]";
    let waits = "<module>@app.py:30[4-9] > run_forever@/usr/lib/python3.13/asyncio/base_events.py:600 > select_epoll_poll[libpython3.13.so]";
    let other = "Handle._run@/app/loops/events.py:1[4-9] > work@app.py:9[4-9]";
    let text = format!("{PROCESS}{STEP} > {own} x40\n{waits} x40\n{waits} x40 futex\n{other} x40\n");
    check(
        &text,
        expect![[r#"
            no single cause: the largest expression has 33.3 %, the ten largest 66.7 % of 192 ms CPU
            next: Handle._run (loops/events.py) has 33.3 % with what it calls (genba report --by function --sort total)
        "#]],
    );
}

#[test]
fn a_collection_at_exit_is_called_so_where_the_stack_tells() {
    let exit = "_start[python3.13] > Py_FinalizeEx[python3.13] > gc_collect_main[python3.13] x30 gc\n";
    let unnamed = "_start[python3.13] > gc_collect_main[python3.13] x10 gc\n";
    let at_exit_in_python =
        "_start[python3.13] > Py_FinalizeEx[python3.13] > last@app.py:3[4-9] > gc_collect_main[python3.13] x10 gc\n";
    check(
        &format!("{PROCESS}{exit}{unnamed}{at_exit_in_python}{}", expressions(5, 10)),
        expect![[r#"
            gc: 50.0 % of 160 ms CPU is the cycle collector, set off by:
             30.0 %  48.0 ms  at exit: collecting everything that is left
             10.0 %  16.0 ms  outside of Python
             10.0 %  16.0 ms  app.py:3 last
            gc.freeze() as the program's last line: what is left is not searched then
        "#]],
    );
}

#[test]
fn the_next_to_look_at_is_the_function_with_most_below_it() {
    let below = |function: &str, line: usize| format!("main@app.py:50[4-9] > {function}@app.py:{line}[4-9] x20\n");
    let in_serve =
        |line: usize| format!("main@app.py:50[4-9] > serve@app.py:40[4-9] > s{line}@app.py:{line}[4-9] x20\n");
    let serve: String = (1..=4).map(in_serve).collect();
    check(
        &format!("{PROCESS}{serve}{}{}", below("load", 20), below("store", 30)),
        expect![[r#"
        no single cause: the largest expression has 16.7 %, the ten largest 100.0 % of 192 ms CPU
        next: serve (app.py) has 66.7 % with what it calls (genba report --by function --sort total)
    "#]],
    );
}
