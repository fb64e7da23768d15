//! What `genba gc try` found, as text and as JSON. docs/json.md lists the keys.
//! Owns: its layout and words. Keeps: a difference that the runs do not show is called none, with what it may be at most.

use serde::Serialize;

use crate::rules::difference::paired::{HOLD, Paired};
use crate::rules::difference::tried::{Run, Side, Tried};
use crate::words::figures::{count, counted, duration, percent, size};
use crate::words::paint::Paint;
use crate::words::wrap::wrapped_on_screen;

#[must_use]
pub fn text(tried: &Tried, width: Option<usize>, paint: Paint) -> String {
    let pairs = counted(tried.pairs.len() as u64, "pair", "pairs");
    let hold = format!("{:.0}", HOLD * 100.0);
    let mut lines = vec![
        format!("{}: {pairs} of runs, one as it is and one with it", tried.calls().join(" and ")),
        measure("wall", &tried.wall),
        measure("CPU", &tried.cpu),
        format!("Both intervals hold in {hold} of 100 comparisons. CPU is the program's, without genba's."),
    ];
    let table = table(tried, paint);
    lines.extend(notes(tried));
    let mut page = String::new();
    for (position, line) in lines.iter().enumerate() {
        if position == 4 {
            page += &table;
        }
        for line in wrapped_on_screen(line, width) {
            page += &format!("{line}\n");
        }
    }
    if lines.len() == 4 {
        page += &table;
    }
    page
}

/// `wall  812 ms → 640 ms a run: 172 ms less, 21.2 % (150 ms less to 194 ms less)`
fn measure(name: &str, paired: &Paired) -> String {
    let (before, after) = (duration(whole(paired.before)), duration(whole(paired.after)));
    let interval = match changed(paired.low) == changed(paired.high) {
        true => changed(paired.low),
        false => format!("{} to {}", changed(paired.low), changed(paired.high)),
    };
    let change = match paired.is_shown() {
        true => {
            format!("{}, {} %", changed(paired.change()), percent(whole(paired.change().abs()), whole(paired.before)))
        }
        false => "no difference shown".to_owned(),
    };
    format!("{name:<5} {before} → {after} a run: {change} ({interval})")
}

fn changed(change_ns: f64) -> String {
    let word = if change_ns < 0.0 { "less" } else { "more" };
    format!("{} {word}", duration(whole(change_ns.abs())))
}

/// Of a mean that is not negative.
fn whole(value: f64) -> u64 {
    value.round() as u64
}

fn table(tried: &Tried, paint: Paint) -> String {
    let heading = format!("{:<26}{:>12}  {:>12}", "collections of a run", "as it is", "with it");
    let row = |name: &str, value: &dyn Fn(&Side) -> String| {
        format!("{name:<26}{:>12}  {:>12}\n", value(&tried.before), value(&tried.after))
    };
    let mut page = format!("\n{}\n", paint.quiet(&heading));
    page += &row("recorded", &|side| few(side.collections));
    page += &row("before recording began", &|side| few(side.not_recorded));
    page += &row("in all", &|side| duration(whole(side.pause_ns)));
    page += &row("longest of all runs", &|side| duration(side.longest_ns));
    page += &row("collected", &|side| few(side.collected));
    if tried.before.resident_bytes > 0.0 && tried.after.resident_bytes > 0.0 {
        page += &row("resident, at most", &|side| size(whole(side.resident_bytes)));
    }
    page
}

/// A mean of counts: with a decimal where it is small and no whole number.
fn few(mean: f64) -> String {
    match mean < 100.0 && mean.fract() != 0.0 {
        true => format!("{mean:.1}"),
        false => count(whole(mean)),
    }
}

fn notes(tried: &Tried) -> Vec<String> {
    let mut lines = Vec::new();
    let others = tried.runs_at_other_threshold();
    if others > 0 {
        let runs = counted(others, "run", "runs");
        lines.push(format!(
            "\nnote: in {runs} with it collections began at another threshold: the program sets one itself, and that counts from then on"
        ));
    }
    if tried.freeze && !tried.has_forked() {
        lines.push("\nnote: no process was forked, so nothing was frozen".to_owned());
    }
    let less = |paired: &Paired| paired.is_shown() && paired.change() < 0.0;
    let more = |paired: &Paired| paired.is_shown() && paired.change() > 0.0;
    if (less(&tried.cpu) || less(&tried.wall)) && !more(&tried.cpu) && !more(&tried.wall) && others == 0 {
        lines.push(format!("\nnext: {} where the program begins", tried.calls().join(", and ")));
    }
    lines
}

#[derive(Serialize)]
struct Page {
    version: u32,
    threshold: Vec<u32>,
    freeze: bool,
    pairs: usize,
    wall_ns: Measure,
    cpu_ns: Measure,
    before: Vec<Row>,
    after: Vec<Row>,
}

