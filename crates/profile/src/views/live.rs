//! One look at a recording that grows, as rows and figures: what `genba top` shows until the next one.
//! Owns: which rows and figures a look has. Never: lays out a screen, sorts the rows of a table: whoever shows them does.
//! Keeps: the accounting is part of every look.

use crate::rules::phase::Phase;
use crate::rules::reading::Reading;
use crate::rules::waits::for_work::ForWork;
use crate::rules::waits::short::ShortWaits;
use crate::rules::weight::{Totals, Weight};
use crate::tables::file_names::FileNames;
use crate::tables::profile::Profile;
use crate::views::report::chain_text::chain;
use crate::views::report::text::name;
use crate::views::report::{self, By, Subject, printable};
use crate::views::summary::{law_line, who};
use crate::views::tree::{self, Order};
use genba_format::state::State;

/// A table has no more rows; those beyond are counted.
const ROWS_MAX: usize = 1000;
/// A path with a smaller share of the whole is no line of the tree.
const TREE_SHARE_MIN: f64 = 0.01;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    Table(By),
    /// From root to leaf, in the tree's order.
    Tree(Order),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Live {
    /// `CPython 3.15.2 · 1.97 s wall · 1.95 s CPU · 1 process, 1 thread · 1 ms`
    pub who: String,
    /// Both laws.
    pub law: String,
    /// Of all samples: what a share of 1 is.
    pub whole: Totals,
    /// Of the wall time in which threads had work, the part in which they waited for the GIL.
    pub gil: Part,
    /// Of the samples' CPU, the part in the garbage collector.
    pub gc: Part,
    pub rows: Vec<Row>,
    /// Rows that the table has beyond these.
    pub rows_left_out: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    pub part_ns: u64,
    pub whole_ns: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// In the tree; 0 in a table.
    pub depth: usize,
    /// `slices.py:6 before`
    pub name: String,
    /// The expression or the line of source, where it is known.
    pub source: String,
    /// What happens underneath: `PyObject_GetItem → bytes_subscript → memmove 97 %`.
    pub below: String,
    pub own: Totals,
    pub total: Totals,
    /// The wait for work, which is behind all others, however long.
    pub is_last: bool,
}

/// `weight`: what rows have of it decides which are left out, and chains are of it. Rows of a table that have only wall time come behind
/// those with CPU; the tree leaves them out. By wall time waits for work are one row, as in the report.
#[must_use]
pub fn live(reading: &Reading, rows: Rows, weight: Weight) -> Live {
    let (whole, rows, rows_left_out) = match rows {
        Rows::Table(by) => table(reading, by, weight),
        Rows::Tree(order) => tree_rows(reading, order, weight),
    };
    let (gil, gc) = gil_and_gc(reading);
    Live { who: printable(&who(reading)), law: printable(&law_line(reading)), whole, gil, gc, rows, rows_left_out }
}

fn table(reading: &Reading, by: By, weight: Weight) -> (Totals, Vec<Row>, u64) {
    let profile = &reading.profile;
    let is_apart = weight == Weight::Wall && by.is_a_place();
    let for_work = is_apart.then(|| ForWork::set_apart(profile, &ShortWaits::of(profile))).flatten();
    let rows_of = |weight, rows_max| {
        let options = report::Options { by, sort: report::Sort::Total, rows_max, ..report::Options::default() };
        report::rows(profile, &options, weight, &|_| false, for_work.as_ref())
    };
    let report::Rows { whole, mut rows, folded } = rows_of(weight, Some(ROWS_MAX));
    let mut left_out = folded.rows;
    // The screen has both clocks: without these it would hide a thread that only waits, and what it waits in.
    if weight == Weight::Cpu {
        let mut waited = rows_of(Weight::Wall, None).rows;
        waited.retain(|row| row.total.cpu_ns == 0);
        let cut = waited.split_off(waited.len().min(ROWS_MAX - rows.len()));
        left_out += cut.len() as u64;
        rows.append(&mut waited);
    }
    let files = FileNames::of(profile);
    let row = |row: &report::Row| Row {
        depth: 0,
        name: printable(&name(profile, by, &files, row)),
        source: printable(&source(profile, by, &row.subject)),
        below: printable(&chain(profile, &row.chain)),
        own: row.own,
        total: row.total,
        is_last: row.subject.phase == Some(Phase::ForWork),
    };
    (whole, rows.iter().map(row).collect(), left_out)
}

fn source(profile: &Profile, by: By, subject: &Subject) -> String {
    let line = || profile.source_of(subject.function?)?.line(subject.line?).map(|line| line.trim().to_owned());
    match (by, &subject.expression, subject.byte_columns) {
        (By::Expression, Some(expression), _) => expression.text.split_whitespace().collect::<Vec<_>>().join(" "),
        (By::Expression, None, Some(columns)) => format!("(columns {} to {})", columns.start + 1, columns.end),
        (By::Line | By::Expression, ..) => line().unwrap_or_default(),
        _ => String::new(),
    }
}

fn tree_rows(reading: &Reading, order: Order, weight: Weight) -> (Totals, Vec<Row>, u64) {
    let options =
        tree::Options { weight: Some(weight), share_min: TREE_SHARE_MIN, sort: order, ..tree::Options::default() };
    let tree = tree::tree(reading, &options);
    let mut lines = tree::text::lines(reading, &tree, &options);
    let left_out = lines.split_off(lines.len().min(ROWS_MAX)).len() as u64;
    let row = |line: tree::text::TreeLine| Row {
        depth: line.depth,
        name: line.name,
        own: line.own,
        total: line.total,
        ..Row::default()
    };
    (tree.whole, lines.into_iter().map(row).collect(), left_out)
}

fn gil_and_gc(profile: &Profile) -> (Part, Part) {
    let (mut gil, mut gc) = (Part::default(), Part::default());
    for group in &profile.samples {
        if group.state.wants_cpu() {
            gil.whole_ns = gil.whole_ns.saturating_add(group.wall_ns);
        }
        if group.state == State::WaitingForGil {
            gil.part_ns = gil.part_ns.saturating_add(group.wall_ns);
        }
        gc.whole_ns = gc.whole_ns.saturating_add(group.cpu_ns);
        if group.state == State::InGc {
            gc.part_ns = gc.part_ns.saturating_add(group.cpu_ns);
        }
    }
    (gil, gc)
}
