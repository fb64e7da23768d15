//! The moments at which the user wants the heap walked, and the walk at each.
//! Owns: what is asked for, and the head of each answer. Never: allocates in a thread of the program's without a room, walks there while the
//! interpreter ends; decides when an interval is over (sampling/heaps.rs).

use super::gil::is_initialized;
use super::pending_answers;
use super::plan::Known;
use super::request::{How, Request};
use super::thread::{Started, start};
use super::walking::{tell, walk_here};
use crate::process::room;
use crate::process::session::Heap;
use crate::system::descriptor::{Descriptor, Identity};
use crate::system::proc::{ContainerLeft, clock_ns, container_left, monotonic_ns, own_bytes, own_pid};
use crate::system::symbols;
use genba_heap::answer::Outcome;
use genba_heap::pieces::{COPIED_PART, Head, InPlace, Moment, SMALL_BYTES, copied_at_most, tables_at_most};
use genba_python::interpreter::collector::IN_INCREMENTS;
use genba_python::memory::{Address, Memory};
use genba_signal::memory::WordsByKernel;
use std::borrow::Cow;
use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering::SeqCst};

/// The GIL may be held by a long C call.
pub const WAIT_NS_MAX: u64 = 20_000_000_000;
/// A walk may take ten times as long as it does on a slow machine: a while, and so much for each MB.
const WALK_NS: u64 = 2_000_000_000;
const WALK_NS_A_MB: u64 = 20_000_000;
/// The next walk for cycles comes when this many times as long has passed as the last one took, and this at least: a program that collects at each
/// request would have thousands of files within minutes. So they take a hundredth of the time in the long run; each is paid for afterwards.
const CYCLES_APART: u64 = 100;
const CYCLES_APART_NS: u64 = 1_000_000_000;
/// No walk for cycles holds the program for longer: servers end workers that say nothing for some tens of seconds.
const CYCLES_NS_MAX: u64 = 5_000_000_000;
const DEVICES: [&str; 3] = ["/dev/nvidia", "/dev/kfd", "/dev/dri"];

struct Wanted {
    out: CString,
    only: Option<Identity>,
    /// `None`: nothing can be walked.
    known: Option<Known>,
    /// That was told.
    is_told: AtomicBool,
    python: u64,
    before_gc: bool,
    after_gc: bool,
    at_exit: bool,
    cycles: bool,
    collects: bool,
}

/// Never freed: a thread of the program's may be at it.
static WANTED: AtomicPtr<Wanted> = AtomicPtr::new(core::ptr::null_mut());
/// What was wanted before `end`: the next recording, or a forked child, takes it up again.
static KEPT: AtomicPtr<Wanted> = AtomicPtr::new(core::ptr::null_mut());
static NUMBER: AtomicU64 = AtomicU64::new(0);
/// There is no walk for cycles before.
static CYCLES_FROM_NS: AtomicU64 = AtomicU64::new(0);

/// A recording begins.
pub fn begin(heap: &Heap) {
    // What the one before has taken is not this one's to pay for. A forked child is in the same one: programs that fork for each request would
    // have a walk for each.
    if wanted().is_none() {
        CYCLES_FROM_NS.store(0, SeqCst);
    }
    if heap.out.is_empty() {
        end();
        return;
    }
    // SAFETY: made by `into_raw` below and never freed.
    let kept = unsafe { KEPT.load(SeqCst).as_ref() };
    if let Some(kept) = kept.filter(|kept| kept.out.as_bytes() == heap.out.as_bytes()) {
        kept.is_told.store(false, SeqCst);
        WANTED.store(KEPT.load(SeqCst), SeqCst);
        return;
    }
    let python = symbols::address(c"Py_Version").and_then(|at| WordsByKernel { pid: own_pid() }.half(Address(at)).ok());
    let Ok(out) = CString::new(heap.out.as_bytes()) else { return };
    let wanted = Box::into_raw(Box::new(Wanted {
        out,
        only: heap.file.map(|(device, inode)| Identity { device, inode }),
        known: Known::find(),
        is_told: AtomicBool::new(false),
        python: u64::from(python.unwrap_or(0)),
        before_gc: heap.before_gc,
        after_gc: heap.after_gc,
        at_exit: heap.at_exit,
        cycles: heap.cycles,
        collects: heap.collects,
    }));
    KEPT.store(wanted, SeqCst);
    WANTED.store(wanted, SeqCst);
}

