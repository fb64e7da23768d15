//! Two times of one recording, compared.

use crate::compared::{run, told};
use expect_test::expect;
use genba_profile::difference_view::{comparison, text};
use genba_profile::filter::Filter;
use genba_profile::paint::Paint;
use genba_profile::weight::Weight;
use genba_profile::window::Window;

/// The kernel tells of the whole run how long it waited for a CPU. The samples tell in which time that was.
#[test]
fn each_time_has_its_own_wait_for_a_cpu() {
    // 400 samples of 1.6 ms with a CPU to themselves, then as many that took half as long again.
    let recording = "process 7 3.13.0 cwd=/app
        main@app.py:3 x400
        main@app.py:3 x400 wall=150
        turns 7 900 320ms
        ended 7 1280ms 0ms";
    let side = |name: &str, start_us: u64, end_us: u64| {
        let window = Window { start_ns: start_us * 1_000, end_ns: Some(end_us * 1_000) };
        vec![run(name, recording, &Filter { window: Some(window), ..Filter::default() })]
    };
    let (before, after) = (side("app.genba", 0, 640_800), side("app.genba", 640_800, 1_281_600));
    let all = comparison(&before, &after, Some(Weight::Wall));
    assert_eq!(told(&all), ["main +320 open"]);
    assert!(!all.difference.whole.certain, "{}", all.verdict());
    let page = text::text(&all, None, None, Paint::Plain);
    let told = page.lines().find(|line| line.contains("waited for a CPU"));
    expect!["a run of B waited for a CPU 33 % of its time, of A 0 %: the intervals are wider for that"]
        .assert_eq(told.unwrap_or_default());
}
