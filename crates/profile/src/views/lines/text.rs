//! Annotated source as text for a terminal of a given width.
//! Owns: its layout. Keeps: no line of source is wider than the terminal; a mark stands exactly under its expression, or
//! before its text where the line had to be cut; what is folded says its share.

use unicode_width::UnicodeWidthStr;

use crate::rules::reading::Reading;
use crate::rules::weight::{Totals, Weight};
use crate::tables::file_names::FileNames;
use crate::tables::profile::Profile;
use crate::tables::source_text::SourceText;
use crate::views::lines::stretches::{Stretch, stretches};
use crate::views::lines::{FunctionLines, Line, Lines};
use crate::views::report::Sort;
use crate::views::summary::header;
use crate::words::excerpt::{expand, first_cells, printable};
use crate::words::figures::{count, counted, percent, size};
use crate::words::paint::Paint;
use crate::words::wrap::wrapped;

/// Expressions marked below one line.
const MARKS_MAX: usize = 3;
/// Source is never cut shorter than this, however narrow the terminal.
const SOURCE_CELLS_MIN: usize = 24;
const CUT: &str = "…";

pub fn text(reading: &Reading, lines: &Lines, width: usize, paint: Paint) -> String {
    let profile = &reading.profile;
    let mut page = String::new();
    for line in header(reading, &lines.choice).iter().flat_map(|line| wrapped(&printable(line), width)) {
        page += &format!("{line}\n");
    }
    let files = FileNames::of(profile);
    for function in &lines.functions {
        page.push('\n');
        for line in wrapped(&printable(&title(profile, lines, &files, function)), width) {
            page += &format!("{}\n", paint.strong(&line));
        }
        page += &block(profile, lines, function, width, paint);
    }
    if lines.functions.is_empty() {
        page += "\nno function: no sample in Python has this weight\n";
    }
    if let Some(folded) = folded(lines) {
        page.push('\n');
        for line in wrapped(&folded, width) {
            page += &format!("{}\n", paint.quiet(&line));
        }
    }
    page
}

/// `slices.py:4 before · 98.6 % self of 3.15 s CPU`
pub(super) fn title(profile: &Profile, lines: &Lines, files: &FileNames, function: &FunctionLines) -> String {
    let weight = lines.choice.weight;
    let part = |totals: Totals| percent(totals.by(weight), lines.whole.by(weight));
    let (total, own) = (part(function.total), part(function.own));
    let share = if total == own { format!("{total} %") } else { format!("{total} %, self {own} %") };
    let whole = lines.whole.words_with_unit(weight);
    let name = &profile.functions[function.function].name;
    format!("{}:{} {name} · {share} of {whole}", files.short(function.file).unwrap_or_default(), function.first_line)
}

/// `1.4 % in 3 more functions (…)`
pub(super) fn folded(lines: &Lines) -> Option<String> {
    let folded = lines.folded;
    let share = percent(folded.own.by(lines.choice.weight), lines.whole.by(lines.choice.weight));
    let functions = counted(folded.rows, "more function", "more functions");
    (folded.rows > 0).then(|| format!("{share} % in {functions} (--min-share 0 --limit 0 shows them all)"))
}

