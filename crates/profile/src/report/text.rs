//! The report as text for a terminal.
//! Owns: its layout. Keeps: the mark stands exactly under its expression; what is folded is said with its share.

use unicode_width::UnicodeWidthStr;

use crate::figures::{counted, percent};
use crate::owner::Owner;
use crate::paint::Paint;
use crate::profile::{FunctionIndex, Home, Profile};
use crate::report::excerpt::{excerpt, printable};
use crate::report::file_names::FileNames;
use crate::report::{By, Link, Report, Row, Sort, Subject};
use crate::summary::header_with_verdict;
use crate::table::TableIndex;

/// A longer way down is shown by its two ends; one link more takes no more room than the words for it.
const LINKS_MAX: usize = 9;
const LINKS_AT_TOP: usize = 4;

/// Names are padded to the longest up to here, so that one long name does not push all source to the right.
const NAME_CELLS_MAX: usize = 36;

pub fn text(profile: &Profile, report: &Report, paint: Paint) -> String {
    let mut page = String::new();
    for line in header_with_verdict(profile, &report.choice, &report.verdict) {
        page += &format!("{}\n", printable(&line));
    }
    page.push('\n');
    let files = files_of(profile, report);
    let lines: Vec<Line> = report.rows.iter().map(|row| line(profile, report, &files, row)).collect();
    let name_cells = lines.iter().map(|line| line.name.width()).filter(|cells| *cells <= NAME_CELLS_MAX).max();
    let time_cells = lines.iter().map(|line| line.time.width()).max().unwrap_or(0);
    for (line, row) in lines.iter().zip(&report.rows) {
        write(profile, line, row, [time_cells, name_cells.unwrap_or(0)], paint, &mut page);
    }
    if report.rows.is_empty() {
        page += "no row: no sample has this weight\n";
    }
    page += &folded(report, paint);
    page
}

pub(super) fn files_of(profile: &Profile, report: &Report) -> FileNames {
    FileNames::of(profile, report.rows.iter().filter_map(|row| row.subject.file))
}

/// What stands in the first line of a row.
struct Line {
    share: String,
    time: String,
    name: String,
    /// The line of source that says more than the name does.
    source_line: Option<u32>,
}

fn line(profile: &Profile, report: &Report, files: &FileNames, row: &Row) -> Line {
    let weight = report.choice.weight;
    let whole = report.whole.by(weight);
    let measured = match report.sort {
        Sort::Own => row.own,
        Sort::Total => row.total,
    };
    let mut time = measured.words(weight);
    if report.sort == Sort::Total {
        time += &format!(" (self {})", row.own.words(weight));
    }
    Line {
        share: format!("{:>5} %", percent(measured.by(weight), whole)),
        time,
        name: printable(&name(profile, report.by, files, row)),
        source_line: row.subject.line.filter(|_| matches!(report.by, By::Expression | By::Line)),
    }
}

/// `slices.py:6 before`
pub(super) fn name(profile: &Profile, by: By, files: &FileNames, row: &Row) -> String {
    let subject = &row.subject;
    let process = || {
        let process = &profile.processes[subject.process?];
        let command = process.argv.join(" ");
        let pid = process.pid.map_or("of a lost block".to_string(), |pid| pid.to_string());
        let recording = process.recording.as_ref().map_or(String::new(), |recording| format!(" of {recording}"));
        Some(format!("process {pid}{recording} {command}").trim_end().to_string())
    };
    match by {
        By::Thread => {
            let Some(thread) = subject.thread else {
                return "no thread".to_string();
            };
            let row = &profile.threads[thread];
            let tid = row.tid.map_or(format!("#{}", thread.position()), |tid| tid.to_string());
            let name = row.name.as_deref().unwrap_or_default();
            let process = &profile.processes[row.process];
            let recording = process.recording.as_ref().map_or(String::new(), |recording| format!(" of {recording}"));
            match process.pid {
                Some(pid) => format!("thread {tid} {name} of process {pid}{recording}"),
                None => format!("thread {tid} {name}{recording}"),
            }
        }
        By::Process => process().unwrap_or_else(|| "no process".to_string()),
        By::Expression | By::Line | By::Function | By::Module => {
            let Some(file) = subject.file else {
                return "outside of Python".to_string();
            };
            let mut name = match by {
                By::Module => profile.files[file].path.clone(),
                _ => files.short(file).unwrap_or_default().to_string(),
            };
            if let Some(line) = subject.line {
                name += &format!(":{line}");
            }
            if let Some(function) = subject.function {
                name += &format!(" {}", profile.functions[function].name);
            }
            name
        }
    }
}

