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
use crate::finish::{self, Added, SymbolsAt};
use crate::read::{self, FilterOptions, Format, RecordingArguments, SortBy, Stream, ViewOptions, WeightBy};
use crate::recording::RecordingOptions;
use crate::words::failure::{Failure, say};
use crate::words::numbers;
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

    /// Fold all but the first N rows; 0 folds none but what --min-share folds [default: 20 as text, else 0]
    #[arg(long, value_name = "N", value_parser = numbers::limit)]
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

impl ClosingOptions {
    /// Before the program starts: what is not counted has no report. `options`: those that count.
    pub fn check_counted(&self, options: &RecordingOptions) -> Result<(), Failure> {
        let (what, counts, option) = match self.view.weight {
            Some(WeightBy::Copied) => ("copied", options.records_copies(), "copies"),
            Some(WeightBy::Allocated) => ("allocated", options.records_allocations(), "alloc"),
            _ => return Ok(()),
        };
        if counts {
            return Ok(());
        }
        Err(Failure::usage(format!("--weight {what}: without --{option} no {what} bytes are recorded"))
            .hint(format!("--{option} --weight {what}")))
    }

    pub fn weighs_allocations(&self) -> bool {
        self.view.weight == Some(WeightBy::Allocated)
    }
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
    let weight = read::weight_of_view(&reading, arguments.view.weight, arguments.view.weight_set_at.as_deref())?;
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
        weight: weight.map(Into::into),
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

/// Adds the command's own blocks to a recording, and makes the report that ends a run, for stderr: the first rows, and the warnings under them.
/// `read`: the recording, and how many bytes of the file held it. Says what was left out, and what could not be written: the samples are there.
/// `options`: none with `--quiet`, which says errors alone.
pub fn append_and_close(
    path: &Path,
    read: (Recording, u64),
    added: &Added,
    options: Option<&ClosingOptions>,
) -> Option<String> {
    let (written, page) = match options {
        None => (added.append(path).map(drop), None),
        Some(options) => {
            let (written, page) = at_once(path, read, added, options);
            (written, Some(page))
        }
    };
    match written {
        Ok(()) if page.is_none() => {}
        Ok(()) => added.left_out.iter().for_each(|words| say(&format!("note: {words}"))),
        Err(failure) => drop(failure.print()),
    }
    page
}

/// Both at once. Where other processes of the run wrote to the file meanwhile, or it is damaged, the report is made of the file.
fn at_once(
    path: &Path,
    (mut recording, bytes): (Recording, u64),
    added: &Added,
    options: &ClosingOptions,
) -> (Result<(), Failure>, String) {
    added.complete(&mut recording);
    let of_memory = || closing(&recording, options);
    let (appended, page) = during("adding up samples", || finish::both(|| added.append(path), of_memory));
    let more_bytes = match appended {
        Ok(more_bytes) => more_bytes,
        Err(failure) => return (Err(failure), page),
    };
    let is_as_read = std::fs::metadata(path).is_ok_and(|found| found.len() == bytes + more_bytes);
    if is_as_read && recording.faults.is_empty() {
        return (Ok(()), page);
    }
    let whole = std::fs::read(path).ok().and_then(|bytes| genba_format::read(&bytes).ok());
    (Ok(()), whole.map_or(page, |whole| closing(&whole, options)))
}

fn closing(recording: &Recording, options: &ClosingOptions) -> String {
    let reading = Reading::of(build::profile(recording, &Additions::default()));
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
    let packages = nameless.map(|file| Warning::new(&file.words, with_names(&file)).to_string());
    warnings.into_iter().chain(packages).collect()
}

/// What would bring the names.
fn with_names(file: &Nameless) -> String {
    let path = Path::new(&file.path);
    if file.is_replaced {
        "the file is not the one that was loaded any more; record again".to_owned()
    } else if matches!(finish::symbols_of(path), Some(SymbolsAt::Own)) {
        "its symbol table does not tell them: its local symbols were removed, or assembly says no `.size`".to_owned()
    } else {
        packages::with_names_of(path, Path::new("/"))
    }
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

#[cfg(test)]
mod tests {
    use super::{ClosingOptions, append_and_close, closing, with_names};
    use crate::finish::{Added, Places, Seen, SourceText, Told};
    use clap::Parser;
    use genba_profile::nameless::Nameless;

    const RECORDING: &[u8] = include_bytes!("../../../../testdata/golden/v3.genba");

    #[derive(Parser)]
    struct Alone {
        #[command(flatten)]
        closing: ClosingOptions,
    }

    #[test]
    fn what_was_written_since_a_recording_was_read_is_in_its_report() {
        let options = Alone::parse_from(["genba"]).closing;
        let whole = genba_format::read(RECORDING).unwrap();
        let last = whole.blocks.iter().rfind(|read| read.samples.is_some()).unwrap().offset;
        let before = genba_format::read(&RECORDING[..usize::try_from(last).unwrap()]).unwrap();
        let path = std::env::temp_dir().join(format!("genba-closing-{}.genba", std::process::id()));
        std::fs::write(&path, RECORDING).unwrap();
        let told = Told::new();
        let added = Added::to(&before, Seen::default(), Places::own(&told, SourceText::None), 1);
        let page = append_and_close(&path, (before.clone(), last), &added, Some(&options));
        let of_file = genba_format::read(&std::fs::read(&path).unwrap()).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(of_file.blocks.len(), whole.blocks.len() + 1);
        assert_eq!(page.as_ref(), Some(&closing(&of_file, &options)));
        assert_ne!(page.as_ref(), Some(&closing(&before, &options)));
    }

    #[test]
    fn a_file_that_was_not_stripped_needs_no_other_build() {
        let helps =
            |path: &str| with_names(&Nameless { path: path.to_owned(), words: String::new(), is_replaced: false });
        let stripped = concat!(env!("CARGO_MANIFEST_DIR"), "/../names/tests/shop/shop.so");
        assert_eq!(helps(stripped), "a build with -g that is not stripped has them");
        let own = std::env::current_exe().unwrap();
        assert_eq!(
            helps(own.to_str().unwrap()),
            "its symbol table does not tell them: its local symbols were removed, or assembly says no `.size`"
        );
    }
}
