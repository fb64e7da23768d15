//! `genba html`: a recording, or a comparison, as one page that needs nothing else, no network either.
//! Owns: the options, and which recordings are on a page. Never: puts numbers into the page (genba-page does) or forms one (genba-profile does).

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
pub use genba_page::Room;
use genba_page::{BINS_MAX, NotMade, compared, numbers, numbers_of_two, page_around, with_cycles};
use genba_profile::difference_view::comparison;
use genba_profile::figures;
use genba_profile::profile::Profile;
use genba_profile::summary::{kept_line, law_line};
use genba_profile::warnings::warnings;

use crate::files::own_file::MARKED_HEAD;
use crate::read::{self, ComparedBy, FilterOptions, Recordings, SideTimes, Sides, open_all};
use crate::verbs::export::{Written, delivered};
use crate::verbs::gc::cycles::kept_files;
use crate::words::failure::{self, Failure, say};
use crate::words::progress::during;

#[derive(Args)]
#[command(
    override_usage = "genba html [OPTIONS] [FILE]\n       genba html [OPTIONS] BEFORE AFTER\n       genba html [OPTIONS] BEFORE... -- AFTER..."
)]
pub struct Arguments {
    /// Recordings of genba, vmprof's logs (plain, gzip, bz2), .prof files or collapsed stacks; two are compared, before and after [default: the newest *.genba here]
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

    /// What to compare: time per run, or samples; a page of one recording has each weight [default: cpu, or wall when the program mostly waited]
    #[arg(long, value_name = "WEIGHT", conflicts_with = "as_one")]
    weight: Option<ComparedBy>,

    #[command(flatten)]
    times: SideTimes,

    #[command(flatten)]
    filters: FilterOptions,
}

/// A page, and what is said about it.
pub struct Made {
    pub page: String,
    /// Nothing more comes to its recordings.
    pub is_final: bool,
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
    if is_one && arguments.weight.is_some() {
        return Err(Failure::usage("--weight is for comparisons: a page of one recording has each weight")
            .hint("the page's first row has a switch for it, and so has the key w"));
    }
    let made = match is_one {
        true => page_of_one(&arguments.files, &arguments.filters, room)?,
        false => {
            let files = (arguments.files.as_slice(), arguments.after.as_slice());
            page_of_two(Sides::open("html", files, &arguments.times, &arguments.filters)?, arguments.weight, room)?
        }
    };
    let output = arguments.output.as_deref();
    let written = delivered(output, &made.named_after, made.ending, |out| out.write_all(made.page.as_bytes()))?;
    if let Some(Written { path, bytes }) = &written {
        let (path, size) = (path.display(), figures::size(*bytes));
        let next = if arguments.open { "" } else { ": open it in a browser" };
        say(&format!("wrote {path} ({size}){next}"));
        made.words.iter().for_each(|line| say(line));
    }
    made.kept.iter().for_each(|kept| say(kept));
    read::warn(&made.warnings);
    if let Some(written) = written.filter(|_| arguments.open) {
        show_in_browser(&written.path);
    }
    Ok(ExitCode::SUCCESS)
}

/// Of the newest recording here, or of those that are named, read as one.
pub fn page_of_one(files: &[PathBuf], filters: &FilterOptions, room: Room) -> Result<Made, Failure> {
    let recordings = open_all(files)?;
    let mut reading = recordings.filtered_in_bins(filters, BINS_MAX)?;
    let weight = reading.choice.weight;
    let warnings = warnings(&reading, weight);
    let (mut words, kept) = (vec![law_line(&reading)], kept_line(&reading, weight));
    let is_final = is_final(&reading.profile);
    let made = || page_around(&numbers(&mut reading, &recordings.name(), &warnings, room)?, MARKED_HEAD);
    let mut page = during("making the page", made).map_err(not_made)?;
    if let Some(file) = recordings.only()
        && let Some(cycles) = kept_files::of(&file.path, || file.accounts())?
    {
        page = with_cycles(&page, &cycles.numbers).map_err(not_made)?;
        words.extend(cycles.words);
    }
    Ok(Made { page, is_final, named_after: recordings, ending: "html", words, kept, warnings })
}

/// Of a comparison: what changed, and each side as a recording of its own.
pub fn page_of_two(sides: Sides, weight: Option<ComparedBy>, room: Room) -> Result<Made, Failure> {
    let (before_runs, after_runs) = sides.runs()?;
    read::check_compared_weight(&before_runs, &after_runs, weight)?;
    let comparison = comparison(&before_runs, &after_runs, weight.map(Into::into));
    let mut words = vec![comparison.verdict()];
    let warnings = comparison.warnings();
    let compared = during("comparing", || compared(&comparison, &warnings)).map_err(not_made)?;
    drop((before_runs, after_runs));
    let mut are_final = true;
    let mut side = |letter: &str, side: &Recordings, filters: &FilterOptions| {
        let mut reading = side.filtered_in_bins(filters, BINS_MAX)?;
        words.push(format!("{letter}: {}", law_line(&reading)));
        are_final &= is_final(&reading.profile);
        let warnings = self::warnings(&reading, reading.choice.weight);
        during("making the page", || numbers(&mut reading, &side.name(), &warnings, room)).map_err(not_made)
    };
    let [(before, before_filters), (after, after_filters)] = sides.apart();
    let (a, b) = (side("A", &before, &before_filters)?, side("B", &after, &after_filters)?);
    let page = page_around(&numbers_of_two(&compared, &a, &b), MARKED_HEAD).map_err(not_made)?;
    Ok(Made { page, is_final: are_final, named_after: after, ending: "diff.html", words, kept: None, warnings })
}

/// The command's own block comes after the program's end, but processes that the program left behind go on.
fn is_final(profile: &Profile) -> bool {
    profile.is_imported() || profile.recorder.is_some() && profile.have_all_ended()
}

fn not_made(why: NotMade) -> Failure {
    Failure::ours(why.to_string())
}

/// The page is written: without a browser that is no failure.
fn show_in_browser(path: &Path) {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    if let Err(error) = open::that_detached(whole) {
        say(&format!("no browser could be started: {}", failure::of_system(&error)));
        say("hint: copy the page to a machine with a browser; it needs nothing else");
    }
}
