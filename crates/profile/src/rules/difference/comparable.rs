//! Whether two sides can be compared at all, and how else they differ.
//! Owns: the obstacles, in words. Keeps: with an obstacle nothing is certain.

use std::collections::BTreeSet;

use crate::rules::pace::Pace;
use crate::rules::reading::Reading;
use crate::rules::waits::pauses::recorded_ns;
use crate::rules::weight::Weight;
use crate::tables::profile::Profile;
use crate::words::figures::{counted, duration};

/// Of the CPU of the side that has more, in thousandths: one side's samples may miss so much more than the other's. What passed before genba
/// was loaded is as long in a short run as in a long one.
const UNCOVERED_PER_MILLE_MAX: u64 = 50;
/// And the difference is then more than such a part of the change itself.
const UNCOVERED_OF_CHANGE_MAX: u64 = 4;
/// Programs that did not end by themselves: recorded so much longer on one side, in thousandths of the shorter.
const LONGER_PER_MILLE_MAX: u64 = 50;

/// Samples that are counted and not weighed: so much farther apart on one side, in thousandths of the shorter interval.
const PACE_PER_MILLE_MAX: u64 = 20;
/// And of the ticks so many more without a sample on one side: the next sample brings their time, and is one sample.
const LOST_PER_MILLE_MAX: u64 = 20;

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
    pub pythons: BTreeSet<String>,
    pub processes: usize,
    pub threads: usize,
    /// Of its program's CPU, in thousandths. None: it used none, or the file does not tell.
    pub covered_per_mille: Option<u64>,
    /// None: the file does not tell.
    pub end: Option<End>,
    /// The part of its time that it was ready to run and had no CPU. None: the kernel did not tell.
    pub waited_for_cpu: Option<f64>,
    recorded_ns: u64,
    cpu_ns: u64,
    uncovered_ns: u64,
    has_window: bool,
    interval_ns: Option<u64>,
    /// Of the ticks, in thousandths.
    lost_per_mille: u64,
}

/// How a recording ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    ExitCode(i32),
    /// By itself, and nobody knows its exit code.
    Exited,
    Signal(i32),
    /// The program went on.
    Recorded,
    /// The program itself ended its recording: what it recorded is a piece of work.
    Part,
    /// No process wrote its end.
    Cut,
}

impl End {
    /// Ends of one kind can be those of equal work: exit codes tell too little about that.
    const fn kind(self) -> u8 {
        match self {
            End::ExitCode(_) | End::Exited => 0,
            End::Signal(_) => 1,
            End::Recorded => 2,
            End::Cut => 3,
            End::Part => 4,
        }
    }

    #[must_use]
    pub fn words(self) -> String {
        match self {
            End::ExitCode(code) => format!("ended with exit code {code}"),
            End::Exited => "ended by itself".to_owned(),
            End::Signal(signal) => format!("was ended by signal {signal}"),
            End::Part => "recorded a part of itself".to_owned(),
            End::Recorded => "went on when its recording ended".to_owned(),
            End::Cut => "was killed, or still runs".to_owned(),
        }
    }
}

impl Facts {
    #[must_use]
    pub fn of(run: &Run) -> Facts {
        let reading = &run.reading;
        let profile: &Profile = &reading.profile;
        let clocks = profile.clocks();
        let uncovered_ns = uncovered_ns(profile);
        Facts {
            pythons: profile.processes.iter().filter_map(|process| process.python.clone()).collect(),
            processes: profile.processes.len(),
            threads: profile.threads.iter().filter(|thread| !thread.is_of_many()).count(),
            covered_per_mille: clocks.covered_per_mille().filter(|_| !profile.is_imported()),
            end: end_of(profile),
            waited_for_cpu: told_wait_for_cpu(profile),
            recorded_ns: recorded_ns(profile),
            cpu_ns: clocks.cpu_sampled_ns.saturating_add(uncovered_ns),
            uncovered_ns,
            has_window: reading.has_window(),
            interval_ns: Pace::of(profile).mostly_ns,
            lost_per_mille: lost_per_mille(profile),
        }
    }
}

/// Ticks that gave no sample, for whatever reason.
fn lost_per_mille(profile: &Profile) -> u64 {
    let accounting = profile.accounting();
    accounting.lost().saturating_mul(1_000) / accounting.ticks.max(1)
}

