//! Threads that ended: what they used after their last sample, or without any, and whose stack that CPU time is given.
//! Where threads live for a request each, many are alike, and chance decides which of them a tick meets. So the CPU time of those that no tick met
//! running goes to the stacks of those of their kind that a tick or two met. Threads are of one kind that began with the same function.
//! Longer ones are met more often, so that each time one is met stands for as much, in a block, as far as the others' time goes: one that ran
//! itself for long gets less of it.
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

/// One tick met it, and it ended then.
#[derive(Clone, Copy, Debug)]
struct MetOnce {
    met: Met,
    at_ns: u64,
    /// All that it used itself, divided by the ticks that met it.
    cpu_ns: u64,
}

/// CPU time of threads that no tick met, with the stack that it goes to.
#[derive(Clone, PartialEq, Debug)]
pub struct Given {
    pub met: Met,
    pub at_ns: u64,
    pub quanta: u64,
    /// The thread's row as it was told at its end. `None`: of threads without a row.
    pub owed: Option<proto::ThreadClock>,
}

#[derive(Default)]
struct Kind {
    /// Of threads without a row, none of which a tick met.
    cpu_ns: u64,
    /// Those with one, as they were told at their end.
    owed: Vec<proto::ThreadClock>,
    /// In this block, in the order of their ends.
    met: Vec<MetOnce>,
    /// The newest of all.
    last_met: Option<MetOnce>,
}

impl Kind {
    /// What waits goes to those that were met in this block. Less than a quantum waits on.
    fn give(&mut self, given: &mut Vec<Given>) {
        let met = std::mem::take(&mut self.met);
        let mut totals_ns: Vec<u64> = met.iter().map(|one| one.cpu_ns).collect();
        let mut give = |index: usize, quanta: u64, owed: Option<proto::ThreadClock>| {
            let MetOnce { met, at_ns, .. } = met[index];
            given.push(Given { met, at_ns, quanta, owed });
        };
        // A row is not divided.
        for clock in self.owed.drain(..) {
            let Some((index, total_ns)) = totals_ns.iter_mut().enumerate().min_by_key(|(_, total_ns)| **total_ns)
            else {
                return;
            };
            *total_ns += clock.cpu_not_sampled_ns;
            give(index, clock.cpu_not_sampled_ns / QUANTUM_NS, Some(clock));
        }
        let level_ns = level_ns(&totals_ns, self.cpu_ns);
        for (index, total_ns) in totals_ns.iter().enumerate() {
            let is_last = index + 1 == totals_ns.len();
            let share_ns = if is_last { self.cpu_ns } else { level_ns.saturating_sub(*total_ns).min(self.cpu_ns) };
            let quanta = share_ns / QUANTUM_NS;
            self.cpu_ns -= quanta * QUANTUM_NS;
            if quanta > 0 {
                give(index, quanta, None);
            }
        }
    }
}

