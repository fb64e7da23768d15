//! The verdict on one function: what its lines have, and what it has with all that it calls.

use crate::judged::{PROCESS, check, expressions};
use expect_test::expect;

/// The rows of its lines hold that, and the verdict's lines do not.
#[test]
fn a_function_that_calls_libraries_has_more_than_its_lines() {
    let lines: String = (100..104).map(|line| format!("Shop.sell@app.py:{line}[4-9] x10\n")).collect();
    let json = "loads@/opt/python3/lib/python3.13/json/__init__.py:300[4-20]";
    check(
        &format!("{PROCESS}{lines}Shop.sell@app.py:100[4-9] > {json} x20\n{}", expressions(4, 10)),
        expect![[r#"
            one function: 40.0 % of 160 ms CPU is Shop.sell (app.py), in 4 lines
             10.0 %  16.0 ms  line 100
             10.0 %  16.0 ms  line 101
             10.0 %  16.0 ms  line 102
             10.0 %  16.0 ms  line 103
            next: Shop.sell (app.py) has 60.0 % with what it calls (genba report --by function --sort total)
        "#]],
    );
}
