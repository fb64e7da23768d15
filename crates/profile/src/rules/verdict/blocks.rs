//! Callbacks of asyncio's event loop that kept it from all others for long.
//! Owns: which steps those are. Never: adds steps up; each was proved to be one by the agent, and may have been longer.

use std::collections::BTreeMap;

use super::thresholds::BLOCKS_NS_MIN;
use crate::tables::own_code::event_loop::EventLoop;
use crate::tables::own_code::own_code;
use crate::tables::profile::{FrameIndex, NodeIndex, Profile, SampleGroup};
use genba_format::state::State;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    pub times: u64,
    pub longest_ns: u64,
    /// Where the longest was in the code that the loop was given to run: the call that its row is about.
    pub place: FrameIndex,
    /// Where the loop began with that code, in another function than the call is in.
    pub callback: Option<FrameIndex>,
}

/// Of a stack below the loop: the innermost and the outermost frame of the user's own, or of a library.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Given {
    place: FrameIndex,
    callback: FrameIndex,
}

impl Blocks {
    pub fn of(profile: &Profile) -> Option<Blocks> {
        let long = || profile.steps.iter().filter(|step| step.length_ns >= BLOCKS_NS_MIN);
        long().next()?;
        let event_loop = EventLoop::of(profile);
        let function = |frame: FrameIndex| profile.frames[frame].function;
        let mut steps = Vec::new();
        for step in long() {
            steps.extend(Given::of(profile, &event_loop, step.node).map(|given| (step.length_ns, given)));
        }
        let &(longest_ns, longest) = steps.iter().max()?;
        let is_in_it = |given: &Given| function(given.callback) == function(longest.callback);
        let in_steps_ns =
            steps.iter().filter(|(_, given)| is_in_it(given)).fold(0_u64, |sum, (ns, _)| sum.saturating_add(*ns));
        let (mut by_place, mut whole_ns) = (BTreeMap::<Given, u64>::new(), 0_u64);
        for group in &profile.samples {
            if let Some(given) = Given::of(profile, &event_loop, group.node).filter(is_in_it) {
                let sum_ns = by_place.entry(given).or_default();
                *sum_ns = sum_ns.saturating_add(kept_ns(group));
                whole_ns = whole_ns.saturating_add(kept_ns(group));
            }
        }
        // A step has one of its many stacks: the one of most of its time, if there is one. Where most of a function's time is in such steps,
        // its samples tell more, and also where all samples of the step's place are less than half of the step.
        let is_longest_elsewhere = by_place.get(&longest).is_none_or(|sum_ns| *sum_ns < longest_ns / 2);
        let heaviest = by_place.into_iter().max_by_key(|(_, sum_ns)| *sum_ns).map(|(given, _)| given);
        let given =
            heaviest.filter(|_| is_longest_elsewhere || whole_ns <= in_steps_ns.saturating_mul(2)).unwrap_or(longest);
        let (place, callback) = given.place_and_callback(profile);
        Some(Blocks { times: steps.len() as u64, longest_ns, place, callback })
    }
}

/// How long a sample kept the loop, as a step's length counts it: its CPU, or a wait for anything but a CPU and the GIL.
fn kept_ns(group: &SampleGroup) -> u64 {
    match group.state {
        State::WaitingForCpu | State::WaitingForGil => 0,
        state if state.is_waiting() => group.wall_ns,
        _ => group.cpu_ns,
    }
}

impl Given {
    /// None: no loop, or its own work.
    pub fn of(profile: &Profile, event_loop: &EventLoop, leaf: Option<NodeIndex>) -> Option<Given> {
        let given = event_loop.given(profile, leaf)?;
        let own = own_code(profile, event_loop, leaf);
        let outermost_own = own.given.checked_sub(1).and_then(|last| own.frames.get(last).copied());
        let callback = outermost_own.or_else(|| profile.stack(leaf).nth(given.checked_sub(1)?))?;
        Some(Given { place: own.deepest.unwrap_or(callback), callback })
    }

    /// The call, and where the loop began with that code: in another function than the call is in.
    pub fn place_and_callback(self, profile: &Profile) -> (FrameIndex, Option<FrameIndex>) {
        let Given { place, callback } = self;
        let is_other = profile.frames[callback].function != profile.frames[place].function;
        (place, is_other.then_some(callback))
    }
}
