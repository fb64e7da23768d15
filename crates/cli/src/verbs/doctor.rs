//! `genba doctor`: what is slow, missing or forbidden on this machine, in an interpreter or in a process, and the smallest remedy.
//! Owns: the options, the order of the facts, the exit code. Never: changes a setting; enters a process.

mod asking;
mod clock;
mod clock_helper;
mod fact;
mod first_line;
mod interpreter;
mod layout;
mod machine;
mod page;
mod process;
mod share;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use genba_process::clock_source::ClockSource;
use genba_process::facts::Facts as ProcessFacts;
use genba_process::interpreter::{Interpreter, Search, evidence, find_in};
use genba_process::refusal::Refusal;
use genba_process::tree::Tree;
use genba_profile::shell;

use self::asking::Asked;
use self::clock::ClockPage;
use self::fact::{Fact, Facts};
use self::page::Page;
use self::share::SharePage;
use crate::files::identity::FileIdentity;
use crate::files::interpreter::{Named, chosen};
use crate::read::{self, RecordingFile, Stream};
use crate::words::failure::Failure;
use crate::words::pids;
use crate::words::refused::refused;

/// For who named none that answers.
const ANOTHER_PYTHON: &str = "genba doctor --python python3.13";

#[derive(Args)]
pub struct Arguments {
    /// Judge one process too: what genba may do to it, and what would allow the rest
    #[arg(value_name = "PID", value_parser = pids::pid)]
    pid: Option<u32>,

    /// Measure what reading the time costs here; with FILE also how much of that recording's CPU it took
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    clock: Option<Option<PathBuf>>,

    /// Print what to send in about an interpreter that genba does not know
    #[arg(long, conflicts_with_all = ["clock", "format"])]
    layout: bool,

    /// The interpreter to judge [default: the one that `genba run app.py` starts]
    #[arg(long, value_name = "PYTHON", conflicts_with = "pid")]
    python: Option<OsString>,

    /// What to print
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,

