//! What is the same code in two recordings where no text of it is known: other interpreters, and code that is in no file.

use crate::compared::{runs, told};
use genba_profile::difference_view::{Comparison, comparison, json, markdown, page, text};
use genba_profile::paint::Paint;
use serde_json::{Value, json as value};

fn rows(before: &str, after: &str) -> Vec<String> {
    let (before, after) = (runs("before", &[before.to_string()]), runs("after", &[after.to_string()]));
    let mut rows = told(&comparison(&before, &after, None));
    rows.sort();
    rows
}

/// CPython 3.11 has the comprehension as a function of its own, which begins in line 7, and CPython 3.12 has it inside of `main`. Where they put
/// expressions differs, too, so each function is one row.
#[test]
fn a_comprehension_is_one_row_in_two_interpreters() {
    let old = "process 7 3.11.9 cwd=/app key=1
        main^1@app.py:7[11-40] > main.<locals>.<listcomp>^7@app.py:7[12-20] x900
        main^1@app.py:9[4-12] x300";
    let new = "process 7 3.13.0 cwd=/app key=2
        main^1@app.py:7[12-20] x900
        main^1@app.py:9[4-12] x300";
    assert_eq!(rows(old, new), ["main +0 open"]);
    // In one interpreter it has its row, also where all of it was moved by four lines.
    let moved = "process 7 3.11.2 cwd=/app key=3
        main^5@app.py:11[11-40] > main.<locals>.<listcomp>^11@app.py:11[12-20] x900
        main^5@app.py:13[4-12] x300";
    assert_eq!(rows(old, moved), ["main +0 open", "main +0 open"]);
}

/// CPython 3.12 has the steps of a `for` loop at its target, and CPython 3.13 at what it goes through.
#[test]
fn a_loop_is_one_row_in_two_interpreters() {
    let of = |key: u32, python: &str, columns: &str| {
        format!(
            "process 7 {python} cwd=/app key={key}
            source /app/app.py
            |def main(n):
            |    for row in Rows(n):
            |        work(row)
            main^1@app.py:2[{columns}] x900
            main^1@app.py:3[8-17] x300"
        )
    };
    let (target, iterable) = ("8-11", "15-22");
    assert_eq!(rows(&of(1, "3.12.3", target), &of(2, "3.13.0", iterable)), ["main +0 open"]);
    // In one interpreter these are two expressions.
    let apart = ["Rows(n) +1440 certain", "row -1440 certain", "work(row) +0 open"];
    assert_eq!(rows(&of(1, "3.13.0", target), &of(2, "3.13.5", iterable)), apart);
}

/// Such as a tool of the system's, which the program starts: the rows of the program are those of one interpreter.
#[test]
fn a_helper_of_another_interpreter_leaves_the_rows_of_a_program() {
    let of = |key: u32, python: &str, columns: &str| {
        format!(
            "process 7 {python} cwd=/app key={key}
            main^1@app.py:2[{columns}] x900
            main^1@app.py:3[8-17] x300
            process 8 3.11.2 cwd=/app
            tool^1@tool.py:2[4-9] x300
            tool^1@tool.py:3[4-9] x300"
        )
    };
    let (program, helper) = (["main +0 open"; 2], ["tool +0 open"; 2]);
    assert_eq!(rows(&of(1, "3.13.0", "8-11"), &of(2, "3.13.5", "8-11")), [program, helper].concat());
    // Of the program itself two interpreters are compared.
    let of_two = rows(&of(1, "3.12.3", "8-11"), &of(2, "3.13.0", "15-22"));
    assert_eq!(of_two, ["main +0 open", "tool +0 open", "tool +0 open"]);
}

/// `python -c` and `exec`: the longer table is that of another text.
#[test]
fn two_texts_of_one_name_are_not_compared() {
    let short = |key: u32, python: &str| format!("process 7 {python} cwd=/app key={key}\n<module>@<string>:1 x900\n");
    let long = |key: u32, python: &str| short(key, python) + "<module>@<string>:2 x300\n";
    let apart = ["<module> +1440 certain", "<module> +480 certain", "<module> -1440 certain"];
    assert_eq!(rows(&short(1, "3.13.0"), &long(2, "3.13.5")), apart);
    assert_eq!(rows(&long(1, "3.13.0"), &long(2, "3.13.0")), ["<module> +0 open", "<module> +0 open"]);
    // Two CPythons have two tables for one text: the function is one row.
    assert_eq!(rows(&short(1, "3.11.9"), &long(2, "3.13.0")), ["<module> +480 certain"]);
    // Unless one recording has two texts of that name.
    let both = short(1, "3.11.9") + "process 8 3.11.9 cwd=/app\n<module>@<string>:1 x100\n<module>@<string>:2 x200\n";
    assert_eq!(rows(&both, &long(2, "3.13.0")), ["<module> +0 open"]);
}

