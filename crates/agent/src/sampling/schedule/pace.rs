//! How often the sampler ticks: a rate that was asked for, or as often as a share of the program's own CPU pays for.
//! Owns: what is charged, the steps, how long an idle program is let alone. Never: reads a clock (values in, an interval out).

/// Before all processes of the run have used so much CPU together, nothing is judged.
const FREE_PROGRAM_NS: u64 = 1_000_000_000;
/// Who goes by what others found is not sampled less often than that: it may be a short one.
const FOLLOWED_NS_MAX: u64 = 5_000_000;
/// Of a program that used less in what is judged nothing is known.
const JUDGED_PROGRAM_NS_MIN: u64 = 5_000_000;
/// The interval's steps, to 50 Hz: far enough apart that a judgement which wavers stays on one.
const STEPS_NS: [u64; 10] =
    [1_000_000, 1_500_000, 2_000_000, 3_000_000, 4_000_000, 5_000_000, 7_000_000, 10_000_000, 15_000_000, 20_000_000];
/// A program that has been idle for some time is let alone for an eighth of that, and so long at most.
const REST_NS_MAX: u64 = 250_000_000;
const IDLE_PARTS: u64 = 8;

/// What passed since the judgement before.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    pub wall_ns: u64,
    /// CPU of the whole process.
    pub process_ns: u64,
    /// CPU of the sampler's thread, and of that what compiled at the start.
    pub own_ns: u64,
    pub free_ns: u64,
    pub handler_ns: u64,
    pub signals: u64,
}

impl Spent {
    /// Of two totals, the later one less the one before.
    pub const fn since(self, before: Spent) -> Spent {
        Spent {
            wall_ns: self.wall_ns.saturating_sub(before.wall_ns),
            process_ns: self.process_ns.saturating_sub(before.process_ns),
            own_ns: self.own_ns.saturating_sub(before.own_ns),
            free_ns: self.free_ns.saturating_sub(before.free_ns),
            handler_ns: self.handler_ns.saturating_sub(before.handler_ns),
            signals: self.signals.saturating_sub(before.signals),
        }
    }

    /// CPU of the program itself; `echo_ns`: what a signal costs its thread beside the handler.
    pub const fn program_ns(self, echo_ns: u64) -> u64 {
        self.process_ns.saturating_sub(self.own_ns + self.on_threads_ns(echo_ns))
    }

    /// The program had a CPU for a good part of the time.
    pub const fn is_busy(self) -> bool {
        self.process_ns >= self.wall_ns / 4
    }

    /// On threads of the program: handlers, and the ways there and back.
    const fn on_threads_ns(self, echo_ns: u64) -> u64 {
        self.handler_ns + self.signals * echo_ns
    }

    /// On the sampler's thread, without the work of the start.
    const fn paid_own_ns(self) -> u64 {
        self.own_ns.saturating_sub(self.free_ns)
    }
}

#[derive(Clone, Debug)]
pub struct Pace {
    /// Thousandths of the program's CPU. `None`: the interval was asked for and is kept.
    budget_per_mille: Option<u32>,
    interval_ns: u64,
    program_ns: u64,
    /// The interval is what this process's own cost asked for, from the first judgement on.
    was_judged: bool,
    /// Sums that fade by a quarter from block to block: charged × the interval at which it was, and the program's CPU.
    charged_by_interval: u128,
    faded_program_ns: u64,
    /// So much more than the budget allowed was spent since it holds, and not saved again.
    debt_ns: u64,
}

impl Pace {
    #[must_use]
    pub const fn new(interval_ns: u64, budget_per_mille: Option<u32>) -> Pace {
        Pace {
            budget_per_mille,
            interval_ns,
            program_ns: 0,
            was_judged: false,
            charged_by_interval: 0,
            faded_program_ns: 0,
            debt_ns: 0,
        }
    }

