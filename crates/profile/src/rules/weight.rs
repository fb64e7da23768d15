//! What samples are weighed by, and sums of samples.
//! Owns: which weight answers "where does the time go" when nobody asked for one. Never: turns numbers into shares.

use std::fmt;

use genba_format::measure::{self, Measure};

use crate::rules::waits::for_work::ForWork;
use crate::rules::waits::pauses::recorded_ns;
use crate::rules::waits::short::ShortWaits;
use crate::rules::waits::unasked;
use crate::tables::profile::{Process, ProcessIndex, Profile, SampleGroup};
use crate::words::figures;

/// Normal quantile of a 95 % interval.
pub(crate) const QUANTILE_95: f64 = 1.96;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    Cpu,
    Wall,
    /// Observations of running threads.
    Samples,
    /// Bytes copied, of a recording with `--copies`.
    Copied,
    /// Bytes asked for, of a recording with `--alloc`.
    Allocated,
}

impl Weight {
    /// As on the command line.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Weight::Cpu => "cpu",
            Weight::Wall => "wall",
            Weight::Samples => "samples",
            Weight::Copied => "copied",
            Weight::Allocated => "allocated",
        }
    }

    /// Shares of bytes rest on other counts than the samples of threads that ran, and have margins of their own where they need any.
    #[must_use]
    pub const fn is_in_bytes(self) -> bool {
        matches!(self, Weight::Copied | Weight::Allocated)
    }
}

impl fmt::Display for Weight {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str(match self {
            Weight::Cpu => "CPU",
            Weight::Wall => "wall",
            Weight::Samples => "samples",
            Weight::Copied => "copied",
            Weight::Allocated => "allocated",
        })
    }
}

/// A sum of samples in every weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Observations of running threads.
    pub samples: u64,
    pub cpu_ns: u64,
    pub wall_ns: u64,
    pub copied_bytes: u64,
    pub allocated_bytes: u64,
    /// The variance of that estimate, in squares of 1,024 bytes.
    pub allocated_kib2: u64,
}

impl Totals {
    pub fn of_group(group: &SampleGroup) -> Totals {
        Totals {
            samples: if group.state.is_running() { group.samples } else { 0 },
            cpu_ns: group.cpu_ns,
            wall_ns: group.wall_ns,
            copied_bytes: group.copied_bytes,
            allocated_bytes: group.allocated_bytes,
            allocated_kib2: group.allocated_kib2,
        }
    }

    pub fn of_profile(profile: &Profile) -> Totals {
        let mut totals = Totals::default();
        for group in &profile.samples {
            totals.add(Totals::of_group(group));
        }
        totals
    }

    pub fn add(&mut self, other: Totals) {
        self.samples = self.samples.saturating_add(other.samples);
        self.cpu_ns = self.cpu_ns.saturating_add(other.cpu_ns);
        self.wall_ns = self.wall_ns.saturating_add(other.wall_ns);
        self.copied_bytes = self.copied_bytes.saturating_add(other.copied_bytes);
        self.allocated_bytes = self.allocated_bytes.saturating_add(other.allocated_bytes);
        self.allocated_kib2 = self.allocated_kib2.saturating_add(other.allocated_kib2);
    }

    pub fn by(self, weight: Weight) -> u64 {
        match weight {
            Weight::Cpu => self.cpu_ns,
            Weight::Wall => self.wall_ns,
            Weight::Samples => self.samples,
            Weight::Copied => self.copied_bytes,
            Weight::Allocated => self.allocated_bytes,
        }
    }

    /// `3.21 s CPU`, `1,966 samples`
    pub fn words_with_unit(self, weight: Weight) -> String {
        match (weight, self.samples) {
            (Weight::Samples, 1) => "1 sample".to_string(),
            _ => format!("{} {weight}", self.words(weight)),
        }
    }

    /// See `Estimated::margin_bytes`.
    #[must_use]
    pub fn allocated_margin_bytes(self, whole: Totals) -> u64 {
        let of = |totals: Totals| Estimated { bytes: totals.allocated_bytes, kib2: totals.allocated_kib2 };
        of(self).margin_bytes(of(whole))
    }

    /// The weight in words: a duration, a count of samples, or bytes.
    pub fn words(self, weight: Weight) -> String {
        match weight {
            Weight::Cpu | Weight::Wall => figures::duration(self.by(weight)),
            Weight::Samples => figures::count(self.samples),
            Weight::Copied | Weight::Allocated => figures::size(self.by(weight)),
        }
    }
}

/// Bytes of samples, and the variance of that estimate in squares of 1,024 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::rules) struct Estimated {
    pub bytes: u64,
    pub kib2: u64,
}

impl Estimated {
    /// Half of the interval that holds the true bytes of these samples in 95 of 100 recordings. The whole is counted, so only the share of a
    /// part is uncertain: its variance is that of a ratio of two Poisson sums.
    pub fn margin_bytes(self, whole: Estimated) -> u64 {
        let share = figures::share(self.bytes, whole.bytes);
        let others_kib2 = whole.kib2.saturating_sub(self.kib2);
        let variance_kib2 = (1.0 - share).powi(2) * self.kib2 as f64 + share.powi(2) * others_kib2 as f64;
        (QUANTILE_95 * variance_kib2.sqrt() * 1024.0).round() as u64
    }
}

impl Profile {
    /// Made with `--copies`, in part at least.
    #[must_use]
    pub fn counts_copies(&self) -> bool {
        self.processes.iter().any(|process| process.measures.contains_key(&Measure::Copied))
    }

