//! When the heap is walked while the program goes on: an interval is over, the process has grown, the user asks.
//! Owns: what is due. Never: walks (heap/), waits for a walk.

use crate::heap::moments::{self, WAIT_NS_MAX};
use crate::heap::pending_answers;
use crate::heap::thread::{Started, is_busy};
use crate::process::room;
use crate::process::safe_point::{self, Outcome, Place, Ticket};
use crate::process::session::Heap;
use crate::system::descriptor::Descriptor;
use crate::system::proc::{clock_ns, container_left, monotonic_ns, own_bytes, read_whole, resident_bytes};
use genba_heap::answer::Outcome as Unwalked;
use genba_heap::pieces::{ASKED_BYTES, InPlace, Moment};
use std::ffi::CString;

const LOOKED_EVERY_NS: u64 = 50_000_000;
/// The command holds a lock on the file of the answers, however it ends.
const HELD_EVERY_NS: u64 = 1_000_000_000;
/// The word of a task: a moment by its number, and above it what is against a copy.
const IN_PLACE_SHIFT: u32 = 8;
/// No thread can be made, and so often it is tried.
const THREAD_EVERY_NS: u64 = 1_000_000_000;
/// How it went; any other word: the interpreter is not there.
const BEGUN: u64 = 1;
const BUSY: u64 = 2;
const NO_THREAD: u64 = 3;

pub struct Heaps {
    wishes: Heap,
    out: CString,
    /// When the next interval is over.
    due_ns: u64,
    has_grown: bool,
    /// When the user asked last, or this process began: earlier questions are none for it.
    asked_realtime_ns: u64,
    looked_ns: u64,
    held_ns: u64,
    /// A walk that the main thread shall begin, since finalizers of the program belong to its threads.
    task: Option<(Ticket, Moment)>,
    /// Those that are due and cannot begin yet, and why.
    again: Vec<(Moment, Unwalked)>,
    /// No thread is made before.
    thread_from_ns: u64,
}

impl Heaps {
    pub fn new(wishes: &Heap, now_ns: u64) -> Heaps {
        moments::begin(wishes);
        Heaps {
            wishes: wishes.clone(),
            out: CString::new(wishes.out.as_bytes()).unwrap_or_default(),
            due_ns: now_ns.saturating_add(wishes.every_ns.unwrap_or(u64::MAX)),
            has_grown: false,
            asked_realtime_ns: clock_ns(libc::CLOCK_REALTIME).unwrap_or(u64::MAX),
            looked_ns: 0,
            held_ns: now_ns,
            task: None,
            again: Vec::new(),
            thread_from_ns: 0,
        }
    }

    /// Whether a tick may begin a walk.
    #[must_use]
    pub const fn are_walked(&self) -> bool {
        let wishes = &self.wishes;
        !wishes.out.is_empty() && (wishes.on_demand || wishes.every_ns.is_some() || wishes.resident_bytes.is_some())
    }

    /// At each tick.
    pub fn go_on(&mut self, now_ns: u64, proc: Option<&Descriptor>) {
        if self.wishes.out.is_empty() || now_ns < self.looked_ns + LOOKED_EVERY_NS {
            return;
        }
        pending_answers::write();
        if !self.task_is_over() {
            return;
        }
        self.looked_ns = now_ns;
        if now_ns >= self.held_ns + HELD_EVERY_NS {
            self.held_ns = now_ns;
            if !self.is_held() {
                moments::end();
                self.wishes.out.clear();
                return;
            }
        }
        for (moment, why) in std::mem::take(&mut self.again) {
            if !self.begin(moment, now_ns, proc) {
                self.wait(moment, why);
            }
        }
        if self.wishes.on_demand {
            self.look_for_signal(now_ns, proc);
        }
        if let Some(every_ns) = self.wishes.every_ns.filter(|_| now_ns >= self.due_ns)
            && self.begin(Moment::Interval, now_ns, proc)
        {
            self.due_ns = now_ns.saturating_add(every_ns);
        }
        if let Some(limit) = self.wishes.resident_bytes.filter(|_| !self.has_grown)
            && resident_bytes(proc).is_some_and(|bytes| bytes >= limit)
        {
            self.has_grown = self.begin(Moment::Resident, now_ns, proc);
        }
    }

    /// Whether there is a command that keeps what is walked.
    fn is_held(&self) -> bool {
        Descriptor::open_at(None, &self.out, libc::O_RDONLY).is_ok_and(|file| file.is_locked_by_another())
    }

    fn look_for_signal(&mut self, now_ns: u64, proc: Option<&Descriptor>) {
        if let Some(asked) = self.asked().filter(|asked| *asked > self.asked_realtime_ns)
            && self.begin(Moment::Signal, now_ns, proc)
        {
            self.asked_realtime_ns = asked;
        }
    }

