//! The table that all processes of a run share, for three things: whoever is about to kill one of them rings there first, so that it writes
//! what it has; each says what it used and how often it is sampled, so that later ones begin there; and whoever starts a program that cannot be
//! followed says so.
//! Owns: the layout of the table, its mapping, how one process asks and another answers. Never: waits beyond the deadline it is given, waits
//! for a process that left a bell unanswered, takes memory or a lock. Partners: crates/agent/src/process/bells.rs, crates/cli/src/verbs/run/bells.rs.
//!
//! Whatever is in it does little harm: a place that nobody answers at any more costs a killed process its last block, and its killer
//! the wait; wrong figures cost a few ticks.

pub mod futex;
pub mod programs;

use std::ffi::c_int;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};

use futex::Reach;
use programs::Programs;

/// More places than that are not used: a killer looks at each.
pub const PLACES_MAX: usize = 1024;
/// What ends a rest: the agent's own signal, with its code and without a ticket, so that its handler knows one that comes late.
pub const REST_SIGNAL: c_int = libc::SIGURG;
pub const REST_CODE: i32 = -0x6762;
/// A killer waits at most so long for all that one signal goes to.
pub const ANSWER_NS_MAX: u64 = 5_000_000;

/// Whether `signal` may end processes that do nothing against it, and is sent to do so.
#[must_use]
pub fn is_deadly(signal: c_int) -> bool {
    [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGABRT, libc::SIGKILL, libc::SIGTERM].contains(&signal)
}

/// A process by its pid namespace and its number there: a number alone may be that of several.
#[must_use]
pub const fn holder(namespace: u32, pid: u32) -> u64 {
    (namespace as u64) << 32 | pid as u64
}

const fn pid_of(holder: u64) -> u32 {
    holder as u32
}

/// The calling process's pid namespace, as the kernel numbers them. `None`: `/proc` does not show it.
#[must_use]
pub fn own_namespace() -> Option<u32> {
    // SAFETY: the kernel reads the path and writes one stat on this stack.
    unsafe {
        let mut found: libc::stat = core::mem::zeroed();
        let shown = libc::stat(c"/proc/self/ns/pid".as_ptr(), &raw mut found) == 0;
        if shown { u32::try_from(found.st_ino).ok() } else { None }
    }
}

/// SeqCst throughout: the sampler's and a killer's accesses to several of these words must be seen in one order.
#[repr(C)]
pub struct Place {
    /// Whose it is, as `holder` puts it into a word; 0: nobody's.
    pub holder: AtomicU64,
    /// The sampler sleeps on it: another value ends the sleep.
    pub bell: AtomicU32,
    /// How often it was asked to write, and how many of these it has done.
    pub asked: AtomicU32,
    pub answered: AtomicU32,
    /// The sampler's thread while it waits for a signal in place of the bell; 0: it does not.
    pub resting: AtomicU32,
}

impl Place {
    #[must_use]
    pub const fn of(holder: u64) -> Place {
        Place {
            holder: AtomicU64::new(holder),
            bell: AtomicU32::new(0),
            asked: AtomicU32::new(0),
            answered: AtomicU32::new(0),
            resting: AtomicU32::new(0),
        }
    }

    pub fn ring(&self) {
        self.bell.fetch_add(1, SeqCst);
        futex::wake(&self.bell, Reach::Shared);
        // Pairs with the sampler, which asks whether there is something to do after it has said that it rests.
        let tid = self.resting.load(SeqCst);
        if tid != 0 {
            end_rest(pid_of(self.holder.load(SeqCst)), tid);
        }
    }

    /// False: an earlier question has no answer yet, and nobody waits for another.
    fn ask(&self) -> bool {
        let is_first = self.ask_in_silence();
        if is_first {
            self.ring();
        }
        is_first
    }

    pub fn ask_in_silence(&self) -> bool {
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

    pub fn answer(&self, asked: u32) {
        self.answered.store(asked, SeqCst);
        futex::wake(&self.answered, Reach::Shared);
    }
}

/// Of the thread `tid` of the process `pid`; 0: of this one.
fn end_rest(pid: u32, tid: u32) {
    // SAFETY: plain numbers.
    let own_pid = || unsafe { libc::getpid() } as u32;
    let pid = if pid == 0 { own_pid() } else { pid };
    // siginfo as the kernel takes it: signo, errno, code, (pad,) pid, uid, value.
    let mut info = [0_u64; 16];
    info[0] = REST_SIGNAL as u64;
    info[1] = u64::from(REST_CODE as u32);
    info[2] = u64::from(pid);
    // SAFETY: the kernel reads the 128 bytes.
    unsafe { libc::syscall(libc::SYS_rt_tgsigqueueinfo, pid, tid, REST_SIGNAL, info.as_ptr()) };
}

/// What all processes of a run have used together, and how often those that were busy were last sampled.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Rate {
    /// CPU of the program, in nanoseconds.
    pub program_ns: AtomicU64,
    /// What the budget paid for; 0: nobody has found out yet.
    pub interval_ns: AtomicU64,
}

