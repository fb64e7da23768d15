//! What a reader should know before believing a share: few samples, losses, damage, processes without an end.
//! Owns: the sentences and their limits. Never: stands in the way of a view; the view is shown as well.

use crate::figures::{count, counted, duration, percent};
use crate::profile::{MarkKind, Process, Profile};
use crate::weight::{Totals, Weight};

/// Below this many samples the margin of a share is worth a word.
const FEW_SAMPLES: u64 = 200;
/// Normal quantile of a 95 % interval.
const QUANTILE_95: f64 = 1.96;

/// Sentences without an end mark, the most important first.
pub fn warnings(profile: &Profile, weight: Weight) -> Vec<String> {
    let mut warnings = profile.faults.clone();
    warnings.extend(profile.processes.iter().filter_map(not_sampled));
    let samples = observations(profile, weight);
    if samples == 0 {
        warnings.push(why_none(profile));
    } else if samples < FEW_SAMPLES {
        warnings.push(few(samples));
    }
    warnings.extend(without_end(profile));
    for process in profile.processes.iter().filter(|process| process.blocks_lost > 0) {
        let blocks = counted(process.blocks_lost, "block", "blocks");
        warnings.push(format!("{}: {blocks} lost, the samples in them are missing here", name(process)));
    }
    warnings.extend(losses(profile));
    warnings.extend(coverage(profile));
    for mark in &profile.marks {
        let process = &profile.processes[mark.process];
        match (mark.kind, &mark.text) {
            (MarkKind::Note, Some(text)) => warnings.push(format!("{}: {text}", name(process))),
            (MarkKind::Stopped, Some(text)) => {
                let after = duration(mark.at_ns.saturating_sub(process.start_ns));
                warnings.push(format!("{}: recorded for its first {after} only: {text}", name(process)));
            }
            _ => {}
        }
    }
    warnings
}

/// How many looks the shares rest on.
fn observations(profile: &Profile, weight: Weight) -> u64 {
    match weight {
        Weight::Cpu | Weight::Samples => Totals::of_profile(profile).samples,
        Weight::Wall => profile.samples.iter().fold(0, |sum, group| sum.saturating_add(group.ticks)),
    }
}

/// The margin is that of a share of one half, where it is largest: 1.96 × √(0.25 / n), in percentage points.
fn few(samples: u64) -> String {
    let margin = QUANTILE_95 * (0.25 / samples as f64).sqrt() * 100.0;
    let samples = counted(samples, "sample", "samples");
    format!("{samples}, shares are ± {margin:.0} points; try --rate 10000 or a longer run")
}

fn why_none(profile: &Profile) -> String {
    let sampled = profile.accounting().sampled;
    let recorded = || profile.processes.iter().filter(|process| process.refused.is_none());
    let longest_ns = recorded().map(|process| process.wall_ns).max();
    let why = match longest_ns {
        None if profile.processes.is_empty() => "no process left a block in this recording".to_string(),
        None => "genba refused every process".to_string(),
        Some(_) if sampled > 0 => "no thread was seen running; --weight wall shows what was waited for".to_string(),
        Some(_) if profile.accounting().ticks > 0 => {
            format!("none of {} ticks gave a stack", count(profile.accounting().ticks))
        }
        Some(longest_ns) => {
            let ran = duration(longest_ns);
            format!("the program ended after {ran}, before the first tick; try --rate 10000")
        }
    };
    format!("no samples: {why}")
}

fn not_sampled(process: &Process) -> Option<String> {
    let why = process.refused.as_deref()?;
    let pid = process.pid?;
    Some(match &process.executable {
        Some(executable) => format!("process {pid} ({executable}) was not recorded: {why}"),
        None => format!("process {pid} was not recorded: {why}"),
    })
}

/// One sentence for all of them: a pool's workers are often ended by a signal.
fn without_end(profile: &Profile) -> Option<String> {
    const NAMED_MAX: usize = 3;
    let missing = |process: &&Process| process.refused.is_none() && process.ended.is_none();
    let names: Vec<String> = profile.processes.iter().filter(missing).map(name).collect();
    let (named, others) = names.split_at(names.len().min(NAMED_MAX));
    let who = match (named, others.len()) {
        ([], _) => return None,
        ([one], _) => format!("{one} has no end"),
        (named, 0) => format!("{} have no end", named.join(", ")),
        (named, others) => format!("{} and {} more have no end", named.join(", "), count(others as u64)),
    };
    Some(format!("{who} in this recording: killed, or still running; the last quarter of a second may be missing"))
}

/// `process 4127 (CPython 3.15.2)`
pub fn name(process: &Process) -> String {
    let pid = match process.pid {
        Some(pid) => format!("process {pid}"),
        None => "a process whose first block was lost".to_string(),
    };
    match &process.python {
        Some(version) => format!("{pid} (CPython {version})"),
        None => pid,
    }
}

/// More than 1 % of the ticks.
fn losses(profile: &Profile) -> Option<String> {
    let accounting = profile.accounting();
    let lost = accounting.lost();
    if u128::from(lost) * 100 <= u128::from(accounting.ticks) {
        return None;
    }
    let (reason, ticks) = accounting.dropped.iter().chain(&accounting.refused).max_by_key(|(_, ticks)| **ticks)?;
    let (all, most) = (percent(lost, accounting.ticks), percent(*ticks, accounting.ticks));
    Some(format!("{all} % of the ticks gave no sample, most of them for the reason `{reason}` ({most} %)"))
}

/// Under 99 % of the program's CPU.
fn coverage(profile: &Profile) -> Option<String> {
    let clocks = profile.clocks();
    let per_mille = clocks.covered_per_mille().filter(|per_mille| *per_mille < 990)?;
    let seen = format!("{}.{} %", per_mille / 10, per_mille % 10);
    let missing = duration(clocks.cpu_not_sampled_ns);
    let mut warning = format!("samples cover {seen} of the program's CPU; {missing} passed unseen");
    if clocks.cpu_before_ns > 0 {
        warning += &format!(" ({} of it before genba was loaded)", duration(clocks.cpu_before_ns));
    }
    Some(warning)
}
