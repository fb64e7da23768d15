//! What an event loop was given to run, of a stack below the loop.
//! Owns: the call in it, and where the loop began with it. Never: counts steps.

use crate::tables::own_code::event_loop::EventLoop;
use crate::tables::own_code::own_code;
use crate::tables::profile::{FrameIndex, FunctionIndex, NodeIndex, Profile};

/// Of a stack below the loop: the innermost and the outermost frame of the user's own, or of a library.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Given {
    place: FrameIndex,
    callback: FrameIndex,
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

    /// What the loop began with.
    pub fn function(self, profile: &Profile) -> FunctionIndex {
        profile.frames[self.callback].function
    }

    /// Whether the two are calls in the same function, and the loop began with the same one.
    pub fn is_like(self, other: Given, profile: &Profile) -> bool {
        let is_same = |one, two| profile.frames[one].function == profile.frames[two].function;
        is_same(self.place, other.place) && is_same(self.callback, other.callback)
    }

    /// The call, and where the loop began with that code: in another function than the call is in.
    pub fn place_and_callback(self, profile: &Profile) -> (FrameIndex, Option<FrameIndex>) {
        let Given { place, callback } = self;
        let is_other = profile.frames[callback].function != profile.frames[place].function;
        (place, is_other.then_some(callback))
    }
}