/// Nothing is walked any more.
pub fn end() {
    WANTED.store(core::ptr::null_mut(), SeqCst);
    pending_answers::write();
}

fn wanted() -> Option<&'static Wanted> {
    // SAFETY: made by `into_raw` and never freed.
    unsafe { WANTED.load(SeqCst).as_ref() }
}

/// A walk by a thread that the caller makes. `None`: nothing is wanted, or there is no interpreter yet, or none that is known.
pub fn ask(moment: Moment, in_place: InPlace) -> Option<Started> {
    let wanted = wanted().filter(|_| is_initialized())?;
    let known = wanted.known?;
    Some(start(request(wanted, moment, in_place, wanted.collects), known))
}

/// Whether there will be no walk, since this interpreter's structures are not known. It is told, once.
pub fn tell_unknown(moment: Moment) -> bool {
    let Some(wanted) = wanted().filter(|wanted| wanted.known.is_none()) else { return false };
    if !wanted.is_told.swap(true, SeqCst) {
        tell(&request(wanted, moment, InPlace::Not, false), Outcome::Unknown);
    }
    true
}

/// It was wanted, and did not come to it.
pub fn tell_unwalked(moment: Moment, why: Outcome) {
    if let Some(wanted) = wanted() {
        tell(&request(wanted, moment, InPlace::Not, false), why);
    }
}

/// Around a collection of all generations, in the collector's callback: in the thread that collects, which has the GIL.
/// `state`: that of the collector.
pub fn around_collection(is_after: bool, state: u64) {
    let Some(wanted) = wanted() else { return };
    if wanted.cycles && !is_after {
        cycles_before_collection(wanted, state);
    }
    let (is_wanted, moment) = match is_after {
        false => (wanted.before_gc, Moment::BeforeCollection),
        true => (wanted.after_gc, Moment::AfterCollection),
    };
    if !is_wanted || tell_unknown(moment) {
        return;
    }
    if let Some(known) = &wanted.known {
        walk_here(&request(wanted, moment, InPlace::Moment, false), known, state.wrapping_sub(known.objects.gc));
        write_after_the_end();
    }
}

/// The recording may have ended during a walk: then nobody else writes its answer.
fn write_after_the_end() {
    if wanted().is_none() {
        pending_answers::write();
    }
}

/// What this collection is about to free, and which cycles that is.
fn cycles_before_collection(wanted: &'static Wanted, state: u64) {
    let began_ns = monotonic_ns();
    if began_ns < CYCLES_FROM_NS.load(SeqCst) || tell_unknown(Moment::Cycles) {
        return;
    }
    if u32::try_from(wanted.python).is_ok_and(|version| IN_INCREMENTS.contains(&version)) {
        if !wanted.is_told.swap(true, SeqCst) {
            tell(&request(wanted, Moment::Cycles, InPlace::Not, false), Outcome::Unknown);
        }
        return;
    }
    let Some(known) = &wanted.known else { return };
    // Nobody can say: another work of genba's in this thread made the collection begin, or there is no memory to look.
    let Some(is_too_much) = room::within(are_tables_too_large_now) else { return };
    if is_too_much {
        if !wanted.is_told.swap(true, SeqCst) {
            tell(&request(wanted, Moment::Cycles, InPlace::Not, false), Outcome::Container);
        }
        CYCLES_FROM_NS.store(monotonic_ns().saturating_add(CYCLES_APART_NS), SeqCst);
        return;
    }
    let asked = request(wanted, Moment::Cycles, InPlace::Moment, false);
    let in_place_ns = asked.in_place_ns.min(CYCLES_NS_MAX);
    walk_here(&Request { is_of_cycles: true, in_place_ns, ..asked }, known, state.wrapping_sub(known.objects.gc));
    write_after_the_end();
    let ended_ns = monotonic_ns();
    let apart_ns = CYCLES_APART.saturating_mul(ended_ns.saturating_sub(began_ns)).max(CYCLES_APART_NS);
    CYCLES_FROM_NS.store(ended_ns.saturating_add(apart_ns), SeqCst);
}

