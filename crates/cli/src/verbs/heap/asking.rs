//! The agent in the process is asked to walk the heap, and its answer is waited for.
//! Owns: the words of the question (crates/agent/src/doors/heap.rs reads them), the file of the answer, and what each outcome means. Never:
//! waits without an end.

use std::cell::Cell;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use genba_entry::Door;
use genba_heap::answer::{self, Answer, Outcome};
use genba_process::facts::Facts;
use genba_process::interpreter::Interpreter;

use super::choice::{Choice, Wish};
use super::interrupt::Interrupt;
use crate::recording::agent_file;
use crate::verbs::attach::entering::{Entering, Way};
use crate::verbs::attach::left_behind::HEAP;
use crate::verbs::attach::placed::Place;
use crate::words::failure::{self, Failure};

/// The GIL may be held by a long C call.
const GIL_MAX: Duration = Duration::from_secs(20);
const POLLED_EVERY: Duration = Duration::from_millis(2);
/// 65,536 classes with long names.
const ANSWER_BYTES_MAX: u64 = 256 << 20;
/// How long a walk that has answered may take to end, and how often it is looked: each look stops the process for a moment.
const ENDING_MAX: Duration = Duration::from_secs(1);
const ENDING_POLLED_EVERY: Duration = Duration::from_millis(50);
const MORE: Duration = Duration::from_secs(5);

/// An answer, and how long the program's threads were stopped to ask for it.
pub struct Asked {
    pub answer: Answer,
    pub stopped_ns: u64,
    pub wants: Wants,
}

/// What is looked for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Wants {
    /// A collection comes first.
    pub collection: bool,
    /// Garbage is found, left as it is, and not counted.
    pub live_only: bool,
    /// Cycles in garbage; only garbage is counted.
    pub cycles: bool,
    /// Ways to objects.
    pub held: Option<Sought>,
}

/// A class, and how many of its objects a way is told to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sought {
    pub class: String,
    pub sample: u64,
}

pub fn ask(interpreter: &Interpreter, choice: &Choice, wants: Wants, interrupt: &Interrupt) -> Result<Asked, Failure> {
    let pid = interpreter.facts.pid;
    let cannot = |error: std::io::Error| {
        Failure::no(format!("cannot make a file for the answer: {}", failure::of_system(&error)))
            .hint("TMPDIR=/path/to/folder genba heap …")
    };
    let file = tempfile::Builder::new().prefix(HEAP).tempfile().map_err(cannot)?;
    let place = Place::for_process(&interpreter.facts, &agent_file::unpacked()?, file.path())?;
    // Another genba that comes by looks for what nobody has a lock on.
    let held = place.held(file.path())?;
    let entering = Entering {
        library: place.library.clone(),
        door: Door::Heap,
        session: question(&place, choice, &wants),
        // No signal is sent, so it does not matter.
        has_bolted: Cell::new(false),
        has_met_end: Cell::new(false),
        has_no_libc: Cell::new(false),
        asked_to_end: interrupt.flag(),
        unasked: Arc::default(),
    };
    let way = entered(&entering, interpreter, interrupt)?;
    let stopped_ns = u64::try_from(way.stopped().as_nanos()).unwrap_or(u64::MAX);
    let walk_max = Duration::from_nanos(choice.copy_ns_max.max(choice.in_place_ns_max));
    let deadline = Instant::now() + GIL_MAX + walk_max + MORE;
    let bytes = loop {
        let bytes = place.content(ANSWER_BYTES_MAX).map_err(cannot)?;
        if answer::is_whole(&bytes) {
            break bytes;
        }
        if Facts::of(pid).map_or(true, |facts| facts.is_zombie()) {
            return Err(Failure::no(format!("process {pid} has ended")).hint("genba ps lists the Python processes"));
        }
        if interrupt.has_come() {
            return Err(
                Failure::no("interrupted").hint("the process goes on; a walk that has begun in it ends by itself")
            );
        }
        if Instant::now() > deadline {
            return Err(late(pid));
        }
        std::thread::sleep(POLLED_EVERY);
    };
    drop(held);
    let answer = answer::read(&bytes).ok_or_else(|| Failure::ours("the answer of genba's library is damaged"))?;
    check(pid, &answer, Some(choice))?;
    Ok(Asked { answer, stopped_ns, wants })
}

/// A walk whose answer is there ends a moment later: the next one waits for it, and for no longer one.
fn entered(entering: &Entering, interpreter: &Interpreter, interrupt: &Interrupt) -> Result<Way, Failure> {
    let deadline = Instant::now() + ENDING_MAX;
    loop {
        if let Some(way) = entering.enter_once(interpreter)? {
            return Ok(way);
        }
        if Instant::now() > deadline || interrupt.has_come() {
            let pid = interpreter.facts.pid;
            return Err(Failure::no(format!("the heap of process {pid} is being walked already"))
                .hint("try it again in a moment"));
        }
        std::thread::sleep(ENDING_POLLED_EVERY);
    }
}

fn question(place: &Place, choice: &Choice, wants: &Wants) -> OsString {
    let how = match (choice.is_in_place, choice.wish) {
        (true, _) => "in-place",
        (false, Wish::Fork) => "fork",
        (false, _) => "auto",
    };
    let path = encoded(place.recording.as_os_str().as_bytes());
    let held = wants.held.as_ref().map_or_else(String::new, |sought| {
        format!("held={};sample={};", encoded(sought.class.as_bytes()), sought.sample)
    });
    format!(
        "v=1;out={path};{held}how={how};collect={};live={};cycles={};wait_ns={};limit_ns={};in_place_ns={}",
        u8::from(wants.collection),
        u8::from(wants.live_only),
        u8::from(wants.cycles),
        GIL_MAX.as_nanos(),
        choice.copy_ns_max,
        choice.in_place_ns_max
    )
    .into()
}

