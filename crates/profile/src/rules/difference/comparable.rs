//! Whether two sides can be compared at all, how else they differ, and what the intervals allow for.
//! Owns: the obstacles, in words. Keeps: with an obstacle nothing is certain.

mod children;
mod covered;
mod ending;
pub mod of_any_row;
mod queue;
mod work_before;

use std::collections::{BTreeMap, BTreeSet};

use crate::rules::difference::comparable::children::{Children, children_apart};
use crate::rules::difference::comparable::covered::Covered;
pub use crate::rules::difference::comparable::ending::End;
use crate::rules::difference::comparable::ending::{end_of, ends_in_words};
use crate::rules::difference::comparable::queue::queue;
pub use crate::rules::difference::comparable::queue::waited_for_cpu;
use crate::rules::difference::comparable::work_before::{Apart, WorkBefore};
use crate::rules::difference::files::{base_name, script};
use crate::rules::pace::Pace;
use crate::rules::reading::Reading;
use crate::rules::waits::pauses::{recorded_in_ns, recorded_ns};
use crate::rules::weight::Weight;
use crate::tables::profile::Profile;
use crate::tables::window::Window;
use crate::words::figures::{counted, duration};

/// Of the CPU of the side that has more, in thousandths: one side's samples may miss so much more than the other's. What passed before genba
/// was loaded is as long in a short run as in a long one.
const UNCOVERED_PER_MILLE_MAX: u64 = 50;
/// And the difference is then more than such a part of the change itself.
const UNCOVERED_OF_CHANGE_MAX: u64 = 4;
/// From such a difference on, in thousandths, it is told before the rows.
const UNCOVERED_TOLD_PER_MILLE_MIN: u64 = 20;
/// Of its time: one side waited so much more for a CPU, on the average of its runs. The intervals allow for a machine that is busier on one side, which
/// the laboratory tries up to 40 %. More than half is no machine that is somewhat busy: of two CPUs, four other threads or more took their
/// turns all the time beside one side, and none beside the other.
const WAITED_APART_MAX: f64 = 0.5;
/// From such a part on it is told before the rows.
const WAITED_TOLD_MIN: f64 = 0.05;
/// Programs that did not end by themselves: recorded so much longer on one side, in thousandths of the shorter. The intervals allow for less.
const LONGER_PER_MILLE_MAX: u64 = 50;
/// From such a part on it is told before the rows.
const LONGER_TOLD_MIN: f64 = 0.02;
/// Of a time with an end, a recording may lack so much, in thousandths: several recordings of each side tell a difference from about there on.
const LACKING_PER_MILLE_MAX: u64 = 10;

/// Samples that are counted and not weighed: so much farther apart on one side, in thousandths of the shorter interval.
const PACE_PER_MILLE_MAX: u64 = 20;
/// And of the ticks so many more without a sample on one side: the next sample brings their time, and is one sample.
const LOST_PER_MILLE_MAX: u64 = 20;

const RECORD_IN_TURN: &str = "record both sides in turn";

/// One recording, its samples' moments included.
#[derive(Debug)]
pub struct Run {
    /// Of its file.
    pub name: String,
    pub reading: Reading,
}

/// What one recording tells about itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// Of its file: no two recordings of a comparison have one name.
    name: String,
    /// The name of the file that its command line names.
    script: Option<String>,
    pub pythons: BTreeSet<String>,
    pub processes: usize,
    children: Children,
    pub threads: usize,
    /// Of its program's CPU, in the time of it that is compared, in thousandths. None: it used none, or the file does not tell.
    pub covered_per_mille: Option<u64>,
    /// None: the file does not tell.
    pub end: Option<End>,
    /// The part of its time, or of the time of it that is compared, in which it was ready to run and had no CPU. None: the kernel did not tell.
    pub waited_for_cpu: Option<f64>,
    work_before: WorkBefore,
    /// Of the time that is compared, without pauses.
    recorded_ns: u64,
    /// What these took of it.
    paused_ns: u64,
    cpu_ns: u64,
    uncovered_ns: u64,
    has_window: bool,
    /// It is compared up to its end: all of it, or a time of which it has a part alone.
    is_to_end: bool,
    interval_ns: Option<u64>,
    /// Of the ticks, in thousandths.
    lost_per_mille: u64,
    blocks_lost: u64,
}

