//! Children that have ended, and the CPU that the kernel says they used: a killed child could not record its last part.
//! Owns: the queue from the program's threads, which wait for children, to the sampler. Never: waits, allocates, or drops one uncounted.
//! A program that traces others is told of their ends and of their threads' as of its children's: a reader leaves them out by the parent.

use crate::process::life;
use crate::system::proc::monotonic_ns;
use genba_format::proto;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};

/// So many between two blocks.
const SLOTS: usize = 256;

const FREE: u32 = 0;
/// Being filled or emptied.
const TAKEN: u32 = 1;
const FULL: u32 = 2;

/// SeqCst throughout: whoever moves `state` from FREE or FULL to TAKEN has the other fields alone until the next store.
struct Slot {
    state: AtomicU32,
    pid: AtomicU32,
    at_ns: AtomicU64,
    cpu_ns: AtomicU64,
}

static QUEUE: [Slot; SLOTS] = [const {
    Slot { state: AtomicU32::new(FREE), pid: AtomicU32::new(0), at_ns: AtomicU64::new(0), cpu_ns: AtomicU64::new(0) }
}; SLOTS];
/// Those for which there was no slot.
static LOST: AtomicU64 = AtomicU64::new(0);

/// The calling thread has waited for this child's end. May be called in a signal handler.
pub fn ended(pid: libc::pid_t, usage: &libc::rusage) {
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    if life::is_recording() {
        push(pid as u32, monotonic_ns(), ns(usage.ru_utime) + ns(usage.ru_stime));
    }
}

fn push(pid: u32, at_ns: u64, cpu_ns: u64) {
    for slot in &QUEUE {
        if slot.state.compare_exchange(FREE, TAKEN, SeqCst, SeqCst).is_ok() {
            slot.pid.store(pid, SeqCst);
            slot.at_ns.store(at_ns, SeqCst);
            slot.cpu_ns.store(cpu_ns, SeqCst);
            slot.state.store(FULL, SeqCst);
            return;
        }
    }
    LOST.fetch_add(1, SeqCst);
}

/// There is something to take.
#[must_use]
pub fn any() -> bool {
    QUEUE.iter().any(|slot| slot.state.load(SeqCst) == FULL)
}

/// In the sampler: all that are there.
#[must_use]
pub fn take() -> Vec<proto::Reaped> {
    let full = QUEUE.iter().filter(|slot| slot.state.compare_exchange(FULL, TAKEN, SeqCst, SeqCst).is_ok());
    full.map(|slot| {
        let [at_ns, cpu_ns] = [&slot.at_ns, &slot.cpu_ns].map(|field| field.load(SeqCst));
        let reaped = proto::Reaped { pid: slot.pid.load(SeqCst), at_ns, cpu_ns };
        slot.state.store(FREE, SeqCst);
        reaped
    })
    .collect()
}

/// How many could not be told since the last call.
#[must_use]
pub fn take_lost() -> u64 {
    LOST.swap(0, SeqCst)
}

/// In a forked child, which has no children: those here are its parent's, some perhaps half written by a thread that is not there.
pub fn forget() {
    QUEUE.iter().for_each(|slot| slot.state.store(FREE, SeqCst));
    LOST.store(0, SeqCst);
}

/// CPU of all children that this process has waited for, and of theirs.
#[must_use]
pub fn cpu_ns() -> u64 {
    // SAFETY: the kernel fills the structure on this stack; it has no other reason to fail than its address.
    let usage = unsafe {
        let mut usage: libc::rusage = core::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    ns(usage.ru_utime) + ns(usage.ru_stime)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One test for all, since the queue is the process's.
    #[test]
    fn what_has_no_room_is_counted() {
        for pid in 1..=SLOTS as u32 + 3 {
            push(pid, 7, u64::from(pid) * 10);
        }
        assert!(any());
        let taken = take();
        assert_eq!(taken.len(), SLOTS);
        assert_eq!(taken[41], proto::Reaped { pid: 42, at_ns: 7, cpu_ns: 420 });
        assert_eq!((take_lost(), take_lost(), any()), (3, 0, false));
        push(5, 6, 7);
        forget();
        assert_eq!((take().len(), any()), (0, false));
    }
}
