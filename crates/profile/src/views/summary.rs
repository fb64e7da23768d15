//! The lines above every view: who was recorded, for how long, and the accounting.
//! Owns: sums over processes, the header's words. Never: leaves out the law; a view that shows samples shows it too.

use std::collections::{BTreeMap, BTreeSet};

use crate::rules::pace::Pace;
use crate::rules::reading::Reading;
use crate::rules::verdict::not_followed;
use crate::rules::verdict::words::{Line, Said};
use crate::rules::verdict::{Reason, Verdict};
use crate::rules::weight::{Choice, Totals, Weight};
use crate::tables::profile::{Accounting, Clocks, MarkKind, ProcessIndex, Profile, Thread};
use crate::tables::table::TableIndex;
use crate::views::collections::heading::line_of_report;
use crate::words::figures::{count, counted, duration, percent, size};

/// Resident size over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resident {
    pub max_bytes: u64,
    pub mean_bytes: u64,
}

impl Profile {
    /// Of the whole run: as the command measured it, or from the first start to the last block where that is longer. A daemon is recorded
    /// after the run is over, and a process goes on a little after it was asked to stop its recording.
    pub fn wall_ns(&self) -> u64 {
        self.recorder.as_ref().map_or(self.span_ns, |recorder| recorder.wall_ns.max(self.span_ns))
    }

    pub fn accounting(&self) -> Accounting {
        let mut sum = Accounting::default();
        for process in self.processes.iter() {
            sum.add(&process.accounting);
        }
        sum
    }

    /// Clocks of all processes.
    pub fn clocks(&self) -> Clocks {
        let mut sum = Clocks::default();
        for position in 0..self.processes.len() {
            sum.add(&self.clocks_of(ProcessIndex::new(position)));
        }
        sum
    }

    /// Clocks of one process. What an image before an `exec` used goes on in its successor's clock, and is the earlier one's alone.
    pub fn clocks_of(&self, process: ProcessIndex) -> Clocks {
        let process = &self.processes[process];
        let clocks = process.clocks;
        let twice_ns = match process.exec_of {
            Some(earlier) => self.processes[earlier].clocks.cpu_ns.min(clocks.cpu_not_sampled_ns),
            None => 0,
        };
        Clocks {
            cpu_ns: clocks.cpu_ns.saturating_sub(twice_ns),
            cpu_not_sampled_ns: clocks.cpu_not_sampled_ns - twice_ns,
            cpu_before_ns: clocks.cpu_before_ns.saturating_sub(twice_ns),
            ..clocks
        }
    }

    /// None: recorded without `--mem`. The mean weighs each value by how long it held.
    pub fn resident(&self, process: ProcessIndex) -> Option<Resident> {
        let before = self.rss.partition_point(|rss| rss.process < process);
        let values: Vec<_> = self.rss[before..].iter().take_while(|rss| rss.process == process).collect();
        let (first, last) = (values.first()?, values.last()?);
        let row = &self.processes[process];
        // Times of an imported file are its samples'; how long it ran after the last one is not told.
        let ended_ns = if row.imported.is_some() { 0 } else { row.start_ns.saturating_add(row.wall_ns) };
        let end_ns = ended_ns.max(last.at_ns);
        let ends = values.iter().skip(1).map(|rss| rss.at_ns).chain([end_ns]);
        let held = values
            .iter()
            .zip(ends)
            .map(|(rss, until_ns)| u128::from(rss.bytes) * u128::from(until_ns.saturating_sub(rss.at_ns)));
        let whole_ns = u128::from(end_ns.saturating_sub(first.at_ns));
        let mean = held.sum::<u128>().checked_div(whole_ns);
        Some(Resident {
            max_bytes: values.iter().map(|rss| rss.bytes).max()?,
            mean_bytes: mean.map_or(first.bytes, |mean| mean as u64),
        })
    }

