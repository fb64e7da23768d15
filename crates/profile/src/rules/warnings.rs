//! What a reader should know before believing a share, and what helps: few samples, losses, damage, processes without an end.
//! Owns: the sentences and their limits. Never: replaces a view; the view is shown as well.

mod remedies;
pub mod warning;

use std::cmp::Reverse;

use crate::rules::pace::{Pace, higher_rate};
use crate::rules::verdict::not_followed;
use crate::rules::waits::pauses;
use crate::rules::waits::unasked::{self, SIGNAL_TAKEN};
use crate::rules::warnings::warning::Warning;
use crate::rules::weight::{QUANTILE_95, Totals, Weight};
use crate::tables::profile::{Accounting, Clocks, Mark, MarkKind, Process, Profile, Thread};
use crate::tables::source_text::Lack;
use crate::words::figures::{count, counted, duration, percent, setting};

/// Below this many samples the margin of a share is worth a word.
pub(crate) const FEW_SAMPLES: u64 = 200;

/// As sentences without an end mark.
pub fn warnings(profile: &Profile, weight: Weight) -> Vec<String> {
    each(profile, weight).iter().map(ToString::to_string).collect()
}

/// The same beside the verdict that the run was too short to judge: without what a longer run mends, which the verdict asks for, and without
/// ticks lost by chance, which the accounting counts.
pub fn beside_too_short(profile: &Profile, weight: Weight) -> Vec<String> {
    let lost = losses(profile).filter(|_| against_a_lasting_refusal(profile).is_none());
    let few = few(profile, samples(profile, weight), observations(profile, weight));
    let is_said = |warning: &Warning| {
        warning.remedy().contains("a longer run") || lost.as_ref() == Some(warning) || few == *warning
    };
    let others = each(profile, weight).into_iter().filter(|warning| !is_said(warning));
    others.map(|warning| warning.to_string()).collect()
}

/// The most important first.
pub fn each(profile: &Profile, weight: Weight) -> Vec<Warning> {
    let mut warnings: Vec<Warning> =
        profile.faults.iter().map(|fault| Warning::new(fault, remedies::of_fault(fault))).collect();
    warnings.extend(not_sampled(profile));
    warnings.extend(not_followed::warning(&profile.not_followed));
    let samples = samples(profile, weight);
    let observations = observations(profile, weight);
    // Where the file is damaged, that is why, and the warnings above say what helps.
    if samples == 0 && profile.blocks_lost == 0 {
        warnings.push(why_none(profile));
    } else if observations < FEW_SAMPLES as f64 && !profile.counts_calls() && !weight.is_in_bytes() {
        warnings.push(match profile.blocks_lost {
            0 => few(profile, samples, observations),
            _ => Warning::new(few_words(samples, observations), remedies::of_lost(&profile.faults)),
        });
    }
    warnings.extend(without_end(profile));
    warnings.extend(stopped_early(profile));
    warnings.extend(ended_workers(profile));
    for process in profile.processes.iter().filter(|process| process.blocks_lost > 0) {
        let blocks = counted(process.blocks_lost, "block", "blocks");
        let what = format!("{}: {blocks} lost, the samples in them are missing here", name(process));
        warnings.push(Warning::new(what, remedies::of_lost(&profile.faults)));
    }
    warnings.extend(losses(profile));
    warnings.extend(coverage(profile).filter(|_| !profile.is_imported()));
    warnings.extend(unequal(profile).filter(|_| weight == Weight::Samples));
    warnings.extend(masked(profile));
    warnings.extend(changed_sources(profile));
    warnings.extend(profile.marks.iter().filter_map(|mark| told(&profile.processes[mark.process], mark)));
    warnings
}

/// A count of samples weighs what ran at the shorter interval more.
fn unequal(profile: &Profile) -> Option<Warning> {
    let (shortest_ns, longest_ns) = Pace::of(profile).extremes_ns()?;
    (longest_ns >= shortest_ns.saturating_mul(2)).then(|| {
        let (shortest, longest) = (setting(shortest_ns), setting(longest_ns));
        let what =
            format!("samples are not equally long: the interval between ticks went from {shortest} to {longest}");
        Warning::new(what, "--weight cpu compares time")
    })
}

