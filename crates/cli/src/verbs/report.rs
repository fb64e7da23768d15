//! `genba report`: which piece of the user's own code the time goes to.
//! Owns: the options and where the text goes. Never: adds up samples or lays out text; genba-profile does.

use std::path::Path;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use genba_format::Recording;
use genba_profile::build::{self, Additions};
use genba_profile::nameless::{Nameless, nameless};
use genba_profile::profile::Profile;
use genba_profile::reading::Reading;
use genba_profile::report::{self, By, Options, Report, json, markdown, text};
use genba_profile::verdict::Advice;
use genba_profile::warnings::warning::Warning;
use genba_profile::warnings::{beside_too_short, warnings};
use genba_profile::weight::Weight;

use crate::files::packages;
use crate::read::{self, FilterOptions, Format, RecordingArguments, SortBy, Stream, ViewOptions};
use crate::words::failure::Failure;
use crate::words::progress::during;

/// What a screen shows; the formats for machines leave nothing out unless asked.
const ROWS_ON_SCREEN: usize = 20;
const SHARE_MIN_ON_SCREEN: f64 = 0.01;
/// Of the report that ends a run.
const ROWS_AT_THE_END: usize = 5;

#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    recordings: RecordingArguments,

    /// What a row stands for
    #[arg(long, value_name = "WHAT", default_value = "expression")]
    by: RowsBy,

    #[command(flatten)]
    view: ViewOptions,

    #[command(flatten)]
    filters: FilterOptions,

    /// Order by what ends in a row (self) or by all that passes through it (total)
    #[arg(long, value_name = "BY", default_value = "self")]
    sort: SortBy,

    /// Fold all but the first N rows; 0 shows all [default: 20 as text, else 0]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,

    /// What to print
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

/// Those of the report that ends a run. A setting of `report` is one of these as well.
#[derive(Args)]
pub struct ClosingOptions {
    #[command(flatten)]
    view: ViewOptions,

    /// Order by what ends in a row (self) or by all that passes through it (total)
    #[arg(long, value_name = "BY", default_value = "self")]
    sort: SortBy,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum RowsBy {
    Expression,
    Line,
    Function,
    Module,
    Thread,
    Process,
    Test,
}

pub fn report(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let file = arguments.recordings.open()?;
    let reading = file.filtered(&arguments.filters)?;
    read::check_weight(&reading, arguments.view.weight)?;
    let on_screen = arguments.format == Format::Text;
    let view = &arguments.view;
    let share_min = match view.min_share {
        Some(share) => share.0,
        None if on_screen => SHARE_MIN_ON_SCREEN,
        None => 0.0,
    };
    let limit = arguments.limit.unwrap_or(if on_screen { ROWS_ON_SCREEN } else { 0 });
    let options = Options {
        by: arguments.by.into(),
        weight: view.weight.map(Into::into),
        show: view.show.into(),
        sort: arguments.sort.into(),
        share_min,
        rows_max: (limit > 0).then_some(limit),
    };
    let report = report::report(&reading, &options);
    let warnings = match arguments.format {
        Format::Json => and_packages(warnings(&reading, report.choice.weight), &reading, report.choice.weight),
        Format::Text | Format::Markdown => warnings_on_screen(&reading, &report),
    };
    match arguments.format {
        Format::Text => {
            let (width, paint) = (read::screen_width(Stream::Stdout), read::paint(view.color, Stream::Stdout));
            read::print(&text::text(&reading, &report, width, paint))?;
            read::warn(&warnings);
        }
        Format::Json => {
            let json = json::json(&reading, &report, &warnings);
            read::print(&json.map_err(|error| Failure::ours(format!("cannot write JSON: {error}")))?)?;
        }
        Format::Markdown => read::print(&markdown::markdown(&reading, &report, &warnings))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The report that ends a run, for stderr: the first rows, and the warnings under them. `recording` has the command's own blocks.
pub fn closing(recording: &Recording, options: &ClosingOptions) -> String {
    let profile = during("adding up samples", || build::profile(recording, &Additions::default()));
    let reading = Reading::of(profile);
    let (view, sort) = (&options.view, options.sort);
    let options = Options {
        weight: view.weight.map(Into::into),
        show: view.show.into(),
        sort: sort.into(),
        share_min: view.min_share.map_or(SHARE_MIN_ON_SCREEN, |share| share.0),
        rows_max: Some(ROWS_AT_THE_END),
        ..Options::default()
    };
    let report = report::report(&reading, &options);
    let (width, paint) = (read::screen_width(Stream::Stderr), read::paint(view.color, Stream::Stderr));
    let mut page = text::text(&reading, &report, width, paint);
    let warnings = warnings_on_screen(&reading, &report);
    for line in warnings.iter().flat_map(|warning| read::warning_lines(warning)) {
        page += &format!("{line}\n");
    }
    page
}

/// Those that neither the verdict nor the accounting says.
fn warnings_on_screen(profile: &Profile, report: &Report) -> Vec<String> {
    let weight = report.choice.weight;
    let warnings = match report.verdict.advice.contains(&Advice::RunLonger) {
        true => beside_too_short(profile, weight),
        false => warnings(profile, weight),
    };
    and_packages(warnings, profile, weight)
}

/// The warnings, and which package has the names that much of the time is missing.
fn and_packages(warnings: Vec<String>, profile: &Profile, weight: Weight) -> Vec<String> {
    let nameless = nameless(profile, weight).into_iter();
    let why = |file: &Nameless| match file.is_replaced {
        true => "the file is not the one that was loaded any more; record again".to_owned(),
        false => packages::with_names_of(Path::new(&file.path), Path::new("/")),
    };
    let packages = nameless.map(|file| Warning::new(&file.words, why(&file)).to_string());
    warnings.into_iter().chain(packages).collect()
}

impl From<RowsBy> for By {
    fn from(by: RowsBy) -> By {
        match by {
            RowsBy::Expression => By::Expression,
            RowsBy::Line => By::Line,
            RowsBy::Function => By::Function,
            RowsBy::Module => By::Module,
            RowsBy::Thread => By::Thread,
            RowsBy::Process => By::Process,
            RowsBy::Test => By::Test,
        }
    }
}
