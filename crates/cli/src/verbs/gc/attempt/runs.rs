//! The runs of `genba gc try`: each a `genba run --gc` without input and output.
//! Owns: their processes and files, and what is said when one cannot be used. Never: leaves a file or a process behind when it ends by itself
//! or by Ctrl-C; uses a run whose program failed.

use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use genba_profile::build;
use genba_profile::collections::{Run, summary};
use genba_profile::warnings;
use genba_profile::warnings::warning::Warning;
use genba_profile::weight::Weight;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::files::private_folder;
use crate::read::RecordingFile;
use crate::words::failure::{self, Failure};

/// So often it is asked whether a run has ended.
const ASKED_EVERY: Duration = Duration::from_millis(20);
/// Of a program that failed, so many lines are shown.
const LINES_MAX: usize = 10;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    AsItIs,
    WithIt,
}

pub struct Asked<'a> {
    /// Empty: as it is.
    pub threshold: &'a [u32],
    pub freeze: bool,
    pub python: Option<&'a OsStr>,
    pub module: Option<&'a [OsString]>,
    pub target: &'a [OsString],
    /// How many runs there will be.
    pub all: usize,
}

pub struct Runs<'a> {
    asked: Asked<'a>,
    genba: PathBuf,
    folder: tempfile::TempDir,
    begun: Arc<AtomicUsize>,
    interrupted: Arc<AtomicBool>,
    signal: Cell<bool>,
}

impl<'a> Runs<'a> {
    pub fn new(asked: Asked<'a>) -> Result<Runs<'a>, Failure> {
        let cannot =
            |error: std::io::Error| Failure::ours(format!("cannot prepare runs: {}", failure::of_system(&error)));
        let interrupted = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&interrupted)).map_err(cannot)?;
        }
        Ok(Runs {
            asked,
            genba: std::env::current_exe().map_err(cannot)?,
            folder: private_folder::make("genba-try-").map_err(cannot)?,
            begun: Arc::new(AtomicUsize::new(0)),
            interrupted,
            signal: Cell::new(false),
        })
    }

    /// For the terminal.
    pub fn words(&self) -> impl Fn() -> String + Send + 'static {
        let (begun, all) = (Arc::clone(&self.begun), self.asked.all);
        move || format!("run {} of {all}", begun.load(Ordering::Relaxed))
    }

    /// One run, to its end.
    pub fn run(&self, way: Way) -> Result<Run, Failure> {
        let number = self.begun.fetch_add(1, Ordering::Relaxed) + 1;
        let (recording, words) = (self.folder.path().join("run.genba"), self.folder.path().join("words"));
        let cannot =
            |error: std::io::Error| Failure::ours(format!("cannot begin run {number}: {}", failure::of_system(&error)));
        let mut command = Command::new(&self.genba);
        command.args(["run", "--quiet", "--gc", "--mem", "--source", "none", "--force", "-o"]).arg(&recording);
        if way == Way::WithIt {
            let numbers: Vec<String> = self.asked.threshold.iter().map(u32::to_string).collect();
            if !numbers.is_empty() {
                command.arg("--gc-threshold").arg(numbers.join(","));
            }
            if self.asked.freeze {
                command.arg("--gc-freeze");
            }
        }
        if let Some(python) = self.asked.python {
            command.arg("--python").arg(python);
        }
        if let Some(module) = self.asked.module {
            command.arg("-m").args(module);
        }
        command.args(self.asked.target);
        command.env("GENBA_SETTINGS", "none").stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(File::create(&words).map_err(cannot)?);
        let status = self.wait(command).map_err(cannot)?;
        if self.interrupted.load(Ordering::Relaxed) {
            return Err(Failure::interrupted(format!("interrupted in run {number} of {}", self.asked.all)));
        }
        if !status.success() {
            return Err(self.failed(number, way, status, &words));
        }
        let run = self.read(number, way, &recording)?;
        std::fs::remove_file(&recording).map_err(cannot)?;
        Ok(run)
    }

    fn wait(&self, mut command: Command) -> std::io::Result<ExitStatus> {
        let mut child = command.spawn()?;
        self.signal.set(false);
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            if self.interrupted.load(Ordering::Relaxed) && !self.signal.replace(true) {
                // `genba run` hands it on to the program.
                if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
                    let _ = kill_process(pid, Signal::TERM);
                }
            }
            std::thread::sleep(ASKED_EVERY);
        }
    }

    /// `run 3 of 13 (with the threshold)`
    fn named(&self, number: usize, way: Way) -> String {
        let way = match way {
            Way::AsItIs => "the program as it is",
            Way::WithIt => "the program with it",
        };
        format!("run {number} of {} ({way})", self.asked.all)
    }

    fn failed(&self, number: usize, way: Way, status: ExitStatus, words: &std::path::Path) -> Failure {
        use std::os::unix::process::ExitStatusExt;
        let ended = match (status.code(), status.signal()) {
            (_, Some(signal)) => format!("was ended by signal {signal}"),
            (code, None) => format!("ended with exit code {}", code.unwrap_or(1)),
        };
        let text = std::fs::read(words).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let mut failure = Failure::no(format!("{} {ended}", self.named(number, way)));
        for line in &lines[lines.len().saturating_sub(LINES_MAX)..] {
            failure = failure.detail(line.to_string());
        }
        failure.hint(
            "a run counts when the program ends with exit code 0; it gets no input, and what it prints is thrown away",
        )
    }

    fn read(&self, number: usize, way: Way, recording: &std::path::Path) -> Result<Run, Failure> {
        let file = RecordingFile::open(Some(recording))?;
        let profile = build::promoted(file.profile_in_window(None));
        let Some(summary) = summary(&profile).filter(|_| !profile.collectors.is_empty()) else {
            let told = warnings::each(&profile, Weight::Cpu).into_iter();
            let told: Vec<Warning> = told.filter(|warning| warning.what().contains("garbage collections")).collect();
            return Err(not_recorded(&self.named(number, way), &told));
        };
        let threshold = self.asked.threshold.first().copied().map(u64::from).filter(|_| way == Way::WithIt);
        Ok(Run::of(&profile, &summary, threshold))
    }
}

/// `told`: what the recording says of its collections.
fn not_recorded(run: &str, told: &[Warning]) -> Failure {
    let failure = Failure::no(format!("{run}: its collections were not recorded"));
    match told.first() {
        Some(first) => {
            told.iter().fold(failure, |failure, warning| failure.detail(warning.what())).hint(first.remedy())
        }
        None => failure
            .detail("a program that ends within a few milliseconds is over before genba can set a threshold")
            .hint("try it on a longer run; genba run --gc on the same program says more"),
    }
}

#[cfg(test)]
mod tests {
    use super::not_recorded;
    use genba_profile::warnings::warning::Warning;

    #[test]
    fn the_hint_is_against_the_cause() {
        let told = [Warning::new("process 7: garbage collections are not recorded: no memory", "raise the limit")];
        let expected = "error: run 1 of 13: its collections were not recorded\n  process 7: garbage collections are not recorded: no memory\nhint: raise the limit";
        assert_eq!(not_recorded("run 1 of 13", &told).to_string(), expected);
        assert!(not_recorded("run 1 of 13", &[]).to_string().contains("\nhint: try it on a longer run; "));
    }
}
