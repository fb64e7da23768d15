//! A comparison as Markdown: for a pull request, an issue, a chat.

use crate::rules::difference::{Row, Subject};
use crate::views::difference::Comparison;
use crate::views::difference::text::one_line;
use crate::views::report::markdown::{code_in_cell, escaped};
use crate::words::figures::counted;

/// `rows_max`: of each list; None: all.
#[must_use]
pub fn markdown(comparison: &Comparison, rows_max: Option<usize>, warnings: &[String]) -> String {
    let mut page = format!("**{}**\n\n", escaped(&comparison.verdict()));
    for line in comparison.accounts() {
        page += &format!("{}  \n", escaped(line.trim()));
    }
    let difference = &comparison.difference;
    let lists = [
        (comparison.counts(), &difference.rows),
        ("functions, each with all its expressions".to_string(), &difference.functions),
    ];
    for (heading, rows) in lists.into_iter().filter(|(_, rows)| !rows.is_empty()) {
        page += &format!(
            "\n{heading}\n\n| B − A | interval | A | B | where | expression | |\n|--:|--:|--:|--:|---|---|---|\n"
        );
        let (shown, others) = Comparison::listed(rows, rows_max);
        for row in shown {
            page += &line(comparison, row);
        }
        if !others.is_empty() {
            page += &format!("\n{}.\n", counted(others.len() as u64, "more row", "more rows"));
        }
    }
    for note in comparison.notes() {
        page += &format!("\n{}\n", escaped(&note));
    }
    for warning in warnings {
        page += &format!("\n**warning:** {}\n", escaped(warning));
    }
    page
}

fn line(comparison: &Comparison, row: &Row) -> String {
    let estimate = &row.estimate;
    let expression = match &row.subject {
        Subject::Code { code: place, .. } => place.expression.as_deref().map(|text| code_in_cell(&one_line(text))),
        Subject::Phase(_) | Subject::NoPython => None,
    };
    let expressions = (row.expressions > 0).then(|| counted(row.expressions as u64, "expression", "expressions"));
    format!(
        "| {} | {} | {} | {} | {} | {} | {} |\n",
        comparison.signed(estimate.change()),
        comparison.interval(estimate),
        comparison.amount(estimate.before),
        comparison.amount(estimate.after),
        code_in_cell(&crate::words::excerpt::printable(&comparison.name(row))),
        expression.or(expressions).unwrap_or_default(),
        Comparison::remark(row),
    )
}
