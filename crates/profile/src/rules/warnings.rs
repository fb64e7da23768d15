//! What a reader should know before believing a share: few samples, losses, damage, processes without an end.
//! Owns: the sentences and their limits. Never: replaces a view; the view is shown as well.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::rules::pace::higher_rate;
use crate::rules::verdict::not_followed;
use crate::rules::waits::pauses;
use crate::rules::weight::{Totals, Weight};
use crate::tables::profile::{Clocks, Mark, MarkKind, Process, ProcessIndex, Profile, Thread};
use crate::tables::source_text::Lack;
use crate::words::figures::{count, counted, duration, percent};

/// Below this many samples the margin of a share is worth a word.
pub(crate) const FEW_SAMPLES: u64 = 200;
/// Normal quantile of a 95 % interval.
pub(crate) const QUANTILE_95: f64 = 1.96;

/// Sentences without an end mark, the most important first.
pub fn warnings(profile: &Profile, weight: Weight) -> Vec<String> {
    let mut warnings = profile.faults.clone();
    warnings.extend(not_sampled(profile));
    warnings.extend(not_followed::warning(&profile.not_followed));
    let samples = samples(profile, weight);
    let observations = observations(profile, weight);
    if samples == 0 {
        warnings.push(why_none(profile));
    } else if observations < FEW_SAMPLES as f64 && !profile.counts_calls() {
        warnings.push(few(samples, observations, higher_rate(profile)));
    }
    warnings.extend(without_end(profile));
    warnings.extend(stopped_early(profile));
    for process in profile.processes.iter().filter(|process| process.blocks_lost > 0) {
        let blocks = counted(process.blocks_lost, "block", "blocks");
        warnings.push(format!("{}: {blocks} lost, the samples in them are missing here", name(process)));
    }
    warnings.extend(stops(profile));
    warnings.extend(losses(profile));
    warnings.extend(coverage(profile).filter(|_| !profile.is_imported()));
    warnings.extend(masked(profile));
    warnings.extend(changed_sources(profile));
    for mark in &profile.marks {
        let process = &profile.processes[mark.process];
        match (mark.kind, &mark.text) {
            (MarkKind::Note, Some(text)) => warnings.push(format!("{}: {text}", name(process))),
            (MarkKind::Stopped, Some(text)) => {
                let after = duration(mark.at_ns.saturating_sub(process.start_ns));
                let run = process.run_ended_ns.map_or(String::new(), |ended_ns| {
                    format!(", which is {} before the run ended", duration(ended_ns.saturating_sub(mark.at_ns)))
                });
                warnings.push(format!("{}: recorded for its first {after} only{run}: {text}", name(process)));
            }
            _ => {}
        }
    }
    warnings
}

fn samples(profile: &Profile, weight: Weight) -> u64 {
    match weight {
        Weight::Cpu | Weight::Samples | Weight::Copied | Weight::Allocated => Totals::of_profile(profile).samples,
        Weight::Wall => profile.samples.iter().fold(0, |sum, group| sum.saturating_add(group.ticks)),
    }
}

/// The effective number of samples. Samples with unequal CPU tell less than as many equal ones: (Σ cpu)² / Σ cpu².
pub(crate) fn observations(profile: &Profile, weight: Weight) -> f64 {
    let samples = samples(profile, weight) as f64;
    let groups = profile.samples.iter();
    let (cpu_us, cpu_us2) =
        groups.fold((0.0, 0.0), |sum, group| (sum.0 + group.cpu_ns as f64 / 1e3, sum.1 + group.cpu_us2 as f64));
    match weight {
        Weight::Cpu if cpu_us2 > 0.0 => samples.min(cpu_us * cpu_us / cpu_us2),
        _ => samples,
    }
}

/// The margin is that of a share of one half, where it is largest: 1.96 × √(0.25 / n), in percentage points.
fn few(samples: u64, observations: f64, rate: Option<u64>) -> String {
    let margin = QUANTILE_95 * (0.25 / observations).sqrt() * 100.0;
    let samples = counted(samples, "sample", "samples");
    let rate = rate.map_or(String::new(), |rate| format!("--rate {rate} or "));
    format!("{samples}, shares are ± {margin:.0} points; try {rate}a longer run")
}

