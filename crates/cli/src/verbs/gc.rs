//! `genba gc`: the garbage collections of a recording; `genba gc try` compares runs with another threshold, `genba gc cycles` looks at what
//! waits for the collector of a running process.
//! Owns: the options. Never: adds up collections or lays out text; genba-profile does.

mod attempt;
pub mod cycles;
mod format;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use genba_profile::collections::{json, summary, text, why_none};
use genba_profile::shell;

use crate::read::{self, ColourWhen, FilterOptions, RecordingArguments, Stream};
use crate::words::failure::Failure;
use format::TextOrJson;

#[derive(Args)]
#[command(
    override_usage = "genba gc [OPTIONS] [FILES]...\n       genba gc try [OPTIONS] --threshold N TARGET [ARGUMENTS]...\n       genba gc cycles [OPTIONS] PID|FILE",
    args_conflicts_with_subcommands = true
)]
pub struct Arguments {
    #[command(subcommand)]
    question: Option<Question>,

    #[command(flatten)]
    recordings: RecordingArguments,

    /// What to print
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,

    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        help = "Colour: auto, always or never",
        hide_possible_values = true
    )]
    color: ColourWhen,
}

#[derive(Subcommand)]
enum Question {
    /// Run a program as it is and with another threshold, in turns, and say what that changes
    Try(attempt::Arguments),

    /// Which garbage in cycles waits in a running process, or is in a file of --gc-cycles, who refers to whom, and what to drop
    Cycles(cycles::Arguments),
}

pub fn gc(arguments: &Arguments) -> Result<ExitCode, Failure> {
    match &arguments.question {
        Some(Question::Try(arguments)) => return attempt::attempt(arguments),
        Some(Question::Cycles(arguments)) => return cycles::cycles(arguments),
        None => {}
    }
    let recordings = arguments.recordings.open()?;
    let reading = recordings.filtered(&FilterOptions::default())?;
    let Some(summary) = summary(&reading.profile) else {
        return Err(none(&recordings.name(), &why_none(&reading.profile)));
    };
    match arguments.format {
        TextOrJson::Text => {
            let (width, paint) = (read::screen_width(Stream::Stdout), read::paint(arguments.color, Stream::Stdout));
            read::print(&text::text(&reading, &summary, width, paint))?;
        }
        TextOrJson::Json => {
            let json = json::json(&reading.profile, &summary);
            read::print(&json.map_err(|error| Failure::ours(format!("cannot write JSON: {error}")))?)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// `why`: what the recording itself says of it.
fn none(recording: &str, why: &[&str]) -> Failure {
    let mut failure = Failure::no(format!("{recording} has no garbage collections"));
    if why.is_empty() {
        return failure
            .detail("they are recorded only when that is asked for")
            .hint("genba run --gc app.py, or genba attach --gc PID");
    }
    for reason in why {
        failure = failure.detail(format!("they were asked for: {reason}"));
    }
    failure.hint(if why.iter().any(|reason| reason.contains("gc.callbacks")) {
        "a program that changes the list gc.callbacks, and puts no other one in its place, has them recorded".to_owned()
    } else {
        format!("genba report {} has all notes of the recording", shell::word(recording))
    })
}
