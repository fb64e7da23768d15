//! `genba export`: a recording in the formats of other tools.
//! Owns: the list of formats, and the file that is written. Never: forms the content; genba-profile does.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use genba_profile::export::{collapsed, json, speedscope};
use genba_profile::figures;
use genba_profile::summary::{kept_line, law_line};
use genba_profile::warnings::warnings;
use genba_profile::weight::{Totals, Weight, choose};

use crate::failure::{Failure, say};
use crate::read::{self, FilterOptions, RecordingArguments, WeightBy};

#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    recordings: RecordingArguments,

    /// The format
    #[arg(long, value_name = "FORMAT")]
    to: ExportFormat,

    /// Where to write; - is stdout
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,

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

pub fn export(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if arguments.to == ExportFormat::Json && (arguments.weight.is_some() || arguments.threads) {
        return Err(Failure::usage("--weight and --threads do not belong to --to json")
            .detail("JSON holds every weight and every thread")
            .hint("leave them out"));
    }
    if arguments.to == ExportFormat::Speedscope && arguments.threads {
        return Err(Failure::usage("--threads does not belong to --to speedscope")
            .detail("each thread is a profile of its own there")
            .hint("leave it out"));
    }
    let file = arguments.recordings.open()?;
    let profile = file.filtered(&arguments.filters)?;
    let (text, amount, weight) = match arguments.to {
        ExportFormat::Collapsed => {
            let weight = arguments.weight.map_or(Weight::Samples, Into::into);
            let options = collapsed::Options { weight, threads: arguments.threads };
            let text = collapsed::collapsed(&profile, options);
            let amount = collapsed::summary(&profile, options, &text);
            (text, amount, weight)
        }
        ExportFormat::Json => {
            let weight = choose(None, &profile).weight;
            let (name, warnings) = (file.name(), warnings(&profile, weight));
            let context =
                json::Context { genba_version: env!("CARGO_PKG_VERSION"), recording: Some(&name), warnings: &warnings };
            let text = json::json(&profile, context);
            let text = text.map_err(|error| Failure::ours(format!("cannot write JSON: {error}")))?;
            (text, "the whole profile".to_owned(), weight)
        }
        ExportFormat::Speedscope => {
            let weight = choose(arguments.weight.map(Into::into), &profile).weight;
            let kept = kept_line(&profile, weight).map_or(String::new(), |kept| format!(" · {kept}"));
            let name = format!("{}{kept}", file.name());
            let context = speedscope::Context { genba_version: env!("CARGO_PKG_VERSION"), name: &name, weight };
            let text = speedscope::speedscope(&profile, context);
            let text = text.map_err(|error| Failure::ours(format!("cannot write JSON: {error}")))?;
            (text, Totals::of_profile(&profile).words_with_unit(weight), weight)
        }
    };
    if arguments.output == Path::new("-") {
        read::print(&text)?;
    } else {
        write(&arguments.output, &text)?;
        let (path, size) = (arguments.output.display(), figures::size(text.len() as u64));
        say(&format!("wrote {path} ({size}): {amount}"));
        say(&law_line(&profile));
    }
    // Also where the text goes to a pipe: `collapsed` has no place for it.
    kept_line(&profile, weight).iter().for_each(|kept| say(kept));
    read::warn(&warnings(&profile, weight));
    Ok(ExitCode::SUCCESS)
}

/// Replaces what is there, but never a recording: `-o` is typed where FILE was meant too easily.
pub fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let is_recording = std::fs::File::open(path).is_ok_and(|file| {
        let mut begin = Vec::new();
        let read = std::io::Read::read_to_end(&mut std::io::Read::take(file, 8), &mut begin);
        read.is_ok() && begin == genba_format::MAGIC
    });
    if is_recording {
        return Err(Failure::no(format!("{} is a recording and is not overwritten", path.display()))
            .hint("give another name with -o, or remove it first"));
    }
    std::fs::write(path, text).map_err(|error| {
        let hint = match error.kind() {
            ErrorKind::NotFound => "genba makes no folders: make it first, or name another file with -o",
            ErrorKind::IsADirectory => "-o names the file, with its folder",
            _ => "name another file with -o; - is stdout",
        };
        Failure::no(format!("cannot write {}: {error}", path.display())).hint(hint)
    })
}
