//! What the screen of `genba top` shows, from pictures of the recording and keys. Pure: values in, values out.
//! Owns: the meaning of each key, the order of rows, which row is selected. Never: draws, reads a file, asks a clock.

use std::cmp::Ordering;

use genba_profile::live::{Row, Rows};
use genba_profile::report::By;
use genba_profile::tree::Order;
use genba_profile::weight::Weight;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use regex::Regex;

use super::follower::{Picture, Status, Wish};
use crate::read::pattern;
use crate::verbs::attach::missed::Missed;

/// Pressing `w` goes from one to the next.
const WINDOWS_NS: [Option<u64>; 3] = [None, Some(10_000_000_000), Some(60_000_000_000)];
/// Rows that a page key moves by, until a screen was drawn.
const PAGE_ROWS: usize = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    Expression,
    Line,
    Function,
    Thread,
    Tree,
}

pub const TABLES: [View; 4] = [View::Expression, View::Line, View::Function, View::Thread];

/// What the rows are in the order of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    OwnCpu,
    TotalCpu,
    OwnWall,
    TotalWall,
    Name,
}

const COLUMNS: [Column; 5] = [Column::OwnCpu, Column::TotalCpu, Column::OwnWall, Column::TotalWall, Column::Name];

/// What a key asks of whoever has the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    None,
    /// Another picture: `Model::wish`.
    Wish,
    Stop,
    Quit,
}

#[derive(Debug)]
pub struct Model {
    /// The recording's name, for the first line.
    pub name: String,
    pub view: View,
    /// What `t` goes back to.
    table: View,
    pub column: Column,
    /// The user chose it; until then it is what suits the recording.
    is_column_chosen: bool,
    pub is_reversed: bool,
    window: usize,
    pub is_frozen: bool,
    pub shows_keys: bool,
    pub filter: Option<Regex>,
    /// What is typed after `/`.
    pub typed: Option<String>,
    /// Why the last filter was none.
    pub refusal: Option<String>,
    pub selected: usize,
    /// The first row on the screen.
    pub first: usize,
    /// On the screen; whoever draws sets it.
    pub page_rows: usize,
    pub status: Status,
    /// Processes that are not in the recording, the newest last.
    pub missed: Vec<Missed>,
    pub picture: Option<Picture>,
    /// The picture is of another view: it has no rows of this one.
    pub awaits_rows: bool,
}

impl Model {
    pub fn new(name: String) -> Model {
        Model {
            name,
            view: View::Expression,
            table: View::Expression,
            column: Column::OwnCpu,
            is_column_chosen: false,
            is_reversed: false,
            window: 0,
            is_frozen: false,
            shows_keys: false,
            filter: None,
            typed: None,
            refusal: None,
            selected: 0,
            first: 0,
            page_rows: PAGE_ROWS,
            status: Status::default(),
            missed: Vec::new(),
            picture: None,
            awaits_rows: false,
        }
    }

    pub fn wish(&self) -> Wish {
        let rows = match self.view {
            View::Expression => Rows::Table(By::Expression),
            View::Line => Rows::Table(By::Line),
            View::Function => Rows::Table(By::Function),
            View::Thread => Rows::Table(By::Thread),
            View::Tree if self.column.is_own() => Rows::Tree(Order::Own),
            View::Tree => Rows::Tree(Order::Total),
        };
        let weight = self.is_column_chosen.then(|| self.weight());
        Wish { rows, weight, last_ns: WINDOWS_NS[self.window], is_frozen: self.is_frozen }
    }

    /// Of the column that the rows are in the order of.
    pub fn weight(&self) -> Weight {
        match self.column {
            Column::OwnCpu | Column::TotalCpu => Weight::Cpu,
            Column::OwnWall | Column::TotalWall => Weight::Wall,
            Column::Name => self.picture.as_ref().map_or(Weight::Cpu, |picture| picture.weight),
        }
    }

