//! One walk, from the GIL to the answer: in a copy of the process, or in place.
//! Owns: what is tried again, the times that are measured. Never: holds the GIL while it writes to a file (unless nobody else can:
//! pending_answers.rs), or while a copy walks.

use super::copy::{self, End};
use super::gil::{Collection, Gil, collect};
use super::pending_answers;
use super::plan::{Interpreters, Known};
use super::request::{How, Request};
use super::rows::{Buffer, Mappings, Shared};
use crate::system::descriptor::Identity;
use crate::system::proc::monotonic_ns;
use genba_heap::answer::{Done, Outcome, write_classes, write_done};
use genba_heap::chains::write_chains;
use genba_heap::found::write_found;
use genba_heap::ground::Ground;
use genba_heap::walk::{Cut, Plan, Walk, Walked};
use std::borrow::Cow;

/// A collection is over in a moment, but its finalizers may give the GIL away before.
const COLLECTING_TRIES: u32 = 200;
const BETWEEN_TRIES_NS: libc::c_long = 5_000_000;
/// Exit codes of a copy: `Cut` by its number, no memory, nothing written.
const NO_MEMORY: u8 = 100;
const UNWRITTEN: u8 = 101;
/// Of a command line.
const WORDS_BYTES: usize = 2048;

pub fn walk(request: &Request, known: &Known) {
    let began_ns = monotonic_ns();
    let mut done = Done::default();
    let mut words = [0; WORDS_BYTES];
    let words = own_words(request, &mut words);
    let (Some(shared), Some(mut buffer)) = (Shared::new(), Buffer::of(request.piece.as_ref(), words, request.only))
    else {
        return;
    };
    let late_ns = began_ns.saturating_add(request.wait_ns);
    for _ in 0..COLLECTING_TRIES {
        done = once(request, known, &shared, &mut buffer, late_ns);
        done.wait_ns = done.wait_ns.saturating_sub(began_ns);
        if done.outcome != Outcome::Collecting as u32 {
            break;
        }
        let rest = libc::timespec { tv_sec: 0, tv_nsec: BETWEEN_TRIES_NS };
        // SAFETY: reads one timespec.
        unsafe { libc::syscall(libc::SYS_nanosleep, &raw const rest, core::ptr::null_mut::<libc::timespec>()) };
    }
    if done.outcome == Outcome::Died as u32 || done.outcome == Outcome::Killed as u32 {
        done.class = shared.name();
    }
    if write_done(&done, &mut buffer) {
        buffer.append_to(&request.out);
    }
}

/// In a thread of the program's that has the GIL, and keeps it; the answer is written later. `collecting`: the interpreter whose collector calls;
/// 0: none does.
pub fn walk_here(request: &Request, known: &Known, collecting: u64) {
    let began_ns = monotonic_ns();
    let mut words = [0; WORDS_BYTES];
    let words = own_words(request, &mut words);
    let (Some(shared), Some(mut buffer)) = (Shared::new(), Buffer::of(request.piece.as_ref(), words, request.only))
    else {
        return;
    };
    let done = here(request, known, &shared, &mut buffer, collecting, began_ns);
    if !write_done(&done, &mut buffer) {
        return;
    }
    match request.out {
        Cow::Borrowed(out) => pending_answers::leave(buffer, out),
        // Its path ends with the request.
        Cow::Owned(_) => {
            buffer.append_to(&request.out);
        }
    }
}

/// No walk: how it went is all there is to tell.
pub fn tell(request: &Request, outcome: Outcome) {
    let mut words = [0; WORDS_BYTES];
    let words = own_words(request, &mut words);
    if let Some(mut buffer) = Buffer::of(request.piece.as_ref(), words, request.only)
        && write_done(&with(outcome), &mut buffer)
    {
        buffer.append_to(&request.out);
    }
}

