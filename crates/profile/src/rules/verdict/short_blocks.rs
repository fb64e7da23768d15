//! Calls that keep asyncio's event loop from all others for a short time each, and together for much of the time.
//! Owns: which steps those are, and how much is much. Never: counts a step that used the CPU (the rows have it), or takes several for one.

use foldhash::HashMap;
use std::collections::BTreeMap;

use super::alone::Alone;
use super::blocks::{Blocks, Elsewhere, heaviest};
use super::given::Given;
use super::thresholds::{BLOCKS_NS_MIN, SHORT_BLOCK_NS_MIN, SHORT_BLOCKS_MIN};
use crate::tables::own_code::event_loop::EventLoop;
use crate::tables::profile::{NodeIndex, Profile, Step, ThreadIndex};
use crate::words::figures::share;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortBlocks {
    /// Of these times together.
    pub sum_ns: u64,
    /// At the call in which most of that time was.
    pub at: Blocks,
}

impl ShortBlocks {
    pub fn of(profile: &Profile) -> Option<ShortBlocks> {
        let short = || profile.steps.iter().filter(|step| is_short(step));
        short().next()?;
        let (event_loop, threads) = (EventLoop::of(profile), Threads::of(profile));
        let mut by_thread: BTreeMap<ThreadIndex, Vec<(u64, Given)>> = BTreeMap::new();
        let alone = Alone::of(profile, &event_loop);
        for step in short().filter(|step| threads.is_wait(step) && !alone.is(step)) {
            let given = Given::of(profile, &event_loop, step.node);
            by_thread.entry(step.thread).or_default().extend(given.map(|given| (step.length_ns, given)));
        }
        by_thread.retain(|thread, steps| threads.is_much(*thread, sum_ns(steps)));
        let steps: Vec<(u64, Given)> = by_thread.into_values().flatten().collect();
        let (given, _) = heaviest(steps.iter().map(|(length_ns, given)| (*given, *length_ns)))?;
        let is_there = |other: &Given| other.is_like(given, profile);
        let (there, others): (Vec<_>, Vec<_>) = steps.into_iter().partition(|(_, other)| is_there(other));
        let (place, callback) = given.place_and_callback(profile);
        let Elsewhere { times, longest_ns } = Elsewhere::of(&there)?;
        let at = Blocks { times, longest_ns, place, callback, elsewhere: Elsewhere::of(&others) };
        Some(ShortBlocks { sum_ns: sum_ns(&there), at })
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
