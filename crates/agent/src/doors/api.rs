//! The functions that `import genba` calls, in a program that nobody started for genba.
//! Owns: their C signatures, and what a call may not do. Never: panics into the program, starts a second sampler.
//! Partner: python/genba/_agent.py.
//!
//! Each fills `words` with UTF-8 that ends with a zero, cut to `words_bytes`, and returns an `Outcome`.

use crate::lifecycle;
use crate::lifecycle::start_block;
use crate::process::files_over_fork;
use crate::process::life::{self, LIFE};
use crate::process::mailbox::{Answer, Leaf, MAILBOX, Order};
use crate::process::room;
use crate::process::session::Session;
use crate::system::alternate::{self, fitted};
use crate::system::proc;
use crate::system::symbols::{self, Linker};
use crate::tracing::within::{self, Unbegun};
use genba_format::proto;
use genba_python::find::{Found, find};
use genba_signal::memory::Guarded;
use std::borrow::Cow;
use std::ffi::{CStr, c_char, c_int};
use std::fmt::Write;

/// What a call waits for at most.
const WAIT_NS_MAX: u64 = 5_000_000_000;

/// What a call came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum Outcome {
    Done = 0,
    /// `words` say why.
    Refused = 1,
    /// There is a recording already; `words` are its path.
    Already = 2,
    /// There is no recording.
    NotRecording = 3,
    /// The sampler was too busy to answer.
    Late = 4,
}

/// The bits of `genba_state`.
const RECORDING: c_int = 1;
const PAUSED: c_int = 2;
const BY_COMMAND: c_int = 4;

/// Begins a recording. `session`: as `GENBA_SESSION`; the file is there and empty.
///
/// # Safety
/// `session` is a C string, `words` has room for `words_bytes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn genba_start(session: *const c_char, words: *mut c_char, words_bytes: usize) -> c_int {
    // SAFETY: as the caller promises.
    let text = unsafe { CStr::from_ptr(session) };
    // SAFETY: as above.
    unsafe {
        answer(words, words_bytes, || {
            room::within(|| start(&text.to_string_lossy(), Beginner::Program)).unwrap_or_else(no_room)
        })
    }
}

/// Writes the last block.
///
/// # Safety
/// `words` has room for `words_bytes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn genba_stop(words: *mut c_char, words_bytes: usize) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { answer(words, words_bytes, stop) }
}

/// `paused` not 0: nothing is looked at until it is called with 0.
///
/// # Safety
/// `words` has room for `words_bytes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn genba_pause(paused: c_int, words: *mut c_char, words_bytes: usize) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { answer(words, words_bytes, || pause(paused != 0)) }
}

/// Writes what is in memory into the file, behind a mark with this text.
///
/// # Safety
/// `text` is a C string, `words` has room for `words_bytes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn genba_mark(text: *const c_char, words: *mut c_char, words_bytes: usize) -> c_int {
    // SAFETY: as the caller promises.
    let text = unsafe { CStr::from_ptr(text) }.to_str();
    // SAFETY: as above.
    unsafe { answer(words, words_bytes, || text.map_or(refused("the text is not UTF-8"), mark)) }
}

/// Looks at the calling thread's own stack. `words`: the recording's process key in hexadecimal digits, a blank, and the stack's leaf
/// node (index + 1) in it.
///
/// # Safety
/// `words` has room for `words_bytes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn genba_own_stack(words: *mut c_char, words_bytes: usize) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { answer(words, words_bytes, own_stack) }
}

/// Counts every call of this process from here on. `session`: as `GENBA_SESSION`; the file is there and empty.
///
/// # Safety
/// As `genba_start`; called with the GIL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn genba_trace_start(session: *const c_char, words: *mut c_char, words_bytes: usize) -> c_int {
    // SAFETY: as the caller promises.
    let text = unsafe { CStr::from_ptr(session) };
    // SAFETY: as above.
    unsafe {
        answer(words, words_bytes, || room::within(|| trace_start(&text.to_string_lossy())).unwrap_or_else(no_room))
    }
}

