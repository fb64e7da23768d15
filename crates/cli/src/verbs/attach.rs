//! `genba attach`: records a process that is running already, and leaves it as it was.
//! Owns: the order of those steps, the options, and the lock on the recording that keeps it going. Never: samples (the agent does), ends or
//! waits for the process.

pub mod entering;
pub mod family;
pub mod left_behind;
pub mod missed;
pub mod permission;
pub mod placed;
mod remote_exec;
mod visiting;

use std::cell::{Cell, LazyCell};
use std::ffi::OsStr;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use genba_entry::Door;
use genba_format::{UNKNOWN_EXIT_CODE, proto};
use genba_process::identity::Identity;
use genba_process::interpreter::{self, Interpreter};
use genba_process::look::Looker;
use genba_process::maps;
use genba_process::refusal::Refusal;
use genba_profile::figures;

use crate::finish::{self, Added, Places, Root};
use crate::read;
use crate::recording::output::Output;
use crate::recording::session::Session;
use crate::recording::{RecordingOptions, agent_file, monotonic_ns, recorder};
use crate::verbs::heap::keeping::Room;
use crate::verbs::report;
use crate::words::failure::{self, Failure, say, show};
use crate::words::pids;
use crate::words::progress::{during, during_change};
use crate::words::refused::refused;
use entering::Entering;
use family::Family;
use missed::Missed;
use placed::Place;
use visiting::Visiting;

/// How often it is looked whether the process goes on, and whether it has new children.
const LOOKED_EVERY: Duration = Duration::from_millis(100);
/// The agent asks for the lock 20 times a second.
const ENDED_MAX: Duration = Duration::from_secs(5);
const ABSENT_LOOKS: u32 = 5;
/// The line on stdout, with `--until-stdin-ends`, when the agent has begun: for `genba top`, whatever the user is told on stderr. Behind it comes a
/// line for each process that is missed (missed.rs).
pub const BEGAN: &str = "began\n";

#[derive(Args)]
// `--alloc` is refused with its reason where it is typed.
#[command(override_usage = "genba attach [OPTIONS] PID", mut_arg("alloc", |option| option.hide(true)))]
pub struct Arguments {
    /// The process; genba ps lists those of Python
    #[arg(value_name = "PID", value_parser = pids::pid)]
    pid: u32,

    #[command(flatten)]
    recording: RecordingOptions,

    /// The recording ends when stdin does, and stdout says when it has begun and which processes it misses: genba top holds their other ends
    #[arg(long, hide = true)]
    until_stdin_ends: bool,

    #[command(flatten, next_help_heading = "The report at the end")]
    closing: report::ClosingOptions,
}

pub fn attach(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let pid = arguments.pid;
    // No setting comes here: `alloc` is one of `run` alone.
    if arguments.recording.records_allocations() || arguments.closing.weighs_allocations() {
        return Err(Failure::usage("attach cannot record allocated bytes yet")
            .detail("the functions that count them must be there when the program is loaded")
            .hint("start the program with it: genba run --alloc app.py"));
    }
    arguments.closing.check_counted(&arguments.recording)?;
    let interpreter = interpreter::find(pid).map_err(|refusal| refused(&refusal))?;
    entering::check(&interpreter)?;
    let facts = interpreter.facts.clone();
    let words: Vec<&OsStr> = facts.command_line.iter().map(OsStr::new).collect();
    let mut output = arguments.recording.output(&family::stem(&facts), &words)?;
    let recorded = record(arguments, interpreter, &output).inspect_err(|_| output.give_up())?;
    output.keep();
    if let Some(gone) = output.find()? {
        say(&format!("warning: {gone}"));
    }
    closed(arguments, &output, recorded)
}

/// How a recording went.
struct Recorded {
    wall: Duration,
    ended_ns: u64,
    /// Where its paths lead.
    root: Root,
    identity: Identity,
    heaps: Vec<proto::Heap>,
    /// What did not go as asked.
    notes: Vec<String>,
}

