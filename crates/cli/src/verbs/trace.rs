//! `genba trace`: starts a program, has every call counted, and says where the counts are.
//! Owns: the order of those steps, the options, the words at the end. Never: counts (the agent does), adds up or lays out (genba-pstats does),
//! stands in the program's way: its input, output, signals, directory and exit code are its own.

mod calibration;
mod recording;
mod written;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Args, ValueHint};
use genba_parent::Mask;
use genba_profile::figures;
use genba_profile::shell;
use genba_pstats::{Prof, Stats};

use super::pstats::not_a_key;
use super::run::bells::Chain;
use super::run::ending::{StillRunning, still_running};
use super::run::interpreter;
use super::run::signals::Answers;
use super::run::start::{self, Ending};
use super::run::target::{Asked, Program};
use crate::read::{self, prof_file};
use crate::recording::agent_file;
use crate::recording::notes::Notes;
use crate::recording::output::{Holds, Output};
use crate::recording::session::Session;
use crate::words::failure::{self, Failure, say};
use recording::Moment;
use written::{Place, Written};

/// At most this many files of other processes are named one by one.
const NAMED_MAX: usize = 3;

#[derive(Args)]
#[command(
    override_usage = "genba trace [OPTIONS] TARGET [ARGUMENTS]...\n       genba trace [OPTIONS] -m MODULE [ARGUMENTS]..."
)]
pub struct Arguments {
    /// Write the counts to FILE: a name in .prof makes a file of pstats, any other one a recording with the sources and all processes [default: app.prof, app-2.prof, …]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace the file named with -o if it is empty or of the same kind
    #[arg(long, requires = "output")]
    force: bool,

    /// Print all functions when the program has ended, ordered by these, such as time or cumulative, as python -m cProfile -s does
    #[arg(short, long, value_name = "KEYS")]
    sort: Option<String>,

    /// Interpreter for scripts and modules [default: the active virtual environment's, else python3]
    #[arg(long, value_name = "PYTHON", value_hint = ValueHint::ExecutablePath)]
    python: Option<OsString>,

    /// The same from a file or a variable: not refused beside a command, which brings its own
    #[arg(long, value_name = "PYTHON", hide = true)]
    python_of_settings: Option<OsString>,

    /// The interpreter that runs `python -m genba`
    #[arg(long, value_name = "PYTHON", hide = true)]
    python_of_genba: Option<OsString>,

    /// Say nothing unless something went wrong
    #[arg(short, long, overrides_with = "no_quiet")]
    quiet: bool,

    /// Takes a setting back
    #[arg(long, hide = true, overrides_with = "quiet")]
    no_quiet: bool,

    /// Run a module, as `python -m` does; what follows is the module's
    #[arg(short = 'm', value_name = "MODULE", num_args = 1.., allow_hyphen_values = true)]
    module: Option<Vec<OsString>>,

    /// A .py or .pyz file, a directory with __main__.py, or a command; what follows is the program's
    #[arg(value_name = "TARGET", trailing_var_arg = true, value_hint = ValueHint::CommandWithArguments)]
    target: Vec<OsString>,
}

