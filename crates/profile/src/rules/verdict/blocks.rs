//! Callbacks of asyncio's event loop that kept it from all others for long.
//! Owns: which steps those are. Never: adds steps up; each was proved to be one by the agent, and may have been longer.

use super::thresholds::BLOCKS_NS_MIN;
use crate::tables::own_code::event_loop::EventLoop;
use crate::tables::own_code::own_code;
use crate::tables::profile::{FrameIndex, NodeIndex, Profile};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    pub times: u64,
    pub longest_ns: u64,
    /// Where the longest was in the code that the loop was given to run: the call that its row is about.
    pub place: FrameIndex,
    /// Where the loop began with that code, in another function than the call is in.
    pub callback: Option<FrameIndex>,
}

impl Blocks {
    pub fn of(profile: &Profile) -> Option<Blocks> {
        let long = || profile.steps.iter().filter(|step| step.length_ns >= BLOCKS_NS_MIN);
        long().next()?;
        let event_loop = EventLoop::of(profile);
        let mut places = Vec::new();
        for step in long() {
            places.extend(place(profile, &event_loop, step.node).map(|place| (step.length_ns, place)));
        }
        let &(longest_ns, (place, callback)) = places.iter().max()?;
        let function = |frame: FrameIndex| profile.frames[frame].function;
        let callback = (function(callback) != function(place)).then_some(callback);
        Some(Blocks { times: places.len() as u64, longest_ns, place, callback })
    }
}

/// The innermost and the outermost frame of the user's own that the loop was given to run, or of a library. None: no loop, or its own work.
fn place(profile: &Profile, event_loop: &EventLoop, leaf: Option<NodeIndex>) -> Option<(FrameIndex, FrameIndex)> {
    let given = event_loop.given(profile, leaf)?;
    let own = own_code(profile, event_loop, leaf);
    let outermost_own = own.given.checked_sub(1).and_then(|last| own.frames.get(last).copied());
    let outermost = outermost_own.or_else(|| profile.stack(leaf).nth(given.checked_sub(1)?))?;
    Some((own.deepest.unwrap_or(outermost), outermost))
}
