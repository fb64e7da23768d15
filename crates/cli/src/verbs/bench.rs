//! `genba bench`: which command is faster, measured in turns, and whether the difference is certain.
//! Owns: the options (hyperfine's, and genba's beside them), what is measured, the exit code. Never: starts a command, computes a ratio or lays
//! out text; genba-bench does.

mod choice;
mod earlier_sessions;
mod exports;
mod interrupting;
mod outcome;
mod results;
mod why;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueHint};
use genba_bench::commands::{CommandRuns, Counting, Failures, Host};
use genba_bench::findings::{Asked as Judged, Earlier, Findings};
use genba_bench::instructions;
use genba_bench::interrupt::Interrupt;
use genba_bench::lines::{Asked, Line, values_of};
use genba_bench::measured::{Early, Session};
use genba_bench::process::{Input, Output, Random};
use genba_bench::refusal::Refusal;
use genba_bench::rounds::{self, MEASURED_MIN, Plan, Progress, RUNS_MIN, Subject};
use genba_bench::scan::Scan;
use genba_bench::shell::Shell;
use genba_bench::snippets::{self, SnippetRuns};

use crate::files::interpreter::{self, Named};
use crate::files::private_folder;
use crate::read::MinShare;
use crate::words::failure::{self, Failure};
use crate::words::numbers;
use crate::words::progress::during_change;
use choice::{InUnit, Sort, Style, failures, input, output};
use earlier_sessions::EarlierSessions;
use exports::{ExportOptions, Exports};
use outcome::{ended, refused};
use results::Results;
use why::Recordings;

/// For how large a difference genba says how many runs would show it.
const DIFFERENCE: MinShare = MinShare(0.01);

#[derive(Args)]
#[command(override_usage = "genba bench [OPTIONS] COMMAND...\n       genba bench [OPTIONS] --py STATEMENT...")]
pub struct Arguments {
    /// Command lines, each in quotes; with --py statements of Python
    #[arg(value_name = "COMMAND", required = true, value_hint = ValueHint::CommandString)]
    commands: Vec<String>,

    /// So many runs of each command before those that count
    #[arg(short, long, value_name = "NUM", default_value_t = 0, value_parser = numbers::from::<usize>(0))]
    warmup: usize,

    /// At least so many runs of each command [default: 10]
    #[arg(short, long, value_name = "NUM", value_parser = choice::runs)]
    min_runs: Option<usize>,

    /// At most so many runs of each command
    #[arg(short = 'M', long, value_name = "NUM", value_parser = choice::runs)]
    max_runs: Option<usize>,

    /// So many runs of each command [default: as many as take 3 s a command]
    #[arg(short, long, value_name = "NUM", value_parser = choice::runs, conflicts_with_all = ["min_runs", "max_runs"])]
    runs: Option<usize>,

    /// Each command is measured for so many seconds at least, where the numbers of runs leave it open. Hidden, as hyperfine's is
    #[arg(long, value_name = "SECS", value_parser = choice::seconds, hide = true)]
    min_benchmarking_time: Option<Duration>,

    /// A command before all runs; with --py statements that are not timed, before each loop, and several are lines of one code
    #[arg(short, long, value_name = "CMD")]
    setup: Vec<String>,

    /// The command that the others are compared with, instead of the fastest; it is measured, too
    #[arg(long, value_name = "CMD")]
    reference: Option<String>,

    /// A name for the reference
    #[arg(long, value_name = "NAME", requires = "reference")]
    reference_name: Option<String>,

    /// A command before each run; once for all, or once for each command
    #[arg(short, long, value_name = "CMD")]
    prepare: Vec<String>,

    /// A command after each run; once for all, or once for each command
    #[arg(short = 'C', long, value_name = "CMD")]
    conclude: Vec<String>,

    /// A command after all runs
    #[arg(short, long, value_name = "CMD")]
    cleanup: Option<String>,

    /// Measure each command for each number from MIN to MAX, which takes the place of {VAR}
    #[arg(short = 'P', long, num_args = 3, value_names = ["VAR", "MIN", "MAX"], allow_hyphen_values = true)]
    parameter_scan: Vec<String>,

    /// By so much the number of --parameter-scan grows [default: 1]
    #[arg(short = 'D', long, value_name = "DELTA", requires = "parameter_scan", allow_hyphen_values = true)]
    parameter_step_size: Option<String>,

