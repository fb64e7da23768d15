//! When the sampler does what: ticks at random moments, rests of an idle program, blocks, refreshing what it knows.
//! Owns: the moments at which each is due, and the free compiling of the start. Never: reads a clock, makes a system call.

use beside::Beside;
use block_times::{FLUSH_EVERY_NS, next_flush_ns};
use others::Others;
use pace::{Pace, Spent};

pub mod beside;
mod block_times;
pub mod looks;
pub mod others;
pub mod pace;

const STATES_EVERY_NS: u64 = 20_000_000;
const MEMORY_EVERY_NS: u64 = 10_000_000;
/// Compiling takes at most so much of one tick.
const COMPILE_NS_MAX: u64 = 2_000_000;
/// Compiling up to so much in all is the price of the start.
const COMPILE_FREE_NS: u64 = 200_000_000;
/// A whole look at a backed-off thread comes after so many glances at its clock, on average.
const GLANCES_PER_LOOK: u64 = 4;
/// Without an alarm a rest is no longer than this.
const UNWATCHED_NS_MAX: u64 = 16_000_000;

pub struct Schedule {
    pub pace: Pace,
    pub others: Others,
    pub beside: Beside,
    jitter: u64,
    /// When the present tick was due.
    due_ns: u64,
    /// The last tick that found a thread which runs, or has run.
    stirred_ns: u64,
    /// The present tick comes after a rest.
    rested: bool,
    began_ns: u64,
    flush_at_ns: u64,
    memory_at_ns: u64,
    states_at_ns: u64,
    /// The totals when the rate was last judged.
    judged: Spent,
    /// So much compiling is not held against the rate any more.
    compile_free_ns: u64,
}

impl Schedule {
    /// `seed`: any number but 0.
    #[must_use]
    pub fn new(pace: Pace, seed: u64) -> Schedule {
        Schedule {
            pace,
            others: Others::default(),
            beside: Beside::default(),
            jitter: seed,
            due_ns: 0,
            stirred_ns: 0,
            rested: false,
            began_ns: 0,
            flush_at_ns: 0,
            memory_at_ns: 0,
            states_at_ns: 0,
            judged: Spent::default(),
            compile_free_ns: COMPILE_FREE_NS,
        }
    }

    /// The recording begins.
    pub fn begin(&mut self, now_ns: u64) {
        self.began_ns = now_ns;
        self.flush_at_ns = next_flush_ns(self.began_ns, now_ns);
    }

    /// The sampler's thread begins, with those totals.
    pub const fn resume(&mut self, now_ns: u64, spent: Spent) {
        self.judged = spent;
        self.stirred_ns = now_ns;
    }

    #[must_use]
    pub const fn interval_ns(&self) -> u64 {
        self.pace.interval_ns()
    }

    /// So many ticks would have come in that time.
    #[must_use]
    pub const fn ticks_in(&self, gap_ns: u64) -> u64 {
        gap_ns / self.interval_ns()
    }

    /// From half an interval to one and a half, uniform, and counted from the tick before: of a program that repeats itself in step
    /// with the interval, a tick then meets every moment with the same chance, and however long it stands for. Spread around
    /// fixed moments, ticks would meet some moments never (if by less than an interval), or weigh some more than others.
    pub fn random_interval_ns(&mut self) -> u64 {
        // xorshift64: Marsaglia, "Xorshift RNGs", 2003.
        self.jitter ^= self.jitter << 13;
        self.jitter ^= self.jitter >> 7;
        self.jitter ^= self.jitter << 17;
        self.interval_ns() / 2 + self.jitter % self.interval_ns().max(1)
    }

    /// Random, so that a thread with a rhythm of its own is not looked at in step.
    #[must_use]
    pub const fn glances_until_look(&self) -> u64 {
        GLANCES_PER_LOOK / 2 + 1 + self.jitter % (GLANCES_PER_LOOK - 1)
    }

    /// The present tick was due then.
    pub const fn tick_was_due(&mut self, due_ns: u64) {
        self.due_ns = due_ns;
    }

    /// When the present tick was due.
    #[must_use]
    pub const fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// A thread runs, or has run.
    pub const fn stirs(&mut self, now_ns: u64) {
        self.stirred_ns = now_ns;
    }

    /// Whether the present tick comes after a rest.
    #[must_use]
    pub const fn rested(&self) -> bool {
        self.rested
    }

    /// How long the program may be let alone, by how long it has been idle.
    #[must_use]
    pub fn idle_rest_ns(&self) -> Option<u64> {
        self.pace.rest_ns(self.due_ns.saturating_sub(self.stirred_ns))
    }

