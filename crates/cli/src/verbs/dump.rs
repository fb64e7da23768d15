//! `genba dump`: what every thread of a running Python process is doing now. Nothing is put into the process.
//! Owns: the options, which processes are looked at. Never: decides whether a look may be believed (genba-process does).

mod dumped;
mod json;
mod sources;
mod states;
mod text;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use genba_process::refusal::Refusal;
use genba_process::snapshot::Wanted;
use genba_process::threads;

use crate::read::{self, ColourWhen, Stream};
use crate::words::failure::Failure;
use crate::words::pids;
use crate::words::refused::refused;
use dumped::{dumped, dumped_core};

#[derive(Args)]
pub struct Arguments {
    /// The process
    #[arg(value_name = "PID", value_parser = pids::pid)]
    pid: Option<u32>,

    /// Read a core file in place of a process
    #[arg(long, value_name = "FILE", conflicts_with_all = ["pid", "children"])]
    core: Option<PathBuf>,

    /// Show the local variables of each frame: types and sizes, and short values of int, float, bool, None, str and bytes
    #[arg(long)]
    locals: bool,

    /// C frames too, as far as the registers are known: of a sleeping thread only some are
    #[arg(long)]
    native: bool,

    /// Its Python child processes too, and theirs
    #[arg(long)]
    children: bool,

    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        help = "Colour: auto, always or never",
        hide_possible_values = true
    )]
    color: ColourWhen,

    /// What to print
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Format {
    Text,
    Json,
}

pub fn dump(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let wanted = Wanted { locals: arguments.locals, native: arguments.native };
    let mut found = Vec::new();
    let mut left_out = Vec::new();
    let of_core = arguments.core.iter().map(|core| dumped_core(core, wanted));
    for answer in of_core.chain(pids(arguments).into_iter().map(|pid| dumped(pid, wanted))) {
        match answer {
            Ok(process) => found.push(process),
            Err(refusal) => left_out.push(refusal),
        }
    }
    if arguments.pid.is_none() && arguments.core.is_none() {
        return Err(Failure::usage("no process is named").hint("genba dump PID; genba ps lists the Python processes"));
    }
    if found.is_empty() {
        // The first one is the process that was asked for.
        return Err(left_out.first().map_or_else(|| Failure::no("nothing to look at"), refused));
    }
    // Among its relatives those that are no Python processes, or ended, are no news.
    left_out.retain(|refusal| {
        !matches!(
            refusal,
            Refusal::NotPython { .. } | Refusal::NoSuchProcess { .. } | Refusal::Ended { .. } | Refusal::Zombie { .. }
        )
    });
    let warnings: Vec<String> =
        left_out.iter().map(|refusal| format!("{refusal}: {}", refusal.details().join("; "))).collect();
    match arguments.format {
        Format::Text => {
            let paint = read::paint(arguments.color, Stream::Stdout);
            read::print(&text::text(&found, paint))?;
            read::warn(&warnings);
        }
        Format::Json => {
            let page = json::json(&found, &warnings);
            read::print(&page.map_err(|error| Failure::ours(format!("cannot write JSON: {error}")))?)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The process, and with `--children` those below it, each after its parent.
fn pids(arguments: &Arguments) -> Vec<u32> {
    let mut found: Vec<u32> = arguments.pid.into_iter().collect();
    let mut next = 0;
    while let Some(&pid) = found.get(next).filter(|_| arguments.children) {
        let more: Vec<u32> = threads::children(pid).into_iter().filter(|child| !found.contains(child)).collect();
        found.extend(more);
        next += 1;
    }
    found
}
