//! The report as text: for a screen of a given width, or for a pipe, where no line is broken.
//! Owns: its layout. Keeps: no line is wider than the screen, but for a word that cannot be broken; the mark stands
//! exactly under its expression; what is folded is said with its share.

use std::ops::Range;

use unicode_width::UnicodeWidthStr;

use crate::rules::phase::Phase;
use crate::rules::reading::Reading;
use crate::rules::weight::Weight;
use crate::tables::file_names::FileNames;
use crate::tables::locations::Location;
use crate::tables::owner::Owner;
use crate::tables::profile::{Function, Home, Profile, SampleGroup};
use crate::tables::table::TableIndex;
use crate::views::report::chain::Chain;
use crate::views::report::chain_text::{chain, chain_lines, shown};
use crate::views::report::groups::of_one_line;
use crate::views::report::{By, Report, Row, Sort, Subject};
use crate::views::summary::header_with_verdict;
use crate::words::excerpt::{Excerpt, excerpt, printable};
use crate::words::figures::{counted, percent, size};
use crate::words::paint::Paint;
use crate::words::wrap::{wrapped_chain, wrapped_on_screen};

/// Names are padded to the longest up to here, so that one long name does not push all source to the right.
const NAME_CELLS_MAX: usize = 36;
/// Between a name and its source, and before the lines under a row.
const GAP_CELLS: usize = 4;
/// Source is cut to that in a pipe.
const SOURCE_CELLS_MAX: usize = 100;
/// With less room than this beside its name, source that has to be cut goes under the name.
const SOURCE_CELLS_MIN: usize = 40;
/// With less room than this, the lines under a row begin further left.
const UNDER_CELLS_MIN: usize = 30;

/// `width`: of the screen. None: the text goes where lines may be of any length.
pub fn text(reading: &Reading, report: &Report, width: Option<usize>, paint: Paint) -> String {
    let profile = &reading.profile;
    let mut page = String::new();
    for line in header_with_verdict(reading, &report.choice, &report.verdict) {
        for line in wrapped_on_screen(&printable(&line.to_string()), width) {
            page += &format!("{line}\n");
        }
    }
    page.push('\n');
    let files = FileNames::of(profile);
    let lines: Vec<Line> = report.rows.iter().map(|row| line(profile, report, &files, row)).collect();
    let layout = Layout::of(&lines, width, paint);
    for group in of_one_line(profile, report) {
        let rows = group.iter().map(|position| (&lines[*position], &report.rows[*position]));
        layout.write(profile, report, &rows.collect::<Vec<_>>(), &mut page);
    }
    if report.rows.is_empty() {
        page += "no row: no sample has this weight\n";
    }
    let last = folded(report).into_iter().chain(outside_of_tests(profile, report));
    for line in last.flat_map(|line| wrapped_on_screen(&line, width)) {
        page += &format!("{}\n", paint.quiet(&line));
    }
    page
}

/// `← views.py:88 page 24 %`, one for each caller, and `others 20 %` for the rest of the row.
pub(super) fn callers(profile: &Profile, files: &FileNames, row: &Row) -> Vec<String> {
    let words = row.callers.iter().map(|caller| {
        let Function { name, home, .. } = &profile.functions[caller.function];
        let file = match home {
            Home::Python { file, .. } => files.short(*file).unwrap_or_default(),
            Home::C { .. } | Home::Mark => "",
        };
        let line = caller.line.map_or(String::new(), |line| format!(":{line}"));
        printable(&format!("← {file}{line} {name} {:.0} %", caller.share * 100.0))
    });
    let others = 1.0 - row.callers.iter().map(|caller| caller.share).sum::<f64>();
    let others = Some(format!("others {:.0} %", others * 100.0)).filter(|_| !row.callers.is_empty() && others >= 0.005);
    words.chain(others).collect()
}

/// The first line of a row.
struct Line {
    share: String,
    time: String,
    name: String,
    /// The line of source that says more than the name does.
    source_line: Option<u32>,
    /// The last caller has no comma.
    callers: Vec<String>,
}