/// Writes the counts. `own_frames`: so many of the calling thread's calls are genba's own, the innermost ones.
///
/// # Safety
/// `words` has room for `words_bytes`; called with the GIL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn genba_trace_stop(own_frames: c_int, words: *mut c_char, words_bytes: usize) -> c_int {
    let stopped = || within::stop(usize::try_from(own_frames).unwrap_or(0));
    let outcome = || match room::within(stopped) {
        None => no_room(),
        Some(None) => not_recording(),
        Some(Some(Ok(()))) => done(),
        Some(Some(Err(why))) => refused(why),
    };
    // SAFETY: as the caller promises.
    unsafe { answer(words, words_bytes, outcome) }
}

/// Bits: 1 recording, 2 paused, 4 begun by `genba run`; `words`: the recording's path.
///
/// # Safety
/// `words` has room for `words_bytes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn genba_state(words: *mut c_char, words_bytes: usize) -> c_int {
    if !is_recording() {
        return 0;
    }
    // SAFETY: as the caller promises.
    unsafe { fill(words, words_bytes, &path()) };
    let paused = if LIFE.stands_by() { PAUSED } else { 0 };
    RECORDING | paused | if LIFE.is_by_command() { BY_COMMAND } else { 0 }
}

/// # Safety
/// As `fill`.
unsafe fn answer(words: *mut c_char, words_bytes: usize, call: impl FnOnce() -> (Outcome, Text)) -> c_int {
    let (outcome, text) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).unwrap_or_else(|_| failed());
    // SAFETY: as the caller promises.
    unsafe { fill(words, words_bytes, &text) };
    outcome as c_int
}

/// For a function that the command calls: the reason of a refusal takes the place of the text that it gave, as far as it has room there.
///
/// # Safety
/// `text` is a C string that nobody else reads or writes meanwhile.
pub(super) unsafe fn answer_in_place(text: *mut c_char, call: impl FnOnce(&str) -> (Outcome, Text)) -> c_int {
    // SAFETY: as the caller promises.
    let asked = unsafe { CStr::from_ptr(text) };
    let bytes = asked.to_bytes_with_nul().len();
    let called = || room::within(|| call(&asked.to_string_lossy())).unwrap_or_else(no_room);
    let (outcome, words) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(called)).unwrap_or_else(|_| failed());
    if outcome == Outcome::Refused {
        // SAFETY: `asked` is not read any more.
        unsafe { fill(text, bytes, &words) };
    }
    outcome as c_int
}

/// # Safety
/// `words` has room for `words_bytes`.
unsafe fn fill(words: *mut c_char, words_bytes: usize, text: &str) {
    let Some(room) = words_bytes.checked_sub(1) else { return };
    let text = &text.as_bytes()[..text.floor_char_boundary(room)];
    // SAFETY: at most `words_bytes` with the zero.
    unsafe {
        core::ptr::copy_nonoverlapping(text.as_ptr(), words.cast(), text.len());
        *words.add(text.len()) = 0;
    }
}

fn path() -> Text {
    files_over_fork::path().map_or(Cow::Borrowed(""), CStr::to_string_lossy)
}

/// Mostly words that are there already: most calls have no memory to be sure of.
pub(super) type Text = Cow<'static, str>;

pub(super) const fn done() -> (Outcome, Text) {
    (Outcome::Done, Cow::Borrowed(""))
}

pub(super) const fn refused(words: &'static str) -> (Outcome, Text) {
    (Outcome::Refused, Cow::Borrowed(words))
}

fn no_room() -> (Outcome, Text) {
    refused("there is not enough memory (a limit such as RLIMIT_AS)")
}

fn failed() -> (Outcome, Text) {
    refused("genba failed; the program is as it was")
}

const fn late() -> (Outcome, Text) {
    (Outcome::Late, Cow::Borrowed(""))
}

/// The sampler did not answer in time. One that has ended meanwhile never will.
fn unanswered() -> (Outcome, Text) {
    if life::is_recording() { late() } else { not_recording() }
}

const fn not_recording() -> (Outcome, Text) {
    (Outcome::NotRecording, Cow::Borrowed(""))
}

/// Who asked for a recording of a program that is running already.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Beginner {
    /// By a call of the program's own.
    Program,
    Command,
    /// `genba run`, before the interpreter was loaded.
    Loader,
}

