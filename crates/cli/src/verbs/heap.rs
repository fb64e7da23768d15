//! `genba heap`: which classes fill the heap of a running Python process, or filled it when a file was kept.
//! Owns: the options, what is printed and what is kept. Never: reads the heap itself: the agent walks it, inside the process.

pub mod asking;
pub mod choice;
mod diff;
pub mod interrupt;
pub mod keeping;
pub mod page;
mod refs;
pub mod text;
pub mod ways;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand, ValueHint};
use genba_process::facts::Facts;
use genba_process::interpreter::{self, Interpreter};
use genba_profile::figures;
use genba_profile::shell;

use crate::read::{self, Stream};
use crate::verbs::attach::entering;
use crate::words::durations;
use crate::words::failure::{Failure, say};
use crate::words::numbers;
use crate::words::pids::{self, Target};
use crate::words::progress::during;
use crate::words::refused::refused;
use asking::Wants;
use choice::Wish;
use interrupt::Interrupt;
use page::{Format, TOP};

#[derive(Args)]
#[command(
    override_usage = "genba heap [OPTIONS] PID|FILE\n       genba heap diff BEFORE AFTER\n       genba heap refs PID --class CLASS",
    args_conflicts_with_subcommands = true
)]
pub struct Arguments {
    #[command(subcommand)]
    question: Option<Question>,

    /// The process; genba ps lists those of Python. Or a file that -o or a recording has kept
    #[arg(value_name = "PID|FILE", value_parser = pids::process_or_file(), value_hint = ValueHint::FilePath)]
    target: Option<Target>,

    /// Walk a copy of the process, or fail: the program is held only while the copy is made
    #[arg(long, conflicts_with = "in_place")]
    fork: bool,

    /// Hold the program for the whole walk, and make no copy
    #[arg(long)]
    in_place: bool,

    /// Run a full collection first, finalizers of the program too: what is left is in use
    #[arg(long)]
    collect: bool,

    /// Count only what is in use: garbage is found as the collector finds it, and left as it is; no finalizer runs
    #[arg(long, conflicts_with = "collect")]
    live_only: bool,

    /// Show so many classes; 0: all. Without it text shows 25, and JSON has all
    #[arg(long = "limit", alias = "top", value_name = "N", value_parser = numbers::limit)]
    top: Option<usize>,

    /// Look again each time that this has passed, and show what has grown since the first look; until Ctrl-C
    #[arg(long, value_name = "INTERVAL", value_parser = durations::recording_ns, conflicts_with_all = ["output", "format"])]
    live: Option<u64>,

    /// Keep all classes in a file, as JSON, for genba heap diff
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace FILE if it exists
    #[arg(long, requires = "output")]
    force: bool,

    /// What to print
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

#[derive(Subcommand)]
enum Question {
    /// What grew between two files of genba heap -o
    Diff(diff::Arguments),

    /// What keeps the objects of a class alive
    Refs(refs::Arguments),
}

pub fn heap(arguments: &Arguments) -> Result<ExitCode, Failure> {
    match &arguments.question {
        Some(Question::Diff(arguments)) => return diff::diff(arguments),
        Some(Question::Refs(arguments)) => return refs::refs(arguments),
        None => {}
    }
    let pid = match &arguments.target {
        Some(Target::Process(pid)) => *pid,
        Some(Target::File(path)) => return kept(arguments, path),
        None => {
            let failure = Failure::usage("no process is named");
            return Err(failure.hint("genba heap PID; genba ps lists the Python processes"));
        }
    };
    if let Some(path) = arguments.output.as_deref().filter(|path| path.exists() && !arguments.force) {
        return Err(Failure::no(format!("{} exists already", path.display())).hint("--force replaces it"));
    }
    let interpreter = interpreter::find(pid).map_err(|refusal| refused(&refusal))?;
    entering::check(&interpreter)?;
    let wish = Wish::of(arguments.fork, arguments.in_place);
    let interrupt = Interrupt::watch()?;
    let wants = Wants { collection: arguments.collect, live_only: arguments.live_only, ..Wants::default() };
    let look = |interpreter: &Interpreter| {
        let choice = choice::choose(interpreter, wish);
        let asked = during("walking the heap", || asking::ask(interpreter, &choice, wants.clone(), &interrupt))?;
        Ok(page::Page::new(interpreter, &choice, asked))
    };
    let page = look(&interpreter)?;
    if let Some(path) = &arguments.output {
        page.write(path, arguments.force)?;
        say(&format!("kept in {} · next: genba heap diff {} LATER", path.display(), shell::path(path)));
    }
    print(arguments, &page)?;
    if let Some(every_ns) = arguments.live {
        growing(&page, arguments.top.unwrap_or(TOP), Duration::from_nanos(every_ns), &interrupt, || {
            look(&interpreter::find(pid).map_err(|refusal| refused(&refusal))?)
        })?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A heap that was walked before.
fn kept(arguments: &Arguments, path: &Path) -> Result<ExitCode, Failure> {
    let asks_a_process = arguments.fork || arguments.in_place || arguments.collect || arguments.live_only;
    if asks_a_process || arguments.live.is_some() || arguments.output.is_some() {
        return Err(Failure::usage("a file is shown as it was kept: only --limit and --format apply to it")
            .hint(format!("genba heap {}", shell::path(path))));
    }
    print(arguments, &diff::read_page(path)?)?;
    Ok(ExitCode::SUCCESS)
}

fn print(arguments: &Arguments, page: &page::Page) -> Result<(), Failure> {
    match arguments.format {
        Format::Text => {
            let (top, width) = (arguments.top.unwrap_or(TOP), read::screen_width(Stream::Stdout));
            read::print_wrapped(&text::text(page, top, width))
        }
        Format::Json => read::print(&page.limited(arguments.top.unwrap_or(0)).json()?),
    }
}

/// Prints what has grown since the first page, until Ctrl-C or the end of the process.
fn growing(
    first: &page::Page,
    top: usize,
    every: Duration,
    interrupt: &Interrupt,
    look: impl Fn() -> Result<page::Page, Failure>,
) -> Result<(), Failure> {
    let began = Instant::now();
    let has_ended = || Facts::of(first.pid).map_or(true, |facts| facts.is_zombie());
    while interrupt.sleep(every) && !has_ended() {
        match look() {
            Ok(page) => {
                let passed = figures::duration(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX));
                read::print_wrapped(&format!("\nafter {passed} · {}", diff::growth(first, &page, top)))?;
            }
            Err(_) if interrupt.has_come() => break,
            Err(_) if has_ended() => break,
            Err(failure) => return Err(failure),
        }
    }
    if !interrupt.has_come() {
        say(&format!("process {} has ended", first.pid));
    }
    Ok(())
}
