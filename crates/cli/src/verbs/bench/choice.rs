//! Values of the options of `genba bench`, spelled as hyperfine spells them.
//! Owns: their spelling. Never: gives one a meaning of its own; genba-bench does.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use genba_bench::commands::Failures;
use genba_bench::process::{Input, Output};
use genba_bench::units::Unit;

use crate::read::ColourWhen;

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Style {
    Auto,
    Basic,
    Full,
    #[value(name = "nocolor")]
    NoColor,
    Color,
    None,
}

impl Style {
    /// Where stderr is a terminal.
    pub fn has_progress(self) -> bool {
        matches!(self, Style::Auto | Style::Full | Style::NoColor)
    }

    pub fn colour(self) -> ColourWhen {
        match self {
            Style::Auto => ColourWhen::Auto,
            Style::Full | Style::Color => ColourWhen::Always,
            Style::Basic | Style::NoColor | Style::None => ColourWhen::Never,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Sort {
    Auto,
    Command,
    MeanTime,
}

impl Sort {
    pub fn is_by_time_in_tables(self) -> bool {
        self == Sort::MeanTime
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum InUnit {
    Nanosecond,
    Microsecond,
    Millisecond,
    Second,
}

impl From<InUnit> for Unit {
    fn from(unit: InUnit) -> Unit {
        match unit {
            InUnit::Nanosecond => Unit::Nanosecond,
            InUnit::Microsecond => Unit::Microsecond,
            InUnit::Millisecond => Unit::Millisecond,
            InUnit::Second => Unit::Second,
        }
    }
}

pub fn runs(text: &str) -> Result<usize, String> {
    let expected = || "expected a whole number from 1 to 1000000".to_owned();
    text.parse().ok().filter(|runs| (1..=1_000_000).contains(runs)).ok_or_else(expected)
}

pub fn seconds(text: &str) -> Result<Duration, String> {
    let expected = || "expected a number of seconds from 0 to 1000000, such as 0.5".to_owned();
    let found = text.parse::<f64>().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    found.filter(|found| *found <= Duration::from_secs(1_000_000)).ok_or_else(expected)
}

pub fn failures(text: &str) -> Result<Failures, String> {
    if text == "all-non-zero" {
        return Ok(Failures::All);
    }
    let codes: Option<Vec<i32>> = text.split(',').map(|code| code.trim().parse().ok()).collect();
    codes.map(Failures::Codes).ok_or_else(|| "expected all-non-zero, or exit codes with commas, such as 1,2".to_owned())
}

/// A file has a slash, so that no mistyped word becomes one.
pub fn output(text: &str) -> Result<Output, String> {
    match text {
        "null" => Ok(Output::Null),
        "pipe" => Ok(Output::Pipe),
        "inherit" => Ok(Output::Inherit),
        path if path.contains('/') => Ok(Output::File(PathBuf::from(path))),
        name => Err(format!("expected null, pipe, inherit, or a file with a slash, such as ./{name}")),
    }
}

pub fn input(text: &str) -> Result<Input, String> {
    match text {
        "" => Err("expected null or a file".to_owned()),
        "null" => Ok(Input::Null),
        path => Ok(Input::File(PathBuf::from(path))),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Failures, Output, failures, output, runs, seconds};

    #[test]
    fn values_are_hyperfines() {
        assert_eq!(failures("all-non-zero"), Ok(Failures::All));
        assert_eq!(failures("1, 3"), Ok(Failures::Codes(vec![1, 3])));
        assert!(failures("x").is_err() && failures("").is_err());
        assert_eq!(output("pipe"), Ok(Output::Pipe));
        assert_eq!(output("./out"), Ok(Output::File("./out".into())));
        assert!(output("nul").is_err_and(|words| words.contains("./nul")));
        assert_eq!(runs("3"), Ok(3));
        assert!(runs("0").is_err() && runs("x").is_err());
        assert_eq!((seconds("0.5"), seconds("0")), (Ok(Duration::from_millis(500)), Ok(Duration::ZERO)));
        assert!(["-1", "nan", "inf", "1e7", "x"].iter().all(|text| seconds(text).is_err()));
    }
}