    /// As long as nothing is known of the process itself it goes by the run's others, which have used `run_ns` of CPU and were last
    /// sampled at that interval; 0: not known. The new interval, when it changes.
    pub fn follow(&mut self, run_ns: u64, interval_ns: u64) -> Option<u64> {
        let wanted_ns = interval_ns.min(FOLLOWED_NS_MAX);
        let follows = self.budget_per_mille.is_some() && !self.was_judged && run_ns >= FREE_PROGRAM_NS;
        let step_ns = STEPS_NS.into_iter().rev().find(|step_ns| follows && *step_ns <= wanted_ns)?;
        self.interval_ns = Some(step_ns).filter(|step_ns| *step_ns > self.interval_ns)?;
        Some(step_ns)
    }

    #[must_use]
    pub const fn interval_ns(&self) -> u64 {
        self.interval_ns
    }

    /// What the budget pays for, where that is known.
    #[must_use]
    pub fn found(&self) -> Option<u64> {
        Some(self.interval_ns).filter(|_| self.was_judged)
    }

    /// The new interval, when it changes; `run_ns`: what all processes of the run had used before. What is charged grows with the number
    /// of ticks, so charged × interval is what a program of this kind costs at any interval.
    pub fn judge(&mut self, spent: Spent, echo_ns: u64, run_ns: u64) -> Option<u64> {
        let budget_per_mille = self.budget_per_mille?;
        let on_threads_ns = spent.on_threads_ns(echo_ns);
        let charged_ns = spent.paid_own_ns() + on_threads_ns;
        let program_ns = spent.program_ns(echo_ns);
        let allowed_ns = |program_ns: u64| program_ns.saturating_mul(u64::from(budget_per_mille)) / 1000;
        let used_ns = self.program_ns.max(run_ns);
        if used_ns >= FREE_PROGRAM_NS {
            self.debt_ns = (self.debt_ns + charged_ns).saturating_sub(allowed_ns(program_ns));
        }
        self.program_ns = self.program_ns.saturating_add(program_ns);
        self.charged_by_interval =
            self.charged_by_interval / 4 * 3 + u128::from(charged_ns) * u128::from(self.interval_ns);
        self.faded_program_ns = self.faded_program_ns / 4 * 3 + program_ns;
        let is_known =
            used_ns.saturating_add(program_ns) >= FREE_PROGRAM_NS && self.faded_program_ns >= JUDGED_PROGRAM_NS_MIN;
        self.was_judged |= is_known;
        // What is more than wavering is paid back over the blocks that the sums hold, by at most half of what these allow.
        let allowed_ns = allowed_ns(self.faded_program_ns);
        // Of a phase in which 50 Hz was too much, or nothing ran, not all is held against the next one.
        self.debt_ns = self.debt_ns.min(4 * allowed_ns);
        let due_ns = if self.debt_ns > allowed_ns / 4 { self.debt_ns.min(allowed_ns / 2) } else { 0 };
        let left_ns = allowed_ns - due_ns;
        let paid_for_ns = self.charged_by_interval.checked_div(u128::from(left_ns)).unwrap_or(u128::MAX);
        // However rich the program is, the sampler's one thread must keep up, from the start.
        let possible_ns =
            u128::from(self.interval_ns) * 2 * u128::from(spent.paid_own_ns()) / u128::from(spent.wall_ns.max(1));
        if !is_known && possible_ns <= u128::from(self.interval_ns) {
            return None;
        }
        let wanted_ns = if is_known { paid_for_ns.max(possible_ns) } else { possible_ns };
        let step_ns = self.step(u64::try_from(wanted_ns).unwrap_or(u64::MAX))?;
        self.interval_ns = step_ns;
        Some(step_ns)
    }

    /// Upwards as far as needed, downwards one step at a time, and not before an eighth of the next one would be left.
    fn step(&self, wanted_ns: u64) -> Option<u64> {
        if wanted_ns > self.interval_ns {
            let last_ns = *STEPS_NS.last()?;
            let step_ns = STEPS_NS.into_iter().find(|step_ns| *step_ns >= wanted_ns).unwrap_or(last_ns);
            return Some(step_ns).filter(|step_ns| *step_ns > self.interval_ns);
        }
        let below_ns = STEPS_NS.into_iter().rev().find(|step_ns| *step_ns < self.interval_ns)?;
        Some(below_ns).filter(|below_ns| wanted_ns.saturating_add(wanted_ns / 8) <= *below_ns)
    }

