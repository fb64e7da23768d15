//! `genba run`: starts a program, records it, and shows where its time went when it ended.
//! Owns: the order of those steps and the options. Never: samples (the agent does), stands in the program's way: its
//! input, output, signals, directory and exit code are its own.

mod allocators;
pub(super) mod bells;
mod door;
pub(super) mod ending;
mod executable;
pub(super) mod interpreter;
mod not_followed;
mod pushing;
pub(super) mod signals;
pub(super) mod start;
pub(super) mod target;
mod watch;

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, ValueHint};
use genba_format::proto;
use genba_parent::Mask;
use genba_process::facts::Facts;
use genba_profile::not_followed::warning;
use genba_profile::profile::NotFollowed;
use genba_profile::warnings::not_sampled;
use genba_profile::{build, figures};

use crate::finish::{self, Added, Places};
use crate::read;
use crate::recording::output::Output;
use crate::recording::session::Session;
use crate::recording::{RecordingOptions, agent_file, monotonic_ns, recorder};
use crate::upload::Interrupt;
use crate::verbs::heap::keeping::{Keeping, Room};
use crate::verbs::{report, view};
use crate::words::failure::{self, Failure, say, show};
use crate::words::progress::during;

#[derive(Args)]
#[command(
    override_usage = "genba run [OPTIONS] TARGET [ARGUMENTS]...\n       genba run [OPTIONS] -m MODULE [ARGUMENTS]..."
)]
pub struct Arguments {
    #[command(flatten)]
    recording: RecordingOptions,

    /// Interpreter for scripts and modules [default: the active virtual environment's, else python3]
    #[arg(long, value_name = "PYTHON", value_hint = ValueHint::ExecutablePath)]
    python: Option<OsString>,

    /// The same from a file or a variable: not refused beside a command, which brings its own
    #[arg(long, value_name = "PYTHON", hide = true)]
    python_of_settings: Option<OsString>,

    /// The interpreter that runs `python -m genba`
    #[arg(long, value_name = "PYTHON", hide = true)]
    python_of_genba: Option<OsString>,

    /// Show the recording in the browser when the program has ended, as `genba view` does, until Ctrl-C
    #[arg(long)]
    view: bool,

    /// What `genba gc try` compares
    #[arg(long, value_name = "N", value_delimiter = ',', hide = true, requires = "gc")]
    gc_threshold: Vec<u32>,

    /// The same
    #[arg(long, hide = true, requires = "gc")]
    gc_freeze: bool,

    #[command(flatten)]
    pushing: pushing::PushOptions,

    /// Run a module, as `python -m` does; what follows is the module's
    #[arg(short = 'm', value_name = "MODULE", num_args = 1.., allow_hyphen_values = true)]
    module: Option<Vec<OsString>>,

    /// A .py or .pyz file, a directory with __main__.py, or a command; what follows is the program's
    #[arg(value_name = "TARGET", trailing_var_arg = true, value_hint = ValueHint::CommandWithArguments)]
    target: Vec<OsString>,

    // The last, because what stands behind it would get its heading.
    #[command(flatten, next_help_heading = "The report at the end")]
    closing: report::ClosingOptions,
}

fn rows_of(not_followed: &[proto::NotFollowed]) -> Vec<NotFollowed> {
    not_followed.iter().map(build::not_followed).collect()
}

