//! A block: what it has of waits that go on, and the clocks of threads that it tells.
//! Owns: when a wait is written. Never: reads a stack. A part of bookkeeping.rs.

use super::super::{EVERY_TICK_MAX, Sampler};
use crate::heap::pending_answers;
use crate::process::bells;
use crate::writing::reaped;
use genba_format::proto;
use genba_signal::request::POOL;

/// So long a wait with a cut stack is kept out of blocks while tables are made. `kill -9` costs so much more of it.
const CUT_NS_MAX: u64 = 200_000_000;

impl Sampler {
    /// Writes a block, when there is anything to say, and what waits beside it.
    pub(in super::super) fn flush(&mut self, end: Option<&str>) {
        self.write_block(end, u64::MAX);
    }

    /// At its time. A wait whose callers nobody can tell before the tables are made stays one for a while, and has them then.
    pub(in super::super) fn flush_in_time(&mut self, now_ns: u64) {
        let is_compiled = self.stacks.loaded.is_compiled();
        self.write_block(None, if is_compiled { u64::MAX } else { now_ns.saturating_sub(CUT_NS_MAX) });
    }

    /// Without the waits since then whose stacks are cut.
    fn write_block(&mut self, end: Option<&str>, cut_since_ns: u64) {
        pending_answers::write();
        self.left_behind.free(&POOL);
        self.take_collections();
        let mut looks_open = 0;
        for index in 0..self.threads.len() {
            let still = self.threads[index].ledger.still();
            if let Some(still) = still.filter(|still| still.cut_at.is_some() && still.began_ns >= cut_since_ns) {
                self.threads[index].ledger.end_block_in_wait();
                looks_open += u64::from(still.ticks);
                continue;
            }
            self.write_still(index);
            self.threads[index].ledger.end_block(still);
        }
        self.give_stacks(end.is_some());
        let reaped_lost = reaped::take_lost();
        if reaped_lost > 0 {
            let text = "children ended so fast one after another that their CPU time is not known";
            self.recorder.mark(proto::MarkKind::Note, &format!("{reaped_lost} {text}"), reaped_lost);
        }
        if self.recorder.is_started() && end.is_none() && !self.recorder.has_news() {
            return;
        }
        self.settle_counts(end.is_some());
        self.tell_clocks(end.is_some());
        self.threads.iter().filter_map(|thread| thread.open).for_each(|open| looks_open += u64::from(open.ticks));
        self.recorder.flush(&mut self.tables, looks_open, end);
    }

    /// Somebody who is about to kill this process waits until it has written what it has.
    pub(in super::super) fn answer_killer(&mut self) {
        if let Some(question) = bells::question() {
            self.settle_counts(true);
            self.flush(None);
            bells::answer(question);
        }
    }

    /// The clocks that changed since a block told them: of a thousand threads few did. Names, too: a thread may be renamed, and where there
    /// are many only those that ran are asked.
    fn tell_clocks(&mut self, is_last: bool) {
        let all = is_last || self.threads.len() <= EVERY_TICK_MAX;
        self.names.look_again();
        for index in 0..self.threads.len() {
            let Some(row) = self.threads[index].row else { continue };
            self.tell_kernel_name(index, row);
            let thread = &mut self.threads[index];
            let (cpu_ns, cpu_not_sampled_ns) = (thread.ledger.cpu_ns(), thread.ledger.cpu_not_sampled_ns());
            let moved = thread.clock_told.replace((cpu_ns, cpu_not_sampled_ns)) != Some((cpu_ns, cpu_not_sampled_ns));
            if moved || all {
                self.read_name(index);
            }
            let thread = &mut self.threads[index];
            if moved || thread.name.is_news() {
                if let Some(tasks) = &self.tasks {
                    thread.read_turns(tasks.folder());
                }
                self.recorder.thread_clock(thread.clock(row, false));
            }
        }
        if let Some(clock) = self.ended.clock() {
            self.recorder.thread_clock(clock);
        }
    }
}
