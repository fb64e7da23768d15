//! The report as Markdown: for an issue, a pull request, a chat.

use crate::rules::reading::Reading;
use crate::rules::verdict::words::Piece;
use crate::tables::file_names::FileNames;
use crate::tables::profile::Profile;
use crate::views::report::chain_text::{chain, shown};
use crate::views::report::groups::of_one_line;
use crate::views::report::{Report, Row, Sort, text};
use crate::views::summary::header_with_verdict;
use crate::words::figures::{counted, percent};
use genba_text::harmless;

pub fn markdown(reading: &Reading, report: &Report, warnings: &[String]) -> String {
    let profile = &reading.profile;
    let weight = report.choice.weight;
    let mut page = String::new();
    for line in header_with_verdict(reading, &report.choice, &report.verdict) {
        let pieces = line.0.iter().map(|piece| match piece {
            Piece::Text(text) => escaped(text),
            Piece::Place(text, _) | Piece::Code(text) => code(text),
        });
        page += &format!("{}  \n", pieces.collect::<String>());
    }
    page += &format!("\n| share | {weight} | where | expression | underneath |\n|--:|--:|---|---|---|\n");
    let files = FileNames::of(profile);
    let rows = of_one_line(profile, report).into_iter().flat_map(|group| {
        let first = group.first().copied();
        group.into_iter().map(move |position| (&report.rows[position], Some(position) == first))
    });
    for (row, is_first) in rows {
        // Said once for the rows of one line.
        let place = if is_first { code_in_cell(&text::name(profile, report.by, &files, row)) } else { String::new() };
        let measured = match report.sort {
            Sort::Own => row.own,
            Sort::Total => row.total,
        };
        let callers = if is_first { text::callers(profile, &files, row).join(", ") } else { String::new() };
        let mut below = vec![chain(profile, shown(profile, report, row)), callers];
        below.retain(|words| !words.is_empty());
        page += &format!(
            "| {} % | {} | {} | {} | {} |\n",
            percent(measured.by(weight), report.whole.by(weight)),
            measured.words(weight),
            place,
            expression(profile, row),
            escaped(&below.join("; ")),
        );
    }
    if report.folded.rows > 0 {
        let share = percent(report.folded.own.by(weight), report.whole.by(weight));
        let rows = counted(report.folded.rows, "more row", "more rows");
        page += &format!("\n{share} % in {rows}.\n");
    }
    for warning in warnings {
        page += &format!("\n**warning:** {}\n", escaped(warning));
    }
    page
}

/// The first line, and a sign when it goes on.
fn expression(profile: &Profile, row: &Row) -> String {
    let Some(expression) = &row.subject.expression else {
        return text::without_text(profile, &row.subject).unwrap_or_default();
    };
    match expression.text.split_once('\n') {
        None => code_in_cell(&expression.text),
        Some((first, _)) => format!("{} …", code_in_cell(first)),
    }
}

/// An inline piece of code; a fence of backticks longer than any inside.
fn code(text: &str) -> String {
    let longest = text.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let text = harmless(text);
    let blank = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{blank}{text}{blank}{fence}")
}

/// The same in a table, where a bar ends the cell also within code.
pub(crate) fn code_in_cell(text: &str) -> String {
    code(text).replace('|', "\\|")
}

pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '|' | '*' | '_' | '`' | '<' | '[' | '\\') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    harmless(&escaped)
}
