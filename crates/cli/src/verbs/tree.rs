//! `genba tree`: whole call paths, root to leaf, in both clocks.
//! Owns: the options. Never: builds the tree or lays out text; genba-profile does.

use std::process::ExitCode;

use clap::Args;
use genba_profile::paint::Paint;
use genba_profile::tree::{self, Options, Order, text};
use genba_profile::warnings::warnings;

use crate::read::{self, FilterOptions, Format, RecordingArguments, SortBy, Stream, ViewOptions};
use crate::words::failure::Failure;
use crate::words::numbers;

const SHARE_MIN: f64 = 0.01;

#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    recordings: RecordingArguments,

    #[command(flatten)]
    view: ViewOptions,

    #[command(flatten)]
    filters: FilterOptions,

    /// Show no more than N calls in each path
    #[arg(long, value_name = "N", value_parser = numbers::from::<u32>(1))]
    max_depth: Option<u32>,

    /// Order calls with one caller by all that passes through them (total) or by what ends in them (self)
    #[arg(long, value_name = "BY", default_value = "total")]
    sort: SortBy,

    /// Fold all but the first N calls of each caller; 0 shows all
    #[arg(long, value_name = "N", default_value = "0", value_parser = numbers::limit)]
    limit: usize,

    /// From the leaves to their callers
    #[arg(long, overrides_with = "no_inverted")]
    inverted: bool,

    /// Takes a setting back
    #[arg(long, hide = true, overrides_with = "inverted")]
    no_inverted: bool,

    /// Show every call: also the interpreter's own, and asyncio's above the work of its event loop
    #[arg(long)]
    whole: bool,

    /// What to print
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

pub fn tree(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let reading = arguments.recordings.open()?.filtered(&arguments.filters)?;
    let weight = read::weight_of_view(&reading, arguments.view.weight, arguments.view.weight_set_at.as_deref())?;
    let view = &arguments.view;
    let is_json = arguments.format == Format::Json;
    let options = Options {
        weight: weight.map(Into::into),
        show: view.show.into(),
        inverted: arguments.inverted,
        whole: arguments.whole,
        share_min: view.min_share.map_or(if is_json { 0.0 } else { SHARE_MIN }, |share| share.0),
        depth_max: arguments.max_depth.map(|calls| calls as usize),
        sort: arguments.sort.into(),
        children_max: (arguments.limit > 0).then_some(arguments.limit),
    };
    let tree = tree::tree(&reading, &options);
    match arguments.format {
        Format::Text => {
            let (width, paint) = (read::screen_width(Stream::Stdout), read::paint(view.color, Stream::Stdout));
            read::print(&text::text(&reading, &tree, &options, width, paint))?;
        }
        Format::Markdown => {
            read::print(&format!("```text\n{}```\n", text::text(&reading, &tree, &options, None, Paint::Plain)))?;
        }
        Format::Json => {
            let json = tree::json::json(&reading, &tree, &options);
            read::print(&json.map_err(|error| Failure::ours(format!("cannot write JSON: {error}")))?)?;
        }
    }
    read::warn(&warnings(&reading, tree.choice.weight));
    Ok(ExitCode::SUCCESS)
}

impl From<SortBy> for Order {
    fn from(by: SortBy) -> Order {
        match by {
            SortBy::Own => Order::Own,
            SortBy::Total => Order::Total,
        }
    }
}