fn line(profile: &Profile, report: &Report, files: &FileNames, row: &Row) -> Line {
    let weight = report.choice.weight;
    let whole = report.whole.by(weight);
    let measured = match report.sort {
        Sort::Own => row.own,
        Sort::Total => row.total,
    };
    let mut time = measured.words(weight);
    if weight == Weight::Allocated {
        time += &format!(" ± {}", size(measured.allocated_margin_bytes(report.whole)));
    }
    if report.sort == Sort::Total {
        time += &format!(" (self {})", row.own.words(weight));
    }
    Line {
        share: format!("{:>5} %", percent(measured.by(weight), whole)),
        time,
        name: printable(&name(profile, report.by, files, row)),
        source_line: row.subject.line.filter(|_| matches!(report.by, By::Expression | By::Line)),
        callers: with_commas(callers(profile, files, row)),
    }
}

/// `slices.py:6 before`
pub(in crate::views) fn name(profile: &Profile, by: By, files: &FileNames, row: &Row) -> String {
    let subject = &row.subject;
    let process = || {
        let process = &profile.processes[subject.process?];
        let command = process.argv.join(" ");
        let pid = process.number_in_words();
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
            let name = row.names_in_words();
            let numbered = if row.is_of_many() { name } else { format!("thread {tid} {name}") };
            let process = &profile.processes[row.process];
            let recording = process.recording.as_ref().map_or(String::new(), |recording| format!(" of {recording}"));
            match process.pid {
                Some(pid) => format!("{numbered} of process {pid}{recording}"),
                None => format!("{numbered}{recording}"),
            }
        }
        By::Process => process().unwrap_or_else(|| "no process".to_string()),
        By::Expression | By::Line | By::Function | By::Module | By::Test => {
            let Some(file) = subject.file else {
                let nowhere = if by == By::Test { "outside of tests" } else { "outside of Python" };
                return subject.phase.map_or(nowhere, Phase::name).to_string();
            };
            let function = subject.function.map(|function| profile.functions[function].name.as_str());
            if let Some(function) = function.filter(|_| profile.files[file].is_unknown()) {
                return function.to_string();
            }
            let mut name = match by {
                By::Module => profile.files[file].path.clone(),
                _ => files.short(file).unwrap_or_default().to_string(),
            };
            if let Some(line) = subject.line {
                name += &format!(":{line}");
            }
            if let Some(function) = function {
                name += &format!(" {function}");
            }
            name
        }
    }
}

fn with_commas(mut words: Vec<String>) -> Vec<String> {
    let last = words.len().saturating_sub(1);
    words.iter_mut().take(last).for_each(|word| word.push(','));
    words
}

/// The columns of all rows.
struct Layout {
    width: Option<usize>,
    time_cells: usize,
    name_cells: usize,
    /// Before the name.
    head_cells: usize,
    /// The indentation of the lines under a row.
    under_cells: usize,
    paint: Paint,
}

impl Layout {
    fn of(lines: &[Line], width: Option<usize>, paint: Paint) -> Layout {
        let widest = |cells: fn(&Line) -> usize| lines.iter().map(cells).max().unwrap_or(0);
        let time_cells = widest(|line| line.time.width());
        let head_cells = widest(|line| line.share.width()) + time_cells + 4;
        let name_cells_max = width.map_or(NAME_CELLS_MAX, |width| {
            let beside_source = width.saturating_sub(head_cells + GAP_CELLS + width * 2 / 5);
            beside_source.min(NAME_CELLS_MAX.max(width / 4))
        });
        let names = lines.iter().map(|line| line.name.width());
        let name_cells = names.filter(|cells| *cells <= name_cells_max).max().unwrap_or(0);
        let under_cells = match width {
            Some(width) if width < head_cells + GAP_CELLS + UNDER_CELLS_MIN => GAP_CELLS,
            _ => head_cells + GAP_CELLS,
        };
        Layout { width, time_cells, name_cells, head_cells, under_cells, paint }
    }

    /// One row, or several of one line.
    fn write(&self, profile: &Profile, report: &Report, rows: &[(&Line, &Row)], page: &mut String) {
        let &[(line, row), ref others @ ..] = rows else { return };
        let below = shown(profile, report, row);
        let Some(source) = line.source_line.and_then(|at| profile.source_of(row.subject.function?)?.line(at)) else {
            let words = without_text(profile, &row.subject).map_or(String::new(), |words| format!(" ({words})"));
            self.write_name(&self.head(line), &line.name, &words, page);
            return self.write_below(profile, below, &line.callers, page);
        };
        let placed = self.write_source(&self.head(line), &line.name, source, &row.subject, page);
        if row.subject.expression.is_some() {
            *page += &self.mark(&placed.shown, placed.before, several(&row.subject), placed.room);
        }
        self.write_below(profile, below, &line.callers, page);
        for (line, row) in others {
            *page += &self.marked_with_share(&placed, line, source, &row.subject);
            self.write_below(profile, shown(profile, report, row), &[], page);
        }
    }

