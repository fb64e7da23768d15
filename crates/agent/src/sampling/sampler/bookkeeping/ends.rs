//! Threads that told their end: each nanosecond until then goes to a stack, its own or that of one of its kind.
//! Owns: which note is whose, and the row of threads that no tick met. Never: credits time twice. A part of sampler.rs, split off by subject.

use crate::sampling::ledger::ended::{Ended, Given, Met, Whereabouts};
use crate::sampling::ledger::{Clock, Found, Moment};
use crate::sampling::sampler::Sampler;
use crate::sampling::threads::Ran;
use crate::system::proc::{self, monotonic_ns};
use crate::system::threads::ends;
use crate::writing::recorder::Sample;
use genba_format::{NO_SINGLE_THREAD, QUANTUM_NS, proto};

const SHORT_THREADS: &[u8] = b"short threads";

impl Sampler {
    pub(in crate::sampling::sampler) fn take_ends(&mut self) {
        let (ended, threads) = (&mut self.ended, &mut self.threads);
        ends::take(|end| ended.add(end));
        if ended.is_settled() {
            return;
        }
        ended.settle(|end| {
            let known = threads.iter_mut().find(|thread| thread.tid == end.tid && thread.end.is_none());
            if let Some(thread) = known {
                thread.end = Some(end);
                return Whereabouts::Known;
            }
            // Another one with its id has used less by now.
            match proc::thread_cpu_ns(end.tid) {
                Some(cpu_ns) if cpu_ns >= end.cpu_ns => Whereabouts::Going,
                _ => Whereabouts::Gone,
            }
        });
    }

    /// From now on nothing is looked at.
    pub(in crate::sampling::sampler) fn pause_ends(&mut self) {
        ends::want(false);
        self.take_ends();
        self.ended.forget_unknown();
    }

    /// Rows begin anew: what ended before is in no sample.
    pub(in crate::sampling::sampler) fn forget_ends(&mut self) {
        ends::take(|_| {});
        self.ended = Ended::default();
    }

    /// Those that told their end, before the last block.
    pub(in crate::sampling::sampler) fn settle_last_ends(&mut self) {
        ends::want(false);
        self.take_ends();
        for index in 0..self.threads.len() {
            if self.threads[index].end.is_some() {
                self.thread_ended(index, 0);
            }
        }
        self.threads.retain(|thread| !thread.gone);
    }

    /// What a thread did between its last look and its end, where a sample of its own tells it. How many of `looks`, which found it gone, are
    /// still to be counted.
    pub(in crate::sampling::sampler) fn tell_rest(&mut self, index: usize, looks: u64) -> u64 {
        let thread = &mut self.threads[index];
        let Some(end) = thread.end else { return looks };
        let _ = thread.ledger.advance(end.cpu_ns);
        let at = Moment::new(end.at_ns, thread.ledger.cpu_ns());
        if let Some(extension) = thread.ledger.ended(at, looks as u32) {
            self.extend(Some(extension));
            return 0;
        }
        let Some(met) = thread.ran.last() else { return looks };
        // What it did while it could not be asked no sample before that tells.
        if thread.ledger.gave_up() || thread.ledger.cpu_carried_ns() < QUANTUM_NS {
            return looks;
        }
        if looks == 0 {
            self.recorder.look(1);
        }
        let Met { node, state } = met;
        let found = Found { thread: self.row(index), node, state, ticks: looks.max(1) as u32 };
        let sample = self.threads[index].ledger.sample(&[Clock::Cpu], at, found);
        self.recorder.sample(sample);
        0
    }

    /// The thread's last clock is told: its stack is that of its kind, or it waits for one.
    pub(in crate::sampling::sampler) fn settle_end(&mut self, index: usize, clock: Option<proto::ThreadClock>) {
        let thread = &self.threads[index];
        let Some(end) = thread.end else { return };
        match (thread.ran, clock) {
            _ if thread.ledger.gave_up() => {}
            (Ran::Never, Some(clock)) => self.ended.owe_row(end.body, clock),
            (Ran::Never, None) => self.ended.owe(end.body, thread.ledger.cpu_not_sampled_ns()),
            (Ran::Once(met), _) => self.ended.meet(end, &[met]),
            // Ticks come at random moments, some of them soon after another.
            (Ran::Twice(met), _) => self.ended.meet(end, &met),
            // Longer than the others: none of their kind.
            (Ran::Often(..), _) => {}
        }
    }

    /// A block ends: the CPU time of threads that no tick met has its stacks, one look each, which ends as a sample.
    pub(in crate::sampling::sampler) fn give_stacks(&mut self, is_last: bool) {
        let last_ns = is_last.then(monotonic_ns);
        for Given { met: Met { node, state }, at_ns: end_ns, quanta: cpu_quanta, owed } in self.ended.give(last_ns) {
            let thread = if let Some(clock) = owed {
                let cpu_not_sampled_ns = clock.cpu_not_sampled_ns % QUANTUM_NS;
                self.recorder.thread_clock(proto::ThreadClock { cpu_not_sampled_ns, name: 0, ..clock });
                clock.thread
            } else {
                let tables = &mut self.tables;
                self.ended.row(|| tables.thread(NO_SINGLE_THREAD, SHORT_THREADS, end_ns))
            };
            self.recorder.look(1);
            self.recorder.sample(Sample { end_ns, thread, node, state, ticks: 1, cpu_quanta, wall_quanta: 0 });
        }
    }
}
