//! Stacks in which garbage collections ran. They have a pool of their own: they come in other bursts than copies, and are taken with the
//! collection that each belongs to.
//! Owns: that pool, and the gate before it. Never: waits for a free buffer. Keeps: I-05.

use crate::handler::{SHARED, look, look_by_kernel};
use crate::memory::Guarded;
use crate::request::{Pool, Question, Reading, Ticket};
use crate::rows::Registers;
use core::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// So many collections may wait for the sampler with their stacks: each is as short as a tenth of a millisecond.
pub const COLLECTIONS: usize = 64;

pub static POOL: Pool<COLLECTIONS> = Pool::NEW;

/// While rows are forgotten nobody may begin to walk by the tables that have them.
static IS_CLOSED: AtomicBool = AtomicBool::new(false);

/// From here to `open` no stack is left; those under way go on. Only the sampler calls this.
pub fn close() {
    IS_CLOSED.store(true, SeqCst);
}

pub fn open() {
    IS_CLOSED.store(false, SeqCst);
}

/// Leaves the calling thread's stack as seen from `registers`. `question`: how to look; `Reading::Guarded` only where a fault reaches
/// genba's handler. None: no buffer is free, or the gate is closed.
pub fn leave(question: &Question, registers: Registers) -> Option<Ticket> {
    let (ticket, answer, blocks) = POOL.begin_own()?;
    // SeqCst: after the swap to Walking; whoever closes looks for walkers afterwards, so one of both sees the other.
    if IS_CLOSED.load(SeqCst) {
        POOL.give_up(ticket);
        return None;
    }
    // SAFETY: `begin_own` made the buffer Walking.
    let tables = unsafe { SHARED.tables() };
    match question.reading {
        Reading::Guarded => look(&Guarded, tables, registers, question, answer),
        Reading::ByKernel => look_by_kernel(tables, registers, question, answer, blocks),
    }
    // No handler ran.
    (answer.began_tsc, answer.handler_tsc) = (0, 0);
    POOL.finish(ticket);
    Some(ticket)
}
