//! The verdict: why the program takes its time: a reason, places, figures and advice, which words.rs and json.rs say.
//! Owns: the rules and their order; thresholds.rs has their numbers, docs/reading.md explains each. Never: hides a sample; whatever the
//! verdict, the rows below it are the same.
//! Over twelve files: each has one noun of a verdict.

mod alone;
mod blocks;
pub mod clock_calls;
mod copies;
mod facts;
mod gil;
mod given;
mod groups;
pub mod json;
pub mod not_followed;
mod place;
mod reason;
mod short_blocks;
pub(super) mod thresholds;
mod waited_for_work;
pub mod words;

use crate::rules::verdict::not_followed::Pythons;
use crate::rules::waits::pauses::recorded_ns;
use crate::rules::waits::unasked;
use crate::rules::weight::{QUANTILE_95, Weight, choose, would_wait};
use crate::tables::profile::{Clocks, Profile};
use crate::words::figures::share;
use facts::{Facts, Recursion, StartUp};
use gil::Fight;
use groups::Group;
use place::Finder;
use thresholds::{
    GC_MIN, GIL_WAIT_MIN, LOST_MAX, MARGIN_SAMPLES_MIN, NATIVE_MIN, ONE_FUNCTION_MIN, ONE_LINE_MIN, ONE_PLACE_MIN,
    RECURSION_MIN, SAMPLES_MIN, SPREAD_LARGEST_MAX, SPREAD_TEN_MAX, STOPPED_MAX, TEN, TIME_NS_MIN, WAITING_MARGIN_MIN,
};

pub use blocks::Blocks;
pub use copies::Copies;
pub use place::{About, Advice, At, Holder, Import, Place, Wait};
pub use reason::Reason;
pub use short_blocks::ShortBlocks;
pub use waited_for_work::WaitedForWork;

/// The verdict as data; `words` says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub reason: Reason,
    /// What another run of the same program may be called: the reasons at the ends of its shares' margins, where they are of another kind.
    pub may_be: Vec<&'static str>,
    /// What a share of 1 is: the wall time of all threads or of the processes that start up, or all CPU.
    pub whole_ns: u64,
    /// The place in the first line itself.
    pub lead: Option<Place>,
    /// Those below it.
    pub places: Vec<Place>,
    pub advice: Vec<Advice>,
    /// Where that is most of what the threads do, and is not what is judged.
    pub waited_for_work: Option<WaitedForWork>,
    pub blocks: Option<Blocks>,
    pub short_blocks: Option<ShortBlocks>,
    /// Of a recording with `--copies`.
    pub copies: Vec<Copies>,
    pub allocations: Vec<Copies>,
}

pub fn verdict(profile: &Profile) -> Verdict {
    let facts = Facts::of(profile);
    let shares = Shares { facts: &facts, waits: waits(profile, 0.0), end: 0.0 };
    let reason = reason(profile, shares);
    let found = Finder { profile, facts: &facts };
    Verdict {
        reason,
        may_be: may_be(profile, shares, reason),
        whole_ns: found.whole_ns(reason),
        lead: found.lead(reason),
        places: found.places(reason),
        advice: found.advice(reason),
        waited_for_work: WaitedForWork::of(&facts),
        blocks: Blocks::of(profile),
        short_blocks: ShortBlocks::of(profile),
        copies: Copies::of(profile),
        allocations: Copies::of_allocations(profile),
    }
}

fn may_be(profile: &Profile, shares: Shares<'_>, reason: Reason) -> Vec<&'static str> {
    let ends = [-1.0, 1.0];
    let is_half = ends.iter().any(|end| waits(profile, *end) != shares.waits);
    let other_half = is_half.then_some(Shares { waits: !shares.waits, ..shares });
    let mut names: Vec<&'static str> = Vec::new();
    for other in ends.map(|end| Shares { end, ..shares }).into_iter().chain(other_half) {
        let other = self::reason(profile, other);
        if kind(other) != kind(reason) && !names.contains(&other.name()) {
            names.push(other.name());
        }
    }
    names
}

/// Whether there was work for less than half of the time: as it is, or at an end of the margin of that share.
fn waits(profile: &Profile, end: f64) -> bool {
    let looks = profile.samples.iter().fold(0, |sum: u64, group| sum.saturating_add(group.samples)) as f64;
    let moved = |share: f64| match looks >= MARGIN_SAMPLES_MIN {
        true => end * margin(share, looks).max(WAITING_MARGIN_MIN),
        false => 0.0,
    };
    would_wait(profile, &moved)
}

/// Of a share of so many samples, in 19 of 20 recordings. A damaged recording may hold a share beyond 1.
fn margin(share: f64, samples: f64) -> f64 {
    QUANTILE_95 * (share * (1.0 - share) / samples).max(0.0).sqrt()
}

/// A place, its line and its function lead to the same code; and nothing stands out in a spread either.
fn kind(reason: Reason) -> &'static str {
    match reason {
        Reason::OnePlace { .. } | Reason::OneLine { .. } | Reason::OneFunction { .. } => "one",
        Reason::Spread { .. } | Reason::NoSingleCause { .. } => "none",
        _ => reason.name(),
    }
}

