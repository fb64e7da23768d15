//! `genba html`: a recording, or a comparison, as one page that needs nothing else, no network either.
//! Owns: putting the numbers into the viewer's page. Never: forms a number (genba-profile does) or a picture (web/ does).
//! A page of a comparison holds such an object for each side, `{ "comparison": …, "before": …, "after": … }`.
//! The page holds one JSON object, `{ "profile": …, "rare": …, "reports": { "cpu": …, "wall": …, "samples": … } }`, compressed:
//! what `genba export --to json` and `genba report --format json` write, all rows, in each weight; and of the sources only the lines that the page shows.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use flate2::Compression;
use flate2::write::GzEncoder;
use genba_profile::difference_view::{comparison, page};
use genba_profile::export;
use genba_profile::figures;
use genba_profile::near_hits::keep_near_hits;
use genba_profile::rare::{Rare, join_rare};
use genba_profile::reading::Reading;
use genba_profile::report::{self, Options};
use genba_profile::summary::{kept_line, law_line};
use genba_profile::warnings::warnings;
use genba_profile::weight::Weight;

use crate::files::own_file::MARKED_HEAD;
use crate::read::{self, FilterOptions, Recordings, SideTimes, Sides, open_all};
use crate::verbs::export::delivered;
use crate::words::failure::{Failure, say};
use crate::words::progress::during;

/// Built from web/ before this file is compiled (build.rs); there is no command without it.
const PAGE: &str = include_str!("../../../../web/dist/viewer.html");
/// How the viewer's page begins; the page written begins with own_file.rs's mark.
const HEAD: &str = "<!doctype html>\n<html lang=\"en\">\n<head>\n";
/// Where the page wants its numbers; exactly once in it.
const NUMBERS: &str = "@GENBA_NUMBERS@";

/// A page with more calls than these leaves rare ones out. What is below it opens at once, and is below 300 kB as a rule.
const CALLS_MAX: usize = 20_000;
/// Of the samples, the CPU time and the wall time.
const RARE_SHARE: f64 = 0.0002;
/// Of the page's time line: a screen has no more points.
const BINS_MAX: u32 = 2_000;
/// The page shows no more lines around a line of a file that is not the user's own (web/parts/panel.tsx).
const LINES_AROUND: u32 = 4;

#[derive(Args)]
#[command(
    override_usage = "genba html [OPTIONS] [FILE]\n       genba html [OPTIONS] BEFORE AFTER\n       genba html [OPTIONS] BEFORE... -- AFTER..."
)]
pub struct Arguments {
    /// Recordings of genba, vmprof's logs (plain, gzip, bz2) or collapsed stacks; two are compared, before and after [default: the newest *.genba here]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Several recordings of the program after the change, as in genba diff
    #[arg(value_name = "AFTER", last = true)]
    after: Vec<PathBuf>,

    /// Read several recordings as one instead of comparing them
    #[arg(long, conflicts_with_all = ["after", "before_time"])]
    as_one: bool,

    /// Where to write; - is stdout [default: a new file here, named like the recording]
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,

    /// Every call of a large recording, also those rarer than 0.02 %
    #[arg(long)]
    all_samples: bool,

    /// Show the page in the browser
    #[arg(long)]
    open: bool,

    #[command(flatten)]
    times: SideTimes,

    #[command(flatten)]
    filters: FilterOptions,
}

/// Whether a page is to be small.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Room {
    OfAFile,
    Unlimited,
}

/// A page, and what is said about it.
pub struct Made {
    pub page: String,
    /// Whose name the page gets.
    named_after: Recordings,
    ending: &'static str,
    words: Vec<String>,
    kept: Option<String>,
    warnings: Vec<String>,
}

