//! `genba heap diff`: which classes grew between two files of a heap.
//! Owns: the pairing of rows by module and name. Never: reads a process.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use genba_profile::figures;
use genba_profile::report::printable;
use genba_profile::shell;
use serde::Serialize;

use super::page::{FORMAT, Format, Page, TOP, VERSION};
use super::text::named;
use crate::files::own_file::format_of;
use crate::read::{self, Stream};
use crate::words::failure::{self, Failure};
use crate::words::numbers;

const KEEPS_ONE: &str = "genba heap PID -o FILE keeps one";
/// Of the numbers in a row.
const CELLS_BEFORE_NAME: usize = 41;

#[derive(Args)]
pub struct Arguments {
    /// The earlier file of genba heap -o
    #[arg(value_name = "BEFORE")]
    before: PathBuf,

    /// The later one
    #[arg(value_name = "AFTER")]
    after: PathBuf,

    /// Show so many classes; 0: all. Without it text shows 25, and JSON has all
    #[arg(long = "limit", alias = "top", value_name = "N", value_parser = numbers::limit)]
    top: Option<usize>,

    /// What to print
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

/// One class that changed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
struct Change {
    module: Option<String>,
    name: Option<String>,
    count_before: u64,
    count_after: u64,
    bytes_before: u64,
    bytes_after: u64,
    #[serde(skip)]
    full_name: String,
}

#[derive(Serialize)]
struct Changes<'a> {
    format: &'static str,
    version: u32,
    objects_before: u64,
    objects_after: u64,
    bytes_before: u64,
    bytes_after: u64,
    classes: &'a [Change],
    classes_left_out: usize,
}

