//! The bells of all processes of one run: whoever is about to kill one of them rings first, so that it writes what it has.
//! Owns: the table that those processes share, this process's place in it, and the word that its sampler sleeps on. Never: waits longer than
//! `ANSWER_NS_MAX` for all that one signal goes to, waits for a process that left a bell unanswered, takes memory or a lock.
//!
//! `genba run` makes the table, in a memory file that is sealed so that it never shrinks, and holds it open. Processes find it through
//! `/proc`: an inherited descriptor would be closed by programs that close all of theirs. Forks inherit the mapping. The table is only a
//! hint: a stale entry costs a killed process its last block, and its killer the wait.

use crate::descriptor::{Descriptor, Identity};
use crate::futex::{self, Reach};
use crate::lifecycle;
use crate::proc::{self, monotonic_ns};
use crate::session::Table;
use std::ffi::{CString, c_int};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering::SeqCst};

/// A killer waits at most so long.
const ANSWER_NS_MAX: u64 = 5_000_000;
/// More places than that are not used: a killer looks at each.
const PLACES_MAX: usize = 1024;

/// SeqCst throughout: the sampler's and a killer's accesses to several of these words must be seen in one order.
#[repr(C)]
struct Place {
    /// As the process itself sees it; 0: nobody's.
    pid: AtomicU32,
    /// The sampler sleeps on it: another value ends the sleep.
    bell: AtomicU32,
    /// How often it was asked to write, and how many of these it has done.
    asked: AtomicU32,
    answered: AtomicU32,
}

impl Place {
    const fn of(pid: u32) -> Place {
        Place {
            pid: AtomicU32::new(pid),
            bell: AtomicU32::new(0),
            asked: AtomicU32::new(0),
            answered: AtomicU32::new(0),
        }
    }

    fn ring(&self) {
        self.bell.fetch_add(1, SeqCst);
        futex::wake(&self.bell, Reach::Shared);
    }

    /// False: an earlier question has no answer yet, and nobody waits for another.
    fn ask(&self) -> bool {
        let is_first = self.ask_in_silence();
        if is_first {
            self.ring();
        }
        is_first
    }

    fn ask_in_silence(&self) -> bool {
        let answered = self.answered.load(SeqCst);
        self.asked.compare_exchange(answered, answered.wrapping_add(1), SeqCst, SeqCst).is_ok()
    }

    fn await_answer(&self, deadline_ns: u64) {
        loop {
            let answered = self.answered.load(SeqCst);
            if answered == self.asked.load(SeqCst) || monotonic_ns() >= deadline_ns {
                return;
            }
            futex::wait(&self.answered, answered, deadline_ns, Reach::Shared);
        }
    }

    fn answer(&self, asked: u32) {
        self.answered.store(asked, SeqCst);
        futex::wake(&self.answered, Reach::Shared);
    }
}

/// Where the table is mapped; null: there is none. It stays for the life of the process.
static TABLE: AtomicPtr<Place> = AtomicPtr::new(core::ptr::null_mut());
static PLACES: AtomicUsize = AtomicUsize::new(0);
/// While this process has no place in the table.
static ELSEWHERE: Place = Place::of(0);
/// This process's place.
static OWN: AtomicPtr<Place> = AtomicPtr::new((&raw const ELSEWHERE).cast_mut());

/// An `exec` is under way: no question is answered, so that one stays open behind it.
static IS_SILENT: AtomicBool = AtomicBool::new(false);

fn table() -> &'static [Place] {
    let first = TABLE.load(SeqCst);
    if first.is_null() {
        return &[];
    }
    // SAFETY: a mapping of so many places, which is never taken away and whose file cannot shrink; all fields are atomic.
    unsafe { core::slice::from_raw_parts(first, PLACES.load(SeqCst)) }
}

fn own() -> &'static Place {
    // SAFETY: a place of the table, or `ELSEWHERE`: both live as long as the process.
    unsafe { &*OWN.load(SeqCst) }
}

/// Maps the table that the session names, if it is still that one. Before `main`.
pub fn open(named: &Table) {
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
    let Some(bytes) = file.sealed_bytes().filter(|_| file.identity() == Some(identity)) else { return };
    let places = (bytes / size_of::<Place>()).min(PLACES_MAX);
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping of a file that is at least that long and cannot become shorter.
    let mapped = unsafe {
        let bytes = places * size_of::<Place>();
        libc::mmap(core::ptr::null_mut(), bytes, access, libc::MAP_SHARED, file.number(), 0)
    };
    if places > 0 && mapped != libc::MAP_FAILED {
        PLACES.store(places, SeqCst);
        TABLE.store(mapped.cast(), SeqCst);
    }
}

