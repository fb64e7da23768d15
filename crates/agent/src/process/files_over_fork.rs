//! The recording's descriptor on its way over a fork, in programs that can, or may, no longer open it by its path; and on its way to the first
//! sampler of a process that loses that path before its interpreter runs.
//! Owns: the two descriptors while they lie in the program's table (docs/decisions/09-over-a-fork.md), the wait for a sampler that is about
//! to get its files, and the question to genba for a recording that cannot be opened. Never: puts one there for a program whose threads are
//! seen to stay where the path leads to the recording, takes one away that the next sampler still needs.
//!
//! The sampler's table of descriptors ends with its thread, and only the forking thread's goes into the child. So that thread
//! opens a socket, the sampler sends the recording and /proc to it as its last act, and the next samplers, the parent's and
//! the child's, are born into a table that holds them. Whether the path still leads there the sampler asks: a file server that is gone holds
//! up the sampler, for which a fork waits a bounded time, and not the fork.

use crate::process::bells;
use crate::process::life;
use crate::process::session::Table;
use crate::system::descriptor::{Descriptor, Identity};
use crate::system::errno;
use crate::system::proc::{monotonic_ns, own_pid};
use genba_bells::futex::{self, Reach};
use std::ffi::{CStr, CString};
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering::SeqCst};

/// The program waits at most so long until a new sampler has its files, as it waits for the parking one (lifecycle.rs).
const TAKE_NS_MAX: u64 = 2_000_000_000;
/// Where carried descriptors lie, if the limit allows: far from the numbers that a program gets next.
const HIGH: i32 = 400;

/// The recording's path, for the forking thread; null: none yet. Never freed.
static PATH: AtomicPtr<CString> = AtomicPtr::new(core::ptr::null_mut());
/// Where genba hands out the run's recording (crates/cli/src/verbs/run/door.rs), and that one's path; null: nowhere. Never freed.
static DOOR: AtomicPtr<(Table, CString)> = AtomicPtr::new(core::ptr::null_mut());
/// genba answers at once, unless it is stopped or gets no CPU.
const ANSWER_MS: i64 = 500;
/// Device and inode of the recording, once they are known. Whoever learns them learns the same.
static DEVICE: AtomicU64 = AtomicU64::new(0);
static INODE: AtomicU64 = AtomicU64::new(0);
static IS_KNOWN: AtomicBool = AtomicBool::new(false);
/// The process that knows its recording and awaits an interpreter; 0: none, or a sampler has had its files.
static AWAITS: AtomicU32 = AtomicU32::new(0);
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
    /// By their paths, the recording else from genba's hand. It may wait for that: not for a thread of the program that has work to do.
    #[must_use]
    pub fn open() -> Option<Files> {
        let files = Files::by_path().or_else(Files::by_door);
        nobody_waits();
        files
    }

    fn by_path() -> Option<Files> {
        // SAFETY: set once, never freed.
        let path = unsafe { PATH.load(SeqCst).as_ref()? };
        Files::with_proc(Descriptor::open_at(None, path, FOR_BLOCKS).ok()?)
    }

    fn by_door() -> Option<Files> {
        Files::with_proc(recording_by_door(path()?)?)
    }

    fn with_proc(recording: Descriptor) -> Option<Files> {
        Files::checked(recording, Descriptor::open_at(None, c"/proc", libc::O_RDONLY | libc::O_DIRECTORY).ok())
    }

    /// The recording counts only if it is the file that it was before: another root may have one of the same name, and a
    /// number in the program's table may have been given to another file.
    fn checked(recording: Descriptor, proc: Option<Descriptor>) -> Option<Files> {
        let found = recording.identity()?;
        if known() == UNKNOWN {
            DEVICE.store(found.device, SeqCst);
            INODE.store(found.inode, SeqCst);
            IS_KNOWN.store(true, SeqCst);
        }
        (found == known()).then_some(Files { recording, proc: proc.filter(Descriptor::is_proc) })
    }
}