/// Whether a collection's beginning or end is of interest at all.
pub fn is_around_collections() -> bool {
    wanted().is_some_and(|wanted| wanted.before_gc || wanted.after_gc || wanted.cycles)
}

/// Among the functions that the interpreter calls before it ends, with the GIL.
pub fn at_exit() {
    let Some(wanted) = wanted().filter(|wanted| wanted.at_exit) else { return };
    if tell_unknown(Moment::Exit) {
        return;
    }
    if let Some(known) = &wanted.known {
        walk_here(&request(wanted, Moment::Exit, InPlace::Moment, wanted.collects), known, 0);
        // What the interpreter does until its end may end the process at once.
        pending_answers::write();
    }
}

fn request(wanted: &'static Wanted, moment: Moment, in_place: InPlace, collects: bool) -> Request {
    let limit_ns = WALK_NS + resident_max_bytes() / 1_000_000 * WALK_NS_A_MB;
    let out: &'static CStr = wanted.out.as_c_str();
    Request {
        out: Cow::Borrowed(out),
        only: wanted.only,
        how: if in_place == InPlace::Not { How::Auto } else { How::InPlace },
        collects,
        is_live: false,
        held: None,
        is_of_cycles: false,
        sample: 0,
        wait_ns: WAIT_NS_MAX,
        limit_ns,
        in_place_ns: limit_ns,
        piece: Some(Head {
            pid: u64::from(own_pid()),
            number: NUMBER.fetch_add(1, SeqCst),
            moment: moment as u64,
            realtime_ns: clock_ns(libc::CLOCK_REALTIME).unwrap_or(0),
            python: wanted.python,
            in_place: in_place as u64,
        }),
    }
}

fn resident_max_bytes() -> u64 {
    // SAFETY: the kernel fills the record.
    unsafe {
        let mut usage: libc::rusage = core::mem::zeroed();
        match libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) {
            0 => usage.ru_maxrss.unsigned_abs() * 1024,
            _ => 0,
        }
    }
}

/// What is against a copy of the process. Only the sampler asks: this allocates.
/// Partner: crates/cli/src/verbs/heap/choice.rs has the same reasons.
pub fn against_copy(
    maps: Option<&[u8]>,
    overcommit: Option<&[u8]>,
    container: ContainerLeft,
    resident_bytes: Option<u64>,
    own_bytes: Option<u64>,
) -> InPlace {
    let maps = String::from_utf8_lossy(maps.unwrap_or_default());
    if DEVICES.iter().any(|device| maps.contains(device)) {
        return InPlace::Device;
    }
    match overcommit.and_then(|mode| mode.first()) {
        Some(b'2') => InPlace::Overcommit,
        _ if is_short(own_bytes, Some(SMALL_BYTES)) => InPlace::Small,
        _ if is_short(container.bytes, resident_bytes.map(|bytes| bytes / COPIED_PART)) => InPlace::Container,
        _ if is_short(container.killed_as_one_bytes, own_bytes.map(copied_at_most)) => InPlace::KilledAsOne,
        _ => InPlace::Not,
    }
}

/// Allocates: within a room.
fn are_tables_too_large_now() -> bool {
    let proc = Descriptor::open_at(None, c"/proc", libc::O_RDONLY).ok();
    are_tables_too_large(container_left(proc.as_ref()), own_bytes(proc.as_ref()))
}

/// Whether the tables of a walk may take more than the container has left.
fn are_tables_too_large(container: ContainerLeft, own_bytes: Option<u64>) -> bool {
    is_short(container.bytes, own_bytes.map(tables_at_most))
}

fn is_short(left_bytes: Option<u64>, needed_bytes: Option<u64>) -> bool {
    left_bytes.zip(needed_bytes).is_some_and(|(left, needed)| left < needed)
}

#[cfg(test)]
mod tests {
    use super::{CYCLES_FROM_NS, ContainerLeft, Heap, InPlace, Moment, Outcome, SeqCst};
    use super::{against_copy, are_tables_too_large, ask, begin, end, tell_unknown};
    use genba_heap::pieces::{ASKED_BYTES, HEAD_BYTES, LENGTH_AT};