/// CPU that is in no sample, of the whole run.
#[must_use]
pub fn uncovered_ns(profile: &Profile) -> u64 {
    let clocks = profile.clocks();
    clocks.cpu_not_sampled_ns.saturating_add(clocks.cpu_not_recorded_ns)
}

/// Of the process that was started first.
fn end_of(profile: &Profile) -> Option<End> {
    let first = profile.processes.iter().next()?;
    if first.imported.is_some() {
        return None;
    }
    match first.ended.as_deref() {
        Some("duration" | "detached") => return Some(End::Recorded),
        Some("stop") => return Some(End::Part),
        Some("exit" | "last thread") | None => {}
        // The disk was full, or another reason of a newer genba.
        Some(_) => return Some(End::Cut),
    }
    let Some(recorder) = &profile.recorder else {
        // A recording that the program began itself has no recorder.
        return Some(if first.ended.is_some() { End::ExitCode(0) } else { End::Cut });
    };
    match (recorder.exit_code, recorder.exit_signal) {
        (_, Some(signal)) => Some(End::Signal(signal)),
        (Some(code), None) => Some(End::ExitCode(code)),
        (None, None) => Some(End::Exited),
    }
}

/// The part of its time that a run was ready and had no CPU, by the kernel's count.
pub fn waited_for_cpu(profile: &Profile) -> f64 {
    told_wait_for_cpu(profile).unwrap_or(0.0)
}

fn told_wait_for_cpu(profile: &Profile) -> Option<f64> {
    let threads = profile.threads.iter().filter_map(|thread| Some((thread.cpu_queue_ns?, thread.cpu_ns?)));
    let sum = threads.map(|(queue_ns, cpu_ns)| (queue_ns as f64, cpu_ns as f64));
    let (queue_ns, cpu_ns) = sum.reduce(|sum, one| (sum.0 + one.0, sum.1 + one.1))?;
    Some(if queue_ns > 0.0 { queue_ns / (queue_ns + cpu_ns) } else { 0.0 })
}

