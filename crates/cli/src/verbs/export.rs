//! `genba export`: a recording in the formats of other tools.
//! Owns: the list of formats, and the file that is written. Never: forms the content; genba-profile does; replaces a file that
//! genba does not recognise as its own export.

use std::fmt::Display;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use genba_profile::export::{collapsed, json, speedscope};
use genba_profile::figures;
use genba_profile::summary::{kept_line, law_line};
use genba_profile::warnings::warnings;
use genba_profile::weight::{Totals, Weight};
use rustix::fs::OFlags;

use crate::files::own_file::Content;
use crate::read::{self, FilterOptions, RecordingArguments, Recordings, WeightBy};
use crate::words::failure::{self, Failure, say};

#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    recordings: RecordingArguments,

    /// The format
    #[arg(long, value_name = "FORMAT")]
    to: Option<ExportFormat>,

    /// Where to write; - is stdout [default: a new file here, named like the recording]
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,

    /// What a stack counts, cpu and wall in nanoseconds [default: samples; to speedscope what the report weighs by]
    #[arg(long, value_name = "WEIGHT")]
    weight: Option<WeightBy>,

    /// collapsed: begin each stack with its process and thread
    #[arg(long)]
    threads: bool,

    #[command(flatten)]
    filters: FilterOptions,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum ExportFormat {
    /// `root;…;leaf weight`, a line a stack, for flame graph tools
    Collapsed,
    /// The whole profile as tables (docs/json.md)
    Json,
    /// For speedscope (https://www.speedscope.app), a profile a thread
    Speedscope,
}

impl ExportFormat {
    /// Of the files that are named after their recording.
    const fn ending(self) -> &'static str {
        match self {
            ExportFormat::Collapsed => "collapsed.txt",
            ExportFormat::Json => "json",
            ExportFormat::Speedscope => "speedscope.json",
        }
    }
}

fn no_format() -> Failure {
    let known = ExportFormat::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    let lines = known.map(|format| {
        let about = format.get_help().map(ToString::to_string).unwrap_or_default();
        format!("--to {}: {about}", format.get_name())
    });
    lines.fold(Failure::usage("a format is missing"), Failure::detail).hint("genba export --to speedscope app.genba")
}

pub fn export(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let to = arguments.to.ok_or_else(no_format)?;
    if to == ExportFormat::Json && (arguments.weight.is_some() || arguments.threads) {
        return Err(Failure::usage("--weight and --threads do not belong to --to json")
            .detail("JSON holds every weight and every thread")
            .hint("leave them out"));
    }
    if to == ExportFormat::Speedscope && arguments.threads {
        return Err(Failure::usage("--threads does not belong to --to speedscope")
            .detail("each thread is a profile of its own there")
            .hint("leave it out"));
    }
    let file = arguments.recordings.open()?;
    let reading = file.filtered(&arguments.filters)?;
    read::check_weight(&reading, arguments.weight)?;
    let (text, amount, weight) = match to {
        ExportFormat::Collapsed => {
            let weight = arguments.weight.map_or(Weight::Samples, Into::into);
            let options = collapsed::Options { weight, threads: arguments.threads };
            let text = collapsed::collapsed(&reading, options);
            let amount = collapsed::summary(&reading, options, &text);
            (text, amount, weight)
        }
        ExportFormat::Json => {
            let weight = reading.choice.weight;
            let (name, warnings) = (file.name(), warnings(&reading, weight));
            let context =
                json::Context { genba_version: env!("CARGO_PKG_VERSION"), recording: Some(&name), warnings: &warnings };
            let text = json::json(&reading, context);
            let text = text.map_err(|error| Failure::ours(format!("cannot write JSON: {error}")))?;
            (text, "the whole profile".to_owned(), weight)
        }
        ExportFormat::Speedscope => {
            let weight = reading.choice(arguments.weight.map(Into::into)).weight;
            let kept = kept_line(&reading, weight).map_or(String::new(), |kept| format!(" · {kept}"));
            let name = format!("{}{kept}", file.name());
            let context = speedscope::Context { genba_version: env!("CARGO_PKG_VERSION"), name: &name, weight };
            let text = speedscope::speedscope(&reading, context);
            let text = text.map_err(|error| Failure::ours(format!("cannot write JSON: {error}")))?;
            (text, Totals::of_profile(&reading).words_with_unit(weight), weight)
        }
    };
    if let Some(path) = delivered(arguments.output.as_deref(), &file, to.ending(), &text)? {
        let (path, size) = (path.display(), figures::size(text.len() as u64));
        say(&format!("wrote {path} ({size}): {amount}"));
        say(&law_line(&reading));
    }
    // Also where the text goes to a pipe: `collapsed` has no place for it.
    kept_line(&reading, weight).iter().for_each(|kept| say(kept));
    read::warn(&warnings(&reading, weight));
    Ok(ExitCode::SUCCESS)
}