fn here(
    request: &Request,
    known: &Known,
    shared: &Shared,
    buffer: &mut Buffer,
    collecting: u64,
    began_ns: u64,
) -> Done {
    let collection = if request.collects { collect() } else { Collection::default() };
    let collect_ns = if request.collects { monotonic_ns() - began_ns } else { 0 };
    let Some(interpreters) = known.check() else { return with(Outcome::Misfit) };
    if is_collecting(known, &interpreters, collecting) {
        return with(Outcome::Collecting);
    }
    let (resident_bytes, resident_files_bytes) = resident();
    let base = Done {
        resident_bytes,
        resident_files_bytes,
        interpreters_left: interpreters.left,
        has_interned: interpreters.has_interned,
        collect_ns,
        collected: collection.found,
        ..with(Outcome::Done)
    };
    let job = Job { request, known, interpreters: &interpreters, shared, collecting };
    job.in_place(None, began_ns + collect_ns, buffer, base)
}

/// `wait_ns` is the moment at which the GIL came.
fn once(request: &Request, known: &Known, shared: &Shared, buffer: &mut Buffer, late_ns: u64) -> Done {
    // SAFETY: a thread of genba's. If it is ended in here, what it holds is memory, of a process that ends.
    let Some(gil) = (unsafe { Gil::take() }) else { return with(Outcome::NoInterpreter) };
    let held_ns = monotonic_ns();
    let early = |outcome: Outcome| Done { wait_ns: held_ns, ..with(outcome) };
    if held_ns > late_ns || !is_wanted(request) {
        return early(Outcome::Late);
    }
    let Some(interpreters) = known.check() else { return early(Outcome::Misfit) };
    if request.held.is_some() && !interpreters.has_modules {
        return early(Outcome::Misfit);
    }
    if is_collecting(known, &interpreters, 0) {
        return early(Outcome::Collecting);
    }
    let collection = if request.collects { collect() } else { Collection::default() };
    let collected_ns = monotonic_ns();
    // A finalizer may give the GIL away.
    let Some(interpreters) = known.check() else { return early(Outcome::Misfit) };
    if is_collecting(known, &interpreters, 0) {
        return early(Outcome::Collecting);
    }
    let collect_ns = if request.collects { collected_ns - held_ns } else { 0 };
    // The time from here on is the walk's: without a collection, since the GIL came.
    let began_ns = held_ns + collect_ns;
    let (resident_bytes, resident_files_bytes) = resident();
    let base = Done {
        resident_bytes,
        resident_files_bytes,
        wait_ns: held_ns,
        interpreters_left: interpreters.left,
        has_interned: interpreters.has_interned,
        collect_ns,
        collected: collection.found,
        ..with(Outcome::Done)
    };
    let job = Job { request, known, interpreters: &interpreters, shared, collecting: 0 };
    if request.how == How::InPlace {
        return job.in_place(Some(gil), began_ns, buffer, base);
    }
    let faults_before = page_faults();
    // SAFETY: this thread blocks all signals, as its maker did; the copy walks with memory of its own.
    match unsafe { copy::make(|| job.in_copy()) } {
        Ok(pid) => {
            let copied_ns = monotonic_ns();
            drop(gil);
            let pause_ns = copied_ns - began_ns;
            let end = copy::wait(pid, request.limit_ns);
            let (outcome, detail) = outcome_of(end);
            Done {
                outcome: outcome as u32,
                detail,
                is_forked: true,
                pause_ns,
                walk_ns: monotonic_ns() - copied_ns,
                page_faults: page_faults().saturating_sub(faults_before),
                ..base
            }
        }
        Err(errno) if request.how == How::Auto => {
            job.in_place(Some(gil), began_ns, buffer, Done { detail: errno.unsigned_abs(), ..base })
        }
        Err(errno) => Done {
            detail: errno.unsigned_abs(),
            pause_ns: monotonic_ns() - began_ns,
            ..Done { outcome: Outcome::NotForked as u32, ..base }
        },
    }
}

fn with(outcome: Outcome) -> Done {
    Done { outcome: outcome as u32, ..Done::default() }
}

