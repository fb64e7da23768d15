//! Threads that waited for work to come, told beside what is judged.
//! Owns: which places are named. Never: decides which waits those are (`rules/waits/for_work.rs`).

use std::cmp::Reverse;

use super::facts::Facts;
use crate::tables::profile::FrameIndex;
use crate::words::figures::share;

/// So many places are named.
const PLACES_MAX: usize = 2;
const PLACE_MIN: f64 = 0.1;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitedForWork {
    pub wall_ns: u64,
    /// Of all threads.
    pub whole_ns: u64,
    pub threads: u64,
    /// An event loop of the program's waits for work, too.
    pub is_server: bool,
    /// Some of it was the wait of an event loop, which waits for what requests await, too.
    pub in_event_loop: bool,
    /// With the wall time of each, the longest first.
    pub places: Vec<(Option<FrameIndex>, u64)>,
}

impl WaitedForWork {
    pub(super) fn of(facts: &Facts) -> Option<WaitedForWork> {
        let whole_ns = facts.whole.wall_ns;
        let mut places: Vec<_> = facts.for_work.iter().map(|(frame, wait)| (*frame, wait.wall_ns)).collect();
        let wall_ns = places.iter().fold(0_u64, |sum, (_, wall_ns)| sum.saturating_add(*wall_ns));
        places.retain(|(_, part_ns)| share(*part_ns, whole_ns) >= PLACE_MIN);
        places.sort_unstable_by_key(|(frame, wall_ns)| (Reverse(*wall_ns), *frame));
        places.truncate(PLACES_MAX);
        let threads = facts.for_work.values().flat_map(|wait| &wait.threads).collect::<foldhash::HashSet<_>>();
        let (threads, is_server, in_event_loop) = (threads.len() as u64, facts.is_server, facts.in_event_loop);
        (wall_ns > 0).then_some(WaitedForWork { wall_ns, whole_ns, threads, is_server, in_event_loop, places })
    }
}