impl Facts {
    #[must_use]
    pub fn of(run: &Run) -> Facts {
        let reading = &run.reading;
        let profile: &Profile = &reading.profile;
        let covered = Covered::of(reading);
        let window = reading.window();
        let length_ns = window.map_or(profile.span_ns, |window| window.held_ns(0, profile.span_ns));
        let recorded_ns = window.map_or_else(|| recorded_ns(profile), |window| recorded_in_ns(profile, window));
        Facts {
            name: run.name.clone(),
            script: script(profile).map(|path| base_name(&path).to_owned()),
            pythons: profile.processes.iter().filter_map(|process| process.python.clone()).collect(),
            processes: profile.processes.len(),
            children: Children::of(profile),
            threads: profile.threads.iter().filter(|thread| !thread.is_of_many()).count(),
            covered_per_mille: covered.per_mille().filter(|_| !profile.is_imported()),
            end: end_of(profile),
            waited_for_cpu: waited_for_cpu(reading),
            work_before: WorkBefore::of(reading, queue(reading).before_ns),
            recorded_ns,
            paused_ns: length_ns.saturating_sub(recorded_ns),
            cpu_ns: covered.cpu_ns(),
            uncovered_ns: covered.uncovered_ns,
            has_window: window.is_some(),
            is_to_end: window.is_none_or(|window| !has_all_of(profile.span_ns, window)),
            interval_ns: Pace::within(profile, window).mostly_ns,
            lost_per_mille: covered.lost_per_mille,
            blocks_lost: profile.blocks_lost,
        }
    }

    /// Of the time that is compared, with pauses.
    const fn length_ns(&self) -> u64 {
        self.recorded_ns.saturating_add(self.paused_ns)
    }
}

/// Whether a recording of that length went on to the end of the time. One without an end is as long as its recording.
fn has_all_of(span_ns: u64, window: Window) -> bool {
    let Some(end_ns) = window.end_ns else { return false };
    let length_ns = end_ns.saturating_sub(window.start_ns);
    let lacking_ns = length_ns.saturating_sub(window.held_ns(0, span_ns));
    lacking_ns.saturating_mul(1_000) <= length_ns.saturating_mul(LACKING_PER_MILLE_MAX)
}

/// Obstacles to a comparison: each of them alone makes all differences uncertain.
#[must_use]
pub fn obstacles(before: &[Facts], after: &[Facts], weight: Weight) -> Vec<String> {
    let mut found = Vec::from_iter(damaged(before, after));
    let (ends_before, ends_after) = (ends(before), ends(after));
    let has_ends = !ends_before.is_empty() && !ends_after.is_empty();
    if are_to_end(before, after) && has_ends && !are_of_one_kind(&ends_before, &ends_after) {
        let (a, b) = (ends_in_words(&ends_before), ends_in_words(&ends_after));
        found.push(format!("A {a}, B {b}: they did not do the same work"));
    }
    if went_on(before, after) {
        let [a, b] = [before, after].map(|side| recorded_on_average_ns(side) as u64);
        if a.abs_diff(b).saturating_mul(1_000) > a.min(b).saturating_mul(LONGER_PER_MILLE_MAX) {
            found.push(format!(
                "A was recorded for {}, B for {}, {}: {}",
                duration(a),
                duration(b),
                of_open_programs(before, after),
                open_advice(before, after)
            ));
        }
    }
    let children = |side: &[Facts]| side.iter().map(|facts| facts.children).collect::<Vec<_>>();
    found.extend(children_apart(&children(before), &children(after)));
    found.extend(times_apart(before, after));
    found.extend(pauses_apart(before, after));
    if let Some(sides) = covers(before, after, weight) {
        let [sampled_before, sampled_after] = sides.map(|side| side.cpu_ns.saturating_sub(side.uncovered_ns));
        let [a, b] = sides.map(|side| side.uncovered_ns);
        let change = sampled_before.abs_diff(sampled_after);
        if are_apart(sides, UNCOVERED_PER_MILLE_MAX) && a.abs_diff(b).saturating_mul(UNCOVERED_OF_CHANGE_MAX) > change {
            found.push(format!("{}: what is in no sample is in no row", in_no_sample(sides)));
        }
    }
    if let (Some(a), Some(b)) = (waited_on_average(before), waited_on_average(after))
        && (a - b).abs() > WAITED_APART_MAX
        && !has_more_to_run(if a > b { [after, before] } else { [before, after] })
    {
        let advice = if are_of_one(before, after) { "record again on an idle machine" } else { RECORD_IN_TURN };
        found.push(format!(
            "runs of A waited for a CPU {:.0} % of their time, those of B {:.0} %: other programs used the machine; {advice}",
            a * 100.0,
            b * 100.0
        ));
    }
    if weight == Weight::Samples {
        let slowest = |side: &[Facts]| side.iter().filter_map(|facts| facts.interval_ns).max();
        if let (Some(a), Some(b)) = (slowest(before), slowest(after))
            && a.abs_diff(b).saturating_mul(1_000) > a.min(b).saturating_mul(PACE_PER_MILLE_MAX)
        {
            found.push(format!(
                "A has a sample every {}, B every {}: a sample of the one is not as long as one of the other",
                duration(a),
                duration(b)
            ));
        }
        let most = |side: &[Facts]| side.iter().map(|facts| facts.lost_per_mille).max().unwrap_or(0);
        let (a, b) = (most(before), most(after));
        if a.abs_diff(b) > LOST_PER_MILLE_MAX {
            found.push(format!(
                "{}.{} % of A's ticks gave no sample, {}.{} % of B's: fewer samples are no less work",
                a / 10,
                a % 10,
                b / 10,
                b % 10
            ));
        }
    }
    found
}