    /// Measure each command for each of the values (with commas), which takes the place of {VAR}
    #[arg(
        short = 'L',
        long,
        num_args = 2,
        value_names = ["VAR", "VALUES"],
        allow_hyphen_values = true,
        conflicts_with = "parameter_scan"
    )]
    parameter_list: Vec<String>,

    /// The shell that runs commands: default, none, or a command line such as "bash --norc"
    #[arg(short = 'S', long, value_name = "SHELL", default_value = "default", value_parser = Shell::parse)]
    shell: Shell,

    /// The same as --shell none: commands are split at blanks and started
    #[arg(short = 'N', conflicts_with = "shell")]
    no_shell: bool,

    /// Measure commands that end with another exit code than 0; or only those of the list, 1,2
    #[arg(
        short,
        long,
        value_name = "CODES",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "all-non-zero",
        value_parser = failures
    )]
    ignore_failure: Option<Failures>,

    /// Colour and progress: auto, basic (neither), full (both), nocolor, color, none (no words at all)
    #[arg(long, value_name = "TYPE", default_value = "auto", hide_possible_values = true)]
    style: Style,

    /// Order of the summary and of tables: auto (by time, and as typed), command (as typed), mean-time
    #[arg(long, value_name = "METHOD", default_value = "auto", hide_possible_values = true)]
    sort: Sort,

    /// Unit of times on the screen and in tables [default: the one that fits]
    #[arg(short = 'u', long, value_name = "UNIT")]
    time_unit: Option<InUnit>,

    #[command(flatten)]
    exports: ExportOptions,

    /// Show what commands print, the same as --output inherit
    #[arg(long, conflicts_with = "output")]
    show_output: bool,

    /// Where commands print to: null, pipe (read, and thrown away), inherit, or a file such as ./out; once for all, or once for each command
    #[arg(long, value_name = "WHERE", value_parser = output)]
    output: Vec<Output>,

    /// Where commands read from: null, or a file
    #[arg(long, value_name = "WHERE", default_value = "null", value_parser = input)]
    input: Input,

    /// Names of the commands, in their order
    #[arg(short = 'n', long, value_name = "NAME")]
    command_name: Vec<String>,

    /// Measure one command after the other, as hyperfine does, instead of in turns: a machine that becomes slower then favours the first
    #[arg(long)]
    sequential: bool,

    /// Exit with code 1 if a command is certainly that much slower than the first one, or than in the files of --against or --history
    #[arg(long, value_name = "PERCENT")]
    fail_if_slower: Option<MinShare>,

    /// Compare each command with itself in a file of --export-json; several files tell how much times differ
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    against: Vec<PathBuf>,

    /// Compare each command with its last session in FILE, then add this session there as one more line, unless --fail-if-slower fails it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    history: Option<PathBuf>,

    /// Where no difference is shown, say how many runs would show one of this size [default: that of --fail-if-slower, else 1%]
    #[arg(long, value_name = "PERCENT")]
    difference: Option<MinShare>,

    /// Record each command three more times, and show where the difference comes from, as `genba diff` does, from the first command to each
    /// other one. DIR: a new folder that keeps the recordings
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true, default_missing_value = "", value_parser = why::kept)]
    why: Option<why::Kept>,

    /// Count the instructions of each command in one further run: by the processor where the kernel allows it, else in valgrind, which takes some
    /// fifty times as long
    #[arg(long)]
    instructions: bool,

    /// A command that does what the commands do before their work (python -c 'import app'): it is measured in turns with them, and what each takes
    /// beyond it is shown and compared, too
    #[arg(long, value_name = "CMD", conflicts_with_all = ["sequential", "why"])]
    start_up: Option<String>,

    /// Measure statements of Python, in loops, in new processes
    #[arg(
        long,
        conflicts_with_all = [
            "why", "instructions", "shell", "no_shell", "prepare", "conclude", "cleanup", "ignore_failure", "show_output", "output", "input", "reference", "start_up"
        ]
    )]
    py: bool,

    /// The interpreter for --py; several: each statement in each [default: the active virtual environment's, else python3]
    #[arg(long, value_name = "PYTHON", requires = "py", value_hint = ValueHint::ExecutablePath)]
    python: Vec<OsString>,
}

