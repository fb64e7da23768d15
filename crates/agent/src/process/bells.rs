//! This process's bell in the table of the run (crates/bells): whoever is about to kill another process rings there first.
//! Owns: this process's place in the table, the word that its sampler sleeps on, whom a signal reaches. Never: waits longer than
//! `ANSWER_NS_MAX` for all that one signal goes to, takes memory or a lock.
//!
//! `genba run` makes the table, in a memory file that is sealed so that it never shrinks, and holds it open. Processes find it through
//! `/proc`: an inherited descriptor would be closed by programs that close all of theirs. Forks inherit the mapping.

use crate::process::alarm;
use crate::process::session;
use crate::system::descriptor::{Descriptor, Identity};
use crate::system::errno;
use crate::system::proc::{self, monotonic_ns};
use crate::system::programs::handed;
use crate::system::signals;
use genba_bells::futex::{self, Reach};
use genba_bells::{ANSWER_NS_MAX, Place, Rate, Table, ask_all, holder, is_deadly, own_namespace};
use genba_signal::handler::SAMPLE_CODE;
use std::ffi::{CString, c_int};
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering::SeqCst};

/// What ended a rest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rest {
    /// Its time, the bell, or nothing that is known.
    Over,
    /// The alarm: the program runs.
    Disturbed,
    /// There can be none: the kernel does not wait for signals here, or the program's own would be taken from it.
    Impossible,
}

// Whoever rings ends a rest with a signal that genba's handler knows as its own.
const _: () = assert!(genba_bells::REST_SIGNAL == signals::SAMPLE && genba_bells::REST_CODE == SAMPLE_CODE);

/// Where the table is mapped; null: there is none. It stays for the life of the process.
static TABLE: AtomicPtr<Table> = AtomicPtr::new(core::ptr::null_mut());
/// While this process has no place in the table.
static ELSEWHERE: Place = Place::of(0);
/// This process's place.
static OWN: AtomicPtr<Place> = AtomicPtr::new((&raw const ELSEWHERE).cast_mut());
/// The pid namespace that this process, or the one that it was forked from, was in when it took a place; 0: not known, and nobody is asked.
static NAMESPACE: AtomicU32 = AtomicU32::new(0);

/// An `exec` is under way: no question is answered, so that one stays open behind it.
static IS_SILENT: AtomicBool = AtomicBool::new(false);

fn table() -> Option<&'static Table> {
    // SAFETY: a mapping of that size, which is never taken away and whose file cannot shrink; all fields are atomic.
    unsafe { TABLE.load(SeqCst).as_ref() }
}

fn places() -> &'static [Place] {
    table().map_or(&[], |table| &table.places)
}

/// What the processes of this run told one another of their cost. `None`: there is no table.
pub fn rate() -> Option<&'static Rate> {
    table().map(|table| &table.rate)
}

fn own() -> &'static Place {
    // SAFETY: a place of the table, or `ELSEWHERE`: both live as long as the process.
    unsafe { &*OWN.load(SeqCst) }
}

/// Maps the table that the session names, if it is still that one. Before `main`.
pub fn open(named: &session::Table) {
    let (identity, Ok(path)) =
        (Identity { device: named.device, inode: named.inode }, CString::new(named.path.as_str()))
    else {
        return;
    };
    // Looked at first: to open another file of that name might have an effect.
    if Identity::of_writable(&path) != Some(identity) {
        return;
    }
    let Ok(file) = Descriptor::open_at(None, &path, libc::O_RDWR | libc::O_NONBLOCK | libc::O_NOCTTY) else { return };
    if file.identity() != Some(identity) {
        return;
    }
    open_from(&file);
}

/// Maps the table from genba's hand, where there is none yet. In the sampler's thread, before it takes a place.
pub fn open_from(file: &Descriptor) {
    if table().is_some() {
        return;
    }
    // SAFETY: the descriptor is open until the end of this function.
    let Some(mapped) = genba_bells::map(unsafe { BorrowedFd::borrow_raw(file.number()) }) else { return };
    TABLE.store((&raw const *mapped).cast_mut(), SeqCst);
    handed::count_in(&mapped.programs);
}

