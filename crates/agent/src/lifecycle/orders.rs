//! What threads of the program ask of the sampler while it goes on: to write, to pause, to leave them alone in the process.
//! Owns: how long each may take. Never: gives an order without the turn.

use super::ending::end_trace;
use super::thread::{SAMPLER, await_gone, park, threads, unpark};
use crate::process::bells;
use crate::process::files_over_fork;
use crate::process::life::{LIFE, State, is_owner};
use crate::process::mailbox::{Answer, Leaf, MAILBOX, Mark, Order, Turn};
use crate::system::errno;
use crate::system::sampler_stack::SAMPLER_TID;
use genba_format::proto;
use std::sync::atomic::Ordering::SeqCst;

const FLUSH_NS_MAX: u64 = 100_000_000;
/// A handler that walks is waited for: without a CPU it takes that long.
const PAUSE_NS_MAX: u64 = 2_000_000_000;

/// Before the process image may be replaced: what is in memory goes into the file.
pub fn flush_before_exec() {
    end_trace();
    // The exec goes ahead even if this fails.
    let _ = flush(proto::MarkKind::Exec, "", FLUSH_NS_MAX);
    if is_owner() {
        bells::stop_answering();
    }
}

/// The process image was not replaced.
pub fn exec_failed() {
    if is_owner() {
        bells::answer_again();
    }
}

/// What is in memory goes into the file, behind a mark. False: it is not known to be there; the sampler did not answer in time, or cannot
/// write any more.
#[must_use]
pub fn flush(kind: proto::MarkKind, text: &str, wait_ns_max: u64) -> bool {
    matches!(order_flush(Order::Flush, kind, text, wait_ns_max), Some(Answer::Done(_)))
}

/// The same, after a look at the calling thread, which waits for that, at most `wait_ns_max`.
pub fn own_stack(text: &str, wait_ns_max: u64) -> Option<Leaf> {
    match order_flush(Order::OwnStack, proto::MarkKind::Program, text, wait_ns_max)? {
        Answer::Done(leaf) => leaf,
        Answer::Late | Answer::Ended => None,
    }
}

fn order_flush(order: Order, kind: proto::MarkKind, text: &str, wait_ns_max: u64) -> Option<Answer> {
    let turn = turn_while_running(wait_ns_max)?;
    Some(turn.ask(order, Some(Mark::new(kind, text)?), wait_ns_max))
}

/// `None`: there is no sampler that runs, or it is not this thread's turn.
fn turn_while_running(wait_ns_max: u64) -> Option<Turn<'static>> {
    let runs = || is_owner() && LIFE.state() == State::Running;
    if runs() { MAILBOX.turn(wait_ns_max).filter(|_| runs()) } else { None }
}

/// Runs a system call that demands a single thread while the program has none of genba's. False: not run, because the program
/// has threads of its own, or none is genba's.
pub fn alone(call: &mut dyn FnMut()) -> bool {
    if !is_owner() || LIFE.state() != State::Running || threads() != Some(2) {
        return false;
    }
    let errno = errno::get();
    // Afterwards the path may lead elsewhere.
    let turn = park(files_over_fork::Receiver::new);
    errno::set(errno);
    // It has run, so it has said its number.
    let sampler_tid = SAMPLER_TID.load(SeqCst);
    if turn.is_none() || LIFE.state() != State::Parked {
        return false;
    }
    // SAFETY: parked, so that nobody else uses it until `unpark`, whose turn is ours.
    unsafe { (*SAMPLER.load(SeqCst)).stands_aside() };
    await_gone(sampler_tid);
    call();
    let errno = errno::get();
    unpark();
    drop(turn);
    errno::set(errno);
    true
}

/// Runs `change` while no question is open.
pub fn paused(change: &mut dyn FnMut()) {
    let turn = turn_while_running(PAUSE_NS_MAX);
    if let Some(turn) = &turn {
        // The change goes ahead even if the sampler does not hold still.
        let _ = turn.ask(Order::HoldStill, None, PAUSE_NS_MAX);
    }
    change();
    if let Some(turn) = turn {
        turn.over();
    }
}
