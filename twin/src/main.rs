//! The slow twin: a sampler that stops the program, reads everything from outside, and lets it go on. Tests hold genba
//! against it. `watch` samples a process, `recording` writes the stacks of a recording in the same text. `image` records memory for tests.
//! Owns: the command line. Never: shares code with what it judges, except `cfi.rs`, whose rows are one of the two
//! unwinders compared.

mod arguments;
// The agent's own compiler of rows: this file and no other.
#[path = "../../crates/agent/src/reading/cfi.rs"]
#[allow(dead_code, reason = "the agent asks it for more")]
mod cfi;
mod distribution;
mod files;
mod image;
mod merging;
mod process;
mod python;
mod recording;
mod stopping;
mod unwinding;
mod watch;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments::read(&arguments).and_then(arguments::Verb::run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            eprintln!("error: {text}");
            ExitCode::FAILURE
        }
    }
}
