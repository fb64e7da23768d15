//! Annotated source as Markdown: a heading a function, and its lines as they stand in a terminal.

use crate::rules::reading::Reading;
use crate::tables::file_names::FileNames;
use crate::views::lines::{Lines, text};
use crate::views::report::markdown::escaped;
use crate::views::summary::header;
use crate::words::excerpt::printable;
use crate::words::paint::Paint;

/// What a page shows without a scroll bar.
const WIDTH: usize = 100;

pub fn markdown(reading: &Reading, lines: &Lines, warnings: &[String]) -> String {
    let profile = &reading.profile;
    let mut page = String::new();
    for line in header(reading, &lines.choice) {
        page += &format!("{}  \n", escaped(&line));
    }
    let files = FileNames::of(profile);
    for function in &lines.functions {
        let block = text::block(profile, lines, function, WIDTH, Paint::Plain);
        // A fence of backticks longer than any inside.
        let longest = block.split(|character| character != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        let title = escaped(&printable(&text::title(profile, lines, &files, function)));
        page += &format!("\n### {title}\n\n{fence}text\n{block}{fence}\n");
    }
    if let Some(folded) = text::folded(lines) {
        page += &format!("\n{}\n", escaped(&folded));
    }
    for warning in warnings {
        page += &format!("\n**warning:** {}\n", escaped(warning));
    }
    page
}
