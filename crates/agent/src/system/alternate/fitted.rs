//! Threads with a mapped alternate stack: those of a program that genba came into while it ran, and new ones whose own stack has no room for it. Of the
//! former: which of them have an alternate stack that genba's handler fits on.
//! Owns: the table of them, and the call that gives the calling thread one. Never: takes a lock, uses a heap, asks another thread for
//! anything. Partners: doors/visited.rs (each thread comes by, sent by `genba attach`), crates/entry/src/visit.rs (reads the table from
//! outside), sampling (asks nobody who is not in it, and says which threads have ended).
//!
//! A thread can only give itself such a stack. It comes here from any instruction, so this is code as for a signal handler.

use super::bolt;
use super::stack::{NONE, Own, map};
use crate::system::errno;
use crate::system::proc::{own_pid, own_tid};
use crate::system::signals::{self, ALTERNATE_BYTES_MIN};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};

/// More threads at a time are not asked.
const PLACES: usize = 4096;
/// So many places are looked at for a thread that is gone when another one needs a place.
const LOOKED_AT: usize = 4;
static NEXT_LOOKED_AT: AtomicU32 = AtomicU32::new(0);

/// Below a thread's alternate stack: for what it needs to find back, and for a handler of the program's that comes just then.
const ROOM_BYTES: usize = 32 << 10;
/// What it needs to find back, at the upper end of that.
const BACK_BYTES: usize = 256;

/// How a thread came out of here, as the command reads it.
const NOT_FITTED: u32 = 0;
const FITTED: u32 = 1;
/// The program has given it a stack that is too small, or there is no memory: it is not asked, and need not come again.
const UNFIT: u32 = 2;

/// One thread's place. The command reads these words, too.
#[repr(C)]
struct Place {
    /// 0: nobody's. A stack that belongs to it is free then.
    tid: AtomicU32,
    state: AtomicU32,
    /// Where genba's stack for it begins, above the room; 0: there is none yet.
    lowest: AtomicU64,
}

/// What the command reads: how many places were ever used, whether threads are to come by at all, then the places.
#[repr(C)]
pub struct Table {
    used: AtomicU32,
    is_needed: AtomicU32,
    places: [Place; PLACES],
}

pub static TABLE: Table = Table {
    used: AtomicU32::new(0),
    is_needed: AtomicU32::new(0),
    places: [const { Place { tid: AtomicU32::new(0), state: AtomicU32::new(NOT_FITTED), lowest: AtomicU64::new(0) } };
        PLACES],
};

/// Before anybody is asked.
pub fn begin() {
    TABLE.is_needed.store(u32::from(bolt::is_needed_late()), SeqCst);
    // Threads may have ended while nothing was recorded.
    for place in used() {
        let tid = place.tid.load(SeqCst);
        if tid != 0 {
            ended(tid);
        }
    }
}

/// Whether this thread may get a signal.
#[must_use]
pub fn bears_signals(tid: u32) -> bool {
    !bolt::is_needed_late() || place_of(tid).is_some_and(|place| place.state.load(SeqCst) == FITTED)
}

/// This thread has ended; or there is another one with its number, which has to come by again.
pub fn ended(tid: u32) {
    let Some(place) = place_of(tid) else { return };
    place.state.store(NOT_FITTED, SeqCst);
    if signals::is_gone(own_pid(), tid) {
        place.tid.store(0, SeqCst);
    }
}

/// In a forked child: the calling thread has kept its stack, the others are not there.
pub fn forked() {
    let is_late = bolt::is_needed_late();
    if !is_late && used().is_empty() {
        return;
    }
    let mut now = NONE;
    asked(&mut now);
    for place in used() {
        let is_own = place.lowest.load(SeqCst) != 0 && own(place).as_kernels(false).ss_sp == now.ss_sp;
        place.state.store(NOT_FITTED, SeqCst);
        place.tid.store(if is_own { own_tid() } else { 0 }, SeqCst);
    }
    if is_late {
        let _ = fit();
    }
}

/// On any thread of the program, at any instruction. The address of `BACK_BYTES` that are this thread's own, below which a handler has room; 0:
/// there are none. `errno` stays.
pub fn fit() -> usize {
    let kept_errno = errno::get();
    let tid = own_tid();
    let room = place_of(tid).or_else(|| take_place(tid)).map_or(0, |place| {
        if place.lowest.load(SeqCst) == 0
            && let Some(own) = map(ROOM_BYTES)
        {
            place.lowest.store(own.lowest() as u64, SeqCst);
        }
        place.state.store(fit_into(place), SeqCst);
        (place.lowest.load(SeqCst) as usize).saturating_sub(BACK_BYTES)
    });
    errno::set(kept_errno);
    room
}

