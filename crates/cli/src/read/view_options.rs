//! Options that several readers have in common, as clap reads them.
//! Owns: their spelling. Never: gives an option a meaning of its own; genba-profile does.

use std::str::FromStr;

use clap::{Args, ValueEnum};
use genba_profile::difference_view::{Run, without};
use genba_profile::reading::Reading;
use genba_profile::report::Sort;
use genba_profile::show::Show;
use genba_profile::weight::Weight;

use crate::words::failure::{Failure, say};

#[derive(Args)]
pub struct ViewOptions {
    /// What to weigh by [default: cpu, or wall when the program mostly waited]
    #[arg(long, value_name = "WEIGHT")]
    pub weight: Option<WeightBy>,

    /// Where the weight is set, if a file or a variable has it
    #[arg(long, value_name = "PLACE", hide = true)]
    pub weight_set_at: Option<String>,

    /// Which frames to show; the time of those left out goes to their callers
    #[arg(long, value_name = "WHAT", default_value = "both")]
    pub show: ShowWhat,

    /// Fold what has a smaller share, e.g. 1% or 0
    #[arg(long, value_name = "PERCENT")]
    pub min_share: Option<MinShare>,

    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        help = "Colour: auto, always or never",
        hide_possible_values = true
    )]
    pub color: ColourWhen,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum WeightBy {
    Cpu,
    Wall,
    /// Observations of running threads
    Samples,
    /// Bytes copied, of a recording made with --copies
    Copied,
    /// Bytes asked for of the allocators, of a recording made with --alloc
    Allocated,
}

impl From<WeightBy> for Weight {
    fn from(by: WeightBy) -> Weight {
        match by {
            WeightBy::Cpu => Weight::Cpu,
            WeightBy::Wall => Weight::Wall,
            WeightBy::Samples => Weight::Samples,
            WeightBy::Copied => Weight::Copied,
            WeightBy::Allocated => Weight::Allocated,
        }
    }
}

/// The weights of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ComparedBy {
    Cpu,
    Wall,
    /// Observations of running threads
    Samples,
}

impl From<ComparedBy> for Weight {
    fn from(by: ComparedBy) -> Weight {
        match by {
            ComparedBy::Cpu => Weight::Cpu,
            ComparedBy::Wall => Weight::Wall,
            ComparedBy::Samples => Weight::Samples,
        }
    }
}

/// The weight to compare two sides by. `set_at`: where it is set; a setting that a file does not tell is left out, with a note.
///
/// # Errors
/// It was typed, and a file does not tell it.
pub fn compared_weight(
    before: &[Run],
    after: &[Run],
    by: Option<ComparedBy>,
    set_at: Option<&str>,
) -> Result<Option<ComparedBy>, Failure> {
    or_left_out(check_compared_weight(before, after, by), by, set_at)
}

/// A setting is meant for all files, so one of them that does not tell it is no error.
pub fn or_left_out<By>(
    checked: Result<(), Failure>,
    by: Option<By>,
    set_at: Option<&str>,
) -> Result<Option<By>, Failure> {
    match (checked, set_at) {
        (Err(failure), Some(place)) => {
            say(&format!("note: {place}: `weight` is left out: {}", failure.in_two().0));
            Ok(None)
        }
        (checked, _) => checked.map(|()| by),
    }
}

/// Whether two sides can be compared by that weight.
///
/// # Errors
/// A file does not tell it.
pub fn check_compared_weight(before: &[Run], after: &[Run], by: Option<ComparedBy>) -> Result<(), Failure> {
    let Some(by) = by else { return Ok(()) };
    let what = match by {
        ComparedBy::Cpu => "CPU time",
        ComparedBy::Wall => "wall time",
        ComparedBy::Samples => "samples",
    };
    let Some(run) = without(before, after, by.into()) else { return Ok(()) };
    let told = [Weight::Cpu, Weight::Wall, Weight::Samples]
        .into_iter()
        .find(|weight| without(before, after, *weight).is_none());
    let failure = Failure::no(format!("{} tells no {what}", run.name))
        .detail("a file of another profiler has what that profiler stored");
    Err(match told {
        Some(told) => failure.hint(format!("--weight {} compares what all of these files tell", told.key())),
        None => failure,
    })
}

/// The weight of a view. `set_at`: where it is set; a setting that the file does not tell is left out, with a note.
///
/// # Errors
/// It was typed, and the file does not tell it.
pub fn weight_of_view(
    reading: &Reading,
    weight: Option<WeightBy>,
    set_at: Option<&str>,
) -> Result<Option<WeightBy>, Failure> {
    or_left_out(check_weight(reading, weight), weight, set_at)
}

/// Whether a recording can be weighed so.
///
/// # Errors
/// It cannot.
pub fn check_weight(reading: &Reading, weight: Option<WeightBy>) -> Result<(), Failure> {
    if weight == Some(WeightBy::Copied) && !reading.counts_copies() {
        return Err(Failure::no("this recording does not tell copied bytes")
            .detail("it was made without --copies")
            .hint("record anew: genba run --copies app.py"));
    }
    if weight == Some(WeightBy::Allocated) && !reading.counts_allocations() {
        return Err(Failure::no("this recording does not tell allocated bytes")
            .detail("it was made without --alloc")
            .hint("record anew: genba run --alloc app.py"));
    }
    let what = match weight {
        Some(WeightBy::Cpu) if !reading.tells(Weight::Cpu) => "CPU time",
        Some(WeightBy::Wall) if !reading.tells(Weight::Wall) => "wall time",
        _ => return Ok(()),
    };
    let failure = match reading.counts_calls() {
        true => Failure::usage(format!("counts of calls tell no {what}")),
        false => Failure::usage(format!("an imported file tells no {what}"))
            .detail("a file of another profiler has what that profiler stored"),
    };
    let told = [Weight::Cpu, Weight::Wall, Weight::Samples].into_iter().find(|weight| reading.tells(*weight));
    Err(match told {
        Some(told) => failure.hint(format!("--weight {} shows what there is", told.key())),
        None => failure.hint("leave --weight out"),
    })
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ShowWhat {
    Both,
    Python,
    C,
}

impl From<ShowWhat> for Show {
    fn from(what: ShowWhat) -> Show {
        match what {
            ShowWhat::Both => Show::Both,
            ShowWhat::Python => Show::Python,
            ShowWhat::C => Show::C,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum SortBy {
    #[value(name = "self")]
    Own,
    Total,
}

impl From<SortBy> for Sort {
    fn from(by: SortBy) -> Sort {
        match by {
            SortBy::Own => Sort::Own,
            SortBy::Total => Sort::Total,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ColourWhen {
    Auto,
    Always,
    Never,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Format {
    Text,
    Json,
    Markdown,
}

/// A share, 0 to 1; typed in percent.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MinShare(pub f64);

impl FromStr for MinShare {
    type Err = String;

    fn from_str(text: &str) -> Result<MinShare, String> {
        let percent = text.strip_suffix('%').unwrap_or(text).trim_end();
        match percent.parse::<f64>() {
            Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(MinShare(percent / 100.0)),
            _ => Err("expected a percentage from 0 to 100, as in 1% or 0.5".to_owned()),
        }
    }
}