    /// How long it is let alone. `watched`: an alarm tells when it runs again.
    #[must_use]
    pub fn rest_ns(&self, idle_rest_ns: u64, watched: bool) -> Option<u64> {
        let rest_ns = if watched { idle_rest_ns } else { idle_rest_ns.min(UNWATCHED_NS_MAX) };
        Some(rest_ns).filter(|rest_ns| *rest_ns > self.interval_ns())
    }

    /// When the next tick comes: at random moments, until the program has been idle for so long that nothing it does can be in step with
    /// them. `always_ns`: a random interval; `until_ns`: when the recording ends.
    pub fn next_due_ns(&mut self, always_ns: u64, rest_ns: Option<u64>, until_ns: Option<u64>) -> u64 {
        self.rested = rest_ns.is_some();
        let sleep_ns = match rest_ns {
            None => always_ns,
            Some(rest_ns) if Pace::is_longest(rest_ns) => rest_ns,
            Some(rest_ns) => rest_ns / 2 + self.jitter % (rest_ns / 2),
        };
        let due_ns = self.due_ns + sleep_ns;
        until_ns.map_or(due_ns, |until_ns| due_ns.min(until_ns.max(self.due_ns + always_ns)))
    }

    /// Whether the lists of thread states have not been read for some time.
    #[must_use]
    pub const fn states_are_due(&self, now_ns: u64) -> bool {
        now_ns >= self.states_at_ns
    }

    pub const fn states_are_read(&mut self, now_ns: u64) {
        self.states_at_ns = now_ns + STATES_EVERY_NS;
    }

    /// Whether the memory is to be measured now.
    pub const fn memory_is_due(&mut self, now_ns: u64) -> bool {
        let due = now_ns >= self.memory_at_ns;
        if due {
            self.memory_at_ns = now_ns + MEMORY_EVERY_NS;
        }
        due
    }

    /// Whether a block is to be written now.
    pub fn block_is_due(&mut self, now_ns: u64) -> bool {
        let due = now_ns >= self.flush_at_ns;
        if due {
            self.flush_at_ns = next_flush_ns(self.began_ns, now_ns);
        }
        due
    }

    /// Whether the rate is to be judged with this block: the first blocks come too early.
    #[must_use]
    pub const fn judgement_is_due(&self, now_ns: u64) -> bool {
        now_ns - self.judged.wall_ns >= FLUSH_EVERY_NS
    }

    /// What was spent since the judgement before, by the totals of this one.
    pub fn spent_since_judged(&mut self, in_all: Spent) -> Spent {
        in_all.since(std::mem::replace(&mut self.judged, in_all))
    }

    /// Until when this tick may compile.
    #[must_use]
    pub fn compile_until_ns(&self, now_ns: u64) -> u64 {
        now_ns + (self.interval_ns() / 2).min(COMPILE_NS_MAX)
    }

    /// So much was spent on compiling: what of it is free is not held against the rate.
    pub fn compiled(&mut self, spent_ns: u64) {
        self.compile_free_ns -= spent_ns.min(self.compile_free_ns);
    }

    /// What compiling was free until now.
    #[must_use]
    pub const fn compiled_free_ns(&self) -> u64 {
        COMPILE_FREE_NS - self.compile_free_ns
    }
}

#[cfg(test)]
mod tests {
    use super::pace::{Pace, Spent};
    use super::{COMPILE_FREE_NS, COMPILE_NS_MAX, Schedule};
    use proptest::prelude::*;

    const MILLISECOND_NS: u64 = 1_000_000;
    const SECOND_NS: u64 = 1_000_000_000;

    fn schedule(interval_ns: u64) -> Schedule {
        Schedule::new(Pace::new(interval_ns, Some(20)), 1)
    }

    /// Idle for so long.
    fn idle(idle_ns: u64) -> Schedule {
        let mut schedule = schedule(MILLISECOND_NS);
        schedule.resume(10 * SECOND_NS, Spent::default());
        schedule.tick_was_due(10 * SECOND_NS + idle_ns);
        schedule
    }