    fn asked(&self) -> Option<u64> {
        let file = Descriptor::open_at(None, &self.out, libc::O_RDONLY).ok()?;
        let mut word = [0; ASKED_BYTES];
        let read = file.read(&mut word)?;
        Some(u64::from_le_bytes(read.try_into().ok()?))
    }

    /// False: it is tried again.
    fn begin(&mut self, moment: Moment, now_ns: u64, proc: Option<&Descriptor>) -> bool {
        // First of all: a walk may take seconds, and this is asked many times meanwhile.
        if self.task.is_some() || is_busy() {
            self.wait(moment, Unwalked::Busy);
            return true;
        }
        if now_ns < self.thread_from_ns && moment != Moment::Signal {
            self.wait(moment, Unwalked::NoThread);
            return true;
        }
        if moments::tell_unknown(moment) {
            return true;
        }
        let maps = read_whole(proc, c"self/maps");
        let overcommit = read_whole(proc, c"sys/vm/overcommit_memory");
        let (maps, overcommit, container) = (maps.as_deref(), overcommit.as_deref(), container_left(proc));
        let in_place = moments::against_copy(maps, overcommit, container, resident_bytes(proc), own_bytes(proc));
        if !self.wishes.collects {
            match moments::ask(moment, in_place) {
                Some(Started::Yes) => {}
                Some(Started::Busy) => self.wait(moment, Unwalked::Busy),
                Some(Started::NoThread) => self.wait_for_thread(moment),
                None => return false,
            }
            return true;
        }
        let word = moment as u64 | (in_place as u64) << IN_PLACE_SHIFT;
        let posted = safe_point::post(begin_here, word, Place::Anywhere, now_ns.saturating_add(WAIT_NS_MAX));
        self.task = posted.ok().map(|ticket| (ticket, moment));
        self.task.is_some()
    }

    /// Until it can begin. `why`: it is told where that never comes.
    fn wait(&mut self, moment: Moment, why: Unwalked) {
        if !self.again.iter().any(|(waiting, _)| *waiting == moment) {
            self.again.push((moment, why));
        }
    }

    /// A limit of threads may be met for a moment only. Who asks by a signal reads the line, and asks again.
    fn wait_for_thread(&mut self, moment: Moment) {
        if moment == Moment::Signal {
            moments::tell_unwalked(moment, Unwalked::NoThread);
            return;
        }
        self.thread_from_ns = monotonic_ns().saturating_add(THREAD_EVERY_NS);
        self.wait(moment, Unwalked::NoThread);
    }

    fn task_is_over(&mut self) -> bool {
        let Some((ticket, moment)) = self.task else { return true };
        match safe_point::outcome(ticket) {
            Outcome::Open => return false,
            Outcome::Done(BEGUN) | Outcome::Gone => {}
            Outcome::Done(BUSY) => self.wait(moment, Unwalked::Busy),
            Outcome::Done(NO_THREAD) => self.wait_for_thread(moment),
            Outcome::Done(_) => moments::tell_unwalked(moment, Unwalked::NoInterpreter),
            Outcome::Late | Outcome::Failed => moments::tell_unwalked(moment, Unwalked::Late),
        }
        self.task = None;
        true
    }

    pub fn end(&mut self) {
        if !self.task_is_over()
            && let Some((ticket, moment)) = self.task.take()
            && safe_point::cancel(ticket)
        {
            moments::tell_unwalked(moment, Unwalked::Late);
        }
        for (moment, why) in std::mem::take(&mut self.again) {
            moments::tell_unwalked(moment, why);
        }
        moments::end();
    }
}

/// Work of the safe point: the walk's thread gets the program's table of descriptors, which finalizers may need.
fn begin_here(word: u64) -> u64 {
    let in_place = match word >> IN_PLACE_SHIFT {
        1 => InPlace::Device,
        2 => InPlace::Overcommit,
        4 => InPlace::Container,
        5 => InPlace::KilledAsOne,
        6 => InPlace::Small,
        _ => InPlace::Not,
    };
    let moment = [Moment::Signal, Moment::Interval, Moment::Resident];
    let moment = moment.into_iter().find(|moment| *moment as u64 == word & ((1 << IN_PLACE_SHIFT) - 1));
    match room::within(|| moments::ask(moment?, in_place)) {
        Some(Some(Started::Yes)) => BEGUN,
        Some(Some(Started::Busy)) => BUSY,
        // Or no memory for one.
        Some(Some(Started::NoThread)) | None => NO_THREAD,
        Some(None) => 0,
    }
}
