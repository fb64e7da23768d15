//! `genba gc cycles`: the garbage in cycles that waits for the collector of a running Python process, or waited for it, and what to drop.
//! Owns: the options. Never: looks for a cycle itself: the agent does, inside the process.

mod breaking;
pub mod collector;
mod drawing;
mod graph;
pub mod kept_files;
mod kinds;
pub mod page;
mod text;
mod words;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueHint};
use genba_process::interpreter;
use genba_profile::shell;

use super::format::TextOrJson;
use crate::files::own_file::MARKED_HEAD;
use crate::read;
use crate::verbs::attach::entering;
use crate::verbs::export::delivered_to;
use crate::verbs::heap::asking::{self, Wants};
use crate::verbs::heap::choice::{self, Wish};
use crate::verbs::heap::interrupt::Interrupt;
use crate::words::failure::{Failure, say};
use crate::words::numbers;
use crate::words::pids::{self, Target};
use crate::words::progress::during;
use crate::words::refused::refused;
use page::{Page, kept};

const KINDS_ON_SCREEN: usize = 10;

#[derive(Args)]
pub struct Arguments {
    /// The process; genba ps lists those of Python. Or a file that --gc-cycles has kept
    #[arg(value_name = "PID|FILE", value_parser = pids::process_or_file(), value_hint = ValueHint::FilePath)]
    target: Target,

    /// Show so many kinds of cycles; 0 shows all [default: 10, in JSON 0]
    #[arg(long, value_name = "N", value_parser = numbers::limit)]
    limit: Option<usize>,

    /// Look at a copy of the process, or fail: the program is held only while the copy is made
    #[arg(long, conflicts_with = "in_place")]
    fork: bool,

    /// Hold the program for the whole time, and make no copy
    #[arg(long)]
    in_place: bool,

    /// Draw each kind of cycles, and the reference to drop, on a page that needs nothing else, no network either; - is stdout
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath, conflicts_with = "format")]
    output: Option<PathBuf>,

    /// What to print
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
}

pub fn cycles(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let is_json = arguments.format == TextOrJson::Json;
    let limit = arguments.limit.unwrap_or(if is_json { 0 } else { KINDS_ON_SCREEN });
    let limit = (limit > 0).then_some(limit);
    let page = match &arguments.target {
        Target::Process(pid) => looked_at(*pid, Wish::of(arguments.fork, arguments.in_place), limit)?,
        Target::File(path) if arguments.fork || arguments.in_place => {
            return Err(Failure::usage("--fork and --in-place apply to a process, not to a file")
                .hint(format!("genba gc cycles {}", shell::path(path))));
        }
        Target::File(path) => kept::open(path, limit)?,
    };
    // A page that goes to the screen or a pipe is alone there.
    let is_stream =
        |output: &PathBuf| output == Path::new("-") || output.exists() && !output.is_file() && !output.is_dir();
    if !arguments.output.as_ref().is_some_and(is_stream) {
        if is_json { read::print(&page.json()?) } else { read::print_wrapped(&text::text(&page)) }?;
    }
    if let Some(output) = &arguments.output {
        let drawn = genba_page::cycles_page(&drawing::numbers(&page)?, MARKED_HEAD);
        let drawn = drawn.map_err(|why| Failure::ours(why.to_string()))?;
        if let Some(written) = delivered_to(output, |out| out.write_all(drawn.as_bytes()))? {
            say(&format!("wrote {}: open it in a browser", written.path.display()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn looked_at(pid: u32, wish: Wish, limit: Option<usize>) -> Result<Page, Failure> {
    let interpreter = interpreter::find(pid).map_err(|refusal| refused(&refusal))?;
    collector::check_version(&interpreter.version, interpreter.facts.pid)?;
    entering::check(&interpreter)?;
    let choice = choice::choose(&interpreter, wish);
    let wants = Wants { cycles: true, ..Wants::default() };
    let interrupt = Interrupt::watch()?;
    let asked = during("looking for cycles", || asking::ask(&interpreter, &choice, wants, &interrupt))?;
    Page::new(&interpreter, &choice, asked, limit)
}