/// Shares of the CPU: as they are, or at an end of their margin of 95 %. Fewer samples than these have no ends: the report warns of them.
#[derive(Clone, Copy)]
struct Shares<'f> {
    facts: &'f Facts,
    /// There was work for less than half of the time.
    waits: bool,
    /// 0; -1: the lower end, 1: the upper one.
    end: f64,
}

impl Shares<'_> {
    fn of(self, part_ns: u64) -> f64 {
        share(part_ns, self.facts.whole.cpu_ns)
    }

    fn margin(self, share: f64) -> f64 {
        match self.facts.equal_samples() {
            equal if equal >= MARGIN_SAMPLES_MIN => margin(share, equal),
            _ => 0.0,
        }
    }

    fn at_least(self, part_ns: u64, share_min: f64) -> bool {
        let share = self.of(part_ns);
        share + self.end * self.margin(share) >= share_min
    }

    /// Or beyond it by no more than the margin.
    fn at_most(self, part_ns: u64, share_max: f64) -> bool {
        let share = self.of(part_ns);
        share + (self.end - 1.0) * self.margin(share) <= share_max
    }
}

fn reason(profile: &Profile, shares: Shares<'_>) -> Reason {
    let facts = shares.facts;
    let cpu_ns = facts.whole.cpu_ns;
    let waits = shares.waits;
    let native = || facts.native_threads().map(|(_, cpu_ns)| cpu_ns);
    let native_cpu_ns = native().fold(0, u64::saturating_add);
    // Without what the program paused; with `--duration` the CPU is of that time.
    let recorded_ns = recorded_ns(profile);
    let is_part = profile.processes.iter().any(|process| process.ended.as_deref() == Some("duration"));
    let paused_ns = profile.span_ns.saturating_sub(recorded_ns);
    let wall_ns = if is_part { recorded_ns } else { profile.wall_ns().saturating_sub(paused_ns) };
    let is_short = wall_ns < TIME_NS_MIN || !waits && facts.running_samples < SAMPLES_MIN;
    let elsewhere = Pythons::of(&profile.not_followed);
    if profile.is_imported() && choose(profile).weight != Weight::Cpu {
        Reason::NoClock { samples: facts.running_samples }
    } else if elsewhere.are_most(profile) {
        let Pythons { count: processes, wall_ns, cpu_ns } = elsewhere;
        Reason::NotFollowed { processes, wall_ns, cpu_ns, recorded_ns: profile.clocks().cpu_ns }
    } else if let Some(stopped) = stopped(profile, waits, wall_ns) {
        stopped
    } else if let Some(unasked) = unasked(profile) {
        unasked
    } else if let Some(damaged) = damaged(profile, is_short) {
        damaged
    } else if is_short {
        Reason::TooShort { wall_ns, samples: facts.running_samples }
    } else if let Some(StartUp { processes, wall_ns, importing_ns, .. }) = facts.start_up(profile) {
        Reason::StartUp { processes, wall_ns, importing_ns }
    } else if waits {
        Reason::Waiting { wall_ns, cpu_ns, in_queue_ns: facts.in_queue_ns }
    } else if let Fight { threads, cpu_ns, waited_ns, wanting_ns } = facts.fight(profile)
        && share(waited_ns, facts.wanting_ns) >= GIL_WAIT_MIN
    {
        Reason::Gil { threads, cpu_ns, span_ns: recorded_ns, waited_ns, wanting_ns }
    } else if shares.at_least(native_cpu_ns, NATIVE_MIN) {
        Reason::NativeThreads { threads: native().count() as u64, native_cpu_ns, cpu_ns }
    } else if shares.at_least(facts.gc_cpu_ns, GC_MIN) {
        Reason::Gc { gc_cpu_ns: facts.gc_cpu_ns, cpu_ns }
    } else if let Some((_, recursion)) = facts.deepest_recursion()
        && shares.at_least(recursion.cpu_ns, RECURSION_MIN)
    {
        let Recursion { depth_max, is_depth_cut, .. } = recursion;
        Reason::Recursion { depth_max, is_depth_cut, cpu_ns }
    } else {
        by_size(profile, shares)
    }
}

