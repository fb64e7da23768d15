//! The report for scripts: every key, with what it holds.

use crate::notation;
use expect_test::expect;
use genba_profile::build::{Additions, profile};
use genba_profile::reading::Reading;
use genba_profile::report::{Options, json, report};
use genba_profile::warnings::warnings;

#[test]
fn as_json() {
    let recording = notation::recording(
        "
        process 7 3.13.0 executable=/usr/bin/python3.13 cwd=/app
        source /app/app.py
        |x = 表[i:]
        dropped late 1
        unsampled 2ms
        rss 0ms 1000
        rss 16ms 3000
        <module>@app.py:1[4-11] > memmove[libc.so.6] x20
        ",
    );
    let reading = Reading::of(profile(&recording, &Additions::default()));
    let report = report(&reading, &Options::default());
    let warnings = warnings(&reading, report.choice.weight);
    expect![[r#"
        {
          "version": 1,
          "weight": "cpu",
          "weight_why": null,
          "wall_ns": 32000000,
          "cpu_ns": 34000000,
          "interval_ns": 1600000,
          "interval_mostly_ns": 1600000,
          "budget_per_mille": null,
          "accounting": {
            "ticks": 21,
            "sampled": 20,
            "dropped": {
              "late": 1
            },
            "refused": {}
          },
          "not_followed": [],
          "verdict": {
            "name": "too short to judge",
            "words": "32.0 ms wall, 20 samples",
            "details": [
              "give it more to do, or the same in a loop: a verdict needs 100 ms"
            ],
            "weight": "cpu",
            "whole_ns": 32000000,
            "figures": {
              "wall_ns": 32000000,
              "samples": 20
            },
            "places": [],
            "advice": [
              {
                "kind": "run_longer",
                "share": null,
                "file": null,
                "line": null,
                "function": null,
                "name": null
              }
            ],
            "waited_for_work": null,
            "blocks": null,
            "allocations": [],
            "lines": [
              [
                {
                  "text": "32.0 ms wall, 20 samples"
                }
              ],
              [
                {
                  "text": "give it more to do, or the same in a loop: a verdict needs 100 ms"
                }
              ]
            ]
          },
          "filters": null,
          "processes": [
            {
              "pid": 7,
              "recording": null,
              "python": "3.13.0",
              "executable": "/usr/bin/python3.13",
              "argv": [],
              "refused": null,
              "imported": null,
              "ended": "exit",
              "tags": [],
              "wall_ns": 32000000,
              "cpu_ns": 34000000,
              "cpu_sampled_ns": 32000000,
              "cpu_not_sampled_ns": 2000000,
              "cpu_not_recorded_ns": 0,
              "cpu_genba_ns": 0,
              "threads": 1,
              "accounting": {
                "ticks": 21,
                "sampled": 20,
                "dropped": {
                  "late": 1
                },
                "refused": {}
              },
              "rss_max_bytes": 3000,
              "rss_mean_bytes": 2000
            }
          ],
          "rows": [
            {
              "file": "/app/app.py",
              "line": 1,
              "end_line": 1,
              "function": "<module>",
              "expression": "表[i:]",
              "column": 4,
              "end_column": 9,
              "byte_column": null,
              "byte_end_column": null,
              "pid": null,
              "tid": null,
              "thread": null,
              "phase": null,
              "samples": 20,
              "cpu_ns": 32000000,
              "wall_ns": 32000000,
              "share": 1.0,
              "total_samples": 20,
              "total_cpu_ns": 32000000,
              "total_wall_ns": 32000000,
              "total_share": 1.0,
              "chain": [
                "memmove"
              ],
              "chain_share": 1.0,
              "split": [],
              "callers": []
            }
          ],
          "folded": {
            "rows": 0,
            "share": 0.0
          },
          "rss_max_bytes": 3000,
          "rss_mean_bytes": 2000,
          "warnings": [
            "20 samples, shares are ± 22 points; try --rate 10000 or a longer run"
          ]
        }
    "#]]
    .assert_eq(&json::json(&reading, &report, &warnings).unwrap());
}
