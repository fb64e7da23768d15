//! Threads that ended: what they used after their last sample, or without any, and whose stack that CPU time is given.
//! A thread is one of many alike where threads live for a request each. Which of them a tick meets is chance: so the CPU time of those that
//! none met running goes to the stack of the next one that one tick met, among those that began with the same function.
//! Owns: notes that belong to no known thread yet, and the CPU time that waits for such a stack. Never: asks the kernel, writes a sample.

use crate::system::threads::ends::End;
use genba_format::state::State;
use genba_format::{QUANTUM_NS, proto};
use rustc_hash::FxHashMap;

/// Ended threads with rows of their own that wait for a stack, of each function; what more there are stay as they were told.
const OWED_MAX: usize = 256;
/// Functions that threads begin with.
const BODIES_MAX: usize = 64;

/// What waits for a stack, of threads that began with one function.
#[derive(Default, Debug, PartialEq)]
pub struct Unmet {
    /// Of threads without a row.
    pub cpu_ns: u64,
    /// Of threads with one, as it was told at their end.
    pub owed: Vec<proto::ThreadClock>,
}

/// The one row of all threads that have none, with what it was last told.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub number: u32,
    told: (u64, u64),
}

#[derive(Default)]
pub struct Ended {
    /// Not known so far: listed only now, or never.
    unknown: Vec<End>,
    by_body: FxHashMap<u64, Unmet>,
    /// The stacks that were given last, of each function.
    given: FxHashMap<u64, (u32, State)>,
    /// Of threads without a row, in all.
    cpu_ns: u64,
    row: Option<Row>,
}

/// What the sampler says of a thread's id.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Now {
    /// A known thread, whose note this is.
    Known,
    /// It is about to go, and may still be listed.
    Going,
    Gone,
}

