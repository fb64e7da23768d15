//! Orders from the program's threads to the sampler, and its reports.
//! Owns: the futexes, and whose turn it is to give orders. Never: waits without end.

use crate::process::bells::{self, Rest};
use crate::process::life::LIFE;
use crate::system::proc::{monotonic_ns, own_tid};
use genba_bells::futex::{self, Reach};
use genba_format::{ProcessKey, proto};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};

/// What the sampler shall do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Order {
    Run = 0,
    /// Take back all questions and wait: a signal handler is about to change.
    Pause = 1,
    /// Write what there is and go on: the process image may be replaced.
    Flush = 2,
    /// Write the last block and end.
    End = 3,
    /// End the thread, keep everything: the process is about to fork.
    Park = 4,
}

/// What it has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Done {
    Running = 0,
    Paused = 1,
    Flushed = 2,
    Ended = 3,
    /// The program wants no looks for now.
    StandingBy = 4,
}

/// The program does not want to be sampled for now.
static PAUSED: AtomicBool = AtomicBool::new(false);
/// What the next flush says; taken by the sampler while the one who left it waits.
static MARK: Mutex<Option<(proto::MarkKind, String)>> = Mutex::new(None);
static ORDER: AtomicU32 = AtomicU32::new(0);
static DONE: AtomicU32 = AtomicU32::new(0);

#[must_use]
pub fn order() -> Order {
    // SeqCst: pairs with `give`.
    match ORDER.load(SeqCst) {
        1 => Order::Pause,
        2 => Order::Flush,
        3 => Order::End,
        4 => Order::Park,
        _ => Order::Run,
    }
}

pub fn give(order: Order) {
    ORDER.store(order as u32, SeqCst);
    bells::ring_own();
}

/// Pauses the sampling, or lets it go on; the sampler hears of it at once.
pub fn pause(paused: bool) {
    PAUSED.store(paused, SeqCst);
    bells::ring_own();
}

#[must_use]
pub fn is_paused() -> bool {
    PAUSED.load(SeqCst)
}

/// A stack, by its process's key and its leaf node (index + 1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leaf {
    pub process_key: ProcessKey,
    pub node: u32,
}

/// The thread that wants its own stack to be looked at with the next flush; 0: nobody.
static ASKER: AtomicU32 = AtomicU32::new(0);
static FOUND: Mutex<Option<Leaf>> = Mutex::new(None);

/// Before an order to flush: the calling thread's stack shall be looked at, while it waits for that.
pub fn ask_for_own_stack() {
    found(None);
    ASKER.store(own_tid(), SeqCst);
}

/// After it: what was seen.
pub fn own_stack() -> Option<Leaf> {
    ASKER.store(0, SeqCst);
    FOUND.try_lock().ok()?.take()
}

pub fn asker() -> Option<u32> {
    Some(ASKER.load(SeqCst)).filter(|&tid| tid != 0)
}

pub fn found(leaf: Option<Leaf>) {
    if let Ok(mut found) = FOUND.try_lock() {
        *found = leaf;
    }
}

/// Before an order to flush. Never waits. False: it cannot be left.
#[must_use]
pub fn leave_mark(kind: proto::MarkKind, text: &str) -> bool {
    let mut words = String::new();
    // On a thread of the program's: without memory there is no mark.
    if words.try_reserve_exact(text.len()).is_err() {
        return false;
    }
    let Ok(mut mark) = MARK.try_lock() else { return false };
    words.push_str(text);
    *mark = Some((kind, words));
    true
}

pub fn take_mark() -> Option<(proto::MarkKind, String)> {
    MARK.try_lock().ok()?.take()
}

pub fn report(done: Done) {
    if done == Done::Ended {
        LIFE.thread_leaves();
    }
    DONE.store(done as u32, SeqCst);
    futex::wake(&DONE, Reach::Process);
}

#[must_use]
pub fn reported() -> Done {
    match DONE.load(SeqCst) {
        1 => Done::Paused,
        2 => Done::Flushed,
        3 => Done::Ended,
        4 => Done::StandingBy,
        _ => Done::Running,
    }
}

/// The sampler's sleep: until `deadline_ns` (CLOCK_MONOTONIC) or another order than `present`.
/// One that may answer a killer's question is woken by that, too.
pub fn sleep_until(deadline_ns: u64, present: Order) {
    bells::sleep_until(deadline_ns, || order() == present && !(present == Order::Run && bells::question().is_some()));
}

/// The same, but the alarm's signal ends it, too (bells.rs).
pub fn rest_until(deadline_ns: u64) -> Rest {
    bells::rest_until(deadline_ns, || order() == Order::Run && !is_paused() && bells::question().is_none())
}

/// Waits for a report, at most `wait_ns_max`. False: it did not come.
pub fn await_report(wanted: Done, wait_ns_max: u64) -> bool {
    let deadline_ns = monotonic_ns() + wait_ns_max;
    loop {
        let seen = DONE.load(SeqCst);
        if seen == wanted as u32 || seen == Done::Ended as u32 {
            return seen == wanted as u32;
        }
        if monotonic_ns() >= deadline_ns {
            return false;
        }
        futex::wait(&DONE, seen, deadline_ns, Reach::Process);
    }
}

/// Waits until another report than `past` is there, at most `wait_ns_max`: whoever gives the next order must not take that one for
/// its own.
pub fn await_report_after(past: Done, wait_ns_max: u64) {
    let deadline_ns = monotonic_ns() + wait_ns_max;
    while DONE.load(SeqCst) == past as u32 && monotonic_ns() < deadline_ns {
        futex::wait(&DONE, past as u32, deadline_ns, Reach::Process);
    }
}

/// The right to give orders: one thread of the program at a time, so that no order is overwritten before it is done.
pub struct Turn(());

/// The thread that has the turn; 0: nobody.
static TURN: AtomicU32 = AtomicU32::new(0);

/// Waits for the turn, at most `wait_ns_max`. `None` also for a signal handler that interrupted the thread which has it:
/// then the caller does without.
#[must_use]
pub fn turn(wait_ns_max: u64) -> Option<Turn> {
    let own = own_tid();
    let deadline_ns = monotonic_ns() + wait_ns_max;
    loop {
        match TURN.compare_exchange(0, own, SeqCst, SeqCst) {
            Ok(_) => return Some(Turn(())),
            Err(holder) if holder == own || monotonic_ns() >= deadline_ns => return None,
            Err(holder) => futex::wait(&TURN, holder, deadline_ns, Reach::Process),
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        TURN.store(0, SeqCst);
        futex::wake(&TURN, Reach::Process);
    }
}

impl Turn {
    /// Keeps the turn until `give_back` by the same thread.
    pub fn keep(self) {
        std::mem::forget(self);
    }

    /// Ends the turn that this thread kept.
    pub fn give_back() {
        drop(Turn(()));
    }

    /// In a forked child: whoever had the turn is not there any more.
    pub fn nobody_has_it() {
        drop(Turn(()));
    }
}
