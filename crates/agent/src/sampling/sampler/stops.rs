//! Time in which the whole process was stopped: Ctrl-Z, SIGSTOP, a freezer, a debugger. Nobody ran then, and nobody was late.
//! Owns: what tells a stop from a sampler that got no CPU. Never: credits such time to a thread. A part of sampler.rs.

use super::Sampler;
use crate::sampling::threads::Turns;
use crate::system::proc::{self, monotonic_ns};
use crate::system::tasks;
use crate::writing::outcomes::Dropped;
use genba_format::proto;

/// A shorter gap is never looked into: a virtual machine that loses its CPU for a moment is not worth a word.
const STOPPED_NS_MIN: u64 = 100_000_000;

/// What is known about the time between the moment at which a tick was due and the one at which it began.
#[derive(Clone, Copy, Debug)]
struct Gap {
    ns: u64,
    /// For so much of it at most the sampler could have run and got no CPU.
    delayed_ns: u64,
    /// So much CPU the program used since it was last looked at.
    program_ns: u64,
}

impl Gap {
    /// The sampler slept when its timer ran out, and neither waited for a CPU then, nor did the program run.
    const fn is_stop(self) -> bool {
        self.ns >= STOPPED_NS_MIN && self.delayed_ns < self.ns / 2 && self.program_ns < self.ns / 2
    }
}

impl Sampler {
    /// How long this thread could have run and got no CPU, in all. `None`: the kernel does not tell.
    pub(super) fn own_delay_ns(&self) -> Option<u64> {
        let tasks = self.tasks.as_ref()?;
        let text = proc::read_whole(Some(tasks.folder()), &tasks::path(tasks.own(), "schedstat"))?;
        Some(Turns::parse(&text)?.waited_ns)
    }

    /// Whether the process was stopped since the present tick was due. Then that time is accounted for, once and not for each thread, and
    /// is in no sample. A sampler that fell asleep at `slept_ns`, when its tick was due already, may have been held up by its own work, e.g. by
    /// a slow disk: that is not called a stop.
    pub(super) fn was_stopped(&mut self, slept_ns: u64, due_ns: u64, now_ns: u64) -> bool {
        let gap_ns = now_ns.saturating_sub(due_ns);
        if gap_ns < STOPPED_NS_MIN || slept_ns >= due_ns {
            return false;
        }
        let own_delay_ns = self.own_delay_ns();
        let before_ns = std::mem::replace(&mut self.delayed_ns, own_delay_ns);
        let Some((before_ns, after_ns)) = before_ns.zip(self.delayed_ns) else { return false };
        let ran_ns = |thread: &crate::sampling::threads::Thread| {
            proc::thread_cpu_ns(thread.tid).unwrap_or(thread.ledger.cpu_ns()).saturating_sub(thread.ledger.cpu_ns())
        };
        let program_ns = self.threads.iter().map(ran_ns).sum();
        let gap = Gap { ns: gap_ns, delayed_ns: after_ns.saturating_sub(before_ns), program_ns };
        if gap.is_stop() {
            self.skip_stop(due_ns, now_ns);
        }
        gap.is_stop()
    }

    fn skip_stop(&mut self, due_ns: u64, now_ns: u64) {
        let missed = self.schedule.ticks_in(now_ns - due_ns);
        self.recorder.look(missed);
        self.recorder.dropped(Dropped::Stopped, missed);
        self.recorder.mark(proto::MarkKind::Halt, "", now_ns - due_ns);
        for index in 0..self.threads.len() {
            self.settle_glances(index);
            self.write_still(index);
            self.ran_until(index, self.threads[index].ledger.cpu_ns());
            let thread = &mut self.threads[index];
            thread.looks.forget_glances();
            let skipped_ns = thread.ledger.skip_wall(now_ns);
            self.recorder.wall_not_sampled(skipped_ns);
        }
    }

    /// Looks that were due and did not come before an order came.
    pub(super) fn count_missed(&mut self, slept_ns: u64, due_ns: u64) {
        let now_ns = monotonic_ns();
        if !self.was_stopped(slept_ns, due_ns, now_ns) {
            self.count_gap(now_ns.saturating_sub(due_ns), Dropped::Late);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Gap, STOPPED_NS_MIN};

    const SECOND_NS: u64 = 1_000_000_000;

    #[test]
    fn a_stop_is_what_nobody_ran_in_and_nobody_wanted_to() {
        let stop = Gap { ns: 3 * SECOND_NS, delayed_ns: 200_000, program_ns: 900_000 };
        assert!(stop.is_stop());
        // Other processes had all CPUs.
        assert!(!Gap { delayed_ns: 3 * SECOND_NS, ..stop }.is_stop());
        // A debugger held the sampler's thread alone.
        assert!(!Gap { program_ns: 3 * SECOND_NS, ..stop }.is_stop());
        assert!(!Gap { ns: STOPPED_NS_MIN - 1, delayed_ns: 0, program_ns: 0 }.is_stop());
    }
}