impl Ended {
    /// A thread has told its end.
    pub fn add(&mut self, end: End) {
        self.unknown.push(end);
    }

    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.unknown.is_empty()
    }

    /// Looks for each note's thread. The CPU time of one that is gone, and was never known, waits for a stack.
    pub fn settle(&mut self, mut now: impl FnMut(End) -> Now) {
        let mut unknown = std::mem::take(&mut self.unknown);
        unknown.retain(|&end| match now(end) {
            Now::Known => false,
            Now::Going => true,
            Now::Gone => {
                self.owe(end.body, end.cpu_ns);
                false
            }
        });
        self.unknown = unknown;
    }

    /// A thread without a row has ended.
    pub fn owe(&mut self, body: u64, cpu_ns: u64) {
        if let Some(unmet) = self.unmet(body) {
            unmet.cpu_ns += cpu_ns;
            self.cpu_ns += cpu_ns;
        }
    }

    /// One with a row has ended, and no tick met it running.
    pub fn owe_row(&mut self, body: u64, clock: proto::ThreadClock) {
        if clock.cpu_not_sampled_ns < QUANTUM_NS {
            return;
        }
        if let Some(unmet) = self.unmet(body).filter(|unmet| unmet.owed.len() < OWED_MAX) {
            unmet.owed.push(clock);
        }
    }

    /// One that began with that function has a stack: what waited for it. Less than a quantum waits on.
    #[must_use]
    pub fn take(&mut self, body: u64, node: u32, state: State) -> Option<Unmet> {
        if self.given.len() < BODIES_MAX || self.given.contains_key(&body) {
            self.given.insert(body, (node, state));
        }
        let unmet = self.by_body.get_mut(&body)?;
        let rest_ns = unmet.cpu_ns % QUANTUM_NS;
        let taken = std::mem::replace(unmet, Unmet { cpu_ns: rest_ns, ..Unmet::default() });
        Some(Unmet { cpu_ns: taken.cpu_ns - rest_ns, ..taken }).filter(|taken| *taken != Unmet::default())
    }

    /// At the end no further one comes: of each function the stack that was given last.
    #[must_use]
    pub fn last_given(&self) -> Vec<(u64, u32, State)> {
        self.given.iter().map(|(&body, &(node, state))| (body, node, state)).collect()
    }

    /// The row of threads without one, which `make` makes.
    pub fn row(&mut self, make: impl FnOnce() -> u32) -> u32 {
        self.row.get_or_insert_with(|| Row { number: make(), told: (0, 0) }).number
    }

    /// The clock of that row, where it is news: those of its threads in all, and what of that has no stack.
    pub fn clock(&mut self) -> Option<proto::ThreadClock> {
        let clocks = (self.cpu_ns, self.by_body.values().map(|unmet| unmet.cpu_ns).sum());
        let row = self.row.as_mut().filter(|row| row.told != clocks)?;
        row.told = clocks;
        let (cpu_ns, cpu_not_sampled_ns) = clocks;
        Some(proto::ThreadClock { thread: row.number, cpu_ns, cpu_not_sampled_ns, ..proto::ThreadClock::default() })
    }

    fn unmet(&mut self, body: u64) -> Option<&mut Unmet> {
        let has_room = self.by_body.len() < BODIES_MAX || self.by_body.contains_key(&body);
        has_room.then(|| self.by_body.entry(body).or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::{Ended, Now, OWED_MAX, Unmet};
    use crate::system::threads::ends::End;
    use genba_format::state::State;
    use genba_format::{QUANTUM_NS, proto};

    const BODY: u64 = 7;
    const MILLISECOND_NS: u64 = 1_000_000 / QUANTUM_NS * QUANTUM_NS;

    fn end(tid: u32, cpu_ns: u64) -> End {
        End { tid, cpu_ns, at_ns: 1, body: BODY }
    }

    fn clock(thread: u32, cpu_not_sampled_ns: u64) -> proto::ThreadClock {
        proto::ThreadClock { thread, cpu_not_sampled_ns, ended: true, ..proto::ThreadClock::default() }
    }

    #[test]
    fn what_no_tick_met_goes_to_the_next_of_its_kind_once() {
        let mut ended = Ended::default();
        ended.add(end(1, MILLISECOND_NS));
        ended.add(end(2, MILLISECOND_NS + 5));
        ended.add(end(3, 9 * MILLISECOND_NS));
        ended.settle(|end| match end.tid {
            1 => Now::Gone,
            2 => Now::Going,
            _ => Now::Known,
        });
        assert!(!ended.is_empty(), "one is still going");
        assert_eq!(ended.take(BODY + 1, 9, State::Running), None, "of another kind");
        ended.settle(|_| Now::Gone);
        assert!(ended.is_empty());
        assert_eq!(ended.clock(), None, "there is no row yet");
        assert_eq!(ended.take(BODY, 9, State::Running), Some(Unmet { cpu_ns: 2 * MILLISECOND_NS, owed: Vec::new() }));
        assert_eq!((ended.row(|| 4), ended.row(|| 5)), (4, 4));
        let told = ended.clock().unwrap();
        assert_eq!((told.thread, told.cpu_ns, told.cpu_not_sampled_ns), (4, 2 * MILLISECOND_NS + 5, 5));
        assert_eq!(
            (ended.clock(), ended.take(BODY, 9, State::Running)),
            (None, None),
            "the rest is less than a quantum"
        );
        ended.owe(BODY, QUANTUM_NS - 5);
        assert_eq!(ended.take(BODY, 9, State::Running), Some(Unmet { cpu_ns: QUANTUM_NS, owed: Vec::new() }));
        let mut last = ended.last_given();
        last.sort_unstable_by_key(|(body, ..)| *body);
        assert_eq!(last, [(BODY, 9, State::Running), (BODY + 1, 9, State::Running)]);
    }

    #[test]
    fn a_thread_with_a_row_keeps_its_own_time() {
        let mut ended = Ended::default();
        ended.owe_row(BODY, clock(3, QUANTUM_NS - 1));
        assert_eq!(ended.take(BODY, 9, State::Running), None, "no sample can tell so little");
        for thread in 0..OWED_MAX as u32 + 9 {
            ended.owe_row(BODY, clock(thread, MILLISECOND_NS));
        }
        let unmet = ended.take(BODY, 9, State::Running).unwrap();
        assert_eq!((unmet.cpu_ns, unmet.owed.len(), unmet.owed[2]), (0, OWED_MAX, clock(2, MILLISECOND_NS)));
    }
}
