//! `genba html`: a recording as one page that needs nothing else, no network either.
//! Owns: putting the numbers into the viewer's page. Never: forms a number (genba-profile does) or a picture (web/ does).
//! The page holds one JSON object, `{ "profile": …, "reports": { "cpu": …, "wall": …, "samples": … } }`, compressed:
//! what `genba export --to json` and `genba report --format json` write, all rows, in each weight; and of the sources only the lines that the page shows.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use flate2::Compression;
use flate2::write::GzEncoder;
use genba_profile::export;
use genba_profile::figures;
use genba_profile::near_hits::keep_near_hits;
use genba_profile::reading::Reading;
use genba_profile::report::{self, Options};
use genba_profile::summary::{kept_line, law_line};
use genba_profile::warnings::warnings;
use genba_profile::weight::Weight;

use crate::files::own_file::MARKED_HEAD;
use crate::read::{self, FilterOptions, RecordingArguments};
use crate::verbs::export::delivered;
use crate::words::failure::{Failure, say};
use crate::words::progress::during;

/// Built from web/ before this file is compiled (build.rs); there is no command without it.
const PAGE: &str = include_str!("../../../../web/dist/viewer.html");
/// How the viewer's page begins; the page written begins with own_file.rs's mark.
const HEAD: &str = "<!doctype html>\n<html lang=\"en\">\n<head>\n";
/// Where the page wants its numbers; exactly once in it.
const NUMBERS: &str = "@GENBA_NUMBERS@";

/// The page shows no more lines around a line of a file that is not the user's own (web/parts/panel.tsx).
const LINES_AROUND: u32 = 4;

#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    recordings: RecordingArguments,

    /// Where to write; - is stdout [default: a new file here, named like the recording]
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,

    /// Show the page in the browser
    #[arg(long)]
    open: bool,

    #[command(flatten)]
    filters: FilterOptions,
}

pub fn html(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if arguments.open && arguments.output.as_deref() == Some(Path::new("-")) {
        return Err(Failure::usage("--open shows a file, and -o - writes none").hint("leave one of them out"));
    }
    let file = arguments.recordings.open()?;
    let mut reading = file.filtered(&arguments.filters)?;
    let weight = reading.choice.weight;
    let warnings = warnings(&reading, weight);
    let packed = during("making the page", || {
        let numbers = numbers(&mut reading, &file.name(), &warnings);
        let numbers = numbers.map_err(|error| Failure::ours(format!("cannot write JSON: {error}")))?;
        packed(&numbers).map_err(|error| Failure::ours(format!("cannot compress the page: {error}")))
    })?;
    let page = PAGE.replacen(HEAD, MARKED_HEAD, 1).replacen(NUMBERS, &packed, 1);
    let written = delivered(arguments.output.as_deref(), &file, "html", &page)?;
    if let Some(path) = &written {
        let (path, size) = (path.display(), figures::size(page.len() as u64));
        let next = if arguments.open { "" } else { ": open it in a browser" };
        say(&format!("wrote {path} ({size}){next}"));
        say(&law_line(&reading));
    }
    kept_line(&reading, weight).iter().for_each(|kept| say(kept));
    read::warn(&warnings);
    if let Some(path) = written.filter(|_| arguments.open) {
        show_in_browser(&path)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn show_in_browser(path: &Path) -> Result<(), Failure> {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    open::that_detached(whole).map_err(|error| {
        Failure::no(format!("no browser could be started: {error}"))
            .detail(format!("the page is written: {}", path.display()))
            .hint("copy the page to a machine with a browser; it needs nothing else")
    })
}

fn numbers(reading: &mut Reading, recording: &str, warnings: &[String]) -> Result<String, String> {
    let rows = |weight: Weight| {
        let options = Options { weight: Some(weight), ..Options::default() };
        let report = report::report(reading, &options);
        report::json::json(reading, &report, warnings).map_err(|error| error.to_string())
    };
    let (cpu, wall, samples) = (rows(Weight::Cpu)?, rows(Weight::Wall)?, rows(Weight::Samples)?);
    keep_near_hits(&mut reading.profile, LINES_AROUND);
    let context =
        export::json::Context { genba_version: env!("CARGO_PKG_VERSION"), recording: Some(recording), warnings };
    let tables = export::json::json(reading, context).map_err(|error| error.to_string())?;
    Ok(format!(r#"{{"profile":{tables},"reports":{{"cpu":{cpu},"wall":{wall},"samples":{samples}}}}}"#))
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
