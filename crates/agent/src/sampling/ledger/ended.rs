//! Threads that ended: what they used after their last sample, or without any, and whose stack that CPU time is given.
//! Where threads live for a request each, many are alike, and chance decides which of them a tick meets. So the CPU time of those that no tick met
//! running goes to the stack of the next one of their kind that one tick met. Threads are of one kind that began with the same function.
//! Owns: notes that belong to no known thread yet, and the CPU time that waits for such a stack. Never: asks the kernel, writes a sample.

use crate::system::threads::ends::End;
use genba_format::state::State;
use genba_format::{QUANTUM_NS, proto};
use rustc_hash::FxHashMap;

/// Ended threads with rows of their own that wait for a stack, of each kind; what more there are stay as they were told.
const OWED_MAX: usize = 256;
/// Kinds of threads: the functions that they begin with.
const KINDS_MAX: usize = 64;

/// Where a tick met a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Met {
    pub node: u32,
    pub state: State,
}

/// What waits for a stack, of threads of one kind.
#[derive(Default, Debug, PartialEq)]
pub struct Unmet {
    /// Of threads without a row.
    pub cpu_ns: u64,
    /// Of threads with one, as it was told at their end.
    pub owed: Vec<proto::ThreadClock>,
}

#[derive(Default)]
struct Kind {
    unmet: Unmet,
    /// Of the newest thread that one tick met.
    met: Option<Met>,
}

/// The one row of all threads that have none, with what it was last told.
#[derive(Clone, Copy, Debug)]
struct Row {
    number: u32,
    told: (u64, u64),
}

#[derive(Default)]
pub struct Ended {
    /// Not known so far: listed only now, or never.
    unknown: Vec<End>,
    kinds: FxHashMap<u64, Kind>,
    /// Of threads without a row, in all.
    cpu_ns: u64,
    row: Option<Row>,
}

/// Where a thread is that told its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Whereabouts {
    /// Among the known threads, which have its note now.
    Known,
    /// About to go, and may still be listed.
    Going,
    Gone,
}

impl Ended {
    /// A thread has told its end.
    pub fn add(&mut self, end: End) {
        self.unknown.push(end);
    }

    #[must_use]
    pub const fn is_settled(&self) -> bool {
        self.unknown.is_empty()
    }

    /// Looks for each note's thread. The CPU time of one that is gone, and was never known, waits for a stack.
    pub fn settle(&mut self, mut look: impl FnMut(End) -> Whereabouts) {
        let mut unknown = std::mem::take(&mut self.unknown);
        unknown.retain(|&end| match look(end) {
            Whereabouts::Known => false,
            Whereabouts::Going => true,
            Whereabouts::Gone => {
                self.owe(end.body, end.cpu_ns);
                false
            }
        });
        self.unknown = unknown;
    }

    /// Nothing is looked at for a while: of threads that are about to go nobody will know whether another has their number.
    pub fn forget_unknown(&mut self) {
        self.unknown.clear();
    }

    /// A thread without a row has ended.
    pub fn owe(&mut self, body: u64, cpu_ns: u64) {
        if let Some(kind) = self.kind(body) {
            kind.unmet.cpu_ns += cpu_ns;
            self.cpu_ns += cpu_ns;
        }
    }

    /// One with a row has ended, and no tick met it running.
    pub fn owe_row(&mut self, body: u64, clock: proto::ThreadClock) {
        if clock.cpu_not_sampled_ns < QUANTUM_NS {
            return;
        }
        if let Some(kind) = self.kind(body).filter(|kind| kind.unmet.owed.len() < OWED_MAX) {
            kind.unmet.owed.push(clock);
        }
    }

    /// One of that kind was met by one tick: what waited for its stack. Less than a quantum waits on.
    #[must_use]
    pub fn take(&mut self, body: u64, met: Met) -> Option<Unmet> {
        let kind = self.kind(body)?;
        kind.met = Some(met);
        let rest_ns = kind.unmet.cpu_ns % QUANTUM_NS;
        let taken = std::mem::replace(&mut kind.unmet, Unmet { cpu_ns: rest_ns, ..Unmet::default() });
        Some(Unmet { cpu_ns: taken.cpu_ns - rest_ns, ..taken }).filter(|taken| *taken != Unmet::default())
    }