/// Where processes went on for long after their last blocks: nothing more could be written, or they were killed before they could.
fn stopped(profile: &Profile, waits: bool, wall_ns: u64) -> Option<Reason> {
    let not_recorded = profile.without_end().map(|process| process.clocks.cpu_not_recorded_ns);
    let not_recorded_ns = not_recorded.fold(0, u64::saturating_add);
    let clocks = profile.clocks();
    let cpu_ns = clocks.cpu_sampled_ns.saturating_add(clocks.cpu_not_sampled_ns);
    let program_ns = cpu_ns.saturating_add(not_recorded_ns);
    let part = share(not_recorded_ns, program_ns);
    let works = waits && part > LOST_MAX && share(program_ns, wall_ns) >= 0.5;
    let is_told = not_recorded_ns >= TIME_NS_MIN && (part > STOPPED_MAX || works);
    is_told.then_some(Reason::Stopped { not_recorded_ns, cpu_ns })
}

/// Where threads that could not be asked for their stacks used more CPU than samples have.
fn unasked(profile: &Profile) -> Option<Reason> {
    let cpu_ns = profile.clocks().cpu_sampled_ns;
    let is_told = |unseen_ns: u64| unseen_ns >= TIME_NS_MIN && unseen_ns > cpu_ns;
    let (masked_ns, taken_ns) = (unasked::masked_ns(profile), unasked::taken_ns(profile));
    if is_told(masked_ns) {
        Some(Reason::Masked { unseen_ns: masked_ns, cpu_ns })
    } else {
        is_told(taken_ns).then_some(Reason::SignalTaken { unseen_ns: taken_ns, cpu_ns })
    }
}

/// Where lost blocks took much of the CPU, or nearly all that there was to judge.
fn damaged(profile: &Profile, is_short: bool) -> Option<Reason> {
    if profile.blocks_lost == 0 {
        return None;
    }
    let is_cut = |frame| profile.functions[profile.frames[frame].function].is_lost();
    let cut = profile.samples.iter().filter(|group| profile.stack(group.node).any(is_cut));
    let Clocks { cpu_lost_ns, cpu_sampled_ns: cpu_ns, .. } = profile.clocks();
    let cpu_lost_ns = cut.fold(cpu_lost_ns, |sum, group| sum.saturating_add(group.cpu_ns));
    let is_told = is_short || share(cpu_lost_ns, cpu_ns) > LOST_MAX;
    is_told.then_some(Reason::Damaged { blocks: profile.blocks_lost, cpu_lost_ns, cpu_ns })
}

/// Whether one place has much of the CPU, and how large that place is.
fn by_size(profile: &Profile, shares: Shares<'_>) -> Reason {
    let facts = shares.facts;
    let cpu_ns = facts.whole.cpu_ns;
    let expressions = facts.expressions_ns();
    let largest_ns = expressions.first().copied().unwrap_or(0);
    let ten_largest_ns = expressions.iter().take(TEN).copied().fold(0, u64::saturating_add);
    let small = shares.at_most(largest_ns.max(facts.outside_ns()), SPREAD_LARGEST_MAX);
    let parts_of_largest = |groups: Vec<Group>, share_min: f64| {
        let largest = groups.into_iter().next().filter(|group| shares.at_least(group.cpu_ns, share_min));
        largest.map(|group| group.parts.len() as u64)
    };
    if shares.at_least(largest_ns, ONE_PLACE_MIN) {
        Reason::OnePlace { cpu_ns }
    } else if let Some(expressions) = parts_of_largest(facts.lines(profile), ONE_LINE_MIN) {
        Reason::OneLine { expressions, cpu_ns }
    } else if let Some(lines) = parts_of_largest(facts.functions(profile), ONE_FUNCTION_MIN) {
        Reason::OneFunction { lines, cpu_ns }
    } else if cpu_ns > 0 && small && shares.at_most(ten_largest_ns, SPREAD_TEN_MAX) {
        Reason::Spread { largest_ns, ten_largest_ns, cpu_ns }
    } else {
        Reason::NoSingleCause { largest_ns, ten_largest_ns, cpu_ns }
    }
}
