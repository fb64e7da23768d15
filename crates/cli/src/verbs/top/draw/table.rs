//! The rows: share, self and total in both clocks, and what the row is about.
//! Keeps: the column that the rows are in the order of is marked by a sign as well.

use genba_profile::figures::percent;
use genba_profile::live::{Live, Row};
use genba_profile::weight::{Totals, Weight};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use unicode_width::UnicodeWidthStr;

use super::style::{Palette, REVERSED, STRONG, cut};
use crate::verbs::top::model::{Column, Model, View};

/// Of a duration with its gap, and of a share with its gap.
const TIME_CELLS: usize = 9;
const SHARE_CELLS: usize = 7;
/// From here on each column has its own share beside it.
const SHARES_WIDTH_MIN: u16 = 120;
/// In front of what a row is about.
const GAP: &str = "  ";
const NAME_CELLS_MAX: usize = 48;
const INDENT: &str = " ";

const MEASURES: [Column; 4] = [Column::OwnCpu, Column::TotalCpu, Column::OwnWall, Column::TotalWall];

pub fn draw(frame: &mut Frame, area: Rect, model: &mut Model, palette: Palette) {
    model.set_page_rows(usize::from(area.height.saturating_sub(2)));
    let layout = Layout { has_shares: area.width >= SHARES_WIDTH_MIN, width: usize::from(area.width) };
    let mut lines = vec![Line::styled(layout.clocks(), palette.quiet()), layout.head(model)];
    let rows = model.rows();
    let shown = rows.iter().skip(model.first).take(model.page_rows);
    let name_cells = shown.clone().map(|row| row.name.width()).max().unwrap_or(0).min(NAME_CELLS_MAX);
    let live = model.picture.as_ref().map(|picture| &picture.live);
    for (position, row) in shown.enumerate() {
        let is_selected = model.first + position == model.selected;
        lines.extend(live.map(|live| layout.row(model, live, row, name_cells, is_selected)));
    }
    let left_out = live.filter(|_| !model.awaits_rows).map_or(0, |live| live.rows_left_out);
    if rows.is_empty() {
        lines.push(Line::styled(format!("{GAP}{}", why_none(model)), palette.quiet()));
    } else if left_out > 0 && model.first + model.page_rows > rows.len() {
        lines.push(Line::styled(format!("{GAP}and {left_out} smaller rows"), palette.quiet()));
    }
    frame.render_widget(Paragraph::new(lines), area);
}

fn why_none(model: &Model) -> &'static str {
    match (&model.picture, &model.filter) {
        _ if model.awaits_rows => "adding up",
        (None, _) => "nothing is recorded yet",
        (Some(_), Some(_)) => "no row matches",
        (Some(picture), None) if picture.live.whole == Totals::default() => "no sample in this time",
        (Some(_), None) => "no row has this weight",
    }
}

struct Layout {
    has_shares: bool,
    width: usize,
}

impl Layout {
    /// `       CPU               wall`
    fn clocks(&self) -> String {
        let clock = |name: &str| format!("{name:>cells$}", cells = 2 * self.measure_cells());
        let share = if self.has_shares { 0 } else { SHARE_CELLS };
        format!("{}{}{}", " ".repeat(share), clock("── CPU ──"), clock("── wall ──"))
    }

    fn measure_cells(&self) -> usize {
        if self.has_shares { TIME_CELLS + SHARE_CELLS } else { TIME_CELLS }
    }

    fn head(&self, model: &Model) -> Line<'static> {
        let sign = if model.is_reversed { '↑' } else { '↓' };
        let mut spans = Vec::new();
        if !self.has_shares {
            spans.push(Span::raw(format!("{:>SHARE_CELLS$}", "%")));
        }
        let named = |column: Column, name: &str| match model.column == column {
            true => (format!("{name}{sign}"), STRONG),
            false => (name.to_owned(), Style::new()),
        };
        for column in MEASURES {
            let (name, style) = named(column, if column.is_own() { "self" } else { "total" });
            spans.push(Span::styled(format!("{name:>TIME_CELLS$}"), style));
            if self.has_shares {
                spans.push(Span::raw(format!("{:>SHARE_CELLS$}", "%")));
            }
        }
        let what = match model.view {
            View::Expression => "expression",
            View::Line => "line",
            View::Function => "function",
            View::Thread => "thread",
            View::Tree => "path",
        };
        let (name, style) = named(Column::Name, what);
        spans.push(Span::raw(GAP));
        spans.push(Span::styled(name, style));
        Line::from(spans)
    }

    fn row(&self, model: &Model, live: &Live, row: &Row, name_cells: usize, is_selected: bool) -> Line<'static> {
        let mut text = String::new();
        if !self.has_shares {
            let (part, whole) = match (model.column, model.weight()) {
                (Column::TotalCpu | Column::TotalWall, weight) => (row.total.by(weight), live.whole.by(weight)),
                (_, weight) => (row.own.by(weight), live.whole.by(weight)),
            };
            text += &format!("{:>SHARE_CELLS$}", percent(part, whole));
        }
        for column in MEASURES {
            let weight = if matches!(column, Column::OwnCpu | Column::TotalCpu) { Weight::Cpu } else { Weight::Wall };
            let totals = if column.is_own() { row.own } else { row.total };
            text += &format!("{:>TIME_CELLS$}", time(totals, weight));
            if self.has_shares {
                text += &format!("{:>SHARE_CELLS$}", percent(totals.by(weight), live.whole.by(weight)));
            }
        }
        text += GAP;
        let indent = INDENT.repeat(row.depth.min(self.width / 3));
        let name = cut(&row.name, NAME_CELLS_MAX.max(self.width / 3));
        let padding = " ".repeat(name_cells.saturating_sub(name.width()));
        let what = match row.source.is_empty() {
            true => format!("{indent}{name}"),
            false if self.has_shares => format!("{indent}{name}{padding}{GAP}{}", row.source),
            false => format!("{indent}{name}{GAP}{}", row.source),
        };
        text += &cut(&what, self.width.saturating_sub(text.width()));
        if !is_selected {
            return Line::raw(text);
        }
        let rest = " ".repeat(self.width.saturating_sub(text.width()));
        Line::styled(text + &rest, REVERSED)
    }
}

fn time(totals: Totals, weight: Weight) -> String {
    match totals.by(weight) {
        0 => "–".to_owned(),
        _ => totals.words(weight),
    }
}
