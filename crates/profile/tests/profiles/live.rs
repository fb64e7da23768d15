//! What one look at a recording has: rows in both clocks, the accounting, and the shares of GIL and garbage collector.

use crate::notation;
use expect_test::{Expect, expect};
use genba_profile::build::{Additions, profile};
use genba_profile::live::{Part, Rows, live};
use genba_profile::reading::Reading;
use genba_profile::report::By;
use genba_profile::tree::Order;
use genba_profile::weight::Weight;

const SHOP: &str = "
    process 7 3.13.0 cwd=/app
    main@app.py:9[0-6] > load@app.py:2[8-14] > memmove[libc.so.6] x6
    main@app.py:9[0-6] > load@app.py:3[4-12] x3
    main@app.py:9[0-6] > load@app.py:3[4-12] x1 gc
    thread 8 worker
    main@app.py:9[0-6] x2 gil
    wait@app.py:20[0-4] x5 rlock
    refused moved 2
    source /app/app.py
    |def load():
    |    a = b[1:2]
    |    dumps(a)
";

fn check(rows: Rows, weight: Weight, expected: Expect) {
    let reading = Reading::of(profile(&notation::recording(SHOP), &Additions::default()));
    let live = live(&reading, rows, weight);
    let lines: Vec<String> = live
        .rows
        .iter()
        .map(|row| {
            let indent = " ".repeat(row.depth);
            let (own, total) = (row.own.words(weight), row.total.words(weight));
            format!("{indent}{} | {} | {} | self {own} total {total}\n", row.name, row.source, row.below)
        })
        .collect();
    expected.assert_eq(&lines.concat());
    assert_eq!(live.law, "ticks 19 = sampled 17 + dropped 0 + refused 2 (moved 2) · CPU covered 100.0 %");
    // Of twelve samples of threads with work two waited for the GIL; one of ten ran in the collector.
    let sample_ns = 1_600_000;
    assert_eq!(live.gil, Part { part_ns: 2 * sample_ns, whole_ns: 12 * sample_ns });
    assert_eq!(live.gc, Part { part_ns: sample_ns, whole_ns: 10 * sample_ns });
}

#[test]
fn tables_and_the_tree() {
    check(
        Rows::Table(By::Expression),
        Weight::Cpu,
        expect![[r#"
        app.py:9 main | (columns 1 to 6) |  | self 0 ns total 16.0 ms
        app.py:2 load | b[1:2] | memmove (libc) 100 % | self 9.60 ms total 9.60 ms
        app.py:3 load | dumps(a) | in gc 25 % | self 6.40 ms total 6.40 ms
        app.py:20 wait | (columns 1 to 4) | in futex(2) on a threading.RLock 100 % | self 0 ns total 0 ns
    "#]],
    );
    check(
        Rows::Table(By::Line),
        Weight::Cpu,
        expect![[r#"
        app.py:9 main |  |  | self 0 ns total 16.0 ms
        app.py:2 load | a = b[1:2] | memmove (libc) 100 % | self 9.60 ms total 9.60 ms
        app.py:3 load | dumps(a) | in gc 25 % | self 6.40 ms total 6.40 ms
        app.py:20 wait |  | in futex(2) on a threading.RLock 100 % | self 0 ns total 0 ns
    "#]],
    );
    check(
        Rows::Table(By::Function),
        Weight::Wall,
        expect![[r#"
        app.py:1 main |  | waiting for GIL 100 % | self 3.20 ms total 19.2 ms
        app.py:1 load |  | memmove (libc) 60 % | self 16.0 ms total 16.0 ms
        app.py:1 wait |  | in futex(2) on a threading.RLock 100 % | self 8.00 ms total 8.00 ms
    "#]],
    );
    check(
        Rows::Table(By::Thread),
        Weight::Cpu,
        expect![[r#"
        thread 7 main of process 7 |  | memmove (libc) 60 % | self 16.0 ms total 16.0 ms
        thread 8 worker of process 7 |  | in futex(2) on a threading.RLock 71 % | self 0 ns total 0 ns
    "#]],
    );
    check(
        Rows::Tree(Order::Total),
        Weight::Cpu,
        expect![[r#"
        main (app.py:1) |  |  | self 0 ns total 16.0 ms
         load (app.py:1) |  |  | self 4.80 ms total 16.0 ms
          memmove [libc.so.6] |  |  | self 9.60 ms total 9.60 ms
          in gc |  |  | self 1.60 ms total 1.60 ms
    "#]],
    );
}
