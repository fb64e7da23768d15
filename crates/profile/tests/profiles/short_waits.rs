//! Waits shorter than a tick: samples that say *running*, because the thread's clock moved, although the thread mostly waited.

use crate::judged::{PROCESS, check};
use expect_test::{Expect, expect};

/// 8 ms each, 1.6 ms of it CPU.
const SHORT: &str = "ticks=5";

/// Forty calls and a little work: 352 ms, 96 ms of it CPU.
fn commits(call: &str, turns: &str, expected: Expect) {
    check(
        &format!(
            "{PROCESS}main@app.py:1[4-9] x10\n{turns}\n\
             main@app.py:2[4-9] > step[libsqlite3.so.0] > {call} x40 {SHORT}\nmain@app.py:1[4-9] x10\n"
        ),
        expected,
    );
}

#[test]
fn a_commit_for_each_row_waits_for_the_disk() {
    commits(
        "fdatasync[libc.so.6]",
        "turns 7 500 4ms",
        expect![[r#"
        waiting: 352 ms wall, 96.0 ms CPU (27.3 %)
         71.6 %   252 ms  app.py:2 main   writing to disk (fdatasync), at most 500 waits, about 504 µs or more on average
    "#]],
    );
}

/// Between the last block that told of it and its end there may be many more.
#[test]
fn the_turns_of_a_thread_that_has_ended_bound_no_waits() {
    let waits = |turns: &str, expected: Expect| {
        let sample = "run@app.py:2 > poll[libc.so.6] x1 poll ticks=50\nrun@app.py:3 x1\n";
        let both = format!("{}thread 8 worker\n{}", sample.repeat(3), sample.repeat(3));
        check(&format!("{PROCESS}{both}turns 7 40 0ms\n{turns}\n"), expected);
    };
    waits(
        "turns 8 30 0ms",
        expect![[r#"
        waiting: 490 ms wall, 9.60 ms CPU (2.0 %)
         98.0 %   480 ms  app.py:2 run   waiting for an event (poll), 6 to 70 waits, about 6.86 ms to 80.0 ms on average
    "#]],
    );
    waits(
        "turns 8 30 0ms ended",
        expect![[r#"
        waiting: 490 ms wall, 9.60 ms CPU (2.0 %)
         98.0 %   480 ms  app.py:2 run   waiting for an event (poll), at least 6 waits, about 80.0 ms or less on average
    "#]],
    );
}

#[test]
fn what_the_kernel_does_not_tell_is_no_wait() {
    commits(
        "fdatasync[libc.so.6]",
        "",
        expect![[r#"
        one place: 66.7 % of 96.0 ms CPU is app.py:2 main
        and 33.3 % is app.py:1 main
    "#]],
    );
}

#[test]
fn a_busy_machine_changes_no_answer() {
    // It had no CPU for 256 ms and was ready to run for 100 of them: it waited for 156 ms and worked for 96 ms.
    commits(
        "fdatasync[libc.so.6]",
        "turns 7 500 100ms",
        expect![[r#"
        waiting: 352 ms wall, 96.0 ms CPU (27.3 %), 100 ms ready to run without a CPU
         44.3 %   156 ms  app.py:2 main   writing to disk (fdatasync), at most 500 waits, about 312 µs or more on average
    "#]],
    );
    // It waited for 56 ms, and worked for 96.
    commits(
        "fdatasync[libc.so.6]",
        "turns 7 500 200ms",
        expect![[r#"
        one place: 66.7 % of 96.0 ms CPU is app.py:2 main
        and 33.3 % is app.py:1 main
    "#]],
    );
    // Ready to run all the time: no wait at all.
    commits(
        "fdatasync[libc.so.6]",
        "turns 7 500 256ms",
        expect![[r#"
        one place: 66.7 % of 96.0 ms CPU is app.py:2 main
        and 33.3 % is app.py:1 main
    "#]],
    );
}

#[test]
fn locks_may_be_the_gil_and_other_functions_are_no_calls_that_block() {
    commits(
        "pthread_cond_timedwait[libc.so.6]",
        "turns 7 500 4ms",
        expect![[r#"
        one place: 66.7 % of 96.0 ms CPU is app.py:2 main
        and 33.3 % is app.py:1 main
    "#]],
    );
    commits(
        "memmove[libc.so.6]",
        "turns 7 500 4ms",
        expect![[r#"
        one place: 66.7 % of 96.0 ms CPU is app.py:2 main
        and 33.3 % is app.py:1 main
    "#]],
    );
}

#[test]
fn the_cpu_of_who_is_mostly_found_in_the_run_queue_is_work() {
    // 138 ms of CPU and 240 of wall time, 102 in the queue: a look that finds a thread there has the wall time since the last one, and the
    // CPU of that time goes to the next look that finds the thread running.
    check(
        &format!("{PROCESS}digest@app.py:1[4-9] x86 wall=30\nturns 7 60 102ms\ndigest@app.py:1[4-9] x62 cpu ticks=2\n"),
        expect![[r#"
            one place: 100.0 % of 138 ms CPU is app.py:1 digest
        "#]],
    );
}

#[test]
fn what_libc_calls_inside_itself_hides_no_call() {
    // Since 2.41 it enters the kernel in functions of its own, whose names few machines have.
    commits(
        "fdatasync[libc.so.6] > +0x91a10[libc.so.6] > +0x91980[libc.so.6]",
        "turns 7 500 4ms",
        expect![[r#"
            waiting: 352 ms wall, 96.0 ms CPU (27.3 %)
             71.6 %   252 ms  app.py:2 main   writing to disk (fdatasync), at most 500 waits, about 504 µs or more on average
        "#]],
    );
    commits(
        "fdatasync[libc.so.6] > __syscall_cancel[libc.so.6] > __internal_syscall_cancel[libc.so.6]",
        "turns 7 500 4ms",
        expect![[r#"
            waiting: 352 ms wall, 96.0 ms CPU (27.3 %)
             71.6 %   252 ms  app.py:2 main   writing to disk (fdatasync), at most 500 waits, about 504 µs or more on average
        "#]],
    );
}

#[test]
fn how_often_it_waited_is_between_what_was_seen_and_what_the_kernel_counted() {
    let read = "main@app.py:2[4-9] > read[libc.so.6]";
    check(
        &format!("{PROCESS}{}turns 7 2500 4ms\n", format!("main@app.py:1[4-9] x5\n{read} x60 pipe\n").repeat(3)),
        expect![[r#"
            waiting: 312 ms wall, 24.0 ms CPU (7.7 %)
             92.3 %   288 ms  app.py:2 main   waiting for data (read on a pipe), 3 to 2,500 waits, about 115 µs to 96.0 ms on average
        "#]],
    );
}
