//! asyncio's event loop in a stack: where the loop ends and what it runs begins.
//! Owns: which calls are the loop's own. Never: takes a frame out; who leaves the loop's out says so.

use foldhash::HashSet;

use crate::tables::profile::{FrameIndex, FrameKind, FunctionIndex, Home, NodeIndex, Profile};

/// The functions of asyncio itself that a recording met.
#[derive(Debug, Default)]
pub struct EventLoop {
    /// `Handle._run`: below it is what the loop was given to run, a task's next step or a callback.
    runs: HashSet<FunctionIndex>,
    /// `BaseEventLoop._run_once`, which looks for callbacks and runs them.
    turns: HashSet<FunctionIndex>,
    /// All of the same folder.
    own: HashSet<FunctionIndex>,
}

const FILE: &str = "/asyncio/events.py";
const RUN: &str = "Handle._run";
const TURN: &str = "BaseEventLoop._run_once";

impl EventLoop {
    pub fn of(profile: &Profile) -> EventLoop {
        let path = |home: &Home| match home {
            Home::Python { file, .. } => Some(profile.files[*file].path.as_str()),
            Home::C { .. } | Home::Mark => None,
        };
        let mut folders: HashSet<&str> = HashSet::default();
        let mut found = EventLoop::default();
        for (index, function) in profile.functions.enumerate().filter(|(_, function)| function.name == RUN) {
            if let Some(path) = path(&function.home).filter(|path| path.ends_with(FILE)) {
                folders.insert(folder_of(path));
                found.runs.insert(index);
            }
        }
        let own = profile.functions.enumerate();
        let own =
            own.filter(|(_, function)| path(&function.home).is_some_and(|path| folders.contains(folder_of(path))));
        found.own = own.map(|(index, _)| index).collect();
        let is_turn = |index: &FunctionIndex| profile.functions[*index].name == TURN;
        found.turns = found.own.iter().copied().filter(is_turn).collect();
        found
    }

    /// How many frames of a stack, from the innermost on, belong to what the loop runs: those from the outermost Python function
    /// below it on that is not asyncio's own. `None`: there is none, or no loop; the outermost counts where one runs another.
    pub fn given(&self, profile: &Profile, leaf: Option<NodeIndex>) -> Option<usize> {
        if self.runs.is_empty() {
            return None;
        }
        let (mut outermost, mut given) = (None, None);
        for (position, frame) in profile.stack(leaf).enumerate() {
            let frame = &profile.frames[frame];
            if frame.kind != FrameKind::Python {
                continue;
            }
            if self.runs.contains(&frame.function) {
                given = outermost;
            } else if !self.own.contains(&frame.function) {
                outermost = Some(position + 1);
            }
        }
        given
    }

    /// Where a stack is in the loop's own work, such as a transport that reads from its socket: the innermost frame of the loop that calls it.
    /// `None`: no loop, or what the loop was given to run.
    pub fn itself(&self, profile: &Profile, leaf: Option<NodeIndex>) -> Option<FrameIndex> {
        for frame in profile.stack(leaf) {
            let row = &profile.frames[frame];
            if self.runs.contains(&row.function) || self.turns.contains(&row.function) {
                return self.given(profile, leaf).is_none().then_some(frame);
            }
        }
        None
    }
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}