pub fn bench(arguments: &Arguments) -> Result<ExitCode, Failure> {
    arguments.check_given_once()?;
    let (lines, pythons) = arguments.subjects()?;
    if arguments.instructions {
        instructions::check().map_err(refused)?;
    }
    let earlier = EarlierSessions::read(&arguments.against, arguments.history.as_deref())?;
    let recordings = arguments.recordings()?;
    let exports = Exports::open(&arguments.exports, arguments.history.as_deref())?;

    let (session, recorded) = arguments.measure(&lines, &pythons, recordings.as_ref())?;
    let findings = Findings::of(&session, &arguments.judged(earlier.beside(&session, arguments.style != Style::None)));
    let findings = findings.ok_or_else(|| Failure::ours("nothing was measured"))?;
    let results = Results {
        lines: &lines,
        exports: &exports,
        recordings: recordings.as_ref(),
        style: arguments.style,
        sort: arguments.sort,
        unit: arguments.time_unit.map(Into::into),
    };
    results.tell(&findings, recorded)?;
    Ok(ExitCode::SUCCESS)
}

impl Arguments {
    /// Options that clap takes several times.
    fn check_given_once(&self) -> Result<(), Failure> {
        if self.parameter_scan.len() > 3 {
            return Err(Failure::usage("--parameter-scan is there twice")
                .hint("one scan, or several of --parameter-list: genba bench -L x 1,2 -L y a,b 'f {x} {y}'"));
        }
        // As timeit's, several are lines of Python; commands have one.
        if !self.py && self.setup.len() > 1 {
            return Err(Failure::usage("the argument '--setup <CMD>' cannot be used multiple times")
                .hint("one command line: --setup 'make clean && make'; with --py several are lines of Python"));
        }
        Ok(())
    }

    /// All that is measured, and the interpreters of `--py`.
    fn subjects(&self) -> Result<(Vec<Line>, Vec<PathBuf>), Failure> {
        let line = |name: &String, command: &String| Line {
            name: name.clone(),
            command: command.clone(),
            parameters: Default::default(),
        };
        let mut lines = self.asked().lines().map_err(refused)?;
        if let Some(reference) = &self.reference {
            lines.insert(0, line(self.reference_name.as_ref().unwrap_or(reference), reference));
        }
        let pythons = if self.py { self.pythons()? } else { Vec::new() };
        self.check_compares(lines.len(), pythons.len())?;
        lines.extend(self.start_up.iter().map(|command| line(command, command)));
        Ok((lines, pythons))
    }

    /// `lines`: without the start-up.
    fn check_compares(&self, lines: usize, pythons: usize) -> Result<(), Failure> {
        let compared = lines * pythons.max(1);
        if self.fail_if_slower.is_some() && !self.has_earlier_sessions() && compared < 2 {
            return Err(Failure::usage("--fail-if-slower has nothing to compare with")
                .hint("genba bench --fail-if-slower 3% 'OLD' 'NEW', or --against FILE, or --history FILE"));
        }
        if self.why.is_some() && lines < 2 {
            return Err(Failure::usage("--why has nothing to compare with").hint("genba bench --why 'OLD' 'NEW'"));
        }
        Ok(())
    }

    /// Without words nobody would see what they say, unless they are kept.
    fn recordings(&self) -> Result<Option<Recordings>, Failure> {
        let is_of_use = |kept: &&why::Kept| self.style != Style::None || **kept != why::Kept::Not;
        self.why.as_ref().filter(is_of_use).map(Recordings::open).transpose()
    }

    fn asked(&self) -> Asked {
        let scan = match self.parameter_scan.as_slice() {
            [name, from, to] => Some(Scan {
                name: name.clone(),
                from: from.clone(),
                to: to.clone(),
                step: self.parameter_step_size.clone(),
            }),
            _ => None,
        };
        let list = |pair: &[String]| (pair[0].clone(), values_of(&pair[1]));
        let around = [&self.setup, &self.prepare, &self.conclude].into_iter().flatten().chain(&self.cleanup);
        Asked {
            beside: around.cloned().collect(),
            commands: self.commands.clone(),
            names: self.command_name.clone(),
            scan,
            lists: self.parameter_list.chunks_exact(2).map(list).collect(),
        }
    }

    /// What is given once holds for all commands and for their start-up; else each command has its own, and the start-up none.
    fn of_command<T>(values: &[T], position: usize) -> Option<&T> {
        if values.len() == 1 { values.first() } else { values.get(position) }
    }

