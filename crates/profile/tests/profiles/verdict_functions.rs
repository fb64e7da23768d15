//! The verdict on one function: what its lines have, with what they call in libraries, as the rows below have it.

use crate::judged::{PROCESS, check, expressions};
use expect_test::expect;

const RE: &str = "sub@/opt/python3/lib/python3.13/re/__init__.py:185[11-60]";

#[test]
fn a_function_has_what_its_lines_call_in_libraries() {
    let lines: String = (100..104).map(|line| format!("Shop.sell@app.py:{line}[4-9] x10\n")).collect();
    check(
        &format!("{PROCESS}{lines}Shop.sell@app.py:100[4-9] > {RE} x20\n{}", expressions(4, 10)),
        expect![[r#"
            one function: 60.0 % of 160 ms CPU is Shop.sell (app.py), in 4 lines
             30.0 %  48.0 ms  line 100
             10.0 %  16.0 ms  line 101
             10.0 %  16.0 ms  line 102
             10.0 %  16.0 ms  line 103
        "#]],
    );
}

/// The same program in two runs: where chance takes a call of a library below the bound, its function is named, and not nothing.
#[test]
fn a_call_of_a_library_near_the_bound_keeps_its_name() {
    let clean = |calls: usize, others: usize| {
        format!("{PROCESS}clean@app.py:8[4-9] > {RE} x{calls}\nclean@app.py:9[4-9] x70\n{}", expressions(4, others))
    };
    check(
        &clean(410, 130),
        expect![[r#"
            one place: 41.0 % of 1.60 s CPU is app.py:8 clean
        "#]],
    );
    check(
        &clean(390, 135),
        expect![[r#"
            one function: 46.0 % of 1.60 s CPU is clean (app.py), in 2 lines
             39.0 %   624 ms  line 8
              7.0 %   112 ms  line 9
        "#]],
    );
}

const IMPORT: &str =
    "_find_and_load@<frozen·importlib._bootstrap>:1360 > <module>@/env/lib/python3.13/site-packages/orm/__init__.py:1";

/// The lines of a module's body have nothing in common but that they run once, its imports least of all.
#[test]
fn imports_are_no_part_of_a_module_s_body() {
    let module = |line: usize, samples: usize| format!("<module>@app.py:{line}[4-9] x{samples}\n");
    let imports: String = (2..5).map(|line| format!("<module>@app.py:{line}[0-9] > {IMPORT} x12\n")).collect();
    let listing = "listing@app.py:20[4-9] x39\n";
    let body: String = (10..15).map(|line| module(line, 5)).collect();
    check(
        &format!("{PROCESS}{imports}{listing}{body}"),
        expect![[r#"
        no single cause: the largest expression has 39.0 %, the ten largest 100.0 % of 160 ms CPU
        next: listing (app.py) has 39.0 % with what it calls (genba report --by function --sort total)
    "#]],
    );
    // A script that works at its top level keeps its name, without the imports.
    let body: String = (10..15).map(|line| module(line, 14)).collect();
    check(
        &format!("{PROCESS}{imports}{body}"),
        expect![[r#"
        one function: 66.0 % of 170 ms CPU is <module> (app.py), in 5 lines
         13.2 %  22.4 ms  line 10
         13.2 %  22.4 ms  line 11
         13.2 %  22.4 ms  line 12
         13.2 %  22.4 ms  line 13
    "#]],
    );
    // What an imported module of the user's computes in its own lines is that module's.
    let path = "<module>@main.py:1[0-9] > _find_and_load@<frozen·importlib._bootstrap>:1360";
    let work: String = (10..15).map(|line| format!("{path} > <module>@work.py:{line}[4-9] x14\n")).collect();
    check(
        &format!("{PROCESS}{work}{}", expressions(30, 3)),
        expect![[r#"
        one function: 43.8 % of 256 ms CPU is <module> (work.py), in 5 lines
          8.8 %  22.4 ms  line 10
          8.8 %  22.4 ms  line 11
          8.8 %  22.4 ms  line 12
          8.8 %  22.4 ms  line 13
    "#]],
    );
}

#[test]
fn an_expression_elsewhere_with_more_than_each_line_is_named() {
    let lines =
        |samples: usize| (10..15).map(|line| format!("sell@app.py:{line}[4-9] x{samples}\n")).collect::<String>();
    let beside =
        |samples: usize| format!("{PROCESS}{}load@app.py:30[4-9] x{samples}\n{}", lines(10), expressions(2, 10));
    check(
        &beside(25),
        expect![[r#"
        one function: 52.6 % of 152 ms CPU is sell (app.py), in 5 lines
         10.5 %  16.0 ms  line 10
         10.5 %  16.0 ms  line 11
         10.5 %  16.0 ms  line 12
         10.5 %  16.0 ms  line 13
        and 26.3 % is app.py:30 load
    "#]],
    );
    check(
        &beside(24),
        expect![[r#"
        one function: 53.2 % of 150 ms CPU is sell (app.py), in 5 lines
         10.6 %  16.0 ms  line 10
         10.6 %  16.0 ms  line 11
         10.6 %  16.0 ms  line 12
         10.6 %  16.0 ms  line 13
    "#]],
    );
    check(
        &format!("{PROCESS}{}sell@app.py:9[4-9] x26\nload@app.py:30[4-9] x26\n", lines(5)),
        expect![[r#"
        one function: 66.2 % of 123 ms CPU is sell (app.py), in 6 lines
         33.8 %  41.6 ms  line 9
          6.5 %  8.00 ms  line 10
          6.5 %  8.00 ms  line 11
          6.5 %  8.00 ms  line 12
    "#]],
    );
}