/// Writes the text where `output` says, `-` to stdout, else into a new file here. The file's name; none: it went to stdout.
pub fn delivered(
    output: Option<&Path>,
    recordings: &Recordings,
    ending: &str,
    text: &str,
) -> Result<Option<PathBuf>, Failure> {
    match output {
        Some(path) => delivered_to(path, text),
        None => {
            let (path, mut file) = next_free(&recordings.stem(), ending)?;
            file.write_all(text.as_bytes()).map_err(|error| cannot_write(&path, &error))?;
            Ok(Some(path))
        }
    }
}

/// The file that was named. None: stdout.
pub fn delivered_to(output: &Path, text: &str) -> Result<Option<PathBuf>, Failure> {
    if output == Path::new("-") {
        return read::print(text).map(|()| None);
    }
    write(output, text)?;
    Ok(Some(output.to_owned()))
}

/// `app.html`, `app-2.html`, … in the current directory: nothing is replaced that nobody named.
fn next_free(stem: &str, ending: &str) -> Result<(PathBuf, File), Failure> {
    const NUMBER_MAX: u32 = 10_000;
    let names = (1..=NUMBER_MAX).map(|number| match number {
        1 => PathBuf::from(format!("{stem}.{ending}")),
        _ => PathBuf::from(format!("{stem}-{number}.{ending}")),
    });
    for path in names {
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => {
                let why = failure::of_system(&error);
                return Err(Failure::no(format!("cannot write {} here: {why}", path.display()))
                    .hint("name a file in a folder that you may write to, with -o"));
            }
            Ok(file) => return Ok((path, file)),
        }
    }
    Err(Failure::no(format!("{stem}.{ending} and {NUMBER_MAX} names like it are taken"))
        .hint("name another file with -o"))
}

/// Replaces an empty file and an earlier export, nothing else: `-o` is typed where FILE was meant too easily.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let mut file = opened(path)?;
    file.write_all(text.as_bytes()).map_err(|error| cannot_write(path, &error))
}

/// Where the text goes: a new file, one that genba may replace, now empty, or what is no regular file: `/dev/stdout`, a FIFO.
fn opened(path: &Path) -> Result<File, Failure> {
    let failed = |error| cannot_write(path, &error);
    let Ok(found) = fs::metadata(path) else {
        // As private as the recording: it holds the same source text and command lines.
        return OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(|error| {
            if error.kind() == ErrorKind::AlreadyExists && path.is_symlink() {
                return Failure::no(format!("{} is a symbolic link to a file that does not exist", path.display()))
                    .hint("name the file itself with -o");
            }
            failed(error)
        });
    };
    if found.file_type().is_block_device() {
        return Err(refused(path, &"it is a block device"));
    }
    if !found.is_file() {
        let file = OpenOptions::new().write(true).open(path).map_err(failed)?;
        let is_as_found = file.metadata().is_ok_and(|now| now.file_type() == found.file_type());
        return if is_as_found { Ok(file) } else { Err(refused(path, &"another file took its place just now")) };
    }
    // What counts is the file that was opened, whatever the path has become by then: no waiting, and no truncation yet.
    let no_wait = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    let file = OpenOptions::new().read(true).write(true).custom_flags(no_wait).open(path).map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(refused(path, &"another file took its place just now"));
    }
    match Content::of(&file).map_err(failed)? {
        Content::Empty | Content::Export => file.set_len(0).map_err(failed).map(|()| file),
        content @ (Content::Recording | Content::Prof | Content::Foreign(_)) => Err(refused(path, &content)),
    }
}

fn refused(path: &Path, found: &dyn Display) -> Failure {
    Failure::no(format!("{} is not overwritten: {found}", path.display()))
        .detail("-o replaces empty files, pages, and JSON that genba exported, nothing else")
        .hint("give another name with -o, or remove it first")
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    let hint = match error.kind() {
        ErrorKind::NotFound => "genba makes no folders: make it first, or name another file with -o",
        ErrorKind::IsADirectory => "-o names the file, with its folder",
        _ => "name another file with -o; - is stdout",
    };
    Failure::no(format!("cannot write {}: {}", path.display(), failure::of_system(error))).hint(hint)
}
