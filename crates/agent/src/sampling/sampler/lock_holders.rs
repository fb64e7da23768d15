//! Whose RLock a thread waits for. Each look at the thread reads the lock's owner; that thread held it since the look before.
//! Owns: for how long which thread held up which. Never: says a holder that is not listed. A part of sampler.rs.

use super::Sampler;
use crate::writing::recorder::LockWait;
use genba_python::memory::{Address, Memory};
use genba_signal::memory::{Blocks, ByKernel, Guarded};
use genba_signal::request::Reading;

impl Sampler {
    /// The index of the thread that this word names as a lock's owner.
    pub(super) fn lock_holder(&self, owner: Address) -> Option<usize> {
        let ident = match self.reading() {
            Reading::Guarded => Guarded.word(owner),
            Reading::ByKernel => ByKernel::new(self.pid, &Blocks::zeroed()).word(owner),
        };
        let tid = self.states.with_ident(ident.ok()?)?;
        self.threads.iter().position(|thread| thread.tid == tid && !thread.gone)
    }

    /// So much of the thread's wait goes to the one that holds its lock.
    pub(super) fn was_held_up(&mut self, index: usize, wall_quanta: u64) {
        let Some(still) = self.threads[index].ledger.still() else { return };
        let holder = still.lock_owner.and_then(|owner| self.lock_holder(owner));
        // It may have got the lock just now.
        let Some(holder) = holder.filter(|holder| *holder != index) else { return };
        let (thread, holder) = (self.row(index), self.row(holder));
        self.recorder.held_up(LockWait { thread, node: still.node, holder }, wall_quanta);
    }
}