/// `util.py` is called `old.py` now, and another module took its name.
#[test]
fn a_file_that_took_the_name_of_another_one_is_not_compared_with_it() {
    let before = "process 7 3.13.0 cwd=/app key=1
        source /app/util.py
        |def f(data):
        |    step(data)
        |    push(data)
        main@app.py:3 > f^1@util.py:2[4-14] x900";
    let after = "process 7 3.13.0 cwd=/app key=2
        source /app/old.py
        |def f(data):
        |    step(data)
        |    push(data)
        source /app/util.py
        |def f(data):
        |    turn(data)
        |    pull(data)
        |    pull(data + 1)
        main@app.py:3 > f^1@old.py:2[4-14] x900
        main@app.py:4 > f^1@util.py:2[4-14] x400";
    assert_eq!(rows(before, after), ["step(data) ← main:3 +0 open", "turn(data) ← main:4 +640 certain"]);
}

/// Two functions that begin alike, of which the first was taken out, or put in.
#[test]
fn a_function_does_not_take_the_place_of_one_that_begins_alike() {
    let of = |key: u32, calls: &[(&str, u32)]| {
        let mut text = format!("process 7 3.13.0 cwd=/app key={key}\nsource /app/app.py\n|import data\n");
        for (call, _) in calls {
            text += &format!("|@cost.register\n|def _(data):\n|    {call}(data)\n|\n");
        }
        text += "|def main():\n|    cost(data)\n";
        let main = 4 * calls.len() + 2;
        for (at, (_, count)) in calls.iter().enumerate() {
            let (first, line) = (4 * at + 2, 4 * at + 4);
            text += &format!("main^{main}@app.py:{}[4-14] > _^{first}@app.py:{line}[4-14] x{count}\n", main + 1);
        }
        text
    };
    let (both, one) = (of(1, &[("step", 300), ("turn", 900)]), of(2, &[("turn", 900)]));
    assert_eq!(rows(&both, &one), ["step(data) ← main:11 -480 certain", "turn(data) ← main:7 +0 open"]);
    assert_eq!(rows(&one, &both), ["step(data) ← main:11 +480 certain", "turn(data) ← main:11 +0 open"]);
}

/// Two functions that begin alike changed places. Each is found again by the rest of its text, whatever is in the line where it was.
#[test]
fn two_functions_that_changed_places_are_found_again() {
    let of = |key: u32, calls: [(&str, u32); 2]| {
        let mut text = format!("process 7 3.13.0 cwd=/app key={key}\nsource /app/app.py\n");
        for (call, _) in calls {
            text += &format!("|@cost.register\n|def _(data):\n|    step(data)\n|    {call}(data)\n|\n");
        }
        text += "|def main():\n|    cost(data)\n";
        for (at, (_, count)) in calls.iter().enumerate() {
            let first = 5 * at + 1;
            text += &format!("main^11@app.py:12[4-14] > _^{first}@app.py:{}[4-14] x{count}\n", first + 2);
        }
        text
    };
    let same = ["step(data) ← main:12 +0 open", "step(data) ← main:12 +0 open"];
    assert_eq!(rows(&of(1, [("turn", 300), ("push", 900)]), &of(2, [("push", 900), ("turn", 300)])), same);
}

/// Two lambdas are alike to the letter, and one was moved. Which one is new, no line tells, so no row says that one has gone and another one came.
#[test]
fn a_function_that_was_moved_and_has_a_copy_is_no_new_one() {
    let lambda = "    sort(rows, key=lambda row: step(row))";
    let of = |key: u32, body: [&str; 5], lambdas: [(u32, u32); 2]| {
        let mut text = format!("process 7 3.13.0 cwd=/app key={key}\nsource /app/app.py\n|def main(rows):\n");
        for line in body {
            text += &format!("|{line}\n");
        }
        for (line, count) in lambdas {
            text += "main^1@app.py:6[4-13] > ";
            text += &format!("main.<locals>.<lambda>^{line}@app.py:{line}[31-40] x{count}\n");
        }
        text
    };
    let before = of(1, [lambda, "    first(rows)", lambda, "    last(rows)", "    sum(rows)"], [(2, 300), (4, 900)]);
    let after = of(2, ["    first(rows)", lambda, "    last(rows)", lambda, "    sum(rows)"], [(3, 900), (5, 300)]);
    let same = ["step(row) ← main:6 +0 open", "step(row) ← main:6 +0 open"];
    assert_eq!(rows(&before, &after), same);
}