    /// Of the process that was largest.
    pub fn resident_max(&self) -> Option<Resident> {
        let of_each = (0..self.processes.len()).filter_map(|position| self.resident(ProcessIndex::new(position)));
        of_each.max_by_key(|resident| resident.max_bytes)
    }

    /// How many threads a process had.
    pub fn thread_count(&self, process: ProcessIndex) -> u64 {
        let is_one = |thread: &&Thread| thread.process == process && !thread.is_of_many();
        self.threads.iter().filter(is_one).count() as u64
    }
}

impl Accounting {
    pub fn lost(&self) -> u64 {
        let reasons = self.dropped.values().chain(self.refused.values());
        reasons.fold(0, |sum, ticks| sum.saturating_add(*ticks))
    }

    /// Law 1 in words: `ticks 1,968 = sampled 1,966 + dropped 0 + refused 2 (moved 2)`.
    pub fn words(&self) -> String {
        format!(
            "ticks {} = sampled {} + dropped {} + refused {}",
            count(self.ticks),
            count(self.sampled),
            by_reason(&self.dropped),
            by_reason(&self.refused),
        )
    }
}

fn by_reason(reasons: &BTreeMap<String, u64>) -> String {
    let sum = reasons.values().fold(0_u64, |sum, ticks| sum.saturating_add(*ticks));
    let each: Vec<String> = reasons
        .iter()
        .filter(|(_, ticks)| **ticks > 0)
        .map(|(reason, ticks)| format!("{reason} {}", count(*ticks)))
        .collect();
    if each.is_empty() {
        return count(sum);
    }
    format!("{} ({})", count(sum), each.join(", "))
}

impl Clocks {
    /// What the samples that are here have.
    pub const fn cpu_held_ns(&self) -> u64 {
        self.cpu_sampled_ns.saturating_sub(self.cpu_lost_ns)
    }

    /// The CPU of samples in thousandths of the program's (all but genba's own, with what was not recorded), rounded down. None: it used none.
    pub fn covered_per_mille(&self) -> Option<u64> {
        let recorded_ns = self.cpu_sampled_ns.saturating_add(self.cpu_not_sampled_ns);
        let program_ns = recorded_ns.saturating_add(self.cpu_not_recorded_ns);
        let per_mille = u128::from(self.cpu_held_ns()) * 1_000;
        per_mille.checked_div(u128::from(program_ns)).map(|per_mille| per_mille as u64)
    }

    /// More than the end of a healthy process costs: at least 1 % of the program's CPU.
    pub fn much_not_recorded(&self) -> Option<u64> {
        let recorded_ns = self.cpu_sampled_ns.saturating_add(self.cpu_not_sampled_ns);
        let program_ns = u128::from(recorded_ns) + u128::from(self.cpu_not_recorded_ns);
        let is_much = self.cpu_not_recorded_ns > 0 && u128::from(self.cpu_not_recorded_ns) * 100 >= program_ns;
        is_much.then_some(self.cpu_not_recorded_ns)
    }

    /// Without genba's own.
    pub fn cpu_program_ns(&self) -> u64 {
        self.cpu_ns.saturating_sub(self.cpu_genba_ns)
    }

    /// Law 2, exactly.
    pub fn words(&self) -> String {
        format!(
            "CPU {} ns = sampled {} + not sampled {} + genba {}",
            count(self.cpu_ns),
            count(self.cpu_sampled_ns),
            count(self.cpu_not_sampled_ns),
            count(self.cpu_genba_ns),
        )
    }
}

/// The lines above a view, without line breaks.
pub fn header(reading: &Reading, choice: &Choice) -> Vec<String> {
    let weight = weight_line(reading, choice);
    [who(reading), law_line(reading)].into_iter().chain(weight).chain(kept_below(reading, choice)).collect()
}

