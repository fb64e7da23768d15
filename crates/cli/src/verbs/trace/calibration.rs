//! What counting one call takes on this machine, with the interpreter that was traced.
//! Owns: two short programs, one of them traced. Never: fails a run: what cannot be measured is not told.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::files::private_folder;
use crate::recording::session::Session;
use crate::verbs::run::interpreter;
use crate::verbs::run::target::{Kind, Program};

/// The shortest of some loops, in picoseconds a call, and the version.
const PROGRAM: &str = "
import sys, time
def call(): pass
def loop():
    begin = time.perf_counter_ns()
    for _ in range(20_000): call()
    return time.perf_counter_ns() - begin
print(min(loop() for _ in range(9)) // 20, '%d.%d.%d' % sys.version_info[:3])
";

#[derive(Default)]
pub struct Found {
    pub call_ps: u64,
    /// Of the interpreter; empty where it is not known.
    pub version: String,
}

/// None: the program is a command whose interpreter is not known before it runs, or that interpreter did not answer.
pub fn measure(program: &Program, agent: &Path) -> Option<Found> {
    let python = match program.kind {
        Kind::Interpreter => program.path.clone(),
        Kind::Command => interpreter::behind(program)?,
    };
    let folder = private_folder::make("genba-trace-").ok()?;
    let session = Session::of_trace(folder.path().join("calibration.prof"), None);
    let (alone_ps, version) = answer(Command::new(&python).env_remove("LD_PRELOAD"))?;
    let (traced_ps, _) =
        answer(Command::new(&python).env(Session::VARIABLE, session.encode()).env("LD_PRELOAD", agent))?;
    Some(Found { call_ps: traced_ps.saturating_sub(alone_ps), version })
}

fn answer(command: &mut Command) -> Option<(u64, String)> {
    let command = command.args(["-I", "-S", "-c", PROGRAM]).stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (ps, version) = text.trim().split_once(' ')?;
    Some((ps.parse().ok()?, version.to_owned()))
}
