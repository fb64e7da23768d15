//! A comparison as the viewer's page shows it: the words and numbers of `genba diff`, and the call trees as one.
//! Owns: what lies in the page under `comparison`. Never: leaves out a row. docs/viewer.md says what the page makes of it.

use serde::Serialize;

use crate::rules::difference::call_tree::{COMPARED_SHARE_MIN, CallBox, CallTree, call_tree};
use crate::rules::difference::certainty::{ERRORS_IN_ALL_ROWS, Estimate};
use crate::rules::difference::{Row, Run, Subject};
use crate::views::difference::Comparison;
use crate::views::difference::box_words::{BoxWords, box_words};
use crate::views::difference::text::one_line;
use crate::words::excerpt::printable;
use crate::words::figures::counted;

#[derive(Serialize)]
struct Page {
    version: u32,
    verdict: String,
    before: String,
    after: String,
    accounts: Vec<String>,
    counts: String,
    rows: Vec<RowPage>,
    functions: Vec<RowPage>,
    notes: Vec<String>,
    warnings: Vec<String>,
    boxes: Vec<BoxPage>,
    boxes_note: String,
}

/// An estimate in words, and the numbers that a bar is drawn from.
#[derive(Serialize)]
struct EstimatePage {
    change: String,
    interval: String,
    before: String,
    after: String,
    change_value: i64,
    low: i64,
    high: i64,
    certain: bool,
    too_few: bool,
}

#[derive(Serialize)]
struct RowPage {
    name: String,
    expression: Option<String>,
    remark: &'static str,
    #[serde(flatten)]
    estimate: EstimatePage,
}

#[derive(Serialize)]
struct BoxPage {
    /// Row in `boxes`, before this one.
    parent: Option<usize>,
    name: String,
    place: String,
    kind: &'static str,
    remark: &'static str,
    /// What the larger side has, or its children together if they have more.
    width: u64,
    #[serde(flatten)]
    estimate: EstimatePage,
}

pub fn json(comparison: &Comparison, warnings: &[String]) -> serde_json::Result<String> {
    let difference = &comparison.difference;
    let tree = call_tree(comparison.before, comparison.after, difference);
    let names = |runs: &[Run]| runs.iter().map(|run| run.name.as_str()).collect::<Vec<_>>().join(", ");
    let (mut before, mut after) = (names(comparison.before), names(comparison.after));
    // Two times of one recording are told apart by what is kept of it.
    if before == after {
        before += &kept(comparison.before);
        after += &kept(comparison.after);
    }
    let rows = |rows: &[Row]| rows.iter().map(|row| self::row(comparison, row)).collect();
    serde_json::to_string(&Page {
        version: 1,
        verdict: printable(&comparison.verdict()),
        before,
        after,
        accounts: comparison.accounts().iter().map(|line| printable(line)).collect(),
        counts: comparison.counts(),
        rows: rows(&difference.rows),
        functions: rows(&difference.functions),
        notes: comparison.notes().iter().map(|note| printable(note)).collect(),
        warnings: warnings.to_vec(),
        boxes: boxes(comparison, &tree),
        boxes_note: note(&tree),
    })
}

/// ` --time ..300ms`, or nothing.
fn kept(runs: &[Run]) -> String {
    let flags = runs.first().and_then(|run| run.reading.kept.as_ref()).map(|kept| kept.flags.join(" "));
    flags.map(|flags| printable(&format!(" {flags}"))).unwrap_or_default()
}

fn row(comparison: &Comparison, row: &Row) -> RowPage {
    let expression = match &row.subject {
        Subject::Code { code, .. } => code.expression.as_deref().map(one_line),
        Subject::Phase(_) | Subject::NoPython => None,
    };
    let expressions = (row.expressions > 0).then(|| counted(row.expressions as u64, "expression", "expressions"));
    RowPage {
        name: printable(&comparison.name(row)),
        expression: expression.or(expressions),
        remark: Comparison::remark(row),
        estimate: estimate(comparison, &row.estimate),
    }
}

fn estimate(comparison: &Comparison, estimate: &Estimate) -> EstimatePage {
    let whole = |value: f64| value.round() as i64;
    EstimatePage {
        change: comparison.signed(estimate.change()),
        interval: comparison.interval(estimate),
        before: comparison.amount(estimate.before),
        after: comparison.amount(estimate.after),
        change_value: whole(estimate.change()),
        low: whole(estimate.low),
        high: whole(estimate.high),
        certain: estimate.certain,
        too_few: estimate.is_too_few,
    }
}

fn boxes(comparison: &Comparison, tree: &CallTree) -> Vec<BoxPage> {
    let mut below = vec![0; tree.boxes.len()];
    let mut widths = vec![0; tree.boxes.len()];
    for (at, of) in tree.boxes.iter().enumerate().rev() {
        let larger = of.estimate.before.max(of.estimate.after).round() as u64;
        widths[at] = larger.max(below[at]);
        if let Some(parent) = of.parent {
            below[parent] += widths[at];
        }
    }
    let boxes = tree.boxes.iter().zip(widths).zip(box_words(tree, &comparison.difference));
    boxes.map(|((of, width), words)| box_page(comparison, of, width, words)).collect()
}

fn box_page(comparison: &Comparison, of: &CallBox, width: u64, words: BoxWords) -> BoxPage {
    let sides = (of.estimate.before > 0.0, of.estimate.after > 0.0);
    let remark = match (sides, of.estimate.certain, of.estimate.is_too_few) {
        ((false, true), true, _) => "only in B",
        ((true, false), true, _) => "only in A",
        (_, true, _) => "",
        (_, false, true) => "not compared",
        (_, false, false) => "cannot tell",
    };
    let estimate = estimate(comparison, &of.estimate);
    let BoxWords { name, place, kind } = words;
    BoxPage { parent: of.parent, name, place, kind, remark, width, estimate }
}

fn note(tree: &CallTree) -> String {
    let confidence = (1.0 - ERRORS_IN_ALL_ROWS) * 100.0;
    let sums = counted(tree.compared as u64, "sum of a box", "sums of boxes");
    let left_out = match tree.left_out {
        0 => String::new(),
        count => format!("; {} of less time not shown", counted(count as u64, "box", "boxes")),
    };
    format!(
        "call tree: intervals {confidence} % for all {sums} together; a box with less than {} % of the time is not compared{left_out}",
        COMPARED_SHARE_MIN * 100.0
    )
}
