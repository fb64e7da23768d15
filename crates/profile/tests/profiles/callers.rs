//! Who led to a row: the nearest callers in own code, of code that several places call.

use crate::notation;
use expect_test::{Expect, expect};
use genba_profile::build::{Additions, Import, profile};
use genba_profile::paint::Paint;
use genba_profile::reading::Reading;
use genba_profile::report::{By, Options, report, text};

/// The rows, without the lines above them.
fn check(by: By, width: Option<usize>, stacks: &str, expected: Expect) {
    let reading =
        Reading::of(profile(&notation::recording(&format!("process 7 3.13.0\n{stacks}")), &Additions::default()));
    let report = report(&reading, &Options { by, ..Options::default() });
    let page = text::text(&reading, &report, width, Paint::Plain);
    expected.assert_eq(page.split_once("\n\n").map_or("", |(_, rows)| rows));
}

#[test]
fn several_callers_are_named_by_their_lines() {
    let from = |caller: &str, line: u32, samples: u32| {
        let between = "render@/v/site-packages/engine.py:5[0-9]";
        format!(
            "<module>@main.py:1[0-9] > {caller}@views.py:{line}[0-9] > {between} > price@models.py:3[0-9] > sqrt[libm.so] x{samples}\n"
        )
    };
    let shared = [from("page", 88, 50), from("page", 90, 8), from("mail", 20, 30), from("feed", 40, 12)].concat();
    check(
        By::Expression,
        None,
        &shared,
        expect![[r#"
        100.0 %  160 ms  models.py:3 price (columns 1 to 9)
                             sqrt (libc) 100 %
                             ← views.py:88 page 50 %, ← views.py:20 mail 30 %, ← views.py:40 feed 12 %, others 8 %
    "#]],
    );
    check(
        By::Function,
        Some(60),
        &shared,
        expect![[r#"
            100.0 %  160 ms  models.py:1 price
                                 sqrt (libc) 100 %
                                 ← views.py:88 page 50 %,
                                   ← views.py:20 mail 30 %,
                                   ← views.py:40 feed 12 %, others 8 %
        "#]],
    );
}

#[test]
fn one_caller_goes_without_saying() {
    let from = |line: u32, samples: u32| format!("page@views.py:{line}[0-9] > price@models.py:3[0-9] x{samples}\n");
    check(
        By::Expression,
        None,
        &from(88, 100),
        expect![[r#"
        100.0 %  160 ms  models.py:3 price (columns 1 to 9)
    "#]],
    );
    check(
        By::Expression,
        None,
        &[from(88, 91), from(89, 9)].concat(),
        expect![[r#"
        100.0 %  160 ms  models.py:3 price (columns 1 to 9)
    "#]],
    );
    check(
        By::Expression,
        None,
        &[from(88, 90), from(89, 10)].concat(),
        expect![[r#"
        100.0 %  160 ms  models.py:3 price (columns 1 to 9)
                             ← views.py:88 page 90 %, ← views.py:89 page 10 %
    "#]],
    );
}

#[test]
fn a_function_that_calls_itself_is_called_from_outside() {
    let deep = |caller: &str, samples: u32| {
        format!("{caller}@app.py:9[0-9] > walk@app.py:2[0-9] > walk@app.py:2[0-9] > walk@app.py:3[0-9] x{samples}\n")
    };
    check(
        By::Expression,
        None,
        &[deep("left", 60), deep("right", 40)].concat(),
        expect![[r#"
        100.0 %  160 ms  app.py:3 walk (columns 1 to 9)
                             ← app.py:9 left 60 %, ← app.py:9 right 40 %
    "#]],
    );
}

#[test]
fn many_callers_of_which_none_has_a_tenth_go_without_saying() {
    let from = |line: u32, samples: u32| format!("page@views.py:{line}[0-9] > price@models.py:3[0-9] x{samples}\n");
    let many = |lines: u32| (1..=lines).map(|line| from(line, 5)).collect::<String>();
    check(
        By::Expression,
        None,
        &many(20),
        expect![[r#"
        100.0 %  160 ms  models.py:3 price (columns 1 to 9)
    "#]],
    );
    check(
        By::Expression,
        None,
        &(many(20) + &from(99, 60)),
        expect![[r#"
        100.0 %  256 ms  models.py:3 price (columns 1 to 9)
                             ← views.py:99 page 38 %, others 62 %
    "#]],
    );
}

#[test]
fn what_nothing_of_the_users_called_is_one_of_the_others() {
    let price = "price@models.py:3[0-9]";
    check(
        By::Expression,
        None,
        &format!("page@views.py:8[0-9] > {price} x40\nmail@views.py:9[0-9] > {price} x30\n{price} x30\n"),
        expect![[r#"
            100.0 %  160 ms  models.py:3 price (columns 1 to 9)
                                 ← views.py:8 page 40 %, ← views.py:9 mail 30 %, others 30 %
        "#]],
    );
}

#[test]
fn a_comprehension_is_called_by_who_calls_its_function() {
    let from = |line: u32| {
        format!(
            "page@views.py:{line}[0-9] > price@models.py:3[0-30] > price.<locals>.<listcomp>@models.py:3[4-20] x50\n"
        )
    };
    check(
        By::Expression,
        None,
        &[from(88), from(90)].concat(),
        expect![[r#"
        100.0 %  160 ms  models.py:3 price.<locals>.<listcomp> (columns 5 to 20)
                             ← views.py:88 page 50 %, ← views.py:90 page 50 %
    "#]],
    );
}

#[test]
fn the_start_of_an_event_loop_calls_no_task() {
    let run = "run_once@/usr/lib/python3.13/asyncio/base_events.py:5[0-9] > Handle._run@/usr/lib/python3.13/asyncio/events.py:8[0-9]";
    let task = |above: &str| format!("<module>@app.py:40[0-9] > {run}{above} > fetch@app.py:3[0-9] x50\n");
    check(
        By::Expression,
        None,
        &[task(""), task(" > page@app.py:20[0-9]")].concat(),
        expect![[r#"
        100.0 %  160 ms  app.py:3 fetch (columns 1 to 9)
    "#]],
    );
}

#[test]
fn behind_one_caller_its_own_are_asked_for() {
    let from = |caller: &str, line: u32, samples: u32| {
        format!("{caller}@views.py:{line}[0-9] > both@models.py:9[0-9] > price@models.py:3[0-9] x{samples}\n")
    };
    check(
        By::Expression,
        None,
        &[from("page", 88, 70), from("mail", 20, 30)].concat(),
        expect![[r#"
        100.0 %  160 ms  models.py:3 price (columns 1 to 9)
                             ← views.py:88 page 70 %, ← views.py:20 mail 30 %
    "#]],
    );
    check(
        By::Expression,
        None,
        &[from("page", 88, 95), from("mail", 20, 5)].concat(),
        expect![[r#"
        100.0 %  160 ms  models.py:3 price (columns 1 to 9)
    "#]],
    );
}

#[test]
fn counted_calls_below_a_row_hide_none_of_its_callers() {
    // A stack is a function below its caller: `walk` was called by `left` and by `right`, and called itself and C.
    let stacks = "process 7 3.13.0
        left@app.py:9 > walk@app.py:2 x6
        right@app.py:9 > walk@app.py:2 x4
        walk@app.py:2 > walk@app.py:2 x20
        walk@app.py:2 > sqrt[libm.so] x30";
    let import = Import { counts_calls: true, ..Import::default() };
    let additions = Additions { import: Some(import), ..Additions::default() };
    let reading = Reading::of(profile(&notation::recording(stacks), &additions));
    let report = report(&reading, &Options { by: By::Function, ..Options::default() });
    let callers: Vec<(&str, f64)> = report.rows[0]
        .callers
        .iter()
        .map(|caller| (reading.profile.functions[caller.function].name.as_str(), caller.share))
        .collect();
    assert_eq!(callers, [("left", 0.6), ("right", 0.4)]);
}