/// Two lambdas were written anew in their lines. That the lines are equal tells nothing, and the third one is still itself.
#[test]
fn equal_lines_of_two_texts_tell_nothing() {
    let of = |key: u32, calls: [&str; 2], counts: [u32; 3]| {
        let [first, second] = calls;
        let mut text = format!(
            "process 7 3.13.0 cwd=/app key={key}
            source /app/app.py
            |keys = lambda row: {first}(row)
            |names = lambda row: {second}(row)
            |
            |def main(rows):
            |    sort(rows)
            |
            |last = lambda row: step(row)
            "
        );
        for ((line, start), count) in [(1, 19), (2, 20), (7, 19)].into_iter().zip(counts) {
            let place = format!("app.py:{line}[{start}-{}]", start + 9);
            text += &format!("main^4@app.py:5[4-14] > <lambda>^{line}@{place} x{count}\n");
        }
        text
    };
    let (before, after) = (
        runs("before", &[of(1, ["step", "turn"], [300, 900, 500])]),
        runs("after", &[of(2, ["turn", "step"], [900, 300, 500])]),
    );
    let all = comparison(&before, &after, None);
    let mut rows = told(&all);
    rows.sort();
    assert_eq!(rows, ["step(row) ← main:5 +0 open", "step(row) ← main:5 +0 open", "turn(row) ← main:5 +0 open"]);
    assert_eq!(all.difference.merged, [("/app/app.py".to_string(), "<lambda>".to_string())]);
}

/// The text that ran is known on one side only, as the file was changed later on the other: functions are found by their names, and lines tell nothing.
#[test]
fn a_text_that_one_side_lost_tells_nothing() {
    let text = "source /app/app.py\n|def main(data):\n|    keys = lambda row: row\n|    names = lambda row: row\n|    step(data)\n|    step(data)\n";
    let of = |key: u32, source: &str| {
        let mut all = format!("process 7 3.13.0 cwd=/app key={key}\n{source}");
        all += "main^1@app.py:4[4-14] > <lambda>^2@app.py:2[23-26] x300\n";
        all += "main^1@app.py:4[4-14] > <lambda>^3@app.py:3[24-27] x500\n";
        all + "main^1@app.py:4[4-14] x700\nmain^1@app.py:5[4-14] x900\n"
    };
    let compared = |source: &str| {
        let (before, after) = (runs("before", &[of(1, text)]), runs("after", &[of(2, source)]));
        let all = comparison(&before, &after, None);
        let mut rows = told(&all);
        rows.sort();
        (rows, all.difference.merged)
    };
    let merged = vec![("/app/app.py".to_string(), "<lambda>".to_string())];
    let one_each = vec!["<lambda> ← main:0 +0 open".to_string(), "main +0 open".to_string()];
    assert_eq!(compared("source /app/app.py changed\n"), (one_each.clone(), merged.clone()));
    assert_eq!(compared(""), (one_each, merged));
    assert_eq!(compared(text).0.len(), 4);
}

/// Two functions that are alike to the letter, of which one was taken out: which one, no text can tell.
#[test]
fn one_of_two_copies_is_not_compared_with_any() {
    let copy = "|@cost.register\n|def _(data):\n|    step(data)\n|\n";
    let of = |key: u32, copies: usize, samples: &[u32]| {
        let mut text = format!("process 7 3.13.0 cwd=/app key={key}\nsource /app/app.py\n{}", copy.repeat(copies));
        let main = 4 * copies + 1;
        text += "|def main():\n|    cost(data)\n";
        for (at, count) in samples.iter().enumerate().filter(|(_, count)| **count > 0) {
            let (first, line) = (4 * at + 1, 4 * at + 3);
            text += &format!("main^{main}@app.py:{}[4-14] > _^{first}@app.py:{line}[4-14] x{count}\n", main + 1);
        }
        text
    };
    let merged = |before: String, after: String| {
        let (before, after) = (runs("before", &[before]), runs("after", &[after]));
        let all = comparison(&before, &after, None);
        (told(&all).len(), all.difference.merged)
    };
    let name = ("/app/app.py".to_string(), "_".to_string());
    assert_eq!(merged(of(1, 2, &[300, 900]), of(2, 1, &[900])), (1, vec![name.clone()]));
    assert_eq!(merged(of(1, 1, &[900]), of(2, 2, &[900, 300])), (1, vec![name]));
    // As many as before: in their order.
    assert_eq!(merged(of(1, 2, &[300, 900]), of(2, 2, &[300, 900])), (2, Vec::new()));
    // Each recording met one of the two, and one text has only one.
    assert_eq!(merged(of(1, 2, &[0, 900]), of(2, 1, &[900])), (1, vec![("/app/app.py".to_string(), "_".to_string())]));
    // Both texts have both: the lines tell.
    assert_eq!(merged(of(1, 2, &[0, 900]), of(2, 2, &[900, 0])), (2, Vec::new()));
    assert_eq!(merged(of(1, 2, &[0, 900]), of(2, 2, &[0, 900])), (1, Vec::new()));
}

