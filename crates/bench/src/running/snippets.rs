//! A snippet of Python as something to measure: each run is a new process, which times the snippet in a loop.
//! Owns: how many turns a loop has, and the words of a snippet that fails. Never: sets PYTHONHASHSEED: each process hashes in its own way, so
//! what depends on that differs from run to run, and the interval knows.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Ended;
use super::interrupt::Interrupt;
use super::process::{Input, Output, Random, Streams, run_once};
use super::rounds::Subject;
use crate::subjects::lines::Line;
use crate::subjects::measured::{Loops, Run};
use crate::words::refusal::{Refusal, of_system};

const RUNNER: &str = include_str!("snippet.py");
/// In each process, after one that does not count. As many as pyperf's, and as long: in its first tenths of a second a process becomes faster, and a
/// mean over less of them is larger than pyperf's.
const VALUES: u64 = 3;
/// A value takes so long at least: the clock and the loop's begin are then nothing.
const VALUE_SECONDS_MIN: f64 = 0.1;
/// Of a snippet that failed, so many lines are shown.
const LINES_MAX: usize = 10;

#[derive(Debug)]
pub struct SnippetRuns<'a> {
    line: &'a Line,
    python: PathBuf,
    setup: String,
    interrupt: &'a Interrupt,
    folder: tempfile::TempDir,
    turns: u64,
    random: Random,
}

impl<'a> SnippetRuns<'a> {
    /// `folder`: for what a snippet's process says; nobody else may write there.
    pub fn new(
        line: &'a Line,
        python: &Path,
        setup: &str,
        interrupt: &'a Interrupt,
        seed: u64,
        folder: tempfile::TempDir,
    ) -> SnippetRuns<'a> {
        let random = Random::with_seed(seed);
        let (python, setup) = (python.to_path_buf(), setup.to_owned());
        SnippetRuns { line, python, setup, interrupt, folder, turns: 0, random }
    }

    fn process(&mut self, name: &str) -> Result<Run, Ended> {
        let answer = self.folder.path().join("answer");
        // Where this process writes none, that of the one before it would be taken for its own.
        let _ = std::fs::remove_file(&answer);
        let mut words = tempfile::tempfile_in(self.folder.path()).map_err(|error| no_room(&error))?;
        let mut command = Command::new(&self.python);
        command.arg("-c").arg(RUNNER).arg(&answer);
        command.args([self.turns.to_string(), VALUES.to_string(), VALUE_SECONDS_MIN.to_string()]);
        command.args([&self.setup, &self.line.command]);
        let streams = Streams { input: &Input::Null, output: &Output::Null, stderr: Some(&words) };
        let shown = self.python.display().to_string();
        let run = run_once(&mut command, &shown, &streams, &mut self.random, self.interrupt)?;
        if run.exit_code != 0 {
            return Err(Ended::Refused(self.failed(name, run.exit_code, &mut words)));
        }
        let text = std::fs::read_to_string(&answer).unwrap_or_default();
        let (turns, time_ns) = parse(&text).ok_or_else(|| {
            let hint = "an interpreter of CPython 3.6 or later, and a snippet that does not end its process";
            Refusal::no(format!("{shown} gave no times in {name}"), hint)
        })?;
        self.turns = turns;
        Ok(Run { time_ns, ..run })
    }

    fn failed(&self, name: &str, code: i32, words: &mut File) -> Refusal {
        let mut text = Vec::new();
        let _ = words.seek(SeekFrom::Start(0)).and_then(|_| words.read_to_end(&mut text));
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        let shown = &lines[lines.len().saturating_sub(LINES_MAX)..];
        let what = format!("the snippet `{}` failed in {name} (exit code {code})", self.line.command);
        let hint = hint(lines.last().copied().unwrap_or_default());
        shown.iter().fold(Refusal::no(what, hint), |refusal, line| refusal.detail(*line))
    }
}

/// By the last line of the interpreter's.
fn hint(error: &str) -> &'static str {
    const OF_NAMES: [&str; 4] = ["NameError", "UnboundLocalError", "ImportError", "ModuleNotFoundError"];
    if OF_NAMES.iter().any(|name| error.starts_with(name)) {
        "genba bench --py STATEMENT --setup 'import …; names = …' tells names to it"
    } else {
        "the error above is Python's: mend the statement, or its --setup"
    }
}

/// Turns, and the mean of the values, of one turn, in nanoseconds.
fn parse(text: &str) -> Option<(u64, f64)> {
    let mut words = text.split_ascii_whitespace();
    let turns = words.next()?.parse().ok()?;
    let values: Vec<f64> = words.map(str::parse).collect::<Result<_, _>>().ok()?;
    (values.len() as u64 == VALUES).then(|| (turns, values.iter().sum::<f64>() / VALUES as f64 * 1e9))
}

/// Why there is no folder or file for what a snippet's process says.
pub fn no_room(error: &std::io::Error) -> Refusal {
    Refusal::no(format!("cannot write temporary files: {}", of_system(error)), "TMPDIR names a folder with room")
}

impl Subject for SnippetRuns<'_> {
    fn line(&self) -> &Line {
        self.line
    }

    fn loops(&self) -> Option<Loops> {
        (self.turns > 0).then_some(Loops { turns: self.turns, values: VALUES })
    }

    fn set_up(&mut self) -> Result<(), Ended> {
        Ok(())
    }

    fn run(&mut self, name: &str) -> Result<Run, Ended> {
        // The process that finds out how many turns a loop has counts for nothing else.
        if self.turns == 0 {
            self.process("calibration")?;
        }
        self.process(name)
    }

    fn clean_up(&mut self) -> Result<(), Ended> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn an_answer_is_turns_and_the_time_of_one() {
        let (turns, time_ns) = parse("1024 2e-08 3e-08 4e-08").unwrap();
        assert_eq!((turns, time_ns.round()), (1024, 30.0));
        for text in ["", "1024", "1024 2e-08 3e-08", "x 1 2 3", "8 1 2 nan 3"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn setup_is_advised_for_names_alone() {
        for error in ["NameError: name 'x' is not defined", "ModuleNotFoundError: No module named 'x'"] {
            assert!(super::hint(error).contains("tells names"), "{error}");
        }
        for error in ["SyntaxError: '(' was never closed", "ZeroDivisionError: division by zero", ""] {
            assert!(!super::hint(error).contains("tells names"), "{error}");
        }
    }
}
