//! Annotated source as JSON for scripts. Its keys are stable: they are only added. docs/reading/json.md lists them.

use serde::Serialize;

use crate::rules::reading::Reading;
use crate::rules::weight::Totals;
use crate::tables::profile::{Accounting, Profile};
use crate::views::lines::{FunctionLines, HotExpression, Line, Lines};
use crate::views::report::json::{AccountingPage, FiltersPage, accounting_page, filters_page};
use crate::words::figures::share;

#[derive(Serialize)]
struct Page<'a> {
    version: u32,
    weight: &'static str,
    weight_why: Option<&'a str>,
    wall_ns: u64,
    cpu_ns: u64,
    accounting: AccountingPage<'a>,
    filters: Option<FiltersPage<'a>>,
    functions: Vec<FunctionPage<'a>>,
    folded: FoldedPage,
    warnings: &'a [String],
}

/// What a function, a line and an expression have in common.
#[derive(Serialize)]
struct Figures {
    samples: u64,
    cpu_ns: u64,
    wall_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    copied_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allocated_bytes: Option<u64>,
    share: f64,
    total_samples: u64,
    total_cpu_ns: u64,
    total_wall_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_copied_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_allocated_bytes: Option<u64>,
    total_share: f64,
}

#[derive(Serialize)]
struct FunctionPage<'a> {
    file: &'a str,
    function: &'a str,
    first_line: u32,
    #[serde(flatten)]
    figures: Figures,
    lines: Vec<LinePage<'a>>,
}

#[derive(Serialize)]
struct LinePage<'a> {
    line: Option<u32>,
    source: Option<&'a str>,
    #[serde(flatten)]
    figures: Figures,
    expressions: Vec<ExpressionPage<'a>>,
}

#[derive(Serialize)]
struct ExpressionPage<'a> {
    expression: &'a str,
    column: u32,
    end_line: Option<u32>,
    end_column: u32,
    #[serde(flatten)]
    figures: Figures,
}

#[derive(Serialize)]
struct FoldedPage {
    functions: u64,
    share: f64,
}

pub fn json(reading: &Reading, lines: &Lines, warnings: &[String]) -> serde_json::Result<String> {
    let profile = &reading.profile;
    let accounting: Accounting = profile.accounting();
    let weight = lines.choice.weight;
    let page = Page {
        version: 1,
        weight: weight.key(),
        weight_why: lines.choice.why.as_deref(),
        wall_ns: profile.wall_ns(),
        cpu_ns: profile.clocks().cpu_ns,
        accounting: accounting_page(&accounting),
        filters: filters_page(reading, weight),
        functions: lines.functions.iter().map(|function| self::function(profile, lines, function)).collect(),
        folded: FoldedPage {
            functions: lines.folded.rows,
            share: share(lines.folded.own.by(weight), lines.whole.by(weight)),
        },
        warnings,
    };
    genba_text::json::pretty(&page)
}

fn function<'a>(profile: &'a Profile, lines: &'a Lines, function: &'a FunctionLines) -> FunctionPage<'a> {
    let source = profile.source_of(function.function);
    let line = |line: &'a Line| LinePage {
        line: line.line,
        source: source.zip(line.line).and_then(|(source, at)| source.line(at)),
        figures: figures(lines, line.own, line.total),
        expressions: line.expressions.iter().map(|hot| expression(lines, hot)).collect(),
    };
    FunctionPage {
        file: &profile.files[function.file].path,
        function: &profile.functions[function.function].name,
        first_line: function.first_line,
        figures: figures(lines, function.own, function.total),
        lines: function.lines.iter().map(line).collect(),
    }
}

fn expression<'a>(lines: &Lines, hot: &'a HotExpression) -> ExpressionPage<'a> {
    ExpressionPage {
        expression: &hot.expression.text,
        column: hot.expression.column,
        end_line: hot.end_line,
        end_column: hot.expression.end_column,
        figures: figures(lines, hot.own, hot.total),
    }
}

fn figures(lines: &Lines, own: Totals, total: Totals) -> Figures {
    let part = |totals: Totals| share(totals.by(lines.choice.weight), lines.whole.by(lines.choice.weight));
    let copied = |totals: Totals| (lines.whole.copied_bytes > 0).then_some(totals.copied_bytes);
    let allocated = |totals: Totals| (lines.whole.allocated_bytes > 0).then_some(totals.allocated_bytes);
    Figures {
        samples: own.samples,
        cpu_ns: own.cpu_ns,
        wall_ns: own.wall_ns,
        copied_bytes: copied(own),
        allocated_bytes: allocated(own),
        share: part(own),
        total_samples: total.samples,
        total_cpu_ns: total.cpu_ns,
        total_wall_ns: total.wall_ns,
        total_copied_bytes: copied(total),
        total_allocated_bytes: allocated(total),
        total_share: part(total),
    }
}
