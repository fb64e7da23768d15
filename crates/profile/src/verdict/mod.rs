//! The verdict: why the program takes its time: a reason, places, figures and advice, which words.rs and json.rs say.
//! Owns: the rules, their order and their thresholds (docs/reading.md explains each). Never: hides a sample; whatever the
//! verdict, the rows below it are the same.

mod blocks;
mod facts;
mod groups;
pub mod json;
mod place;
pub mod words;

use crate::figures::share;
use crate::profile::Profile;
use crate::warnings::QUANTILE_95;
use crate::weight::{Weight, choose};
use facts::{Facts, StartUp};
use groups::Group;
use place::Finder;
use serde::Serialize;

pub use blocks::Blocks;
pub use place::{About, Advice, At, Holder, Import, Place, Wait};

/// A verdict rests on so much wall time, and on so many samples of what ran. How long a wait took is measured, however few samples it has.
const TIME_NS_MIN: u64 = 100_000_000;
const SAMPLES_MIN: u64 = 50;
/// Importing took so much of a process's wall time, in processes that used so much of the CPU.
const START_UP_MIN: f64 = 0.5;
const START_UP_CPU_MIN: f64 = 0.5;
/// Threads that had work waited for the GIL for so much of it.
const GIL_WAIT_MIN: f64 = 0.3;
/// Of the CPU: in the collector.
const GC_MIN: f64 = 0.2;
/// Of the CPU: on threads on which no Python runs.
const NATIVE_MIN: f64 = 0.3;
/// Of the CPU: in one expression, in the expressions of one line, of one function.
const ONE_PLACE_MIN: f64 = 0.4;
const ONE_LINE_MIN: f64 = 0.4;
const ONE_FUNCTION_MIN: f64 = 0.4;
/// Of the CPU: below a function that calls itself, at least so deep.
const RECURSION_MIN: f64 = 0.5;
const RECURSION_DEPTH_MIN: u64 = 3;
/// Of the CPU: the largest expression at most, and what runs outside of Python; and the ten largest together.
const SPREAD_LARGEST_MAX: f64 = 0.1;
const SPREAD_TEN_MAX: f64 = 0.5;
const TEN: usize = 10;
/// A share exceeds those two when it does so by its margin of 95 %; of fewer samples than these it is taken as it is.
const MARGIN_SAMPLES_MIN: f64 = 200.0;
/// A callback of an event loop blocks it when it takes so much CPU, or is so long in calls that block.
const BLOCKS_NS_MIN: u64 = 50_000_000;

/// Why, with the sums that its first line tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Reason {
    StartUp { processes: u64, wall_ns: u64, importing_ns: u64 },
    Waiting { wall_ns: u64, cpu_ns: u64, in_queue_ns: u64 },
    Gil { threads: u64, cpu_ns: u64, span_ns: u64, waited_ns: u64, wanting_ns: u64 },
    NativeThreads { threads: u64, native_cpu_ns: u64, cpu_ns: u64 },
    Gc { gc_cpu_ns: u64, cpu_ns: u64 },
    Recursion { depth_max: u64, cpu_ns: u64 },
    OnePlace { cpu_ns: u64 },
    OneLine { expressions: u64, cpu_ns: u64 },
    OneFunction { lines: u64, cpu_ns: u64 },
    Spread { largest_ns: u64, ten_largest_ns: u64, cpu_ns: u64 },
    NoSingleCause { largest_ns: u64, ten_largest_ns: u64, cpu_ns: u64 },
    TooShort { wall_ns: u64, samples: u64 },
}

impl Reason {
    /// As the verdict's line begins.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Reason::StartUp { .. } => "start-up",
            Reason::Waiting { .. } => "waiting",
            Reason::Gil { .. } => "GIL",
            Reason::Gc { .. } => "gc",
            Reason::NativeThreads { .. } => "native threads",
            Reason::Recursion { .. } => "recursion",
            Reason::OnePlace { .. } => "one place",
            Reason::OneLine { .. } => "one line",
            Reason::OneFunction { .. } => "one function",
            Reason::Spread { .. } => "spread",
            Reason::NoSingleCause { .. } => "no single cause",
            Reason::TooShort { .. } => "too short to judge",
        }
    }

    /// What the places' shares are of: wall time where the program waited, else CPU.
    #[must_use]
    pub const fn weight(self) -> Weight {
        match self {
            Reason::StartUp { .. } | Reason::Waiting { .. } => Weight::Wall,
            _ => Weight::Cpu,
        }
    }
}