fn why_none(profile: &Profile) -> String {
    let sampled = profile.accounting().sampled;
    let recorded = || profile.processes.iter().filter(|process| process.refused.is_none());
    let longest_ns = recorded().map(|process| process.wall_ns).max();
    let why = match longest_ns {
        _ if profile.is_imported() => "the imported file holds none".to_string(),
        None if profile.processes.is_empty() => "no process left a block in this recording".to_string(),
        None => "genba recorded none of the processes".to_string(),
        Some(_) if sampled > 0 => "no thread was seen running; --weight wall shows what was waited for".to_string(),
        Some(_) if profile.accounting().ticks > 0 => {
            format!("none of {} ticks gave a stack", count(profile.accounting().ticks))
        }
        Some(longest_ns) if longest_ns > LAST_BLOCK_NS_MAX => {
            let ran = duration(longest_ns);
            format!(
                "no thread was sampled in {ran}: genba's own thread got no CPU, or the kernel showed none of the program's threads"
            )
        }
        Some(longest_ns) => {
            let ran = duration(longest_ns);
            let rate = higher_rate(profile).map_or(String::new(), |rate| format!("; try --rate {rate}"));
            format!("the program ended after {ran}, before the first tick{rate}")
        }
    };
    format!("no samples: {why}")
}

/// Files with samples whose text may be another one by now.
fn changed_sources(profile: &Profile) -> Option<String> {
    let changed = profile.sources.iter().filter(|source| source.lack == Some(Lack::WrittenLater));
    let paths: Vec<String> = changed.map(|source| source.path.clone()).collect();
    let named = first_few(&paths, ", ")?;
    let (are, their) = if paths.len() == 1 { ("was", "its") } else { ("were", "their") };
    Some(format!("{named} {are} changed after the program began: {their} text is not shown"))
}

/// A sentence for each reason: a build may start thousands of one old interpreter.
pub fn not_sampled(profile: &Profile) -> Vec<String> {
    let mut by_reason: Vec<(&str, Vec<String>)> = Vec::new();
    for process in profile.processes.iter() {
        let (Some(why), Some(pid)) = (process.refused.as_deref(), process.pid) else { continue };
        let who = match &process.executable {
            Some(executable) => format!("process {pid} ({executable})"),
            None => format!("process {pid}"),
        };
        match by_reason.iter_mut().find(|(reason, _)| *reason == why) {
            Some((_, all)) => all.push(who),
            None => by_reason.push((why, vec![who])),
        }
    }
    let words = |(why, all): (&str, Vec<String>)| {
        let was = if all.len() == 1 { "was" } else { "were" };
        Some(format!("{} {was} not recorded: {why}", first_few(&all, ", ")?))
    };
    by_reason.into_iter().filter_map(words).collect()
}

/// A block is written every quarter of a second: what is missing beyond twice that was not lost with the last one.
const LAST_BLOCK_NS_MAX: u64 = 500_000_000;
const NAMED_MAX: usize = 3;

/// The first names, and how many more there are. None: there is none.
fn first_few(names: &[String], between: &str) -> Option<String> {
    let (named, others) = names.split_at(names.len().min(NAMED_MAX));
    match (named, others.len()) {
        ([], _) => None,
        (named, 0) => Some(named.join(between)),
        (named, others) => Some(format!("{} and {} more", named.join(between), count(others as u64))),
    }
}

/// Processes without an end block, and how long before the end of the run their last block ends, if that is known and long.
fn missing_ends(profile: &Profile) -> impl Iterator<Item = (&Process, Option<u64>)> {
    profile.without_end().map(|process| {
        let last_ns = process.start_ns.saturating_add(process.wall_ns);
        let before_ns = process.run_ended_ns.map(|ended_ns| ended_ns.saturating_sub(last_ns));
        (process, before_ns.filter(|before_ns| *before_ns > LAST_BLOCK_NS_MAX))
    })
}

/// One sentence for all of them: a pool's workers are often ended by a signal.
fn without_end(profile: &Profile) -> Option<String> {
    let names: Vec<String> =
        missing_ends(profile).filter(|(_, before_ns)| before_ns.is_none()).map(|(process, _)| name(process)).collect();
    let who = first_few(&names, ", ")?;
    let has = if names.len() == 1 { "has" } else { "have" };
    Some(format!(
        "{who} {has} no end in this recording: killed, or still running; the last quarter of a second may be missing"
    ))
}

