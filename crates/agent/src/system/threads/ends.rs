//! What a thread of the program used when it ends: its clock cannot be read any more afterwards, and many a thread is shorter than a tick.
//! Owns: the destructor that a thread is given where it begins (starts.rs), and the notes of those that ended. Never: waits, takes
//! memory, leaves a frame of its own on the stack of a thread that works. Partner: sampling/ledger/ended.rs (what becomes of a note).

use crate::system::errno;
use crate::system::own_ids::own_tid;
use crate::system::proc::{clock_ns, monotonic_ns};
use crate::system::programs;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::SeqCst};

/// So many may end between two ticks; what more there are is not told, and their last CPU time is in no sample.
const NOTES: usize = 1024;
/// A thread that ends looks at so many notes for a free one.
const TRIES_MAX: usize = 32;
const FREE: u32 = 0;
const BEING_WRITTEN: u32 = u32::MAX;

/// A thread that has nothing more to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct End {
    pub tid: u32,
    /// Its clock.
    pub cpu_ns: u64,
    /// On the monotonic clock.
    pub at_ns: u64,
    /// The function that it began with.
    pub body: u64,
}

struct Note {
    tid: AtomicU32,
    cpu_ns: AtomicU64,
    at_ns: AtomicU64,
    body: AtomicU64,
}

static ENDS: [Note; NOTES] = [const {
    Note { tid: AtomicU32::new(FREE), cpu_ns: AtomicU64::new(0), at_ns: AtomicU64::new(0), body: AtomicU64::new(0) }
}; NOTES];
static NEXT: AtomicUsize = AtomicUsize::new(0);
/// Notes that are written and not taken.
static WRITTEN: AtomicUsize = AtomicUsize::new(0);
/// The key whose destructor writes a note, plus one; 0: there is none.
static KEY: AtomicU32 = AtomicU32::new(0);
static WANTED: AtomicBool = AtomicBool::new(false);
/// The program sets seccomp filters for itself, which may kill a thread for a system call that it does not make itself.
static IS_FILTERED: AtomicBool = AtomicBool::new(false);

/// From now on threads that begin will tell their end, or will not.
pub fn want(wanted: bool) {
    extern "C" fn ends(body: *mut c_void) {
        let errno = errno::get();
        programs::thread_ends();
        note(body as usize as u64);
        errno::set(errno);
    }
    if wanted && KEY.load(SeqCst) == 0 {
        let mut key: libc::pthread_key_t = 0;
        // SAFETY: a plain pthread call; the destructor lives as long as the process.
        if unsafe { libc::pthread_key_create(&raw mut key, Some(ends)) } != 0 {
            return;
        }
        KEY.store(key + 1, SeqCst);
    }
    WANTED.store(wanted, SeqCst);
}

#[must_use]
pub fn are_wanted() -> bool {
    WANTED.load(SeqCst) && !is_filtered()
}

/// Whether the program may have set such filters.
#[must_use]
pub fn is_filtered() -> bool {
    IS_FILTERED.load(SeqCst)
}

/// Nobody tells an end any more, in this process and in those that it forks.
pub fn want_never() {
    IS_FILTERED.store(true, SeqCst);
}

/// On a new thread, which is about to begin with that function.
pub fn watch(body: u64) {
    let key = KEY.load(SeqCst);
    if key != 0 {
        // SAFETY: a plain pthread call. The value is only looked at as a number; it is not null, so the destructor runs.
        unsafe { libc::pthread_setspecific(key - 1, body as usize as *const c_void) };
    }
}

fn note(body: u64) {
    if !are_wanted() {
        return;
    }
    let (Some(cpu_ns), tid) = (clock_ns(libc::CLOCK_THREAD_CPUTIME_ID), own_tid()) else { return };
    // What a filter answers in place of the kernel is no number.
    if tid == FREE || tid == BEING_WRITTEN {
        return;
    }
    let first = NEXT.fetch_add(1, SeqCst);
    for number in 0..TRIES_MAX {
        let note = &ENDS[(first + number) % NOTES];
        if note.tid.compare_exchange(FREE, BEING_WRITTEN, SeqCst, SeqCst).is_ok() {
            note.cpu_ns.store(cpu_ns, SeqCst);
            note.at_ns.store(monotonic_ns(), SeqCst);
            note.body.store(body, SeqCst);
            note.tid.store(tid, SeqCst);
            WRITTEN.fetch_add(1, SeqCst);
            return;
        }
    }
}

/// Those that ended since it was last called, in no order. On the sampler's thread alone.
pub fn take(mut each: impl FnMut(End)) {
    if WRITTEN.swap(0, SeqCst) == 0 {
        return;
    }
    for note in &ENDS {
        let tid = note.tid.load(SeqCst);
        if tid != FREE && tid != BEING_WRITTEN {
            let (cpu_ns, at_ns) = (note.cpu_ns.load(SeqCst), note.at_ns.load(SeqCst));
            each(End { tid, cpu_ns, at_ns, body: note.body.load(SeqCst) });
            note.tid.store(FREE, SeqCst);
        }
    }
}

/// In a forked child: those that ended were its parent's, and nobody takes notes until a sampler begins there.
pub fn forked() {
    WANTED.store(false, SeqCst);
    for note in &ENDS {
        note.tid.store(FREE, SeqCst);
    }
    WRITTEN.store(0, SeqCst);
}

#[cfg(test)]
mod tests {
    use super::{End, NOTES, are_wanted, take, want, watch};

    /// One test: the notes are the process's.
    #[test]
    fn a_thread_tells_its_clock_once_when_it_ends() {
        let spawn = |count: usize| {
            let threads: Vec<_> = (1..=count).map(|number| std::thread::spawn(move || watch(number as u64))).collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        };
        let ends = || {
            let mut ends: Vec<End> = Vec::new();
            take(|end| ends.push(end));
            ends.sort_by_key(|end| end.body);
            ends
        };
        spawn(2);
        assert_eq!((are_wanted(), ends()), (false, Vec::new()), "nobody wants to know");
        want(true);
        spawn(3);
        let told = ends();
        assert_eq!(told.iter().map(|end| end.body).collect::<Vec<_>>(), [1, 2, 3]);
        assert!(told.iter().all(|end| end.cpu_ns > 0 && end.tid > 1 && end.at_ns > 0), "{told:?}");
        assert_eq!(ends(), Vec::new(), "each is told once");
        for _ in 0..(NOTES / 100 + 1) {
            spawn(100);
        }
        assert!((NOTES / 2..=NOTES).contains(&ends().len()), "as many as there is room for");
        want(false);
        spawn(2);
        assert_eq!(ends(), Vec::new());
    }
}