const FOR_BLOCKS: i32 = libc::O_WRONLY | libc::O_APPEND | libc::O_NOCTTY;

/// Opened for writing by a thread of the program's, if it is a regular file. O_NONBLOCK: the open does not wait for a reader where a FIFO has got
/// the recording's name. For a regular file the flag changes nothing, so that no more calls are needed to clear it.
#[must_use]
pub fn recording_at(path: &CStr) -> Option<Descriptor> {
    Descriptor::open_at(None, path, FOR_BLOCKS | libc::O_NONBLOCK).ok().filter(Descriptor::is_regular)
}

/// The same from genba's hand, if it is the run's: another one may have begun in this process since. With it comes the run's table, which this
/// process could not open either. It may wait.
#[must_use]
pub fn recording_by_door(path: &CStr) -> Option<Descriptor> {
    // SAFETY: set once, never freed.
    let (door, out) = unsafe { DOOR.load(SeqCst).as_ref()? };
    if path != out.as_c_str() {
        return None;
    }
    let (name, secret) = door.path.split_once(',')?;
    let recording = Identity { device: door.device, inode: door.inode };
    let (recording, table) = Descriptor::asked_for(name.as_bytes(), secret.as_bytes(), ANSWER_MS, recording)?;
    table.iter().for_each(bells::open_from);
    Some(recording)
}

const UNKNOWN: Identity = Identity { device: 0, inode: 0 };

fn known() -> Identity {
    if !IS_KNOWN.load(SeqCst) {
        return UNKNOWN;
    }
    Identity { device: DEVICE.load(SeqCst), inode: INODE.load(SeqCst) }
}

/// The recording's path, told when it begins, and before that where an interpreter is awaited.
pub fn remember(path: CString) {
    if is_awaited() && self::path() == Some(path.as_c_str()) {
        // What `carry` has put into the program's table is this recording.
        return;
    }
    leave();
    IS_KNOWN.store(false, SeqCst);
    PATH.store(Box::into_raw(Box::new(path)), SeqCst);
}

/// Told when the library is loaded.
pub fn remember_door(door: &Table, out: &str) {
    let out = CString::new(out.as_bytes()).unwrap_or_default();
    DOOR.store(Box::into_raw(Box::new((door.clone(), out))), SeqCst);
}

/// This process, which has no sampler, awaits an interpreter; the path is told.
pub fn awaits() {
    AWAITS.store(own_pid(), SeqCst);
}

/// Until a sampler has its files, or nobody begins one. False in a child of which genba does not know, as after a vfork.
#[must_use]
pub fn is_awaited() -> bool {
    let process = AWAITS.load(SeqCst);
    process != 0 && process == own_pid()
}

/// Before a call that may take the way to the recording from a process that awaits its interpreter: no sampler is there that could hold the
/// recording, so the program's table does until there is one. No memory, no locks, no point at which a thread can be cancelled, and `errno` stays
/// as it is: it may be called in a signal handler.
pub fn carry() {
    let errno = errno::get();
    if !is_carried() {
        leave();
        if let Some(Files { recording, proc: Some(proc) }) = path().and_then(recording_at).and_then(Files::with_proc) {
            for (slot, descriptor) in CARRIED.iter().zip([recording, proc]) {
                let number = descriptor.moved_up(HIGH).into_number();
                // A lower one, where the limit allows no other, is among those that the program closes and gets anew, standard output's, say.
                let is_put = number >= HIGH && slot.compare_exchange(-1, number, SeqCst, SeqCst).is_ok();
                // Else another thread's is there. A sampler that has got its files meanwhile needs none, and nobody may clear the table any more.
                let stays = is_put && (is_awaited() || slot.compare_exchange(number, -1, SeqCst, SeqCst).is_err());
                if !stays {
                    drop(Descriptor::from_number(number));
                }
            }
        }
    }
    errno::set(errno);
}

