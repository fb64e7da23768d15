//! When the next tick comes, and how the sampler sleeps until then: an idle program is let alone for an eighth of the time for which it has
//! been idle, and the alarm says when it runs again. Never: rests where a rate was asked for. A part of sampler.rs.

use super::Sampler;
use crate::process::alarm::Alarm;
use crate::process::bells::Rest;
use crate::process::life::LIFE;
use crate::process::mailbox::MAILBOX;
use crate::system::proc::{self, monotonic_ns};
use crate::system::signals;

/// The alarm is for a program that has used so much CPU since the rest began. The kernel looks at its next tick: 1 to 10 ms later.
const DISTURBED_CPU_NS: u64 = 500_000;

impl Sampler {
    /// When the next tick comes.
    pub(super) fn next_due_ns(&mut self) -> u64 {
        let always_ns = self.random_interval_ns();
        let rest_ns = self.rest_ns();
        self.schedule.next_due_ns(always_ns, rest_ns, self.lease.not_after(self.session.until_ns))
    }

    fn rest_ns(&mut self) -> Option<u64> {
        let rest_ns = self.schedule.idle_rest_ns()?;
        // A process that only genba's thread keeps alive must be able to end, and tables are compiled beside ticks.
        if LIFE.has_first_thread_ended() || !self.stacks.loaded.is_compiled() {
            return None;
        }
        let watched = self.has_alarm();
        self.schedule.rest_ns(rest_ns, watched)
    }

    fn has_alarm(&mut self) -> bool {
        if self.alarm.is_none() && !self.no_alarm {
            self.alarm = Alarm::new(proc::own_tid());
            self.no_alarm = self.alarm.is_none();
        }
        // Its signal must be nobody else's.
        self.alarm.is_some() && self.held.sample
    }

    /// Sleeps until the next tick is due, or an order comes. Returns when it is due: at once, where the alarm ended a rest.
    pub(super) fn sleep_until(&mut self, due_ns: u64) -> u64 {
        if let Some(alarm) = &mut self.alarm {
            if !self.schedule.rested() {
                alarm.unset();
            } else if signals::held().sample {
                let is_set = alarm.set(DISTURBED_CPU_NS);
                match if is_set { MAILBOX.rest_until(due_ns) } else { Rest::Impossible } {
                    Rest::Over => return due_ns,
                    Rest::Disturbed => return due_ns.min(monotonic_ns()),
                    Rest::Impossible => (self.alarm, self.no_alarm) = (None, true),
                }
            }
        }
        MAILBOX.sleep_until(due_ns);
        due_ns
    }

    /// Found running after a rest: it began no earlier than what it ran takes, and waited until then: that moment becomes a look.
    pub(super) fn waited_until(&mut self, index: usize, end_ns: u64) {
        let Some(still) = self.threads[index].ledger.still().filter(|still| still.end_ns < end_ns) else { return };
        // Nothing proves that this was one wait: on a busy machine the sampler may have slept through several steps.
        self.step_waited(index, &still);
        self.threads[index].ledger.forget_context();
        let waited_quanta = self.threads[index].ledger.waits_until(end_ns);
        self.was_held_up(index, waited_quanta);
        self.recorder.look(1);
    }
}
