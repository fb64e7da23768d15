//! Stacks that threads of the program leave by themselves, at the place where something happened that only they can notice: a large copy,
//! an allocation. The sampler takes them as it takes other answers, by `left_at`, `answered` and `done`.
//! Owns: the second pool. Never: waits for a free buffer: who finds none counts what it could not leave. Keeps: I-05.

use crate::handler::{SHARED, look, look_by_kernel};
use crate::memory::Guarded;
use crate::request::{Pool, Question, Reading, Ticket};
use crate::rows::Registers;

pub const DEPOSITS: usize = 8;

pub static POOL: Pool<DEPOSITS> = Pool::NEW;

/// Leaves the calling thread's stack as seen from `registers`. `question`: how to look; `Reading::Guarded` only where a fault reaches
/// genba's handler. None: no buffer is free.
pub fn leave(question: &Question, registers: Registers) -> Option<Ticket> {
    let (ticket, answer, blocks) = POOL.begin_own()?;
    // SAFETY: `begin_own` made the buffer Walking.
    let tables = unsafe { SHARED.tables() };
    match question.reading {
        Reading::Guarded => look(&Guarded, tables, registers, question, answer),
        Reading::ByKernel => look_by_kernel(tables, registers, question, answer, blocks),
    }
    // A deposit has no time of a handler.
    (answer.began_tsc, answer.handler_tsc) = (0, 0);
    POOL.finish(ticket);
    Some(ticket)
}
