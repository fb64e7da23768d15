//! The verdict where too little was seen: short runs, recordings that ended early, threads that cannot be asked.

use crate::judged::{PROCESS, check};
use expect_test::expect;

#[test]
fn a_verdict_needs_a_tenth_of_a_second_and_fifty_samples() {
    check(
        &format!("{PROCESS}hot@app.py:1[4-9] x63\n"),
        expect![[r#"
        one place: 100.0 % of 101 ms CPU is app.py:1 hot
    "#]],
    );
    check(
        &format!("{PROCESS}hot@app.py:1[4-9] x62\n"),
        expect![[r#"
        too short to judge: 99.2 ms wall, 62 samples
        give it more to do, or the same in a loop: a verdict needs 100 ms
    "#]],
    );
    let wait = "recv@app.py:2[4-9] > poll[libc.so.6] x40 poll\n";
    check(
        &format!("{PROCESS}hot@app.py:1[4-9] x50\n{wait}"),
        expect![[r#"
        one place: 100.0 % of 80.0 ms CPU is app.py:1 hot
    "#]],
    );
    check(
        &format!("{PROCESS}hot@app.py:1[4-9] x49\n{wait}"),
        expect![[r#"
        too short to judge: 142 ms wall, 49 samples
        tick more often (--rate 10000), or run for longer: a verdict needs 50 samples
    "#]],
    );
}

#[test]
fn a_program_that_went_on_has_enough_to_do() {
    for end in ["end duration", "end detached"] {
        check(
            &format!("{PROCESS}hot@app.py:1[4-9] x62\n{end}\n"),
            expect![[r#"
        too short to judge: 99.2 ms wall, 62 samples
        record for longer: a verdict needs 100 ms
    "#]],
        );
    }
}

#[test]
fn nothing_was_sampled() {
    check(
        PROCESS,
        expect![[r#"
            too short to judge: 0 ns wall, 0 samples
            give it more to do, or the same in a loop: a verdict needs 100 ms
        "#]],
    );
}

/// What a thread does that cannot be asked is no wait: its clock tells that it works.
#[test]
fn threads_that_block_the_signal_are_not_judged_by_what_others_do() {
    let recording = |unseen: &str| {
        format!(
            "{PROCESS}thread 7 main\nhot@app.py:1[4-9] x100\nnap@app.py:2[4-9] x1400 asleep\n\
             thread 8 zmq\nmasked 8 {unseen} {unseen}\nunsampled {unseen}\n"
        )
    };
    check(
        &recording("100ms"),
        expect![[r#"
        waiting: 2.40 s wall, 160 ms CPU (6.7 %)
         93.3 %   2.24 s  app.py:2 nap   asleep
        thread 8 (zmq) blocks signals, SIGURG among them: 100 ms of its CPU have no stacks
    "#]],
    );
    check(
        &recording("170ms"),
        expect![[r#"
        not judged: 170 ms CPU of threads that block SIGURG has no stacks, 160 ms has; the rows below have that
        thread 8 (zmq) blocks signals, SIGURG among them: 170 ms of its CPU have no stacks
    "#]],
    );
}

/// A program that takes the signal runs on without stacks: no rows tell what it did then, and that it waited is not said either.
#[test]
fn a_program_that_takes_the_signal_is_not_judged_by_what_was_seen_before() {
    let recording = |ticks: u64, unseen: &str| {
        format!(
            "{PROCESS}thread 7 main\nhot@app.py:1[4-9] x100\nnap@app.py:2[4-9] x900 asleep\n\
             refused signal·taken {ticks}\nunsampled {unseen}\n"
        )
    };
    check(
        &recording(400, "640ms"),
        expect![[r#"
        not judged: the program has SIGURG for itself, and so 640 ms CPU has no stacks, 160 ms has; the rows below have that
    "#]],
    );
    check(
        &recording(400, "150ms"),
        expect![[r#"
        waiting: 1.60 s wall, 160 ms CPU (10.0 %)
         90.0 %   1.44 s  app.py:2 nap   asleep
    "#]],
    );
    // What other ticks lost is for other reasons.
    check(
        &format!("{}dropped late 400\n", recording(300, "640ms")),
        expect![[r#"
        waiting: 1.60 s wall, 160 ms CPU (10.0 %)
         90.0 %   1.44 s  app.py:2 nap   asleep
    "#]],
    );
}
