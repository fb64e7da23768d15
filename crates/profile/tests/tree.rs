//! The tree of call paths, from a recording written as text to the text that is printed.

mod notation;

use expect_test::{Expect, expect};
use genba_profile::build::{Additions, profile};
use genba_profile::paint::Paint;
use genba_profile::show::Show;
use genba_profile::tree::{Options, json, text, tree};

fn check(recording: &str, options: Options, expected: Expect) {
    let profile = profile(&notation::recording(recording), &Additions::default());
    let tree = tree(&profile, &options);
    expected.assert_eq(&text(&profile, &tree, &options, Paint::Plain));
}

const TWO_CALLERS: &str = "
    process 7 3.13.0 cwd=/app
    foo@app.py:10 > sum12@app.py:3 > sum1@app.py:5 > sum[python3.13] x10
    foo@app.py:10 > sum12@app.py:4 > sum2@app.py:7 > sum[python3.13] x100
    bar@app.py:11 > sum12@app.py:3 > sum1@app.py:5 > sum[python3.13] x30
    bar@app.py:11 > sum12@app.py:4 > sum2@app.py:7 > ?sum[python3.13] x10
    bar@app.py:11 > sum12@app.py:4 x2
    bar@app.py:11 > sleep[python3.13] x1 poll
";

#[test]
fn callers_are_never_merged() {
    check(
        TWO_CALLERS,
        Options::default(),
        expect![[r#"
        CPython 3.13.0 · 245 ms wall · 243 ms CPU · 1 process, 1 thread · 1.6 ms
        ticks 153 = sampled 153 + dropped 0 + refused 0 · CPU covered 100.0 %

          share      CPU     self     wall     self  path
         72.4 %   176 ms        –   176 ms        –  foo (app.py:1)
         72.4 %   176 ms        –   176 ms        –    sum12 (app.py:1)
         65.8 %   160 ms        –   160 ms        –      sum2 (app.py:1)
         65.8 %   160 ms   160 ms   160 ms   160 ms        sum [python3.13]
          6.6 %  16.0 ms        –  16.0 ms        –      sum1 (app.py:1)
          6.6 %  16.0 ms  16.0 ms  16.0 ms  16.0 ms        sum [python3.13]
         27.6 %  67.2 ms        –  68.8 ms        –  bar (app.py:1)
         27.6 %  67.2 ms  3.20 ms  67.2 ms  3.20 ms    sum12 (app.py:1)
         19.7 %  48.0 ms        –  48.0 ms        –      sum1 (app.py:1)
         19.7 %  48.0 ms  48.0 ms  48.0 ms  48.0 ms        sum [python3.13]
          6.6 %  16.0 ms        –  16.0 ms        –      sum2 (app.py:1)
          6.6 %  16.0 ms  16.0 ms  16.0 ms  16.0 ms        sum (inferred) [python3.13]
          0.0 %                                        (1 path more not shown)
    "#]],
    );
}

#[test]
fn from_the_leaves() {
    check(
        TWO_CALLERS,
        Options { inverted: true, share_min: 0.1, ..Options::default() },
        expect![[r#"
        CPython 3.13.0 · 245 ms wall · 243 ms CPU · 1 process, 1 thread · 1.6 ms
        ticks 153 = sampled 153 + dropped 0 + refused 0 · CPU covered 100.0 %

          share      CPU     self     wall     self  path
         92.1 %   224 ms        –   224 ms        –  sum [python3.13]
         65.8 %   160 ms        –   160 ms        –    sum2 (app.py:1)
         65.8 %   160 ms        –   160 ms        –      sum12 (app.py:1)
         65.8 %   160 ms   160 ms   160 ms   160 ms        foo (app.py:1)
         26.3 %  64.0 ms        –  64.0 ms        –    sum1 (app.py:1)
         26.3 %  64.0 ms        –  64.0 ms        –      sum12 (app.py:1)
         19.7 %  48.0 ms  48.0 ms  48.0 ms  48.0 ms        bar (app.py:1)
          6.6 %                                            (1 path more not shown)
          7.9 %                                      (3 paths more not shown)
    "#]],
    );
}

#[test]
fn what_is_folded_is_said() {
    check(
        TWO_CALLERS,
        Options { share_min: 0.15, ..Options::default() },
        expect![[r#"
        CPython 3.13.0 · 245 ms wall · 243 ms CPU · 1 process, 1 thread · 1.6 ms
        ticks 153 = sampled 153 + dropped 0 + refused 0 · CPU covered 100.0 %

          share      CPU     self     wall     self  path
         72.4 %   176 ms        –   176 ms        –  foo (app.py:1)
         72.4 %   176 ms        –   176 ms        –    sum12 (app.py:1)
         65.8 %   160 ms        –   160 ms        –      sum2 (app.py:1)
         65.8 %   160 ms   160 ms   160 ms   160 ms        sum [python3.13]
          6.6 %                                          (1 path more not shown)
         27.6 %  67.2 ms        –  68.8 ms        –  bar (app.py:1)
         27.6 %  67.2 ms  3.20 ms  67.2 ms  3.20 ms    sum12 (app.py:1)
         19.7 %  48.0 ms        –  48.0 ms        –      sum1 (app.py:1)
         19.7 %  48.0 ms  48.0 ms  48.0 ms  48.0 ms        sum [python3.13]
          6.6 %                                          (1 path more not shown)
          0.0 %                                        (1 path more not shown)
    "#]],
    );
    check(
        TWO_CALLERS,
        Options { depth_max: Some(2), show: Show::Python, ..Options::default() },
        expect![[r#"
        CPython 3.13.0 · 245 ms wall · 243 ms CPU · 1 process, 1 thread · 1.6 ms
        ticks 153 = sampled 153 + dropped 0 + refused 0 · CPU covered 100.0 %

          share      CPU     self     wall     self  path
         72.4 %   176 ms        –   176 ms        –  foo (app.py:1)
         72.4 %   176 ms        –   176 ms        –    sum12 (app.py:1)
         72.4 %                                          (2 paths more not shown)
         27.6 %  67.2 ms        –  68.8 ms        –  bar (app.py:1)
         27.6 %  67.2 ms  3.20 ms  67.2 ms  3.20 ms    sum12 (app.py:1)
         26.3 %                                          (2 paths more not shown)
          0.0 %                                        (1 path more not shown)
    "#]],
    );
}

#[test]
fn a_deep_recursion_does_not_run_off_the_screen() {
    let frames = vec!["down@app.py:3"; 44].join(" > ");
    let recording = format!("process 7 3.13.0 cwd=/app\n{frames} x1");
    let profile = profile(&notation::recording(&recording), &Additions::default());
    let options = Options::default();
    let page = text(&profile, &tree(&profile, &options), &options, Paint::Plain);
    let last: Vec<&str> = page.lines().rev().take(3).map(str::trim).collect();
    expect![[r#"
        100.0 %  1.60 ms  1.60 ms  1.60 ms  1.60 ms                                                                                  [43] down (app.py:1)
        100.0 %  1.60 ms        –  1.60 ms        –                                                                                  [42] down (app.py:1)
        100.0 %  1.60 ms        –  1.60 ms        –                                                                                  [41] down (app.py:1)"#]].assert_eq(&last.join("\n"));
}

#[test]
fn as_a_table_a_parent_stands_before_its_children() {
    let profile = profile(&notation::recording(TWO_CALLERS), &Additions::default());
    let rows = |options: Options| {
        let page = json::json(&profile, &tree(&profile, &options), &options).unwrap();
        let page: serde_json::Value = serde_json::from_str(&page).unwrap();
        let of = |row: &serde_json::Value, key: &str| row[key].to_string();
        let line = |row: &serde_json::Value| {
            let keys = ["parent", "kind", "name", "first_line", "total_samples", "samples"];
            keys.map(|key| of(row, key)).join(" ") + "\n"
        };
        let whole = format!("{} {} {}\n", of(&page, "weight"), of(&page, "samples"), of(&page, "cpu_ns"));
        whole + &page["branches"].as_array().unwrap().iter().map(line).collect::<String>()
    };
    expect![[r#"
        "cpu" 152 243200000
        null "python" "foo" 1 110 0
        0 "python" "sum12" 1 110 0
        1 "python" "sum2" 1 100 0
        2 "c" "sum" null 100 100
        1 "python" "sum1" 1 10 0
        4 "c" "sum" null 10 10
        null "python" "bar" 1 42 0
        6 "python" "sum12" 1 42 2
        7 "python" "sum1" 1 30 0
        8 "c" "sum" null 30 30
        7 "python" "sum2" 1 10 0
        10 "inferred" "sum" null 10 10
        6 "c" "sleep" null 0 0
        12 "state" "in poll(2)" null 0 0
    "#]]
    .assert_eq(&rows(Options::default()));
    expect![[r#"
        "cpu" 152 243200000
        null "python" "foo" 1 110 0
        0 "python" "sum12" 1 110 0
        1 "python" "sum2" 1 100 0
    "#]]
    .assert_eq(&rows(Options { share_min: 0.3, depth_max: Some(3), ..Options::default() }));
}