#[derive(Serialize)]
struct Measure {
    before: u64,
    after: u64,
    change_low: i64,
    change_high: i64,
    is_shown: bool,
}

#[derive(Serialize)]
struct Row {
    wall_ns: u64,
    cpu_ns: u64,
    collections: u64,
    collections_not_recorded: u64,
    pause_ns: u64,
    longest_ns: u64,
    collected: u64,
    resident_max_bytes: u64,
    at_other_threshold: u64,
    processes: u64,
}

impl Measure {
    fn of(paired: &Paired) -> Measure {
        Measure {
            before: whole(paired.before),
            after: whole(paired.after),
            change_low: paired.low.round() as i64,
            change_high: paired.high.round() as i64,
            is_shown: paired.is_shown(),
        }
    }
}

impl Row {
    fn of(run: &Run) -> Row {
        Row {
            wall_ns: run.wall_ns,
            cpu_ns: run.cpu_ns,
            collections: run.collections.collections,
            collections_not_recorded: run.not_recorded,
            pause_ns: run.collections.pause_ns,
            longest_ns: run.collections.longest_ns,
            collected: run.collections.collected,
            resident_max_bytes: run.resident_bytes,
            at_other_threshold: run.at_other_threshold,
            processes: run.processes,
        }
    }
}

/// # Errors
/// None that is known of: text and numbers only.
pub fn json(tried: &Tried) -> serde_json::Result<String> {
    let page = Page {
        version: 1,
        threshold: tried.threshold.clone(),
        freeze: tried.freeze,
        pairs: tried.pairs.len(),
        wall_ns: Measure::of(&tried.wall),
        cpu_ns: Measure::of(&tried.cpu),
        before: tried.pairs.iter().map(|(before, _)| Row::of(before)).collect(),
        after: tried.pairs.iter().map(|(_, after)| Row::of(after)).collect(),
    };
    genba_text::json::pretty(&page)
}

#[cfg(test)]
mod tests {
    use super::{json, text};
    use crate::rules::collections::Sum;
    use crate::rules::difference::tried::{Run, Tried};
    use crate::words::paint::Paint;

    fn run(wall_ms: u64, cpu_ms: u64, collections: u64) -> Run {
        Run {
            wall_ns: wall_ms * 1_000_000,
            cpu_ns: cpu_ms * 1_000_000,
            resident_bytes: 20 << 20,
            collections: Sum { collections, pause_ns: collections * 500_000, longest_ns: 700_000, ..Sum::default() },
            not_recorded: 2,
            processes: 1,
            at_other_threshold: 0,
        }
    }

    fn tried(freeze: bool, pairs: &[(Run, Run)]) -> Tried {
        Tried::of(vec![10_000, 10], freeze, pairs.to_vec()).unwrap()
    }

    #[test]
    fn a_difference_is_said_with_its_interval() {
        let pairs = [
            (run(800, 700, 100), run(600, 700, 3)),
            (run(810, 702, 101), run(600, 697, 3)),
            (run(820, 690, 102), run(620, 699, 4)),
        ];
        expect_test::expect![[r"
            gc.set_threshold(10000, 10): 3 pairs of runs, one as it is and one with it
            wall  810 ms → 607 ms a run: 203 ms less, 25.1 % (224 ms less to 183 ms less)
            CPU   697 ms → 699 ms a run: no difference shown (24.1 ms less to 26.8 ms more)
            Both intervals hold in 95 of 100 comparisons. CPU is the program's, without genba's.

            collections of a run          as it is       with it
            recorded                           101           3.3
            before recording began               2             2
            in all                         50.5 ms       1.67 ms
            longest of all runs             700 µs        700 µs
            collected                            0             0
            resident, at most              21.0 MB       21.0 MB

            next: gc.set_threshold(10000, 10) where the program begins
        "]]
        .assert_eq(&text(&tried(false, &pairs), None, Paint::Plain));
    }

    #[test]
    fn what_did_not_happen_is_said() {
        let other = Run { at_other_threshold: 5, ..run(800, 700, 3) };
        let pairs = [(run(800, 700, 3), other); 3];
        let page = text(&tried(true, &pairs), None, Paint::Plain);
        assert!(page.contains("in 3 runs with it collections began at another threshold"), "{page}");
        assert!(page.contains("no process was forked, so nothing was frozen"), "{page}");
        assert!(page.contains("wall  800 ms → 800 ms a run: no difference shown"), "{page}");
        assert!(!page.contains("next:"), "{page}");
    }

    #[test]
    fn scripts_get_each_run() {
        let page = json(&tried(false, &[(run(8, 7, 100), run(6, 7, 3)); 3])).unwrap();
        let page: serde_json::Value = serde_json::from_str(&page).unwrap();
        assert_eq!(page["wall_ns"]["change_high"], -2_000_000);
        assert_eq!(page["wall_ns"]["is_shown"], true);
        assert_eq!(page["before"][2]["collections"], 100);
    }
}
