//! A command as something to measure: prepare, run, conclude; setup and cleanup around all runs.
//! Owns: which of these runs when, and what a failure of each is called. Never: times anything but the command itself.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::Command;

use super::Ended;
use super::counters;
use super::interrupt::Interrupt;
use super::process::{Input, Output, Random, Streams, run_once};
use super::rounds::Subject;
use super::shell::{OwnTime, Shell};
use crate::subjects::lines::Line;
use crate::subjects::measured::{Loops, Run};
use crate::words::refusal::{Refusal, of_system};

/// Which exit codes but 0 are taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Failures {
    #[default]
    None,
    All,
    Codes(Vec<i32>),
}

impl Failures {
    fn takes(&self, code: i32) -> bool {
        match self {
            _ if code == 0 => true,
            Failures::None => false,
            Failures::All => true,
            Failures::Codes(codes) => codes.contains(&code),
        }
    }
}

/// What all commands share.
#[derive(Debug)]
pub struct Host<'a> {
    pub shell: &'a Shell,
    pub shell_time: OwnTime,
    pub input: &'a Input,
    pub failures: &'a Failures,
    pub interrupt: &'a Interrupt,
}

/// One command, and what belongs to it: parameters are replaced already.
#[derive(Debug)]
pub struct CommandRuns<'a> {
    pub host: &'a Host<'a>,
    pub line: &'a Line,
    pub output: &'a Output,
    pub setup: Option<String>,
    pub prepare: Option<String>,
    pub conclude: Option<String>,
    pub cleanup: Option<String>,
    pub random: Random,
    /// Words in front of the command in each of the next runs: another program that starts it.
    pub through: VecDeque<Vec<String>>,
    pub instructions: Counting,
}

/// Whether the processor counts the instructions of the next run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counting {
    #[default]
    No,
    Wanted,
    Counted(u64),
    /// It counted a part of the run only.
    InPart,
}

impl CommandRuns<'_> {
    fn beside(&mut self, what: &str, option: &str, line: Option<String>) -> Result<(), Ended> {
        let Some(line) = line else { return Ok(()) };
        let inherited = if *self.output == Output::Inherit { Output::Inherit } else { Output::Null };
        let streams = Streams { input: &Input::Null, output: &inherited, stderr: None };
        let mut command = self.host.shell.command(&line)?;
        let run =
            run_once(&mut command, &format!("`{line}` (--{option})"), &streams, &mut self.random, self.host.interrupt)?;
        if run.exit_code != 0 {
            return Err(Ended::Refused(
                Refusal::no(
                    format!("the {what} command {}", ended(run.exit_code)),
                    "append ` || true` to it if that does not matter; --show-output shows what it prints",
                )
                .detail(format!("--{option} '{line}'")),
            ));
        }
        Ok(())
    }
}

impl Subject for CommandRuns<'_> {
    fn line(&self) -> &Line {
        self.line
    }

    fn loops(&self) -> Option<Loops> {
        None
    }

    fn set_up(&mut self) -> Result<(), Ended> {
        self.beside("setup", "setup", self.setup.clone())
    }

    fn run(&mut self, name: &str) -> Result<Run, Ended> {
        self.beside("preparation", "prepare", self.prepare.clone())?;
        let streams = Streams { input: self.host.input, output: self.output, stderr: None };
        let mut command = self.host.shell.command(&self.line.command)?;
        if let Some(words) = self.through.pop_front() {
            command = behind(&words, &command);
        }
        let shown = format!("`{}`", self.line.command);
        // Prepare and conclude are not in it.
        let counter = (self.instructions == Counting::Wanted).then(counters::instructions);
        let mut counter = counter.transpose().map_err(|error| cannot_count(&error))?;
        let run = run_once(&mut command, &shown, &streams, &mut self.random, self.host.interrupt)?;
        if let Some(counter) = &mut counter {
            let counted =
                counters::count(counter, run.user_ns + run.system_ns).map_err(|error| cannot_count(&error))?;
            self.instructions = counted.map_or(Counting::InPart, Counting::Counted);
        }
        if !self.host.failures.takes(run.exit_code) {
            return Err(Ended::Refused(failed(&self.line.command, name, run.exit_code, self.host.shell)));
        }
        self.beside("conclusion", "conclude", self.conclude.clone())?;
        Ok(self.host.shell_time.taken_off(run))
    }

    fn clean_up(&mut self) -> Result<(), Ended> {
        let interrupt = self.host.interrupt;
        interrupt.during_clean_up(|| self.beside("cleanup", "cleanup", self.cleanup.clone()))
    }
}

fn behind(words: &[String], command: &Command) -> Command {
    let mut whole = words.iter().map(OsStr::new).chain([command.get_program()]).chain(command.get_args());
    let mut first = Command::new(whole.next().unwrap_or_default());
    first.args(whole);
    first
}

fn cannot_count(error: &io::Error) -> Ended {
    let hint = "leave out --instructions; `perf stat COMMAND` shows whether others can count here";
    Ended::Refused(Refusal::no(format!("cannot count instructions: {}", of_system(error)), hint))
}

fn ended(code: i32) -> String {
    match code {
        129..=192 => format!("ended with exit code {code} (signal {})", code - 128),
        _ => format!("ended with exit code {code}"),
    }
}

fn failed(line: &str, run: &str, code: i32, shell: &Shell) -> Refusal {
    let is_file = |word: &str| Path::new(word).is_file();
    let hint = match line.split_whitespace().next() {
        // A script, as other verbs take it.
        Some(first) if code == 127 && is_file(first) => format!("genba bench 'python {line}'"),
        _ => "--show-output shows what it prints; --ignore-failure measures it all the same".to_owned(),
    };
    let refusal = Refusal::no(format!("`{line}` {} in {run}", ended(code)), hint);
    match (code, shell) {
        (127, Shell::Words(words)) => refusal.detail(format!("{} found no such command", words[0])),
        (126, Shell::Words(words)) => refusal.detail(format!("{} may not run it: it is not executable", words[0])),
        _ => refusal,
    }
}