/// The heading of the columns, and the lines.
pub(super) fn block(profile: &Profile, lines: &Lines, function: &FunctionLines, width: usize, paint: Paint) -> String {
    let weight = lines.choice.weight;
    let smallest = lines.share_min * lines.whole.by(weight) as f64;
    let stretches = stretches(profile, function, weight, smallest);
    let source = profile.source_of(function.function);
    let shown = stretches.iter().filter_map(|stretch| match stretch {
        Stretch::Shown(line) => Some(*line),
        Stretch::Folded { .. } => None,
    });
    let number_cells = shown.clone().max().unwrap_or(0).to_string().len().max(4);
    let dedent_cells = source.map_or(0, |source| dedent_cells(source, shown));
    let room = width.saturating_sub(FIGURE_CELLS + number_cells + 4).max(SOURCE_CELLS_MIN);
    let layout = Layout { lines, source, number_cells, dedent_cells, room, paint };

    let third = match weight {
        Weight::Copied => "copied",
        Weight::Allocated => "alloc",
        Weight::Cpu | Weight::Wall | Weight::Samples => "wall",
    };
    let heading = format!("{}  {:>number_cells$}", cells(["total", "CPU", third, "self"].map(str::to_string)), "line");
    let mut page = format!("{}\n", paint.quiet(&heading));
    for line in function.lines.iter().filter(|line| line.line.is_none()) {
        page += &format!("{}  {:>number_cells$}  without a line\n", layout.figures(line), "–");
    }
    for stretch in stretches {
        match stretch {
            Stretch::Shown(at) => {
                let touched = function.lines.binary_search_by_key(&Some(at), |line| line.line).ok();
                page += &layout.shown(at, touched.map(|position| &function.lines[position]), smallest);
            }
            Stretch::Folded { lines: count, own } => {
                let words = match own.by(weight) {
                    0 => counted(u64::from(count), "line", "lines"),
                    part => {
                        let share = percent(part, lines.whole.by(weight));
                        format!("{}, {share} %", counted(u64::from(count), "line", "lines"))
                    }
                };
                let blank = " ".repeat(FIGURE_CELLS + 2);
                page += &format!("{}\n", paint.quiet(&format!("{blank}{:>number_cells$}  {words}", "⋮")));
            }
        }
    }
    page
}

struct Layout<'a> {
    lines: &'a Lines,
    source: Option<&'a SourceText>,
    number_cells: usize,
    /// Indentation that all lines of the block have.
    dedent_cells: usize,
    /// Cells for source.
    room: usize,
    paint: Paint,
}

