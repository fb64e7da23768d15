//! `--by test`: the samples of each test that pytest or unittest ran.

use crate::notation;
use genba_profile::build::{Additions, profile};
use genba_profile::reading::Reading;
use genba_profile::report::{self, By};

const PYTEST: &str = "main@/v/lib/python3.13/site-packages/_pytest/config.py:160[4-9] > pytest_pyfunc_call@/v/lib/python3.13/site-packages/_pytest/python.py:157[13-40]";
const UNITTEST: &str = "main@/usr/lib/python3.13/unittest/main.py:100[4-9] > TestCase._callTestMethod@/usr/lib/python3.13/unittest/case.py:606[11-20]";

/// Each row's test, with its own samples.
fn rows(stacks: &[String]) -> Vec<(Option<String>, u64)> {
    let recording = notation::recording(&format!("process 7 3.13.0\n{}\n", stacks.join("\n")));
    let reading = Reading::of(profile(&recording, &Additions::default()));
    let report = report::report(&reading, &report::Options { by: By::Test, ..Default::default() });
    let name = |row: &report::Row| {
        let function = row.subject.function?;
        Some(reading.profile.functions[function].name.clone())
    };
    report.rows.iter().map(|row| (name(row), row.own.samples)).collect()
}

#[test]
fn a_sample_is_its_tests() {
    let found = rows(&[
        format!("{PYTEST} > test_prices^3@test_shop.py:4[4-9] > prices@shop.py:9[4-9] x60"),
        // A decorator's function stands between.
        format!("{PYTEST} > patched@/usr/lib/python3.13/mock.py:9[4-9] > test_totals^7@test_shop.py:8[4-9] x25"),
        format!("{UNITTEST} > ShopTest.test_sum^12@test_shop.py:13[4-9] > helper@test_shop.py:20[4-9] x10"),
        // What a fixture needs, and the collecting.
        "prices@shop.py:9[4-9] x5".to_owned(),
        "collect@/v/lib/python3.13/site-packages/_pytest/main.py:7[4-9] x3".to_owned(),
    ]);
    let test = |name: &str, samples: u64| (Some(name.to_owned()), samples);
    assert_eq!(found, [test("test_prices", 60), test("test_totals", 25), test("ShopTest.test_sum", 10), (None, 8)]);
}

/// As the tests of pytest itself do.
#[test]
fn a_test_that_runs_tests_has_their_time() {
    let stack = format!("{PYTEST} > test_outer@test_a.py:4[4-9] > {PYTEST} > test_inner@test_b.py:2[4-9] x30");
    assert_eq!(rows(&[stack]), [(Some("test_outer".to_owned()), 30)]);
}