/// What the part of genba in the process had to say.
fn told(process: &Process, mark: &Mark) -> Option<Warning> {
    let text = mark.text.as_deref()?;
    match mark.kind {
        MarkKind::Note => Some(Warning::new(format!("{}: {text}", name(process)), remedies::of_note(text))),
        MarkKind::Stopped => {
            let after = duration(mark.at_ns.saturating_sub(process.start_ns));
            let run = process.run_ended_ns.map_or(String::new(), |ended_ns| {
                format!(", which is {} before the run ended", duration(ended_ns.saturating_sub(mark.at_ns)))
            });
            let what = format!("{}: recorded for its first {after} only{run}: {text}", name(process));
            Some(Warning::new(what, remedies::of_stop(text)))
        }
        _ => None,
    }
}

fn samples(profile: &Profile, weight: Weight) -> u64 {
    match weight {
        Weight::Cpu | Weight::Samples | Weight::Copied | Weight::Allocated => Totals::of_profile(profile).samples,
        // A short time within a wait has no tick of it.
        Weight::Wall => profile
            .samples
            .iter()
            .fold(0, |sum: u64, group| sum.saturating_add(group.ticks))
            .max(u64::from(profile.samples.iter().any(|group| group.wall_ns > 0))),
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
fn few(profile: &Profile, samples: u64, observations: f64) -> Warning {
    let words = few_words(samples, observations);
    if let Some(remedy) = against_a_lasting_refusal(profile) {
        return Warning::new(words, remedy);
    }
    let rate = higher_rate(profile).map_or(String::new(), |rate| format!("--rate {rate} or "));
    Warning::new(words, format!("try {rate}a longer run"))
}

fn few_words(samples: u64, observations: f64) -> String {
    let counted = counted(samples, "sample", "samples");
    if samples == 0 {
        return format!("{counted} in what is intact");
    }
    let margin = QUANTILE_95 * (0.25 / observations).sqrt() * 100.0;
    format!("{counted}, shares are ± {margin:.0} points")
}

fn why_none(profile: &Profile) -> Warning {
    let sampled = profile.accounting().sampled;
    let recorded = || profile.processes.iter().filter(|process| process.refused.is_none());
    let longest_ns = recorded().map(|process| process.wall_ns).max();
    let none = |why: &str, remedy: &str| Warning::new(format!("no samples: {why}"), remedy);
    match longest_ns {
        _ if profile.is_imported() => none("the imported file holds none", "record again, for longer"),
        None if profile.processes.is_empty() => {
            none("no process left a block in this recording", "record again, with -o on a disk that has room")
        }
        None => {
            let why = profile.processes.iter().find_map(|process| process.refused.as_deref());
            none("genba recorded none of the processes", remedies::of_refusal(why.unwrap_or_default()))
        }
        Some(_) if sampled > 0 => none("no thread was seen running", "--weight wall shows what was waited for"),
        Some(_) if profile.accounting().ticks > 0 => {
            let losses = avoidable_losses(profile);
            let remedy = commonest(&losses).map_or("try a longer run", |(reason, _)| remedies::of_lost_ticks(reason).1);
            none(&format!("none of {} ticks gave a stack", count(profile.accounting().ticks)), remedy)
        }
        Some(longest_ns) if longest_ns > LAST_BLOCK_NS_MAX => {
            let ran = duration(longest_ns);
            let why = format!(
                "no thread was sampled in {ran}: genba's own thread got no CPU, or the kernel showed none of the program's threads"
            );
            none(&why, remedies::OF_ANYTHING)
        }
        Some(longest_ns) => {
            let why = format!("the program ended after {}, before the first tick", duration(longest_ns));
            let rate = higher_rate(profile).map_or("a longer run".to_string(), |rate| format!("--rate {rate}"));
            none(&why, &format!("try {rate}"))
        }
    }
}

/// Files with samples whose text may be another one by now.
fn changed_sources(profile: &Profile) -> Option<Warning> {
    let changed = profile.sources.iter().filter(|source| source.lack == Some(Lack::WrittenLater));
    let paths: Vec<String> = changed.map(|source| source.path.clone()).collect();
    let named = first_few(&paths, ", ")?;
    let (are, their) = if paths.len() == 1 { ("was", "its") } else { ("were", "their") };
    let what = format!("{named} {are} changed after the program began: {their} text is not shown");
    Some(Warning::new(what, "record again to see it"))
}

/// A sentence for each reason: a build may start thousands of one old interpreter.
pub fn not_sampled(profile: &Profile) -> Vec<Warning> {
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
        let what = format!("{} {was} not recorded: {why}", first_few(&all, ", ")?);
        Some(Warning::new(what, remedies::of_refusal(why)))
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

/// The file ends within a block: what else it had is nowhere, ends of processes among it.
fn is_cut(profile: &Profile, process: &Process) -> bool {
    let is_of_it = |fault: &str| match &process.recording {
        Some(recording) => fault.strip_prefix(recording.as_str()).is_some_and(|fault| fault.starts_with(": cut at ")),
        None => fault.starts_with("cut at "),
    };
    profile.faults.iter().any(|fault| is_of_it(fault))
}

/// Processes without an end block, and how long before the end of the run their last block ends, if that is known and long.
fn missing_ends(profile: &Profile) -> impl Iterator<Item = (&Process, Option<u64>)> {
    profile.without_end().filter(|process| !is_ended_worker(profile, process)).filter_map(|process| {
        let last_ns = process.start_ns.saturating_add(process.wall_ns);
        let before_ns = process.run_ended_ns.map(|ended_ns| ended_ns.saturating_sub(last_ns));
        let before_ns = before_ns.filter(|before_ns| *before_ns > LAST_BLOCK_NS_MAX);
        (before_ns.is_some() || !is_cut(profile, process)).then_some((process, before_ns))
    })
}

/// A worker whose parent went on: what keeps blocks from the file keeps those of the parent from it, too.
fn is_ended_worker(profile: &Profile, process: &Process) -> bool {
    let is_of_server = |word: &String| word.starts_with("from multiprocessing.forkserver import ");
    let is_spawned = process.argv.iter().any(|word| word == "--multiprocessing-fork");
    let is_worker = is_spawned || process.is_forked && process.argv.iter().any(is_of_server);
    is_worker && process.parent.is_some_and(|parent| profile.processes[parent].ended.is_some())
}

fn ended_workers(profile: &Profile) -> Option<Warning> {
    let workers = profile.without_end().filter(|process| is_ended_worker(profile, process));
    let names: Vec<String> = workers.map(name).collect();
    let who = first_few(&names, ", ")?;
    let (has, worker) = match names.len() {
        1 => ("has", "a worker"),
        _ => ("have", "workers"),
    };
    let what = format!(
        "{who} {has} no end in this recording: {worker} of multiprocessing that the program ended, or killed; the last quarter of a second may be missing"
    );
    Some(Warning::new(what, "p.close() and p.join() before the end of `with` let a pool's workers end by themselves"))
}

/// One sentence for all of them.
fn without_end(profile: &Profile) -> Option<Warning> {
    let missing = missing_ends(profile).filter(|(_, before_ns)| before_ns.is_none());
    let missing: Vec<&Process> = missing.map(|(process, _)| process).collect();
    let names: Vec<String> = missing.iter().map(|process| name(process)).collect();
    let who = first_few(&names, ", ")?;
    let (has, remedy) = match missing.len() {
        1 => ("has", "let it end by itself to have that"),
        _ => ("have", "let them end by themselves to have that"),
    };
    // Of what `genba run` started, which may be a shell that started others.
    let first = profile.processes.iter().next().filter(|first| matches!(*missing, [one] if std::ptr::eq(one, *first)));
    let are_children = missing.iter().all(|process| process.parent.is_some());
    let why = match profile.recorder.as_ref().map(|recorder| (first, recorder.exit_signal, recorder.exit_code)) {
        Some((Some(_), Some(signal), _)) => format!("the program was ended by signal {signal}"),
        Some((Some(_), _, Some(_))) => "killed, still running, or its end could not be written (df, ulimit -a)".into(),
        None if are_children => "killed, ended by os._exit, or still running".into(),
        _ => "killed, or still running".to_string(),
    };
    let what = format!("{who} {has} no end in this recording: {why}; the last quarter of a second may be missing");
    Some(Warning::new(what, remedy))
}

/// Processes whose last block is long before the end of the run: when they stop, and how much may be missing.
fn stopped_early(profile: &Profile) -> Option<Warning> {
    let stops: Vec<String> = missing_ends(profile)
        .filter_map(|(process, before_ns)| {
            let (after, before) = (duration(process.wall_ns), duration(before_ns?));
            Some(format!("{} after {after}, {before} before the run ended", name(process)))
        })
        .collect();
    let who = first_few(&stops, "; ")?;
    let what = format!(
        "the recording stops without an end in {who}: killed then, or ended by os._exit after genba attach, or nothing more could be written (a full disk, a \
         file-size limit), or no memory was left; what came later is missing"
    );
    Some(Warning::new(what, remedies::OF_NO_ROOM))
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

const STOPPED: &str = "stopped";
/// The thread told its end: its CPU time is in other samples, or the warning about CPU time without samples has it.
const ENDED: &str = "thread ended";

/// More than 5 % of the ticks. The accounting counts fewer by their reasons, and nobody can do anything about them.
fn losses(profile: &Profile) -> Option<Warning> {
    let accounting = avoidable_losses(profile);
    let lost = accounting.lost();
    if u128::from(lost) * 20 <= u128::from(accounting.ticks) {
        return None;
    }
    let (reason, ticks) = commonest(&accounting)?;
    let (all, most) = (percent(lost, accounting.ticks), percent(ticks, accounting.ticks));
    let (why, remedy) = remedies::of_lost_ticks(reason);
    let why = why.map_or(String::new(), |why| format!(": {why}"));
    let what = format!("{all} % of the ticks gave no sample, most of them for the reason `{reason}` ({most} %){why}");
    Some(Warning::new(what, remedy))
}

/// Without the ticks that are nobody's loss.
fn avoidable_losses(profile: &Profile) -> Accounting {
    let mut accounting = profile.accounting();
    for no_loss in [accounting.dropped.remove(STOPPED), accounting.refused.remove(ENDED)] {
        accounting.ticks -= no_loss.unwrap_or(0).min(accounting.ticks);
    }
    accounting
}

/// The reason for which most ticks gave no sample, and their number.
fn commonest(accounting: &Accounting) -> Option<(&str, u64)> {
    let reasons = accounting.dropped.iter().chain(&accounting.refused);
    reasons.max_by_key(|(_, ticks)| **ticks).map(|(reason, ticks)| (reason.as_str(), *ticks))
}

/// Threads that block the signal that asks them, with the CPU that is in no sample of theirs: more than 1 % of the program's.
pub(crate) fn masked(profile: &Profile) -> Option<Warning> {
    let all_ns = profile.clocks().cpu_ns;
    let mut threads: Vec<(&Thread, u64)> = unasked::masked_threads(profile).into_values().collect();
    threads.retain(|(_, unseen_ns)| u128::from(*unseen_ns) * 100 > u128::from(all_ns));
    threads.sort_by_key(|(_, unseen_ns)| Reverse(*unseen_ns));
    let names: Vec<String> =
        threads.iter().map(|(thread, unseen_ns)| format!("{} ({})", thread.in_words(), duration(*unseen_ns))).collect();
    let unseen = duration(threads.iter().fold(0, |sum, (_, unseen_ns)| sum.saturating_add(*unseen_ns)));
    let (who, block, their) = match &threads[..] {
        [(only, _)] => (only.in_words(), "blocks", "its"),
        _ => (first_few(&names, ", ")?, "block", "their"),
    };
    let what = format!("{who} {block} signals, SIGURG among them: {unseen} of {their} CPU have no stacks");
    Some(Warning::new(what, remedies::UNBLOCK))
}

/// The CPU of a thread that ended without a sample of it: it may have some that waited.
fn never_sampled_ns(thread: &Thread) -> Option<u64> {
    let cpu_ns = thread.cpu_ns.filter(|cpu_ns| thread.ended && *cpu_ns > 0 && !thread.is_genba_s())?;
    (thread.cpu_not_sampled_ns? == cpu_ns).then_some(cpu_ns)
}

/// Less CPU in no sample than this is some ticks' worth, whatever share of a program it is that hardly ran.
const UNSEEN_NS_MIN: u64 = 5_000_000;

/// Under 99 % of the program's CPU since genba was loaded, or under 90 % of all of it: a start that takes a moment is nobody's worry, and no few
/// milliseconds are.
fn coverage(profile: &Profile) -> Option<Warning> {
    let clocks = profile.clocks();
    let since_loaded_ns = clocks.cpu_not_sampled_ns.saturating_sub(clocks.cpu_before_ns);
    let since_loaded = Clocks { cpu_not_sampled_ns: since_loaded_ns, ..clocks };
    let per_mille = clocks.covered_per_mille()?;
    let is_enough = |part: &Clocks, per_mille: u64, per_mille_min: u64| {
        let unseen_ns =
            part.cpu_not_sampled_ns.saturating_add(part.cpu_lost_ns).saturating_add(part.cpu_not_recorded_ns);
        unseen_ns < UNSEEN_NS_MIN || per_mille >= per_mille_min
    };
    if is_enough(&since_loaded, since_loaded.covered_per_mille()?, 990) && is_enough(&clocks, per_mille, 900) {
        return None;
    }
    let seen = format!("{}.{} %", per_mille / 10, per_mille % 10);
    let missing = duration(clocks.cpu_not_sampled_ns.saturating_add(clocks.cpu_lost_ns));
    let mut what = format!("samples cover {seen} of the program's CPU; {missing} are in no sample");
    let mut remedy = (profile.blocks_lost > 0).then(|| remedies::of_lost(&profile.faults).to_string());
    let parts = [(clocks.cpu_lost_ns, "in lost blocks"), (clocks.cpu_before_ns, "before genba was loaded")];
    let parts = parts.iter().filter(|(ns, _)| *ns > 0).map(|(ns, place)| format!("{} of it {place}", duration(*ns)));
    let parts = parts.collect::<Vec<_>>().join(", ");
    if !parts.is_empty() {
        what += &format!(" ({parts})");
    }
    let masked = unasked::masked_threads(profile);
    let unmasked = profile.threads.enumerate().filter(|(index, _)| !masked.contains_key(index));
    let unseen: Vec<u64> = unmasked.filter_map(|(_, thread)| never_sampled_ns(thread)).collect();
    let unseen_ns = unseen.iter().fold(0_u64, |sum, ns| sum.saturating_add(*ns));
    if unseen_ns.saturating_mul(2) > clocks.cpu_not_sampled_ns.saturating_add(clocks.cpu_lost_ns) {
        let threads = counted(unseen.len() as u64, "thread that ended", "threads that ended");
        what += &format!(", most of it of {threads} before a first sample on a CPU");
        remedy.get_or_insert_with(|| match higher_rate(profile) {
            Some(rate) => format!("--rate {rate} meets more of them"),
            None => "make fewer threads that live longer, such as a pool".to_string(),
        });
    }
    if let Some(not_recorded_ns) = clocks.much_not_recorded() {
        let without_end = profile
            .processes
            .iter()
            .filter(|process| process.clocks.cpu_not_recorded_ns > 0 && process.ended.is_none());
        let whose = match without_end.count() {
            0 => "processes that ended".to_string(),
            count => {
                remedy.get_or_insert_with(|| match stopped_early(profile) {
                    Some(_) => remedies::OF_NO_ROOM.to_string(),
                    None => "let processes end by themselves".to_string(),
                });
                format!("{} without an end", counted(count as u64, "process", "processes"))
            }
        };
        what += &format!("; {} of {whose} came after the last block and was not recorded", duration(not_recorded_ns));
    }
    let paused_ns = pauses::of_all_processes_ns(profile);
    if paused_ns > 0 {
        what += &format!("; the program paused the sampling for {}", duration(paused_ns));
        remedy.get_or_insert_with(|| "pause for less time (genba.pause)".to_string());
    }
    if self::masked(profile).is_some() {
        remedy.get_or_insert_with(|| "unblock SIGURG where threads block it".to_string());
    }
    Some(Warning::new(what, remedy.unwrap_or_else(|| against_unseen(profile, &clocks).to_string())))
}

/// The end of a thread or of a process leaves less in no sample: a few intervals of the slowest rate that the budget chooses.
const UNSEEN_AT_AN_END_NS_MAX: u64 = 100_000_000;
/// A longer run of more short processes than these probably starts more of them, too.
const FEW_PROCESSES_MAX: usize = 8;
/// Starts and ends take little of a process that lives longer.
const SHORT_LIFE_NS_MAX: u64 = 1_000_000_000;

/// Against CPU that is in no sample, for a cause that no other words name. Starts and ends take no more of a longer run.
fn against_unseen(profile: &Profile, clocks: &Clocks) -> &'static str {
    if let Some(remedy) = against_a_lasting_refusal(profile) {
        return remedy;
    }
    let recorded = || profile.processes.iter().filter(|process| process.refused.is_none());
    if recorded().filter(|process| process.wall_ns < SHORT_LIFE_NS_MAX).count() > FEW_PROCESSES_MAX {
        return "make fewer processes that live longer, such as a pool";
    }
    let ends = recorded().count() as u64 + profile.threads.len() as u64;
    let since_loaded_ns = clocks.cpu_not_sampled_ns.saturating_sub(clocks.cpu_before_ns);
    match since_loaded_ns <= clocks.cpu_before_ns.max(ends.saturating_mul(UNSEEN_AT_AN_END_NS_MAX)) {
        true => "try a longer run, which has less of it",
        false => remedies::OF_ANYTHING,
    }
}

/// For a reason that keeps threads out of all samples. The CPU time of other lost ticks is in the thread's next sample.
fn against_a_lasting_refusal(profile: &Profile) -> Option<&'static str> {
    let losses = avoidable_losses(profile);
    let (reason, ticks) = commonest(&losses)?;
    let is_lasting = [SIGNAL_TAKEN, "no signal stack", "masked"].contains(&reason);
    let is_much = u128::from(ticks) * 20 > u128::from(losses.ticks);
    (is_lasting && is_much).then(|| remedies::of_lost_ticks(reason).1)
}