    /// A picture of another wish than the newest is late: the one that was wished for comes behind it.
    pub fn see(&mut self, picture: Picture) {
        if picture.wish.rows != self.wish().rows || picture.wish.last_ns != self.wish().last_ns {
            return;
        }
        if !self.is_column_chosen {
            self.column = match (picture.weight, self.column.is_own()) {
                (Weight::Cpu | Weight::Samples | Weight::Copied | Weight::Allocated, true) => Column::OwnCpu,
                (Weight::Cpu | Weight::Samples | Weight::Copied | Weight::Allocated, false) => Column::TotalCpu,
                (Weight::Wall, true) => Column::OwnWall,
                (Weight::Wall, false) => Column::TotalWall,
            };
        }
        let selected = self
            .selected_row()
            .filter(|_| self.selected > 0)
            .map(|row| (row.depth, row.name.clone(), row.source.clone()));
        self.picture = Some(picture);
        self.awaits_rows = false;
        if let Some((depth, name, source)) = selected {
            let same = |row: &&Row| row.depth == depth && row.name == name && row.source == source;
            let place = self.rows().iter().position(same);
            self.selected = place.unwrap_or(self.selected);
        }
        self.keep_selected_in_rows();
    }

    /// A number that is told again is that of the same process, which has become another program, or of a later one.
    pub fn miss(&mut self, missed: Missed) {
        self.missed.retain(|one| one.pid != missed.pid);
        self.missed.push(missed);
    }

    /// Those that the filter keeps, in order.
    pub fn rows(&self) -> Vec<&Row> {
        let Some(picture) = self.picture.as_ref().filter(|_| !self.awaits_rows) else { return Vec::new() };
        let rows = &picture.live.rows;
        if self.view == View::Tree {
            return self.kept_paths(rows);
        }
        let is_kept = |row: &&Row| self.filter.as_ref().is_none_or(|filter| matches(filter, row));
        let mut kept: Vec<&Row> = rows.iter().filter(is_kept).collect();
        kept.sort_by(|left, right| {
            let order = match self.column {
                Column::Name => left.name.cmp(&right.name),
                column => column.of(right).cmp(&column.of(left)),
            };
            let order = if self.is_reversed { order.reverse() } else { order };
            let order = left.is_last.cmp(&right.is_last).then(order);
            order
                .then_with(|| by_total(right, left))
                .then_with(|| (&left.name, &left.source).cmp(&(&right.name, &right.source)))
        });
        kept
    }