    /// At the end no further one comes: the newest that was met, of each kind.
    #[must_use]
    pub fn last_met(&self) -> Vec<(u64, Met)> {
        self.kinds.iter().filter_map(|(&body, kind)| Some((body, kind.met?))).collect()
    }

    /// The row of threads without one, which `make` makes.
    pub fn row(&mut self, make: impl FnOnce() -> u32) -> u32 {
        self.row.get_or_insert_with(|| Row { number: make(), told: (0, 0) }).number
    }

    /// The clock of that row, where it is news: those of its threads in all, and what of that has no stack.
    pub fn clock(&mut self) -> Option<proto::ThreadClock> {
        let clocks = (self.cpu_ns, self.kinds.values().map(|kind| kind.unmet.cpu_ns).sum());
        let row = self.row.as_mut().filter(|row| row.told != clocks)?;
        row.told = clocks;
        let (cpu_ns, cpu_not_sampled_ns) = clocks;
        Some(proto::ThreadClock { thread: row.number, cpu_ns, cpu_not_sampled_ns, ..proto::ThreadClock::default() })
    }

    fn kind(&mut self, body: u64) -> Option<&mut Kind> {
        let has_room = self.kinds.len() < KINDS_MAX || self.kinds.contains_key(&body);
        has_room.then(|| self.kinds.entry(body).or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::{Ended, Met, OWED_MAX, Unmet, Whereabouts};
    use crate::system::threads::ends::End;
    use genba_format::state::State;
    use genba_format::{QUANTUM_NS, proto};

    const BODY: u64 = 7;
    const MET: Met = Met { node: 9, state: State::Running };
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
            1 => Whereabouts::Gone,
            2 => Whereabouts::Going,
            _ => Whereabouts::Known,
        });
        assert!(!ended.is_settled(), "one is still going");
        assert_eq!(ended.take(BODY + 1, MET), None, "of another kind");
        ended.settle(|_| Whereabouts::Gone);
        assert!(ended.is_settled());
        assert_eq!(ended.clock(), None, "there is no row yet");
        assert_eq!(ended.take(BODY, MET), Some(Unmet { cpu_ns: 2 * MILLISECOND_NS, owed: Vec::new() }));
        assert_eq!((ended.row(|| 4), ended.row(|| 5)), (4, 4));
        let told = ended.clock().unwrap();
        assert_eq!((told.thread, told.cpu_ns, told.cpu_not_sampled_ns), (4, 2 * MILLISECOND_NS + 5, 5));
        assert_eq!((ended.clock(), ended.take(BODY, MET)), (None, None), "the rest is less than a quantum");
        ended.owe(BODY, QUANTUM_NS - 5);
        assert_eq!(ended.take(BODY, MET), Some(Unmet { cpu_ns: QUANTUM_NS, owed: Vec::new() }));
        let mut last = ended.last_met();
        last.sort_unstable_by_key(|(body, _)| *body);
        assert_eq!(last, [(BODY, MET), (BODY + 1, MET)]);
    }

    #[test]
    fn a_pause_forgets_who_is_going_and_keeps_the_row() {
        let mut ended = Ended::default();
        ended.owe(BODY, MILLISECOND_NS);
        ended.row(|| 4);
        ended.add(end(2, MILLISECOND_NS));
        ended.settle(|_| Whereabouts::Going);
        ended.forget_unknown();
        assert!(ended.is_settled());
        let told = ended.clock().unwrap();
        assert_eq!((told.thread, told.cpu_ns, told.cpu_not_sampled_ns), (4, MILLISECOND_NS, MILLISECOND_NS));
    }

    #[test]
    fn a_thread_with_a_row_keeps_its_own_time() {
        let mut ended = Ended::default();
        ended.owe_row(BODY, clock(3, QUANTUM_NS - 1));
        assert_eq!(ended.take(BODY, MET), None, "no sample can tell so little");
        for thread in 0..OWED_MAX as u32 + 9 {
            ended.owe_row(BODY, clock(thread, MILLISECOND_NS));
        }
        let unmet = ended.take(BODY, MET).unwrap();
        assert_eq!((unmet.cpu_ns, unmet.owed.len(), unmet.owed[2]), (0, OWED_MAX, clock(2, MILLISECOND_NS)));
    }
}
