//! Callbacks that keep asyncio's event loop from all others: what of the recorded steps the verdict says, below any reason.

use crate::judged::{PROCESS, check};
use crate::notation;
use expect_test::{Expect, expect};
use genba_profile::build::{Additions, profile};
use genba_profile::joined::joined;
use genba_profile::verdict::{json, verdict};

const LOOP: &str = "<module>@app.py:30[4-9] > run_forever@/usr/lib/python3.13/asyncio/base_events.py:600 > Handle._run@/usr/lib/python3.13/asyncio/events.py:87";
const STEP: &str = "context_run[libpython3.13.so] > task_step[_asyncio.so]";

/// A step for each length, in the function that it names.
fn steps(steps: &[(&str, &str)], expected: Expect) {
    let lines = steps.iter().map(|(stack, length)| format!("{stack} x30\nstep {length}\n"));
    check(&format!("{PROCESS}{}", lines.collect::<String>()), expected);
}

fn task(function: &str) -> String {
    format!("{LOOP} > {STEP} > {function}")
}

#[test]
fn a_block_is_50_ms_of_one_step() {
    let answer = task("answer@app.py:3[4-9]");
    steps(
        &[(&answer, "50ms")],
        expect![[r#"
            too short to judge: 48.0 ms wall, 30 samples
            give it more to do, or the same in a loop: a verdict needs 100 ms
            blocks the event loop: for 50.0 ms, in app.py:3 answer
        "#]],
    );
    steps(
        &[(&answer, "49ms"), (&answer, "49ms"), (&answer, "49ms")],
        expect![[r#"
            one place: 100.0 % of 144 ms CPU is app.py:3 answer
        "#]],
    );
}

#[test]
fn the_place_with_most_time_is_named_with_its_own_count() {
    let (answer, page) = (task("answer@app.py:3[4-9]"), task("page@app.py:5[4-9] > sha256[_hashlib.so]"));
    steps(
        &[(&answer, "60ms"), (&page, "310ms"), (&answer, "30ms"), (&answer, "80ms")],
        expect![[r#"
            one place: 75.0 % of 192 ms CPU is app.py:3 answer
            blocks the event loop: for 310 ms, in app.py:5 page; elsewhere at least 2 times, longest 80.0 ms
        "#]],
    );
    // One long step is less than many shorter ones.
    let requests = [(answer.as_str(), "70ms"); 5];
    steps(
        &[&[(page.as_str(), "300ms")], &requests[..]].concat(),
        expect![[r#"
            one place: 83.3 % of 288 ms CPU is app.py:3 answer
            blocks the event loop: at least 5 times, longest 70.0 ms, in app.py:3 answer; elsewhere for 300 ms
        "#]],
    );
}

#[test]
fn two_calls_below_one_callback_are_counted_apart() {
    let load = task("answer@app.py:3[4-9] > load@app.py:5[11-26]");
    let query = task("answer@app.py:4[4-9] > query@app.py:8[11-26]");
    let naps = naps(&query, 6, 48, "70ms") + &naps(&load, 1, 200, "310ms");
    assert_eq!(
        told(&format!("{PROCESS}{naps}")),
        [
            "blocks the event loop: at least 6 times, longest 70.0 ms, in app.py:8 query, called from app.py:4 answer; elsewhere for 310 ms"
        ]
    );
}

/// A machine that has no CPU for the loop's thread takes it away in some calls more than in others.
#[test]
fn time_without_a_cpu_names_no_call() {
    let call = |line: u32| task(&format!("spend@app.py:{line}[4-20]"));
    let (asks, digests, prints) = (call(6), call(7), call(8));
    let recording = format!("{PROCESS}{asks} x5 wall=1125\n{prints} x30\n{digests} x31\nstep 98ms\n");
    check(
        &recording,
        expect![[r#"
        one place: 47.0 % of 106 ms CPU is app.py:7 spend
        and 45.5 % is app.py:8 spend
        blocks the event loop: for 98.0 ms, in app.py:7 spend
    "#]],
    );
}

#[test]
fn the_row_is_the_call_that_blocks() {
    let load = task("answer@app.py:3[4-9] > Shop.load@app.py:5[11-26]");
    steps(
        &[(&load, "310ms")],
        expect![[r#"
            too short to judge: 48.0 ms wall, 30 samples
            give it more to do, or the same in a loop: a verdict needs 100 ms
            blocks the event loop: for 310 ms, in app.py:5 Shop.load, called from app.py:3 answer
        "#]],
    );
}

#[test]
fn the_heaviest_call_is_named_where_the_steps_are_most_of_it() {
    let heavy = task("answer@app.py:3[4-9] > load@app.py:5[11-26]");
    let last = task("answer@app.py:4[4-9]");
    let steps = |others: &str, samples: u32| format!("{PROCESS}{heavy} x120\n{others}{last} x{samples}\nstep 190ms\n");
    check(
        &steps("", 5),
        expect![[r#"
        one place: 96.0 % of 200 ms CPU is app.py:5 load
        blocks the event loop: for 190 ms, in app.py:5 load, called from app.py:3 answer
    "#]],
    );
    // Most of its time is in short steps: which of its calls is in the long one only the step itself tells.
    check(
        &steps(&format!("{heavy} x300\n"), 60),
        expect![[r#"
            one place: 87.5 % of 768 ms CPU is app.py:5 load
            blocks the event loop: for 190 ms, in app.py:4 answer
        "#]],
    );
    // A call that is seen for less than half of the step is not the one that it was in.
    check(
        &steps(&format!("{heavy} x300\n"), 5),
        expect![[r#"
        one place: 98.8 % of 680 ms CPU is app.py:5 load
        blocks the event loop: for 190 ms, in app.py:5 load, called from app.py:3 answer
    "#]],
    );
}

#[test]
fn the_callback_is_named_in_the_users_own_code_where_there_is_any() {
    let library = "/v/lib/python3.13/site-packages/web.py";
    let own = task(&format!("handle@{library}:7[0-9] > page@app.py:5[4-9] > get@{library}:9[0-9]"));
    let work = "work@app.py:50[4-9] x60\n";
    check(
        &format!("{PROCESS}{work}{own} x30\nstep 90ms\n"),
        expect![[r#"
            one place: 66.7 % of 144 ms CPU is app.py:50 work
            and 33.3 % is app.py:5 page
            blocks the event loop: for 90.0 ms, in app.py:5 page
        "#]],
    );
    let without = task(&format!("handle@{library}:7[0-9] > get@{library}:9[0-9]"));
    check(
        &format!("{PROCESS}{work}{without} x30\nstep 90ms\n"),
        expect![[r#"
            one place: 66.7 % of 144 ms CPU is app.py:50 work
            and 33.3 % is web.py:9 get
            blocks the event loop: for 90.0 ms, in web.py:9 get, called from web.py:7 handle
        "#]],
    );
}

#[test]
fn what_no_loop_runs_blocks_none() {
    let own = format!("{LOOP} > {STEP} > StreamReader.feed_data@/usr/lib/python3.13/asyncio/streams.py:400");
    let waits = "<module>@app.py:30[4-9] > run_forever@/usr/lib/python3.13/asyncio/base_events.py:600 > select_epoll_poll[libpython3.13.so]";
    let thread = "_worker@/usr/lib/python3.13/concurrent/futures/thread.py:90 > page@app.py:9[4-9]";
    let other = "Handle._run@/app/loops/events.py:1[4-9] > page@app.py:9[4-9]";
    steps(
        &[(&own, "300ms"), (waits, "300ms"), (thread, "300ms"), (other, "300ms"), ("(none)", "300ms")],
        expect![[r#"
            one place: 40.0 % of 240 ms CPU is app.py:9 page
            and 20.0 % is app.py:30 <module>
        "#]],
    );
}

#[test]
fn those_of_several_recordings_are_told_together() {
    let answer = task("answer@app.py:3[4-9]");
    let again = |name: &str, length: &str| {
        let text = format!("{PROCESS}{answer} x60\nstep {length}\n");
        (name.to_owned(), profile(&notation::recording(&text), &Additions::default()))
    };
    let both = joined(vec![again("a.genba", "70ms"), again("b.genba", "90ms")]);
    let details = verdict(&both).said(&both).details;
    assert_eq!(
        details.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["blocks the event loop: at least 2 times, longest 90.0 ms, in app.py:3 answer"]
    );
}

/// The lines about the loop alone.
fn told(recording: &str) -> Vec<String> {
    let profile = profile(&notation::recording(recording), &Additions::default());
    let details = verdict(&profile).said(&profile).details.into_iter().map(|detail| detail.to_string());
    details.filter(|detail| detail.starts_with("blocks the event loop")).collect()
}

/// Steps that sleep, each of them seen for so many samples.
fn naps(stack: &str, times: usize, samples: u32, length: &str) -> String {
    format!("{stack} > clock_nanosleep[libc.so.6] x{samples} asleep\nstep {length}\n").repeat(times)
}

/// The heartbeat of a notebook's client: no other task is kept from that loop.
#[test]
fn a_library_that_waits_in_a_loop_of_its_own_blocks_none() {
    const WAITS: &str = "HBChannel._async_run@/v/lib/python3.13/site-packages/jupyter_client/channels.py:145";
    let beat = |thread: &str, stack: &str| {
        format!("{PROCESS}main@app.py:2[4-9] x9\n{thread}{}", naps(stack, 1, 1200, "1900ms"))
    };
    let (own, other) =
        ("thread 8 beat\n", format!("{} x1\n", task("Pump.run@/v/lib/python3.13/site-packages/pump.py:3")));
    assert_eq!(told(&beat(own, &task(WAITS))), NOTHING);
    // In the main thread, where the loop has more to run, below code of the user's, or at work.
    assert_eq!(told(&beat("", &task(WAITS))).len(), 1);
    assert_eq!(told(&beat(&format!("{own}{other}"), &task(WAITS))).len(), 1);
    assert_eq!(told(&beat(own, &task(&format!("answer@app.py:3[4-9] > {WAITS}")))).len(), 1);
    let works = format!("{PROCESS}main@app.py:2[4-9] x9\n{own}{} x60\nstep 90ms\n", task(WAITS));
    assert_eq!(told(&works).len(), 1);
}

const NOTHING: [&str; 0] = [];
const LOOP_WAITS: &str = "<module>@app.py:30[4-9] > run_forever@/usr/lib/python3.13/asyncio/base_events.py:600 > select_epoll_poll[libpython3.13.so]";

#[test]
fn many_short_waits_are_told_together() {
    let nap = task("nap@app.py:4[4-20]");
    assert_eq!(
        told(&format!("{PROCESS}{}", naps(&nap, 40, 12, "18ms"))),
        ["blocks the event loop briefly: at least 40 times, 720 ms together, longest 18.0 ms, in app.py:4 nap"]
    );
    // Too short, each of them.
    assert_eq!(told(&format!("{PROCESS}{}", naps(&nap, 40, 12, "4ms"))), NOTHING);
    // Too short together.
    assert_eq!(told(&format!("{PROCESS}{}", naps(&nap, 4, 7, "11ms"))), NOTHING);
    // What used the CPU gave way within 50 ms: the rows have it.
    assert_eq!(told(&format!("{PROCESS}{}", format!("{nap} x19\nstep 30ms\n").repeat(20))), NOTHING);
}

#[test]
fn short_waits_are_counted_at_their_place() {
    let (rare, often) = (task("rare@app.py:2[4-20]"), task("often@app.py:3[4-20]"));
    let text = format!("{PROCESS}{}{}", naps(&rare, 12, 28, "45ms"), naps(&often, 45, 7, "10ms"));
    assert_eq!(
        told(&text),
        [
            "blocks the event loop briefly: at least 12 times, 540 ms together, longest 45.0 ms, in app.py:2 rare; elsewhere at least 45 times, longest 10.0 ms"
        ]
    );
    let profile = profile(&notation::recording(&text), &Additions::default());
    let page = serde_json::to_value(json::page(&profile, &verdict(&profile))).unwrap();
    assert_eq!(page["short_blocks"]["elsewhere"], serde_json::json!({ "times": 45, "longest_ns": 10_000_000 }));
}

#[test]
fn short_waits_are_told_from_a_fifth_of_the_threads_time() {
    let naps = naps(&task("nap@app.py:4[4-20]"), 5, 7, "11ms");
    let beside = |samples: u32| told(&format!("{PROCESS}{naps}{LOOP_WAITS} x{samples} poll\n"));
    assert_eq!(
        beside(136),
        ["blocks the event loop briefly: at least 5 times, 55.0 ms together, longest 11.0 ms, in app.py:4 nap"]
    );
    assert_eq!(beside(138), NOTHING);
    // Another thread's time is not the loop's.
    let other = format!("{PROCESS}{naps}thread 9 pool\nwork@app.py:50[4-9] x500\n");
    assert_eq!(told(&other).len(), 1);
}

#[test]
fn short_waits_are_told_beside_long_ones() {
    let load = task("answer@app.py:3[4-9] > load@app.py:5[11-26]");
    let short = naps(&load, 20, 12, "18ms") + &naps(&load, 1, 18, "28ms");
    let long = format!("{} > clock_nanosleep[libc.so.6] x40 asleep\nstep 62ms\n", task("page@app.py:9[4-9]"));
    let text = format!("{PROCESS}{short}{long}");
    assert_eq!(
        told(&text),
        [
            "blocks the event loop: for 62.0 ms, in app.py:9 page",
            "blocks the event loop briefly: at least 21 times, 388 ms together, longest 28.0 ms, in app.py:5 load, called from app.py:3 answer",
        ]
    );
    let profile = profile(&notation::recording(&text), &Additions::default());
    let verdict = verdict(&profile);
    let page = serde_json::to_value(json::page(&profile, &verdict)).unwrap();
    let blocks = &page["short_blocks"];
    assert_eq!([&blocks["times"], &blocks["sum_ns"], &blocks["longest_ns"]], [21, 388_000_000, 28_000_000]);
    assert_eq!([&blocks["function"], &blocks["callback"]["function"]], ["load", "answer"]);
}