pub fn html(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if arguments.open && arguments.output.as_deref() == Some(Path::new("-")) {
        return Err(Failure::usage("--open shows a file, and -o - writes none").hint("leave one of them out"));
    }
    let has_times = arguments.times.before_time.is_some();
    let is_one = arguments.after.is_empty() && !has_times && (arguments.as_one || arguments.files.len() < 2);
    let room = if arguments.all_samples { Room::Unlimited } else { Room::OfAFile };
    let made = match is_one {
        true => page_of_one(&arguments.files, &arguments.filters, room)?,
        false => {
            let files = (arguments.files.as_slice(), arguments.after.as_slice());
            page_of_two(Sides::open("html", files, &arguments.times, &arguments.filters)?, room)?
        }
    };
    let written = delivered(arguments.output.as_deref(), &made.named_after, made.ending, &made.page)?;
    if let Some(path) = &written {
        let (path, size) = (path.display(), figures::size(made.page.len() as u64));
        let next = if arguments.open { "" } else { ": open it in a browser" };
        say(&format!("wrote {path} ({size}){next}"));
        made.words.iter().for_each(|line| say(line));
    }
    made.kept.iter().for_each(|kept| say(kept));
    read::warn(&made.warnings);
    if let Some(path) = written.filter(|_| arguments.open) {
        show_in_browser(&path)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Of the newest recording here, or of those that are named, read as one.
pub fn page_of_one(files: &[PathBuf], filters: &FilterOptions, room: Room) -> Result<Made, Failure> {
    let recordings = open_all(files)?;
    let mut reading = recordings.filtered_in_bins(filters, BINS_MAX)?;
    let weight = reading.choice.weight;
    let warnings = warnings(&reading, weight);
    let (words, kept) = (vec![law_line(&reading)], kept_line(&reading, weight));
    let page = during("making the page", || page_around(&numbers(&mut reading, &recordings.name(), &warnings, room)?))?;
    Ok(Made { page, named_after: recordings, ending: "html", words, kept, warnings })
}

/// Of a comparison: what changed, and each side as a recording of its own.
pub fn page_of_two(sides: Sides, room: Room) -> Result<Made, Failure> {
    let (before_runs, after_runs) = sides.runs()?;
    let comparison = comparison(&before_runs, &after_runs, None);
    let mut words = vec![comparison.verdict()];
    let warnings = comparison.warnings();
    let compared = during("comparing", || page::json(&comparison, &warnings)).map_err(|error| not_written(&error))?;
    drop((before_runs, after_runs));
    let mut side = |letter: &str, side: &Recordings, filters: &FilterOptions| {
        let mut reading = side.filtered_in_bins(filters, BINS_MAX)?;
        words.push(format!("{letter}: {}", law_line(&reading)));
        let warnings = self::warnings(&reading, reading.choice.weight);
        during("making the page", || numbers(&mut reading, &side.name(), &warnings, room))
    };
    let [(before, before_filters), (after, after_filters)] = sides.apart();
    let (a, b) = (side("A", &before, &before_filters)?, side("B", &after, &after_filters)?);
    let page = page_around(&format!(r#"{{"comparison":{compared},"before":{a},"after":{b}}}"#))?;
    Ok(Made { page, named_after: after, ending: "diff.html", words, kept: None, warnings })
}

fn page_around(numbers: &str) -> Result<String, Failure> {
    let packed = packed(numbers).map_err(|error| Failure::ours(format!("cannot compress the page: {error}")))?;
    Ok(PAGE.replacen(HEAD, MARKED_HEAD, 1).replacen(NUMBERS, &packed, 1))
}

fn not_written(error: &dyn std::fmt::Display) -> Failure {
    Failure::ours(format!("cannot write JSON: {error}"))
}

fn show_in_browser(path: &Path) -> Result<(), Failure> {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    open::that_detached(whole).map_err(|error| {
        Failure::no(format!("no browser could be started: {error}"))
            .detail(format!("the page is written: {}", path.display()))
            .hint("copy the page to a machine with a browser; it needs nothing else")
    })
}

fn numbers(reading: &mut Reading, recording: &str, warnings: &[String], room: Room) -> Result<String, Failure> {
    let is_crowded = room == Room::OfAFile && reading.profile.nodes.len() > CALLS_MAX;
    let rows = |weight: Weight| {
        let share_min = if is_crowded { RARE_SHARE } else { 0.0 };
        let options = Options { weight: Some(weight), share_min, ..Options::default() };
        let report = report::report(reading, &options);
        report::json::json(reading, &report, warnings).map_err(|error| not_written(&error))
    };
    let (cpu, wall, samples) = (rows(Weight::Cpu)?, rows(Weight::Wall)?, rows(Weight::Samples)?);
    keep_near_hits(&mut reading.profile, LINES_AROUND);
    let rare = is_crowded.then(|| {
        let rare = join_rare(&mut reading.profile, RARE_SHARE, "rarer than 0.02 %");
        let Rare { nodes, samples, cpu_ns, wall_ns } = rare;
        format!(r#"{{"calls":{nodes},"share":{RARE_SHARE},"samples":{samples},"cpu_ns":{cpu_ns},"wall_ns":{wall_ns}}}"#)
    });
    let rare = rare.unwrap_or_else(|| "null".to_owned());
    let context =
        export::json::Context { genba_version: env!("CARGO_PKG_VERSION"), recording: Some(recording), warnings };
    let tables = export::json::json(reading, context).map_err(|error| not_written(&error))?;
    Ok(format!(r#"{{"profile":{tables},"rare":{rare},"reports":{{"cpu":{cpu},"wall":{wall},"samples":{samples}}}}}"#))
}

/// Gzip, because browsers unpack it by themselves, in base64, because nothing in that can end a script element.
fn packed(numbers: &str) -> std::io::Result<String> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(numbers.as_bytes())?;
    Ok(STANDARD.encode(gzip.finish()?))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn the_page_has_one_place_for_numbers_and_asks_for_nothing() {
        assert_eq!(PAGE.matches(NUMBERS).count(), 1);
        assert!(PAGE.starts_with(HEAD), "the page has no place for the mark");
        assert!(PAGE.contains("default-src 'none'"), "the page must forbid itself the network");
        for asking in ["src=\"", "@import", "url(", "https://", "import("] {
            assert!(!PAGE.contains(asking), "the page holds `{asking}`");
        }
    }

    #[test]
    fn what_is_packed_comes_out_again_and_holds_nothing_that_html_reads() {
        let numbers = r#"{"profile":{"title":"</script><b>表"}}"#;
        let packed = packed(numbers).expect("writing to memory");
        assert!(packed.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)), "{packed}");
        let bytes = STANDARD.decode(packed).expect("base64");
        let mut unpacked = String::new();
        GzDecoder::new(bytes.as_slice()).read_to_string(&mut unpacked).expect("gzip");
        assert_eq!(unpacked, numbers);
    }
}