    fn head(&self, line: &Line) -> String {
        format!("{}  {}  ", self.paint.strong(&line.share), pad_left(&line.time, self.time_cells))
    }

    /// The mark of a further row of a line, behind its figures. Where it is not on what is shown of the line, its own part is shown.
    fn marked_with_share(&self, placed: &Placed, line: &Line, source: &str, subject: &Subject) -> String {
        let head = self.head(line);
        // A narrow screen has its source further left than the figures end.
        let is_under = placed.before < self.head_cells;
        let beside = |cells: usize| {
            if is_under {
                format!("{}\n{}", head.trim_end(), blanks(cells))
            } else {
                format!("{head}{}", blanks(cells - self.head_cells))
            }
        };
        if subject.expression.is_none() {
            return format!("{}{}\n", beside(placed.before), self.paint.quiet("elsewhere in this line"));
        }
        let room = if placed.is_whole { usize::MAX } else { placed.room.unwrap_or(SOURCE_CELLS_MAX) };
        let own = excerpt(source, mark_columns(source, subject), room);
        let mark = self.mark(&own, placed.before, several(subject), placed.room);
        if own.line != placed.shown.line {
            return format!("{}{}\n{mark}", beside(placed.before), own.line);
        }
        let marked = mark.trim_start_matches(' ');
        format!("{}{marked}", beside(mark.len() - marked.len()))
    }

    /// The chain and the row's callers. Rows of one line name `callers` once.
    fn write_below(&self, profile: &Profile, below: &Chain, callers: &[String], page: &mut String) {
        let room = self.width.map(|width| width - self.under_cells);
        let chain = match room {
            _ if below.is_empty() => Vec::new(),
            Some(room) => chain_lines(profile, below, room),
            None => vec![printable(&chain(profile, below))],
        };
        let callers = wrapped_chain(&[], callers, room.unwrap_or(usize::MAX));
        for line in chain.into_iter().chain(callers) {
            *page += &format!("{}{}\n", blanks(self.under_cells), self.paint.quiet(&line));
        }
    }

    /// `quiet` is what the name goes on with.
    fn write_name(&self, head: &str, name: &str, quiet: &str, page: &mut String) {
        let room = self.width.map(|width| width.saturating_sub(self.head_cells));
        if room.is_none_or(|room| name.width() + quiet.width() <= room) {
            *page += &format!("{head}{name}{}\n", self.paint.quiet(quiet));
            return;
        }
        // On a narrow screen a name that does not fit goes under the figures, as its source does.
        let is_under = self.under_cells < self.head_cells;
        let (cells, mut before) = match is_under {
            true => (self.under_cells, format!("{}\n{}", head.trim_end(), blanks(self.under_cells))),
            false => (self.head_cells, head.to_string()),
        };
        let room = self.width.map(|width| width.saturating_sub(cells));
        for line in wrapped_on_screen(&format!("{name}{quiet}"), room) {
            *page += &format!("{before}{line}\n");
            before = blanks(cells);
        }
    }

    fn write_source(&self, head: &str, name: &str, source: &str, subject: &Subject, page: &mut String) -> Placed {
        let columns = mark_columns(source, subject);
        let name = pad_right(name, self.name_cells);
        let beside = self.head_cells + name.width() + GAP_CELLS;
        let whole = excerpt(source, columns.clone(), usize::MAX);
        let room = self.width.map_or(SOURCE_CELLS_MAX, |width| width.saturating_sub(beside));
        let is_whole = whole.line.width() <= room;
        let is_beside = is_whole
            || self.width.is_none()
            || (name.width() <= self.name_cells && room >= SOURCE_CELLS_MIN && whole.mark_cells + 2 <= room);
        let (before, room) = match self.width {
            Some(width) if !is_beside => {
                self.write_name(head, name.trim_end(), "", page);
                *page += &blanks(self.under_cells);
                (self.under_cells, width - self.under_cells)
            }
            _ => {
                *page += &format!("{head}{name}{}", blanks(GAP_CELLS));
                (beside, room)
            }
        };
        let shown = if is_whole { whole } else { excerpt(source, columns, room) };
        *page += &format!("{}\n", shown.line);
        Placed { shown, before, room: self.width.map(|_| room), is_whole }
    }