    #[test]
    fn an_idle_program_is_let_alone_and_less_where_nothing_watches_it() {
        let rest_ms = |idle_ms: u64, watched| {
            let schedule = idle(idle_ms * MILLISECOND_NS);
            let rest_ns = schedule.idle_rest_ns().and_then(|rest_ns| schedule.rest_ns(rest_ns, watched));
            rest_ns.map(|rest_ns| rest_ns / MILLISECOND_NS)
        };
        assert_eq!([8, 80, 800, 8_000].map(|idle| rest_ms(idle, true)), [None, Some(10), Some(100), Some(250)]);
        assert_eq!([8, 80, 800, 8_000].map(|idle| rest_ms(idle, false)), [None, Some(10), Some(16), Some(16)]);
        let mut stirred = idle(SECOND_NS);
        stirred.stirs(11 * SECOND_NS);
        assert_eq!(stirred.idle_rest_ns(), None);
        // Where a rate was asked for, the slow one of an alarm's absence is no rest.
        assert_eq!(schedule(20 * MILLISECOND_NS).rest_ns(40 * MILLISECOND_NS, false), None);
    }

    #[test]
    fn the_last_tick_comes_when_the_time_is_over_and_not_before_the_next_one() {
        let mut schedule = idle(SECOND_NS);
        let now_ns = schedule.due_ns();
        let due_ns = |schedule: &mut Schedule, rest_ns, until_ns| {
            schedule.next_due_ns(MILLISECOND_NS, rest_ns, until_ns) - now_ns
        };
        let longest_ns = Some(250 * MILLISECOND_NS);
        assert_eq!(due_ns(&mut schedule, longest_ns, None), 250 * MILLISECOND_NS);
        assert!(schedule.rested());
        assert_eq!(due_ns(&mut schedule, longest_ns, Some(now_ns + 7)), MILLISECOND_NS);
        assert_eq!(due_ns(&mut schedule, longest_ns, Some(now_ns + 5 * MILLISECOND_NS)), 5 * MILLISECOND_NS);
        assert_eq!(due_ns(&mut schedule, None, Some(now_ns + SECOND_NS)), MILLISECOND_NS);
        assert!(!schedule.rested());
    }

    #[test]
    fn compiling_is_free_up_to_a_bound() {
        let mut schedule = schedule(MILLISECOND_NS);
        assert_eq!(schedule.compile_until_ns(5), 5 + MILLISECOND_NS / 2);
        assert_eq!(self::schedule(SECOND_NS).compile_until_ns(5), 5 + COMPILE_NS_MAX);
        for _ in 0..3 {
            schedule.compiled(COMPILE_FREE_NS / 2 + 1);
        }
        assert_eq!(schedule.compiled_free_ns(), COMPILE_FREE_NS);
    }

    #[test]
    fn what_is_due_is_due_once() {
        let mut schedule = schedule(MILLISECOND_NS);
        schedule.begin(SECOND_NS);
        let due = |schedule: &mut Schedule, ns| (schedule.block_is_due(ns), schedule.memory_is_due(ns));
        assert_eq!(due(&mut schedule, SECOND_NS), (false, true));
        assert_eq!(due(&mut schedule, SECOND_NS + 10 * MILLISECOND_NS), (true, true));
        assert_eq!(due(&mut schedule, SECOND_NS + 10 * MILLISECOND_NS), (false, false));
        assert!(schedule.states_are_due(0));
        schedule.states_are_read(SECOND_NS);
        assert!(!schedule.states_are_due(SECOND_NS + 19 * MILLISECOND_NS));
        assert!(schedule.states_are_due(SECOND_NS + 20 * MILLISECOND_NS));
    }

    proptest! {
        #[test]
        fn intervals_are_from_half_to_one_and_a_half(interval_ns in 1..SECOND_NS, seed in 1..u64::MAX) {
            let mut schedule = Schedule::new(Pace::new(interval_ns, None), seed);
            for _ in 0..100 {
                let next_ns = schedule.random_interval_ns();
                prop_assert!((interval_ns / 2..=interval_ns / 2 * 3 + 1).contains(&next_ns));
                prop_assert!((3..=5).contains(&schedule.glances_until_look()));
            }
        }

        #[test]
        fn the_next_tick_is_later_and_no_later_than_a_rest(idle_ns in 0..100 * SECOND_NS, seed in 1..u64::MAX, watched in any::<bool>()) {
            let mut schedule = Schedule { jitter: seed, ..idle(idle_ns) };
            let always_ns = schedule.random_interval_ns();
            let rest_ns = schedule.idle_rest_ns().and_then(|rest_ns| schedule.rest_ns(rest_ns, watched));
            let sleep_ns = schedule.next_due_ns(always_ns, rest_ns, None) - schedule.due_ns();
            prop_assert_eq!(schedule.rested(), rest_ns.is_some());
            prop_assert!(sleep_ns > 0 && sleep_ns <= rest_ns.unwrap_or(always_ns));
        }
    }
}
