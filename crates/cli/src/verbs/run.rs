//! `genba run`: starts a program, records it, and shows where its time went when it ended.
//! Owns: the order of those steps and the options. Never: samples (the agent does), stands in the program's way: its
//! input, output, signals, directory and exit code are its own.

pub mod agent_file;
mod bells;
mod budget;
mod ending;
mod executable;
mod interpreter;
mod output;
mod session;
mod signals;
mod start;
mod target;

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, ValueHint};
use genba_format::{masking, proto};
use genba_profile::warnings::not_sampled;
use genba_profile::{build, figures};

use crate::finish::{self, SourceText};
use crate::read;
use crate::verbs::{report, view};
use crate::words::durations;
use crate::words::failure::{self, Failure, say, show};
use crate::words::progress::during;

const INTERVAL_NS_DEFAULT: u64 = 1_000_000;

#[derive(Args)]
#[command(
    override_usage = "genba run [OPTIONS] TARGET [ARGUMENTS]...\n       genba run [OPTIONS] -m MODULE [ARGUMENTS]..."
)]
pub struct Arguments {
    /// Write the recording to FILE [default: app.genba, app-2.genba, …]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace the file named with -o if it is empty or a recording
    #[arg(long, requires = "output")]
    force: bool,

    /// Time between two ticks of a thread, 50us to 1s; kept exactly [default: as --budget allows, 1ms to 20ms]
    #[arg(long, value_name = "DURATION", value_parser = durations::interval_ns, conflicts_with = "rate_as_interval_ns")]
    interval: Option<u64>,

    /// The same as ticks per second, 1 to 20000
    #[arg(short, long = "rate", value_name = "N", value_parser = durations::rate_as_interval_ns)]
    rate_as_interval_ns: Option<u64>,

    /// Tick as often as this share of the program's own CPU pays for, 1 ms apart at first [default: 2%, unless a rate is asked for]
    #[arg(long, value_name = "SHARE", value_parser = budget::per_mille, conflicts_with_all = ["interval", "rate_as_interval_ns"])]
    budget: Option<u32>,

    /// Interpreter for scripts and modules [default: the active virtual environment's, else python3]
    #[arg(long, value_name = "PYTHON", value_hint = ValueHint::ExecutablePath)]
    python: Option<OsString>,

    /// The same from a file or a variable: not refused beside a command, which brings its own
    #[arg(long, value_name = "PYTHON", hide = true)]
    python_of_settings: Option<OsString>,

    /// The interpreter that runs `python -m genba`
    #[arg(long, value_name = "PYTHON", hide = true)]
    python_of_genba: Option<OsString>,

    /// Stop recording after this time; the program goes on
    #[arg(long, value_name = "DURATION", value_parser = durations::recording_ns)]
    duration: Option<u64>,

    /// Python frames only, no C
    #[arg(long, overrides_with = "native")]
    no_native: bool,

    /// Takes a setting back
    #[arg(long, hide = true, overrides_with = "no_native")]
    native: bool,

    /// Record the processes it starts, too [default]
    #[arg(long, overrides_with = "no_children")]
    children: bool,

    /// Record the first Python process only
    #[arg(long, overrides_with = "children")]
    no_children: bool,

    /// Record the resident size, at most every 10 ms
    #[arg(long, overrides_with = "no_mem")]
    mem: bool,

    /// Takes a setting back
    #[arg(long, hide = true, overrides_with = "mem")]
    no_mem: bool,

    /// Store KEY=VALUE in the recording; may be repeated
    #[arg(long = "tag", value_name = "KEY=VALUE", value_parser = tag)]
    tags: Vec<String>,

    /// Source text to store: of your own files hit and the lines around each hit elsewhere, only those lines, or none
    #[arg(long, value_name = "WHAT", default_value = "all")]
    source: SourceText,

    /// Say nothing unless something went wrong
    #[arg(short, long, overrides_with = "no_quiet")]
    quiet: bool,

    /// Takes a setting back
    #[arg(long, hide = true, overrides_with = "quiet")]
    no_quiet: bool,

