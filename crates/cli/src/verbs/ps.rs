//! `genba ps`: the Python processes of this machine, and whether genba may look at them.
//! Owns: the list. Never: shows a process that is no Python, unless its name says that it is one.

use std::process::ExitCode;

use clap::Args;
use genba_process::facts::{Facts, all_pids};
use genba_process::interpreter::{Search, find_in};
use genba_process::refusal::Refusal;
use genba_process::rights;
use genba_profile::report::printable;
use serde::Serialize;

use crate::read;
use crate::words::failure::Failure;

const COMMAND_CHARACTERS_MAX: usize = 60;

#[derive(Args)]
pub struct Arguments {
    /// What to print
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Format {
    Text,
    Json,
}

#[derive(Serialize)]
struct Row {
    pid: u32,
    user: u32,
    threads: u32,
    /// Null where it cannot be told.
    python: Option<String>,
    /// Whether `genba dump` reads it.
    readable: bool,
    /// Whether its threads may be stopped.
    stoppable: bool,
    reason: Option<String>,
    hint: Option<String>,
    argv: Vec<String>,
}

#[derive(Serialize)]
struct Page<'a> {
    format: &'static str,
    version: u32,
    processes: &'a [Row],
}

pub fn ps(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let own = std::process::id();
    let facts = all_pids().into_iter().filter(|&pid| pid != own).filter_map(|pid| Facts::of(pid).ok());
    let rows: Vec<Row> = facts.filter_map(row).collect();
    match arguments.format {
        Format::Json => {
            let page = Page { format: "genba-ps", version: 1, processes: &rows };
            let text = serde_json::to_string_pretty(&page);
            read::print(&(text.map_err(|error| Failure::ours(format!("cannot write JSON: {error}")))? + "\n"))?;
        }
        Format::Text => read::print(&text(&rows))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// `None`: no Python, as far as can be told.
fn row(facts: Facts) -> Option<Row> {
    let mut row = Row {
        pid: facts.pid,
        user: facts.users[1],
        threads: facts.threads,
        python: None,
        readable: false,
        stoppable: false,
        reason: None,
        hint: None,
        argv: facts.command_line.clone(),
    };
    let name =
        facts.executable.as_ref().and_then(|path| path.file_name()).map(|name| name.to_string_lossy().into_owned());
    let program = facts.command_line.first().map(|word| word.rsplit('/').next().unwrap_or(word).to_owned());
    let is_named = |name: &Option<String>| {
        name.as_ref().is_some_and(|name| name.starts_with("python") || name.starts_with("pypy"))
    };
    let is_likely = is_named(&name) || is_named(&program) || facts.name.starts_with("python");
    let stop = rights::check_stop(&facts);
    match find_in(facts, Search::Likely) {
        Ok(interpreter) => {
            row.python = Some(interpreter.version);
            row.readable = true;
            row.stoppable = stop.is_ok();
            if let Err(refusal) = stop {
                row.explain(&refusal);
            }
        }
        Err(refusal) => {
            let is_python = match &refusal {
                Refusal::UnknownVersion { version, .. }
                | Refusal::Musl { version, .. }
                | Refusal::Misfit { version, .. } => {
                    row.python = Some(version.clone());
                    true
                }
                Refusal::NotPython { .. }
                | Refusal::KernelThread { .. }
                | Refusal::Ended { .. }
                | Refusal::Zombie { .. } => false,
                _ => is_likely,
            };
            if !is_python {
                return None;
            }
            row.explain(&refusal);
        }
    }
    Some(row)
}

impl Row {
    fn explain(&mut self, refusal: &Refusal) {
        self.reason = Some(refusal.details().first().cloned().unwrap_or_else(|| refusal.to_string()));
        self.hint = Some(refusal.hint());
    }
}

fn text(rows: &[Row]) -> String {
    if rows.is_empty() {
        return "no Python process is visible here\n".to_owned();
    }
    let mut page =
        format!("{:>8}  {:>6}  {:<9}  {:>7}  {:<9}  {}\n", "PID", "USER", "PYTHON", "THREADS", "GENBA", "COMMAND");
    for row in rows {
        let python = row.python.as_deref().unwrap_or("?");
        let answer = match (row.readable, row.stoppable) {
            (true, true) => "yes",
            (true, false) => "read only",
            (false, _) => "no",
        };
        let command: String = printable(&row.argv.join(" ")).chars().take(COMMAND_CHARACTERS_MAX).collect();
        page += format!("{:>8}  {:>6}  {python:<9}  {:>7}  {answer:<9}  {command}", row.pid, row.user, row.threads)
            .trim_end();
        page.push('\n');
        if let Some(reason) = &row.reason {
            page += &format!("{:10}{}\n", "", printable(reason));
        }
        if let Some(hint) = &row.hint {
            page += &format!("{:10}hint: {}\n", "", printable(hint));
        }
    }
    page
}