fn record(arguments: &Arguments, interpreter: Interpreter, output: &Output) -> Result<Recorded, Failure> {
    let pid = arguments.pid;
    // Before anything is done to the process: Ctrl-C ends the recording, not genba.
    let asked_to_end = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&asked_to_end))
            .map_err(|error| Failure::ours(format!("cannot catch signals: {}", failure::of_system(&error))))?;
    }
    if arguments.until_stdin_ends {
        let asked_to_end = Arc::clone(&asked_to_end);
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            asked_to_end.store(true, Ordering::Relaxed);
        });
    }
    // Whose process is gone by then is told just that.
    let or_ended = |failure| if maps::has_any(pid) { failure } else { refused(&Refusal::Ended { pid }) };
    let root = Root::of_process(pid).map_err(|error| {
        or_ended(Failure::no(format!("cannot open the root of process {pid}: {}", failure::of_system(&error))))
    })?;
    let mut place = Place::for_process(&interpreter.facts, &agent_file::unpacked()?, &output.path).map_err(or_ended)?;
    let options = &arguments.recording;
    let wishes = options.heap.wishes()?;
    let room = match wishes {
        Some(_) => Some(Room::new(&interpreter.facts)?),
        None => None,
    };
    let heap = room.as_ref().zip(wishes).map(|(room, wishes)| room.wishes(wishes));
    // Before the process is entered: the signal would end genba.
    let heap_asked = Arc::new(AtomicBool::new(false));
    if let Some(signal) = options.heap.signal() {
        signal_hook::flag::register(signal, Arc::clone(&heap_asked))
            .map_err(|error| Failure::ours(format!("cannot catch signals: {}", failure::of_system(&error))))?;
    }
    // Its time begins when the agent has begun, and ends with the lease.
    let session = Session { is_leased: true, until_ns: None, heap, ..options.session(place.recording.clone()) };
    // The agent goes on as long as this lock is held. The kernel gives it up when genba ends, however it ends.
    let lock = place.locked()?;
    let entering = Entering {
        library: place.library.clone(),
        door: Door::Attached,
        session: session.encode(),
        has_bolted: Cell::new(false),
        has_met_end: Cell::new(false),
        has_no_libc: Cell::new(false),
        asked_to_end: Arc::clone(&asked_to_end),
        unasked: Arc::default(),
    };
    let unasked = Arc::clone(&entering.unasked);
    let words = move || entering::words_meanwhile(unasked.load(Ordering::Relaxed));
    let entered = match during_change(words, || entering.enter(&interpreter)) {
        Ok(entered) => Some(entered),
        Err(failure) => {
            // It may have begun to record, and ended before it could say so: thread by thread, and the agent's may be writing.
            if entering.has_met_end.get() {
                family::await_end(pid);
            }
            let _ = place.bring(output);
            let has_begun = std::fs::metadata(&output.path).is_ok_and(|found| found.len() > 0);
            // Or it has become another program, which the next look enters.
            let is_over = !family::is_alive(pid) || !interpreter.identity.is_still();
            if !has_begun || !is_over {
                return Err(failure);
            }
            None
        }
    };
    let mut visiting = Visiting::default();
    if entering.has_bolted.get() {
        visiting.set(&[pid]);
        visiting.look();
    }
    if arguments.until_stdin_ends {
        read::print(BEGAN)?;
    }
    if let Some(entered) = entered.filter(|_| !options.quiet) {
        say(&entered.words(pid, visiting.longest()));
    }
    let keeping = room.map(|room| room.keep(output));
    if let Some(signal) = options.heap.signal().filter(|_| !options.quiet) {
        let name = if signal == signal_hook::consts::SIGUSR1 { "USR1" } else { "USR2" };
        say(&format!("kill -{name} {} keeps the heap", std::process::id()));
    }
    let identity = interpreter.identity;
    let mut family = Family::of(pid, identity, options.records_children());
    drop(interpreter);
    let began = Instant::now();
    let mut notes = noted(arguments, &family.enter_new(&entering));
    let mut looked = Instant::now();
    let deadline = options.duration.map(|duration_ns| began + Duration::from_nanos(duration_ns));
    while !asked_to_end.load(Ordering::Relaxed)
        && deadline.is_none_or(|deadline| Instant::now() < deadline)
        && family.goes_on()
    {
        let rest = deadline.map_or(LOOKED_EVERY, |deadline| deadline.saturating_duration_since(Instant::now()));
        std::thread::sleep(rest.min(if visiting.is_empty() { LOOKED_EVERY } else { visiting::LOOKED_EVERY }));
        if heap_asked.swap(false, Ordering::Relaxed) {
            keeping.iter().for_each(|keeping| keeping.asking().ask());
        }
        visiting.look();
        if looked.elapsed() < LOOKED_EVERY {
            continue;
        }
        looked = Instant::now();
        // What cannot be written now is tried again.
        let _ = place.bring(output);
        notes.extend(noted(arguments, &family.enter_new(&entering)));
        if entering.has_bolted.get() {
            visiting.set(&family.all());
        }
    }
    let wall = began.elapsed();
    notes.extend(family.notes_of_starting());
    notes.extend(family.note_of_ended().into_iter().chain(family.note_of_left()));
    drop(lock);
    let ended = Instant::now();
    // In a program that forks the agent's thread steps aside for a moment, again and again.
    let mut absent = 0;
    while absent < ABSENT_LOOKS && ended.elapsed() < ENDED_MAX {
        absent = if family.is_recorded() { 0 } else { absent + 1 };
        std::thread::sleep(LOOKED_EVERY / 10);
    }
    if absent < ABSENT_LOOKS {
        notes.push("genba's thread in the process has not ended yet: it waits for a CPU or for the disk".to_owned());
    }
    let ended_ns = monotonic_ns();
    let heaps = keeping.map(|keeping| keeping.finish(options.quiet, None)).unwrap_or_default();
    if let Err(failure) = place.bring(output) {
        notes.push(format!("the recording is cut: {failure}"));
    }
    Ok(Recorded { wall, ended_ns, root, identity, heaps, notes })
}

