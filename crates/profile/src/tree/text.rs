//! The tree as text: for a screen of a given width, or for a pipe, where no line is cut.
//! Owns: its layout. Keeps: no line is wider than the screen, and a name is readable however deep it stands; what is not
//! shown is said where it is missing, with its count and share.

use unicode_width::UnicodeWidthStr;

use super::{Branch, BranchIndex, EVENT_LOOP, Options, Step, Tree, name};
use crate::figures::{counted, percent};
use crate::paint::Paint;
use crate::profile::Profile;
use crate::report::excerpt::{first_cells_cut, printable};
use crate::report::file_names::FileNames;
use crate::summary::header;
use crate::weight::{Totals, Weight};
use crate::wrap::wrapped_on_screen;

const COLUMNS: [&str; 5] = ["share", "CPU", "self", "wall", "self"];
/// Of each column, and between it and what follows.
const CELL: usize = 7;
const GAP: usize = 2;
/// What a path has at least, so that a narrow screen shows fewer columns.
const PATH_CELLS_MIN: usize = 32;
/// What a name has at least, however deep it stands.
const NAME_CELLS_MIN: usize = 24;
/// Indentation in a pipe.
const INDENT_CELLS_MAX: usize = 80;

/// One line a branch: share, both clocks (total and self), and the path as indentation. `width`: of the screen; None: the
/// text goes where lines may be of any length.
pub fn text(profile: &Profile, tree: &Tree, options: &Options, width: Option<usize>, paint: Paint) -> String {
    let mut page = String::new();
    for line in header(profile, &tree.choice).iter().flat_map(|line| wrapped_on_screen(&printable(line), width)) {
        page += &format!("{line}\n");
    }
    let lines = lines(tree, options);
    let layout = Layout::of(tree, &lines, width);
    page += &format!("\n{}\n", paint.quiet(&format!("{}  path", layout.cells(COLUMNS.map(str::to_string)))));
    let files = FileNames::of(profile, profile.files.enumerate().map(|(file, _)| file));
    for (line, depth) in lines {
        let indent = layout.indent(depth);
        match line {
            Line::Branch(branch) => {
                let branch = &tree.branches[branch];
                let name = layout.path(&indent, &printable(&name(profile, branch.step, Some(&files))));
                page += &format!("{}  {name}\n", layout.cells(figures(tree, branch)));
            }
            Line::Folded { branches, total } => {
                let share = format!("{} %", percent(total.by(tree.choice.weight), tree.whole.by(tree.choice.weight)));
                let blank = String::new;
                let figures = layout.cells([share, blank(), blank(), blank(), blank()]);
                let paths = counted(branches, "path", "paths");
                let name = layout.words(&indent, [format!("({paths} more not shown)"), format!("({paths} more)")]);
                page += &format!("{}\n", paint.quiet(&format!("{figures}  {name}")));
            }
        }
    }
    if tree.roots.iter().any(|root| tree.branches[*root].step == Step::EventLoop) {
        let words = format!("{EVENT_LOOP}: the loop's own calls are left out; --whole shows them");
        page.push('\n');
        for line in wrapped_on_screen(&words, width) {
            page += &format!("{}\n", paint.quiet(&line));
        }
    }
    page
}

enum Line {
    Branch(BranchIndex),
    Folded { branches: u64, total: Totals },
}

/// With their depths, in the order in which they are written.
fn lines(tree: &Tree, options: &Options) -> Vec<(Line, usize)> {
    let mut lines = Vec::new();
    let mut waiting = Vec::new();
    push(tree, options, &tree.roots, 0, &mut waiting);
    while let Some((line, depth)) = waiting.pop() {
        if let Line::Branch(branch) = &line {
            push(tree, options, &tree.branches[*branch].children, depth + 1, &mut waiting);
        }
        lines.push((line, depth));
    }
    lines
}