pub fn trace(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let of_trace = |failure: Failure| failure.of_verb("trace");
    let keys = sort_keys(arguments.sort.as_deref())?;
    let program = Program::resolve(&Asked {
        module: arguments.module.as_deref(),
        target: &arguments.target,
        python: arguments.python.as_deref(),
        python_of_settings: arguments.python_of_settings.as_deref(),
        python_of_genba: arguments.python_of_genba.as_deref(),
    })
    .map_err(of_trace)?;
    let holds = holds(arguments.output.as_deref());
    let _ = interpreter::check(&program).map_err(of_trace)?;
    let agent = agent_file::unpacked()?;
    let output = Output::create(holds, arguments.output.as_deref(), arguments.force, &program.stem, &program.words())
        .map_err(of_trace)?;
    if let Some(moved) = &output.moved {
        say(&format!("note: {moved}"));
    }
    let notes = Notes::create();
    let place = Place::of(holds, &output, &program.stem)?;
    let session = Session::of_trace(place.prof.clone(), notes.as_ref().map(Notes::name));
    let began = Moment::now();
    let mask = Mask::block_all()
        .map_err(|error| Failure::ours(format!("cannot block signals: {}", failure::of_system(&error))))?;
    let (left, shown, within) = (output.clone(), output.shown.clone(), place.folder_within());
    let has_ended = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&has_ended);
    let farewell = move |pid| match within {
        None => {
            left.leave();
            format!("genba ends at the second Ctrl-C; process {pid} goes on and writes {shown} when it ends")
        }
        Some(folder) => {
            left.give_up();
            let word = shell::path(&folder);
            let folder = folder.display();
            match ended.load(Ordering::SeqCst) {
                true => format!(
                    "genba ends before it has made {shown}; the counts are in {folder}: genba pstats {word}/*.prof"
                ),
                false => format!(
                    "genba ends at the second Ctrl-C, and there will be no {shown}; process {pid} goes on and writes its counts into {folder} when it ends: genba pstats {word}/*.prof"
                ),
            }
        }
    };
    let answers = Answers { farewell, leave_wait: |_| false, heap: None };
    let started = start::run(&program, &session, &[agent.as_path()], mask, Chain::default(), answers);
    has_ended.store(true, Ordering::SeqCst);
    let (ending, pid) = started.inspect_err(|_| output.give_up()).map_err(of_trace)?;
    let said = notes.map(|notes| notes.read()).unwrap_or_default();
    let written = Written::sorted(&place, &said);
    if !written.has_any(&place) {
        output.give_up();
        return Err(nothing_written(&ending, &place, &written.refusals, &still_running(&session)));
    }
    // Looks at each process of the machine.
    let still = if arguments.quiet { Vec::new() } else { still_running(&session) };
    if place.is_within() {
        // A file-size limit makes a write fail; it must not end genba and lose the program's exit code.
        let _kept = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
        let run = recording::Run { program: &program, agent: &agent, ending: &ending, pid, began };
        if let Err(failure) = recording::write(&run, &output.path, &place.prof, &written) {
            // What is in it is a part of the processes.
            let _ = fs::remove_file(&output.path);
            output.give_up();
            let failure = match place.keep() {
                Some(folder) => failure
                    .detail(format!("the counts are in {}, and not in a recording", folder.display()))
                    .hint(format!("genba pstats {}/*.prof", shell::path(&folder))),
                None => failure,
            };
            return Err(failure.with_exit_code(ending.exit_code().max(1)));
        }
    }
    match written.has_main || place.is_within() {
        true => output.keep(),
        false => output.give_up(),
    }
    if let Err(failure) = report(arguments, &output, &place, &written, &still, &keys) {
        // The counts are there, and the program's exit code stays its own.
        let _ = failure.print();
    }
    Ok(ExitCode::from(ending.exit_code()))
}

/// The table or the summary, and the files.
fn report(
    arguments: &Arguments,
    output: &Output,
    place: &Place,
    written: &Written,
    still: &[StillRunning],
    keys: &[String],
) -> Result<(), Failure> {
    for words in &written.refusals {
        say(&format!("note: a process was not traced whole: {words}"));
    }
    let has_output = written.has_main || place.is_within();
    if has_output && !(arguments.quiet && keys.is_empty()) {
        let stats = match prof_file::open(&output.path, &mut prof_file::Shared::default()) {
            // Why it is cut was said just now.
            Err(_) if !written.refusals.is_empty() => return Ok(()),
            opened => opened?,
        };
        if keys.is_empty() {
            say(&summary(&stats));
            if let Some(awaits) = stats.awaits() {
                let count = figures::counted(awaits.count, "await", "awaits");
                say(&format!("{count} of coroutines are not in these times: genba pstats {} --awaits", output.word()));
            }
        } else {
            print_sorted(stats, keys)?;
        }
    }
    if arguments.quiet {
        return Ok(());
    }
    if !written.others.is_empty() && !place.is_within() {
        let mut named: Vec<String> =
            written.others.iter().take(NAMED_MAX).map(|path| path.display().to_string()).collect();
        if written.others.len() > NAMED_MAX {
            named.push(format!("and {} more", written.others.len() - NAMED_MAX));
        }
        let wrote =
            figures::counted(written.others.len() as u64, "other process wrote its", "other processes wrote their");
        say(&format!("note: {wrote} own counts ({}); genba pstats FILE… adds files up", named.join(", ")));
    }
    if has_output {
        let bytes = fs::metadata(&output.path).map_or(0, |found| found.len());
        let (shown, size) = (&output.shown, figures::size(bytes));
        if !still.is_empty() {
            let count = figures::counted(still.len() as u64, "process still runs", "processes still run");
            let then = match place.is_within() {
                true => "what they count from now on is not in the recording; with -o app.prof each writes a file",
                false => "each writes its own counts when it ends",
            };
            say(&format!("note: {count}: {then}"));
        }
        let next = if place.is_within() { "view" } else { "report" };
        let word = output.word();
        say(&format!("traced {shown} ({size}) · next: genba pstats {word}, genba {next} {word}"));
    }
    Ok(())
}