/// The lines above the report: the verdict comes right below the accounting.
pub fn header_with_verdict(reading: &Reading, choice: &Choice, verdict: &Verdict) -> Vec<Line> {
    let by_wall = matches!(verdict.reason, Reason::Waiting { .. }) && choice.weight == Weight::Wall;
    let shares = if by_wall { format!(". Shares below are of {}.", wall_of_threads(reading)) } else { String::new() };
    let Said { first, details } = verdict.said(reading);
    let reason = Line::text(format!("{}: ", verdict.reason.name())).then(first).and(shares);
    let mut lines = vec![who(reading).into(), law_line(reading).into()];
    lines.extend(line_of_report(reading).map(Line::from));
    lines.push(reason);
    lines.extend(details.into_iter().map(|detail| Line::text("  ").then(detail)));
    lines.extend(weight_line(reading, choice).filter(|_| !by_wall).map(Line::from));
    lines.extend(kept_below(reading, choice).into_iter().map(Line::from));
    lines
}

/// `9.06 s in 10 threads`: each thread's wall time counts.
fn wall_of_threads(reading: &Reading) -> String {
    // The samples that the filters keep do not give the whole.
    if reading.kept.is_some() {
        return "wall".to_owned();
    }
    let whole = Totals::of_profile(reading).words(Weight::Wall);
    format!("{whole} in {}", threads_in_words(reading))
}

/// The lines above it speak of everything.
fn kept_below(reading: &Reading, choice: &Choice) -> Option<String> {
    kept_line(reading, choice.weight).map(|kept| format!("{kept}. Shares below are of what is kept."))
}

fn weight_line(profile: &Reading, choice: &Choice) -> Option<String> {
    match (choice.weight, &choice.why) {
        (Weight::Cpu, _) => None,
        (Weight::Copied, _) => {
            let genba_format::measure::Totals { exact, not_sampled, .. } = profile.copied();
            let shares = shares_of_sampled(profile, exact, not_sampled);
            let (exact, not_sampled) = (size(exact), size(not_sampled));
            Some(format!(
                "weight: bytes copied by memcpy and memmove, {exact}, {not_sampled} of them in no sample{shares}. \
                 Copies that the compiler inlined, and those inside libc and the kernel, are not seen"
            ))
        }
        (Weight::Allocated, _) => {
            let genba_format::measure::Totals { exact, not_sampled, .. } = profile.allocated();
            let shares = shares_of_sampled(profile, exact, not_sampled);
            let (exact, not_sampled) = (size(exact), size(not_sampled));
            Some(format!(
                "weight: bytes asked for of CPython's allocator and of malloc, {exact}, {not_sampled} of them in no sample{shares}. \
                 It is memory requested, freed or not, and no count of objects: what CPython's free lists serve again is not seen. ± is the 95 % interval"
            ))
        }
        (weight, Some(why)) => Some(format!("weight: {weight}, because {why}")),
        (weight, None) => Some(format!("weight: {weight}")),
    }
}

/// Rows have what samples have, and so their shares: said where that is another number than the share of all. Filters say it of theirs.
fn shares_of_sampled(reading: &Reading, exact: u64, not_sampled: u64) -> String {
    let is_another = percent(not_sampled, exact) != "0.0" && reading.kept.is_none();
    match is_another {
        true => format!("; shares below are of the other {}", size(exact.saturating_sub(not_sampled))),
        false => String::new(),
    }
}

/// `kept: 41.2 % of 3.21 s CPU (--focus render)`. None: no filter.
pub fn kept_line(reading: &Reading, weight: Weight) -> Option<String> {
    let kept = reading.kept.as_ref()?;
    let share = percent(Totals::of_profile(reading).by(weight), kept.whole.by(weight));
    let (whole, flags) = (kept.whole.words_with_unit(weight), kept.flags.join(" "));
    Some(format!("kept: {share} % of {whole} ({flags})"))
}

/// `116 threads`: those that ticks met. One number for every line, whatever else has a row among the threads.
fn threads_in_words(profile: &Profile) -> String {
    let recorded = profile.processes.enumerate().filter(|(_, process)| process.refused.is_none());
    let threads: u64 = recorded.map(|(index, _)| profile.thread_count(index)).sum();
    counted(threads, "thread", "threads")
}