/// Obstacles to a comparison: each of them alone makes all differences uncertain.
#[must_use]
pub fn obstacles(before: &[Facts], after: &[Facts], weight: Weight) -> Vec<String> {
    let mut found = Vec::new();
    let (ends_before, ends_after) = (ends(before), ends(after));
    let kinds = |ends: &BTreeSet<End>| ends.iter().map(|end| end.kind()).collect::<BTreeSet<u8>>();
    let all = || before.iter().chain(after);
    let is_whole = !all().any(|facts| facts.has_window);
    let has_ends = !ends_before.is_empty() && !ends_after.is_empty();
    let is_of_one_kind = kinds(&ends_before) == kinds(&ends_after);
    if is_whole && has_ends && !is_of_one_kind {
        let (a, b) = (ends_in_words(&ends_before), ends_in_words(&ends_after));
        found.push(format!("A {a}, B {b}: they did not do the same work"));
    }
    let is_open = |end: &End| matches!(end, End::Recorded | End::Signal(_) | End::Cut);
    if is_whole && is_of_one_kind && ends_before.iter().any(is_open) {
        let longest = |side: &[Facts]| side.iter().map(|facts| facts.recorded_ns).max().unwrap_or(0);
        let (a, b) = (longest(before), longest(after));
        if a.abs_diff(b).saturating_mul(1_000) > a.min(b).saturating_mul(LONGER_PER_MILLE_MAX) {
            found.push(format!(
                "A was recorded for {}, B for {}, of programs that did not end by themselves: record both with the same --duration",
                duration(a),
                duration(b)
            ));
        }
    }
    if weight == Weight::Cpu && all().all(|facts| facts.covered_per_mille.is_some()) {
        let mean = |side: &[Facts], of: fn(&Facts) -> u64| {
            side.iter().map(of).fold(0, u64::saturating_add) / side.len().max(1) as u64
        };
        let [(a, of_a), (b, of_b)] =
            [before, after].map(|side| (mean(side, |facts| facts.uncovered_ns), mean(side, |facts| facts.cpu_ns)));
        let apart = a.abs_diff(b);
        let change = of_a.saturating_sub(a).abs_diff(of_b.saturating_sub(b));
        if apart.saturating_mul(1_000) > of_a.max(of_b).saturating_mul(UNCOVERED_PER_MILLE_MAX)
            && apart.saturating_mul(UNCOVERED_OF_CHANGE_MAX) > change
        {
            found.push(format!(
                "{} of A's {} of CPU are in no sample, {} of B's {}: what is in no sample is in no row",
                duration(a),
                duration(of_a),
                duration(b),
                duration(of_b)
            ));
        }
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

fn ends(side: &[Facts]) -> BTreeSet<End> {
    side.iter().filter_map(|facts| facts.end).collect()
}

fn ends_in_words(ends: &BTreeSet<End>) -> String {
    ends.iter().map(|end| end.words()).collect::<Vec<_>>().join(" or ")
}

/// How else the sides differ: it may be the change itself.
#[must_use]
pub fn unlike(before: &[Facts], after: &[Facts]) -> Vec<String> {
    let mut found = Vec::new();
    let (a, b) = (ends(before), ends(after));
    if a != b && !a.is_empty() && !b.is_empty() {
        found.push(format!("A {}, B {}", ends_in_words(&a), ends_in_words(&b)));
    }
    let pythons = |side: &[Facts]| side.iter().flat_map(|facts| facts.pythons.clone()).collect::<BTreeSet<String>>();
    let (a, b) = (pythons(before), pythons(after));
    if a != b && !a.is_empty() && !b.is_empty() {
        let words = |side: BTreeSet<String>| side.into_iter().collect::<Vec<_>>().join(" or ");
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
mod tests {
    use super::*;
    use crate::tables::profile::{Process, Recorder};

    fn facts() -> Facts {
        Facts {
            pythons: BTreeSet::from(["3.13.0".to_owned()]),
            processes: 1,
            threads: 2,
            covered_per_mille: Some(995),
            end: Some(End::ExitCode(0)),
            waited_for_cpu: Some(0.0),
            recorded_ns: 5_000_000_000,
            cpu_ns: 4_000_000_000,
            uncovered_ns: 20_000_000,
            has_window: false,
            interval_ns: Some(1_000_000),
            lost_per_mille: 3,
        }
    }

    fn of(after: Facts) -> Vec<String> {
        obstacles(&[facts()], &[after], Weight::Cpu)
    }

    #[test]
    fn equal_sides_have_nothing_in_the_way() {
        assert_eq!(of(facts()), [] as [String; 0]);
        assert_eq!(unlike(&[facts()], &[facts(), facts()]), [] as [String; 0]);
        assert_eq!(of(Facts { end: None, covered_per_mille: None, ..facts() }), [] as [String; 0]);
        assert_eq!(of(Facts { uncovered_ns: 219_000_000, ..facts() }), [] as [String; 0]);
        // Five times as fast, with the same part of it in no sample.
        let slow = Facts { cpu_ns: 10_000_000_000, uncovered_ns: 800_000_000, ..facts() };
        let fast = Facts { cpu_ns: 2_000_000_000, uncovered_ns: 160_000_000, ..facts() };
        assert_eq!(obstacles(&[slow], &[fast], Weight::Cpu), [] as [String; 0]);
        // A test that fails before the change, and passes behind it.
        let failed = Facts { end: Some(End::ExitCode(1)), ..facts() };
        assert_eq!(obstacles(std::slice::from_ref(&failed), &[facts()], Weight::Cpu), [] as [String; 0]);
        assert_eq!(unlike(&[failed], &[facts()]), ["A ended with exit code 1, B ended with exit code 0"]);
        // A short run, of which genba did not see the beginning, beside a long one.
        let short = Facts { cpu_ns: 25_000_000, covered_per_mille: Some(200), ..facts() };
        assert_eq!(of(short), [] as [String; 0]);
    }

    #[test]
    fn each_obstacle_has_its_words() {
        let killed = of(Facts { end: Some(End::Signal(9)), ..facts() });
        assert_eq!(killed, ["A ended with exit code 0, B was ended by signal 9: they did not do the same work"]);
        let uncovered = Facts { uncovered_ns: 221_000_000, ..facts() };
        assert_eq!(
            of(uncovered.clone()),
            ["20.0 ms of A's 4.00 s of CPU are in no sample, 221 ms of B's 4.00 s: what is in no sample is in no row"]
        );
        assert_eq!(obstacles(&[facts()], &[uncovered], Weight::Wall), [] as [String; 0]);
        let slower = Facts { interval_ns: Some(5_000_000), ..facts() };
        assert_eq!(of(slower.clone()), [] as [String; 0]);
        assert_eq!(
            obstacles(&[facts()], &[slower], Weight::Samples),
            ["A has a sample every 1.00 ms, B every 5.00 ms: a sample of the one is not as long as one of the other"]
        );
        // On a busy machine many ticks come too late. Times hold: the next sample brings what passed.
        let late = Facts { lost_per_mille: 181, ..facts() };
        assert_eq!(of(late.clone()), [] as [String; 0]);
        assert_eq!(
            obstacles(&[facts()], &[late], Weight::Samples),
            ["0.3 % of A's ticks gave no sample, 18.1 % of B's: fewer samples are no less work"]
        );
        let hardly_late = Facts { lost_per_mille: 23, ..facts() };
        assert_eq!(obstacles(&[facts()], &[hardly_late], Weight::Samples), [] as [String; 0]);
    }

    #[test]
    fn programs_that_went_on_have_to_be_recorded_for_as_long() {
        let went_on = |recorded_ns| Facts { end: Some(End::Recorded), recorded_ns, ..facts() };
        let of = |a, b| obstacles(&[went_on(a)], &[went_on(b)], Weight::Cpu);
        assert_eq!(of(5_000_000_000, 5_200_000_000), [] as [String; 0]);
        assert_eq!(
            of(5_000_000_000, 10_000_000_000),
            [
                "A was recorded for 5.00 s, B for 10.0 s, of programs that did not end by themselves: record both with the same --duration"
            ]
        );
        let window = |recorded_ns| Facts { has_window: true, ..went_on(recorded_ns) };
        assert_eq!(obstacles(&[window(5_000_000_000)], &[window(10_000_000_000)], Weight::Cpu), [] as [String; 0]);
    }

    #[test]
    fn an_end_is_the_programs_or_its_recordings() {
        let end = |ended: Option<&str>, recorder: Option<(Option<i32>, Option<i32>)>| {
            let mut profile = Profile::default();
            profile.processes.push(Process { ended: ended.map(str::to_owned), ..Process::default() });
            profile.recorder = recorder.map(|(exit_code, exit_signal)| Recorder {
                argv: Vec::new(),
                exit_code,
                exit_signal,
                wall_ns: 1,
            });
            end_of(&profile)
        };
        let exited = Some((Some(3), None));
        assert_eq!(end(Some("exit"), exited), Some(End::ExitCode(3)));
        assert_eq!(end(None, Some((None, Some(9)))), Some(End::Signal(9)), "killed: no block tells its end");
        assert_eq!(end(Some("duration"), exited), Some(End::Recorded));
        assert_eq!(end(Some("detached"), Some((Some(0), None))), Some(End::Recorded), "genba attach");
        assert_eq!(end(Some("detached"), Some((None, None))), Some(End::Recorded), "genba attach, which knows no code");
        assert_eq!(end(Some("exit"), Some((None, None))), Some(End::Exited), "it ended while it was attached to");
        assert_eq!(end(Some("stop"), None), Some(End::Part), "genba.record()");
        assert_eq!(end(Some("stopped"), exited), Some(End::Cut));
        assert_eq!(end(None, None), Some(End::Cut));
    }

    #[test]
    fn a_part_that_became_faster_is_no_shorter_recording() {
        let part = |recorded_ns| Facts { end: Some(End::Part), recorded_ns, ..facts() };
        let found = obstacles(&[part(10_000_000_000)], &[part(5_000_000_000)], Weight::Cpu);
        assert_eq!(found, [] as [String; 0]);
    }

    #[test]
    fn one_thread_more_is_nothing_to_tell() {
        let with = |threads| Facts { threads, ..facts() };
        assert_eq!(unlike(&[with(8)], &[with(12)]), [] as [String; 0]);
        assert_eq!(unlike(&[with(8)], &[with(13)]), ["8 threads against 13 threads"]);
    }

    #[test]
    fn what_is_unlike_is_told_side_by_side() {
        let other = Facts { pythons: BTreeSet::from(["3.14.5".to_owned()]), processes: 4, ..facts() };
        assert_eq!(unlike(&[facts()], &[other]), ["CPython 3.13.0 against 3.14.5", "1 process against 4 processes"]);
    }
}