/// Their words for the end. `genba top` is told at once.
fn noted(arguments: &Arguments, missed: &[Missed]) -> Vec<String> {
    if arguments.until_stdin_ends {
        // Without a reader the recording goes on until its stdin ends, too.
        missed.iter().for_each(|one| drop(read::print(&one.line())));
    }
    missed.iter().map(Missed::words).collect()
}

/// Names, sources and the report, as after `genba run`.
fn closed(arguments: &Arguments, output: &Output, recorded: Recorded) -> Result<ExitCode, Failure> {
    let bytes = std::fs::read(&output.path).map_err(|error| {
        Failure::no(format!("cannot read the recording {}: {}", output.shown, failure::of_system(&error)))
    })?;
    let recording = during("reading the recording", || genba_format::read(&bytes)).map_err(|_| {
        output.give_up();
        Failure::no(format!("nothing was recorded of process {}", arguments.pid))
            .hint("it may have ended at once; genba ps lists those that run")
    })?;
    let recording_bytes = bytes.len() as u64;
    drop(bytes);
    let options = &arguments.recording;
    let recorder = Some(recorder(UNKNOWN_EXIT_CODE, 0, recorded.wall));
    let seen = finish::Seen { recorder, heaps: recorded.heaps, ..finish::Seen::default() };
    // The cells of a notebook are in no file, and the kernel is still there.
    let is_there = || recorded.identity.is_still();
    let looker = LazyCell::new(|| interpreter::find(arguments.pid).ok().filter(|_| is_there()).map(Looker::new));
    let typed = |name: &str| Option::as_ref(&looker)?.typed_text(name);
    let added = during("naming C functions", || {
        let told = finish::Told::new();
        let places = Places { root: &recorded.root, told: &told, typed: Some(&typed), source: options.source };
        Added::to(&recording, seen, places, recorded.ended_ns)
    });
    recorded.notes.iter().for_each(|words| say(&format!("note: {words}")));
    let closing = (!options.quiet).then_some(&arguments.closing);
    if let Some(page) = report::append_and_close(&output.path, (recording, recording_bytes), &added, closing) {
        show(page.trim_end());
        let bytes = std::fs::metadata(&output.path).map_or(0, |found| found.len());
        let (shown, size) = (&output.shown, figures::size(bytes));
        say(&format!("recorded {shown} ({size}) · next: genba view {}", output.word()));
    }
    Ok(ExitCode::SUCCESS)
}