    /// `~~~~~`, and beside it whether the expression goes on: on its right, or where room is short on its left or below.
    fn mark(&self, shown: &Excerpt, before: usize, several: u32, room: Option<usize>) -> String {
        let mark = self.paint.mark(&"~".repeat(shown.mark_cells));
        let indent = before + shown.indent_cells;
        if several == 0 {
            return format!("{}{mark}\n", blanks(indent));
        }
        let words = format!("goes on for {}", counted(u64::from(several), "line", "lines"));
        let quiet = self.paint.quiet(&words);
        if room.is_none_or(|room| shown.indent_cells + shown.mark_cells + 1 + words.width() <= room) {
            return format!("{}{mark} {quiet}\n", blanks(indent));
        }
        match shown.indent_cells.checked_sub(words.width() + 1) {
            Some(left) => format!("{}{quiet} {mark}\n", blanks(before + left)),
            None => format!("{}{mark}\n{}{quiet}\n", blanks(indent), blanks(before)),
        }
    }
}

/// A line of source on the screen.
struct Placed {
    shown: Excerpt,
    /// Cells before it.
    before: usize,
    /// Cells for it; none: as many as it takes.
    room: Option<usize>,
    is_whole: bool,
}

/// The mark's, in characters. Without an expression: nothing, behind the indentation.
fn mark_columns(source: &str, subject: &Subject) -> Range<u32> {
    match &subject.expression {
        Some(expression) if several(subject) > 0 => expression.column..u32::MAX,
        Some(expression) => expression.column..expression.end_column,
        None => {
            let indent = source.chars().take_while(|character| character.is_whitespace()).count() as u32;
            indent..indent
        }
    }
}

/// How many lines the expression goes on for.
fn several(subject: &Subject) -> u32 {
    subject.end_line.zip(subject.line).map_or(0, |(end, first)| end - first)
}

/// What is said of an expression whose text is not known.
pub(super) fn without_text(profile: &Profile, subject: &Subject) -> Option<String> {
    let lack =
        subject.function.and_then(|function| profile.source_of(function)?.lack).map(|lack| lack.words().to_string());
    let words: Vec<String> = columns(subject).into_iter().chain(lack).collect();
    (!words.is_empty()).then(|| words.join("; "))
}

fn columns(subject: &Subject) -> Option<String> {
    let (line, end_line) = (subject.line.unwrap_or_default(), subject.end_line.or(subject.line).unwrap_or_default());
    Location { line, end_line, byte_columns: subject.byte_columns }.columns_in_words()
}

fn folded(report: &Report) -> Option<String> {
    let folded = report.folded;
    let weight = report.choice.weight;
    let share = percent(folded.own.by(weight), report.whole.by(weight));
    let rows = counted(folded.rows, "more row", "more rows");
    (folded.rows > 0).then(|| format!("{share:>5} %  {rows} (--min-share 0 --limit 0 shows them all)"))
}

/// Where tests are prepared by functions of the user's own: the view that shows these.
fn outside_of_tests(profile: &Profile, report: &Report) -> Option<String> {
    let is_outside = |row: &Row| row.subject.file.is_none() && row.subject.phase.is_none();
    if report.by != By::Test || !report.rows.iter().any(is_outside) {
        return None;
    }
    let prepares = |function: &Function| function.name == "call_fixture_func" || function.name.contains("setUp");
    let is_prepared = |group: &SampleGroup| {
        let mut is_own = false;
        profile.stack(group.node).map(|frame| profile.frames[frame].function).any(|function| {
            is_own |= profile.owner_of(function) == Some(Owner::User);
            is_own && prepares(&profile.functions[function])
        })
    };
    let view = "genba report --by function --sort total --focus 'call_fixture_func|setUp'";
    let is_known = profile.samples.iter().any(is_prepared);
    is_known.then(|| format!("outside of tests are fixtures and setUp, too: {view}"))
}

fn blanks(cells: usize) -> String {
    " ".repeat(cells)
}

fn pad_left(text: &str, cells: usize) -> String {
    format!("{}{text}", blanks(cells.saturating_sub(text.width())))
}

fn pad_right(text: &str, cells: usize) -> String {
    format!("{text}{}", blanks(cells.saturating_sub(text.width())))
}