/// Processes whose last block is long before the end of the run: when they stop, and how much may be missing.
fn stopped_early(profile: &Profile) -> Option<String> {
    let stops: Vec<String> = missing_ends(profile)
        .filter_map(|(process, before_ns)| {
            let (after, before) = (duration(process.wall_ns), duration(before_ns?));
            Some(format!("{} after {after}, {before} before the run ended", name(process)))
        })
        .collect();
    let who = first_few(&stops, "; ")?;
    Some(format!(
        "the recording stops without an end in {who}: killed then, or nothing more could be written (a full disk, a \
         file-size limit), or no memory was left; what came later is missing"
    ))
}

/// `process 4127 (CPython 3.15.2)`
pub fn name(process: &Process) -> String {
    let pid = match process.pid {
        Some(pid) => format!("process {pid}"),
        None if process.imported.is_some() => "the imported process".to_string(),
        None => "a process whose first block was lost".to_string(),
    };
    let pid = match &process.recording {
        Some(recording) => format!("{pid} of {recording}"),
        None => pid,
    };
    match &process.python {
        Some(version) => format!("{pid} (CPython {version})"),
        None => pid,
    }
}

/// Somebody stopped a process; that is no loss.
fn stops(profile: &Profile) -> Option<String> {
    let halts = profile.marks.iter().filter(|mark| mark.kind == MarkKind::Halt);
    let mut stopped: BTreeMap<ProcessIndex, u64> = BTreeMap::new();
    for mark in halts {
        let sum = stopped.entry(mark.process).or_default();
        *sum = sum.saturating_add(mark.value.unwrap_or(0));
    }
    let longest = stopped.values().max().copied()?;
    let who = match stopped.len() {
        1 => "the process was".to_string(),
        many => format!("{many} processes were"),
    };
    let at_most = if stopped.len() > 1 { " at most" } else { "" };
    let longest = duration(longest);
    Some(format!(
        "{who} stopped for {longest}{at_most} (Ctrl-Z, a debugger, a frozen container): that time is in no sample"
    ))
}

const STOPPED: &str = "stopped";
/// The thread told its end: its CPU time is in other samples, or the warning about CPU time without samples has it.
const ENDED: &str = "thread ended";

/// More than 5 % of the ticks. The accounting counts fewer by their reasons, and nobody can do anything about them.
fn losses(profile: &Profile) -> Option<String> {
    let mut accounting = profile.accounting();
    for no_loss in [accounting.dropped.remove(STOPPED), accounting.refused.remove(ENDED)] {
        accounting.ticks -= no_loss.unwrap_or(0).min(accounting.ticks);
    }
    let lost = accounting.lost();
    if u128::from(lost) * 20 <= u128::from(accounting.ticks) {
        return None;
    }
    let (reason, ticks) = accounting.dropped.iter().chain(&accounting.refused).max_by_key(|(_, ticks)| **ticks)?;
    let (all, most) = (percent(lost, accounting.ticks), percent(*ticks, accounting.ticks));
    let why = what_happened(reason).map_or(String::new(), |why| format!(": {why}"));
    Some(format!("{all} % of the ticks gave no sample, most of them for the reason `{reason}` ({most} %){why}"))
}

/// What the reason means, whether shares still hold, and what helps. A recording does not say what ran at such a tick, so a warning
/// cannot promise that shares are fair. None: a reason that says it all.
fn what_happened(reason: &str) -> Option<&'static str> {
    match reason {
        "late" => Some(
            "genba's thread got no CPU in time; a thread's next sample counts the CPU time that passed; fewer are lost on a \
             quieter machine or at a lower --rate",
        ),
        "moved" => Some(
            "the stack changed while genba read it; a thread's next sample counts the CPU time that passed; shares of short \
             calls may be too small; genba trace counts calls",
        ),
        "no buffer" => Some(
            "every buffer was in use; a thread's next sample counts the CPU time that passed; fewer are lost at a lower --rate",
        ),
        _ => None,
    }
}

