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