    fn plan(&self, is_interleaved: bool) -> Result<Plan, Failure> {
        let (least, most) = match (self.runs, self.min_runs, self.max_runs) {
            (Some(runs), ..) => (runs, Some(runs)),
            (None, Some(least), most) => (least, most),
            (None, None, Some(most)) => (RUNS_MIN.min(most), Some(most)),
            (None, None, None) => (RUNS_MIN, None),
        };
        if most.is_some_and(|most| most < least) {
            return Err(Failure::usage(format!("--min-runs {least} is more than --max-runs {}", most.unwrap_or(0)))
                .hint("leave one of them out"));
        }
        if self.fail_if_slower.is_some() {
            outcome::check_can_judge(most, is_interleaved && !self.has_earlier_sessions())?;
        }
        let measured_min = self.min_benchmarking_time.unwrap_or(MEASURED_MIN);
        Ok(Plan { warmups: self.warmup, runs_min: least, runs_max: most, is_interleaved, measured_min })
    }

    /// This session is compared with others.
    fn has_earlier_sessions(&self) -> bool {
        !self.against.is_empty() || self.history.is_some()
    }

    fn pythons(&self) -> Result<Vec<PathBuf>, Failure> {
        if self.python.is_empty() {
            return Ok(vec![interpreter::chosen(None, None)?]);
        }
        let example = "genba bench --py --python python3.13 STATEMENT";
        let typed = self.python.iter().map(|python| Named::Typed { python, example });
        typed.map(|named| interpreter::chosen(Some(named), None)).collect()
    }

    fn judged(&self, earlier: Vec<Earlier>) -> Judged {
        let is_first_reference = self.reference.is_some() || self.fail_if_slower.is_some();
        Judged {
            reference: is_first_reference.then_some(0),
            difference: self.difference.or(self.fail_if_slower).unwrap_or(DIFFERENCE).0,
            slower_max: self.fail_if_slower.map(|most| most.0),
            earlier,
        }
    }

    /// And whether the recordings came about, where they are asked for.
    fn measure(
        &self,
        lines: &[Line],
        pythons: &[PathBuf],
        recordings: Option<&Recordings>,
    ) -> Result<(Session, Result<(), Early>), Failure> {
        let interrupt = Arc::new(Interrupt::default());
        interrupting::watch(&interrupt)?;
        let progress = Arc::new(Progress::default());
        let measured = || match self.py {
            true => self.snippets(lines, pythons, &interrupt, &progress).map(|session| (session, Ok(()))),
            false => self.commands(lines, recordings, &interrupt, &progress),
        };
        if self.style.has_progress() {
            let progress = Arc::clone(&progress);
            during_change(move || progress.words(), measured)
        } else {
            measured()
        }
    }

