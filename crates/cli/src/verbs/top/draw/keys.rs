//! The list of keys.

use ratatui::text::{Line, Span};

use super::style::{Palette, STRONG};

const KEYS: [(&str, &str); 11] = [
    ("1 2 3 4", "rows: expressions, lines, functions, threads (or Tab)"),
    ("t", "the tree of calls, and back to the rows"),
    ("← →", "the column that the rows are in the order of (or < >)"),
    ("r", "the other way round"),
    ("/", "show rows whose name, source or chain matches an expression"),
    ("Esc", "show all rows"),
    ("↑ ↓", "select a row (or k j, PgUp PgDn, Home End)"),
    ("w", "since the beginning, the last 10 s, the last 60 s"),
    ("f", "freeze: nothing new is read until the next f (or space)"),
    ("Ctrl-Z", "stop genba, fg goes on"),
    ("q", "quit; the program and its recording go on"),
];

pub fn lines(palette: Palette) -> Vec<Line<'static>> {
    let mut lines: Vec<Line> = KEYS
        .iter()
        .map(|(key, words)| Line::from(vec![Span::styled(format!("  {key:<9}"), STRONG), Span::raw(*words)]))
        .collect();
    lines.push(Line::styled(
        "  self: ends here or in C below; total: passes through. Any key goes back.",
        palette.quiet(),
    ));
    lines
}