/// The sampler's thread takes a place for its process, if there is one.
pub fn take_place() {
    let Some(namespace) = own_namespace() else { return };
    NAMESPACE.store(namespace, SeqCst);
    let taken = take_place_in(places(), namespace, proc::own_pid(), |other| {
        // SAFETY: asks whether there is such a process.
        unsafe { libc::syscall(libc::SYS_kill, other, 0) == 0 || errno::get() != libc::ESRCH }
    });
    if let Some(place) = taken {
        place.answered.store(place.asked.load(SeqCst), SeqCst);
        place.resting.store(0, SeqCst);
        OWN.store((&raw const *place).cast_mut(), SeqCst);
    }
}

/// Whether a process lives is only known of those in the same namespace.
fn take_place_in(table: &[Place], namespace: u32, pid: u32, lives: impl Fn(u32) -> bool) -> Option<&Place> {
    let own = holder(namespace, pid);
    // What the program before an `exec` left, or a process that had this number before.
    let left = table.iter().find(|place| place.holder.load(SeqCst) == own);
    let take = |place: &&Place, from: u64| place.holder.compare_exchange(from, own, SeqCst, SeqCst).is_ok();
    left.or_else(|| table.iter().find(|place| take(place, 0))).or_else(|| {
        table.iter().find(|place| {
            let other = place.holder.load(SeqCst);
            let other_pid = other as u32;
            other == holder(namespace, other_pid) && !lives(other_pid) && take(place, other)
        })
    })
}

/// The sampler's thread ends, its blocks are written: nobody waits for it any more.
pub fn leave_place() {
    let place = own();
    let held_by = holder(NAMESPACE.load(SeqCst), proc::own_pid());
    if place.holder.compare_exchange(held_by, 0, SeqCst, SeqCst).is_ok() {
        place.answer(place.asked.load(SeqCst));
    }
    OWN.store((&raw const ELSEWHERE).cast_mut(), SeqCst);
}

/// In a forked child: the place is its parent's.
pub fn forked() {
    answer_again();
    ELSEWHERE.resting.store(0, SeqCst);
    OWN.store((&raw const ELSEWHERE).cast_mut(), SeqCst);
}

/// Wakes this process's sampler: there is something for it to do.
pub fn ring_own() {
    own().ring();
}

/// The sampler's sleep, until `deadline_ns` (CLOCK_MONOTONIC) or the bell. `is_idle`, asked last, says that there is nothing to do.
pub fn sleep_until(deadline_ns: u64, is_idle: impl FnOnce() -> bool) {
    let place = own();
    let rung = place.bell.load(SeqCst);
    if is_idle() {
        futex::wait(&place.bell, rung, deadline_ns, Reach::Shared);
    }
}

/// The same in a process in which SIGURG is genba's: the alarm's ends it, too. One of the program's, for which all its threads wait or which all
/// of them block, may come to this thread as well: it goes back. The calling thread blocks the signal.
pub fn rest_until(deadline_ns: u64, is_idle: impl FnOnce() -> bool) -> Rest {
    let place = own();
    place.resting.store(proc::own_tid(), SeqCst);
    let rest = if is_idle() { wait_for_signal(deadline_ns.saturating_sub(monotonic_ns())) } else { Rest::Over };
    place.resting.store(0, SeqCst);
    rest
}

fn wait_for_signal(wait_ns: u64) -> Rest {
    let time = libc::timespec { tv_sec: (wait_ns / 1_000_000_000) as i64, tv_nsec: (wait_ns % 1_000_000_000) as i64 };
    let mask = 1_u64 << (signals::SAMPLE - 1);
    // SAFETY: the kernel writes one siginfo on this stack and reads the mask of eight bytes and the time.
    unsafe {
        let mut came: libc::siginfo_t = core::mem::zeroed();
        match libc::syscall(libc::SYS_rt_sigtimedwait, &raw const mask, &raw mut came, &raw const time, 8) {
            signal if signal > 0 && alarm::rang(&came) => Rest::Disturbed,
            signal if signal > 0 && signals::is_sample(&came) => Rest::Over,
            signal if signal > 0 => {
                signals::hand_back(&came);
                Rest::Impossible
            }
            _ if matches!(errno::get(), libc::EAGAIN | libc::EINTR) => Rest::Over,
            _ => Rest::Impossible,
        }
    }
}

