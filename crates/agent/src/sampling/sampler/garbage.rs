//! Collections, on the sampler's side: installed, taken, told. A part of sampler.rs; sampling/collections.rs has what needs no sampler.
//! Never: keeps a stack's buffer longer than it takes to read it. Keeps: I-03 (what was lost is told).

use super::{LayoutTrust, Sampler};
use crate::collections::list::withdraw;
use crate::collections::ring::{Event, RING};
use crate::sampling::collections::{is_incremental, reason, row};
use crate::system::proc::monotonic_ns;
use genba_format::proto::{self, CollectionReason};
use genba_signal::deposits::collections::POOL;

impl Sampler {
    pub(super) fn tend_collections(&mut self, now_ns: u64) {
        self.install_collections(now_ns);
        self.take_collections();
    }

    fn install_collections(&mut self, now_ns: u64) {
        let layout = (self.layout_trust == LayoutTrust::Checked).then_some(&*self.layout);
        if let Some(why) = self.collections.go_on(now_ns, layout, self.pid) {
            self.recorder.mark(proto::MarkKind::Note, &format!("{}: {why}", self.collections.not_done()), 0);
        }
    }

    /// As many as the block has room for.
    pub(super) fn take_collections(&mut self) {
        self.take_collections_until(|sampler| sampler.recorder.is_block_full(&sampler.tables));
    }

    fn take_collections_until(&mut self, is_full: impl Fn(&Sampler) -> bool) {
        if !self.collections.are_on() {
            return;
        }
        while RING.is_old() {
            let Some(event) = RING.take() else { break };
            event.stack.into_iter().for_each(|ticket| POOL.done(ticket));
        }
        if !std::mem::replace(&mut self.collections.is_told, true) {
            let before =
                RING.before().iter().zip(self.collections.taken).map(|(before, taken)| before + taken).collect();
            self.recorder.collector = Some(proto::Collector { before, lost: 0, incremental: is_incremental() });
        }
        while let Some(event) = RING.take() {
            self.take_collection(&event);
            if is_full(self) {
                // What is still in the ring waits for the next block.
                break;
            }
        }
        let lost = RING.take_lost();
        if lost > 0 {
            let collector = self.recorder.collector.get_or_insert_default();
            collector.lost += lost;
            collector.incremental = is_incremental();
        }
    }

    fn take_collection(&mut self, event: &Event) {
        self.collections.count(event.generation);
        let (mut node, mut why) = (0, CollectionReason::Unknown);
        if let Some(ticket) = event.stack {
            if let Some(answer) = POOL.answered(ticket) {
                why = reason(&self.stacks.loaded, answer, event.is_finalizing);
                if !self.collections.stale.has(ticket) {
                    let seen = self.stacks.python_node(&mut self.tables, answer);
                    node = seen.node_or_refused(answer.python_end).unwrap_or(0);
                }
            }
            POOL.done(ticket);
        }
        let is_full = event.generation == 2;
        if why == CollectionReason::Threshold && event.is_finalizing && is_full && node == 0 {
            // PyGC_Collect was compiled into the function that ends the interpreter: no frame is its own.
            why = CollectionReason::Shutdown;
        }
        let thread = self.threads.iter().position(|thread| thread.tid == event.tid);
        let thread = thread.map_or(0, |index| self.row(index) + 1);
        self.recorder.collections.push(row(event, why, thread, node));
    }

    /// What happened while the program wanted nothing to be seen is counted, and not told.
    pub(super) fn skip_collections(&mut self) {
        let mut skipped = 0;
        while let Some(event) = RING.take() {
            skipped += 1;
            if let Some(ticket) = event.stack {
                POOL.done(ticket);
            }
        }
        if skipped > 0 {
            self.recorder.collector.get_or_insert_default().lost += skipped;
        }
    }

    /// The recording ends: the last ones, and the program's list is the collector's again when the program comes to a safe point.
    pub(super) fn end_collections(&mut self) {
        // The task may have run since the last tick; and there is no later block.
        self.install_collections(monotonic_ns());
        self.take_collections_until(|_| false);
        let are_on = self.collections.are_on();
        if self.collections.give_up() {
            let words = "the main thread did not come back to the interpreter's loop";
            let text = format!("{}: {words}", self.collections.not_done());
            self.recorder.mark(proto::MarkKind::Note, &text, 0);
        }
        if are_on {
            withdraw();
        }
    }
}