/// `CPython 3.15.2 · 1.97 s wall · 1.95 s CPU + 20 ms genba's · 1 process, 1 thread · sampled every 1 ms, mostly 5 ms (budget 2 %)`
pub fn who(profile: &Profile) -> String {
    let recorded = || profile.processes.iter().filter(|process| process.refused.is_none());
    let versions: BTreeSet<&str> = recorded().filter_map(|process| process.python.as_deref()).collect();
    let mut parts = Vec::new();
    if profile.recordings > 1 {
        parts.push(counted(profile.recordings, "recording", "recordings"));
    }
    if !versions.is_empty() {
        parts.push(format!("CPython {}", Vec::from_iter(versions).join(", ")));
    }
    parts.extend(imports(profile));
    // Sums with what a file does not tell are sums of nothing.
    if !profile.is_imported() {
        parts.push(format!("{} wall", duration(profile.wall_ns())));
        parts.push(cpu(&profile.clocks()));
    }
    let processes = counted(recorded().count() as u64, "process", "processes");
    parts.push(format!("{processes}, {}", threads_in_words(profile)));
    parts.extend(Pace::of(profile).words().filter(|_| !profile.is_imported()));
    if let Some(resident) = profile.resident_max() {
        let (max, mean) = (size(resident.max_bytes), size(resident.mean_bytes));
        parts.push(format!("resident {max} at most, {mean} on average"));
    }
    if recorded().any(|process| process.native == Some(false) && process.imported.is_none()) {
        parts.push("without C (--no-native)".to_string());
    }
    parts.join(" · ")
}

/// Each kind of import once.
fn imports(profile: &Profile) -> BTreeSet<String> {
    profile.processes.iter().filter_map(|process| process.imported.clone()).collect()
}

/// The program's own, and beside it what genba used in the same processes.
fn cpu(clocks: &Clocks) -> String {
    let program_ns = clocks.cpu_program_ns();
    match clocks.cpu_genba_ns {
        0 => format!("{} CPU", duration(program_ns)),
        genba_ns => format!("{} CPU + {} genba's", duration(program_ns), duration(genba_ns)),
    }
}

/// Both laws in one line, with what is no loss and nobody can act on; `genba check` prints the second one exactly.
pub fn law_line(profile: &Profile) -> String {
    let ticks = profile.accounting().words();
    if profile.is_imported() {
        let words = if profile.counts_calls() { "counted calls" } else { "an imported file tells only its samples" };
        return format!("{ticks} · {words}");
    }
    let clocks = profile.clocks();
    let missing = clocks.much_not_recorded().map_or(String::new(), |ns| format!(", {} not recorded", duration(ns)));
    let lost = match clocks.cpu_lost_ns {
        0 => String::new(),
        ns => format!(", {} in lost blocks", duration(ns)),
    };
    let law = match clocks.covered_per_mille() {
        Some(per_mille) => format!("{ticks} · CPU covered {}.{} %{lost}{missing}", per_mille / 10, per_mille % 10),
        None => ticks,
    };
    let others = not_followed::words(&profile.not_followed);
    [Some(law), stopped(profile), others].into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// Somebody stopped a process: that time is in no sample, and is no loss. None: nobody did.
fn stopped(profile: &Profile) -> Option<String> {
    let mut stopped_ns: BTreeMap<ProcessIndex, u64> = BTreeMap::new();
    for mark in profile.marks.iter().filter(|mark| mark.kind == MarkKind::Halt) {
        let sum_ns = stopped_ns.entry(mark.process).or_default();
        *sum_ns = sum_ns.saturating_add(mark.value.unwrap_or(0));
    }
    let longest = duration(stopped_ns.values().max().copied()?);
    let stopped = match stopped_ns.len() {
        1 => format!("the process was stopped for {longest}"),
        many => format!("{} processes were stopped for {longest} at most", count(many as u64)),
    };
    Some(format!("{stopped} (Ctrl-Z, a debugger, a frozen container)"))
}