    /// Made with `--alloc`, in part at least.
    #[must_use]
    pub fn counts_allocations(&self) -> bool {
        self.processes.iter().any(|process| process.measures.contains_key(&Measure::Allocated))
    }

    /// Copied bytes of all processes.
    #[must_use]
    pub fn copied(&self) -> measure::Totals {
        self.measured(Measure::Copied)
    }

    /// Allocated bytes of all processes.
    #[must_use]
    pub fn allocated(&self) -> measure::Totals {
        self.measured(Measure::Allocated)
    }

    fn measured(&self, measure: Measure) -> measure::Totals {
        let mut sum = measure::Totals::default();
        for totals in self.processes.iter().filter_map(|process| process.measures.get(&measure)) {
            sum.exact = sum.exact.saturating_add(totals.exact);
            sum.genba = sum.genba.saturating_add(totals.genba);
            sum.sampled = sum.sampled.saturating_add(totals.sampled);
            sum.not_sampled = sum.not_sampled.saturating_add(totals.not_sampled);
        }
        sum
    }
}

/// A weight and, where genba chose other than CPU, why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub weight: Weight,
    pub why: Option<String>,
}

/// Whether each process tells it. A recording of genba's tells CPU, wall time and samples, an imported file what it has.
#[must_use]
pub fn tells(profile: &Profile, weight: Weight) -> bool {
    let has = |(process, row): (ProcessIndex, &Process)| {
        let mut groups = profile.samples.iter().filter(|group| profile.threads[group.thread].process == process);
        let any = groups.clone().next().is_some();
        row.imported.is_none() || !any || groups.any(|group| Totals::of_group(group).by(weight) > 0)
    };
    match weight {
        Weight::Copied => profile.counts_copies(),
        Weight::Allocated => profile.counts_allocations(),
        Weight::Cpu | Weight::Wall | Weight::Samples if !profile.is_imported() => true,
        Weight::Cpu | Weight::Wall | Weight::Samples => {
            !profile.samples.is_empty() && profile.processes.enumerate().all(has)
        }
    }
}

/// What every recording tells: CPU, else wall, else a count of samples.
fn choose_of_import(profile: &Profile) -> Choice {
    let whose = if profile.counts_calls() { "counts of calls tell" } else { "an imported file tells" };
    let without = |what: &str| Some(format!("{whose} no {what}"));
    if tells(profile, Weight::Cpu) {
        Choice { weight: Weight::Cpu, why: None }
    } else if tells(profile, Weight::Wall) {
        Choice { weight: Weight::Wall, why: without("CPU time") }
    } else {
        Choice { weight: Weight::Samples, why: without("clock") }
    }
}

/// CPU, or wall for a program that mostly waited: in less than half of the wall time that was
/// recorded did its threads have work to do, added up without their waits for the GIL: another thread works then. Waits shorter than a tick are
/// not work. Time without a CPU on a busy machine is not work either. What passed before the first process was
/// recorded, in pauses and after `--duration` is no waiting. Nor are waits for work (`ForWork`), where there is enough besides.
pub fn choose(profile: &Profile) -> Choice {
    if profile.is_imported() {
        return choose_of_import(profile);
    }
    let Some(Waiting { working_ns, wall_ns, is_apart }) = waiting(profile, &|_| 0.0) else {
        return Choice { weight: Weight::Cpu, why: None };
    };
    let busy = figures::percent(working_ns, wall_ns);
    let apart = if is_apart { ", without what it waited for work" } else { "" };
    Choice {
        weight: Weight::Wall,
        why: Some(format!("the program waited most of the time: it had work for {busy} % of it{apart}")),
    }
}

/// What a program had work for, less than half of the time that is judged.
struct Waiting {
    working_ns: u64,
    wall_ns: u64,
    /// Without its waits for work.
    is_apart: bool,
}

/// `moved`: how far the share of the time with work is moved before it is compared with a half.
fn waiting(profile: &Profile, moved: &dyn Fn(f64) -> f64) -> Option<Waiting> {
    let short_waits = ShortWaits::of(profile);
    // Of what lost blocks held the clocks tell nothing but its CPU. Threads that cannot be asked are only seen while they wait.
    let unasked_ns = unasked::masked_ns(profile).saturating_add(unasked::taken_ns(profile));
    let unseen_ns = profile.clocks().cpu_lost_ns.saturating_add(unasked_ns);
    let working_ns = short_waits.working_ns().saturating_add(unseen_ns);
    let has_work = |wall_ns: u64| {
        let moved_ns = moved(figures::share(working_ns, wall_ns)) * wall_ns as f64;
        (working_ns as f64 + moved_ns) * 2.0 >= wall_ns as f64
    };
    let recorded_ns = recorded_ns(profile);
    if has_work(recorded_ns) {
        return None;
    }
    let besides = ForWork::that_tell(profile, &short_waits).map(|for_work| for_work.sums.besides_ns());
    let wall_ns = besides.map_or(recorded_ns, |besides_ns| besides_ns.min(recorded_ns));
    (!has_work(wall_ns)).then_some(Waiting { working_ns, wall_ns, is_apart: besides.is_some() })
}

/// Whether `choose` would take wall time because the program waited, if the share of the time with work were moved so far.
pub(super) fn would_wait(profile: &Profile, moved: &dyn Fn(f64) -> f64) -> bool {
    !profile.is_imported() && waiting(profile, moved).is_some()
}
