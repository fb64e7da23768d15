//! Which threads the program has: who began since the last listing, by the numbers that the kernel lists.
//! Owns: the last listing, and whether it is out of date. Never: makes a system call (Kernel does), takes in the sampler's own thread, or
//! two threads with one id. Those that ended are noticed at their next look, and so is another thread with the id of one that ended.

use crate::system::proc;
use crate::system::tasks::Tasks;
use rustc_hash::{FxHashMap, FxHashSet};

const LIST_EVERY_NS: u64 = 250_000_000;
/// Between two readings of the list of threads passes so much time for each thread in it, when threads come and go.
const LIST_NS_PER_THREAD: u64 = 50_000;

/// What the kernel tells of this process's threads.
pub trait Kernel {
    /// The numbers of all threads.
    fn numbers(&self, out: &mut Vec<u32>);
    /// The calling thread's number.
    fn own(&self) -> u32;
    /// The number of the process's first thread.
    fn first(&self) -> u32;
    /// Whether numbers are thread ids.
    fn are_tids(&self) -> bool;
    /// The thread id behind a number. `None`: the thread is gone.
    fn tid(&self, number: u32) -> Option<u32>;
    /// A thread's clock. `None`: the thread is gone.
    fn cpu_ns(&self, tid: u32) -> Option<u64>;
}

impl Kernel for Tasks {
    fn numbers(&self, out: &mut Vec<u32>) {
        Tasks::numbers(self, out);
    }

    fn own(&self) -> u32 {
        Tasks::own(self)
    }

    fn first(&self) -> u32 {
        Tasks::first(self)
    }

    fn are_tids(&self) -> bool {
        Tasks::are_tids(self)
    }

    fn tid(&self, number: u32) -> Option<u32> {
        Tasks::tid(self, number)
    }

    fn cpu_ns(&self, tid: u32) -> Option<u64> {
        proc::thread_cpu_ns(tid)
    }
}

/// A thread that is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ids {
    pub tid: u32,
    /// In the kernel's listing.
    pub number: u32,
}

/// A thread that began, with its clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Began {
    pub ids: Ids,
    pub cpu_ns: u64,
}

#[derive(Default)]
pub struct Roster {
    /// Of the last listing.
    numbers: Vec<u32>,
    /// The numbers of the threads that were known before it.
    known: FxHashSet<u32>,
    listed_ns: u64,
    /// How many threads the last listing had; `None`: it is out of date.
    counted: Option<u64>,
    /// When the kernel was last asked for it.
    counted_ns: u64,
}

impl Roster {
    /// Whether the threads are to be listed. The kernel's count tells on each tick whether one began or ended.
    pub fn is_due(&mut self, now_ns: u64, threads: usize, count: impl FnOnce() -> Option<u64>) -> bool {
        let passed_ns = now_ns - self.listed_ns;
        if passed_ns < (threads as u64 * LIST_NS_PER_THREAD).min(LIST_EVERY_NS) {
            return false;
        }
        self.counted_ns = now_ns;
        let count = count();
        passed_ns >= LIST_EVERY_NS || count.is_none() || count != self.counted
    }

    /// Whether the kernel was not asked for its count since that moment.
    #[must_use]
    pub const fn was_counted_by(&self, at_ns: u64) -> bool {
        self.counted_ns <= at_ns
    }

    /// Whether the threads were listed no longer ago than that.
    #[must_use]
    pub const fn was_listed_within(&self, now_ns: u64, within_ns: u64) -> bool {
        now_ns.saturating_sub(self.listed_ns) < within_ns
    }

    /// A known thread has ended: another may have taken its place, so that the count tells nothing.
    pub const fn one_ended(&mut self) {
        self.counted = None;
    }

    /// There will be no listing now, but one was due.
    pub const fn not_listed(&mut self, now_ns: u64) {
        self.listed_ns = now_ns;
    }

