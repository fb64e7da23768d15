//! `--by test`: the samples of each test that pytest or unittest ran.

use crate::notation;
use genba_profile::build::{Additions, profile};
use genba_profile::paint::Paint;
use genba_profile::reading::Reading;
use genba_profile::report::{self, By, text};

const PYTEST: &str = "main@/v/lib/python3.13/site-packages/_pytest/config.py:160[4-9] > pytest_pyfunc_call@/v/lib/python3.13/site-packages/_pytest/python.py:157[13-40]";
const UNITTEST: &str = "main@/usr/lib/python3.13/unittest/main.py:100[4-9] > TestCase._callTestMethod@/usr/lib/python3.13/unittest/case.py:606[11-20]";

fn reading(stacks: &[String]) -> Reading {
    let recording = notation::recording(&format!("process 7 3.13.0\n{}\n", stacks.join("\n")));
    Reading::of(profile(&recording, &Additions::default()))
}

/// Each row's test, with its own samples.
fn rows(stacks: &[String]) -> Vec<(Option<String>, u64)> {
    let reading = reading(stacks);
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

#[test]
fn each_example_of_a_doctest_is_a_test() {
    const DOCTEST: &str = "DocTestRunner.run@/usr/lib/python3.13/doctest.py:1395[4-9]";
    let example = "<module>@<doctest shop.price[0]>:1[0-9] > price@shop.py:8[4-9]";
    let test = |name: &str, samples: u64| (Some(name.to_owned()), samples);
    assert_eq!(rows(&[format!("{DOCTEST} > {example} x30")]), [test("<module>", 30)]);
    let of_test = format!("{PYTEST} > test_texts^3@test_shop.py:4[4-9] > {DOCTEST} > {example} x30");
    assert_eq!(rows(&[of_test]), [test("test_texts", 30)]);
}

/// As the tests of pytest itself do.
#[test]
fn a_test_that_runs_tests_has_their_time() {
    let stack = format!("{PYTEST} > test_outer@test_a.py:4[4-9] > {PYTEST} > test_inner@test_b.py:2[4-9] x30");
    assert_eq!(rows(&[stack]), [(Some("test_outer".to_owned()), 30)]);
}

/// As those of `IsolatedAsyncioTestCase`, and of a plugin of pytest's that has the hook itself.
#[test]
fn a_test_may_be_a_coroutine() {
    let of_unittest = "main@/usr/lib/python3.13/unittest/main.py:100[4-9] > IsolatedAsyncioTestCase._callTestMethod@/usr/lib/python3.13/unittest/async_case.py:93[11-20]";
    let of_plugin = "main@/v/lib/python3.13/site-packages/_pytest/config.py:160[4-9] > pytest_pyfunc_call@/v/lib/python3.13/site-packages/anyio/pytest_plugin.py:296[13-40]";
    let run = "Runner.run@/usr/lib/python3.13/asyncio/runners.py:118[4-9]";
    let found = rows(&[
        format!("{of_unittest} > {run} > ShopTest.test_later^12@test_shop.py:13[4-9] x30"),
        format!("{of_plugin} > {run} > test_soon^3@test_soon.py:4[4-9] x20"),
    ]);
    let test = |name: &str, samples: u64| (Some(name.to_owned()), samples);
    assert_eq!(found, [test("ShopTest.test_later", 30), test("test_soon", 20)]);
}

/// A stack in a task of its own, or in the loop's wait, does not hold the test: helpers are no tests, and the time is not outside of them.
#[test]
fn what_a_coroutine_began_is_no_test() {
    let of_unittest = "main@/usr/lib/python3.13/unittest/main.py:100[4-9] > IsolatedAsyncioTestCase._callTestMethod@/usr/lib/python3.13/unittest/async_case.py:93[11-20]";
    let of_pytest = format!(
        "{PYTEST} > _synchronize_coroutine.<locals>.inner@/v/lib/python3.13/site-packages/pytest_asyncio/plugin.py:915[4-9]"
    );
    let of_decorator = format!("{PYTEST} > in_loop.<locals>.wrapper^7@helpers.py:9[4-9]");
    let run = "Runner.run@/usr/lib/python3.13/asyncio/runners.py:118[4-9] > BaseEventLoop.run_until_complete@/usr/lib/python3.13/asyncio/base_events.py:708[4-9]";
    let worker = "worker^5@shop.py:6[4-9] > test_data^9@shop.py:10[4-9]";
    let mut stacks = Vec::new();
    for caller in [of_unittest, of_pytest.as_str(), of_decorator.as_str()] {
        stacks.push(format!("{caller} > {run} > test_soon^3@test_shop.py:4[4-9] > prices@shop.py:9[4-9] x20"));
        stacks.push(format!("{caller} > {run} > {worker} x10"));
        stacks.push(format!("{caller} > {run} x1"));
    }
    // A test that runs a loop itself is on the stack of all tasks.
    stacks.push(format!("{PYTEST} > test_run^12@test_shop.py:13[4-9] > {run} > {worker} x15"));
    stacks.push(format!("{PYTEST} > made.<locals>.test_made^22@test_shop.py:23[4-9] > {run} > {worker} x5"));
    let row = |name: Option<&str>, samples: u64| (name.map(str::to_owned), samples);
    assert_eq!(
        rows(&stacks),
        [row(Some("test_soon"), 60), row(None, 33), row(Some("test_run"), 15), row(Some("made.<locals>.test_made"), 5)]
    );
    let reading = reading(&stacks);
    let report = report::report(&reading, &report::Options { by: By::Test, ..Default::default() });
    let page = text::text(&reading, &report, None, Paint::Plain);
    assert!(page.contains("  tasks and waits of async tests") && !page.contains("outside of tests"), "{page}");
}

/// Else all tests that have it would be one row, with its name.
#[test]
fn a_decorator_of_the_users_own_is_no_test() {
    let wrapper = "timed.<locals>.wrapper^7@helpers.py:9[4-9]";
    let found = rows(&[
        format!("{PYTEST} > {wrapper} > test_prices^3@test_shop.py:4[4-9] > test_data^20@helpers.py:21[4-9] x30"),
        format!("{PYTEST} > {wrapper} > test_totals^7@test_shop.py:8[4-9] x20"),
        // Whatever the project calls its tests: what such a one calls is not taken for it.
        format!("{PYTEST} > should_add^30@test_shop.py:31[4-9] > test_data^20@helpers.py:21[4-9] x10"),
    ]);
    let test = |name: &str, samples: u64| (Some(name.to_owned()), samples);
    assert_eq!(found, [test("test_prices", 30), test("test_totals", 20), test("should_add", 10)]);
}

/// A row alone would not say which fixture it is.
#[test]
fn the_view_of_fixtures_is_named_where_there_are_some() {
    let test = format!("{PYTEST} > test_prices^3@test_shop.py:4[4-9] > prices@shop.py:9[4-9] x60");
    let fixture =
        "call_fixture_func@/v/lib/python3.13/site-packages/_pytest/fixtures.py:950[4-9] > shop@conftest.py:4[4-9] x40";
    let prepared =
        "TestCase.run@/usr/lib/python3.13/unittest/case.py:650[4-9] > ShopTest.setUp^9@test_shop.py:10[4-9] x40";
    let collected = "collect@/v/lib/python3.13/site-packages/_pytest/main.py:7[4-9] x40";
    let last = |outside: &str, by: By| {
        let reading = reading(&[test.clone(), outside.to_owned()]);
        let report = report::report(&reading, &report::Options { by, ..Default::default() });
        let page = text::text(&reading, &report, None, Paint::Plain);
        page.lines().last().unwrap_or_default().to_owned()
    };
    let view = "outside of tests are fixtures and setUp, too: genba report --by function --sort total --focus 'call_fixture_func|setUp'";
    assert_eq!([last(fixture, By::Test), last(prepared, By::Test)], [view, view]);
    // A fixture of a plugin's.
    let of_plugin = "call_fixture_func@/v/lib/python3.13/site-packages/_pytest/fixtures.py:950[4-9] > loop@/v/lib/python3.13/site-packages/plugin.py:4[4-9] x40";
    assert_ne!(last(of_plugin, By::Test), view);
    assert_ne!(last(collected, By::Test), view);
    assert_ne!(last(fixture, By::Function), view);
}