impl Layout<'_> {
    /// A line of source, and the marks below it.
    fn shown(&self, at: u32, touched: Option<&Line>, smallest: f64) -> String {
        let text = self.source.and_then(|source| source.line(at));
        let whole = match text {
            Some(text) => self.dedented(&expand(text.trim_end(), 0)).to_string(),
            None => match self.source.and_then(|source| source.lack) {
                Some(lack) => format!("({})", lack.words()),
                None => "(source not recorded)".to_string(),
            },
        };
        let fits = whole.width() <= self.room;
        let shown = match fits {
            true => whole.clone(),
            false => format!("{}{CUT}", first_cells(&whole, self.room - CUT.width())),
        };
        let number = format!("{at:>cells$}", cells = self.number_cells);
        let Some(line) = touched else {
            let blank = " ".repeat(FIGURE_CELLS);
            return format!("{}\n", self.paint.quiet(format!("{blank}  {number}  {shown}").trim_end()));
        };
        let weight = self.lines.choice.weight;
        let is_hot = line.own.by(weight).max(line.total.by(weight)) as f64 >= smallest;
        let figures = self.figures(line);
        let figures = if is_hot { self.paint.strong(&figures) } else { figures };
        let mut page = format!("{figures}  {number}  {shown}\n");
        if let Some(text) = text {
            page += &self.marks(line, text, smallest);
        }
        page
    }

    /// `~~~~~ 96.6 %` under each expression that weighs enough.
    fn marks(&self, line: &Line, text: &str, smallest: f64) -> String {
        let weight = self.lines.choice.weight;
        let measure = |own: Totals, total: Totals| match self.lines.sort {
            Sort::Own => own.by(weight),
            Sort::Total => total.by(weight),
        };
        let of_expressions = line.expressions.iter().map(|hot| (hot, measure(hot.own, hot.total)));
        let touched: Vec<_> = of_expressions.filter(|(_, weight)| *weight > 0).collect();
        let hot: Vec<_> = touched.iter().filter(|(_, weight)| *weight as f64 >= smallest).collect();
        let before = " ".repeat(FIGURE_CELLS + 2 + self.number_cells + 2);
        let mut page = String::new();
        for &&(hot, weight_of_it) in hot.iter().take(MARKS_MAX) {
            let share = format!("{} %", percent(weight_of_it, self.lines.whole.by(weight)));
            let several = hot.end_line.zip(line.line).map_or(0, |(end, first)| end.saturating_sub(first));
            let end_column =
                if several > 0 { text.trim_end().chars().count() as u32 } else { hot.expression.end_column };
            let indent = self.cells_before(text, hot.expression.column);
            let mark_cells = self.cells_before(text, end_column).saturating_sub(indent).max(1);
            let goes_on = match several {
                0 => String::new(),
                lines => format!(", goes on for {}", counted(u64::from(lines), "line", "lines")),
            };
            let words = format!("{share}{goes_on}");
            let mark = "~".repeat(mark_cells);
            let (behind, before_it) = (indent + mark_cells + 1 + words.width(), words.width() + 1);
            let marked = if behind <= self.room {
                format!("{}{} {words}", " ".repeat(indent), self.paint.mark(&mark))
            } else if indent + mark_cells <= self.room && before_it <= indent {
                format!("{}{words} {}", " ".repeat(indent - before_it), self.paint.mark(&mark))
            } else {
                let first = printable(hot.expression.text.lines().next().unwrap_or_default());
                let room = self.room.saturating_sub(words.width() + "~  ".width());
                let shown = match first.width() <= room {
                    true => first,
                    false => format!("{}{CUT}", first_cells(&first, room.saturating_sub(CUT.width()))),
                };
                format!("{} {words}", self.paint.mark(&format!("~ {shown}")))
            };
            page += &format!("{before}{marked}\n");
        }
        match hot.len().saturating_sub(MARKS_MAX) {
            0 if hot.is_empty() && touched.len() > 1 => {
                let share = self.lines.share_min * 100.0;
                format!("{before}{CUT} {} expressions, each below {share:.1} %\n", count(touched.len() as u64))
            }
            0 => page,
            more => page + &format!("{before}{CUT} {}\n", counted(more as u64, "more expression", "more expressions")),
        }
    }

    /// Where a column stands in what is shown.
    fn cells_before(&self, text: &str, column: u32) -> usize {
        let byte = text.char_indices().nth(column as usize).map_or(text.len(), |(byte, _)| byte);
        expand(&text[..byte], 0).width().saturating_sub(self.dedent_cells)
    }

    fn dedented<'a>(&self, text: &'a str) -> &'a str {
        // The indentation is made of blanks of one cell each by now.
        text.get(self.dedent_cells.min(text.len() - text.trim_start().len())..).unwrap_or(text)
    }

    fn figures(&self, line: &Line) -> String {
        let weight = self.lines.choice.weight;
        let share = |totals: Totals| match totals.by(weight) {
            0 => "–".to_string(),
            part => format!("{} %", percent(part, self.lines.whole.by(weight))),
        };
        let time = |time_ns: u64| match time_ns {
            0 => "–".to_string(),
            time_ns => crate::words::figures::duration(time_ns),
        };
        let third = match (weight, line.total.by(weight)) {
            (Weight::Cpu | Weight::Wall | Weight::Samples, _) => time(line.total.wall_ns),
            (_, 0) => "–".to_string(),
            // "999 bytes" is wider than the column.
            (_, 1..=999) => "<1 kB".to_string(),
            (_, bytes) => size(bytes),
        };
        cells([share(line.total), time(line.total.cpu_ns), third, share(line.own)])
    }
}

/// Four columns of seven cells with two between them.
const FIGURE_CELLS: usize = 4 * 7 + 3 * 2;

fn cells(columns: [String; 4]) -> String {
    let [total, cpu, wall, own] = columns;
    format!("{total:>7}  {cpu:>7}  {wall:>7}  {own:>7}")
}

/// The indentation of the least indented line that is shown.
fn dedent_cells(source: &SourceText, shown: impl Iterator<Item = u32>) -> usize {
    let texts = shown.filter_map(|line| source.line(line)).filter(|text| !text.trim().is_empty());
    texts.map(|text| expand(&text[..text.len() - text.trim_start().len()], 0).width()).min().unwrap_or(0)
}