/// Threads that block the signal that asks them, with the CPU that is in no sample of theirs: more than 1 % of the program's.
pub(crate) fn masked(profile: &Profile) -> Option<String> {
    let all_ns = profile.clocks().cpu_ns;
    let marks = profile.marks.iter().filter(|mark| mark.kind == MarkKind::Masked);
    let mut threads: Vec<(&Thread, u64)> = marks.filter_map(|mark| masked_thread(profile, mark)).collect();
    threads.retain(|(_, unseen_ns)| u128::from(*unseen_ns) * 100 > u128::from(all_ns));
    threads.sort_by_key(|(_, unseen_ns)| Reverse(*unseen_ns));
    let names: Vec<String> =
        threads.iter().map(|(thread, unseen_ns)| format!("{} ({})", thread.in_words(), duration(*unseen_ns))).collect();
    let unseen = duration(threads.iter().fold(0, |sum, (_, unseen_ns)| sum.saturating_add(*unseen_ns)));
    let (who, block, their) = match &threads[..] {
        [(only, _)] => (only.in_words(), "blocks", "its"),
        _ => (first_few(&names, ", ")?, "block", "their"),
    };
    Some(format!("{who} {block} signals, SIGURG among them: {unseen} of {their} CPU have no stacks"))
}

/// The thread that a mark names, the last of this number that had begun, and its CPU that is in no sample.
fn masked_thread<'p>(profile: &'p Profile, mark: &Mark) -> Option<(&'p Thread, u64)> {
    let of_mark = |thread: &&Thread| {
        thread.process == mark.process
            && thread.tid.map(u64::from) == mark.value
            && thread.start_ns.is_none_or(|start_ns| start_ns <= mark.at_ns)
    };
    let thread = profile.threads.iter().filter(of_mark).max_by_key(|thread| thread.start_ns)?;
    Some((thread, thread.cpu_not_sampled_ns?))
}

/// The CPU of a thread that ended without a sample.
fn never_sampled_ns(thread: &Thread) -> Option<u64> {
    let cpu_ns = thread.cpu_ns.filter(|cpu_ns| thread.ended && *cpu_ns > 0)?;
    (thread.cpu_not_sampled_ns? == cpu_ns).then_some(cpu_ns)
}

/// Under 99 % of the program's CPU since genba was loaded, or under 90 % of all of it: a start that takes a moment is nobody's worry.
fn coverage(profile: &Profile) -> Option<String> {
    let clocks = profile.clocks();
    let since_loaded_ns = clocks.cpu_not_sampled_ns.saturating_sub(clocks.cpu_before_ns);
    let since_loaded = Clocks { cpu_not_sampled_ns: since_loaded_ns, ..clocks };
    let per_mille = clocks.covered_per_mille()?;
    if since_loaded.covered_per_mille()? >= 990 && per_mille >= 900 {
        return None;
    }
    let seen = format!("{}.{} %", per_mille / 10, per_mille % 10);
    let missing = duration(clocks.cpu_not_sampled_ns);
    let mut warning = format!("samples cover {seen} of the program's CPU; {missing} are in no sample");
    if clocks.cpu_before_ns > 0 {
        warning += &format!(" ({} of it before genba was loaded)", duration(clocks.cpu_before_ns));
    }
    let unseen: Vec<u64> = profile.threads.iter().filter_map(never_sampled_ns).collect();
    let unseen_ns = unseen.iter().fold(0_u64, |sum, ns| sum.saturating_add(*ns));
    if unseen_ns.saturating_mul(2) > clocks.cpu_not_sampled_ns {
        let threads = counted(unseen.len() as u64, "thread that ended", "threads that ended");
        let rate = higher_rate(profile).map_or(String::new(), |rate| format!("; --rate {rate} meets more of them"));
        warning += &format!(", most of it of {threads} before a first sample{rate}");
    }
    if let Some(not_recorded_ns) = clocks.much_not_recorded() {
        let killed = profile
            .processes
            .iter()
            .filter(|process| process.clocks.cpu_not_recorded_ns > 0 && process.ended.is_none());
        let killed = match killed.count() {
            0 => "processes that ended".to_string(),
            killed => format!("{} killed", counted(killed as u64, "process that was", "processes that were")),
        };
        warning +=
            &format!("; {} of {killed} came after the last block and was not recorded", duration(not_recorded_ns));
    }
    let paused_ns = pauses::of_all_processes_ns(profile);
    if paused_ns > 0 {
        warning += &format!("; the program paused the sampling for {}", duration(paused_ns));
    }
    Some(warning)
}
