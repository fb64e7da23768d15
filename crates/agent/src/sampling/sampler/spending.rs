//! The CPU that sampling takes and the CPU that the program uses, by the kernel's clocks, for the choice of the rate (schedule/pace.rs).
//! Owns: the measurement of what a signal costs beside the handler. A part of sampler.rs.

use super::Sampler;
use crate::process::bells;
use crate::sampling::schedule::pace::Spent;
use crate::system::proc;
use crate::system::signals;
use genba_format::proto;
use std::sync::atomic::Ordering::Relaxed;

/// So many signals tell what one costs.
const SIGNALS: u64 = 32;

impl Sampler {
    /// In all, since the sampler's thread began.
    pub(super) fn spent_in_all(&self, now_ns: u64) -> Spent {
        Spent {
            wall_ns: now_ns,
            process_ns: proc::clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID).unwrap_or(0),
            own_ns: proc::clock_ns(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0),
            free_ns: self.schedule.compiled_free_ns(),
            handler_ns: self.recorder.handler_ns(),
            signals: self.recorder.handler_runs,
        }
    }

    /// A process that cannot be judged yet goes by what the run's others found.
    pub(super) fn follow_others(&mut self) {
        if let Some(interval_ns) = self.rate_of_others() {
            self.mark_rate(interval_ns);
        }
    }

    fn rate_of_others(&mut self) -> Option<u64> {
        let rate = bells::rate()?;
        self.schedule.pace.follow(rate.program_ns.load(Relaxed), rate.interval_ns.load(Relaxed))
    }

    pub(super) fn judge_rate(&mut self, now_ns: u64) {
        if self.echo_ns.is_none() && self.held.sample && self.session.budget_per_mille.is_some() {
            self.echo_ns = self.measure_echo_ns();
        }
        if let Some(interval_ns) = self.judged_rate(now_ns) {
            self.mark_rate(interval_ns);
        }
    }

    /// The new interval, when it changes. The run's other processes are told.
    pub(super) fn judged_rate(&mut self, now_ns: u64) -> Option<u64> {
        let in_all = self.spent_in_all(now_ns);
        let spent = self.schedule.spent_since_judged(in_all);
        self.session.budget_per_mille?;
        let echo_ns = self.echo_ns.unwrap_or(0);
        let rate = bells::rate();
        let run_ns = rate.map_or(0, |rate| rate.program_ns.fetch_add(spent.program_ns(echo_ns), Relaxed));
        let changed = self.schedule.pace.judge(spent, echo_ns, run_ns);
        let Some(found_ns) = self.schedule.pace.found() else { return changed.or_else(|| self.rate_of_others()) };
        // What an idle process can pay for says nothing about the others.
        if let Some(rate) = rate.filter(|_| spent.is_busy()) {
            rate.interval_ns.store(found_ns, Relaxed);
        }
        changed
    }

    fn mark_rate(&mut self, interval_ns: u64) {
        self.recorder.mark(proto::MarkKind::Rate, "as often as the budget pays for", interval_ns);
    }

    /// What a signal costs the thread that gets it, beside what the handler measures of itself: the way in, and the way back. It is measured
    /// on this thread, with signals that carry no question. The call that sends one is in it, in place of the interrupt that a signal from
    /// another CPU is. Nothing is known where a signal of the program's came meanwhile.
    fn measure_echo_ns(&self) -> Option<u64> {
        let tid = proc::own_tid();
        signals::mask::give_back_here(true);
        signals::unblock_sample();
        let before_ns = proc::clock_ns(libc::CLOCK_THREAD_CPUTIME_ID);
        let sent = (0..SIGNALS).all(|_| signals::send(self.pid, tid, 0).is_ok());
        let after_ns = proc::clock_ns(libc::CLOCK_THREAD_CPUTIME_ID);
        let was_blocked = signals::block_sample();
        signals::mask::give_back_here(false);
        let (before_ns, after_ns) = before_ns.zip(after_ns).filter(|_| sent && !was_blocked)?;
        Some(after_ns.saturating_sub(before_ns) / SIGNALS)
    }
}
