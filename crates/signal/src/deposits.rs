//! Stacks that threads of the program leave by themselves, at the place where something happened that only they can notice: a copy or an allocation.
//! The sampler takes them as it takes other answers, by `left_at`, `answered` and `done`.
//! Owns: the second pool; collections.rs has another. Never: waits for a free buffer: who finds none counts what it could not leave. Keeps: I-05.

pub mod collections;
pub mod counts;

use crate::handler::{SHARED, Tables, look, look_by_kernel};
use crate::memory::{ByKernel, Guarded};
use crate::request::{Cause, Pool, Question, Reading, Ticket};
use crate::rows::Registers;
use core::arch::asm;
use genba_python::memory::Memory;
use genba_python::thread_states;

pub const DEPOSITS: usize = 32;

pub static POOL: Pool<DEPOSITS> = Pool::NEW;

/// Why a stack was not left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotLeft {
    NoBuffer,
    /// The sampler wants none.
    NotNow,
}

/// Leaves the calling thread's stack as seen from `registers`. `question`: how to look, asked for once the buffer is this thread's, so that
/// the sampler can wait for all who look; `Reading::Guarded` only where a fault reaches genba's handler. The thread states are found here.
///
/// # Errors
/// Nothing was left.
pub fn leave(question: impl Fn() -> Option<Question>, registers: Registers, cause: Cause) -> Result<Ticket, NotLeft> {
    let (ticket, answer, blocks) = POOL.begin_own().ok_or(NotLeft::NoBuffer)?;
    let Some(mut question) = question() else {
        POOL.give_up(ticket);
        return Err(NotLeft::NotNow);
    };
    // SAFETY: `begin_own` made the buffer Walking.
    let tables = unsafe { SHARED.tables() };
    match question.reading {
        Reading::Guarded => {
            find_states(&Guarded, tables, &mut question);
            look(&Guarded, tables, registers, &question, answer);
        }
        Reading::ByKernel => {
            find_states(&ByKernel::new(question.thread.pid, blocks), tables, &mut question);
            look_by_kernel(tables, registers, &question, answer, blocks);
        }
    }
    answer.cause = cause;
    // A deposit has no time of a handler.
    (answer.began_tsc, answer.handler_tsc) = (0, 0);
    POOL.finish(ticket);
    Ok(ticket)
}

fn find_states<M: Memory>(memory: &M, tables: Tables, question: &mut Question) {
    if let Some(layout) = tables.layout {
        thread_states::of_thread(memory, layout, &mut question.thread, own_descriptor());
    }
}

/// libc's descriptor of the calling thread (`pthread_self`).
fn own_descriptor() -> u64 {
    let descriptor: u64;
    // SAFETY: reads the word at the thread pointer, which holds its own address (System V ABI, x86-64). Whoever leaves a stack has counted in the
    // thread's storage, so there is one.
    unsafe {
        asm!("mov {descriptor}, qword ptr fs:[0]", descriptor = out(reg) descriptor,
            options(nostack, preserves_flags, readonly));
    }
    descriptor
}
