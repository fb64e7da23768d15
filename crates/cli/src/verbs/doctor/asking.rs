//! An interpreter is started and asked what it knows about itself, and looked at from outside meanwhile.
//! Owns: that one start, and its end. Never: judges the answer; waits without an end; starts an interpreter for a process that runs already.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use genba_process::interpreter::{self, Evidence, Interpreter};
use genba_process::refusal::Refusal;
use serde::Deserialize;

use super::first_line;
use crate::words::failure;

const SCRIPT: &str = include_str!("asked.py");

/// What the interpreter says.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Answer {
    pub version: String,
    pub implementation: String,
    pub executable: String,
    pub base_prefix: String,
    /// Names and values of `sysconfig`.
    pub config: BTreeMap<String, String>,
    /// `on`, `off` or `absent`; None: this version has no such thing to ask.
    pub jit: Option<String>,
    /// A function of `time`, and nanoseconds a call.
    pub clocks: Vec<(String, f64)>,
}

/// Its answer, and what genba finds in it.
pub struct Asked {
    pub answer: Answer,
    pub found: Result<Interpreter, Refusal>,
    pub evidence: Result<Evidence, Refusal>,
}

/// Err: why there is no answer, in words.
pub fn ask(python: &Path, with_clocks: bool) -> Result<Asked, String> {
    let mut command = Command::new(python);
    command.args(["-E", "-s", "-S", "-c", SCRIPT]).args(with_clocks.then_some("clock"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command
        .spawn()
        .map_err(|error| format!("cannot start {}: {}", python.display(), failure::of_system(&error)))?;
    let line = first_line::of(&mut child);
    let answer = line.as_deref().and_then(|line| serde_json::from_str::<Answer>(line).ok());
    let found = answer.is_some().then(|| (interpreter::find(child.id()), interpreter::evidence(child.id())));
    drop(child.stdin.take());
    if answer.is_none() {
        let _ = child.kill();
    }
    let _ = child.wait();
    match (answer, found) {
        (Some(answer), Some((found, evidence))) => Ok(Asked { answer, found, evidence }),
        _ => Err(format!("{} did not answer as a Python does", python.display())),
    }
}