/// This process is asked to write: what `answer` wants to know then.
#[must_use]
pub fn question() -> Option<u32> {
    if IS_SILENT.load(SeqCst) {
        return None;
    }
    let place = own();
    let asked = place.asked.load(SeqCst);
    (asked != place.answered.load(SeqCst)).then_some(asked)
}

/// In the sampler: it is written.
pub fn answer(question: u32) {
    own().answer(question);
}

/// Before an `exec`: the next program may never answer. While a question is open nobody waits for another; the next program's sampler closes
/// this one, or this program's after a failed `exec`.
pub fn stop_answering() {
    IS_SILENT.store(true, SeqCst);
    own().ask_in_silence();
}

pub fn answer_again() {
    IS_SILENT.store(false, SeqCst);
}

/// Before a signal that may end processes is sent to `target`, as `kill` takes it: those of this run write what they have. Called in signal
/// handlers, too; `errno` stays.
pub fn before_signal(target: libc::pid_t, signal: c_int) {
    let places = places();
    if !places.is_empty() && is_deadly(signal) {
        let errno = errno::get();
        let (namespace, own) = (NAMESPACE.load(SeqCst), proc::own_pid());
        ask_all(places, namespace, |pid| pid != own && reaches(target, pid), monotonic_ns() + ANSWER_NS_MAX);
        errno::set(errno);
    }
}

/// Whether a signal to `target` comes to the process `pid`.
fn reaches(target: libc::pid_t, pid: u32) -> bool {
    // SAFETY: asks only.
    let group = || unsafe { libc::getpgid(pid as libc::pid_t) };
    match target {
        -1 => true,
        // SAFETY: asks only.
        0 => group() == unsafe { libc::getpgrp() },
        ..-1 => group() == target.wrapping_neg(),
        _ => pid == target as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: u32 = 9;

    fn table_of(pids: &[u32]) -> Vec<Place> {
        pids.iter().map(|&pid| Place::of(if pid == 0 { 0 } else { holder(HERE, pid) })).collect()
    }

    fn taken_at(table: &[Place], pid: u32, dead: &[u32]) -> Option<usize> {
        taken_from(HERE, table, pid, dead)
    }

    fn taken_from(namespace: u32, table: &[Place], pid: u32, dead: &[u32]) -> Option<usize> {
        let taken = take_place_in(table, namespace, pid, |other| !dead.contains(&other))?;
        assert_eq!(taken.holder.load(SeqCst), holder(namespace, pid));
        table.iter().position(|place| core::ptr::eq(place, taken))
    }

    #[test]
    fn a_place_is_ones_own_or_free_or_a_dead_ones() {
        assert_eq!(taken_at(&table_of(&[5, 0, 7]), 7, &[5]), Some(2));
        assert_eq!(taken_at(&table_of(&[5, 0, 7]), 8, &[5]), Some(1));
        assert_eq!(taken_at(&table_of(&[5, 6, 7]), 8, &[6]), Some(1));
        assert_eq!(taken_at(&table_of(&[5, 6, 7]), 8, &[]), None);
        assert_eq!(taken_at(&[], 8, &[]), None);
    }

    #[test]
    fn processes_of_two_namespaces_have_two_places() {
        assert_eq!(taken_from(HERE + 1, &table_of(&[1, 0]), 1, &[]), Some(1));
        // Whether that one lives cannot be asked from there.
        assert_eq!(taken_from(HERE + 1, &table_of(&[1]), 1, &[1]), None);
    }

    #[test]
    fn a_signal_reaches_what_kill_says() {
        // SAFETY: asks only.
        let (own, group) = (proc::own_pid(), unsafe { libc::getpgrp() });
        let pid = own as libc::pid_t;
        assert_eq!([pid, pid + 1, 0, -1, -group].map(|target| reaches(target, own)), [true, false, true, true, true]);
        assert!(!reaches(libc::pid_t::MIN, own));
    }
}
