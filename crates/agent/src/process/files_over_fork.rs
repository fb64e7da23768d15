//! The recording's descriptor on its way over a fork, in programs that can, or may, no longer open it by its path.
//! Owns: the two descriptors while they lie in the program's table (docs/decisions/09-over-a-fork.md), and the wait for a sampler that is about
//! to get its files. Never: puts one there for a program whose threads are seen to stay where the path leads to the recording, takes one away
//! that the next sampler still needs.
//!
//! The sampler's table of descriptors ends with its thread, and only the forking thread's goes into the child. So that thread
//! opens a socket, the sampler sends the recording and /proc to it as its last act, and the next samplers, the parent's and
//! the child's, are born into a table that holds them. Whether the path still leads there the sampler asks: a file server that is gone holds
//! up the sampler, for which a fork waits a bounded time, and not the fork.

use crate::process::life;
use crate::system::descriptor::{Descriptor, Identity};
use crate::system::proc::monotonic_ns;
use genba_bells::futex::{self, Reach};
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering::SeqCst};

/// The program waits at most so long until a new sampler has its files, as it waits for the parking one (lifecycle.rs).
const TAKE_NS_MAX: u64 = 2_000_000_000;
/// Where carried descriptors lie, if the limit allows: far from the numbers that a program gets next.
const HIGH: i32 = 400;

/// The recording's path, for the forking thread; null: none yet. Never freed.
static PATH: AtomicPtr<CString> = AtomicPtr::new(core::ptr::null_mut());
/// Device and inode of the recording; 0, 0: not known.
static DEVICE: AtomicU64 = AtomicU64::new(0);
static INODE: AtomicU64 = AtomicU64::new(0);
/// The name of the forking thread's socket; 0: nobody receives.
static RECEIVER: AtomicU64 = AtomicU64::new(0);
/// The sampler found the path lost and nobody who receives.
static MISSED: AtomicBool = AtomicBool::new(false);
/// A thread of the program is where the sampler is not: another folder of mounts, or another root.
static ELSEWHERE: AtomicBool = AtomicBool::new(false);
/// The carried descriptors, as numbers of the program's table; -1: none.
static CARRIED: [AtomicI32; 2] = [AtomicI32::new(-1), AtomicI32::new(-1)];
/// The newest sampler's thread is started and has no files yet: `OPENS`; else 0.
static OPENING: AtomicU32 = AtomicU32::new(0);
const OPENS: u32 = 1;
/// When it is waited for no longer, whoever asks (CLOCK_MONOTONIC).
static UNTIL_NS: AtomicU64 = AtomicU64::new(0);

/// What a sampler needs from outside of its own memory.
#[derive(Debug)]
pub struct Files {
    pub recording: Descriptor,
    /// The folder /proc; `None` in a root without one.
    pub proc: Option<Descriptor>,
}

impl Files {
    /// By their paths.
    #[must_use]
    pub fn open() -> Option<Files> {
        let files = Files::by_path();
        nobody_waits();
        files
    }

    fn by_path() -> Option<Files> {
        // SAFETY: set once, never freed.
        let path = unsafe { PATH.load(SeqCst).as_ref()? };
        let recording = Descriptor::open_at(None, path, libc::O_WRONLY | libc::O_APPEND).ok()?;
        Files::checked(recording, Descriptor::open_at(None, c"/proc", libc::O_RDONLY | libc::O_DIRECTORY).ok())
    }

    /// The recording counts only if it is the file that it was before: another root may have one of the same name, and a
    /// number in the program's table may have been given to another file.
    fn checked(recording: Descriptor, proc: Option<Descriptor>) -> Option<Files> {
        let found = recording.identity()?;
        if known() == UNKNOWN {
            DEVICE.store(found.device, SeqCst);
            INODE.store(found.inode, SeqCst);
        }
        (found == known()).then_some(Files { recording, proc: proc.filter(Descriptor::is_proc) })
    }
}

const UNKNOWN: Identity = Identity { device: 0, inode: 0 };

fn known() -> Identity {
    Identity { device: DEVICE.load(SeqCst), inode: INODE.load(SeqCst) }
}

/// The recording's path, told when it begins.
pub fn remember(path: CString) {
    DEVICE.store(UNKNOWN.device, SeqCst);
    INODE.store(UNKNOWN.inode, SeqCst);
    PATH.store(Box::into_raw(Box::new(path)), SeqCst);
}

/// What `remember` was told last.
#[must_use]
pub fn path() -> Option<&'static std::ffi::CStr> {
    // SAFETY: never freed.
    unsafe { PATH.load(SeqCst).as_ref() }.map(|path| path.as_c_str())
}

/// The forking thread's end.
#[derive(Debug)]
pub struct Receiver(Descriptor);

impl Receiver {
    /// Before the sampler parks: a socket for its last message.
    #[must_use]
    pub fn new() -> Option<Receiver> {
        let (socket, name) = Descriptor::receiver()?;
        // SeqCst: the sampler reads it after the order to park.
        RECEIVER.store(u64::from_le_bytes(name), SeqCst);
        Some(Receiver(socket))
    }

    /// The same, where a thread's paths may lead elsewhere than the sampler's.
    #[must_use]
    pub fn if_elsewhere() -> Option<Receiver> {
        MISSED.store(false, SeqCst);
        if ELSEWHERE.load(SeqCst) { Receiver::new() } else { None }
    }