/// Puts children on the stack of lines still to be written, the last one first.
fn push(tree: &Tree, options: &Options, children: &[BranchIndex], depth: usize, waiting: &mut Vec<(Line, usize)>) {
    let (shown, folded) = tree.shown(options, children, depth);
    // What weighs nothing has no share to show.
    let (shown, nothing): (Vec<_>, Vec<_>) =
        shown.into_iter().partition(|child| tree.branches[*child].total.by(tree.choice.weight) > 0);
    let mut total = Totals::default();
    let mut branches = 0;
    for child in folded.iter().chain(&nothing) {
        total.add(tree.branches[*child].total);
        branches += 1;
    }
    if branches > 0 {
        waiting.push((Line::Folded { branches, total }, depth));
    }
    waiting.extend(shown.iter().rev().map(|child| (Line::Branch(*child), depth)));
}

fn figures(tree: &Tree, branch: &Branch) -> [String; 5] {
    let weight = tree.choice.weight;
    let words = |totals: Totals, weight| match totals.by(weight) {
        0 => "–".to_string(),
        _ => totals.words(weight),
    };
    [
        format!("{} %", percent(branch.total.by(weight), tree.whole.by(weight))),
        words(branch.total, Weight::Cpu),
        words(branch.own, Weight::Cpu),
        words(branch.total, Weight::Wall),
        words(branch.own, Weight::Wall),
    ]
}

struct Layout {
    columns: &'static [usize],
    /// For indentation and name; None: in a pipe.
    path_cells: Option<usize>,
    indent_cells_max: usize,
    cells_a_call: usize,
}

impl Layout {
    fn of(tree: &Tree, lines: &[(Line, usize)], width: Option<usize>) -> Layout {
        let Some(width) = width else {
            return Layout {
                columns: &[0, 1, 2, 3, 4],
                path_cells: None,
                indent_cells_max: INDENT_CELLS_MAX,
                cells_a_call: 2,
            };
        };
        // A narrow screen goes without the clock that does not weigh, then without both.
        let fewer: &[usize] = if tree.choice.weight == Weight::Wall { &[0, 3, 4] } else { &[0, 1, 2] };
        let room = |columns: &[usize]| width.saturating_sub(columns.len() * (CELL + GAP));
        let ways: [&'static [usize]; 2] = [&[0, 1, 2, 3, 4], fewer];
        let columns = ways.into_iter().find(|columns| room(columns) >= PATH_CELLS_MIN).unwrap_or(&[0]);
        let path_cells = room(columns);
        let indent_cells_max = path_cells.saturating_sub(NAME_CELLS_MIN.max(path_cells / 2));
        let deepest = lines.iter().map(|(_, depth)| *depth).max().unwrap_or(0);
        let cells_a_call = if deepest * 2 <= indent_cells_max { 2 } else { 1 };
        Layout { columns, path_cells: Some(path_cells), indent_cells_max, cells_a_call }
    }

    fn cells(&self, figures: [String; 5]) -> String {
        let shown = self.columns.iter().map(|column| format!("{:>CELL$}", figures[*column]));
        shown.collect::<Vec<_>>().join(&" ".repeat(GAP))
    }

    /// A path deeper than there is room carries its depth as a number.
    fn indent(&self, depth: usize) -> String {
        let cells = depth * self.cells_a_call;
        if cells <= self.indent_cells_max {
            return " ".repeat(cells);
        }
        let number = format!("[{depth}] ");
        // In a pipe the number stands behind the indentation, on a screen in its room.
        let before = match self.path_cells {
            Some(_) => self.indent_cells_max.saturating_sub(number.len()),
            None => self.indent_cells_max,
        };
        format!("{}{number}", " ".repeat(before))
    }

    /// A function's name stands first in what is cut at its end.
    fn path(&self, indent: &str, name: &str) -> String {
        match self.path_cells {
            Some(cells) => format!("{indent}{}", first_cells_cut(name, cells.saturating_sub(indent.width()))),
            None => format!("{indent}{name}"),
        }
    }

    /// The first that fits.
    fn words(&self, indent: &str, [long, short]: [String; 2]) -> String {
        let fits = self.path_cells.is_none_or(|cells| indent.width() + long.width() <= cells);
        self.path(indent, if fits { &long } else { &short })
    }
}
