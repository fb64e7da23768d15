//! The viewer's page around the numbers of a recording, or of a comparison, and those of `genba bench` and `genba gc cycles`: one page that needs nothing else, no network either.
//! Owns: putting the numbers into the page; the policy that a server sends with it (`policy`). Never: forms a number (genba-profile
//! does) or a picture (web/ does); opens a file, prints.
//! The viewer's page holds one JSON object, `{ "profile": …, "rare": …, "collections": …, "heaps": …, "reports": { "cpu": …, "wall": …, "samples": … } }`,
//! compressed: what `genba export --to json` and `genba report --format json` write, all rows, in each weight; and of the sources only the lines that
//! the page shows. A page of a comparison holds such an object for each side, `{ "comparison": …, "before": …, "after": … }`.
#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod policy;

use std::fmt;
use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use genba_profile::collections;
use genba_profile::difference_view::{self, Comparison};
use genba_profile::export;
use genba_profile::heaps;
use genba_profile::near_hits::keep_near_hits;
use genba_profile::rare::{Rare, join_rare, kept_calls};
use genba_profile::reading::Reading;
use genba_profile::report::{self, Options};
use genba_profile::weight::Weight;

pub use policy::{Beside, Following, followed, following, policy, script_hashes};

/// Built from web/ before this file is compiled (build.rs); there is no command without it.
const PAGE: &str = include_str!("../../../web/dist/viewer.html");
/// The page of `genba bench`.
const BENCH: &str = include_str!("../../../web/dist/bench.html");
/// The page of `genba gc cycles`.
const CYCLES: &str = include_str!("../../../web/dist/cycles.html");
/// What the page of a recording has besides, where its view GC shows graphs of cycles: a place for their numbers, their style and script.
const GRAPHS: &str = include_str!("../../../web/dist/cycle-graphs.html");
/// The server's own pages: the list, tokens, settings, and logging in.
pub const LIST: &str = include_str!("../../../web/dist/server.html");
/// The script that `followed` adds to a page.
pub const FOLLOW: &str = include_str!("../../../web/dist/follow.js");
/// How the page begins.
pub const HEAD: &str = "<!doctype html>\n<html lang=\"en\">\n<head>\n";
/// How its body begins.
const BODY: &str = "<body>";
/// How it ends.
const BODY_END: &str = "</body>";
/// Where a page wants its numbers; exactly once in it.
const NUMBERS: &str = "@GENBA_NUMBERS@";

/// A page with more calls than these leaves rare ones out. What is below it opens at once; the page of a
/// usual recording is to be below 300 kB (benches/goals/page.py measures it).
const CALLS_MAX: usize = 20_000;
/// Of the samples, the CPU time and the wall time.
const RARE_SHARE: f64 = 0.0002;
/// Of the page's time line: a screen has no more points.
pub const BINS_MAX: u32 = 2_000;
/// The page shows no more lines around a line of a file that is not the user's own (web/parts/panel.tsx).
const LINES_AROUND: u32 = 4;

/// Whether a page is to be small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    OfAFile,
    Unlimited,
}

/// Why there is no page, in words.
#[derive(Debug)]
pub struct NotMade(String);

impl fmt::Display for NotMade {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str(&self.0)
    }
}

impl std::error::Error for NotMade {}