fn nothing_written(ending: &Ending, place: &Place, refusals: &[String], running: &[StillRunning]) -> Failure {
    let mut failure = Failure::no("nothing was traced: no process wrote its counts")
        .detail(format!("the program {}", ending.words()));
    for words in refusals {
        failure = failure.detail(words);
    }
    if !running.is_empty() {
        let count = figures::counted(running.len() as u64, "process", "processes");
        failure = failure.detail(match place.is_within() {
            true => format!(
                "{count} that it started still run, and what they count is lost; with -o app.prof they write files"
            ),
            false => format!("{count} that it started still run, and write their own files when they end"),
        });
    }
    if refusals.is_empty() {
        failure = failure
            .detail("a Python writes its counts when it ends by itself; one that a signal kills leaves none, and a command may start no Python")
            .detail("one that has changed its user or root folder, or lowered its limits meanwhile, may not be able to open the file");
    }
    failure
        .hint(match refusals.is_empty() {
            true => {
                "genba run records until the last moment; for a command name its Python program: genba trace -m module"
            }
            false => "genba run samples instead of counting, and may work where this does not",
        })
        .with_exit_code(ending.exit_code().max(1))
}

/// Before the program starts: a key that is wrong afterwards costs a run.
fn sort_keys(asked: Option<&str>) -> Result<Vec<String>, Failure> {
    let keys: Vec<String> =
        asked.unwrap_or_default().split([',', ' ']).filter(|key| !key.is_empty()).map(str::to_owned).collect();
    let words: Vec<&str> = keys.iter().map(String::as_str).collect();
    let mut nothing = Stats::new(Prof::default(), String::new());
    nothing.sort(&words).map_err(|unknown| not_a_key(&unknown, "genba trace -s time app.py"))?;
    Ok(keys)
}

/// By the name that is asked for: one in .prof has a file that pstats reads, of every version.
fn holds(asked: Option<&Path>) -> Holds {
    let Some(path) = asked.filter(|path| *path != Path::new("-")) else { return Holds::Prof };
    match path.extension().and_then(OsStr::to_str) {
        Some("prof") => Holds::Prof,
        _ => Holds::Recording,
    }
}

/// As `python -m cProfile -s` does: without folders, and without the name of a file.
fn print_sorted(mut stats: Stats, keys: &[String]) -> Result<(), Failure> {
    stats.forget_files();
    stats.strip_folders();
    let words: Vec<&str> = keys.iter().map(String::as_str).collect();
    stats.sort(&words).map_err(|unknown| not_a_key(&unknown, "genba trace -s time app.py"))?;
    read::print_pieces(|page| stats.listing(&[], page))
}

fn summary(stats: &Stats) -> String {
    let rows = stats.rows();
    let (calls, primitive): (u64, u64) =
        rows.iter().fold((0, 0), |(calls, primitive), row| (calls + row.calls, primitive + row.primitive_calls));
    let own_s: f64 = rows.iter().map(|row| row.own_s).sum();
    let recursive = match calls == primitive {
        true => String::new(),
        false => format!(" ({} primitive)", figures::count(primitive)),
    };
    let functions = figures::counted(rows.len() as u64, "function", "functions");
    format!("{} calls{recursive} of {functions} in {own_s:.3} s; the times include the tracer's", figures::count(calls))
}