    /// Show the recording in the browser when the program has ended, as `genba view` does, until Ctrl-C
    #[arg(long)]
    view: bool,

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

pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let program = target::Program::resolve(&target::Asked {
        module: arguments.module.as_deref(),
        target: &arguments.target,
        python: arguments.python.as_deref(),
        python_of_settings: arguments.python_of_settings.as_deref(),
        python_of_genba: arguments.python_of_genba.as_deref(),
    })?;
    let known = interpreter::check(&program)?;
    let agent = agent_file::unpacked()?;
    let output = output::Output::create(arguments.output.as_deref(), arguments.force, &program)?;
    if let Some(moved) = &output.moved {
        say(&format!("note: {moved}"));
    }
    let asked_interval_ns = arguments.interval.or(arguments.rate_as_interval_ns);
    let bells = bells::Bells::create();
    let session = session::Session {
        recording: output.path.clone(),
        interval_ns: asked_interval_ns.unwrap_or(INTERVAL_NS_DEFAULT),
        budget_per_mille: asked_interval_ns
            .map_or(Some(arguments.budget.unwrap_or(budget::DEFAULT_PER_MILLE)), |_| None),
        native: !arguments.no_native,
        children: !arguments.no_children,
        memory: arguments.mem,
        until_ns: arguments.duration.map(|duration_ns| monotonic_ns().saturating_add(duration_ns)),
        tags: arguments.tags.clone(),
        bells: bells.as_ref().map(bells::Bells::name),
    };
    let left = output.clone();
    let farewell = move |pid| {
        left.leave();
        format!("genba ends at the second Ctrl-C; process {pid} goes on, the recording is {}", left.shown)
    };
    let chain = bells.as_ref().map(bells::Bells::chain).unwrap_or_default();
    let started = start::run(&program, &session, &agent, chain, farewell);
    let (ending, _pid) = started.inspect_err(|_| output.give_up())?;

    let ended_ns = monotonic_ns();
    let bytes = std::fs::read(&output.path).map_err(|error| {
        output.give_up();
        Failure::no(format!("cannot read the recording {}: {}", output.shown, failure::of_system(&error)))
            .with_exit_code(ending.exit_code().max(1))
    })?;
    let recording = during("reading the recording", || genba_format::read(&bytes));
    drop(bytes);
    let recording = recording.ok().filter(ending::has_python);
    let Some(recording) = recording else {
        output.give_up();
        return Err(ending::no_python(&program, known, &ending, &ending::still_running(&session)));
    };
    output.keep();
    // Without --quiet the report says so itself.
    if arguments.quiet {
        read::warn(&not_sampled(&build::accounts(&recording, &build::Additions::default())));
    }
    // A file-size limit makes a write fail; it must not end genba and lose the program's exit code.
    let _kept = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
    let recorder = Some(recorder(&ending));
    let finished = during("naming C functions", || {
        finish::append_names_and_sources(
            &output.path,
            &recording,
            recorder,
            arguments.source,
            &finish::Told::new(),
            ended_ns,
        )
    });
    // The report reads it anew, with what was added.
    drop(recording);
    match finished {
        Ok(left_out) if arguments.quiet => drop(left_out),
        Ok(left_out) => left_out.iter().for_each(|words| say(&format!("note: {words}"))),
        // The samples are there, and the program's exit code stays its own.
        Err(failure) => drop(failure.print()),
    }
    if !arguments.quiet {
        if let Some(words) = ending::words_for_still_running(&ending::still_running(&session), &output.shown) {
            say(&words);
        }
        match report::closing(&output.path, ended_ns, &arguments.closing) {
            Ok(page) => show(page.trim_end()),
            Err(failure) => drop(failure.print()),
        }
        let bytes = std::fs::metadata(&output.path).map_or(0, |found| found.len());
        let (shown, size) = (&output.shown, figures::size(bytes));
        // What was not on the screen yet.
        let next = if arguments.view { String::new() } else { format!(" · next: genba view {shown}") };
        say(&format!("recorded {shown} ({size}){next}"));
    }
    if arguments.view {
        return Err(view::in_place_of_this(&output.path, ending.exit_code()));
    }
    Ok(ExitCode::from(ending.exit_code()))
}

/// How this run ended, for whoever reads the recording.
fn recorder(ending: &start::Ending) -> proto::Recorder {
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    proto::Recorder {
        genba_version: env!("CARGO_PKG_VERSION").to_owned(),
        argv: masking::masked(words.iter().map(String::as_str)),
        exit_code: ending.status.code().unwrap_or(0),
        exit_signal: ending.status.signal().unwrap_or(0),
        wall_ns: u64::try_from(ending.wall.as_nanos()).unwrap_or(u64::MAX),
    }
}

fn tag(text: &str) -> Result<String, String> {
    match text.split_once('=') {
        Some((key, _)) if !key.is_empty() => Ok(text.to_owned()),
        _ => Err("expected KEY=VALUE".to_owned()),
    }
}

/// CLOCK_MONOTONIC.
pub fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}
