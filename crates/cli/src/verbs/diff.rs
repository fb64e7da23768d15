//! `genba diff`: what changed between two recordings, or two sets of them, and whether the samples can tell.
//! Owns: the options, and which recordings stand on which side. Never: compares or lays out text; genba-profile does.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use genba_profile::difference_view::{comparison, json, markdown, text};
use genba_profile::shell;
use genba_pstats::{Order, difference};

use crate::read::{self, ColourWhen, ComparedBy, FilterOptions, Format, SideTimes, Sides, Stream, prof_file};
use crate::words::failure::Failure;
use crate::words::numbers;

/// What a screen shows; JSON leaves nothing out unless asked.
const ROWS_ON_SCREEN: usize = 20;
const WARNINGS_ON_SCREEN: usize = 6;

#[derive(Args)]
#[command(
    override_usage = "genba diff [OPTIONS] BEFORE AFTER\n       genba diff [OPTIONS] BEFORE... -- AFTER...\n       genba diff [OPTIONS] --before-time A..B --after-time C..D FILE"
)]
pub struct Arguments {
    /// Two recordings: before the change, and after it. With -- several of before it
    #[arg(value_name = "BEFORE", required = true)]
    before: Vec<PathBuf>,

    /// Several recordings of the program after the change: from three on each side on genba measures how much runs differ
    #[arg(value_name = "AFTER", last = true)]
    after: Vec<PathBuf>,

    /// What to compare: time per run, or samples [default: cpu, or wall when the program mostly waited]
    #[arg(long, value_name = "WEIGHT")]
    weight: Option<ComparedBy>,

    /// Where the weight is set, if a file or a variable has it
    #[arg(long, value_name = "PLACE", hide = true)]
    weight_set_at: Option<String>,

    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        help = "Colour: auto, always or never",
        hide_possible_values = true
    )]
    color: ColourWhen,

    #[command(flatten)]
    times: SideTimes,

    #[command(flatten)]
    filters: FilterOptions,

    /// Fold all but the first N rows; 0 shows all [default: 20 as text and Markdown, else 0]
    #[arg(long, value_name = "N", value_parser = numbers::limit)]
    limit: Option<usize>,

    /// What to print
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

pub fn diff(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if let ([before, after], []) | ([before], [after]) = (arguments.before.as_slice(), arguments.after.as_slice())
        && prof_file::has_counts(before)
        && prof_file::has_counts(after)
    {
        return difference_of_calls(before, after, arguments);
    }
    let files = (arguments.before.as_slice(), arguments.after.as_slice());
    let sides = Sides::open("diff", files, &arguments.times, &arguments.filters)?;
    let (before_runs, after_runs) = sides.runs()?;
    let set_at = arguments.weight_set_at.as_deref();
    let weight = read::compared_weight(&before_runs, &after_runs, arguments.weight, set_at)?;
    let comparison = comparison(&before_runs, &after_runs, weight.map(Into::into));
    let is_json = arguments.format == Format::Json;
    let limit = arguments.limit.unwrap_or(if is_json { 0 } else { ROWS_ON_SCREEN });
    let rows_max = (limit > 0).then_some(limit);
    let warnings = comparison.warnings();
    match arguments.format {
        Format::Text => {
            let (width, paint) = (read::screen_width(Stream::Stdout), read::paint(arguments.color, Stream::Stdout));
            read::print(&text::text(&comparison, rows_max, width, paint))?;
            let (shown, more) = warnings.split_at(warnings.len().min(WARNINGS_ON_SCREEN));
            read::warn(shown);
            if !more.is_empty() {
                read::warn(&[format!("{} more warnings (--format json has all of them)", more.len())]);
            }
        }
        Format::Json => {
            let json = json::json(&comparison, rows_max, &warnings);
            read::print(&json.map_err(|error| Failure::ours(format!("cannot write JSON: {error}")))?)?;
        }
        Format::Markdown => read::print(&markdown::markdown(&comparison, rows_max, &warnings))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Two `.prof` files: all calls were counted, and nothing tells how much their times differ from run to run.
fn difference_of_calls(before: &Path, after: &Path, arguments: &Arguments) -> Result<ExitCode, Failure> {
    if arguments.filters.are_any() || arguments.times.before_time.is_some() {
        return Err(Failure::usage("filters do not apply to counts of calls: they tell functions, not samples")
            .hint(format!("genba pstats {} --stats REGEX lists some functions", shell::path(before))));
    }
    let checked = match arguments.weight {
        Some(ComparedBy::Cpu) => Err(Failure::usage("counts of calls tell no CPU time")
            .hint("--weight wall orders functions by their time, --weight samples by their calls")),
        _ => Ok(()),
    };
    let order = match read::or_left_out(checked, arguments.weight, arguments.weight_set_at.as_deref())? {
        Some(ComparedBy::Samples) => Order::Calls,
        _ => Order::Time,
    };
    let is_json = arguments.format == Format::Json;
    let limit = arguments.limit.unwrap_or(if is_json { 0 } else { ROWS_ON_SCREEN });
    let mut shared = prof_file::Shared::default();
    let (before, after) = (prof_file::open(before, &mut shared)?, prof_file::open(after, &mut shared)?);
    let difference = difference(&before, &after, order, (limit > 0).then_some(limit));
    match arguments.format {
        Format::Text => read::print(&difference.text())?,
        Format::Markdown => read::print(&format!("```text\n{}```\n", difference.text()))?,
        Format::Json => {
            let json = difference.json();
            read::print(&json.map_err(|error| Failure::ours(format!("cannot write JSON: {error}")))?)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