#[repr(C)]
pub struct Table {
    pub rate: Rate,
    pub places: [Place; PLACES_MAX],
    pub programs: Programs,
}

/// The table in `file`, mapped for the life of this process. `None`: the file may become shorter, is too short, or cannot be mapped.
#[must_use]
pub fn map(file: BorrowedFd<'_>) -> Option<&'static Table> {
    if sealed_bytes(file)? < size_of::<Table>() {
        return None;
    }
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping of a file that is at least that long and cannot become shorter.
    let mapped =
        unsafe { libc::mmap(core::ptr::null_mut(), size_of::<Table>(), access, libc::MAP_SHARED, file.as_raw_fd(), 0) };
    if mapped == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: the mapping above, which is never taken away and begins at a page; each value of its words is one, and all are atomic.
    Some(unsafe { &*mapped.cast::<Table>() })
}

/// The size of a file that is sealed against becoming shorter or longer.
fn sealed_bytes(file: BorrowedFd<'_>) -> Option<usize> {
    let wanted = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW;
    // SAFETY: plain numbers; writes one stat on this stack.
    unsafe {
        let seals = libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS);
        let mut found: libc::stat = core::mem::zeroed();
        let is_sealed = seals >= 0 && seals & wanted == wanted && libc::fstat(file.as_raw_fd(), &raw mut found) == 0;
        is_sealed.then_some(found.st_size as usize)
    }
}

/// Lets the processes of a pid namespace that `is_meant` says write what they have, and waits until they have. Rings at all first: they write
/// side by side.
pub fn ask_all(table: &[Place], namespace: u32, is_meant: impl Fn(u32) -> bool, deadline_ns: u64) {
    let mut asked = [0_u64; PLACES_MAX / 64];
    for (at, place) in table.iter().enumerate().take(PLACES_MAX) {
        let held_by = place.holder.load(SeqCst);
        let pid = pid_of(held_by);
        if pid != 0 && held_by == holder(namespace, pid) && is_meant(pid) && place.ask() {
            asked[at / 64] |= 1 << (at % 64);
        }
    }
    for (at, place) in table.iter().enumerate().take(PLACES_MAX) {
        if asked[at / 64] & 1 << (at % 64) != 0 {
            place.await_answer(deadline_ns);
        }
    }
}

/// CLOCK_MONOTONIC.
#[must_use]
pub fn monotonic_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one timespec on this stack.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAR_NS: u64 = 60_000_000_000;

    const HERE: u32 = 4_026_531_836;

    fn table_of(pids: &[u32]) -> Vec<Place> {
        pids.iter().map(|&pid| Place::of(holder(HERE, pid))).collect()
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
            ask_all(&table, HERE, |pid| pid == 6, monotonic_ns() + FAR_NS);
            assert_eq!(table[1].answered.load(SeqCst), 1);
            sampler.join().unwrap();
        });
        assert_eq!(table[0].asked.load(SeqCst), 0);
    }

    #[test]
    fn nobody_waits_behind_an_open_question() {
        let table = table_of(&[5]);
        ask_all(&table, HERE, |_| true, 0);
        // Would wait for a minute.
        ask_all(&table, HERE, |_| true, monotonic_ns() + FAR_NS);
        assert_eq!((table[0].asked.load(SeqCst), table[0].bell.load(SeqCst)), (1, 1));
        table[0].answer(1);
        ask_all(&table, HERE, |_| true, 0);
        assert_eq!(table[0].asked.load(SeqCst), 2);
    }

    #[test]
    fn nobody_of_another_namespace_is_asked() {
        let table = table_of(&[5, 0]);
        ask_all(&table, HERE + 1, |_| true, monotonic_ns() + FAR_NS);
        assert_eq!([0, 1].map(|at| table[at].asked.load(SeqCst)), [0, 0]);
    }

    #[test]
    fn the_kernel_tells_this_processs_namespace() {
        let told = std::fs::read_link("/proc/self/ns/pid").unwrap();
        assert_eq!(own_namespace().map(|namespace| format!("pid:[{namespace}]").into()), Some(told));
    }
}