struct Job<'a> {
    request: &'a Request,
    known: &'a Known,
    interpreters: &'a Interpreters,
    shared: &'a Shared,
    /// As in `Plan`.
    collecting: u64,
}

impl Job<'_> {
    fn plan(&self) -> Plan<'_> {
        Plan {
            objects: self.known.objects,
            types: self.known.types,
            frames: self.known.frames,
            interpreters: self.interpreters.addresses(),
            has_interned: self.interpreters.has_interned,
            collecting: self.collecting,
        }
    }

    /// The exit code. Nobody waits for the tables to be given back.
    fn in_copy(&self) -> u8 {
        let ground = Mappings { deadline_ns: u64::MAX };
        let Some(mut buffer) = Buffer::of(self.request.piece.as_ref(), &[], self.request.only) else {
            return NO_MEMORY;
        };
        // SAFETY: the rows are this walk's alone: the process waits for its copy's end. The copy was made with the GIL.
        let walked = unsafe {
            let Some(mut walk) = Walk::new(self.plan(), self.shared.rows(), self.shared.at(), &ground) else {
                return NO_MEMORY;
            };
            let walked = self.walked(&mut walk);
            if walked.cut.is_none() && !self.written(&mut walk, &walked, &mut buffer) {
                return NO_MEMORY;
            }
            walked
        };
        match walked.cut {
            Some(cut) => cut as u8,
            None if buffer.append_to(&self.request.out) => 0,
            None => UNWRITTEN,
        }
    }

    /// # Safety
    /// As `Walk::run`.
    unsafe fn walked<G: Ground>(&self, walk: &mut Walk<'_, G>) -> Walked {
        // SAFETY: as the caller promises.
        unsafe {
            match (&self.request.held, self.request.is_live) {
                _ if self.request.is_of_cycles => walk.run_cycles(),
                (Some(_), _) => walk.run_held(),
                (None, true) => walk.run_live(),
                (None, false) => walk.run(),
            }
        }
    }

    /// # Safety
    /// As `Walk::run`, after it.
    unsafe fn written<G: Ground>(&self, walk: &mut Walk<'_, G>, walked: &Walked, buffer: &mut Buffer) -> bool {
        // SAFETY: as the caller promises.
        unsafe {
            write_classes(walk, walked, buffer)
                && write_found(walk, buffer)
                && self.request.held.as_ref().is_none_or(|class| write_chains(walk, class, self.request.sample, buffer))
        }
    }

    /// `gil`: given back as soon as it can be; `None`: it is the caller's.
    fn in_place(&self, gil: Option<Gil>, held_ns: u64, buffer: &mut Buffer, base: Done) -> Done {
        let began_ns = monotonic_ns();
        let ground = Mappings { deadline_ns: began_ns.saturating_add(self.request.in_place_ns) };
        // SAFETY: the GIL is held; nobody else uses the rows.
        let walk = unsafe { Walk::new(self.plan(), self.shared.rows(), self.shared.at(), &ground) };
        let Some(mut walk) = walk else { return Done { outcome: Outcome::NoMemory as u32, ..base } };
        // SAFETY: as above.
        let walked: Walked = unsafe { self.walked(&mut walk) };
        // SAFETY: as above.
        let is_written = walked.cut.is_some() || unsafe { self.written(&mut walk, &walked, buffer) };
        drop(gil);
        let walk_ns = monotonic_ns() - began_ns;
        let pause_ns = monotonic_ns() - held_ns;
        walk.give_back();
        let (outcome, detail) = match walked.cut {
            Some(Cut::Collecting) => (Outcome::Collecting, 0),
            Some(cut) => (Outcome::Cut, cut as u32),
            None if is_written => (Outcome::Done, base.detail),
            None => (Outcome::NoMemory, 0),
        };
        Done { outcome: outcome as u32, detail, pause_ns, walk_ns, ..base }
    }
}

