//! A comparison as machines and narrow screens get it.

use crate::compared::{runs, two_callers};
use crate::judged::PROCESS;
use expect_test::expect;
use genba_profile::difference_view::{Comparison, comparison, json, markdown, text};
use genba_profile::paint::Paint;

#[test]
fn machines_read_the_same() {
    let (before, after) = (
        runs("before", &[two_callers(1, "/app", 1, (1, 10), (3, 1), "100")]),
        runs("after", &[two_callers(2, "/app", 1, (1, 20), (3, 1), "200")]),
    );
    let all = comparison(&before, &after, None);
    expect![[r#"
        {
          "version": 1,
          "comparable": true,
          "reason": null,
          "unlike": [],
          "sides": {
            "before": {
              "pythons": [
                "3.13.0"
              ],
              "processes": 1,
              "threads": 1,
              "ends": [
                "ended with exit code 0"
              ],
              "cpu_covered": 1.0,
              "waited_for_cpu": null,
              "weights": [
                "cpu",
                "wall",
                "samples"
              ]
            },
            "after": {
              "pythons": [
                "3.13.0"
              ],
              "processes": 1,
              "threads": 1,
              "ends": [
                "ended with exit code 0"
              ],
              "cpu_covered": 1.0,
              "waited_for_cpu": null,
              "weights": [
                "cpu",
                "wall",
                "samples"
              ]
            }
          },
          "weight": "cpu",
          "weight_why": null,
          "unit": "ns",
          "verdict": "B takes 66.7 % longer than A: +800 ms ± 348 ms of CPU a run, most of it in two.py:3 sum12 ← two.py:6 foo",
          "confidence": 0.98,
          "compared": 7,
          "spread": {
            "part": 0.05,
            "measured": false,
            "freedom": null
          },
          "before": {
            "samples": 750,
            "recordings": [
              {
                "recording": "before-1.genba",
                "pythons": [
                  "3.13.0"
                ],
                "processes": 1,
                "threads": 1,
                "end": "ended with exit code 0",
                "cpu_covered": 1.0,
                "waited_for_cpu": null,
                "wall_ns": 1200000000,
                "cpu_ns": 1200000000,
                "cpu_sampled_ns": 1200000000,
                "cpu_not_sampled_ns": 0,
                "cpu_genba_ns": 0,
                "accounting": {
                  "ticks": 750,
                  "sampled": 750,
                  "dropped": {},
                  "refused": {}
                },
                "not_followed": [],
                "filters": null
              }
            ]
          },
          "after": {
            "samples": 1250,
            "recordings": [
              {
                "recording": "after-1.genba",
                "pythons": [
                  "3.13.0"
                ],
                "processes": 1,
                "threads": 1,
                "end": "ended with exit code 0",
                "cpu_covered": 1.0,
                "waited_for_cpu": null,
                "wall_ns": 2000000000,
                "cpu_ns": 2000000000,
                "cpu_sampled_ns": 2000000000,
                "cpu_not_sampled_ns": 0,
                "cpu_genba_ns": 0,
                "accounting": {
                  "ticks": 1250,
                  "sampled": 1250,
                  "dropped": {},
                  "refused": {}
                },
                "not_followed": [],
                "filters": null
              }
            ]
          },
          "whole": {
            "before_ns": 1200000000,
            "after_ns": 2000000000,
            "before": 1200000000,
            "after": 2000000000,
            "change": 800000000,
            "change_share": 0.6666666666666666,
            "low": 451571160,
            "high": 1148428840,
            "certain": true
          },
          "differences": [
            {
              "file": "/app/two.py",
              "line": 3,
              "function": "sum12",
              "expression": "sum(range(m))",
              "phase": null,
              "caller": {
                "file": "/app/two.py",
                "line": 6,
                "function": "foo",
                "expression": "sum12(10, 200)"
              },
              "expressions": null,
              "before_ns": 800000000,
              "after_ns": 1600000000,
              "before": 800000000,
              "after": 1600000000,
              "change": 800000000,
              "change_share": 1.0,
              "low": 521495417,
              "high": 1078504583,
              "certain": true,
              "too_few_samples": false,
              "samples_before": 500,
              "samples_after": 1000,
              "runs_needed": null
            }
          ],
          "functions": [
            {
              "file": "/app/two.py",
              "line": null,
              "function": "sum12",
              "expression": null,
              "phase": null,
              "caller": {
                "file": "/app/two.py",
                "line": null,
                "function": "foo",
                "expression": null
              },
              "expressions": 2,
              "before_ns": 880000000,
              "after_ns": 1680000000,
              "before": 880000000,
              "after": 1680000000,
              "change": 800000000,
              "change_share": 0.9090909090909091,
              "low": 508861887,
              "high": 1091138113,
              "certain": true,
              "too_few_samples": false,
              "samples_before": 550,
              "samples_after": 1050,
              "runs_needed": null
            }
          ],
          "merged": [],
          "folded": {
            "differences": 3,
            "functions": 1
          },
          "advice": {
            "change_share": 0.05,
            "code": {
              "file": "/app/two.py",
              "line": null,
              "function": "sum12",
              "expression": null
            },
            "caller": {
              "file": "/app/two.py",
              "line": null,
              "function": "foo",
              "expression": null
            },
            "runs": 10,
            "times_longer": null,
            "fewer_longer": null,
            "is_enough": false
          },
          "warnings": [
            "a warning"
          ]
        }
    "#]].assert_eq(&json::json(&all, Some(1), &["a warning".to_string()]).expect("JSON"));
    expect![[r#"
        **B takes 66.7 % longer than A: +800 ms ± 348 ms of CPU a run, most of it in two.py:3 sum12 ← two.py:6 foo**

        A: before-1.genba · CPython 3.13.0 · 1.20 s wall · 1.20 s CPU · 1 process, 1 thread · sampled every 1.6 ms  
        ticks 750 = sampled 750 + dropped 0 + refused 0 · CPU covered 100.0 %  
        B: after-1.genba · CPython 3.13.0 · 2.00 s wall · 2.00 s CPU · 1 process, 1 thread · sampled every 1.6 ms  
        ticks 1,250 = sampled 1,250 + dropped 0 + refused 0 · CPU covered 100.0 %  

        4 rows: 1 certain, 3 cannot tell

        | B − A | interval | A | B | where | expression | |
        |--:|--:|--:|--:|---|---|---|
        | +800 ms | +521 ms to +1.08 s | 800 ms | 1.60 s | `two.py:3 sum12 ← two.py:6 foo` | `sum(range(m))` |  |
        | 0 ns | −35.5 ms to +35.5 ms | 80.0 ms | 80.0 ms | `two.py:2 sum12 ← two.py:6 foo` | `sum(range(n))` | cannot tell |

        2 more rows.

        functions, each with all its expressions

        | B − A | interval | A | B | where | expression | |
        |--:|--:|--:|--:|---|---|---|
        | +800 ms | +509 ms to +1.09 s | 880 ms | 1.68 s | `two.py sum12 ← two.py foo` | 2 expressions |  |
        | 0 ns | −96.5 ms to +96.5 ms | 320 ms | 320 ms | `two.py sum12 ← two.py bar` | 2 expressions | cannot tell |

        intervals: 98 % for all 7 sums together; so few recordings do not tell how much runs of one program differ: genba assumes 5.0 % (standard deviation)

        to tell a change of 5 % in two.py sum12 ← two.py foo: at least 10 recordings of each (genba diff A1 A2 … -- B1 B2 …)

        **warning:** a warning
    "#]].assert_eq(&markdown::markdown(&all, Some(2), &["a warning".to_string()]));
    let again = comparison(&before, &after, None);
    let page = |all: &Comparison| json::json(all, None, &[]).expect("JSON");
    assert_eq!(page(&all), page(&again), "the same recordings give the same answer");
}

#[test]
fn a_narrow_screen_breaks_between_columns() {
    let (before, after) = (
        runs("before", &[two_callers(1, "/app", 1, (1, 10), (3, 1), "100")]),
        runs("after", &[two_callers(2, "/app", 1, (1, 20), (3, 1), "200")]),
    );
    let all = comparison(&before, &after, None);
    expect![[r#"
        B takes 66.7 % longer than A: +800 ms ± 348 ms of CPU a run, most of it in
          two.py:3 sum12 ← two.py:6 foo
        A: before-1.genba · CPython 3.13.0 · 1.20 s wall · 1.20 s CPU ·
          1 process, 1 thread · sampled every 1.6 ms
           ticks 750 = sampled 750 + dropped 0 + refused 0 · CPU covered 100.0 %
        B: after-1.genba · CPython 3.13.0 · 2.00 s wall · 2.00 s CPU ·
          1 process, 1 thread · sampled every 1.6 ms
           ticks 1,250 = sampled 1,250 + dropped 0 + refused 0 · CPU covered 100.0 %

        4 rows: 1 certain, 3 cannot tell
            B − A             interval        A        B
          +800 ms   +521 ms to +1.08 s   800 ms   1.60 s   two.py:3 sum12 ← two.py:6 foo
              sum(range(m))
          3 more rows, the largest 0 ns ± 35.5 ms in two.py:3 sum12 ← two.py:9 bar
              (--limit 0 shows them all)

        functions, each with all its expressions
            B − A             interval        A        B
          +800 ms   +509 ms to +1.09 s   880 ms   1.68 s   two.py sum12 ← two.py foo
              2 expressions
          1 more row, the largest 0 ns ± 96.5 ms in two.py sum12 ← two.py bar (--limit 0
              shows them all)

        intervals: 98 % for all 7 sums together; so few recordings do not tell how much
          runs of one program differ: genba assumes 5.0 % (standard deviation)
        to tell a change of 5 % in two.py sum12 ← two.py foo: at least 10 recordings of
          each (genba diff A1 A2 … -- B1 B2 …)
    "#]]
    .assert_eq(&text::text(&all, Some(1), Some(80), Paint::Plain));
}

#[test]
fn of_what_has_too_few_samples_a_screen_counts_the_rows() {
    let side = |hot: u32| {
        format!(
            "{PROCESS}hot@app.py:1[4-9] x{hot}\nrare@app.py:2[4-9] x5\nother@app.py:3[4-9] x4\nmore@app.py:4[4-9] x3\nlast@app.py:5[4-9] x2\n"
        )
    };
    let (before, after) = (runs("before", &[side(500)]), runs("after", &[side(900)]));
    let all = comparison(&before, &after, None);
    let rows = |page: &str| {
        page.lines()
            .filter(|line| line.starts_with("  ") && line.contains("app.py:"))
            .map(|line| line.trim_start().to_owned())
            .collect::<Vec<_>>()
            .join("\n")
    };
    expect![[r#"
          +640 ms   +422 ms to +858 ms   800 ms   1.44 s   app.py:1 hot
          4 more rows, the largest 0 ns ± 18.3 ms in app.py:5 last (--limit 0 shows them all)"#]]
    .assert_eq(&rows(&text::text(&all, Some(20), None, Paint::default())));
    assert_eq!(rows(&text::text(&all, None, None, Paint::default())).lines().count(), 5);
    let (before, after) = (runs("before", &[side(1)]), runs("after", &[side(2)]));
    let none = comparison(&before, &after, None);
    expect![[r#"
        +1.60 ms   −9.00 ms to +12.2 ms   1.60 ms   3.20 ms   app.py:1 hot   too few samples
        0 ns   −13.1 ms to +13.1 ms   8.00 ms   8.00 ms   app.py:2 rare   too few samples
        0 ns   −12.6 ms to +12.6 ms   6.40 ms   6.40 ms   app.py:3 other   too few samples
        2 more rows, the largest 0 ns ± 11.1 ms in app.py:5 last (--limit 0 shows them all)"#]]
    .assert_eq(&rows(&text::text(&none, Some(20), None, Paint::default())));
}