    /// There is no interpreter in this process.
    #[test]
    fn structures_that_are_not_known_are_told_once() {
        let path = std::env::temp_dir().join(format!("genba-unknown-{}", std::process::id()));
        std::fs::write(&path, [0; ASKED_BYTES]).unwrap();
        CYCLES_FROM_NS.store(u64::MAX, SeqCst);
        begin(&Heap { out: path.to_str().unwrap().to_owned(), ..Heap::default() });
        assert_eq!(CYCLES_FROM_NS.load(SeqCst), 0, "a recording waits for no walk of the one before");
        assert!(ask(Moment::Interval, InPlace::Not).is_none());
        assert!(tell_unknown(Moment::Interval) && tell_unknown(Moment::Exit));
        let bytes = std::fs::read(&path).unwrap();
        CYCLES_FROM_NS.store(u64::MAX, SeqCst);
        begin(&Heap { out: path.to_str().unwrap().to_owned(), ..Heap::default() });
        assert_eq!(CYCLES_FROM_NS.load(SeqCst), u64::MAX, "a forked child waits as its parent does");
        end();
        assert!(!tell_unknown(Moment::Exit), "nothing is wanted any more");
        std::fs::remove_file(&path).unwrap();
        let piece = &bytes[ASKED_BYTES..];
        let number = |at: usize| u64::from_le_bytes(piece[at..at + 8].try_into().unwrap());
        // The words of the command line are before the answer; their number is before its length.
        let answer = HEAD_BYTES + number(LENGTH_AT - 8) as usize;
        assert_eq!(piece.len(), answer + number(LENGTH_AT) as usize, "one piece");
        // Behind the tag.
        assert_eq!(number(answer + 1), Outcome::Unknown as u64);
    }

    #[test]
    fn a_driver_a_strict_system_a_small_program_and_a_full_container_are_against_a_copy() {
        const MB: u64 = 1_000_000;
        let of = |maps: Option<&[u8]>, overcommit: Option<&[u8]>, own: u64| {
            against_copy(maps, overcommit, ContainerLeft::default(), Some(1000 * MB), Some(own * MB))
        };
        assert_eq!(of(Some(b"7f00-7f01 r--p 0 0:0 0 /lib/libc.so.6"), Some(b"0\n"), 800), InPlace::Not);
        assert_eq!(of(Some(b"7f00-7f01 rw-s 0 0:0 0 /dev/nvidia0"), Some(b"0\n"), 800), InPlace::Device);
        assert_eq!(of(None, Some(b"2\n"), 800), InPlace::Overcommit);
        assert_eq!(of(None, None, 800), InPlace::Not);
        assert_eq!(of(None, None, 24), InPlace::Not);
        assert_eq!(of(None, None, 23), InPlace::Small);
        assert_eq!(against_copy(None, None, ContainerLeft::default(), None, None), InPlace::Not);
        let in_group = |container: ContainerLeft| against_copy(None, None, container, Some(1000 * MB), Some(800 * MB));
        let with = |left: u64| ContainerLeft { bytes: Some(left * MB), ..ContainerLeft::default() };
        assert_eq!(in_group(with(99)), InPlace::Container);
        assert_eq!(in_group(with(100)), InPlace::Not);
        assert_eq!(against_copy(None, None, with(0), None, None), InPlace::Not);
        // One that is killed as a whole has room for all of the program a second time, or there is no copy.
        let as_one = |left: u64| ContainerLeft { killed_as_one_bytes: Some(left * MB), ..with(left) };
        assert_eq!(in_group(as_one(99)), InPlace::Container);
        assert_eq!(in_group(as_one(999)), InPlace::KilledAsOne);
        assert_eq!(in_group(as_one(1000)), InPlace::Not);
    }

    #[test]
    fn tables_that_the_container_has_no_room_for_are_not_made() {
        let left = |bytes: u64| ContainerLeft { bytes: Some(bytes), ..ContainerLeft::default() };
        assert!(are_tables_too_large(left(199), Some(800)));
        assert!(!are_tables_too_large(left(200), Some(800)));
        assert!(!are_tables_too_large(left(0), None), "the kernel does not say");
        assert!(!are_tables_too_large(ContainerLeft::default(), Some(800)), "there is no limit");
    }
}
