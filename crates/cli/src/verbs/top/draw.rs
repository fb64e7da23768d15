//! The screen of `genba top`, from what the model holds.
//! Owns: the layout and the style. Never: changes what is shown but for how many rows there is room for. Keeps: the accounting is on every
//! screen; without colour nothing is lost, because colour only repeats what words, bold and reversed cells say.

mod heading;
mod keys;
mod style;
mod table;
#[cfg(test)]
mod tests;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

pub use self::style::Palette;
use self::style::{REVERSED, STRONG, cut};
use super::model::{Model, View};

const WIDTH_MIN: u16 = 40;
const HEIGHT_MIN: u16 = 12;
/// With fewer lines there are none about the selected row.
const DETAIL_HEIGHT_MIN: u16 = 20;
const DETAIL_LINES: u16 = 2;

pub fn draw(frame: &mut Frame, model: &mut Model, palette: Palette) {
    let area = frame.area();
    if area.width < WIDTH_MIN || area.height < HEIGHT_MIN {
        let words = format!("genba top needs {WIDTH_MIN} x {HEIGHT_MIN} cells; q quits");
        frame.render_widget(Paragraph::new(words), area);
        return;
    }
    let width = usize::from(area.width);
    let mut lines = heading::lines(model, width, palette);
    lines.push(tabs(model, palette));
    let [head, table, detail, foot] = split(area, lines.len(), area.height >= DETAIL_HEIGHT_MIN && !model.shows_keys);
    frame.render_widget(Paragraph::new(lines), head);
    if model.shows_keys {
        frame.render_widget(Paragraph::new(keys::lines(palette)), table);
    } else {
        table::draw(frame, table, model, palette);
        frame.render_widget(Paragraph::new(details(model, width, palette)), detail);
    }
    frame.render_widget(Paragraph::new(foot_line(model, width, palette)), foot);
}

/// From top to bottom: the heading, the table, the selected row, the keys.
fn split(area: Rect, heading_lines: usize, has_detail: bool) -> [Rect; 4] {
    let heading = u16::try_from(heading_lines).unwrap_or(u16::MAX).min(area.height - 3);
    let detail = if has_detail { DETAIL_LINES } else { 0 };
    let table = area.height.saturating_sub(heading + detail + 1);
    let rect = |y: u16, height: u16| Rect { x: area.x, y: area.y + y, width: area.width, height };
    [rect(0, heading), rect(heading, table), rect(heading + table, detail), rect(area.height - 1, 1)]
}

fn tabs(model: &Model, palette: Palette) -> Line<'static> {
    let tabs = [
        ("1 expression", View::Expression),
        ("2 line", View::Line),
        ("3 function", View::Function),
        ("4 thread", View::Thread),
        ("t tree", View::Tree),
    ];
    let tab = |(words, view): (&'static str, View)| {
        let style = if view == model.view { REVERSED } else { palette.quiet() };
        [Span::styled(format!(" {words} "), style), Span::raw(" ")]
    };
    let mut spans: Vec<Span> = tabs.into_iter().flat_map(tab).collect();
    spans.push(Span::raw(format!(" {}", model.window_in_words())));
    Line::from(spans)
}

/// The whole of the selected row, and what happens underneath it.
fn details(model: &Model, width: usize, palette: Palette) -> Vec<Line<'static>> {
    let Some(row) = model.selected_row() else { return Vec::new() };
    let what = [row.name.as_str(), row.source.as_str()].join("   ");
    let below = if row.below.is_empty() { String::new() } else { format!("  → {}", row.below) };
    vec![Line::styled(cut(what.trim_end(), width), STRONG), Line::styled(cut(&below, width), palette.quiet())]
}

fn foot_line(model: &Model, width: usize, palette: Palette) -> Line<'static> {
    if let Some(typed) = &model.typed {
        return Line::from(cut(&format!("/{typed}_   Enter: show rows that match   Esc: all rows"), width));
    }
    if let Some(refusal) = &model.refusal {
        return Line::styled(cut(refusal, width), palette.alarm());
    }
    let keys = "q quit  ? keys  / filter  t tree  ←→ sort  w window  f freeze";
    let filter = model.filter.as_ref().map(|filter| format!("rows that match /{}/ (Esc: all)  ", filter.as_str()));
    Line::styled(cut(&format!("{}{keys}", filter.unwrap_or_default()), width), palette.quiet())
}