fn encoded(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => text.push(char::from(*byte)),
            byte => text.push_str(&format!("%{byte:02x}")),
        }
    }
    text
}

fn late(pid: u32) -> Failure {
    Failure::no(format!("process {pid} gave genba no turn within {} s", GIL_MAX.as_secs()))
        .detail("a thread holds the GIL all the time: a long C call, or the program is stopped")
        .hint(format!("genba dump {pid} shows which"))
}

fn after(limit_ns: Option<u64>) -> String {
    limit_ns.map_or_else(|| " in time".to_owned(), |limit_ns| format!(" after {} s", limit_ns / 1_000_000_000))
}

/// What an answer without a walk means.
/// `choice`: of a walk that was asked for by `genba heap`.
pub fn check(pid: u32, answer: &Answer, choice: Option<&Choice>) -> Result<(), Failure> {
    let done = &answer.done;
    // No recording has these options.
    let heap = if choice.is_some() { String::new() } else { format!("genba heap {pid} ") };
    let failed = |detail: String| Failure::no(format!("cannot walk the heap of process {pid}")).detail(detail);
    let class = String::from_utf8_lossy(&done.class);
    let class = class.trim_end_matches('\0');
    let is = |outcome: Outcome| done.outcome == outcome as u32;
    if is(Outcome::Done) {
        return Ok(());
    }
    Err(if is(Outcome::Died) {
        failed(format!("its copy was ended by signal {} at an object of class {class}", done.detail))
            .detail("the process itself goes on unharmed")
            .hint(format!("the tp_traverse of {class} is broken, or an object of that class is: the program's own collector calls it, too"))
    } else if is(Outcome::Killed) {
        failed(format!(
            "its copy was not through{}, at an object of class {class}, and was ended",
            after(choice.map(|choice| choice.copy_ns_max))
        ))
        .hint(format!("{heap}--in-place walks without a copy; the program waits meanwhile"))
    } else if is(Outcome::Cut) {
        match done.detail {
            1 => failed("there is no memory for the walk's own tables".to_owned())
                .hint("raise RLIMIT_AS, or the container's limit"),
            2 => failed(format!("it was not through{}", after(choice.map(|choice| choice.in_place_ns_max))))
                .hint(format!("{heap}--fork walks a copy, and the program does not wait")),
            3 => failed("a list of its collector has no end".to_owned()).hint("the process has damaged its own memory"),
            _ => failed("its copy could not write the answer".to_owned())
                .hint("is the disk of the temporary folder full?"),
        }
    } else if is(Outcome::NotForked) {
        let error = std::io::Error::from_raw_os_error(done.detail.cast_signed());
        failed(format!("no copy of it can be made: {}", failure::of_system(&error)))
            .hint(format!("{heap}--in-place walks without a copy; the program waits meanwhile"))
    } else if is(Outcome::Misfit) {
        failed("its interpreter's structures are not where its version says".to_owned())
            .hint("report this: genba knows the builds of python.org, Debian, pyenv and python-build-standalone")
    } else if is(Outcome::NoMemory) {
        failed("there is no memory for the walk's own tables".to_owned())
            .hint("raise RLIMIT_AS, or the container's limit")
    } else if is(Outcome::Container) {
        failed("its container has less memory left than the walk's own tables may take".to_owned())
            .hint("raise the container's limit; a quarter of the process's own memory is enough")
    } else if is(Outcome::NoThread) {
        failed("no thread could be made for the walk".to_owned())
            .hint("raise RLIMIT_NPROC or RLIMIT_AS, or the container's limits")
    } else if is(Outcome::Unknown) {
        failed("genba does not know its interpreter's structures".to_owned())
            .hint(format!("genba doctor --layout {pid} prints what to send"))
    } else if is(Outcome::NoInterpreter) {
        failed("its interpreter is not initialised yet, or ends".to_owned()).hint("try it again in a moment")
    } else if is(Outcome::Collecting) {
        failed("its collector was at work each time that genba had the GIL".to_owned())
            .hint("a finalizer takes long: genba dump shows which")
    } else {
        late(pid)
    })
}

#[cfg(test)]
mod tests {
    use genba_heap::answer::{Answer, Done, Outcome};

    use super::super::choice::{Choice, Wish};
    use super::check;

    #[test]
    fn a_recording_is_told_of_an_option_with_the_command_that_has_it() {
        const LATE: u32 = 2;
        let choice =
            Choice { wish: Wish::Auto, is_in_place: true, against_copy: None, copy_ns_max: 1, in_place_ns_max: 1 };
        for (outcome, option) in
            [(Outcome::Cut, "--fork"), (Outcome::Killed, "--in-place"), (Outcome::NotForked, "--in-place")]
        {
            let done = Done { outcome: outcome as u32, detail: LATE, ..Done::default() };
            let answer = Answer { done, ..Answer::default() };
            let hint = |choice: Option<&Choice>| check(7, &answer, choice).unwrap_err().in_two().1;
            assert!(hint(Some(&choice)).starts_with(option), "{option}");
            assert!(hint(None).starts_with(&format!("genba heap 7 {option} ")), "{option}");
        }
    }
}