    /// Lists the threads. How many there are: each position may hold one that began.
    pub fn list(&mut self, now_ns: u64, kernel: &impl Kernel, known: impl Iterator<Item = Ids>) -> usize {
        self.listed_ns = now_ns;
        kernel.numbers(&mut self.numbers);
        // Those of the list, not the kernel's count: one that ended between the two would be missed for as long as another takes its place.
        self.counted = Some(self.numbers.len() as u64);
        self.known.clear();
        self.known.extend(known.map(|ids| ids.number));
        self.numbers.len()
    }

    /// The thread at that position of the last listing, if it began since the listing before. `known`: with those that began at the
    /// positions before.
    pub fn began(
        &mut self,
        position: usize,
        kernel: &impl Kernel,
        mut known: impl Iterator<Item = Ids>,
    ) -> Option<Began> {
        let number = *self.numbers.get(position)?;
        if number == kernel.own() || self.known.contains(&number) {
            return None;
        }
        let clock = kernel.tid(number).and_then(|tid| Some((tid, kernel.cpu_ns(tid)?)));
        let Some((tid, cpu_ns)) = clock else {
            // It has ended since it was listed.
            self.counted = None;
            return None;
        };
        // One that ended unnoticed had the same id under another number: it goes first.
        let is_new = kernel.are_tids() || known.all(|ids| ids.tid != tid);
        is_new.then_some(Began { ids: Ids { tid, number }, cpu_ns })
    }

    /// How many threads there are beside the sampler's and the process's first.
    pub fn others(&mut self, kernel: &impl Kernel) -> usize {
        kernel.numbers(&mut self.numbers);
        self.numbers.iter().filter(|&&number| number != kernel.own() && number != kernel.first()).count()
    }

