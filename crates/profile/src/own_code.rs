//! Which frames of a stack are the user's own code.
//! Owns: that rule. A sample stands for the deepest of them; without any, for the deepest Python frame. Below asyncio's event loop only
//! what the loop was given to run counts: who started the loop is on every task's stack, and is the place of none.

use crate::event_loop::EventLoop;
use crate::owner::Owner;
use crate::profile::{FileIndex, FrameIndex, FrameKind, Home, NodeIndex, Profile};

/// Innermost first.
pub struct OwnCode {
    /// What the sample stands for. None: no Python frame at all.
    pub deepest: Option<FrameIndex>,
    /// Above an event loop, too.
    pub frames: Vec<FrameIndex>,
}

pub fn own_code(profile: &Profile, event_loop: &EventLoop, leaf: Option<NodeIndex>) -> OwnCode {
    own_code_and(profile, event_loop, leaf, &|_| false)
}

/// The same where somebody counts some files as the user's own beside those that are.
pub fn own_code_and(
    profile: &Profile,
    event_loop: &EventLoop,
    leaf: Option<NodeIndex>,
    also: &dyn Fn(FileIndex) -> bool,
) -> OwnCode {
    let is_python = |frame: &FrameIndex| profile.frames[*frame].kind == FrameKind::Python;
    let python: Vec<FrameIndex> = profile.stack(leaf).filter(is_python).collect();
    // Code without a file (`<string>`) belongs to whoever runs it, unless it is the program itself (`python -c`).
    let program_without_file = python.last().is_some_and(|frame| without_file(profile, *frame));
    let is_own = |frame: &FrameIndex| {
        let function = profile.frames[*frame].function;
        let asked = matches!(profile.functions[function].home, Home::Python { file, .. } if also(file));
        let is_users = profile.owner_of(function) == Some(Owner::User);
        asked || is_users && (program_without_file || !without_file(profile, *frame))
    };
    let frames: Vec<FrameIndex> = python.iter().copied().filter(is_own).collect();
    let given = event_loop.given(profile, leaf).unwrap_or(usize::MAX);
    let below = profile.stack(leaf).take(given).filter(is_python).count();
    let own_below = python[..below].iter().find(|frame| is_own(frame));
    OwnCode { deepest: own_below.or(python.first()).copied(), frames }
}

fn without_file(profile: &Profile, frame: FrameIndex) -> bool {
    match profile.function_of(frame).home {
        Home::Python { file, .. } => {
            let path = &profile.files[file].path;
            path.starts_with('<') && !path.starts_with("<frozen ")
        }
        Home::C { .. } | Home::Mark => false,
    }
}