/// The sampler's thread takes a place for its process, if there is one.
pub fn take_place() {
    let pid = proc::own_pid();
    let taken = take_place_in(table(), pid, |other| {
        // SAFETY: asks whether there is such a process.
        unsafe { libc::syscall(libc::SYS_kill, other, 0) == 0 || proc::errno() != libc::ESRCH }
    });
    if let Some(place) = taken {
        place.answered.store(place.asked.load(SeqCst), SeqCst);
        OWN.store((&raw const *place).cast_mut(), SeqCst);
    }
}

fn take_place_in(table: &[Place], pid: u32, lives: impl Fn(u32) -> bool) -> Option<&Place> {
    // What the program before an `exec` left, or a process that had this number before.
    let left = table.iter().find(|place| place.pid.load(SeqCst) == pid);
    let take = |place: &&Place, from: u32| place.pid.compare_exchange(from, pid, SeqCst, SeqCst).is_ok();
    left.or_else(|| table.iter().find(|place| take(place, 0))).or_else(|| {
        table.iter().find(|place| {
            let holder = place.pid.load(SeqCst);
            !lives(holder) && take(place, holder)
        })
    })
}

/// The sampler's thread ends, its blocks are written: nobody waits for it any more.
pub fn leave_place() {
    let place = own();
    if place.pid.compare_exchange(proc::own_pid(), 0, SeqCst, SeqCst).is_ok() {
        place.answer(place.asked.load(SeqCst));
    }
    OWN.store((&raw const ELSEWHERE).cast_mut(), SeqCst);
}

/// In a forked child: the place is its parent's.
pub fn forked() {
    answer_again();
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
    const DEADLY: [c_int; 6] = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGABRT, libc::SIGKILL, libc::SIGTERM];
    let table = table();
    if !table.is_empty() && DEADLY.contains(&signal) {
        let errno = proc::errno();
        let own = proc::own_pid();
        ask_all(table, |pid| pid != own && reaches(target, pid), monotonic_ns() + ANSWER_NS_MAX);
        lifecycle::set_errno(errno);
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

/// Rings at all first: they write side by side.
fn ask_all(table: &[Place], is_meant: impl Fn(u32) -> bool, deadline_ns: u64) {
    let mut asked = [0_u64; PLACES_MAX / 64];
    for (at, place) in table.iter().enumerate() {
        let pid = place.pid.load(SeqCst);
        if pid != 0 && is_meant(pid) && place.ask() {
            asked[at / 64] |= 1 << (at % 64);
        }
    }
    for (at, place) in table.iter().enumerate() {
        if asked[at / 64] & 1 << (at % 64) != 0 {
            place.await_answer(deadline_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAR_NS: u64 = 60_000_000_000;

    fn table_of(pids: &[u32]) -> Vec<Place> {
        pids.iter().map(|&pid| Place::of(pid)).collect()
    }

    fn taken_at(table: &[Place], pid: u32, dead: &[u32]) -> Option<usize> {
        let taken = take_place_in(table, pid, |other| !dead.contains(&other))?;
        assert_eq!(taken.pid.load(SeqCst), pid);
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
    fn a_killer_waits_for_the_answer() {
        let table = table_of(&[5, 6]);
        std::thread::scope(|scope| {
            let sampler = scope.spawn(|| {
                let place = &table[1];
                while place.asked.load(SeqCst) == 0 {
                    futex::wait(&place.bell, 0, monotonic_ns() + FAR_NS, Reach::Shared);
                }
                place.answer(1);
            });
            ask_all(&table, |pid| pid == 6, monotonic_ns() + FAR_NS);
            assert_eq!(table[1].answered.load(SeqCst), 1);
            sampler.join().unwrap();
        });
        assert_eq!(table[0].asked.load(SeqCst), 0);
    }

    #[test]
    fn nobody_waits_behind_an_open_question() {
        let table = table_of(&[5]);
        ask_all(&table, |_| true, 0);
        // Would wait for a minute.
        ask_all(&table, |_| true, monotonic_ns() + FAR_NS);
        assert_eq!((table[0].asked.load(SeqCst), table[0].bell.load(SeqCst)), (1, 1));
        table[0].answer(1);
        ask_all(&table, |_| true, 0);
        assert_eq!(table[0].asked.load(SeqCst), 2);
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