pub fn diff(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let (before, after) = (read_page(&arguments.before)?, read_page(&arguments.after)?);
    let changes = changes(&before, &after);
    match arguments.format {
        Format::Text => {
            let (top, width) = (arguments.top.unwrap_or(TOP), read::screen_width(Stream::Stdout));
            read::print_wrapped(&text(&before, &after, &changes, top, width))?;
        }
        Format::Json => {
            let top = arguments.top.filter(|&top| top > 0).unwrap_or(changes.len());
            let shown = changes.get(..top).unwrap_or(&changes);
            let page = Changes {
                format: "genba-heap-diff",
                version: VERSION,
                objects_before: before.objects,
                objects_after: after.objects,
                bytes_before: before.bytes,
                bytes_after: after.bytes,
                classes: shown,
                classes_left_out: changes.len() - shown.len(),
            };
            let text = genba_text::json::pretty(&page);
            read::print(&text.map_err(|error| Failure::ours(format!("cannot write JSON: {error}")))?)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The same as text.
pub fn growth(before: &Page, after: &Page, top: usize) -> String {
    text(before, after, &changes(before, after), top, read::screen_width(Stream::Stdout))
}

/// A file of a heap.
pub fn read_page(path: &Path) -> Result<Page, Failure> {
    read::check_is_no_pipe(path)?;
    let bytes = std::fs::read(path).map_err(|error| unreadable(path, &error))?;
    let cannot = |detail: String| {
        let failure = Failure::no(format!("{} is no heap that genba has kept", path.display())).detail(detail);
        match format_of(&bytes) {
            Some(b"genba-gc-cycles") => failure.hint(format!("genba gc cycles {}", shell::path(path))),
            _ => failure.hint(KEEPS_ONE),
        }
    };
    let no_page = |error: serde_json::Error| cannot(format!("not JSON as genba writes it: {error}"));
    let page: Page = serde_json::from_slice(&bytes).map_err(no_page)?;
    if page.format != FORMAT || page.version != VERSION {
        let found = format!("it says {} version {}, expected {FORMAT} version {VERSION}", page.format, page.version);
        return Err(cannot(printable(&found)));
    }
    if page.classes_left_out > 0 {
        return Err(cannot(format!(
            "--limit left {} out of it",
            figures::counted(page.classes_left_out as u64, "class", "classes")
        )));
    }
    Ok(page)
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    let failure = Failure::no(format!("cannot read {}: {}", path.display(), failure::of_system(error)));
    match error.kind() {
        ErrorKind::NotFound => failure.hint(format!("{KEEPS_ONE}; genba ps lists the Python processes")),
        _ => failure,
    }
}

/// Those that grew most come first, those that shrank most last. Classes of one name are one row.
fn changes(before: &Page, after: &Page) -> Vec<Change> {
    let mut rows: BTreeMap<(Option<String>, Option<String>), Change> = BTreeMap::new();
    for (page, is_after) in [(before, false), (after, true)] {
        for row in &page.classes {
            let change = rows.entry((row.module.clone(), row.name.clone())).or_insert_with(|| Change {
                module: row.module.clone(),
                name: row.name.clone(),
                count_before: 0,
                count_after: 0,
                bytes_before: 0,
                bytes_after: 0,
                full_name: row.full_name(),
            });
            let (count, bytes) = match is_after {
                false => (&mut change.count_before, &mut change.bytes_before),
                true => (&mut change.count_after, &mut change.bytes_after),
            };
            *count = count.saturating_add(row.count);
            *bytes = bytes.saturating_add(row.bytes);
        }
    }
    let mut changes: Vec<Change> = rows
        .into_values()
        .filter(|row| row.count_before != row.count_after || row.bytes_before != row.bytes_after)
        .collect();
    let growth = |row: &Change| i128::from(row.bytes_after) - i128::from(row.bytes_before);
    changes.sort_by_key(|row| (-growth(row), row.full_name.clone()));
    changes
}

/// `width`: of the terminal.
fn text(before: &Page, after: &Page, changes: &[Change], top: usize, width: Option<usize>) -> String {
    let mut text = format!(
        "{} → {}: {} objects, {}\n",
        figures::size(before.bytes),
        figures::size(after.bytes),
        signed(before.objects, after.objects, figures::count),
        signed(before.bytes, after.bytes, figures::size),
    );
    text.push_str(unlike(before, after));
    text.push('\n');
    if changes.is_empty() {
        text.push_str("no class changed\n");
        return text;
    }
    text.push_str(&format!("{:>11} {:>13} {:>13}  class\n", "bytes", "objects", "now"));
    let shown = if top == 0 { changes.len() } else { top };
    for change in changes.iter().take(shown) {
        text.push_str(&format!(
            "{:>11} {:>13} {:>13}  {}\n",
            signed(change.bytes_before, change.bytes_after, figures::size),
            signed(change.count_before, change.count_after, figures::count),
            figures::count(change.count_after),
            named(&change.full_name, CELLS_BEFORE_NAME, width),
        ));
    }
    if changes.len() > shown {
        let more = (changes.len() - shown) as u64;
        text.push_str(&format!(
            "{} changed (--limit 0 shows all)\n",
            figures::counted(more, "more class", "more classes")
        ));
    }
    text
}

/// Garbage that only one of them counts is no growth.
fn unlike(before: &Page, after: &Page) -> &'static str {
    match (before.garbage.is_some(), after.garbage.is_some()) {
        (true, false) => "note: the earlier one is without garbage (--live-only), and the later one counts it\n",
        (false, true) => "note: the later one is without garbage (--live-only), and the earlier one counts it\n",
        _ => "",
    }
}

fn signed(before: u64, after: u64, words: impl Fn(u64) -> String) -> String {
    let sign = if after >= before { '+' } else { '-' };
    format!("{sign}{}", words(after.abs_diff(before)))
}

#[cfg(test)]
mod tests {
    use super::super::page::{FORMAT, Garbage, Page, Row, Unreached, VERSION};
    use super::{changes, read_page, text};

    fn page(rows: &[(&str, u64, u64)]) -> Page {
        let row = |&(name, count, bytes): &(&str, u64, u64)| Row {
            module: Some("app".to_owned()),
            name: Some(name.to_owned()),
            is_cut: false,
            has_more: false,
            count,
            bytes,
        };
        Page {
            moment: None,
            walked_realtime_ns: None,
            format: FORMAT.to_owned(),
            version: VERSION,
            genba_version: String::new(),
            pid: 1,
            python: String::new(),
            argv: Vec::new(),
            objects: rows.iter().map(|row| row.1).sum(),
            bytes: rows.iter().map(|row| row.2).sum(),
            tracked: 0,
            unreached: Unreached { interpreters: 0, share_max: 0.003 },
            walked: "copy".to_owned(),
            why_in_place: None,
            pause_ns: 0,
            stopped_ns: 0,
            wait_ns: 0,
            walk_ns: 0,
            resident_bytes: None,
            resident_files_bytes: None,
            unaccounted_bytes: None,
            collection: None,
            garbage: None,
            page_faults: None,
            classes: rows.iter().map(row).collect(),
            classes_left_out: 0,
        }
    }

    #[test]
    fn what_grew_most_comes_first() {
        let before = page(&[("Same", 1, 10), ("Less", 9, 90), ("Twice", 1, 5), ("Twice", 1, 5)]);
        let after = page(&[("Same", 1, 10), ("Less", 2, 20), ("New", 3, 300), ("Twice", 4, 20)]);
        let text = text(&before, &after, &changes(&before, &after), 0, None);
        let rows: Vec<Vec<&str>> = text.lines().skip(3).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(
            rows,
            [
                vec!["+300", "bytes", "+3", "3", "app.New"],
                vec!["+10", "bytes", "+2", "4", "app.Twice"],
                vec!["-70", "bytes", "-7", "2", "app.Less"],
            ]
        );
        assert!(!text.contains("note: "));
    }

    #[test]
    fn garbage_that_only_one_counts_is_said() {
        let whole = page(&[("Held", 3, 30)]);
        let live = Page { garbage: Some(Garbage { objects: 0, bytes: 0 }), ..page(&[("Held", 1, 10)]) };
        let words = |before: &Page, after: &Page| text(before, after, &changes(before, after), 0, None);
        assert!(words(&live, &whole).contains("\nnote: the earlier one is without garbage (--live-only)"));
        assert!(words(&whole, &live).contains("\nnote: the later one is without garbage (--live-only)"));
        assert!(!words(&live, &live).contains("note: "));
    }

    #[test]
    fn a_page_that_lacks_classes_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("heap.json");
        let whole = page(&[("Kept", 1, 10), ("Left", 1, 5)]);
        std::fs::write(&path, whole.json().unwrap()).unwrap();
        assert_eq!(read_page(&path).map(|page| page.classes.len()).ok(), Some(2));
        std::fs::write(&path, whole.limited(1).json().unwrap()).unwrap();
        let words = format!("{:?}", read_page(&path).map(|page| page.bytes).unwrap_err());
        assert!(words.contains("--limit left 1 class out of it"), "{words}");
    }
}