/// How high all of them come when `more_ns` are shared out such that the lowest come first.
fn level_ns(totals_ns: &[u64], more_ns: u64) -> u64 {
    let mut sorted_ns = totals_ns.to_vec();
    sorted_ns.sort_unstable();
    let (mut level_ns, mut sum_ns) = (0, more_ns);
    for (count, total_ns) in (1..).zip(sorted_ns) {
        if count > 1 && total_ns >= level_ns {
            break;
        }
        sum_ns += total_ns;
        level_ns = sum_ns / count;
    }
    level_ns
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
            kind.cpu_ns += cpu_ns;
            self.cpu_ns += cpu_ns;
        }
    }

    /// One with a row has ended, and no tick met it running.
    pub fn owe_row(&mut self, body: u64, clock: proto::ThreadClock) {
        if clock.cpu_not_sampled_ns < QUANTUM_NS {
            return;
        }
        if let Some(kind) = self.kind(body).filter(|kind| kind.owed.len() < OWED_MAX) {
            kind.owed.push(clock);
        }
    }

    /// One of that kind has ended that so many ticks met.
    pub fn meet(&mut self, end: End, met: &[Met]) {
        let cpu_ns = end.cpu_ns / met.len() as u64;
        let Some(kind) = self.kind(end.body) else { return };
        for &met in met {
            let one = MetOnce { met, at_ns: end.at_ns, cpu_ns };
            kind.met.push(one);
            kind.last_met = Some(one);
        }
    }

    /// A block ends: what waited for a stack. With the last block, which ends there, the newest of all has what still waits.
    pub fn give(&mut self, last_ns: Option<u64>) -> Vec<Given> {
        let mut given = Vec::new();
        for kind in self.kinds.values_mut() {
            if let Some(at_ns) = last_ns.filter(|_| kind.met.is_empty()) {
                kind.met.extend(kind.last_met.map(|one| MetOnce { at_ns, ..one }));
            }
            if !kind.met.is_empty() {
                kind.give(&mut given);
            }
        }
        given.sort_by_key(|one| one.at_ns);
        given
    }

    /// The row of threads without one, which `make` makes.
    pub fn row(&mut self, make: impl FnOnce() -> u32) -> u32 {
        self.row.get_or_insert_with(|| Row { number: make(), told: (0, 0) }).number
    }

    /// The clock of that row, where it is news: those of its threads in all, and what of that has no stack.
    pub fn clock(&mut self) -> Option<proto::ThreadClock> {
        let clocks = (self.cpu_ns, self.kinds.values().map(|kind| kind.cpu_ns).sum());
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
    use super::{Ended, Given, Met, OWED_MAX, Whereabouts, level_ns};
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

    fn meet(ended: &mut Ended, cpu_ns: u64, at_ns: u64, times: usize) {
        ended.meet(End { at_ns, ..end(5, cpu_ns) }, &[MET; 2][..times]);
    }

    fn given(ended: &mut Ended, last_ns: Option<u64>) -> Vec<(u64, u64)> {
        ended.give(last_ns).iter().map(|one| (one.at_ns, one.quanta * QUANTUM_NS)).collect()
    }

    #[test]
    fn what_no_tick_met_goes_once_to_one_of_its_kind_that_a_tick_met() {
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
        ended.meet(End { body: BODY + 1, ..end(4, MILLISECOND_NS) }, &[MET]);
        assert_eq!(ended.give(None), [], "of another kind");
        ended.settle(|_| Whereabouts::Gone);
        assert!(ended.is_settled());
        assert_eq!(ended.clock(), None, "there is no row yet");
        meet(&mut ended, 9 * MILLISECOND_NS, 4, 1);
        let whole = Given { met: MET, at_ns: 4, quanta: 2 * MILLISECOND_NS / QUANTUM_NS, owed: None };
        assert_eq!(ended.give(None), [whole]);
        assert_eq!((ended.row(|| 4), ended.row(|| 5)), (4, 4));
        let told = ended.clock().unwrap();
        assert_eq!((told.thread, told.cpu_ns, told.cpu_not_sampled_ns), (4, 2 * MILLISECOND_NS + 5, 5));
        assert_eq!(ended.clock(), None);
        meet(&mut ended, MILLISECOND_NS, 5, 1);
        assert_eq!(ended.give(None), [], "the rest is less than a quantum");
        ended.owe(BODY, QUANTUM_NS - 5);
        assert_eq!(ended.give(None), [], "no tick met one since then");
        assert_eq!(given(&mut ended, Some(9)), [(9, QUANTUM_NS)], "at the end the newest that was met");
    }

    #[test]
    fn those_that_were_met_stand_for_as_much_each() {
        let mut ended = Ended::default();
        for (at_ns, own) in [(1, 4), (2, 1), (3, 9), (4, 2)] {
            meet(&mut ended, own * MILLISECOND_NS, at_ns, 1);
        }
        ended.owe(BODY, 8 * MILLISECOND_NS);
        assert_eq!(
            given(&mut ended, None),
            [(1, MILLISECOND_NS), (2, 4 * MILLISECOND_NS), (4, 3 * MILLISECOND_NS)],
            "the longest has enough"
        );
        assert_eq!(level_ns(&[], 5), 0);
        assert_eq!(level_ns(&[7], 5), 12);
        assert_eq!(level_ns(&[7, 1, 30], 0), 1);
        assert_eq!(level_ns(&[7, 1, 30], 6), 7);
        assert_eq!(level_ns(&[7, 1, 30], 45), 26);
        assert_eq!(level_ns(&[7, 1, 30], 60), 32);
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
        meet(&mut ended, 0, 1, 1);
        assert_eq!(ended.give(None), [], "no sample can tell so little");
        for thread in 0..OWED_MAX as u32 + 9 {
            ended.owe_row(BODY, clock(thread, MILLISECOND_NS));
        }
        meet(&mut ended, 0, 2, 1);
        meet(&mut ended, 1, 3, 1);
        let given = ended.give(None);
        assert_eq!((given.len(), given[1].owed), (OWED_MAX, Some(clock(2, MILLISECOND_NS))));
        assert_eq!(given.iter().filter(|one| one.at_ns == 2).count(), OWED_MAX / 2, "by turns");
    }
}
