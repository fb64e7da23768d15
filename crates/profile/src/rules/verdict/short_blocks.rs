//! Calls that keep asyncio's event loop from all others for a short time each, and together for much of the time.
//! Owns: which steps those are, and how much is much. Never: counts a step that used the CPU (the rows have it), or takes several for one.

use foldhash::HashMap;
use std::collections::BTreeMap;

use super::blocks::Given;
use super::thresholds::{BLOCKS_NS_MIN, SHORT_BLOCK_NS_MIN, SHORT_BLOCKS_MIN};
use crate::tables::own_code::event_loop::EventLoop;
use crate::tables::profile::{FrameIndex, NodeIndex, Profile, Step, ThreadIndex};
use crate::words::figures::share;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortBlocks {
    pub times: u64,
    /// Of all these times together.
    pub sum_ns: u64,
    pub longest_ns: u64,
    /// The call in which most of it was.
    pub place: FrameIndex,
    /// Where the loop began with that code, in another function than the call is in.
    pub callback: Option<FrameIndex>,
}

impl ShortBlocks {
    pub fn of(profile: &Profile) -> Option<ShortBlocks> {
        let short = || profile.steps.iter().filter(|step| is_short(step));
        short().next()?;
        let (event_loop, threads) = (EventLoop::of(profile), Threads::of(profile));
        let mut by_thread: BTreeMap<ThreadIndex, Vec<(u64, Given)>> = BTreeMap::new();
        for step in short().filter(|step| threads.is_wait(step)) {
            let given = Given::of(profile, &event_loop, step.node);
            by_thread.entry(step.thread).or_default().extend(given.map(|given| (step.length_ns, given)));
        }
        by_thread.retain(|thread, steps| threads.is_much(*thread, sum_ns(steps)));
        let steps: Vec<(u64, Given)> = by_thread.into_values().flatten().collect();
        let longest_ns = steps.iter().map(|(length_ns, _)| *length_ns).max()?;
        let mut by_place: BTreeMap<Given, u64> = BTreeMap::new();
        for (length_ns, given) in &steps {
            let place_ns = by_place.entry(*given).or_default();
            *place_ns = place_ns.saturating_add(*length_ns);
        }
        let (heaviest, _) = by_place.into_iter().max_by_key(|(_, place_ns)| *place_ns)?;
        let (place, callback) = heaviest.place_and_callback(profile);
        Some(ShortBlocks { times: steps.len() as u64, sum_ns: sum_ns(&steps), longest_ns, place, callback })
    }
}

fn is_short(step: &Step) -> bool {
    (SHORT_BLOCK_NS_MIN..BLOCKS_NS_MIN).contains(&step.length_ns)
}

fn sum_ns(steps: &[(u64, Given)]) -> u64 {
    steps.iter().fold(0, |sum, (length_ns, _)| sum.saturating_add(*length_ns))
}

/// What the samples say of the threads that had steps.
#[derive(Default)]
struct Threads {
    wall_ns: HashMap<ThreadIndex, u64>,
    /// In each stack: waiting for anything but a CPU and the GIL, and CPU.
    stacks: HashMap<(ThreadIndex, Option<NodeIndex>), (u64, u64)>,
}

impl Threads {
    fn of(profile: &Profile) -> Threads {
        let mut threads = Threads::default();
        for group in &profile.samples {
            let wall_ns = threads.wall_ns.entry(group.thread).or_default();
            *wall_ns = wall_ns.saturating_add(group.wall_ns);
            let (waited_ns, cpu_ns) = threads.stacks.entry((group.thread, group.node)).or_default();
            *waited_ns = waited_ns.saturating_add(if group.state.is_waiting() { group.wall_ns } else { 0 });
            *cpu_ns = cpu_ns.saturating_add(group.cpu_ns);
        }
        threads
    }

    /// Most of the step was in a stack in which the thread waited.
    fn is_wait(&self, step: &Step) -> bool {
        self.stacks.get(&(step.thread, step.node)).is_some_and(|(waited_ns, cpu_ns)| waited_ns > cpu_ns)
    }

    fn is_much(&self, thread: ThreadIndex, blocked_ns: u64) -> bool {
        let wall_ns = self.wall_ns.get(&thread).copied().unwrap_or(0);
        blocked_ns >= BLOCKS_NS_MIN && share(blocked_ns, wall_ns) >= SHORT_BLOCKS_MIN
    }
}
