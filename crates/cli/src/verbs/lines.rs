//! `genba lines`: the source of the user's own code, with what each line costs.
//! Owns: the options and where the text goes. Never: adds up samples or lays out text; genba-profile does.

use std::path::Path;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use genba_profile::glob::Glob;
use genba_profile::lines::{self, Options, json, markdown, text};
use genba_profile::profile::{Home, Profile};
use genba_profile::shell;
use genba_profile::warnings::warnings;
use regex::Regex;

use crate::read::{self, ColourWhen, FilterOptions, Format, MinShare, RecordingArguments, SortBy, Stream, WeightBy};
use crate::words::failure::Failure;
use crate::words::numbers;

/// What a screen shows; JSON leaves nothing out unless asked.
const FUNCTIONS_ON_SCREEN: usize = 5;
const SHARE_MIN_ON_SCREEN: f64 = 0.01;

#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    recordings: RecordingArguments,

    /// Only functions whose qualified name matches, however little they weigh
    #[arg(long, value_name = "REGEX", value_parser = read::pattern)]
    function: Option<Regex>,

    /// Only source files that match, such as app.py or 'json/*.py'; they count as your own code here
    #[arg(long = "file", value_name = "GLOB", value_parser = Glob::new)]
    source: Option<Glob>,

    #[command(flatten)]
    filters: FilterOptions,

    /// What to weigh by [default: cpu, or wall when the program mostly waited]
    #[arg(long, value_name = "WEIGHT")]
    weight: Option<WeightBy>,

    /// Where the weight is set, if a file or a variable has it
    #[arg(long, value_name = "PLACE", hide = true)]
    weight_set_at: Option<String>,

    /// As in report and tree, where it matters: here what C did below a line is the line's, and time in C alone has no line
    #[arg(long = "show", value_name = "WHAT", default_value = "both")]
    _show: ShowInLines,

    /// Order functions and marks by what ends in them (self) or by all that passes through them (total)
    #[arg(long, value_name = "BY", default_value = "self")]
    sort: SortBy,

    /// Fold functions, lines and marks with a smaller share, e.g. 1% or 0
    #[arg(long, value_name = "PERCENT")]
    min_share: Option<MinShare>,

    /// Fold all but the first N functions; 0 folds none but what --min-share folds [default: 5, in JSON 0]
    #[arg(long, value_name = "N", value_parser = numbers::limit)]
    limit: Option<usize>,

    /// What to print
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,

    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        help = "Colour: auto, always or never",
        hide_possible_values = true
    )]
    color: ColourWhen,
}

/// No `c`: a share of lines without Python would be a filter that looks like a view.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum ShowInLines {
    Both,
    Python,
}

pub fn lines(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let opened = arguments.recordings.open().map_err(|failure| source_named(arguments).unwrap_or(failure))?;
    let reading = opened.filtered(&arguments.filters)?;
    let weight = read::weight_of_view(&reading, arguments.weight, arguments.weight_set_at.as_deref())?;
    let for_machines = arguments.format == Format::Json;
    let share_min = match arguments.min_share {
        Some(share) => share.0,
        None if for_machines => 0.0,
        None => SHARE_MIN_ON_SCREEN,
    };
    let limit = arguments.limit.unwrap_or(if for_machines { 0 } else { FUNCTIONS_ON_SCREEN });
    let options = Options {
        weight: weight.map(Into::into),
        sort: arguments.sort.into(),
        share_min,
        functions_max: (limit > 0).then_some(limit),
        function: arguments.function.clone(),
        file: arguments.source.clone(),
    };
    let lines = lines::lines(&reading, &options).ok_or_else(|| nothing_fits(&reading, arguments))?;
    let warnings = warnings(&reading, lines.choice.weight);
    match arguments.format {
        Format::Text => {
            let (width, paint) = (read::width(Stream::Stdout), read::paint(arguments.color, Stream::Stdout));
            read::print(&text::text(&reading, &lines, width, paint))?;
            read::warn(&warnings);
        }
        Format::Json => {
            let json = json::json(&reading, &lines, &warnings);
            read::print(&json.map_err(|error| Failure::ours(format!("cannot write JSON: {error}")))?)?;
        }
        Format::Markdown => read::print(&markdown::markdown(&reading, &lines, &warnings))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// `genba lines app.py app.genba`: a source is named where recordings are. None: there is no recording whose lines are meant.
fn source_named(arguments: &Arguments) -> Option<Failure> {
    let (sources, others) = arguments.recordings.sources_and_others();
    let source = sources.into_iter().find(|source| arguments.source.is_none() && source.is_file())?;
    if others.is_empty() {
        read::newest_here().ok()?;
    }
    let name = shell::path(Path::new(source.file_name()?));
    let others: String = others.iter().map(|path| format!(" {}", shell::path(path))).collect();
    let failure = Failure::no(format!("{} is not a recording", source.display()));
    Some(failure.detail("it is Python source").hint(format!("genba lines --file {name}{others}")))
}

/// The command that shows functions of the name that are in code of others. None: there are none.
fn elsewhere(profile: &Profile, arguments: &Arguments) -> Option<String> {
    let function = arguments.function.as_ref()?;
    let homes = profile.functions.iter().filter(|row| function.is_match(&row.name)).filter_map(|row| match row.home {
        Home::Python { file, .. } => Some(profile.files[file].path.as_str()),
        Home::C { .. } | Home::Mark => None,
    });
    // Brackets and stars would be a pattern's own.
    let mut names =
        homes.map(|path| path.rsplit('/').next().unwrap_or(path)).filter(|name| !name.contains(['*', '?', '[']));
    let file = names.next()?;
    let recordings: String =
        arguments.recordings.files().iter().map(|path| format!(" {}", shell::path(path))).collect();
    Some(format!("genba lines --function {} --file {}{recordings}", shell::word(function.as_str()), shell::word(file)))
}

fn nothing_fits(profile: &Profile, arguments: &Arguments) -> Failure {
    let Some(source) = &arguments.source else {
        let function = arguments.function.as_ref().map(Regex::as_str).unwrap_or_default();
        let hint = elsewhere(profile, arguments).unwrap_or_else(|| {
            "genba report --by function --limit 0 shows the names; --file GLOB shows libraries too".to_owned()
        });
        return Failure::no(format!("no function of your own code with samples matches `{function}`")).hint(hint);
    };
    if profile.files.iter().any(|file| source.matches_end_of_path(&file.path)) {
        return Failure::no(format!("no function with samples matches in `{}`", source.as_str()))
            .hint("leave --function or a filter out to see what there is");
    }
    Failure::no(format!("no source file of this recording matches `{}`", source.as_str()))
        .detail(format!("found: {}", read::listed(&lines::files(profile))))
        .hint("the end of a path is enough; * and ? stand for any")
}