    fn commands(
        &self,
        lines: &[Line],
        recordings: Option<&Recordings>,
        interrupt: &Interrupt,
        progress: &Progress,
    ) -> Result<(Session, Result<(), Early>), Failure> {
        let compared = lines.len() - usize::from(self.start_up.is_some());
        let check = |option: &str, count: usize| match count {
            0 | 1 => Ok(()),
            count if count == compared => Ok(()),
            _ => Err(Failure::usage(format!("{count} times --{option} for {compared} commands"))
                .hint(format!("--{option} once for all of them, or once for each"))),
        };
        check("prepare", self.prepare.len())?;
        check("conclude", self.conclude.len())?;
        check("output", self.output.len())?;
        let nowhere = if self.show_output { Output::Inherit } else { Output::Null };
        let at = |values: &[String], position: usize, line: &Line| {
            let value = Self::of_command(values, position);
            value.map(|value| line.parameters.replaced_in(value))
        };
        let set_up = |line: &Line| self.setup.first().map(|setup| line.parameters.replaced_in(setup));
        let clean_up = |line: &Line| self.cleanup.as_ref().map(|cleanup| line.parameters.replaced_in(cleanup));
        let around: Vec<_> = lines.iter().map(|line| (set_up(line), clean_up(line))).collect();
        let is_alike = around.iter().all(|one| *one == around[0]);
        if !is_alike && self.start_up.is_some() {
            return Err(Failure::usage(
                "--start-up is measured in turns with the commands, and --setup or --cleanup has a parameter",
            )
            .hint("a setup without the parameter, or no --start-up"));
        }
        if !is_alike && !self.sequential {
            failure::say("--setup or --cleanup has a parameter, so commands are measured one after the other");
        }
        let plan = self.plan(is_alike && !self.sequential)?;

        let shell = if self.no_shell { &Shell::None } else { &self.shell };
        let mut random = Random::with_seed(0);
        progress.say("measuring the shell's own time".to_owned());
        let shell_time = shell.calibrate(&mut random, interrupt).map_err(ended)?;
        let failures = self.ignore_failure.clone().unwrap_or_default();
        let host = Host { shell, shell_time, input: &self.input, failures: &failures, interrupt };
        let runs = lines.iter().zip(around).enumerate().map(|(position, (line, (setup, cleanup)))| CommandRuns {
            host: &host,
            line,
            output: Self::of_command(&self.output, position).unwrap_or(&nowhere),
            setup,
            prepare: at(&self.prepare, position, line),
            conclude: at(&self.conclude, position, line),
            cleanup,
            random: Random::with_seed(position as u64 + 1),
            through: VecDeque::new(),
            instructions: Counting::No,
        });
        let mut runs: Vec<CommandRuns<'_>> = runs.collect();
        let mut subjects: Vec<&mut dyn Subject> = runs.iter_mut().map(|one| one as &mut dyn Subject).collect();
        let mut session = rounds::measure(&mut subjects, &plan, progress).map_err(nothing_measured)?;
        session.shell_ns = (*shell != Shell::None).then_some(shell_time.time_ns);
        // Ctrl-C between the last run and the cleanup.
        if session.ended_early.is_none() && interrupt.has_come() {
            session.ended_early = Some(Early { planned: Some(session.made()), failure: None, cleanup_failure: None });
        }
        if self.instructions && session.ended_early.is_none() {
            let folder = private_folder::make("genba-bench-").map_err(|error| {
                Failure::no(format!("cannot make a folder for counts: {}", failure::of_system(&error)))
            })?;
            // What was measured is shown all the same.
            let counted = instructions::count(&mut runs, &mut session.measured, folder.path(), progress);
            session.ended_early = counted.err().map(|early| Early { planned: Some(session.made()), ..early });
        }
        let recorded = match recordings.filter(|_| session.ended_early.is_none()) {
            Some(recordings) => recordings.make(&mut runs, plan.is_interleaved, progress),
            None => Ok(()),
        };
        Ok((if self.start_up.is_some() { session.with_last_as_start_up() } else { session }, recorded))
    }

    /// Each statement in each interpreter.
    fn snippets(
        &self,
        lines: &[Line],
        pythons: &[PathBuf],
        interrupt: &Interrupt,
        progress: &Progress,
    ) -> Result<Session, Failure> {
        // An empty one is none for CPython.
        if std::env::var_os("PYTHONHASHSEED").is_some_and(|seed| !seed.is_empty() && seed != "random") {
            failure::say(
                "warning: PYTHONHASHSEED is set: all processes hash alike, and intervals leave out what that changes",
            );
        }
        let setup = if self.setup.is_empty() { "pass".to_owned() } else { self.setup.join("\n") };
        let named = |python: usize, line: &Line| match self.python.as_slice() {
            [_, _, ..] => Line { name: format!("{}: {}", self.python[python].display(), line.name), ..line.clone() },
            _ => line.clone(),
        };
        let all: Vec<(usize, Line)> =
            (0..pythons.len()).flat_map(|python| lines.iter().map(move |line| (python, named(python, line)))).collect();
        let runs = all.iter().enumerate().map(|(position, (python, line))| {
            let setup = line.parameters.replaced_in(&setup);
            let folder = private_folder::make("genba-bench-").map_err(|error| snippets::no_room(&error))?;
            Ok(SnippetRuns::new(line, &pythons[*python], &setup, interrupt, position as u64, folder))
        });
        let mut runs: Vec<SnippetRuns<'_>> = runs.collect::<Result<_, Refusal>>().map_err(refused)?;
        let mut subjects: Vec<&mut dyn Subject> = runs.iter_mut().map(|one| one as &mut dyn Subject).collect();
        rounds::measure(&mut subjects, &self.plan(!self.sequential)?, progress).map_err(nothing_measured)
    }
}

fn nothing_measured(early: Early) -> Failure {
    outcome::ended_early(&early, None)
}