fn fit_into(place: &Place) -> u32 {
    let mut now = NONE;
    if !asked(&mut now) {
        return UNFIT;
    }
    if now.ss_flags & libc::SS_DISABLE == 0 {
        return if now.ss_size >= ALTERNATE_BYTES_MIN { FITTED } else { UNFIT };
    }
    if place.lowest.load(SeqCst) == 0 {
        return UNFIT;
    }
    let own = own(place);
    own.begin(false);
    let is_set = asked(&mut now) && now.ss_sp == own.as_kernels(false).ss_sp;
    if is_set { FITTED } else { UNFIT }
}

fn own(place: &Place) -> Own {
    Own::at(place.lowest.load(SeqCst) as usize)
}

/// A free place, one with a stack before others. A thread that lived for less than a tick has not been seen to end.
fn take_place(tid: u32) -> Option<&'static Place> {
    let take = |place: &&Place| place.tid.compare_exchange(0, tid, SeqCst, SeqCst).is_ok();
    for _ in 0..LOOKED_AT {
        let number = NEXT_LOOKED_AT.fetch_add(1, SeqCst) as usize;
        if let Some(place) = number.checked_rem(used().len()).map(|at| &used()[at]) {
            let holder = place.tid.load(SeqCst);
            if holder != 0 && signals::is_gone(own_pid(), holder) {
                place.state.store(NOT_FITTED, SeqCst);
                let _ = place.tid.compare_exchange(holder, 0, SeqCst, SeqCst);
            }
        }
    }
    let with_stack = used().iter().filter(|place| place.lowest.load(SeqCst) != 0).find(take);
    with_stack.or_else(|| {
        let place = TABLE.places.iter().find(take)?;
        let number = (core::ptr::from_ref(place).addr() - TABLE.places.as_ptr().addr()) / size_of::<Place>();
        TABLE.used.fetch_max(number as u32 + 1, SeqCst);
        Some(place)
    })
}

fn place_of(tid: u32) -> Option<&'static Place> {
    used().iter().find(|place| place.tid.load(SeqCst) == tid)
}

fn used() -> &'static [Place] {
    &TABLE.places[..(TABLE.used.load(SeqCst) as usize).min(PLACES)]
}

/// What the kernel has for this thread.
fn asked(now: &mut libc::stack_t) -> bool {
    // SAFETY: the kernel writes one record.
    unsafe { libc::syscall(libc::SYS_sigaltstack, core::ptr::null::<libc::stack_t>(), core::ptr::from_mut(now)) == 0 }
}

#[cfg(test)]
mod tests {
    use super::super::stack::in_kernel;
    use super::{FITTED, NOT_FITTED, ended, fit, place_of};
    use crate::system::proc::own_tid;
    use std::sync::atomic::Ordering::SeqCst;

    #[test]
    fn a_thread_that_came_by_has_a_stack_that_the_next_one_gets_when_it_has_ended() {
        let stay = |tid: u32| place_of(tid).map(|place| (place.state.load(SeqCst), place.lowest.load(SeqCst)));
        let first = std::thread::spawn(move || {
            // Rust's own threads have an alternate stack of its own: without one, as C's.
            let none = super::NONE;
            in_kernel(&none);
            let room = fit();
            let told = stay(own_tid());
            assert_eq!(told.map(|(_, lowest)| lowest as usize - super::BACK_BYTES), Some(room));
            assert_eq!(fit(), room);
            assert_eq!(stay(own_tid()), told, "once is enough");
            ended(own_tid());
            assert_eq!(stay(own_tid()).map(|(state, _)| state), Some(NOT_FITTED), "it is another one with its number");
            let _ = fit();
            (own_tid(), told)
        });
        let (tid, told) = first.join().unwrap();
        let Some((FITTED, lowest)) = told else { panic!("{told:?}") };
        assert_ne!(lowest, 0);
        while place_of(tid).is_some() {
            ended(tid);
        }
        let second = std::thread::spawn(move || {
            in_kernel(&super::NONE);
            let _ = fit();
            stay(own_tid())
        });
        assert_eq!(second.join().unwrap(), Some((FITTED, lowest)));
    }
}