/// A lost block took samples along, and the names that stacks of others need: each row may have too little, and some too much.
fn damaged(before: &[Facts], after: &[Facts]) -> Option<String> {
    let lost: BTreeMap<&str, u64> = before.iter().chain(after).map(|facts| (&*facts.name, facts.blocks_lost)).collect();
    let told: Vec<String> = lost
        .iter()
        .filter(|(_, blocks)| **blocks > 0)
        .map(|(name, blocks)| format!("{name} lost at least {}", counted(*blocks, "block", "blocks")))
        .collect();
    (!told.is_empty()).then(|| format!("{}: copy the file again, or record again", told.join(", ")))
}

fn are_to_end(before: &[Facts], after: &[Facts]) -> bool {
    before.iter().chain(after).all(|facts| facts.is_to_end)
}

/// Each side has some, and all could be those of equal work.
fn are_of_one_kind(before: &BTreeSet<End>, after: &BTreeSet<End>) -> bool {
    let kinds: BTreeSet<u8> = before.iter().chain(after).map(|end| end.kind()).collect();
    !before.is_empty() && !after.is_empty() && kinds.len() == 1
}

/// No recording of either side is as long as its program's work: the program went on, or had begun before.
fn went_on(before: &[Facts], after: &[Facts]) -> bool {
    let (ends_before, ends_after) = (ends(before), ends(after));
    let is_open = ends_before.iter().any(|end| end.is_open());
    are_to_end(before, after) && are_of_one_kind(&ends_before, &ends_after) && is_open
}

fn are_attached(before: &[Facts], after: &[Facts]) -> bool {
    before.iter().chain(after).any(|facts| facts.end == Some(End::Attached))
}

/// Where `went_on` holds.
fn of_open_programs(before: &[Facts], after: &[Facts]) -> &'static str {
    if are_attached(before, after) {
        "up to the ends of programs that had begun before"
    } else {
        "of programs that did not end by themselves"
    }
}

fn open_advice(before: &[Facts], after: &[Facts]) -> &'static str {
    if are_attached(before, after) { "record both with genba run" } else { "record both with the same --duration" }
}

fn recorded_on_average_ns(side: &[Facts]) -> f64 {
    side.iter().map(|facts| facts.recorded_ns as f64).sum::<f64>() / side.len().max(1) as f64
}

/// By which part of the middle of both sides one was recorded longer, on the average of its runs. Each row of it may have more for that alone.
#[must_use]
pub fn longer_part(before: &[Facts], after: &[Facts]) -> f64 {
    let (a, b) = (recorded_on_average_ns(before), recorded_on_average_ns(after));
    let middle_ns = f64::midpoint(a, b);
    if went_on(before, after) && middle_ns > 0.0 { (a - b).abs() / middle_ns } else { 0.0 }
}

/// A time that some recordings have whole, where another one ended within it.
fn times_apart(before: &[Facts], after: &[Facts]) -> Option<String> {
    let all = || before.iter().chain(after);
    // Some files of other profilers do not tell how long the program ran.
    let lengths_ns = || all().map(Facts::length_ns).filter(|length_ns| *length_ns > 0);
    let (shortest, longest) = (lengths_ns().min()?, lengths_ns().max()?);
    let is_short = (longest - shortest).saturating_mul(1_000) > longest.saturating_mul(LACKING_PER_MILLE_MAX);
    let is_told = is_short && all().any(|facts| facts.is_to_end) && all().any(|facts| !facts.is_to_end);
    is_told.then(|| {
        format!(
            "of the time that is compared one recording has {}, another one {}: name a time that all of them have",
            duration(shortest),
            duration(longest)
        )
    })
}