fn outcome_of(end: End) -> (Outcome, u32) {
    match end {
        End::Exited(0) => (Outcome::Done, 0),
        End::Exited(NO_MEMORY) => (Outcome::NoMemory, 0),
        End::Exited(code) => (Outcome::Cut, u32::from(code)),
        End::Died(signal) => (Outcome::Died, signal),
        End::Killed => (Outcome::Killed, 0),
    }
}

/// While a collection is under way its objects are in lists of their own.
fn is_collecting(known: &Known, interpreters: &Interpreters, but: u64) -> bool {
    let at = known.objects.gc + known.objects.gc_collecting;
    let others = interpreters.addresses().iter().filter(|&&interpreter| interpreter != but);
    // SAFETY: these interpreters were checked; the GIL is held.
    others.into_iter().any(|interpreter| unsafe { *((interpreter + at) as *const u32) } != 0)
}

/// Whether the command still waits.
fn is_wanted(request: &Request) -> bool {
    let found = Identity::of_writable(&request.out);
    found.is_some() && request.only.is_none_or(|only| found == Some(only))
}

/// The program's own words, each with a NUL behind it; none where nobody asks.
fn own_words<'a>(request: &Request, room: &'a mut [u8; WORDS_BYTES]) -> &'a [u8] {
    if request.piece.is_none() {
        return &[];
    }
    // SAFETY: plain system calls; the kernel writes within the room.
    let read = unsafe {
        let flags = libc::O_RDONLY | libc::O_CLOEXEC;
        let file = libc::syscall(libc::SYS_openat, libc::AT_FDCWD, c"/proc/self/cmdline".as_ptr(), flags, 0);
        if file < 0 {
            return &[];
        }
        let read = libc::syscall(libc::SYS_read, file, room.as_mut_ptr(), room.len());
        libc::syscall(libc::SYS_close, file);
        read
    };
    room.get(..usize::try_from(read).unwrap_or(0)).unwrap_or_default()
}

/// Of all threads, those that needed no disk.
fn page_faults() -> u64 {
    // SAFETY: the kernel fills the record.
    unsafe {
        let mut usage: libc::rusage = core::mem::zeroed();
        if libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) != 0 {
            return 0;
        }
        usage.ru_minflt.unsigned_abs()
    }
}

/// Bytes that the process has in memory, and how many of them are of files. 0: the kernel does not say.
fn resident() -> (u64, u64) {
    let mut text = [0; 128];
    // SAFETY: plain system calls; the kernel writes within the room.
    let read = unsafe {
        let flags = libc::O_RDONLY | libc::O_CLOEXEC;
        let file = libc::syscall(libc::SYS_openat, libc::AT_FDCWD, c"/proc/self/statm".as_ptr(), flags, 0);
        if file < 0 {
            return (0, 0);
        }
        let read = libc::syscall(libc::SYS_read, file, text.as_mut_ptr(), text.len());
        libc::syscall(libc::SYS_close, file);
        read
    };
    // SAFETY: a plain inquiry.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    resident_of(text.get(..usize::try_from(read).unwrap_or(0)).unwrap_or_default(), u64::try_from(page).unwrap_or(0))
}

/// Of `/proc/PID/statm`: all pages, those in memory, those of files and shared ones.
fn resident_of(text: &[u8], page: u64) -> (u64, u64) {
    let text = core::str::from_utf8(text).unwrap_or_default();
    let mut pages =
        text.split_ascii_whitespace().skip(1).map(|word| word.parse().unwrap_or(0_u64).saturating_mul(page));
    (pages.next().unwrap_or(0), pages.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::{resident, resident_of};

    #[test]
    fn the_kernel_s_line_is_read() {
        assert_eq!(resident_of(b"4213 1017 703 2 0 305 0\n", 4096), (1017 * 4096, 703 * 4096));
        assert_eq!(resident_of(b"", 4096), (0, 0));
        let (all, files) = resident();
        assert!(all > files && files > 0);
    }
}