    /// Of the tree: what matches, and what leads there.
    fn kept_paths<'r>(&self, rows: &'r [Row]) -> Vec<&'r Row> {
        let Some(filter) = &self.filter else { return rows.iter().collect() };
        let mut kept: Vec<&Row> = Vec::new();
        let mut wanted_depth = None;
        for row in rows.iter().rev() {
            let leads = wanted_depth.is_some_and(|depth| row.depth < depth);
            if leads || matches(filter, row) {
                wanted_depth = Some(row.depth);
                kept.push(row);
            }
        }
        kept.reverse();
        kept
    }

    pub fn selected_row(&self) -> Option<&Row> {
        self.rows().get(self.selected).copied()
    }

    /// `since the beginning`, `last 10 s`
    pub fn window_in_words(&self) -> String {
        WINDOWS_NS[self.window]
            .map_or("since the beginning".to_owned(), |last_ns| format!("last {} s", last_ns / 1_000_000_000))
    }

    pub fn key(&mut self, key: KeyEvent) -> Effect {
        if key.kind == KeyEventKind::Release {
            return Effect::None;
        }
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return match key.code {
                KeyCode::Char('c') => Effect::Quit,
                KeyCode::Char('z') => Effect::Stop,
                _ => Effect::None,
            };
        }
        if self.typed.is_some() {
            self.type_filter(key.code);
            return Effect::None;
        }
        if self.shows_keys {
            self.shows_keys = false;
            return if key.code == KeyCode::Char('q') { Effect::Quit } else { Effect::None };
        }
        let before = self.wish();
        self.refusal = None;
        match key.code {
            KeyCode::Char('q') => return Effect::Quit,
            KeyCode::Char('?' | 'h') => self.shows_keys = true,
            KeyCode::Char('1') => self.show(View::Expression),
            KeyCode::Char('2') => self.show(View::Line),
            KeyCode::Char('3') => self.show(View::Function),
            KeyCode::Char('4') => self.show(View::Thread),
            KeyCode::Char('t') if self.view == View::Tree => self.show(self.table),
            KeyCode::Char('t') => self.show(View::Tree),
            KeyCode::Tab => self.show(self.next_table(1)),
            KeyCode::BackTab => self.show(self.next_table(TABLES.len() - 1)),
            KeyCode::Left | KeyCode::Char('<') => self.sort_by(COLUMNS.len() - 1),
            KeyCode::Right | KeyCode::Char('>') => self.sort_by(1),
            KeyCode::Char('r') => self.is_reversed = !self.is_reversed,
            KeyCode::Char('w') => self.window = (self.window + 1) % WINDOWS_NS.len(),
            KeyCode::Char('f' | ' ') => self.is_frozen = !self.is_frozen,
            KeyCode::Char('/') => {
                self.typed = Some(self.filter.as_ref().map_or(String::new(), |filter| filter.as_str().to_owned()));
            }
            KeyCode::Esc => self.filter = None,
            KeyCode::Up | KeyCode::Char('k') => self.selected = self.selected.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.selected += 1,
            KeyCode::PageUp => self.selected = self.selected.saturating_sub(self.page_rows),
            KeyCode::PageDown => self.selected += self.page_rows,
            KeyCode::Home | KeyCode::Char('g') => self.selected = 0,
            KeyCode::End | KeyCode::Char('G') => self.selected = usize::MAX,
            _ => {}
        }
        self.keep_selected_in_rows();
        if self.wish() == before { Effect::None } else { Effect::Wish }
    }

    fn type_filter(&mut self, key: KeyCode) {
        let Some(typed) = &mut self.typed else { return };
        match key {
            KeyCode::Char(letter) => typed.push(letter),
            KeyCode::Backspace => {
                typed.pop();
            }
            KeyCode::Esc => {
                self.typed = None;
                self.filter = None;
            }
            KeyCode::Enter => {
                let typed = self.typed.take().unwrap_or_default();
                match pattern(&typed) {
                    Ok(filter) => self.filter = Some(filter).filter(|_| !typed.is_empty()),
                    Err(why) => self.refusal = Some(why),
                }
                (self.selected, self.first) = (0, 0);
            }
            _ => {}
        }
    }

    fn show(&mut self, view: View) {
        if view != View::Tree {
            self.table = view;
        }
        if view != self.view {
            self.awaits_rows = true;
            (self.selected, self.first) = (0, 0);
            if !self.is_column_chosen {
                // Most nodes of a tree have no time of their own.
                self.column = if view == View::Tree { self.column.total() } else { self.column.own() };
            }
        }
        self.view = view;
    }

    fn next_table(&self, by: usize) -> View {
        let place = TABLES.iter().position(|table| *table == self.table).unwrap_or(0);
        if self.view == View::Tree { self.table } else { TABLES[(place + by) % TABLES.len()] }
    }

    /// The column so many places further on. The tree's order is its own: by self or total time.
    fn sort_by(&mut self, places: usize) {
        let place = COLUMNS.iter().position(|column| *column == self.column).unwrap_or(0);
        let columns = if self.view == View::Tree { COLUMNS.len() - 1 } else { COLUMNS.len() };
        let places = if places == 1 { 1 } else { columns - 1 };
        self.column = COLUMNS[(place + places) % columns];
        self.is_column_chosen = true;
    }

    fn keep_selected_in_rows(&mut self) {
        self.selected = self.selected.min(self.rows().len().saturating_sub(1));
        self.keep_selected_on_page();
    }

    fn keep_selected_on_page(&mut self) {
        self.first = self.first.min(self.selected).max((self.selected + 1).saturating_sub(self.page_rows.max(1)));
    }

    /// The screen has room for so many rows.
    pub fn set_page_rows(&mut self, rows: usize) {
        self.page_rows = rows;
        self.keep_selected_on_page();
    }
}

impl Column {
    pub const fn is_own(self) -> bool {
        matches!(self, Column::OwnCpu | Column::OwnWall)
    }

    const fn own(self) -> Column {
        match self {
            Column::TotalCpu => Column::OwnCpu,
            Column::TotalWall => Column::OwnWall,
            column => column,
        }
    }

    const fn total(self) -> Column {
        match self {
            Column::OwnCpu => Column::TotalCpu,
            Column::OwnWall => Column::TotalWall,
            column => column,
        }
    }

    fn of(self, row: &Row) -> u64 {
        match self {
            Column::OwnCpu => row.own.cpu_ns,
            Column::TotalCpu => row.total.cpu_ns,
            Column::OwnWall => row.own.wall_ns,
            Column::TotalWall => row.total.wall_ns,
            Column::Name => 0,
        }
    }
}

fn by_total(left: &Row, right: &Row) -> Ordering {
    (left.total.cpu_ns, left.total.wall_ns).cmp(&(right.total.cpu_ns, right.total.wall_ns))
}

fn matches(filter: &Regex, row: &Row) -> bool {
    [&row.name, &row.source, &row.below].into_iter().any(|text| filter.is_match(text))
}
