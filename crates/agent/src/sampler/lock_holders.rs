//! Whose RLock a thread waits for. Each look at the thread reads the lock's owner; that thread held it since the look before.
//! Owns: for how long which thread held up which. Never: says a holder that is not listed. A part of sampler.rs.

use super::Sampler;
use genba_format::QUANTUM_NS;
use genba_signal::memory::{Address, Blocks, ByKernel, Guarded, Memory};
use genba_signal::request::Reading;
use rustc_hash::FxHashMap;

/// Quanta of wall time since the last block, by the waiting thread's row, its leaf and the holder's row.
pub(super) type Waited = FxHashMap<(u32, u32, u32), u64>;

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
        let Some(still) = self.threads[index].still else { return };
        let holder = still.lock_owner.and_then(|owner| self.lock_holder(owner));
        // It may have got the lock just now.
        let Some(holder) = holder.filter(|holder| *holder != index) else { return };
        let key = (self.row(index), still.node, self.row(holder));
        *self.held_up.entry(key).or_default() += wall_quanta;
    }

    /// Before a block is written.
    pub(super) fn tell_lock_holders(&mut self) {
        for ((thread, node, holder), wall_quanta) in self.held_up.drain() {
            self.recorder.held(thread, node, holder, wall_quanta * QUANTUM_NS);
        }
    }
}
