//! `genba gc try`: a program as it is and with another threshold, in turns.
//! Owns: the options, the order of the runs. Never: judges a difference (genba-profile does); records by itself: each run is a `genba run` of
//! its own, into a folder that is gone afterwards.

mod runs;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Args, ValueHint};
use genba_profile::collections::{PAIRS_MIN, Run, Tried, tried};

use super::format::TextOrJson;
use crate::read::{self, ColourWhen, Stream};
use crate::words::failure::Failure;
use crate::words::progress::during_change;
use runs::{Asked, Runs, Way};

#[derive(Args)]
#[command(
    override_usage = "genba gc try [OPTIONS] --threshold N TARGET [ARGUMENTS]...\n       genba gc try [OPTIONS] --threshold N -m MODULE [ARGUMENTS]..."
)]
pub struct Arguments {
    /// What gc.set_threshold gets when the program begins: one to three numbers, 10000 or 10000,10,10; 0: no collection by itself
    #[arg(long, value_name = "N", value_parser = threshold)]
    threshold: Option<Threshold>,

    /// gc.freeze() before each fork
    #[arg(long)]
    freeze: bool,

    /// So many runs of each kind
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = pairs)]
    pairs: usize,

    /// Interpreter for scripts and modules [default: the active virtual environment's, else python3]
    #[arg(long, value_name = "PYTHON", value_hint = ValueHint::ExecutablePath)]
    python: Option<OsString>,

    /// What to print
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,

    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        help = "Colour: auto, always or never",
        hide_possible_values = true
    )]
    color: ColourWhen,

    /// Run a module, as `python -m` does; what follows is the module's
    #[arg(short = 'm', value_name = "MODULE", num_args = 1.., allow_hyphen_values = true)]
    module: Option<Vec<OsString>>,

    /// A .py or .pyz file, a directory with __main__.py, or a command; what follows is the program's
    #[arg(value_name = "TARGET", trailing_var_arg = true, value_hint = ValueHint::CommandWithArguments)]
    target: Vec<OsString>,
}

/// One to three numbers, as `gc.set_threshold` gets them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Threshold(Vec<u32>);

/// The largest that the interpreter's own `int` can hold.
const THRESHOLD_MAX: u32 = i32::MAX as u32;

fn threshold(text: &str) -> Result<Threshold, String> {
    let numbers: Option<Vec<u32>> = text.split(',').map(|number| number.trim().parse().ok()).collect();
    let fits = |numbers: &Vec<u32>| numbers.len() <= 3 && numbers.iter().all(|number| *number <= THRESHOLD_MAX);
    let expected = "expected one to three whole numbers with commas, such as 10000 or 10000,10,10";
    numbers.filter(fits).map(Threshold).ok_or_else(|| expected.to_owned())
}

fn pairs(text: &str) -> Result<usize, String> {
    let expected = || format!("expected {PAIRS_MIN} to 1000: fewer pairs tell nothing about how much runs differ");
    text.parse().ok().filter(|pairs| (PAIRS_MIN..=1000).contains(pairs)).ok_or_else(expected)
}

/// Runs of a pair follow each other, every other pair the other way round: what grows slower with time is the same for both.
fn order(pair: usize) -> [Way; 2] {
    if pair.is_multiple_of(2) { [Way::AsItIs, Way::WithIt] } else { [Way::WithIt, Way::AsItIs] }
}

pub fn attempt(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if arguments.threshold.is_none() && !arguments.freeze {
        return Err(Failure::usage("nothing to try").hint("genba gc try --threshold 10000 app.py, or --freeze"));
    }
    if arguments.module.is_none() && arguments.target.is_empty() {
        return Err(Failure::usage("nothing to run")
            .hint("genba gc try --threshold 10000 app.py, or genba gc try --threshold 10000 -m module"));
    }
    let threshold = arguments.threshold.as_ref().map(|threshold| threshold.0.clone()).unwrap_or_default();
    let runs = Runs::new(Asked {
        threshold: &threshold,
        freeze: arguments.freeze,
        python: arguments.python.as_deref(),
        module: arguments.module.as_deref(),
        target: &arguments.target,
        all: 1 + 2 * arguments.pairs,
    })?;
    let pairs = during_change(runs.words(), || -> Result<Vec<(Run, Run)>, Failure> {
        // It fills caches, and shows whether the program runs at all; it is in no pair.
        runs.run(Way::AsItIs)?;
        let pair = |pair| {
            let order = order(pair);
            let [one, other] = [runs.run(order[0])?, runs.run(order[1])?];
            Ok(if order[0] == Way::AsItIs { (one, other) } else { (other, one) })
        };
        (0..arguments.pairs).map(pair).collect()
    })?;
    let Some(found) = Tried::of(threshold, arguments.freeze, pairs) else {
        return Err(Failure::ours("too few pairs of runs"));
    };
    match arguments.format {
        TextOrJson::Text => {
            let (width, paint) = (read::screen_width(Stream::Stdout), read::paint(arguments.color, Stream::Stdout));
            read::print(&tried::text(&found, width, paint))?;
        }
        TextOrJson::Json => {
            let json = tried::json(&found);
            read::print(&json.map_err(|error| Failure::ours(format!("cannot write JSON: {error}")))?)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::{Threshold, Way, order, pairs, threshold};

    #[test]
    fn a_threshold_is_one_to_three_numbers() {
        assert_eq!(threshold("10000"), Ok(Threshold(vec![10_000])));
        assert_eq!(threshold("10000, 10,5"), Ok(Threshold(vec![10_000, 10, 5])));
        for text in ["", "x", "-1", "1,", "1,2,3,4", "4000000000", "1;2"] {
            assert!(threshold(text).is_err(), "{text}");
        }
        assert_eq!(pairs("3"), Ok(3));
        assert!(pairs("2").is_err() && pairs("1001").is_err());
    }

    #[test]
    fn every_other_pair_begins_with_the_other() {
        assert_eq!([order(0), order(1), order(2)].concat()[..3], [Way::AsItIs, Way::WithIt, Way::WithIt]);
    }
}