    /// The process that is measured for --clock
    #[arg(long, hide = true)]
    clock_helper: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Format {
    Text,
    Json,
}

/// What was found out, and what it comes to.
#[derive(Default)]
struct Findings {
    facts: Vec<Fact>,
    clock: Option<ClockPage>,
    share: Option<SharePage>,
    /// The process cannot be looked at.
    refusal: Option<Refusal>,
}

pub fn doctor(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if arguments.clock_helper {
        return clock_helper::help();
    }
    let own = ProcessFacts::own().map_err(|_| {
        Failure::no("this process finds no /proc")
            .hint("mount it: mount -t proc proc /proc; all of genba's looks begin there")
    })?;
    let (tree, looked_at) =
        (Tree::own(), arguments.pid.map(ProcessFacts::of).transpose().map_err(|why| refused(&why))?);
    if arguments.layout {
        return layout(arguments, &tree, looked_at);
    }
    let findings = match (&arguments.clock, looked_at) {
        (Some(_), Some(its)) => return Err(clock_of_process(&its)),
        (Some(file), None) => of_clock(arguments, &tree, file.as_ref())?,
        (None, looked_at) => of_machine(arguments, &tree, &own, looked_at)?,
    };
    findings.shown(arguments.format)
}

fn of_machine(
    arguments: &Arguments,
    tree: &Tree,
    own: &ProcessFacts,
    looked_at: Option<ProcessFacts>,
) -> Result<Findings, Failure> {
    let mut findings =
        Findings { facts: machine::facts(tree, own, machine::asked(), looked_at.is_some()), ..Findings::default() };
    let mut clock = Facts::of(clock::GROUP);
    clock::clock_source(&mut clock, &ClockSource::of(tree));
    clock.fact("its cost", "genba doctor --clock measures it", "programs read the time often");
    findings.facts.append(&mut clock.rows);
    let Some(its) = looked_at else {
        findings.facts.append(&mut interpreter_facts(arguments)?);
        return Ok(findings);
    };
    findings.facts.append(&mut process::facts(tree, own, &its));
    match find_in(its, Search::All) {
        Ok(found) => {
            findings.facts.append(&mut interpreter::facts_of_process(&found));
            findings.facts.append(&mut process::allowed(&found));
        }
        Err(refusal) => {
            findings.facts.append(&mut process::refused(&refusal));
            findings.refusal = Some(refusal);
        }
    }
    Ok(findings)
}

/// Of the interpreter that was named, else of the one that `genba run` would start, where there is one.
fn interpreter_facts(arguments: &Arguments) -> Result<Vec<Fact>, Failure> {
    let unknown = |why: String| {
        let mut found = Facts::of("the interpreter");
        found.unknown("python", why, "what `genba run app.py` starts");
        found.rows
    };
    match ask(arguments, false)? {
        Ok(asked) => Ok(interpreter::facts(&asked)),
        Err(why) if arguments.python.is_some() => Err(Failure::no(why).hint(ANOTHER_PYTHON)),
        Err(why) => Ok(unknown(why)),
    }
}

/// Err inside: there is none, or it does not answer.
fn ask(arguments: &Arguments, with_clocks: bool) -> Result<Result<Asked, String>, Failure> {
    let typed = arguments.python.as_deref().map(|python| Named::Typed { python, example: ANOTHER_PYTHON });
    match chosen(typed, None) {
        Ok(path) => Ok(asking::ask(&path, with_clocks)),
        Err(failure) if arguments.python.is_some() => Err(failure),
        Err(failure) => Ok(Err(failure.in_two().0)),
    }
}

/// `--clock 4711`: its file has the number of a process for a name, and is not there.
fn no_process(file: &Path, failure: Failure) -> Failure {
    match file.to_str().map(pids::pid) {
        Some(Ok(pid)) if !file.exists() => {
            failure.hint(format!("--clock takes a recording; a process is judged without it: genba doctor {pid}"))
        }
        _ => failure,
    }
}

/// Readings by Python are measured in an interpreter that genba starts, and it starts none that somebody else chose.
fn clock_of_process(its: &ProcessFacts) -> Failure {
    // Another file of that name, in the process's own root or since it began, is not its interpreter.
    let runs = FileIdentity::at(Path::new(&format!("/proc/{}/exe", its.pid)));
    let program = its.executable.as_deref().filter(|path| runs.is_some() && FileIdentity::at(path) == runs);
    let how = format!("genba doctor --clock --python {}", program.map_or_else(|| "PYTHON".to_owned(), shell::path));
    Failure::usage(format!("--clock measures this machine and an interpreter, not process {}", its.pid))
        .detail("it would start the process's interpreter once more, which another user may have written")
        .hint(format!("{how}, if you trust that interpreter; genba doctor {} judges the process", its.pid))
}

fn of_clock(arguments: &Arguments, tree: &Tree, file: Option<&PathBuf>) -> Result<Findings, Failure> {
    // A file that cannot be read is said before anything is measured.
    let opened = |file: &PathBuf| RecordingFile::open(Some(file)).map_err(|failure| no_process(file, failure));
    let recording = file.map(opened).transpose()?;
    let source = ClockSource::of(tree);
    let mut page = clock::measure(&source)?;
    if let Ok(asked) = ask(arguments, true)? {
        clock::add_python(&mut page, asked.answer.clocks);
    }
    let preloaded = std::env::var("LD_PRELOAD").ok();
    let mut findings = Findings { facts: clock::facts(&source, &page, preloaded.as_deref()), ..Findings::default() };
    if let Some(recording) = recording {
        let name = recording.path.display().to_string();
        let mut found = share::share(&name, &recording.profile_in_window(None)).ok_or_else(|| {
            Failure::no(format!("{name} does not tell how much CPU its C functions took"))
                .detail("it has no CPU time or no C frames (--no-native, or another profiler's file)")
                .hint("record it with genba run app.py")
        })?;
        findings.facts.append(&mut share::judge(&mut found, &page));
        findings.share = Some(found);
    }
    findings.clock = Some(page);
    Ok(findings)
}

fn layout(arguments: &Arguments, tree: &Tree, looked_at: Option<ProcessFacts>) -> Result<ExitCode, Failure> {
    let judged = |found: &Result<Interpreter, Refusal>| match found {
        Ok(found) => format!("knows CPython {}", found.version),
        Err(refusal) => [vec![refusal.to_string()], refusal.details()].concat().join(": "),
    };
    let text = match looked_at {
        Some(its) => {
            let pid = its.pid;
            layout::text(tree, None, &evidence(pid), &judged(&find_in(its, Search::All)))
        }
        None => {
            let asked =
                ask(arguments, false)?.map_err(|why| Failure::no(why).hint("genba doctor --layout --python FILE"))?;
            layout::text(tree, Some(&asked.answer), &asked.evidence, &judged(&asked.found))
        }
    };
    read::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

impl Findings {
    fn shown(self, format: Format) -> Result<ExitCode, Failure> {
        let wrong: Vec<&Fact> = self.facts.iter().filter(|fact| fact.standing.is_wrong()).collect();
        match format {
            Format::Text => read::print(&page::text(&self.facts, read::screen_width(Stream::Stdout)))?,
            Format::Json => {
                let page = Page {
                    format: "genba-doctor",
                    version: 1,
                    wrong: wrong.len(),
                    facts: &self.facts,
                    clock: self.clock.as_ref(),
                    share: self.share.as_ref(),
                };
                let text = genba_text::json::pretty(&page);
                let text = text.map_err(|error| Failure::ours(format!("cannot write JSON: {error}")))?;
                read::print(&text)?;
            }
        }
        if let Some(refusal) = &self.refusal {
            return Err(refused(refusal));
        }
        if wrong.is_empty() {
            return Ok(ExitCode::SUCCESS);
        }
        let what = match wrong.len() {
            1 => "1 fact costs the program time, or hinders genba".to_owned(),
            several => format!("{several} facts cost the program time, or hinder genba"),
        };
        let failure = Failure::no(what);
        let failure = wrong.iter().fold(failure, |failure, fact| {
            failure.detail(format!("{}: {}: {}", fact.standing.word(), fact.name, fact.value))
        });
        Err(failure.hint("each one's remedy is below it, in the list"))
    }
}
