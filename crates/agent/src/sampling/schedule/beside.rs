//! Beside which threads genba's own one waits for its ticks: those that a signal from another CPU would meet in the wrong place.
//! Such a signal takes as long as an interrupt between two CPUs, and a system call that ends meanwhile gets the sample: a thread that makes one
//! every few microseconds would seem to be always in them. A timer's interrupt on the thread's own CPU meets each part of it as often as it runs.
//! Owns: which threads are such, by their answers, and when genba's thread goes there and back. Never: makes a system call. Partner: sampler/looks/beside.rs.

/// What one answer at the end of a system call counts, and what one elsewhere takes away: with one in nine the sum stays as it is on average.
const AT_END: u32 = 8;
const ELSEWHERE: u32 = 1;
/// Chance alone makes no such sum of one in twenty.
const ENOUGH: u32 = 10 * AT_END;
/// After the ten seconds half as many tell.
const KEPT: u32 = ENOUGH / 2;
/// So long a thread is taken for such a one; then a few signals from another CPU tell whether it still is.
const BESIDE_NS: u64 = 10_000_000_000;
/// It moves at most this often. Where several such threads run at once, each has its turn.
const STAYS_NS: u64 = 20_000_000;
/// A tick that comes so late has waited for a program that nothing takes the CPU from.
const LATE_NS: u64 = 100_000_000;

/// Of one thread: how often a question from another CPU was answered at the end of a system call.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct CallEnds {
    sum: u32,
    until_ns: u64,
}

impl CallEnds {
    /// A question from another CPU has an answer.
    pub const fn answered(&mut self, at_end: bool, now_ns: u64) {
        if !at_end {
            self.sum = self.sum.saturating_sub(ELSEWHERE);
            return;
        }
        self.sum += AT_END;
        if self.sum >= ENOUGH {
            self.sum = KEPT;
            self.until_ns = now_ns + BESIDE_NS;
        }
    }

    /// It cannot wait beside this one.
    pub const fn forget(&mut self) {
        (self.sum, self.until_ns) = (0, 0);
    }

    /// Until when genba's thread waits beside it.
    #[must_use]
    pub const fn beside_until_ns(&self, now_ns: u64) -> Option<u64> {
        if now_ns < self.until_ns { Some(self.until_ns) } else { None }
    }
}

/// What a tick leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Move {
    None,
    /// To the CPU of the thread with this number.
    To(u32),
    Back,
}

/// Beside which thread genba's own one waits.
#[derive(Default)]
pub struct Beside {
    /// A thread's number, and until when: one that this tick asked on another CPU.
    wanted: Option<(u32, u64)>,
    /// Where it went last.
    last: u32,
    not_before_ns: u64,
    /// 0: it is beside nobody.
    until_ns: u64,
}

impl Beside {
    /// This thread was asked on another CPU.
    pub fn asked(&mut self, number: u32, until_ns: u64) {
        let after_last = |one: u32| (one <= self.last, one);
        if self.wanted.is_none_or(|(other, _)| after_last(number) < after_last(other)) {
            self.wanted = Some((number, until_ns));
        }
    }

    /// `late_ns`: how long after it was due.
    pub fn after_tick(&mut self, now_ns: u64, late_ns: u64) -> Move {
        let wanted = self.wanted.take();
        if self.until_ns > 0 && late_ns >= LATE_NS {
            return self.gives_up(now_ns);
        }
        match wanted {
            Some((number, until_ns)) if now_ns >= self.not_before_ns => {
                (self.last, self.not_before_ns) = (number, now_ns + STAYS_NS);
                self.until_ns = until_ns.max(self.until_ns);
                Move::To(number)
            }
            None if self.until_ns > 0 && now_ns >= self.until_ns => {
                self.until_ns = 0;
                Move::Back
            }
            _ => Move::None,
        }
    }

    /// It has left by itself.
    pub const fn left(&mut self) {
        self.wanted = None;
        self.until_ns = 0;
    }

    /// It cannot be there, or does harm: not for a while.
    pub const fn gives_up(&mut self, now_ns: u64) -> Move {
        self.until_ns = 0;
        self.not_before_ns = now_ns + BESIDE_NS;
        Move::Back
    }
}

#[cfg(test)]
mod tests {
    use super::{BESIDE_NS, Beside, CallEnds, LATE_NS, Move, STAYS_NS};

    const BEGAN_NS: u64 = 5_000_000_000;

