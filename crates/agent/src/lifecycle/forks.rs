//! What happens around a fork: the sampler parks, and begins again in both processes.
//! Owns: the handlers of `pthread_atfork`. Never: leaves the fork waiting for a sampler that is held up.

use super::ending::END_NS_MAX;
use super::last_thread;
use super::thread::{ENDED, SAMPLER, THREAD, await_gone, park, start_thread, threads, unpark};
use crate::collections;
use crate::process::bells;
use crate::process::files_over_fork;
use crate::process::life::{LIFE, State, is_owner};
use crate::process::mailbox::MAILBOX;
use crate::process::room;
use crate::process::safe_point;
use crate::reading::count_hooks;
use crate::reading::modules;
use crate::sampling::sampler::{Birth, Sampler};
use crate::system::alternate::fitted;
use crate::system::errno;
use crate::system::proc;
use crate::system::sampler_stack::{SAMPLER_TID, no_sampler};
use crate::system::signals::{self, mask};
use crate::system::symbols::Linker;
use crate::system::threads::{ends, starts};
use genba_python::find::{Found, find};
use genba_signal::deposits;
use genba_signal::handler::SHARED;
use genba_signal::kept;
use genba_signal::memory::Guarded;
use genba_signal::request::POOL;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};

pub static FOLLOW_CHILDREN: AtomicBool = AtomicBool::new(true);
/// The thread that forks and has the turn for that; 0: none.
static FORKING: AtomicU32 = AtomicU32::new(0);

pub(super) extern "C" fn before() {
    let errno = errno::get();
    mask::forks();
    if is_owner() {
        let turn = park(files_over_fork::Receiver::if_elsewhere);
        if LIFE.has_thread() {
            LIFE.went_without();
        }
        if let Some(turn) = turn {
            if !LIFE.has_thread() {
                // Python warns of a fork beside other threads. Taken, so that no later fork waits for a thread that got the same number.
                await_gone(SAMPLER_TID.swap(0, SeqCst));
            }
            // Until after the fork, in both processes, also when there is nothing to park: nobody may start a sampler meanwhile.
            turn.keep();
            FORKING.store(proc::own_tid(), SeqCst);
        }
    }
    errno::set(errno);
}

pub(super) extern "C" fn after_in_parent() {
    let errno = errno::get();
    // Another thread's fork, or order, sees to it otherwise.
    if FORKING.compare_exchange(proc::own_tid(), 0, SeqCst, SeqCst).is_ok() {
        if LIFE.state() == State::Parked && (other_threads() || !safe_point::run_after_this_call(unpark_later)) {
            unpark();
        }
        MAILBOX.give_back();
    }
    errno::set(errno);
}

pub(super) extern "C" fn after_in_child() {
    let errno = errno::get();
    MAILBOX.forked();
    signals::forked();
    mask::forked();
    starts::forked();
    ends::forked();
    fitted::forked();
    bells::forked();
    room::forked();
    safe_point::forked();
    modules::forked();
    no_sampler();
    POOL.forget_walkers();
    deposits::POOL.forget_walkers();
    deposits::collections::open();
    collections::forked();
    kept::forget();
    FORKING.store(0, SeqCst);
    THREAD.store(0, SeqCst);
    let went_without = LIFE.take_without() > 0;
    SHARED.pid.store(0, SeqCst);
    LIFE.set_stands_by(false);
    let follows = FOLLOW_CHILDREN.load(SeqCst);
    count_hooks::forked();
    if LIFE.state() == State::Parked && follows {
        LIFE.take_over();
        last_thread::watch();
        // SAFETY: made by `into_raw` before the fork, and parked; this is the child's own copy.
        let sampler = unsafe { &mut *SAMPLER.load(SeqCst) };
        // The rest of its birth takes memory, and happens in its own thread.
        sampler.is_born(Birth::now());
        start_thread(sampler);
    } else {
        if LIFE.step(State::Parked, State::Ended) {
            ENDED.store(SAMPLER.load(SeqCst), SeqCst);
        } else {
            // A sampler that was not parked is in the middle of something here: it is never used.
            LIFE.step_if_any(State::Absent);
        }
        LIFE.disown();
        if !(went_without && follows && begin_anew()) {
            collections::rest();
            // A thread of the parent's was about to begin: this child still awaits its interpreter (awaited.rs).
            if !files_over_fork::is_awaited() {
                files_over_fork::leave();
            }
        }
    }
    errno::set(errno);
}

/// In a forked child whose parent's sampler was not parked: one that takes nothing from that. False: there is none.
fn begin_anew() -> bool {
    let made = room::within(|| match find(&Guarded, &Linker) {
        Found::Yes { python, .. } => {
            Sampler::anew(python, Birth::now()).map(|sampler| Box::into_raw(Box::new(sampler)))
        }
        Found::No | Found::Refused { .. } => None,
    });
    let Some(sampler) = made.flatten() else { return false };
    LIFE.take_over();
    last_thread::watch();
    start_thread(sampler);
    true
}

/// After a fork Python warns when the process has other threads; with none the sampler starts when that is over.
fn unpark_later(_: u64) -> u64 {
    if is_owner() {
        match MAILBOX.turn(END_NS_MAX) {
            Some(_turn) => unpark(),
            None => {
                safe_point::run_after_this_call(unpark_later);
            }
        }
    }
    0
}

/// Whether the program has a thread beside the calling one, while the sampler is parked.
fn other_threads() -> bool {
    threads().is_none_or(|threads| threads > 1)
}