fn write(profile: &Profile, line: &Line, row: &Row, cells: [usize; 2], paint: Paint, page: &mut String) {
    let [time_cells, name_cells] = cells;
    let time = pad_left(&line.time, time_cells);
    let head = format!("{}  {}  ", paint.strong(&line.share), time);
    let head_cells = line.share.width() + time.width() + 4;
    let source = line.source_line.and_then(|at| profile.source_of(row.subject.function?)?.line(at));
    let marked = row.subject.expression.as_ref();
    match source {
        None => {
            let columns = columns_without_text(&row.subject).map_or(String::new(), |columns| format!(" ({columns})"));
            *page += &format!("{head}{}{}\n", line.name, paint.quiet(&columns));
        }
        Some(source) => {
            let name = pad_right(&line.name, name_cells);
            let several = row.subject.end_line.zip(row.subject.line).map_or(0, |(end, first)| end - first);
            let columns = match marked {
                Some(expression) if several > 0 => expression.column..u32::MAX,
                Some(expression) => expression.column..expression.end_column,
                None => {
                    let indent = source.chars().take_while(|character| character.is_whitespace()).count() as u32;
                    indent..indent
                }
            };
            let shown = excerpt(source, columns);
            *page += &format!("{head}{name}    {}\n", shown.line);
            if marked.is_some() {
                let indent = head_cells + name.width() + 4 + shown.indent_cells;
                let mark = paint.mark(&"~".repeat(shown.mark_cells));
                *page += &format!("{}{mark}", " ".repeat(indent));
                if several > 0 {
                    let lines = counted(u64::from(several), "line", "lines");
                    *page += &paint.quiet(&format!(" goes on for {lines}"));
                }
                page.push('\n');
            }
        }
    }
    if !row.chain.is_empty() {
        let chain = printable(&chain(profile, &row.chain));
        *page += &format!("{}{}\n", " ".repeat(head_cells + 4), paint.quiet(&chain));
    }
}

/// What tells the expressions of a line apart whose text is not known. They count from 1, as editors do.
pub(super) fn columns_without_text(subject: &Subject) -> Option<String> {
    let columns = subject.byte_columns?;
    let (first, last) = (columns.start + 1, columns.end);
    Some(match subject.end_line {
        Some(end_line) if subject.line.is_some_and(|line| end_line > line) => {
            format!("column {first} to line {end_line}, column {last}")
        }
        _ if last <= first => format!("column {first}"),
        _ => format!("columns {first} to {last}"),
    })
}

/// `bytes.__getitem__ → PyBytes_FromStringAndSize → memmove (libc)`
pub fn chain(profile: &Profile, links: &[Link]) -> String {
    let names: Vec<String> = links.iter().map(|link| link.name(profile)).collect();
    let mut shown = if names.len() > LINKS_MAX + 1 {
        let at_leaf = LINKS_MAX - LINKS_AT_TOP;
        let left_out = names.len() - LINKS_MAX;
        let mut ends = names[..LINKS_AT_TOP].to_vec();
        ends.push(format!("({left_out} more)"));
        ends.extend_from_slice(&names[names.len() - at_leaf..]);
        ends
    } else {
        names
    };
    // The leaf says whose code it is; what the thread waits for stands after it.
    let waits = matches!(links.last(), Some(Link::State(_)));
    let leaf = links.len().checked_sub(1 + usize::from(waits)).map(|position| links[position]);
    if let Some(Link::Function(function)) = leaf
        && let Some(hint) = module_hint(profile, function)
    {
        let position = shown.len() - 1 - usize::from(waits);
        shown[position] += &format!(" ({hint})");
    }
    shown.join(" → ")
}

/// None: the interpreter's own code, which goes without saying, or Python.
fn module_hint(profile: &Profile, function: FunctionIndex) -> Option<String> {
    let Home::C { module, origin, .. } = &profile.functions[function].home else {
        return None;
    };
    let module = &profile.modules[*module];
    match module.owner {
        Owner::Interpreter => None,
        // Without a name of its own it is called by its module already.
        _ if origin.is_none() => None,
        Owner::Libc => Some("libc".to_string()),
        _ => Some(module.base_name().to_string()),
    }
}

fn folded(report: &Report, paint: Paint) -> String {
    let folded = report.folded;
    if folded.rows == 0 {
        return String::new();
    }
    let weight = report.choice.weight;
    let share = percent(folded.own.by(weight), report.whole.by(weight));
    let rows = counted(folded.rows, "row", "rows");
    let line = format!("{share:>5} %  in {rows} more (--min-share 0 --limit 0 shows them all)");
    format!("{}\n", paint.quiet(&line))
}

fn pad_left(text: &str, cells: usize) -> String {
    format!("{}{text}", " ".repeat(cells.saturating_sub(text.width())))
}

fn pad_right(text: &str, cells: usize) -> String {
    format!("{text}{}", " ".repeat(cells.saturating_sub(text.width())))
}
