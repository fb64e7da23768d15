//! Callbacks of asyncio's event loop that kept it from all others for long.
//! Owns: which steps those are. Never: adds steps up; each was proved to be one by the agent, and may have been longer.

use std::collections::BTreeMap;

use super::alone::Alone;
use super::given::Given;
use super::thresholds::BLOCKS_NS_MIN;
use crate::tables::own_code::event_loop::EventLoop;
use crate::tables::profile::{FrameIndex, Profile, SampleGroup};
use genba_format::state::State;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// Such steps at the place, and the longest of them.
    pub times: u64,
    pub longest_ns: u64,
    /// In the code that the loop was given to run, where such steps took most time: the call that its row is about.
    pub place: FrameIndex,
    /// Where the loop began with that code, in another function than the call is in.
    pub callback: Option<FrameIndex>,
    pub elsewhere: Option<Elsewhere>,
}

/// Such steps in other functions, or below others that the loop ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    pub times: u64,
    pub longest_ns: u64,
}

impl Blocks {
    pub fn of(profile: &Profile) -> Option<Blocks> {
        let long = || profile.steps.iter().filter(|step| step.length_ns >= BLOCKS_NS_MIN);
        long().next()?;
        let event_loop = EventLoop::of(profile);
        let alone = Alone::of(profile, &event_loop);
        let mut steps = Vec::new();
        for step in long().filter(|step| !alone.is(step)) {
            steps.extend(Given::of(profile, &event_loop, step.node).map(|given| (step.length_ns, given)));
        }
        let callback_of = |given: &Given| given.function(profile);
        let (callback, in_steps_ns) = heaviest(steps.iter().map(|(ns, given)| (callback_of(given), *ns)))?;
        let is_in_it = |given: &Given| callback_of(given) == callback;
        let in_it = steps.iter().filter(|(_, given)| is_in_it(given));
        let (lead, lead_ns) = heaviest(in_it.map(|(ns, given)| (*given, *ns)))?;
        let (mut by_place, mut whole_ns) = (BTreeMap::<Given, u64>::new(), 0_u64);
        for group in &profile.samples {
            if let Some(given) = Given::of(profile, &event_loop, group.node).filter(is_in_it) {
                let sum_ns = by_place.entry(given).or_default();
                *sum_ns = sum_ns.saturating_add(kept_ns(group));
                whole_ns = whole_ns.saturating_add(kept_ns(group));
            }
        }
        // A step has one of its many stacks: the one of most of its time, if there is one. Where most of a function's time is in such steps,
        // its samples tell more, and also where all samples of the steps' place are less than half of these steps.
        let is_lead_elsewhere = by_place.get(&lead).is_none_or(|sum_ns| *sum_ns < lead_ns / 2);
        let most = heaviest(by_place.into_iter()).map(|(given, _)| given);
        let given = most.filter(|_| is_lead_elsewhere || whole_ns <= in_steps_ns.saturating_mul(2)).unwrap_or(lead);
        let is_there = |other: &Given| other.is_like(given, profile);
        let (mut there, mut others): (Vec<_>, Vec<_>) = steps.into_iter().partition(|(_, other)| is_there(other));
        if there.is_empty() {
            // Only the samples tell that call: its steps are those of the function that the loop ran.
            (there, others) = others.into_iter().partition(|(_, other)| is_in_it(other));
        }
        let (place, callback) = given.place_and_callback(profile);
        let Elsewhere { times, longest_ns } = Elsewhere::of(&there)?;
        Some(Blocks { times, longest_ns, place, callback, elsewhere: Elsewhere::of(&others) })
    }
}

impl Elsewhere {
    /// None: no steps.
    pub(super) fn of(steps: &[(u64, Given)]) -> Option<Elsewhere> {
        let longest_ns = steps.iter().map(|(length_ns, _)| *length_ns).max()?;
        Some(Elsewhere { times: steps.len() as u64, longest_ns })
    }
}

/// The key with the largest sum, and that sum.
pub(super) fn heaviest<K: Ord>(parts: impl Iterator<Item = (K, u64)>) -> Option<(K, u64)> {
    let mut sums: BTreeMap<K, u64> = BTreeMap::new();
    for (key, part_ns) in parts {
        let sum_ns = sums.entry(key).or_default();
        *sum_ns = sum_ns.saturating_add(part_ns);
    }
    sums.into_iter().max_by_key(|(_, sum_ns)| *sum_ns)
}

/// How long a sample kept the loop, as a step's length counts it: its CPU, or a wait for anything but a CPU and the GIL.
fn kept_ns(group: &SampleGroup) -> u64 {
    match group.state {
        State::WaitingForCpu | State::WaitingForGil => 0,
        state if state.is_waiting() => group.wall_ns,
        _ => group.cpu_ns,
    }
}
