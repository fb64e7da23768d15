//! The process that `genba top PID` watches: another genba records it (`genba attach`), as long as this one holds the other end of a pipe.
//! Owns: that genba. Never: enters the process by itself, leaves the recording going on when the screen is gone, however it went.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use genba_process::interpreter::{self, Interpreter};

use crate::recording::output::{Holds, Output};
use crate::verbs::attach::{entering, family};
use crate::words::failure::{self, Failure};
use crate::words::refused::refused;

/// What `genba attach` says first when the agent has begun.
pub const BEGAN: &str = "recording process ";

pub struct Attaching {
    child: Child,
    pub recording: PathBuf,
}

impl Attaching {
    /// The interpreter of a process that genba may enter, as far as that is known beforehand.
    pub fn check(pid: u32) -> Result<Interpreter, Failure> {
        let interpreter = interpreter::find(pid).map_err(|refusal| refused(&refusal))?;
        entering::check(&interpreter)?;
        Ok(interpreter)
    }

    /// Comes back when the recording has begun.
    pub fn begin(pid: u32) -> Result<Attaching, Failure> {
        let interpreter = Attaching::check(pid)?;
        let facts = &interpreter.facts;
        let output = Output::create(Holds::Recording, None, false, &family::stem(facts), &[])?;
        let cannot =
            |error: std::io::Error| Failure::ours(format!("cannot start genba attach: {}", failure::of_system(&error)));
        let mut child = Command::new(std::env::current_exe().map_err(cannot)?)
            .args(["attach", "--until-stdin-ends", "--force", "-o"])
            .arg(&output.path)
            .arg(pid.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            // Ctrl-C is for the screen.
            .process_group(0)
            .spawn()
            .map_err(cannot)?;
        let mut said = BufReader::new(child.stderr.take().ok_or_else(|| Failure::ours("genba attach has no pipe"))?);
        let mut first = String::new();
        said.read_line(&mut first).map_err(cannot)?;
        if !first.starts_with(BEGAN) {
            let mut rest = String::new();
            let _ = said.read_to_string(&mut rest);
            let _ = child.wait();
            output.give_up();
            let words = format!("{first}{rest}");
            let mut lines = words.lines().map(str::trim);
            let what = lines.next().unwrap_or_default().trim_start_matches("error: ").to_owned();
            return Err(lines.fold(Failure::no(what), |failure, line| match line.strip_prefix("hint: ") {
                Some(hint) => failure.hint(hint),
                None => failure.detail(line),
            }));
        }
        // What it says at the end is not shown: the screen showed it.
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        Ok(Attaching { child, recording: output.path })
    }

    pub fn path(&self) -> &Path {
        &self.recording
    }

    /// Ends the recording in order, with names and sources; the process goes on.
    pub fn end(mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