/// The verdict as data; `words` says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub reason: Reason,
    /// What a share of 1 is: the wall time of all threads or of the processes that start up, or all CPU.
    pub whole_ns: u64,
    /// The place in the first line itself.
    pub lead: Option<Place>,
    /// Those below it.
    pub places: Vec<Place>,
    pub advice: Vec<Advice>,
    pub blocks: Option<Blocks>,
}

pub fn verdict(profile: &Profile) -> Verdict {
    let facts = Facts::of(profile);
    let reason = reason(profile, &facts);
    let found = Finder { profile, facts: &facts };
    Verdict {
        reason,
        whole_ns: found.whole_ns(reason),
        lead: found.lead(reason),
        places: found.places(reason),
        advice: found.advice(reason),
        blocks: Blocks::of(profile),
    }
}

fn reason(profile: &Profile, facts: &Facts) -> Reason {
    let cpu_ns = facts.whole.cpu_ns;
    let of_cpu = |part_ns: u64| share(part_ns, cpu_ns);
    let waits = choose(profile).weight == Weight::Wall;
    let native = || facts.native_threads().map(|(_, cpu_ns)| cpu_ns);
    let native_cpu_ns = native().fold(0, u64::saturating_add);
    let wall_ns = profile.wall_ns();
    if wall_ns < TIME_NS_MIN || !waits && facts.running_samples < SAMPLES_MIN {
        Reason::TooShort { wall_ns, samples: facts.running_samples }
    } else if let Some(StartUp { processes, wall_ns, importing_ns, .. }) = facts.start_up(profile) {
        Reason::StartUp { processes, wall_ns, importing_ns }
    } else if waits {
        Reason::Waiting { wall_ns, cpu_ns, in_queue_ns: facts.in_queue_ns }
    } else if facts.gil_threads() > 1 && share(facts.gil_wait_ns, facts.wanting_ns) >= GIL_WAIT_MIN {
        let (waited_ns, wanting_ns) = (facts.gil_wait_ns, facts.wanting_ns);
        Reason::Gil { threads: facts.gil_threads() as u64, cpu_ns, span_ns: profile.span_ns, waited_ns, wanting_ns }
    } else if of_cpu(native_cpu_ns) >= NATIVE_MIN {
        Reason::NativeThreads { threads: native().count() as u64, native_cpu_ns, cpu_ns }
    } else if of_cpu(facts.gc_cpu_ns) >= GC_MIN {
        Reason::Gc { gc_cpu_ns: facts.gc_cpu_ns, cpu_ns }
    } else if let Some((_, recursion)) = facts.deepest_recursion()
        && of_cpu(recursion.cpu_ns) >= RECURSION_MIN
    {
        Reason::Recursion { depth_max: recursion.depth_max, cpu_ns }
    } else {
        by_size(profile, facts)
    }
}

/// Whether one place has much of the CPU, and how large that place is.
fn by_size(profile: &Profile, facts: &Facts) -> Reason {
    let cpu_ns = facts.whole.cpu_ns;
    let of_cpu = |part_ns: u64| share(part_ns, cpu_ns);
    let expressions = facts.expressions_ns();
    let largest_ns = expressions.first().copied().unwrap_or(0);
    let ten_largest_ns = expressions.iter().take(TEN).copied().fold(0, u64::saturating_add);
    let margin = |share: f64| match facts.equal_samples() {
        equal if equal >= MARGIN_SAMPLES_MIN => QUANTILE_95 * (share * (1.0 - share) / equal).sqrt(),
        _ => 0.0,
    };
    let at_most = |share: f64, max: f64| share - margin(share) <= max;
    let small = at_most(of_cpu(largest_ns.max(facts.outside_ns())), SPREAD_LARGEST_MAX);
    let parts_of_largest = |groups: Vec<Group>, share_min: f64| {
        let largest = groups.into_iter().next().filter(|group| of_cpu(group.cpu_ns) >= share_min);
        largest.map(|group| group.parts.len() as u64)
    };
    if of_cpu(largest_ns) >= ONE_PLACE_MIN {
        Reason::OnePlace { cpu_ns }
    } else if let Some(expressions) = parts_of_largest(facts.lines(profile), ONE_LINE_MIN) {
        Reason::OneLine { expressions, cpu_ns }
    } else if let Some(lines) = parts_of_largest(facts.functions(profile), ONE_FUNCTION_MIN) {
        Reason::OneFunction { lines, cpu_ns }
    } else if cpu_ns > 0 && small && at_most(of_cpu(ten_largest_ns), SPREAD_TEN_MAX) {
        Reason::Spread { largest_ns, ten_largest_ns, cpu_ns }
    } else {
        Reason::NoSingleCause { largest_ns, ten_largest_ns, cpu_ns }
    }
}
