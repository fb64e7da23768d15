//! The process that `genba top PID` watches: another genba records it (`genba attach`), as long as this one holds the other end of a pipe.
//! Owns: that genba. Never: enters the process by itself, leaves the recording going on when the screen is gone, however it went.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

use genba_process::interpreter::{self, Interpreter};

use super::passed::Passed;
use crate::recording::output::{Holds, Output};
use crate::verbs::attach::missed::Missed;
use crate::verbs::attach::{BEGAN, entering, family};
use crate::words::failure::{self, Failure};
use crate::words::refused::refused;

pub struct Attaching {
    child: Child,
    pub recording: PathBuf,
    missed: Receiver<Missed>,
    /// What it says on stderr, when it has ended.
    said: JoinHandle<String>,
}

impl Attaching {
    /// The interpreter of a process that genba may enter, as far as that is known beforehand.
    pub fn check(pid: u32) -> Result<Interpreter, Failure> {
        let interpreter = interpreter::find(pid).map_err(|refusal| refused(&refusal))?;
        entering::check(&interpreter)?;
        Ok(interpreter)
    }

    /// Comes back when the recording has begun.
    pub fn begin(pid: u32, passed: &Passed) -> Result<Attaching, Failure> {
        let interpreter = Attaching::check(pid)?;
        let facts = &interpreter.facts;
        let output = Output::create(Holds::Recording, passed.output.as_deref(), false, &family::stem(facts), &[])?;
        let cannot =
            |error: std::io::Error| Failure::ours(format!("cannot start genba attach: {}", failure::of_system(&error)));
        let mut child = Command::new(std::env::current_exe().map_err(cannot)?)
            .args(["attach", "--until-stdin-ends", "--quiet", "--force", "-o"])
            .arg(&output.path)
            .args(passed.words())
            .arg(pid.to_string())
            // The options of the screen are all there is to set: a `duration` would end the recording under it.
            .env("GENBA_SETTINGS", "none")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C is for the screen.
            .process_group(0)
            .spawn()
            .map_err(cannot)?;
        let no_pipe = || Failure::ours("genba attach has no pipe");
        let mut stdout = BufReader::new(child.stdout.take().ok_or_else(no_pipe)?);
        let mut stderr = child.stderr.take().ok_or_else(no_pipe)?;
        // Shown when the screen is gone: without the report and its size, which the screen showed (`--quiet`).
        let said = std::thread::spawn(move || {
            let mut words = Vec::new();
            let _ = stderr.read_to_end(&mut words);
            String::from_utf8_lossy(&words).into_owned()
        });
        let mut first = String::new();
        let has_begun = stdout.read_line(&mut first).is_ok() && first == BEGAN;
        if !has_begun {
            let _ = child.wait();
            output.give_up();
            let words = said.join().unwrap_or_default();
            let mut lines = words.lines().map(str::trim);
            let what =
                lines.next().unwrap_or("genba attach ended without a word").trim_start_matches("error: ").to_owned();
            return Err(lines.fold(Failure::no(what), |failure, line| match line.strip_prefix("hint: ") {
                Some(hint) => failure.hint(hint),
                None => failure.detail(line),
            }));
        }
        Ok(Attaching { child, recording: output.path, missed: missed_of(stdout), said })
    }

    /// The processes that it could not record, each once.
    pub fn missed(&self) -> impl Iterator<Item = Missed> {
        self.missed.try_iter()
    }

    pub fn path(&self) -> &Path {
        &self.recording
    }

    /// Ends the recording in order, with names and sources; the process goes on. What there is to be said of it, in words.
    pub fn end(mut self) -> String {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
        self.said.join().unwrap_or_default()
    }
}

/// Read to its end, also when nobody asks any more: the other genba must not wait for room in the pipe.
fn missed_of(stdout: BufReader<ChildStdout>) -> Receiver<Missed> {
    let (send, missed) = channel();
    std::thread::spawn(move || {
        for line in stdout.lines().map_while(Result::ok) {
            if let Some(one) = Missed::of_line(&line) {
                let _ = send.send(one);
            }
        }
    });
    missed
}
