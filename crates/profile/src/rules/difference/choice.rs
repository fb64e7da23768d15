//! Which weight a comparison takes where nobody asked for one.
//! Owns: that wall time is compared where the program waited, and the words where CPU is compared and the wall time changed by itself.
//! Never: compares rows.

use crate::rules::difference::comparable::Run;
use crate::rules::difference::comparable::waited_for_cpu;
use crate::rules::waits::pauses::recorded_ns;
use crate::rules::weight::{Choice, Totals, Weight, tells};
use crate::words::figures::duration;

/// Of the longer side: from such a change of the wall time on it is told.
const WALL_CHANGE_MIN: f64 = 0.2;
/// Of the change of the wall time: with so much of it in time on a CPU or in wait for one, CPU explains it.
const EXPLAINED_MIN: f64 = 0.5;

/// The first run that does not tell that weight.
#[must_use]
pub fn without<'r>(before: &'r [Run], after: &'r [Run], weight: Weight) -> Option<&'r Run> {
    before.iter().chain(after).find(|run| !tells(&run.reading, weight))
}

/// Wall, where each run would choose it and it is the program's doing, or each run of one side: a fix may have removed the waits, or
/// brought them. Else the first that all runs tell.
pub(super) fn choice(before: &[Run], after: &[Run], asked: Option<Weight>) -> Choice {
    if let Some(weight) = asked {
        return Choice { weight, why: None };
    }
    let lacking = |weight: Weight| without(before, after, weight);
    let all_wait = |runs: &[Run]| runs.iter().all(|run| run.reading.choice.weight == Weight::Wall);
    let waits = |runs: &[Run]| all_wait(runs) && runs.iter().all(waited_by_itself);
    let wall = |whose: &str| Choice { weight: Weight::Wall, why: Some(format!("{whose} waited most of the time")) };
    match (lacking(Weight::Cpu), lacking(Weight::Wall)) {
        (None, _) if all_wait(before) && all_wait(after) => wall("the program"),
        (None, None) if waits(before) => wall("A"),
        (None, None) if waits(after) => wall("B"),
        (None, None) => Choice { weight: Weight::Cpu, why: wall_apart(before, after) },
        (None, _) => Choice { weight: Weight::Cpu, why: None },
        (Some(run), None) => Choice { weight: Weight::Wall, why: Some(format!("{} tells no CPU time", run.name)) },
        (Some(_), Some(run)) => Choice { weight: Weight::Samples, why: Some(format!("{} tells no clock", run.name)) },
    }
}

/// Not for lack of a CPU on a busy machine: that is no difference between programs.
fn waited_by_itself(run: &Run) -> bool {
    busy_ns(run) * 2.0 < recorded_ns(&run.reading.profile) as f64
}

/// On a CPU, or ready and in wait for one, of all threads.
fn busy_ns(run: &Run) -> f64 {
    let reading = &run.reading;
    let whole = reading.kept.as_ref().map_or_else(|| Totals::of_profile(&reading.profile), |kept| kept.whole);
    let waited = waited_for_cpu(reading).unwrap_or(0.0);
    whole.cpu_ns as f64 / (1.0 - waited).max(f64::EPSILON)
}

/// Where the wall time changed much, and no CPU explains it. Of whole recordings: a filter keeps a part of the CPU.
fn wall_apart(before: &[Run], after: &[Run]) -> Option<String> {
    let is_whole = |run: &Run| run.reading.kept.is_none() && !run.reading.is_imported();
    if !before.iter().chain(after).all(is_whole) {
        return None;
    }
    let mean = |runs: &[Run], of: fn(&Run) -> f64| runs.iter().map(of).sum::<f64>() / runs.len().max(1) as f64;
    let wall_ns = |run: &Run| recorded_ns(&run.reading.profile) as f64;
    let (from_ns, to_ns) = (mean(before, wall_ns), mean(after, wall_ns));
    let change_ns = to_ns - from_ns;
    let explained_ns = (mean(after, busy_ns) - mean(before, busy_ns)) * change_ns.signum();
    let is_apart =
        change_ns.abs() >= WALL_CHANGE_MIN * from_ns.max(to_ns) && explained_ns < EXPLAINED_MIN * change_ns.abs();
    let [from, to] = [from_ns, to_ns].map(|ns| duration(ns.round() as u64));
    is_apart.then(|| {
        format!("wall time went from {from} to {to} a run, and CPU does not explain it: --weight wall compares it")
    })
}
