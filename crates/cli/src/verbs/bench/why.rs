//! `genba bench --why`: each command is recorded some more times, in turns, and `genba diff` says where the difference comes from.
//! Owns: how often, where the recordings lie, and which two are compared. Never: compares (verbs/diff.rs does, in a process of its own), times a run that is recorded.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use genba_bench::commands::CommandRuns;
use genba_bench::lines::Line;
use genba_bench::measured::{Early, Measured, Run};
use genba_bench::refusal::Refusal;
use genba_bench::rounds::{self, Plan, Progress, Subject};
use tempfile::TempDir;

use crate::files::private_folder;
use crate::read;
use crate::words::failure::{self, Failure};

/// From three on each side on `genba diff` measures how much runs differ.
const RUNS: usize = 3;

/// The summary is above: the largest differences are enough.
const ROWS: &str = "8";

/// Where recordings are to lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Until the end.
    Not,
    In(PathBuf),
}

pub fn kept(text: &str) -> Result<Kept, String> {
    Ok(if text.is_empty() { Kept::Not } else { Kept::In(PathBuf::from(text)) })
}

/// A run that is not recorded fails for reasons of its own.
fn not_recorded(refusal: &Refusal, kept: &str) -> Failure {
    Failure::no("the commands could not be recorded")
        .detail(refusal.what.clone())
        .detail(format!("so it is where no Python runs in a command; what was measured is {kept}"))
        .hint("genba run in front of that command says why")
}

/// `kept`: what became of what was measured.
pub fn ended_early(early: &Early, kept: &str) -> Failure {
    let failure = match &early.failure {
        None => Failure::interrupted("interrupted while the commands were recorded")
            .detail(format!("what was measured is {kept}")),
        Some(refusal) => not_recorded(refusal, kept),
    };
    early.cleanup_failure.iter().fold(failure, |failure, cleanup| failure.detail(cleanup.what.clone()))
}

/// Of the larger one: from such a difference on, of wall times or of CPU, it is there to be explained.
const CHANGE_MIN: f64 = 0.05;

/// What `genba diff` compares: the wall time that was measured, where it differs and CPU does not; else what it takes by itself. A busy
/// machine stretches wall times, so CPU that differs is not set aside.
fn weight(measured: &[Measured], position: usize) -> &'static [&'static str] {
    let (Some(first), Some(other)) = (measured.first(), measured.get(position)) else { return &[] };
    let mean =
        |one: &Measured, of: fn(&Run) -> f64| one.runs.iter().map(of).sum::<f64>() / one.runs.len().max(1) as f64;
    let differs = |of: fn(&Run) -> f64| {
        let (from_ns, to_ns) = (mean(first, of), mean(other, of));
        (to_ns - from_ns).abs() >= CHANGE_MIN * from_ns.max(to_ns)
    };
    let is_wall = differs(|run| run.time_ns) && !differs(|run| run.user_ns + run.system_ns);
    if is_wall { &["--weight", "wall"] } else { &[] }
}

/// The recordings of all commands, in their order.
pub struct Recordings {
    folder: PathBuf,
    /// Takes the folder away.
    passing: Option<TempDir>,
}

impl Recordings {
    /// Before anything is measured.
    pub fn open(kept: &Kept) -> Result<Recordings, Failure> {
        let cannot = |shown: &str, error: &std::io::Error| {
            Failure::usage(format!("cannot keep recordings in {shown}: {}", failure::of_system(error)))
                .hint("name a folder that you may write to: --why=DIR")
        };
        match kept {
            Kept::Not => {
                let passing = private_folder::make("genba-why-");
                let passing = passing.map_err(|error| cannot("a temporary folder", &error))?;
                Ok(Recordings { folder: passing.path().to_path_buf(), passing: Some(passing) })
            }
            Kept::In(folder) => {
                fs::create_dir_all(folder).map_err(|error| cannot(&folder.display().to_string(), &error))?;
                let found = fs::read_dir(folder).map_err(|error| cannot(&folder.display().to_string(), &error))?;
                if found.count() > 0 {
                    return Err(Failure::usage(format!("{} is not empty", folder.display()))
                        .detail("recordings of several sessions would be taken for one")
                        .hint("name a new folder: --why=DIR"));
                }
                let folder = fs::canonicalize(folder).map_err(|error| cannot(&folder.display().to_string(), &error))?;
                Ok(Recordings { folder, passing: None })
            }
        }
    }

    /// In turns, as they were measured.
    pub fn make(&self, runs: &mut [CommandRuns<'_>], is_interleaved: bool, progress: &Progress) -> Result<(), Early> {
        let own = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("genba")).display().to_string();
        let words =
            |path: &Path| ["run", "--quiet", "-o"].map(str::to_owned).into_iter().chain([path.display().to_string()]);
        for (position, run) in runs.iter_mut().enumerate() {
            let through = (0..RUNS).map(|number| {
                std::iter::once(own.clone()).chain(words(&self.path(position, number))).collect::<Vec<String>>()
            });
            run.through = through.collect::<VecDeque<_>>();
        }
        progress.say("recording".to_owned());
        let plan = Plan::with_runs(RUNS, is_interleaved);
        let mut subjects: Vec<&mut dyn Subject> = runs.iter_mut().map(|one| one as &mut dyn Subject).collect();
        let session = rounds::measure(&mut subjects, &plan, progress)?;
        session.ended_early.map_or(Ok(()), Err)
    }

    fn path(&self, position: usize, number: usize) -> PathBuf {
        self.folder.join(format!("{}-{}.genba", position + 1, number + 1))
    }

    /// The first command against each of the others.
    pub fn say(&self, lines: &[Line], measured: &[Measured], stream: read::Stream) -> Result<(), Failure> {
        let cannot =
            |error: std::io::Error| Failure::ours(format!("cannot start genba diff: {}", failure::of_system(&error)));
        let of = |position: usize| (0..RUNS).map(move |number| self.path(position, number));
        for (position, line) in lines.iter().enumerate().skip(1) {
            let head = format!("\nWhy: from `{}` to `{}`, {RUNS} recordings of each\n", lines[0].name, line.name);
            read::show(&head, stream)?;
            let output = match stream {
                read::Stream::Stdout => Stdio::inherit(),
                read::Stream::Stderr => Stdio::from(std::io::stderr()),
            };
            let done = Command::new(std::env::current_exe().map_err(cannot)?)
                .args(["diff", "--limit", ROWS])
                .args(weight(measured, position))
                .args(of(0))
                .arg("--")
                .args(of(position))
                .stdin(Stdio::null())
                .stdout(output)
                .status()
                .map_err(cannot)?;
            if !done.success() {
                return Err(Failure::no("the recordings could not be compared").detail("its words are above"));
            }
        }
        if self.passing.is_none() {
            failure::say(&format!("the recordings are in {}", self.folder.display()));
        }
        Ok(())
    }
}
