//! A comparison as text: for a screen of a given width, or for a pipe, where no line is broken.
//! Owns: its layout. Keeps: what is folded is said with its largest change.

use unicode_width::UnicodeWidthStr;

use crate::rules::difference::{Row, Subject};
use crate::views::difference::Comparison;
use crate::words::excerpt::{printable, source_cut};
use crate::words::figures::counted;
use crate::words::paint::Paint;
use crate::words::wrap::wrapped_on_screen;

/// Source is cut to that.
const SOURCE_CELLS_MAX: usize = 60;

/// `rows_max`: of each list; None: all.
#[must_use]
pub fn text(comparison: &Comparison, rows_max: Option<usize>, width: Option<usize>, paint: Paint) -> String {
    let mut page = String::new();
    let add = |page: &mut String, line: &str, painted: &dyn Fn(&str) -> String| {
        for line in wrapped_on_screen(line.trim_end(), width) {
            *page += &format!("{}\n", painted(&line));
        }
    };
    let (plain, strong, quiet) =
        (|line: &str| line.to_string(), |line: &str| paint.strong(line), |line: &str| paint.quiet(line));
    add(&mut page, &printable(&comparison.verdict()), &strong);
    for line in comparison.accounts() {
        add(&mut page, &printable(&line), &plain);
    }
    let difference = &comparison.difference;
    let lists = [("", &difference.rows), ("functions, each with all its expressions", &difference.functions)];
    for (heading, rows) in lists.into_iter().filter(|(_, rows)| !rows.is_empty()) {
        page.push('\n');
        if heading.is_empty() {
            add(&mut page, &comparison.counts(), &plain);
        } else {
            add(&mut page, heading, &plain);
        }
        let (shown, others) = Comparison::listed(rows, rows_max);
        let cells: Vec<[String; 4]> = shown.iter().map(|row| numbers(comparison, row)).collect();
        let heads = ["B − A", "interval", "A", "B"];
        let widths: [usize; 4] = std::array::from_fn(|column| {
            cells.iter().map(|cells| cells[column].width()).max().unwrap_or(0).max(heads[column].width())
        });
        let line = |cells: &[String; 4]| -> String {
            let padded =
                cells.iter().zip(widths).map(|(cell, width)| format!("{}{cell}", " ".repeat(width - cell.width())));
            format!("  {}", padded.collect::<Vec<_>>().join("   "))
        };
        add(&mut page, &line(&heads.map(str::to_string)), &quiet);
        for (row, cells) in shown.iter().zip(&cells) {
            let painted: &dyn Fn(&str) -> String = if row.estimate.certain { &strong } else { &plain };
            add(&mut page, &format!("{}   {}", line(cells), words(comparison, row)), painted);
        }
        if let Some(folded) = folded(comparison, &others) {
            add(&mut page, &folded, &quiet);
        }
    }
    page.push('\n');
    for note in comparison.notes() {
        add(&mut page, &printable(&note), &quiet);
    }
    page
}

fn numbers(comparison: &Comparison, row: &Row) -> [String; 4] {
    let estimate = &row.estimate;
    [
        comparison.signed(estimate.change()),
        comparison.interval(estimate),
        comparison.amount(estimate.before),
        comparison.amount(estimate.after),
    ]
}

/// `orders.py:16 parse ← orders.py:29 load   json.loads(row)   cannot tell`
fn words(comparison: &Comparison, row: &Row) -> String {
    let mut parts = vec![comparison.name(row)];
    match &row.subject {
        Subject::Code { code, .. } => parts.extend(code.expression.as_deref().map(one_line)),
        Subject::Phase(_) | Subject::NoPython => {}
    }
    if row.expressions > 0 {
        parts.push(counted(row.expressions as u64, "expression", "expressions"));
    }
    parts.push(Comparison::remark(row).to_string());
    parts.retain(|part| !part.is_empty());
    printable(&parts.join("   "))
}

pub(super) fn one_line(source: &str) -> String {
    source_cut(source, SOURCE_CELLS_MAX)
}

fn folded(comparison: &Comparison, rows: &[&Row]) -> Option<String> {
    let largest =
        rows.iter().max_by(|one, other| one.estimate.change().abs().total_cmp(&other.estimate.change().abs()))?;
    let more = counted(rows.len() as u64, "more row", "more rows");
    let change = comparison.margin(&largest.estimate);
    Some(format!(
        "  {more}, the largest {change} in {} (--limit 0 shows them all)",
        printable(&comparison.name(largest))
    ))
}