    /// After a thousand answers, each `every`th at the end of a call: at which one it was found.
    fn found(every: u64) -> Option<u64> {
        let mut ends = CallEnds::default();
        (1..=1_000).find(|answer| {
            ends.answered(answer % every == 0, BEGAN_NS);
            ends.beside_until_ns(BEGAN_NS).is_some()
        })
    }

    #[test]
    fn a_thread_is_found_by_its_answers() {
        assert_eq!([1, 2, 4, 8].map(found), [Some(10), Some(24), Some(64), Some(584)]);
        assert_eq!([9, 100, 2_000].map(found), [None; 3]);
    }

    /// Of ten million answers in random order.
    #[test]
    fn a_thread_that_makes_few_such_calls_is_left_alone() {
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        let mut found = |percent: u64, answers: u64| {
            let mut ends = CallEnds::default();
            (0..answers).position(|_| {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                ends.answered(random % 100 < percent, BEGAN_NS);
                ends.beside_until_ns(BEGAN_NS).is_some()
            })
        };
        assert_eq!(found(4, 10_000_000), None);
        assert!(found(30, 1_000).is_some());
    }

    #[test]
    fn it_is_asked_from_another_cpu_now_and_then() {
        let mut ends = CallEnds::default();
        (0..10).for_each(|_| ends.answered(true, BEGAN_NS));
        let until_ns = BEGAN_NS + BESIDE_NS;
        assert_eq!(ends.beside_until_ns(until_ns - 1), Some(until_ns));
        assert_eq!(ends.beside_until_ns(until_ns), None);
        (0..5).for_each(|_| ends.answered(true, until_ns));
        assert_eq!(ends.beside_until_ns(until_ns), Some(until_ns + BESIDE_NS), "half as many are enough");
        (0..40).for_each(|_| ends.answered(false, until_ns + BESIDE_NS));
        (0..9).for_each(|_| ends.answered(true, until_ns + BESIDE_NS));
        assert_eq!(ends.beside_until_ns(until_ns + BESIDE_NS), None);
        ends.answered(true, until_ns + BESIDE_NS);
        assert!(ends.beside_until_ns(until_ns + BESIDE_NS).is_some());
        ends.forget();
        assert_eq!(ends, CallEnds::default());
    }

    #[test]
    fn it_moves_to_threads_that_it_asked_elsewhere_and_back_when_all_is_over() {
        let mut beside = Beside::default();
        let after = |beside: &mut Beside, ns: u64| beside.after_tick(BEGAN_NS + ns, 0);
        assert_eq!(after(&mut beside, 0), Move::None);
        beside.asked(7, BEGAN_NS + 100 * STAYS_NS);
        assert_eq!(after(&mut beside, 1), Move::To(7));
        beside.asked(8, BEGAN_NS + 50 * STAYS_NS);
        assert_eq!(after(&mut beside, STAYS_NS), Move::None, "it has just moved");
        assert_eq!(after(&mut beside, 99 * STAYS_NS), Move::None);
        assert_eq!(after(&mut beside, 100 * STAYS_NS), Move::Back);
        assert_eq!(after(&mut beside, 101 * STAYS_NS), Move::None);
    }

    #[test]
    fn each_of_several_threads_has_its_turn() {
        let mut beside = Beside::default();
        let mut here = 0;
        let turns = (0..6).map(|turn| {
            [3, 5, 4].into_iter().filter(|&number| number != here).for_each(|number| beside.asked(number, u64::MAX));
            let Move::To(next) = beside.after_tick(BEGAN_NS + turn * STAYS_NS, 0) else { panic!("it moves") };
            here = next;
            next
        });
        assert_eq!(turns.collect::<Vec<_>>(), [3, 4, 5, 3, 4, 5]);
    }

    #[test]
    fn where_it_gets_no_cpu_it_does_not_stay() {
        let mut beside = Beside::default();
        assert_eq!(beside.after_tick(BEGAN_NS, LATE_NS), Move::None, "it is beside nobody");
        beside.asked(7, u64::MAX);
        assert_eq!(beside.after_tick(BEGAN_NS, LATE_NS), Move::To(7));
        let late_ns = BEGAN_NS + LATE_NS;
        beside.asked(7, u64::MAX);
        assert_eq!(beside.after_tick(late_ns, LATE_NS), Move::Back);
        for (at_ns, then) in [(late_ns + BESIDE_NS - 1, Move::None), (late_ns + BESIDE_NS, Move::To(7))] {
            beside.asked(7, u64::MAX);
            assert_eq!(beside.after_tick(at_ns, 0), then);
        }
    }
}