/// A time that is as long in all recordings, but for what their programs took out of it: one of them more than another.
fn pauses_apart(before: &[Facts], after: &[Facts]) -> Option<String> {
    let all = || before.iter().chain(after);
    let paused_ns = || all().map(|facts| facts.paused_ns);
    let (least, most) = (paused_ns().min()?, paused_ns().max()?);
    let longest = all().map(|facts| facts.recorded_ns).max()?;
    let is_apart = (most - least).saturating_mul(1_000) > longest.saturating_mul(LACKING_PER_MILLE_MAX);
    let is_told = is_apart && !are_to_end(before, after);
    is_told.then(|| match (before, after) {
        ([a], [b]) if are_of_one(before, after) => {
            let [a, b] = [a, b].map(|facts| duration(facts.paused_ns));
            format!("A was paused for {a}, B for {b}: name times without pauses")
        }
        _ => format!(
            "in the time that is compared one recording was paused for {}, another one for {}: name a time without pauses",
            duration(least),
            duration(most)
        ),
    })
}

/// Of one run, on the average of a side.
#[derive(Clone, Copy)]
struct Cover {
    cpu_ns: u64,
    uncovered_ns: u64,
}

impl Cover {
    fn of(side: &[Facts]) -> Cover {
        let mean = |of: fn(&Facts) -> u64| side.iter().map(of).fold(0, u64::saturating_add) / side.len().max(1) as u64;
        Cover { cpu_ns: mean(|facts| facts.cpu_ns), uncovered_ns: mean(|facts| facts.uncovered_ns) }
    }
}

/// None: CPU time is not compared, or a file does not tell it.
fn covers(before: &[Facts], after: &[Facts], weight: Weight) -> Option<[Cover; 2]> {
    let is_told = before.iter().chain(after).all(|facts| facts.covered_per_mille.is_some());
    (weight == Weight::Cpu && is_told).then(|| [Cover::of(before), Cover::of(after)])
}

/// By more than that part, in thousandths, of the CPU of the side that has more.
fn are_apart([a, b]: [Cover; 2], per_mille: u64) -> bool {
    let apart = a.uncovered_ns.abs_diff(b.uncovered_ns);
    apart.saturating_mul(1_000) > a.cpu_ns.max(b.cpu_ns).saturating_mul(per_mille)
}

fn in_no_sample([a, b]: [Cover; 2]) -> String {
    format!(
        "{} of A's {} of CPU are in no sample, {} of B's {}",
        duration(a.uncovered_ns),
        duration(a.cpu_ns),
        duration(b.uncovered_ns),
        duration(b.cpu_ns)
    )
}

/// Two times of one recording, which nobody can record in turn.
fn are_of_one(before: &[Facts], after: &[Facts]) -> bool {
    matches!((before, after), ([one], [other]) if one.name == other.name && one.has_window && other.has_window)
}

/// None: a file does not tell.
fn waited_on_average(side: &[Facts]) -> Option<f64> {
    let told: Option<Vec<f64>> = side.iter().map(|facts| facts.waited_for_cpu).collect();
    let told = told.filter(|told| !told.is_empty())?;
    Some(told.iter().sum::<f64>() / told.len() as f64)
}

/// The side that waited more has many more threads or processes: that these wait for each other may be the change itself, and it is told.
fn has_more_to_run([idle, busy]: [&[Facts]; 2]) -> bool {
    let has_more = |of: fn(&Facts) -> usize| {
        let most = |side: &[Facts]| side.iter().map(of).max().unwrap_or(0);
        most(busy) > most(idle).saturating_mul(3) / 2
    };
    has_more(|facts| facts.processes) || has_more(|facts| facts.threads)
}