    /// How long a program is let alone that has been idle for so long; `None`: the next tick comes as always.
    #[must_use]
    pub fn rest_ns(&self, idle_ns: u64) -> Option<u64> {
        let rest_ns = (idle_ns / IDLE_PARTS).min(REST_NS_MAX);
        self.budget_per_mille.and(Some(rest_ns)).filter(|rest_ns| *rest_ns > self.interval_ns)
    }

    /// Whether nothing comes later than that.
    #[must_use]
    pub const fn is_longest(rest_ns: u64) -> bool {
        rest_ns >= REST_NS_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::{Pace, REST_NS_MAX, STEPS_NS, Spent};

    const BLOCK_NS: u64 = 250_000_000;
    const MILLISECOND_NS: u64 = 1_000_000;
    const ECHO_NS: u64 = 8_000;
    const TWO_PERCENT: Option<u32> = Some(20);

    /// A program with so many threads that run for so many thousandths of the time, on as many CPUs.
    #[derive(Clone, Copy)]
    struct Program {
        threads: u64,
        busy_per_mille: u64,
        /// The sampler's own CPU for each tick, and for each thread looked at.
        tick_ns: u64,
        look_ns: u64,
        handler_ns: u64,
    }

    const USUAL: Program =
        Program { threads: 1, busy_per_mille: 1000, tick_ns: 12_000, look_ns: 5_000, handler_ns: 1_000 };

    impl Program {
        fn block(self, interval_ns: u64) -> Spent {
            let ticks = BLOCK_NS / interval_ns * self.busy_per_mille / 1000;
            let signals = ticks * self.threads;
            let own_ns = ticks * (self.tick_ns + self.look_ns * self.threads);
            let program_ns = BLOCK_NS * self.busy_per_mille / 1000 * self.threads;
            let handler_ns = signals * self.handler_ns;
            let process_ns = program_ns + own_ns + handler_ns + signals * ECHO_NS;
            Spent { wall_ns: BLOCK_NS, process_ns, own_ns, free_ns: 0, handler_ns, signals }
        }
    }

    /// The interval after each block.
    fn after(pace: &mut Pace, blocks: usize, program: Program) -> Vec<u64> {
        let one = |pace: &mut Pace| {
            pace.judge(program.block(pace.interval_ns()), ECHO_NS, 0);
            pace.interval_ns()
        };
        (0..blocks).map(|_| one(pace)).collect()
    }

    fn settled(program: Program) -> u64 {
        let mut pace = Pace::new(MILLISECOND_NS, TWO_PERCENT);
        let intervals = after(&mut pace, 100, program);
        assert!(intervals[30..].iter().all(|interval_ns| *interval_ns == intervals[99]), "{intervals:?}");
        intervals[99]
    }

    #[test]
    fn the_first_second_is_free_and_then_the_budget_is_kept() {
        let mut pace = Pace::new(MILLISECOND_NS, TWO_PERCENT);
        assert_eq!(after(&mut pace, 3, USUAL), [MILLISECOND_NS; 3]);
        // 12 + 5 + 1 + 8 µs a tick: 2.6 % at 1 ms, so 1.3 ms would pay.
        assert_eq!(after(&mut pace, 2, USUAL), [1_500_000; 2]);
        let spent = USUAL.block(1_500_000);
        let charged_ns = spent.own_ns + spent.handler_ns + spent.signals * ECHO_NS;
        assert!(charged_ns * 1000 <= (spent.process_ns - charged_ns) * 20, "{spent:?}");
    }

    #[test]
    fn the_first_second_is_that_of_all_processes_together() {
        const SECOND_NS: u64 = 1_000_000_000;
        let mut pace = Pace::new(MILLISECOND_NS, TWO_PERCENT);
        assert_eq!(pace.follow(SECOND_NS - 1, 3 * MILLISECOND_NS), None);
        assert_eq!(pace.judge(USUAL.block(MILLISECOND_NS), ECHO_NS, SECOND_NS / 2), None);
        assert_eq!(pace.found(), None);
        assert_eq!(pace.judge(USUAL.block(MILLISECOND_NS), ECHO_NS, SECOND_NS), Some(1_500_000));
        assert_eq!(pace.found(), Some(1_500_000));
    }

    #[test]
    fn a_process_follows_the_others_until_it_is_judged_itself() {
        let followed = |run_ns, interval_ns, budget| {
            let mut pace = Pace::new(MILLISECOND_NS, budget);
            let told = pace.follow(run_ns, interval_ns);
            assert_eq!(pace.interval_ns(), told.unwrap_or(MILLISECOND_NS));
            told
        };
        assert_eq!(followed(2_000_000_000, 3_000_000, TWO_PERCENT), Some(3_000_000));
        assert_eq!(followed(2_000_000_000, 20_000_000, TWO_PERCENT), Some(5_000_000));
        for nothing in [0, MILLISECOND_NS] {
            assert_eq!(followed(2_000_000_000, nothing, TWO_PERCENT), None);
        }
        assert_eq!(followed(2_000_000_000, 3_000_000, None), None);
        // The table is shared memory: whatever stands there, the interval is a step.
        assert_eq!(followed(u64::MAX, u64::MAX, TWO_PERCENT), Some(5_000_000));
        assert_eq!(followed(u64::MAX, 3_999_999, TWO_PERCENT), Some(3_000_000));

        // What it found of itself stays, also after it was idle for so long that nothing of that counts any more.
        let mut pace = Pace::new(MILLISECOND_NS, TWO_PERCENT);
        let found = *after(&mut pace, 20, USUAL).last().unwrap();
        after(&mut pace, 1000, Program { busy_per_mille: 0, ..USUAL });
        assert_eq!(pace.follow(20_000_000_000, 5_000_000), None);
        assert_eq!((pace.interval_ns(), pace.found()), (found, Some(found)));
    }

    #[test]
    fn it_settles_wherever_it_costs_what_it_may() {
        assert_eq!(settled(Program { tick_ns: 2_000, ..USUAL }), MILLISECOND_NS);
        assert_eq!(settled(Program { handler_ns: 80_000, ..USUAL }), 7_000_000);
        // Far beyond what 50 Hz can save, and far below what 1 kHz needs.
        assert_eq!(settled(Program { tick_ns: 2_000_000, ..USUAL }), 20_000_000);
        assert_eq!(settled(Program { tick_ns: 10, look_ns: 10, handler_ns: 10, ..USUAL }), MILLISECOND_NS);
    }

    #[test]
    fn sixty_four_busy_threads_pay_for_more_than_one_thread_can_do() {
        // 330 µs of the sampler's thread a tick: it keeps up at 1 ms, not at 1 µs a thread more.
        assert_eq!(settled(Program { threads: 64, ..USUAL }), MILLISECOND_NS);
        assert_eq!(settled(Program { threads: 64, look_ns: 12_000, ..USUAL }), 2_000_000);
    }

    #[test]
    fn a_thread_that_cannot_keep_up_is_slowed_down_from_the_start() {
        let mut pace = Pace::new(MILLISECOND_NS, TWO_PERCENT);
        let restless = Program { busy_per_mille: 100, tick_ns: 9_000_000, ..USUAL };
        // 90 % of a core; at 2 ms it is less than half.
        assert_eq!(after(&mut pace, 3, restless), [2_000_000; 3]);
        // What compiles at the start counts for nothing.
        let mut pace = Pace::new(MILLISECOND_NS, TWO_PERCENT);
        let compiles = Spent { own_ns: 200_000_000, free_ns: 190_000_000, ..USUAL.block(MILLISECOND_NS) };
        assert_eq!(pace.judge(compiles, ECHO_NS, 0), None);
    }

    #[test]
    fn what_was_spent_too_much_is_saved_again() {
        // Part of the cost does not fall with the rate, so each judgement asks for too little.
        let mut pace = Pace::new(MILLISECOND_NS, TWO_PERCENT);
        let (mut charged_ns, mut program_ns) = (0, 0);
        for block in 0..60 {
            let dear = Program { tick_ns: 60_000, ..USUAL }.block(pace.interval_ns());
            let spent = Spent { own_ns: dear.own_ns + 3_000_000, process_ns: dear.process_ns + 3_000_000, ..dear };
            pace.judge(spent, ECHO_NS, 0);
            if block >= 8 {
                let block_ns = spent.own_ns + spent.handler_ns + spent.signals * ECHO_NS;
                charged_ns += block_ns;
                program_ns += spent.process_ns - block_ns;
            }
        }
        assert!(charged_ns * 1000 <= program_ns * 20, "{charged_ns} of {program_ns}");
    }

    #[test]
    fn an_idle_program_changes_nothing() {
        let mut pace = Pace::new(MILLISECOND_NS, TWO_PERCENT);
        let before = *after(&mut pace, 20, USUAL).last().unwrap();
        let idle = Program { busy_per_mille: 0, ..USUAL };
        assert_eq!(after(&mut pace, 1000, idle), vec![before; 1000]);
        assert_eq!(after(&mut pace, 20, USUAL), vec![before; 20]);
        assert_eq!(settled(Program { busy_per_mille: 200, ..USUAL }), 1_500_000);
    }

    #[test]
    fn a_dear_moment_passes_and_the_rate_comes_back() {
        let mut pace = Pace::new(MILLISECOND_NS, TWO_PERCENT);
        let before = *after(&mut pace, 20, USUAL).last().unwrap();
        let dear = Program { tick_ns: 300_000, ..USUAL };
        let peak = *after(&mut pace, 2, dear).last().unwrap();
        assert!(peak >= 5_000_000, "{peak}");
        let back = after(&mut pace, 40, USUAL);
        assert!(back.is_sorted_by(|before, next| before >= next), "{back:?}");
        assert_eq!(back[39], before);
    }

    #[test]
    fn a_cost_that_wavers_by_a_tenth_stays_on_its_step() {
        for center_ns in (1_000..200_000).step_by(1_000) {
            let mut pace = Pace::new(MILLISECOND_NS, TWO_PERCENT);
            let wavering = |block: u64| Program { tick_ns: center_ns + center_ns * (block * 7 % 5) / 20, ..USUAL };
            let intervals: Vec<u64> = (0..200)
                .map(|block| {
                    pace.judge(wavering(block).block(pace.interval_ns()), ECHO_NS, 0);
                    pace.interval_ns()
                })
                .collect();
            let changes = intervals[20..].windows(2).filter(|pair| pair[0] != pair[1]).count();
            assert_eq!(changes, 0, "{center_ns}: {intervals:?}");
        }
    }

    #[test]
    fn a_rate_that_was_asked_for_is_kept_and_never_rests() {
        let mut pace = Pace::new(50_000, None);
        assert_eq!(after(&mut pace, 100, Program { tick_ns: 40_000, ..USUAL }), vec![50_000; 100]);
        assert_eq!(pace.rest_ns(u64::MAX), None);
    }

    #[test]
    fn every_step_is_within_the_bounds() {
        assert_eq!((STEPS_NS[0], STEPS_NS[STEPS_NS.len() - 1]), (1_000_000_000 / 1000, 1_000_000_000 / 50));
        assert!(STEPS_NS.is_sorted_by(|before, next| 5 * before <= 4 * next), "closer than the hysteresis");
    }

    #[test]
    fn an_idle_program_is_let_alone_for_an_eighth_of_its_idleness() {
        let pace = Pace::new(MILLISECOND_NS, TWO_PERCENT);
        assert_eq!(pace.rest_ns(0), None);
        assert_eq!(pace.rest_ns(8 * MILLISECOND_NS), None);
        assert_eq!(pace.rest_ns(80 * MILLISECOND_NS), Some(10 * MILLISECOND_NS));
        assert_eq!(pace.rest_ns(u64::MAX), Some(REST_NS_MAX));
    }
}