    /// The sampler has parked: what it sent stays in this table until the next sampler has it.
    pub fn take(self) {
        leave();
        for (slot, descriptor) in CARRIED.iter().zip(self.0.receive_two().into_iter().flatten()) {
            slot.store(descriptor.moved_up(HIGH).into_number(), SeqCst);
        }
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        RECEIVER.store(0, SeqCst);
    }
}

/// In a thread of the program's that goes on in another place than the others.
pub fn goes_elsewhere() {
    ELSEWHERE.store(true, SeqCst);
}

/// The sampler has answered the order to park without parking: it misses a receiver.
#[must_use]
pub fn is_missed() -> bool {
    MISSED.load(SeqCst)
}

/// Before the sampler parks: whether the path no longer leads to the recording, and nobody receives. True once for each receiver that is asked for.
#[must_use]
pub fn misses_receiver() -> bool {
    RECEIVER.load(SeqCst) == 0 && !MISSED.load(SeqCst) && is_lost() && {
        MISSED.store(true, SeqCst);
        true
    }
}

fn is_lost() -> bool {
    let Some(path) = path() else { return false };
    known() != UNKNOWN && (Identity::of_writable(path) != Some(known()) || !crate::system::proc::is_mounted())
}

/// The parking sampler's end: sends its files, when somebody waits for them.
pub fn hand_over(recording: &Descriptor, proc: &Descriptor) {
    let name = RECEIVER.load(SeqCst);
    if name != 0 {
        Descriptor::send_two(name.to_le_bytes(), [recording, proc]);
    }
}

/// In a new sampler's thread, before it gives up the program's table: the numbers that it must keep.
#[must_use]
pub fn numbers() -> Option<[i32; 2]> {
    let numbers = [CARRIED[0].load(SeqCst), CARRIED[1].load(SeqCst)];
    (numbers[0] >= 0 && numbers[1] >= 0).then_some(numbers)
}

/// The same thread, with its own table: those numbers are its own now, and the program's may be closed.
#[must_use]
pub fn files(numbers: [i32; 2]) -> Option<Files> {
    nobody_waits();
    let [recording, proc] = numbers.map(Descriptor::from_number);
    Files::checked(recording, Some(proc))
}

/// The new sampler has its files, or ends without: nobody waits for that any more.
pub fn nobody_waits() {
    OPENING.store(0, SeqCst);
    futex::wake(&OPENING, Reach::Process);
}

/// Before a call that may take the way to the recording from this process: a sampler that has only just begun, as in a forked child, opens it
/// first. Memory, locks and `errno` stay as they are: it may be called in a signal handler.
pub fn await_opened() {
    // After a vfork the sampler is another process's.
    if OPENING.load(SeqCst) == OPENS && life::is_owner() {
        await_files();
    }
}

/// No longer than `UNTIL_NS`: one that gets no CPU is waited for once, and not by each call. Where a seccomp filter forbids the clock (0) such
/// a wait would have no end, so there is none.
fn await_files() {
    let until_ns = UNTIL_NS.load(SeqCst);
    while OPENING.load(SeqCst) == OPENS && (1..until_ns).contains(&monotonic_ns()) {
        futex::wait(&OPENING, OPENS, until_ns, Reach::Process);
    }
}

/// In the thread that is about to start a sampler, with its signals blocked: a handler of the program's that waits would wait for its own thread.
pub fn opens() {
    opens_within(TAKE_NS_MAX);
}

fn opens_within(take_ns_max: u64) {
    UNTIL_NS.store(monotonic_ns() + take_ns_max, SeqCst);
    OPENING.store(OPENS, SeqCst);
}

/// In the thread that starts a sampler: waits until the sampler has its own, then clears the program's table. `start`: starts it, after `opens`;
/// false: there is none.
pub fn through(start: impl FnOnce() -> bool) {
    let carried = numbers();
    if !start() || carried.is_none() {
        return;
    }
    await_files();
    // A sampler that has had no CPU yet still needs them: then the next fork clears the table.
    if OPENING.load(SeqCst) != OPENS {
        leave();
    }
}

/// Clears the program's table of what is still genba's: the program may have closed the numbers and used them again.
pub fn leave() {
    for (slot, is_ours) in CARRIED.iter().zip([is_recording as fn(&Descriptor) -> bool, Descriptor::is_proc]) {
        let number = slot.swap(-1, SeqCst);
        if number < 0 {
            continue;
        }
        let descriptor = Descriptor::from_number(number);
        if is_ours(&descriptor) {
            drop(descriptor);
        } else {
            std::mem::forget(descriptor);
        }
    }
}

fn is_recording(descriptor: &Descriptor) -> bool {
    descriptor.identity() == Some(known())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One test for all, since what it looks at is the process's.
    #[test]
    fn what_a_sampler_still_needs_stays() {
        for slot in &CARRIED {
            let file = Descriptor::open_at(None, c"/dev/null", libc::O_WRONLY).unwrap();
            slot.store(file.into_number(), SeqCst);
        }
        let started_within = |take_ns_max| {
            opens_within(take_ns_max);
            true
        };
        through(|| started_within(0));
        assert!(numbers().is_some(), "taken away from a sampler that has not run yet");
        through(|| {
            opens();
            nobody_waits();
            true
        });
        assert_eq!(numbers(), None);
        through(|| started_within(0));
        // Its time is over.
        await_files();
        assert_eq!(OPENING.load(SeqCst), OPENS);
        through(|| started_within(u64::MAX / 2));
        std::thread::scope(|scope| {
            let sampler = scope.spawn(nobody_waits);
            // Would wait for centuries.
            await_files();
            sampler.join().unwrap();
        });
    }
}
