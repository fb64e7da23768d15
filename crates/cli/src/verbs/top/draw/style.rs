//! Colours and weights of a screen, and text that fits it.

use genba_profile::wrap::wrapped;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use unicode_width::UnicodeWidthStr;

/// Which colours a screen has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Palette {
    Colour,
    Plain,
}

impl Palette {
    /// A dim or coloured text says nothing that a plain one does not.
    pub fn quiet(self) -> Style {
        match self {
            Palette::Colour => Style::new().fg(Color::DarkGray),
            Palette::Plain => Style::new(),
        }
    }

    pub fn alarm(self) -> Style {
        match self {
            Palette::Colour => Style::new().fg(Color::Red).add_modifier(Modifier::BOLD),
            Palette::Plain => STRONG,
        }
    }

    pub fn bar(self) -> Style {
        match self {
            Palette::Colour => Style::new().fg(Color::Cyan),
            Palette::Plain => Style::new(),
        }
    }
}

pub const STRONG: Style = Style::new().add_modifier(Modifier::BOLD);
pub const REVERSED: Style = Style::new().add_modifier(Modifier::REVERSED);

/// The text itself where it fits, else its beginning and a sign.
pub fn cut(text: &str, cells: usize) -> String {
    if text.width() <= cells {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut kept_cells = 0;
    for letter in text.chars() {
        let letter_cells = letter.to_string().width();
        if kept_cells + letter_cells + 1 > cells {
            break;
        }
        kept_cells += letter_cells;
        kept.push(letter);
    }
    kept + "…"
}

/// A sentence of the heading in as many lines as it takes.
pub fn in_lines(text: &str, width: usize, style: Style) -> impl Iterator<Item = Line<'static>> {
    wrapped(text, width).into_iter().map(move |line| Line::styled(cut(&line, width), style))
}
