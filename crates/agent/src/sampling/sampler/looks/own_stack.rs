//! A thread of the program asks for its own stack: it waits, and the sampler reads it from outside, like any thread that sleeps.
//! Owns: when such a stack is whole. A part of looks.rs.

use crate::process::life::LIFE;
use crate::process::mailbox::{Leaf, MAILBOX, Posted};
use crate::sampling::sampler::Sampler;
use crate::system::proc::monotonic_ns;
use genba_format::state::State;

/// Each look tells of some code objects that were not known yet.
const LOOKS_MAX: usize = 1000;
/// Between two looks, so that the thread gets to where it waits.
const LOOK_AGAIN_NS: u64 = 50_000;

impl Sampler {
    /// Looks at the thread until its stack is whole, and encloses the leaf in the answer. Nothing, when it cannot be seen.
    pub(in crate::sampling::sampler) fn look_at_asker(&mut self, tid: u32, posted: Posted) {
        let now_ns = monotonic_ns();
        if !self.threads.iter().any(|thread| thread.tid == tid) {
            let known = self.threads.len();
            self.list_threads(now_ns);
            if LIFE.stands_by() {
                self.forget_turns_from(known);
            }
        }
        self.refresh_states();
        self.compile_until(u64::MAX);
        let Some(index) = self.threads.iter().position(|thread| thread.tid == tid) else { return };
        if LIFE.stands_by() {
            self.skip(index, now_ns);
        }
        for _ in 0..LOOKS_MAX {
            self.write_still(index);
            self.recorder.look(1);
            self.look(index);
            if self.threads[index].gone || !MAILBOX.stands(posted) {
                return;
            }
            let still = self.threads[index]
                .ledger
                .still()
                .filter(|still| ![State::WaitingForCpu, State::WaitingForGil].contains(&still.state));
            let is_whole = self.outside.as_ref().is_some_and(|answer| answer.tail_len == 0);
            if let Some(still) = still.filter(|_| is_whole) {
                return MAILBOX.enclose(posted, Leaf { process_key: self.recorder.key(), node: still.node });
            }
            MAILBOX.sleep_while(monotonic_ns() + LOOK_AGAIN_NS, || MAILBOX.stands(posted));
        }
    }
}