    /// The number of each thread id, where the kernel's listing is another than before. 0, which is nobody's: that thread is gone.
    pub fn renumber<K: Kernel>(&mut self, kernel: &K) -> impl Fn(u32) -> u32 + use<K> {
        let by_tid: Option<FxHashMap<u32, u32>> = (!kernel.are_tids()).then(|| {
            kernel.numbers(&mut self.numbers);
            self.numbers.iter().filter_map(|&number| Some((kernel.tid(number)?, number))).collect()
        });
        move |tid| by_tid.as_ref().map_or(tid, |by_tid| by_tid.get(&tid).copied().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::{Ids, Kernel, LIST_EVERY_NS, LIST_NS_PER_THREAD, Roster};
    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    const OWN: u32 = 1;
    const FIRST: u32 = 2;
    const START_NS: u64 = 1_000_000_000;

    /// Each number's thread id. A thread without a clock ended just after it was listed.
    #[derive(Default)]
    struct Listed {
        tids: BTreeMap<u32, u32>,
        ended: BTreeSet<u32>,
        outer: bool,
    }

    impl Listed {
        fn own(tids: &[u32]) -> Listed {
            Listed { tids: tids.iter().map(|&tid| (tid, tid)).collect(), ..Listed::default() }
        }

        fn outer(tids: &[(u32, u32)]) -> Listed {
            Listed { tids: tids.iter().copied().collect(), outer: true, ..Listed::default() }
        }
    }

    impl Kernel for Listed {
        fn numbers(&self, out: &mut Vec<u32>) {
            out.clear();
            out.extend(self.tids.keys());
        }

        fn own(&self) -> u32 {
            OWN
        }

        fn first(&self) -> u32 {
            FIRST
        }

        fn are_tids(&self) -> bool {
            !self.outer
        }

        fn tid(&self, number: u32) -> Option<u32> {
            self.tids.get(&number).copied()
        }

        fn cpu_ns(&self, tid: u32) -> Option<u64> {
            (!self.ended.contains(&tid)).then_some(u64::from(tid) * 1000)
        }
    }

    fn list(roster: &mut Roster, kernel: &Listed, known: &mut Vec<Ids>) -> Vec<u32> {
        let before = known.len();
        for position in 0..roster.list(START_NS, kernel, known.iter().copied()) {
            let began = roster.began(position, kernel, known.iter().copied());
            known.extend(began.map(|began| began.ids));
        }
        known[before..].iter().map(|ids| ids.tid).collect()
    }

    #[test]
    fn who_began_is_told_once_and_the_sampler_never() {
        let (mut roster, mut known) = (Roster::default(), Vec::new());
        assert_eq!(list(&mut roster, &Listed::own(&[OWN, FIRST, 5]), &mut known), [FIRST, 5]);
        assert_eq!(list(&mut roster, &Listed::own(&[OWN, FIRST, 5]), &mut known), []);
        // One ended between its listing and the reading of its clock.
        let kernel = Listed { ended: BTreeSet::from([7]), ..Listed::own(&[OWN, FIRST, 6, 7]) };
        assert_eq!(list(&mut roster, &kernel, &mut known), [6]);
        // As many as were listed: still the one that ended is not the one that is there now.
        assert!(roster.is_due(START_NS + 1_000_000, 3, || Some(4)));
        assert_eq!(roster.others(&kernel), 2);
    }

    #[test]
    fn an_id_that_is_reused_under_another_number_waits_until_its_old_thread_has_gone() {
        let (mut roster, mut known) = (Roster::default(), Vec::new());
        assert_eq!(list(&mut roster, &Listed::outer(&[(102, 2), (105, 5)]), &mut known), [2, 5]);
        let reused = Listed::outer(&[(102, 2), (109, 5)]);
        assert_eq!(list(&mut roster, &reused, &mut known), []);
        known.retain(|ids| ids.number != 105);
        assert_eq!(list(&mut roster, &reused, &mut known), [5]);
    }

    #[test]
    fn threads_are_listed_when_their_count_changes_and_four_times_a_second() {
        let (mut roster, mut known) = (Roster::default(), Vec::new());
        list(&mut roster, &Listed::own(&[OWN, FIRST, 5]), &mut known);
        let mut due = |after_ns, threads, count| roster.is_due(START_NS + after_ns, threads, || count);
        assert!(!due(1_000_000, 2, Some(3)));
        assert!(due(1_000_000, 2, Some(4)));
        assert!(due(1_000_000, 2, None));
        // Not with so many threads that listing them takes long.
        assert!(!due(1_000_000, 1_000, Some(4)));
        assert!(due(1_000 * LIST_NS_PER_THREAD, 1_000, Some(4)));
        assert!(due(LIST_EVERY_NS, 1_000_000, Some(3)));
        assert!(roster.was_counted_by(START_NS + LIST_EVERY_NS) && !roster.was_counted_by(START_NS));
        roster.one_ended();
        assert!(roster.is_due(START_NS + 1_000_000, 2, || Some(3)), "another may have taken its place");
    }

    #[test]
    fn in_another_listing_each_thread_has_another_number() {
        let mut roster = Roster::default();
        let number = roster.renumber(&Listed::outer(&[(102, 2), (109, 5)]));
        assert_eq!([2, 5, 6].map(number), [102, 109, 0]);
        assert_eq!(roster.renumber(&Listed::own(&[2]))(6), 6);
    }

    proptest! {
        #[test]
        fn nobody_is_known_twice_and_nobody_is_missed(
            listings in vec((btree_map(2..40_u32, 2..40_u32, 0..12), any::<bool>()), 1..20),
        ) {
            for outer in [false, true] {
                let (mut roster, mut known) = (Roster::default(), Vec::<Ids>::new());
                for (tids, ends_noticed) in &listings {
                    let mut kernel = Listed { outer, ..Listed::default() };
                    let mut used = BTreeSet::new();
                    for (&number, &tid) in tids {
                        let tid = if outer { tid } else { number };
                        if used.insert(tid) {
                            kernel.tids.insert(number, tid);
                        }
                    }
                    kernel.tids.insert(OWN, OWN);
                    if *ends_noticed {
                        known.retain(|ids| kernel.tids.get(&ids.number) == Some(&ids.tid));
                    }
                    list(&mut roster, &kernel, &mut known);
                    let tids: BTreeSet<u32> = known.iter().map(|ids| ids.tid).collect();
                    prop_assert_eq!(tids.len(), known.len());
                    prop_assert!(!tids.contains(&OWN));
                    if *ends_noticed {
                        let all: BTreeSet<u32> = kernel.tids.values().copied().filter(|&tid| tid != OWN).collect();
                        prop_assert_eq!(tids, all);
                    }
                }
            }
        }
    }
}