fn own_facts() -> Result<Facts, Failure> {
    Facts::own().map_err(|error| Failure::ours(format!("cannot read what the kernel says of genba: {error}")))
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    arguments.closing.check_counted(&arguments.recording)?;
    let program = target::Program::resolve(&target::Asked {
        module: arguments.module.as_deref(),
        target: &arguments.target,
        python: arguments.python.as_deref(),
        python_of_settings: arguments.python_of_settings.as_deref(),
        python_of_genba: arguments.python_of_genba.as_deref(),
    })?;
    let plan = arguments.pushing.plan()?;
    let known = interpreter::check(&program)?;
    let agent = agent_file::unpacked()?;
    let options = &arguments.recording;
    // Before the agent: behind it the agent finds libc's own functions.
    let copies = if options.records_copies() { Some(agent_file::unpack(&agent_file::COPIES)?) } else { None };
    let allocations = match options.records_allocations() {
        true => Some(allocators::check().and_then(|()| agent_file::unpack(&agent_file::ALLOCATIONS))?),
        false => None,
    };
    let libraries: Vec<&Path> = copies.iter().chain(&allocations).chain([&agent]).map(PathBuf::as_path).collect();
    let wishes = options.heap.wishes()?;
    let room = match wishes {
        Some(_) => Some(own_facts().and_then(|facts| Room::new(&facts))?),
        None => None,
    };
    // A file-size limit makes a write fail; it must end genba neither before the program starts nor when it has ended. The program gets this signal
    // as genba got it.
    let _kept = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
    let mut output = options.output(&program.stem, &program.words())?;
    let tried = output.check_room()?;
    let bells = bells::Bells::create();
    let door = door::Door::open(&output.path, bells.as_ref().and_then(bells::Bells::file));
    let heap = room.as_ref().zip(wishes).map(|(room, wishes)| room.wishes(wishes));
    let session = Session {
        heap,
        bells: bells.as_ref().map(bells::Bells::name),
        door: door.as_ref().map(door::Door::name),
        gc_threshold: arguments.gc_threshold.clone(),
        gc_freeze: arguments.gc_freeze,
        ..options.session(output.path.clone())
    };
    // Before the first thread that stays: from here on each signal waits until there is a program to pass it on to.
    let mask = Mask::block_all()
        .map_err(|error| Failure::ours(format!("cannot block signals: {}", failure::of_system(&error))))?;
    if let Some(door) = door {
        door.answer();
    }
    // It looks at the file from time to time, in a thread of genba's own: the program waits for nothing.
    let pushing = plan.map(|plan| plan.start(&output));
    let leave_heaps = room.as_ref().map(Room::leave);
    let (left, later) = (output.clone(), pushing.as_ref().map(pushing::Pushing::later));
    let farewell = move |pid| {
        left.leave();
        leave_heaps.into_iter().for_each(|leave| leave());
        let later = later.map(|later| format!("; {later}")).unwrap_or_default();
        format!("genba ends at the second Ctrl-C; process {pid} goes on, the recording is {}{later}", left.shown)
    };
    let interrupt = pushing.as_ref().map(pushing::Pushing::interrupt);
    let leave_wait = move |signal| interrupt.as_ref().is_some_and(|interrupt: &Interrupt| interrupt.leave(signal));
    let give_up = |output: &Output| {
        output.give_up();
        pushing.iter().for_each(pushing::Pushing::abandon);
    };
    let chain = bells.as_ref().map(bells::Bells::chain).unwrap_or_default();
    let keeping = room.map(|room| room.keep(&output));
    let heap = options.heap.signal().zip(keeping.as_ref().map(Keeping::asking));
    if let Some((signal, _)) = heap.as_ref().filter(|_| !options.quiet) {
        let name = if *signal == signal_hook::consts::SIGUSR1 { "USR1" } else { "USR2" };
        say(&format!("kill -{name} {} keeps the heap", std::process::id()));
    }
    let started =
        start::run(&program, &session, &libraries, mask, chain, signals::Answers { farewell, leave_wait, heap });
    let heaps = match (keeping, &started) {
        (Some(keeping), Ok((ending, _))) => keeping
            .finish(options.quiet, options.heap.signal().filter(|signal| ending.status.signal() == Some(*signal))),
        _ => Vec::new(),
    };
    let (ending, pid) = started.inspect_err(|_| give_up(&output))?;

    let ended_ns = monotonic_ns();
    let gone = output.find().map_err(|failure| {
        give_up(&output);
        failure.with_exit_code(ending.exit_code().max(1))
    })?;
    let bytes = std::fs::read(&output.path).map_err(|error| {
        give_up(&output);
        Failure::no(format!("cannot read the recording {}: {}", output.shown, failure::of_system(&error)))
            .with_exit_code(ending.exit_code().max(1))
    })?;
    let recording = during("reading the recording", || genba_format::read(&bytes));
    let recording_bytes = bytes.len() as u64;
    drop(bytes);
    let recording = recording.ok();
    let is_beheaded = recording.as_ref().is_some_and(ending::is_beheaded);
    let recording = recording.filter(ending::has_python);
    let not_followed = if options.records_children() {
        let (started, more) = bells.as_ref().map(bells::Bells::not_followed).unwrap_or_default();
        not_followed::rows(started, more, &ending.seen.pythons, &not_followed::recorded(recording.as_ref()))
    } else {
        Vec::new()
    };
    let Some(recording) = recording else {
        let nothing = output.why_nothing(tried, is_beheaded);
        give_up(&output);
        return Err(ending::no_python(
            &program,
            known,
            nothing.map(|why| (why, &output)),
            &ending,
            &rows_of(&not_followed),
            &ending::still_running(&session),
        ));
    };
    output.keep();
    gone.iter().for_each(|words| say(&format!("warning: {words}")));
    // Without --quiet the report says so itself.
    if options.quiet {
        let sampled = not_sampled(&build::accounts(&recording, &build::Additions::default()));
        let missed = sampled.into_iter().chain(warning(&rows_of(&not_followed)));
        read::warn(&missed.map(|warning| warning.to_string()).collect::<Vec<_>>());
    }
    let status = &ending.status;
    let recorder = Some(recorder(status.code().unwrap_or(0), status.signal().unwrap_or(0), ending.wall));
    let reaped = ending.used.and_then(|used| used.after_last_block(pid, &recording, ended_ns)).into_iter().collect();
    let seen = finish::Seen { recorder, not_followed, heaps, reaped };
    let added = during("naming C functions", || {
        Added::to(&recording, seen, Places::own(&finish::Told::new(), options.source), ended_ns)
    });
    // Before the report: what a process wrote that has ended by now is in it.
    let running = if options.quiet { Vec::new() } else { ending::still_running(&session) };
    let closing = (!options.quiet).then_some(&arguments.closing);
    if let Some(page) = report::append_and_close(&output.path, (recording, recording_bytes), &added, closing) {
        if let Some(words) = ending::words_for_still_running(&running, &output.shown) {
            say(&words);
        }
        show(page.trim_end());
    }
    // After the report: the user reads it meanwhile. Before the last line, which says what comes next.
    match (&pushing, &gone) {
        (Some(pushing), Some(_)) => pushing.give_up(&output.shown),
        (Some(pushing), None) => pushing.finish(options.quiet),
        (None, _) => {}
    }
    if !options.quiet {
        let bytes = std::fs::metadata(&output.path).map_or(0, |found| found.len());
        let (shown, size) = (&output.shown, figures::size(bytes));
        // What was not on the screen yet.
        let next = if arguments.view { String::new() } else { format!(" · next: genba view {}", output.word()) };
        say(&format!("recorded {shown} ({size}){next}"));
    }
    if arguments.view {
        // Else Ctrl-C would not end the viewer.
        let _ = mask.set();
        return Err(view::in_place_of_this(&output.path, ending.exit_code()));
    }
    Ok(ExitCode::from(ending.exit_code()))
}