/// What the intervals allow for, where it is enough to be told before the rows.
#[must_use]
pub fn allowed_for(before: &[Facts], after: &[Facts], weight: Weight) -> Vec<String> {
    let mut found = Vec::new();
    if let (Some(a), Some(b)) = (waited_most(before), waited_most(after))
        && a.max(b) >= WAITED_TOLD_MIN
    {
        let (side, more, other, less) = if a > b { ("A", a, "B", b) } else { ("B", b, "A", a) };
        let (more_percent, less_percent) = (more * 100.0, less * 100.0);
        let is_uneven = more - less >= WAITED_TOLD_MIN;
        let advice = match (is_uneven, are_of_one(before, after)) {
            (true, false) => format!(": the intervals are wider for that; {RECORD_IN_TURN}"),
            (true, true) => ": the intervals are wider for that".to_owned(),
            (false, _) => String::new(),
        };
        found.push(format!(
            "a run of {side} waited for a CPU {more_percent:.0} % of its time, of {other} {less_percent:.0} %{advice}"
        ));
    }
    found.extend(held_up_before(before, after));
    if let Some(sides) = covers(before, after, weight).filter(|sides| are_apart(*sides, UNCOVERED_TOLD_PER_MILLE_MIN)) {
        found.push(format!("{}: each interval is wider by the difference", in_no_sample(sides)));
    }
    if longer_part(before, after) >= LONGER_TOLD_MIN {
        let average = |side: &[Facts]| duration(recorded_on_average_ns(side) as u64);
        found.push(format!(
            "A was recorded for {}, B for {}, {}: each interval is wider for that",
            average(before),
            average(after),
            of_open_programs(before, after)
        ));
    }
    found
}

/// By more than that part of the time itself.
fn held_up_before(before: &[Facts], after: &[Facts]) -> Vec<String> {
    let longest_ns = before.iter().chain(after).map(|facts| facts.recorded_ns).max().unwrap_or(0) as f64;
    let of = |side: &[Facts]| side.iter().map(|facts| facts.work_before).collect::<Vec<_>>();
    let apart = Apart::of(&of(before), &of(after));
    apart.map(|apart| apart.told(longest_ns * WAITED_TOLD_MIN, RECORD_IN_TURN)).unwrap_or_default()
}

/// The part of its time that the run of a side waited for a CPU that waited most. None: no file tells.
#[must_use]
pub fn waited_most(side: &[Facts]) -> Option<f64> {
    side.iter().filter_map(|facts| facts.waited_for_cpu).reduce(f64::max)
}

/// Of the run of a side that has the smallest part of its CPU in samples. None: no file tells.
#[must_use]
pub fn covered_least_per_mille(side: &[Facts]) -> Option<u64> {
    side.iter().filter_map(|facts| facts.covered_per_mille).min()
}

#[must_use]
pub fn ends(side: &[Facts]) -> BTreeSet<End> {
    side.iter().filter_map(|facts| facts.end).collect()
}

/// How else the sides differ: it may be the change itself.
#[must_use]
pub fn unlike(before: &[Facts], after: &[Facts]) -> Vec<String> {
    let mut found = Vec::new();
    let words = |side: BTreeSet<String>| side.into_iter().collect::<Vec<_>>().join(" or ");
    let scripts = |side: &[Facts]| side.iter().filter_map(|facts| facts.script.clone()).collect::<BTreeSet<String>>();
    let (a, b) = (scripts(before), scripts(after));
    if a != b && !a.is_empty() && !b.is_empty() {
        found.push(format!("A ran {}, B ran {}", words(a), words(b)));
    }
    let (a, b) = (ends(before), ends(after));
    if a != b && !a.is_empty() && !b.is_empty() {
        found.push(format!("A {}, B {}", ends_in_words(&a), ends_in_words(&b)));
    }
    let pythons = |side: &[Facts]| side.iter().flat_map(|facts| facts.pythons.clone()).collect::<BTreeSet<String>>();
    let (a, b) = (pythons(before), pythons(after));
    if a != b && !a.is_empty() && !b.is_empty() {
        found.push(format!("CPython {} against {}", words(a), words(b)));
    }
    // One more or less from run to run is nothing to tell.
    let mut compare = |of: &dyn Fn(&Facts) -> Option<u64>, words: &dyn Fn(u64) -> String| {
        let most = |side: &[Facts]| side.iter().filter_map(of).max();
        if let (Some(a), Some(b)) = (most(before), most(after))
            && a.max(b) > a.min(b).saturating_mul(3) / 2
        {
            found.push(format!("{} against {}", words(a), words(b)));
        }
    };
    compare(&|facts| Some(facts.processes as u64), &|number| counted(number, "process", "processes"));
    compare(&|facts| Some(facts.threads as u64), &|number| counted(number, "thread", "threads"));
    compare(&|facts| facts.interval_ns, &|ns| format!("a sample every {}", duration(ns)));
    found
}

#[cfg(test)]
mod tests;
