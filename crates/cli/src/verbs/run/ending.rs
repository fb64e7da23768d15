//! What is said when the program ended: whether a Python was in it, which processes were refused, who still runs.
//! Owns: those words and the look at /proc that they need. Never: prints the report itself, waits for children.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use genba_format::Recording;
use genba_profile::profile::NotFollowed;
use genba_profile::shell;
use genba_profile::{figures, not_followed};

use super::interpreter::Known;
use super::start::Ending;
use super::target::{Kind, Program};
use crate::recording::output::{Nothing, Output};
use crate::recording::session::Session;
use crate::words::failure::Failure;

/// At most this many processes are named one by one.
const NAMED_MAX: usize = 5;
/// And this many programs.
const PROGRAMS_MAX: usize = 12;

/// A process that was started under this recording and has not ended.
pub struct StillRunning {
    pub pid: u32,
    pub name: String,
}

/// Processes whose environment names this recording. Those of other users cannot be seen.
pub fn still_running(session: &Session) -> Vec<StillRunning> {
    let mut assignment = format!("{}=", Session::VARIABLE).into_bytes();
    assignment.extend_from_slice(session.encode().as_bytes());
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut found: Vec<StillRunning> = entries
        .filter_map(|entry| {
            let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
            let environment = fs::read(entry.path().join("environ")).ok()?;
            environment.split(|byte| *byte == 0).any(|variable| variable == assignment).then_some(())?;
            let name = fs::read_to_string(entry.path().join("comm")).ok()?;
            Some(StillRunning { pid, name: name.trim_end().to_owned() })
        })
        .collect();
    found.sort_by_key(|process| process.pid);
    found
}

pub fn words_for_still_running(processes: &[StillRunning], shown: &str) -> Option<String> {
    if processes.is_empty() {
        return None;
    }
    let mut named: Vec<String> =
        processes.iter().take(NAMED_MAX).map(|process| format!("{} {}", process.pid, process.name)).collect();
    if processes.len() > NAMED_MAX {
        named.push(format!("and {} more", processes.len() - NAMED_MAX));
    }
    let count = figures::counted(
        processes.len() as u64,
        "process that it started still runs",
        "processes that it started still run",
    );
    Some(format!("note: {count} ({}); {shown} may still grow", named.join(", ")))
}

pub fn has_python(recording: &Recording) -> bool {
    recording.blocks.iter().any(|read| read.block.start.is_some())
}

/// It begins with a later block of a process: somebody made the file shorter, and the process went on.
pub fn is_beheaded(recording: &Recording) -> bool {
    recording.blocks.first().is_some_and(|first| first.offset == 0 && first.header.sequence > 0)
}

/// No process wrote a start block. The command's exit code stays unless it was 0; where it ran and the file alone is to blame, it stays.
pub fn no_python(
    program: &Program,
    known: Known,
    nothing: Option<(Nothing, &Output)>,
    ending: &Ending,
    not_followed: &[NotFollowed],
    running: &[StillRunning],
) -> Failure {
    let exit_code = ending.exit_code();
    // A full disk tells nothing of a command that may have started no Python.
    if let Some((why, output)) =
        nothing.filter(|(why, _)| known == Known::Python || matches!(why, Nothing::Shortened | Nothing::Unread))
    {
        return output.nothing(why).with_exit_code(exit_code);
    }
    let failure = match known {
        Known::Nothing => of_command(program, ending, not_followed, running),
        Known::Python => {
            Failure::no(format!("nothing was recorded: {} ended before genba's library began", program.path.display()))
                .detail(format!("it {}", ending.words()))
                .detail("ld.so says above why it could not load the library")
                .hint(format!("try it without genba: {} {}", shell::path(&program.path), shown_words(program)))
        }
    };
    failure.with_exit_code(exit_code.max(1))
}

fn of_command(program: &Program, ending: &Ending, not_followed: &[NotFollowed], running: &[StillRunning]) -> Failure {
    let name = program.name.display();
    let missed = not_followed::warning(not_followed).map(|warning| warning.to_string());
    let mut failure = match &missed {
        Some(missed) => Failure::no("no Python was recorded").detail(missed),
        None => Failure::no("no Python in the command"),
    };
    let programs: Vec<&str> = ending.seen.programs.iter().take(PROGRAMS_MAX).map(String::as_str).collect();
    let more = ending.seen.programs.len().saturating_sub(programs.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    failure = failure.detail(format!("{} {}", shown_command(program), ending.words()));
    if !programs.is_empty() {
        let no_python = if missed.is_some() { "" } else { ", but no CPython" };
        failure = failure.detail(format!("seen in it: {}{more}{no_python}", programs.join(", ")));
    }
    let named_python = programs.iter().find(|name| name.starts_with("python")).filter(|_| missed.is_none());
    if let Some(name) = named_python {
        failure = failure.detail(format!("or {name} is one, and could write nothing: a full disk, a file-size limit"));
    }
    failure = not_followed::words(not_followed).into_iter().fold(failure, Failure::detail);
    if !running.is_empty() {
        let count = figures::counted(running.len() as u64, "process", "processes");
        failure = failure.detail(format!("{count} that it started still run in the background"));
    }
    if missed.is_some() {
        return failure;
    }
    let is_shell =
        ["sh", "bash", "dash", "zsh"].iter().any(|shell| program.path.file_name() == Some(OsStr::new(shell)));
    match program.kind {
        Kind::Interpreter => failure.hint(format!(
            "{name} may be a script that looks for an interpreter; name the interpreter itself: genba run --python PATH {}",
            shown_words(program)
        )),
        Kind::Command if is_shell => failure.hint("genba run app.py records a script without the shell"),
        Kind::Command => failure
            .hint("name the Python program itself: genba run app.py, genba run -m module, or genba run python app.py"),
    }
}

fn shown_command(program: &Program) -> String {
    let words = shown_words(program);
    let name = Path::new(&program.name).display();
    if words.is_empty() { format!("`{name}`") } else { format!("`{name} {words}`") }
}

fn shown_words(program: &Program) -> String {
    let words: Vec<String> = program.arguments.iter().map(|word| shell::word(&word.to_string_lossy())).collect();
    words.join(" ")
}