pub(super) fn start(text: &str, beginner: Beginner) -> (Outcome, Text) {
    let Some(session) = Session::parse(text) else { return refused("the recording's options are not understood") };
    let Some(turn) = MAILBOX.turn(WAIT_NS_MAX) else { return late() };
    if life::is_recording() {
        return (Outcome::Already, path());
    }
    if within::is_on() {
        return refused("the calls of this process are being counted: samples and exact counts exclude each other");
    }
    symbols::find_local_python();
    match find(&Guarded, &Linker) {
        Found::No => return refused("no interpreter is found in this process"),
        Found::Refused { version, reason } => return (Outcome::Refused, format!("{version}: {reason}").into()),
        Found::Yes { python, version } => {
            let described = start_block::describe(&session, &version);
            let start = if beginner == Beginner::Loader {
                // All of the process is to be recorded: what came before counts, as not sampled.
                described
            } else {
                let began_realtime_ns = proc::began_realtime_ns().unwrap_or(0);
                proto::Start { within: true, began_realtime_ns, ..described }
            };
            LIFE.set_by_command(beginner != Beginner::Program);
            let is_visitor = beginner == Beginner::Command && !session.is_asked;
            LIFE.set_visitor(if is_visitor { proc::own_tid() } else { 0 });
            if beginner != Beginner::Loader {
                // No call of the program's is wrapped here: where its threads go is not seen.
                files_over_fork::goes_elsewhere();
            }
            if beginner == Beginner::Command {
                alternate::begin_late(python.runtime.0);
                fitted::begin();
            }
            LIFE.set_stands_by(false);
            if !lifecycle::begin(session, python, start) {
                return refused("no thread could be made (a limit such as RLIMIT_NPROC), or an earlier sampler hangs");
            }
        }
    }
    match turn.ask(Order::Greet, None, WAIT_NS_MAX) {
        Answer::Done(_) => {
            // The sampler has its files. A thread that becomes another user may have put some there after it had looked for them.
            files_over_fork::leave();
            done()
        }
        Answer::Ended => refused("the sampler ended at once: it got no thread or no table of descriptors"),
        Answer::Late => {
            // Whoever is told that there is no recording must not have one.
            let _ = turn.ask(Order::End, None, 0);
            late()
        }
    }
}

fn trace_start(text: &str) -> (Outcome, Text) {
    let Some(session) = Session::parse(text) else { return refused("the options are not understood") };
    // Asked without the turn: who waits with the GIL keeps the program waiting.
    if life::is_recording() {
        return refused("this process is being recorded: samples and exact counts exclude each other");
    }
    match find(&Guarded, &Linker) {
        Found::No => return refused("no interpreter is found in this process"),
        Found::Refused { version, reason } => return (Outcome::Refused, format!("{version}: {reason}").into()),
        Found::Yes { .. } => {}
    }
    match within::start(session) {
        Ok(()) => done(),
        Err(Unbegun::Already(path)) => (Outcome::Already, path.into()),
        Err(Unbegun::Refused(why)) => refused(why),
    }
}

fn stop() -> (Outcome, Text) {
    if !is_recording() {
        return not_recording();
    }
    lifecycle::end(WAIT_NS_MAX);
    if life::is_recording() { late() } else { done() }
}

/// While another thread forks, the sampler is neither running nor parked yet: asked with the turn.
fn is_recording() -> bool {
    let _turn = MAILBOX.turn(WAIT_NS_MAX);
    life::is_recording()
}

fn pause(paused: bool) -> (Outcome, Text) {
    let Some(turn) = MAILBOX.turn(WAIT_NS_MAX) else { return late() };
    if !life::is_recording() {
        return not_recording();
    }
    match turn.ask(if paused { Order::StandBy } else { Order::ComeBack }, None, WAIT_NS_MAX) {
        Answer::Done(_) => done(),
        Answer::Late | Answer::Ended => unanswered(),
    }
}

fn mark(text: &str) -> (Outcome, Text) {
    if !is_recording() {
        return not_recording();
    }
    if lifecycle::flush(proto::MarkKind::Program, text, WAIT_NS_MAX) { done() } else { unanswered() }
}

fn own_stack() -> (Outcome, Text) {
    if !is_recording() {
        return not_recording();
    }
    match lifecycle::own_stack("genba.snapshot()", WAIT_NS_MAX) {
        Some(Leaf { process_key, node }) => {
            // 32 digits, a blank and at most ten more.
            let mut words = String::new();
            if words.try_reserve_exact(64).is_err() {
                return late();
            }
            for byte in process_key {
                let _ = write!(words, "{byte:02x}");
            }
            let _ = write!(words, " {node}");
            (Outcome::Done, words.into())
        }
        None => unanswered(),
    }
}
