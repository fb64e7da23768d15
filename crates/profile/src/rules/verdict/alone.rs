//! Loops of asyncio that a library runs for itself, in a thread of its own, with nothing else to run.
//! Owns: which steps are such a loop's wait. Never: leaves out a step that worked, one below code of the user's, or one of a main thread.

use foldhash::{HashMap, HashSet};

use super::given::Given;
use crate::tables::own_code::event_loop::EventLoop;
use crate::tables::own_code::{is_frame_of_library, own_code};
use crate::tables::profile::{FunctionIndex, NodeIndex, Profile, Step, ThreadIndex};

/// Of the threads that no main thread is.
pub(super) struct Alone<'p> {
    profile: &'p Profile,
    event_loop: &'p EventLoop,
    /// What the loop was seen to run in each.
    callbacks: HashMap<ThreadIndex, HashSet<FunctionIndex>>,
    /// CPU in each stack.
    cpu_ns: HashMap<(ThreadIndex, Option<NodeIndex>), u64>,
}

impl<'p> Alone<'p> {
    pub fn of(profile: &'p Profile, event_loop: &'p EventLoop) -> Alone<'p> {
        let mut alone = Alone { profile, event_loop, callbacks: HashMap::default(), cpu_ns: HashMap::default() };
        let mut seen = HashSet::default();
        for group in profile.samples.iter().filter(|group| !is_main(profile, group.thread)) {
            let cpu_ns = alone.cpu_ns.entry((group.thread, group.node)).or_default();
            *cpu_ns = cpu_ns.saturating_add(group.cpu_ns);
            if seen.insert((group.thread, group.node))
                && let Some(given) = Given::of(profile, event_loop, group.node)
            {
                alone.callbacks.entry(group.thread).or_default().insert(given.function(profile));
            }
        }
        alone
    }

    /// Whether the step waited in a library's loop that ran nothing else, so that no other task was kept.
    pub fn is(&self, step: &Step) -> bool {
        let cpu_ns = self.cpu_ns.get(&(step.thread, step.node)).copied().unwrap_or(0);
        let has_one = self.callbacks.get(&step.thread).is_some_and(|callbacks| callbacks.len() == 1);
        let own = own_code(self.profile, self.event_loop, step.node);
        let is_librarys = own.frames.iter().take(own.given).all(|frame| is_frame_of_library(self.profile, *frame));
        has_one && is_librarys && cpu_ns < step.length_ns / 2 && !is_main(self.profile, step.thread)
    }
}

fn is_main(profile: &Profile, thread: ThreadIndex) -> bool {
    let thread = &profile.threads[thread];
    thread.tid == profile.processes[thread.process].pid
}
