//! The program that `genba top app.py` watches: another genba runs and records it (`genba run`), and goes on when the screen is gone.
//! Owns: that genba, and the file that gets what the program prints while the screen has the terminal. Never: starts a program by itself.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::passed::Passed;
use crate::recording::output::{Holds, Output};
use crate::verbs::run::target::{Asked, Program};
use crate::words::failure::{self, Failure};

const LOOKED_EVERY: Duration = Duration::from_millis(10);
const WAITED_MAX: Duration = Duration::from_secs(2);
/// More names than anybody keeps.
const NUMBER_MAX: u32 = 10_000;
/// The end of a long output has the words that say why.
const SHOWN_LINES_MAX: usize = 20;

/// What is to be run, in `genba run`'s words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    pub module: Option<Vec<OsString>>,
    pub target: Vec<OsString>,
    pub python: Option<OsString>,
}

pub struct Starting {
    child: Child,
    recording: PathBuf,
    /// What the program prints.
    printed: PathBuf,
}

impl Wanted {
    /// Whether there is such a program, as `genba run` sees it.
    pub fn program(&self) -> Result<Program, Failure> {
        Program::resolve(&Asked {
            module: self.module.as_deref(),
            target: &self.target,
            python: self.python.as_deref(),
            python_of_settings: None,
            python_of_genba: None,
        })
    }
}

impl Starting {
    /// Comes back when there is something to show.
    pub fn begin(wanted: &Wanted, passed: &Passed) -> Result<Starting, Failure> {
        let program = wanted.program()?;
        let output =
            Output::create(Holds::Recording, passed.output.as_deref(), false, &program.stem, &program.words())?;
        let (printed, file) = printed_beside(&output.path).inspect_err(|_| output.give_up())?;
        let cannot =
            |error: std::io::Error| Failure::ours(format!("cannot start genba run: {}", failure::of_system(&error)));
        let also = file.try_clone().map_err(cannot)?;
        let mut command = Command::new(std::env::current_exe().map_err(cannot)?);
        command.args(["run", "--quiet", "--force", "-o"]).arg(&output.path).args(passed.words());
        command.args(wanted.python.iter().flat_map(|python| [OsString::from("--python"), python.clone()]));
        command.args(wanted.module.iter().flat_map(|module| [OsString::from("-m")].into_iter().chain(module.clone())));
        let child = command
            .args(&wanted.target)
            .stdin(Stdio::null())
            .stdout(file)
            .stderr(also)
            // Ctrl-C is for the screen.
            .process_group(0)
            .spawn()
            .map_err(|error| {
                output.give_up();
                let _ = std::fs::remove_file(&printed);
                cannot(error)
            })?;
        let mut starting = Starting { child, recording: output.path.clone(), printed };
        let begun = Instant::now();
        loop {
            let has_ended = starting.child.try_wait().map_err(cannot)?.is_some();
            if std::fs::metadata(&starting.recording).is_ok_and(|found| found.len() > 0) {
                return Ok(starting);
            }
            if has_ended {
                output.give_up();
                return Err(starting.not_recorded());
            }
            // The screen says that it waits.
            if begun.elapsed() > WAITED_MAX {
                return Ok(starting);
            }
            std::thread::sleep(LOOKED_EVERY);
        }
    }

    pub fn path(&self) -> &Path {
        &self.recording
    }

    /// Where the program prints to, and how it is ended, for whoever quits.
    pub fn words(&self) -> String {
        format!("what it prints is in {}; kill {} ends it", shown(&self.printed), self.child.id())
    }

    /// The same when it has ended.
    pub fn words_of_end(&self) -> String {
        format!("what it printed is in {}", shown(&self.printed))
    }

    fn not_recorded(&self) -> Failure {
        let text = std::fs::read(&self.printed).unwrap_or_default();
        let _ = std::fs::remove_file(&self.printed);
        let text = String::from_utf8_lossy(&text).into_owned();
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let last = &lines[lines.len().saturating_sub(SHOWN_LINES_MAX)..];
        let failure = Failure::no("the program ended before anything was recorded");
        last.iter().fold(failure, |failure, line| match line.strip_prefix("hint: ") {
            Some(hint) => failure.hint(hint),
            None => failure.detail(line.trim_start_matches("error: ")),
        })
    }
}

/// `app.out` beside `app.genba`, or the next free name.
fn printed_beside(recording: &Path) -> Result<(PathBuf, File), Failure> {
    let stem = recording.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    for number in 1..=NUMBER_MAX {
        let name = if number == 1 { format!("{stem}.out") } else { format!("{stem}-{number}.out") };
        let path = recording.with_file_name(name);
        match OpenOptions::new().append(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(Failure::no(format!(
                    "cannot keep what the program prints in {}: {}",
                    path.display(),
                    failure::of_system(&error)
                )));
            }
        }
    }
    Err(Failure::no(format!("{stem}.out and {NUMBER_MAX} names like it are taken")).hint("remove some of them"))
}

/// As the user would write it.
pub fn shown(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&here).unwrap_or(path).display().to_string()
}
