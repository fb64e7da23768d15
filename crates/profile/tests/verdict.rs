//! The verdict: each reason just where its rule begins to hold, and just before.

mod notation;

use expect_test::{Expect, expect};
use genba_profile::build::{Additions, profile};
use genba_profile::verdict::verdict;

fn check(recording: &str, expected: Expect) {
    let profile = profile(&notation::recording(recording), &Additions::default());
    let verdict = verdict(&profile);
    let lines = [format!("{}: {}\n", verdict.reason.name(), verdict.words)];
    let details = verdict.details.iter().map(|detail| format!("{detail}\n"));
    expected.assert_eq(&lines.into_iter().chain(details).collect::<String>());
}

const PROCESS: &str = "process 7 3.13.0\n";

/// Samples of as many expressions, each of `each` samples and in a function of its own.
fn expressions(count: usize, each: usize) -> String {
    (1..=count).map(|line| format!("f{line}@app.py:{line}[4-9] x{each}\n")).collect()
}

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
         30.0 %  48.0 ms  app.py:100 hot
         10.0 %  16.0 ms  app.py:100 hot.<locals>.<genexpr>
    "#]],
    );
    check(
        &line(30, 9),
        expect![[r#"
        no single cause: the largest expression has 30.3 %, the ten largest 100.0 % of 158 ms CPU
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
    "#]],
    );
}

#[test]
fn what_ran_outside_of_python_is_no_place() {
    check(
        &format!("{PROCESS}free[libc.so.6] x45\n{}", expressions(11, 5)),
        expect![[r#"
            no single cause: the largest expression has 5.0 %, the ten largest 50.0 % of 160 ms CPU
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
    let calls: String = (1..=20).map(|line| format!("main@app.py:{line}[4-9] > {json} x10\n")).collect();
    check(
        &format!("{process}{calls}"),
        expect![[r#"
            spread: no expression over 5.0 %; the top ten make 50.0 % of 320 ms CPU. By library:
            100.0 %   320 ms  json   ← app.py:1 main 5.0 %, ← app.py:2 main 5.0 %, 18 more
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
    "#]],
    );
    check(
        &format!("{PROCESS}hot@app.py:100[4-9] x19\n{}", expressions(40, 4)),
        expect![[r#"
        no single cause: the largest expression has 10.6 %, the ten largest 30.7 % of 286 ms CPU
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
fn a_thread_belongs_to_the_library_that_began_it() {
    let begun = "start_thread[libc.so.6] > execute_native_thread_routine[libstdc++.so.6] > run[libjax.so]";
    let threads = format!(
        "thread 8 pool\n{begun} > spin[libstdc++.so.6] x40\nthread 9 omp\nstart_thread[libc.so.6] > gomp_thread_start[libgomp.so.1] x20\n"
    );
    check(
        &format!("{PROCESS}{}{threads}", expressions(7, 10)),
        expect![[r#"
        native threads: 46.2 % of 208 ms CPU is on 2 threads without Python
         30.8 %  64.0 ms  libjax.so on 1 thread
         15.4 %  32.0 ms  libgomp.so.1 on 1 thread
    "#]],
    );
}

#[test]
fn threads_that_wait_for_the_interpreter_three_tenths_of_the_time() {
    let threads = |waits: usize, runs: usize| {
        format!(
            "{PROCESS}main@app.py:1[4-9] x{waits} gil\nmain@app.py:1[4-9] x{runs}\nthread 8 worker\nwork@app.py:2[4-9] x{waits} gil\nwork@app.py:2[4-9] x{runs}\n"
        )
    };
    check(
        &threads(30, 70),
        expect![[r#"
            GIL: 2 threads ran 0.70 cores; 30.0 % of their runnable time was waiting for it, 96.0 ms. Held most by:
             50.0 %   112 ms  app.py:1 main
             50.0 %   112 ms  app.py:2 work
            threads cannot help here: processes, or code that releases the GIL
        "#]],
    );
    check(
        &threads(29, 71),
        expect![[r#"
            one place: 50.0 % of 227 ms CPU is app.py:1 main
            and 50.0 % is app.py:2 work
        "#]],
    );
}

#[test]
fn threads_without_python_from_three_tenths() {
    let native = |count: usize| format!("{PROCESS}{}thread 8 pool\ndgemm[libblas.so] x{count}\n", expressions(7, 10));
    check(
        &native(30),
        expect![[r#"
            native threads: 30.0 % of 160 ms CPU is on 1 thread without Python
             30.0 %  48.0 ms  libblas.so on 1 thread
        "#]],
    );
    check(
        &native(29),
        expect![[r#"
            no single cause: the largest expression has 10.1 %, the ten largest 70.7 % of 158 ms CPU
        "#]],
    );
}

#[test]
fn a_library_of_threads_worked_for_whoever_was_in_the_same_library_at_the_same_time() {
    let other = "other@app.py:9[4-9] > fft[libfft.so] x30\n";
    let alone = "alone@app.py:8[4-9] > dgemm[libblas.so] x25\n";
    let step = "step@app.py:7[4-9] > dgemm[libblas.so] x10\nstep@app.py:7[4-9] > wait[libblas.so] x10 futex\n";
    let pool = |at_ms: u64| {
        format!(
            "thread 8 pool\ndgemm[libblas.so] x20 at={at_ms}\nthread 9 pool\ndgemm[libblas.so] x15 at={at_ms}\nread[libc.so.6] x5\n"
        )
    };
    check(
        &format!("{PROCESS}{other}{alone}{step}{}", pool(88)),
        expect![[r#"
        native threads: 38.1 % of 168 ms CPU is on 2 threads without Python
         33.3 %  56.0 ms  libblas.so on 2 threads, for app.py:7 step   (inferred: in the same library at the same time)
    "#]],
    );
    // Nobody was there then.
    check(
        &format!("{PROCESS}{other}{alone}{step}{}", pool(200)),
        expect![[r#"
        native threads: 38.1 % of 168 ms CPU is on 2 threads without Python
         33.3 %  56.0 ms  libblas.so on 2 threads
    "#]],
    );
}

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

#[test]
fn waiting_where_there_was_work_for_less_than_half_of_the_time() {
    check(
        &format!("{PROCESS}recv@app.py:1[4-9] > poll[libc.so.6] x51 poll\n{}", expressions(7, 7)),
        expect![[r#"
            waiting: 160 ms wall, 78.4 ms CPU (49.0 %)
             51.0 %  81.6 ms  app.py:1 recv   in poll(2)
        "#]],
    );
    check(
        &format!("{PROCESS}recv@app.py:1[4-9] > poll[libc.so.6] x50 poll\n{}", expressions(5, 10)),
        expect![[r#"
        no single cause: the largest expression has 20.0 %, the ten largest 100.0 % of 80.0 ms CPU
    "#]],
    );
}

#[test]
fn waits_are_counted_where_they_begin() {
    let wait = "recv@app.py:1[4-9] > poll[libc.so.6] x20 poll\n";
    let run = "main@app.py:2[4-9] x1\n";
    check(
        &format!("{PROCESS}{wait}{run}{wait}{run}thread 8 idle\nidle@app.py:3[4-9] x40 futex\n"),
        expect![[r#"
            waiting: 131 ms wall, 3.20 ms CPU (2.4 %)
             48.8 %  64.0 ms  app.py:1 recv   in poll(2), at least 2 waits, at most 32.0 ms each
             48.8 %  64.0 ms  app.py:3 idle   in futex(2)
        "#]],
    );
}

#[test]
fn what_a_wait_is_on_stands_behind_its_call() {
    let run = "main@app.py:2[4-9] x1\n";
    let ask = "ask@app.py:1[4-9] > poll[libc.so.6] x20 socket\n";
    check(
        &format!("{PROCESS}{ask}{run}{ask}thread 8 child\nread@app.py:3[4-9] > read[libc.so.6] x10 pipe\n"),
        expect![[r#"
            waiting: 81.6 ms wall, 1.60 ms CPU (2.0 %)
             78.4 %  64.0 ms  app.py:1 ask   in poll(2) on a socket, at least 2 waits, at most 32.0 ms each
             19.6 %  16.0 ms  app.py:3 read   in read(2) on a pipe
        "#]],
    );
}

/// A step of a task, as the loop runs it.
const STEP: &str = "<module>@app.py:30[4-9] > run_forever@/usr/lib/python3.13/asyncio/base_events.py:600 > Handle._run@/usr/lib/python3.13/asyncio/events.py:87 > context_run[libpython3.13.so] > task_step[_asyncio.so]";

#[test]
fn tasks_are_not_told_apart_from_a_twentieth_of_the_samples() {
    let task = |samples: usize| format!("{STEP} > answer@app.py:3[4-9] x{samples}\n");
    check(
        &format!("{PROCESS}{}other@app.py:9[4-9] x19\n", task(1)),
        expect![[r#"
            one place: 95.0 % of 32.0 ms CPU is app.py:9 other
            asyncio: tasks that run the same code are not told apart yet
        "#]],
    );
    check(
        &format!("{PROCESS}{}other@app.py:9[4-9] x20\n", task(1)),
        expect![[r#"
            one place: 95.2 % of 33.6 ms CPU is app.py:9 other
        "#]],
    );
}

#[test]
fn the_loop_itself_is_no_task() {
    let own = "StreamReader.feed_data@/usr/lib/python3.13/asyncio/streams.py:400 > memmove[libc.so.6]";
    let waits = "<module>@app.py:30[4-9] > run_forever@/usr/lib/python3.13/asyncio/base_events.py:600 > select_epoll_poll[libpython3.13.so]";
    let other = "Handle._run@/app/loops/events.py:1[4-9] > work@app.py:9[4-9]";
    let text = format!("{PROCESS}{STEP} > {own} x10\n{waits} x10\n{waits} x10 futex\n{other} x10\n");
    check(
        &text,
        expect![[r#"
            one place: 66.7 % of 48.0 ms CPU is app.py:30 <module>
            and 33.3 % is app.py:9 work
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
fn nothing_was_sampled() {
    check(
        PROCESS,
        expect![[r#"
        no single cause: no CPU time was sampled
    "#]],
    );
}