fn one_of_each(before: &str, after: &str, check: impl Fn(&Comparison)) {
    let (before, after) = (runs("before", &[before.to_string()]), runs("after", &[after.to_string()]));
    check(&comparison(&before, &after, None));
}

fn read(page: serde_json::Result<String>) -> Value {
    serde_json::from_str(&page.expect("JSON")).expect("JSON")
}

fn assert_has(page: &str, words: &str) {
    assert!(page.contains(words), "{words:?} is not in\n{page}");
}

/// Two scripts are compared as one file. What only A has is in A's, and its lines are those of A.
#[test]
fn a_row_that_only_one_script_has_is_named_by_that_one() {
    let before = "process 7 3.13.0 cwd=/app key=1 argv=python3+slow.py
        source /app/slow.py
        |def f():
        |    step(1)
        |
        |def main():
        |    f()
        |    last(2)
        main^4@slow.py:5[4-7] > f^1@slow.py:2[4-11] x900
        main^4@slow.py:6[4-11] x600";
    let after = "process 7 3.13.0 cwd=/app key=2 argv=python3+fixed.py
        source /app/fixed.py
        |def main():
        |    last(2)
        main^1@fixed.py:2[4-11] x600";
    let unlike = "A ran slow.py, B ran fixed.py";
    one_of_each(before, after, |all| {
        assert_has(&all.verdict(), "most of it in slow.py:2 f ← slow.py:5 main");
        let screen = text::text(all, None, None, Paint::Plain);
        assert_has(&screen, &format!("\nthe sides are unlike: {unlike}\nA: before-1.genba"));
        assert_has(&screen, "   slow.py:2 f ← slow.py:5 main   step(1)   only in A\n");
        assert_has(&screen, "   fixed.py:2 main   last(2)   cannot tell\n");
        let pasted = markdown::markdown(all, None, &[]);
        assert_has(&pasted, &format!("the sides are unlike: {unlike}"));
        assert_has(&pasted, "| `slow.py:2 f ← slow.py:5 main` | `step(1)` | only in A |\n");
        let found = read(json::json(all, None, &[]));
        assert_eq!(found["unlike"], value!([unlike]));
        let places = ["file", "line", "function"].map(|key| found["differences"][0][key].clone());
        assert_eq!(places, [value!("/app/slow.py"), value!(2), value!("f")]);
        let caller = &found["differences"][0]["caller"];
        assert_eq!((&caller["file"], &caller["line"]), (&value!("/app/slow.py"), &value!(5)));
        assert_eq!(found["differences"][1]["file"], "/app/fixed.py");
        let shown = read(page::json(all, &[]));
        assert_eq!(shown["rows"][0]["name"], "slow.py:2 f ← slow.py:5 main");
        let accounts = shown["accounts"].as_array().expect("a list");
        assert!(accounts.contains(&value!(format!("the sides are unlike: {unlike}"))), "{accounts:?}");
        let boxes = shown["boxes"].as_array().expect("a list");
        let place = |name: &str| boxes.iter().find(|of| of["name"] == name).expect("a box")["place"].clone();
        let places = ["main", "f", "step(1)", "last(2)"].map(place);
        assert_eq!(places, ["fixed.py", "slow.py", "slow.py:2", "fixed.py:2"].map(|words| value!(words)));
    });
}

/// A file in another folder has two paths, and one short name.
#[test]
fn a_file_that_was_moved_has_one_short_name() {
    let before = "process 7 3.13.0 cwd=/v1 key=1
        source /v1/app.py
        |def main():
        |    step(1)
        |    last(2)
        main^1@app.py:2[4-11] x900
        main^1@app.py:3[4-11] x600";
    let after = "process 7 3.13.0 cwd=/v2 key=2
        source /v2/app.py
        |import os
        |import sys
        |def main():
        |    last(2)
        main^3@app.py:4[4-11] x600";
    one_of_each(before, after, |all| {
        let screen = text::text(all, None, None, Paint::Plain);
        assert_has(&screen, "   app.py:2 main   step(1)   only in A\n");
        assert_has(&screen, "   app.py:4 main   last(2)   cannot tell\n");
        assert!(!screen.contains("the sides are unlike"), "{screen}");
        let found = read(json::json(all, None, &[]));
        let files = [0, 1].map(|row| found["differences"][row]["file"].clone());
        assert_eq!(files, [value!("/v1/app.py"), value!("/v2/app.py")]);
        let boxes = read(page::json(all, &[]))["boxes"].clone();
        let places = boxes.as_array().expect("a list").iter().map(|of| of["place"].as_str().expect("words"));
        assert_eq!(places.collect::<Vec<_>>(), ["", "app.py", "app.py:2", "app.py:4"]);
    });
}