/// Both are there, and the program has not closed them.
fn is_carried() -> bool {
    numbers().is_some_and(|[recording, proc]| holds(recording, is_recording) && holds(proc, Descriptor::is_proc))
}

/// No sampler began, and none will: nothing is held for it.
pub fn nobody_begins() {
    if !life::is_recording() {
        nobody_waits();
        leave();
    }
}

/// The carried recording, for one who begins none and writes a block.
#[must_use]
pub fn take_recording() -> Option<Descriptor> {
    let number = CARRIED[0].swap(-1, SeqCst);
    (number >= 0 && holds(number, is_recording)).then(|| Descriptor::from_number(number))
}

/// What `remember` was told last.
#[must_use]
pub fn path() -> Option<&'static CStr> {
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
    let [recording, proc] = numbers.map(Descriptor::from_number);
    // A program that has closed them may still, or again, have the way.
    let files = Files::checked(recording, Some(proc)).or_else(Files::by_path).or_else(Files::by_door);
    nobody_waits();
    files
}

/// The new sampler has its files, or ends without: nobody waits for that any more.
pub fn nobody_waits() {
    AWAITS.store(0, SeqCst);
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
    // Asked after the start: until then another thread may put them there (`carry`).
    if !start() || numbers().is_none() {
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
        if number >= 0 && holds(number, is_ours) {
            drop(Descriptor::from_number(number));
        }
    }
}

/// Whether a number of this table is such a file, which stays open.
fn holds(number: i32, is_such: fn(&Descriptor) -> bool) -> bool {
    is_such(&ManuallyDrop::new(Descriptor::from_number(number)))
}

fn is_recording(descriptor: &Descriptor) -> bool {
    descriptor.identity() == Some(known())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

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
        what_is_carried_before_there_is_a_sampler();
    }

    fn what_is_carried_before_there_is_a_sampler() {
        let file = std::env::temp_dir().join(format!("genba-carried-{}", std::process::id()));
        std::fs::write(&file, "").unwrap();
        let path = CString::new(file.to_str().unwrap()).unwrap();
        remember(path.clone());
        awaits();
        carry();
        let first = numbers().unwrap();
        assert!(is_carried() && first.iter().all(|&number| number >= HIGH));
        carry();
        assert_eq!(numbers(), Some(first), "they are there");
        drop(Descriptor::from_number(first[0]));
        assert!(!is_carried());
        carry();
        assert!(is_carried(), "the program had closed one");
        remember(path);
        assert!(is_carried(), "the recording begins for which they are there");
        let other = std::env::temp_dir().join(format!("genba-other-{}", std::process::id()));
        std::fs::write(&other, "").unwrap();
        remember(CString::new(other.to_str().unwrap()).unwrap());
        assert_eq!(numbers(), None, "another one begins");
        nobody_waits();
        assert!(!is_awaited());
        carry();
        assert_eq!(CARRIED.each_ref().map(|slot| slot.load(SeqCst)), [-1, -1], "a sampler has its files");
        what_has_the_recordings_name_and_is_no_file(&other);
        std::fs::remove_file(&file).unwrap();
    }

    fn what_has_the_recordings_name_and_is_no_file(place: &Path) {
        std::fs::remove_file(place).unwrap();
        let path = CString::new(place.to_str().unwrap()).unwrap();
        // SAFETY: the path ends in NUL.
        assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
        remember(path.clone());
        awaits();
        // Would wait for a reader.
        carry();
        assert_eq!(numbers(), None);
        let reader = Descriptor::open_at(None, &path, libc::O_RDONLY | libc::O_NONBLOCK).unwrap();
        carry();
        assert_eq!(numbers(), None, "genba's blocks are for nobody who reads a FIFO");
        drop(reader);
        nobody_waits();
        std::fs::remove_file(place).unwrap();
    }
}