/// What a page of one recording holds. `recording`: the name of its file. The reading loses the lines that the page does not show.
pub fn numbers(reading: &mut Reading, recording: &str, warnings: &[String], room: Room) -> Result<String, NotMade> {
    let is_crowded = room == Room::OfAFile && kept_calls(&reading.profile) > CALLS_MAX;
    let rows = |weight: Weight| {
        let share_min = if is_crowded { RARE_SHARE } else { 0.0 };
        let options = Options { weight: Some(weight), share_min, ..Options::default() };
        let report = report::report(reading, &options);
        report::json::compact(reading, &report, warnings).map_err(|error| not_written(&error))
    };
    let (cpu, wall, samples) = (rows(Weight::Cpu)?, rows(Weight::Wall)?, rows(Weight::Samples)?);
    let copied =
        if reading.profile.counts_copies() { format!(r#","copied":{}"#, rows(Weight::Copied)?) } else { String::new() };
    let allocated = if reading.profile.counts_allocations() {
        format!(r#","allocated":{}"#, rows(Weight::Allocated)?)
    } else {
        String::new()
    };
    let collections = match collections::summary(&reading.profile) {
        Some(summary) => collections::page::json(&reading.profile, &summary).map_err(|error| not_written(&error))?,
        None => "null".to_owned(),
    };
    let heaps = heaps::json(&reading.profile).map_err(|error| not_written(&error))?;
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
    Ok(format!(
        r#"{{"profile":{tables},"rare":{rare},"collections":{collections},"heaps":{heaps},"reports":{{"cpu":{cpu},"wall":{wall},"samples":{samples}{copied}{allocated}}}}}"#
    ))
}

/// What changed, for `numbers_of_two`.
pub fn compared(comparison: &Comparison, warnings: &[String]) -> Result<String, NotMade> {
    difference_view::page::json(comparison, warnings).map_err(|error| not_written(&error))
}

/// What a page of a comparison holds: what changed, and the `numbers` of each side.
#[must_use]
pub fn numbers_of_two(compared: &str, before: &str, after: &str) -> String {
    format!(r#"{{"comparison":{compared},"before":{before},"after":{after}}}"#)
}

/// The page with these numbers. It begins with `head`: `HEAD`, or that and more.
pub fn page_around(numbers: &str, head: &str) -> Result<String, NotMade> {
    filled(&PAGE.replacen(HEAD, head, 1), &without_nulls(numbers))
}

/// The page of a recording whose times somebody compares: behind this address (escaped for HTML), with `&before-time=…&after-time=…` at
/// its end, is a page of the comparison (web/parts/views/compare.tsx).
#[must_use]
pub fn comparing(page: &str, address: &str) -> String {
    page.replacen(BODY, &format!("<body data-times=\"{address}\">"), 1)
}

/// The page of a recording with graphs of garbage in cycles at the end of its view GC. `numbers`: of these graphs.
pub fn with_cycles(page: &str, numbers: &str) -> Result<String, NotMade> {
    let graphs = filled(GRAPHS, numbers)?;
    let end = page.rfind(BODY_END).unwrap_or(page.len());
    Ok(format!("{}{graphs}{}", &page[..end], &page[end..]))
}

/// The page of `genba bench` with what it measured.
pub fn bench_page(numbers: &str) -> Result<String, NotMade> {
    filled(BENCH, numbers)
}

/// The page of `genba gc cycles` with what it found. It begins with `head`.
pub fn cycles_page(numbers: &str, head: &str) -> Result<String, NotMade> {
    filled(&CYCLES.replacen(HEAD, head, 1), numbers)
}

fn filled(page: &str, numbers: &str) -> Result<String, NotMade> {
    let packed = packed(numbers).map_err(|error| NotMade(format!("cannot compress the page: {error}")))?;
    Ok(page.replacen(NUMBERS, &packed, 1))
}

/// Compact JSON without the keys whose value is null: the viewer takes a missing key for one of them, and half of a large page was nothing else.
/// Within a string a quote has a backslash before it, so no text looks like a key.
fn without_nulls(json: &str) -> String {
    const NULL: &str = "\":null";
    let mut kept = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(found) = rest.find(NULL) {
        kept.push_str(&rest[..found]);
        rest = &rest[found + NULL.len()..];
        let key = kept.trim_end_matches(|letter: char| letter.is_ascii_lowercase() || letter == '_').len();
        // A quote within the key itself has a backslash before it.
        let begin = kept[..key].strip_suffix('"').filter(|before| before.ends_with(['{', ',']));
        match begin.map(str::len) {
            Some(begin) => {
                kept.truncate(begin);
                if kept.ends_with(',') {
                    kept.pop();
                } else {
                    rest = rest.strip_prefix(',').unwrap_or(rest);
                }
            }
            // A key of other letters, or text.
            None => kept.push_str(NULL),
        }
    }
    kept.push_str(rest);
    kept
}

fn not_written(error: &dyn fmt::Display) -> NotMade {
    NotMade(format!("cannot write JSON: {error}"))
}

/// Gzip, because browsers unpack it by themselves, in base64, because nothing in that can end a script element. The page's own script and style
/// are packed in the same way (web/build.mjs).
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

    /// What lies packed in a page besides its numbers.
    #[derive(Debug)]
    pub struct Code {
        pub style: String,
        pub script: String,
    }

    pub fn code_of(page: &str) -> Code {
        let packed = page.split_once("data-code=\"gzip+base64\">").and_then(|(_, rest)| rest.split_once('<'));
        let code = unpacked(packed.expect("code").0);
        let (style, script) = code.split_once("</style>").expect("style and script");
        Code { style: style.to_owned(), script: script.to_owned() }
    }

    fn unpacked(packed: &str) -> String {
        let bytes = STANDARD.decode(packed).expect("base64");
        let mut text = String::new();
        GzDecoder::new(bytes.as_slice()).read_to_string(&mut text).expect("gzip");
        text
    }

    #[test]
    fn the_pages_have_one_place_for_numbers_and_ask_for_nothing() {
        for page in [PAGE, CYCLES] {
            assert!(page.starts_with(HEAD), "the page has no place for the mark");
        }
        for page in [PAGE, BENCH, CYCLES] {
            assert_eq!(page.matches(NUMBERS).count(), 1);
            assert_eq!(page.matches(BODY).count(), 1);
            assert!(page.contains("default-src 'none'"), "the page must forbid itself the network");
            assert_asks_for_nothing(page);
        }
        assert_eq!(GRAPHS.matches(NUMBERS).count(), 1);
        assert_asks_for_nothing(GRAPHS);
    }

    #[test]
    fn keys_without_a_value_are_left_out_and_texts_are_not() {
        for (json, kept) in [
            (r#"{"a":null,"b_c":null,"d":1}"#, r#"{"d":1}"#),
            (r#"{"d":1,"a":null,"b":null}"#, r#"{"d":1}"#),
            (r#"[{"a":null},{"b":null,"c":[null,2]}]"#, r#"[{},{"c":[null,2]}]"#),
            (r#"{"text":"\"a\":null,","A1":null}"#, r#"{"text":"\"a\":null,","A1":null}"#),
            (r#"{"text":"a\":null"}"#, r#"{"text":"a\":null"}"#),
            (r#"{"\"a":null,"b":1}"#, r#"{"\"a":null,"b":1}"#),
        ] {
            assert_eq!(without_nulls(json), kept);
        }
    }

    fn assert_asks_for_nothing(page: &str) {
        let Code { style, script } = code_of(page);
        assert!(!style.is_empty() && !script.is_empty());
        for asking in ["src=\"", "@import", "url(", "https://", "import("] {
            for text in [page, &style, &script] {
                assert!(!text.contains(asking), "the page holds `{asking}`");
            }
        }
    }

    #[test]
    fn what_is_packed_comes_out_again_and_holds_nothing_that_html_reads() {
        let numbers = r#"{"profile":{"title":"</script><b>表"}}"#;
        let packed = packed(numbers).expect("writing to memory");
        assert!(packed.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)), "{packed}");
        assert_eq!(unpacked(&packed), numbers);
    }

    /// In the page of `genba bench` are those of --export-json.
    #[test]
    fn the_viewer_alone_has_no_keys_without_a_value() {
        let numbers = r#"{"failed":null,"times":[1]}"#;
        let inside = |template: &str, page: Result<String, NotMade>| {
            let begin = template.find(NUMBERS).expect("a place for numbers");
            let page = page.expect("writing to memory");
            unpacked(page[begin..].split('<').next().unwrap_or_default())
        };
        assert_eq!(inside(PAGE, page_around(numbers, HEAD)), r#"{"times":[1]}"#);
        assert_eq!(inside(BENCH, bench_page(numbers)), numbers);
    }
}
