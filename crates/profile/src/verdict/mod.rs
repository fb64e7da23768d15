//! The verdict: why the program takes its time, in one line that begins with the name of the reason.
//! Owns: the rules, their order and their thresholds (docs/reading.md explains each). Never: hides a sample; whatever the
//! verdict, the rows below it are the same.

mod blocks;
mod facts;
mod groups;
mod words;

use crate::figures::share;
use crate::profile::Profile;
use crate::warnings::QUANTILE_95;
use crate::weight::{Weight, choose};
use facts::Facts;
use groups::Group;

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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    StartUp,
    Waiting,
    Gil,
    Gc,
    NativeThreads,
    Recursion,
    OnePlace,
    OneLine,
    OneFunction,
    Spread,
    NoSingleCause,
    TooShort,
}

impl Reason {
    /// As the verdict's line begins.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Reason::StartUp => "start-up",
            Reason::Waiting => "waiting",
            Reason::Gil => "GIL",
            Reason::Gc => "gc",
            Reason::NativeThreads => "native threads",
            Reason::Recursion => "recursion",
            Reason::OnePlace => "one place",
            Reason::OneLine => "one line",
            Reason::OneFunction => "one function",
            Reason::Spread => "spread",
            Reason::NoSingleCause => "no single cause",
            Reason::TooShort => "too short to judge",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub reason: Reason,
    /// What follows `NAME: ` on the first line.
    pub words: String,
    /// The lines below it: places, and what to do.
    pub details: Vec<String>,
}

pub fn verdict(profile: &Profile) -> Verdict {
    let facts = Facts::of(profile);
    let reason = reason(profile, &facts);
    words::verdict(profile, &facts, reason)
}

fn reason(profile: &Profile, facts: &Facts) -> Reason {
    let cpu_ns = facts.whole.cpu_ns;
    let of_cpu = |part_ns: u64| share(part_ns, cpu_ns);
    let waits = choose(None, profile).weight == Weight::Wall;
    if profile.wall_ns() < TIME_NS_MIN || !waits && facts.running_samples < SAMPLES_MIN {
        Reason::TooShort
    } else if facts.start_up(profile).is_some() {
        Reason::StartUp
    } else if waits {
        Reason::Waiting
    } else if facts.gil_threads() > 1 && share(facts.gil_wait_ns, facts.wanting_ns) >= GIL_WAIT_MIN {
        Reason::Gil
    } else if of_cpu(facts.native_threads().map(|(_, cpu_ns)| cpu_ns).sum()) >= NATIVE_MIN {
        Reason::NativeThreads
    } else if of_cpu(facts.gc_cpu_ns) >= GC_MIN {
        Reason::Gc
    } else if facts.deepest_recursion().is_some_and(|(_, recursion)| of_cpu(recursion.cpu_ns) >= RECURSION_MIN) {
        Reason::Recursion
    } else {
        let expressions = facts.expressions_ns();
        let largest = of_cpu(expressions.first().copied().unwrap_or(0));
        let ten = of_cpu(expressions.iter().take(TEN).sum());
        let margin = |share: f64| match facts.equal_samples() {
            equal if equal >= MARGIN_SAMPLES_MIN => QUANTILE_95 * (share * (1.0 - share) / equal).sqrt(),
            _ => 0.0,
        };
        let at_most = |share: f64, max: f64| share - margin(share) <= max;
        let small = at_most(largest.max(of_cpu(facts.outside_ns())), SPREAD_LARGEST_MAX);
        let of_largest = |groups: Vec<Group>| of_cpu(groups.first().map_or(0, |group| group.cpu_ns));
        if largest >= ONE_PLACE_MIN {
            Reason::OnePlace
        } else if of_largest(facts.lines(profile)) >= ONE_LINE_MIN {
            Reason::OneLine
        } else if of_largest(facts.functions(profile)) >= ONE_FUNCTION_MIN {
            Reason::OneFunction
        } else if cpu_ns > 0 && small && at_most(ten, SPREAD_TEN_MAX) {
            Reason::Spread
        } else {
            Reason::NoSingleCause
        }
    }
}
