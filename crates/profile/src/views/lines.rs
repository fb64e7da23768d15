//! Annotated source: what each line of a function costs, and which of its expressions.
//! Owns: which functions, lines and expressions are shown. The sums are the report's: a sample counts for the deepest
//! piece of the user's own code (or of a file that was asked for) as self, and for every line above it as total.
//! Never: makes text (`text`, `markdown`, `json` do); guesses a line that was not recorded.

pub mod json;
pub mod markdown;
mod stretches;
pub mod text;

use foldhash::HashMap;

use regex::Regex;

use crate::rules::reading::Reading;
use crate::rules::show::Show;
use crate::rules::weight::{Choice, Totals, Weight};
use crate::tables::profile::{FileIndex, FunctionIndex, Home, Profile};
use crate::tables::source_text::Expression;
use crate::tables::table::TableIndex;
use crate::views::report::{self, By, Folded, Row, Sort};
use crate::words::glob::Glob;

#[derive(Clone, Debug, Default)]
pub struct Options {
    /// None: genba chooses.
    pub weight: Option<Weight>,
    pub sort: Sort,
    /// 0 to 1; functions, lines and expressions below it are folded.
    pub share_min: f64,
    /// None: all functions.
    pub functions_max: Option<usize>,
    /// Only functions whose qualified name matches, however little they weigh.
    pub function: Option<Regex>,
    /// Only files that match; they count as the user's own code here.
    pub file: Option<Glob>,
}

#[derive(Debug)]
pub struct Lines {
    pub choice: Choice,
    pub sort: Sort,
    pub share_min: f64,
    /// Of all samples: what a share of 1 is.
    pub whole: Totals,
    /// The heaviest first.
    pub functions: Vec<FunctionLines>,
    pub folded: Folded,
}

#[derive(Debug)]
pub struct FunctionLines {
    pub function: FunctionIndex,
    pub file: FileIndex,
    pub first_line: u32,
    pub own: Totals,
    pub total: Totals,
    /// In the order of the source; lines that no sample touched are not there.
    pub lines: Vec<Line>,
}

#[derive(Debug)]
pub struct Line {
    /// None: the location table does not say.
    pub line: Option<u32>,
    pub own: Totals,
    pub total: Totals,
    /// The heaviest first.
    pub expressions: Vec<HotExpression>,
}

#[derive(Debug)]
pub struct HotExpression {
    pub expression: Expression,
    pub end_line: Option<u32>,
    pub own: Totals,
    pub total: Totals,
}

/// None: a function or file was asked for, and no sample touched any that fits.
pub fn lines(reading: &Reading, options: &Options) -> Option<Lines> {
    let profile = &reading.profile;
    let choice = reading.choice(options.weight);
    let weight = choice.weight;
    let asked_file =
        |file: FileIndex| options.file.as_ref().is_some_and(|glob| glob.matches_end_of_path(&profile.files[file].path));
    let rows = |by: By| {
        let options =
            report::Options { by, weight: Some(weight), show: Show::Both, sort: Sort::Total, ..Default::default() };
        report::rows(profile, &options, weight, &asked_file, None)
    };
    let report::Rows { whole, rows: functions, .. } = rows(By::Function);
    let mut functions: Vec<FunctionLines> = functions
        .into_iter()
        .filter_map(|row| function(profile, row))
        .filter(|function| options.file.is_none() || asked_file(function.file))
        .filter(|function| {
            let name = &profile.functions[function.function].name;
            options.function.as_ref().is_none_or(|pattern| pattern.is_match(name))
        })
        .collect();
    if functions.is_empty() && (options.function.is_some() || options.file.is_some()) {
        return None;
    }

    let measure = |own: Totals, total: Totals| match options.sort {
        Sort::Own => own.by(weight),
        Sort::Total => total.by(weight),
    };
    let place = |function: &FunctionLines| (profile.files[function.file].path.clone(), function.first_line);
    functions
        .sort_by_cached_key(|function| (std::cmp::Reverse(measure(function.own, function.total)), place(function)));
    if options.function.is_none() {
        functions.retain(|function| measure(function.own, function.total) > 0);
    }
    let smallest = options.share_min * whole.by(weight) as f64;
    let heavy = match options.function {
        Some(_) => functions.len(),
        None => functions.partition_point(|function| measure(function.own, function.total) as f64 >= smallest),
    };
    let folded = functions.split_off(heavy.min(options.functions_max.unwrap_or(usize::MAX)));
    let mut folded_own = Totals::default();
    for function in &folded {
        folded_own.add(function.own);
    }

    let position_of: HashMap<FunctionIndex, usize> =
        functions.iter().enumerate().map(|(position, function)| (function.function, position)).collect();
    let of_function = |row: &Row| row.subject.function.and_then(|function| position_of.get(&function)).copied();
    for row in rows(By::Line).rows {
        if let Some(position) = of_function(&row) {
            let line = Line { line: row.subject.line, own: row.own, total: row.total, expressions: Vec::new() };
            functions[position].lines.push(line);
        }
    }
    for function in &mut functions {
        function.lines.sort_by_key(|line| line.line);
    }
    for row in rows(By::Expression).rows {
        let (Some(position), Some(expression)) = (of_function(&row), row.subject.expression) else { continue };
        let lines = &mut functions[position].lines;
        if let Ok(line) = lines.binary_search_by_key(&row.subject.line, |line| line.line) {
            let hot = HotExpression { expression, end_line: row.subject.end_line, own: row.own, total: row.total };
            lines[line].expressions.push(hot);
        }
    }
    let order = |hot: &HotExpression| (std::cmp::Reverse(measure(hot.own, hot.total)), hot.expression.column);
    for line in functions.iter_mut().flat_map(|function| &mut function.lines) {
        line.expressions.sort_by_key(order);
    }
    let folded = Folded { rows: folded.len() as u64, own: folded_own };
    Some(Lines { choice, sort: options.sort, share_min: options.share_min, whole, functions, folded })
}

/// None: not a function of Python.
fn function(profile: &Profile, row: Row) -> Option<FunctionLines> {
    let function = row.subject.function?;
    let Home::Python { file, first_line, .. } = profile.functions[function].home else { return None };
    Some(FunctionLines { function, file, first_line, own: row.own, total: row.total, lines: Vec::new() })
}

/// The files that were touched, for who asked for one that is not there.
pub fn files(profile: &Profile) -> Vec<String> {
    let mut files: Vec<(usize, String)> =
        profile.files.enumerate().map(|(index, file)| (index.position(), file.path.clone())).collect();
    files.sort();
    files.into_iter().map(|(_, path)| path).collect()
}
