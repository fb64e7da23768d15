//! The tree as text: for a screen of a given width, or for a pipe, where no line is cut.
//! Owns: its layout. Keeps: no line is wider than the screen, and a name is readable however deep it stands; what is not
//! shown is said where it is missing, with its count and share, or below the tree where it would not be shown in one piece either.

use unicode_width::UnicodeWidthStr;

use super::fold::{Fold, Run};
use super::{BranchIndex, EVENT_LOOP, Options, Step, Tree, name};
use crate::rules::reading::Reading;
use crate::rules::weight::{Totals, Weight};
use crate::tables::file_names::FileNames;
use crate::tables::profile::Profile;
use crate::views::summary::header;
use crate::words::excerpt::{first_cells_cut, printable};
use crate::words::figures::{counted, percent};
use crate::words::paint::Paint;
use crate::words::wrap::wrapped_on_screen;

const COLUMNS: [&str; 11] =
    ["share", "CPU", "self", "wall", "self", "samples", "self", "copied", "self", "alloc", "self"];
/// Of each column, and between it and what follows.
const CELL: usize = 7;
const GAP: usize = 2;
/// What a path has at least, so that a narrow screen shows fewer columns.
const PATH_CELLS_MIN: usize = 32;
/// The least room for a name, at any depth.
const NAME_CELLS_MIN: usize = 24;
/// Indentation in a pipe.
const INDENT_CELLS_MAX: usize = 80;

/// One line a branch: share, both clocks or without any clock the samples (total and self), and the path as indentation. `width`: of the screen; None: the
/// text goes where lines may be of any length.
pub fn text(reading: &Reading, tree: &Tree, options: &Options, width: Option<usize>, paint: Paint) -> String {
    let profile = &reading.profile;
    let mut page = String::new();
    for line in header(reading, &tree.choice).iter().flat_map(|line| wrapped_on_screen(&printable(line), width)) {
        page += &format!("{line}\n");
    }
    let Lines { lines, small, has_runs } = Lines::of(profile, tree, options);
    let layout = Layout::of(tree, &lines, width);
    page += &format!("\n{}\n", paint.quiet(&format!("{}  path", layout.cells(COLUMNS.map(str::to_string)))));
    let files = FileNames::of(profile);
    for (line, depth) in lines {
        let indent = layout.indent(depth);
        match line {
            Line::Branch(branch) => {
                let branch = &tree.branches[branch];
                let name = layout.path(&indent, &printable(&name(profile, branch.step, Some(&files))));
                page += &format!("{}  {name}\n", layout.cells(figures(tree, branch.total, branch.own)));
            }
            Line::Run(run) => {
                let mut own = Totals::default();
                run.calls.iter().for_each(|call| own.add(tree.branches[*call].own));
                let frames = counted(run.calls.len() as u64, "frame", "frames");
                let name = layout.words(&indent, [format!("({frames} of the interpreter)"), format!("({frames})")]);
                let figures = layout.cells(figures(tree, tree.branches[run.calls[0]].total, own));
                page += &format!("{figures}  {}\n", paint.quiet(&name));
            }
            Line::Folded(folded) => {
                let paths = counted(folded.branches, "more path", "more paths");
                let name = layout.words(&indent, [format!("({paths} not shown)"), format!("({paths})")]);
                page += &format!("{}\n", paint.quiet(&format!("{}  {name}", layout.share(tree, folded.total))));
            }
        }
    }
    if small.branches > 0 {
        let paths = counted(small.branches, "more path", "more paths");
        let why = match small.total.by(tree.choice.weight) {
            0 => format!("without {}", tree.choice.weight),
            _ => format!("under {} % in each place", options.share_min * 100.0),
        };
        let words = [format!("({paths} not shown, {why})"), format!("({paths})")];
        let line = format!("{}  {}", layout.share(tree, small.total), layout.words("", words));
        page += &format!("{}\n", paint.quiet(&line));
    }
    let event_loop = tree.roots.iter().any(|root| tree.branches[*root].step == Step::EventLoop);
    let notes = [
        has_runs.then(|| "frames of the interpreter: each only leads to the next call; --whole shows them".to_string()),
        event_loop.then(|| format!("{EVENT_LOOP}: the loop's own calls are left out; --whole shows them")),
    ];
    if notes.iter().any(Option::is_some) {
        page.push('\n');
    }
    for line in notes.iter().flatten().flat_map(|note| wrapped_on_screen(note, width)) {
        page += &format!("{}\n", paint.quiet(&line));
    }
    page
}

/// A line of the tree, for whoever lays it out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeLine {
    pub depth: usize,
    pub name: String,
    pub own: Totals,
    pub total: Totals,
}

/// The lines that `text` has, from root to leaf. What is too small for a line of its own is left out, and is in its caller's total.
pub fn lines(reading: &Reading, tree: &Tree, options: &Options) -> Vec<TreeLine> {
    let profile = &reading.profile;
    let files = FileNames::of(profile);
    let Lines { lines, .. } = Lines::of(profile, tree, options);
    let line = |(line, depth): (Line, usize)| match line {
        Line::Branch(branch) => {
            let branch = &tree.branches[branch];
            let name = printable(&name(profile, branch.step, Some(&files)));
            TreeLine { depth, name, own: branch.own, total: branch.total }
        }
        Line::Run(run) => {
            let mut own = Totals::default();
            run.calls.iter().for_each(|call| own.add(tree.branches[*call].own));
            let frames = counted(run.calls.len() as u64, "frame", "frames");
            let total = run.calls.first().map_or(Totals::default(), |call| tree.branches[*call].total);
            TreeLine { depth, name: format!("({frames} of the interpreter)"), own, total }
        }
        Line::Folded(folded) => {
            let paths = counted(folded.branches, "more path", "more paths");
            TreeLine { depth, name: format!("({paths} not shown)"), own: Totals::default(), total: folded.total }
        }
    };
    lines.into_iter().map(line).collect()
}

enum Line {
    Branch(BranchIndex),
    Run(Run),
    Folded(Folded),
}

/// Branches that are not shown.
#[derive(Clone, Copy, Default)]
struct Folded {
    branches: u64,
    total: Totals,
}

impl Folded {
    fn add(&mut self, total: Totals) {
        self.branches += 1;
        self.total.add(total);
    }
}

struct Lines {
    /// With their depths, in the order in which they are written.
    lines: Vec<(Line, usize)>,
    /// Of each place what together has too small a share for a line.
    small: Folded,
    has_runs: bool,
}

/// A line still to be written.
struct Waiting {
    line: Line,
    depth: usize,
    /// Only the interpreter's own calls are above the branch.
    leads: bool,
}

impl Lines {
    fn of(profile: &Profile, tree: &Tree, options: &Options) -> Lines {
        let fold = Fold::of(profile, tree, options);
        let mut lines = Lines { lines: Vec::new(), small: Folded::default(), has_runs: false };
        let mut waiting = Vec::new();
        lines.push(tree, options, fold.as_ref(), &tree.roots, (0, true), &mut waiting);
        while let Some(Waiting { line, depth, leads }) = waiting.pop() {
            match &line {
                Line::Branch(branch) => {
                    let leads = leads && fold.as_ref().is_some_and(|fold| fold.leads(*branch));
                    let children = &tree.branches[*branch].children;
                    lines.push(tree, options, fold.as_ref(), children, (depth + 1, leads), &mut waiting);
                }
                Line::Run(run) => {
                    lines.has_runs = true;
                    lines.push(tree, options, fold.as_ref(), &run.children, (depth + 1, leads), &mut waiting);
                }
                Line::Folded(_) => {}
            }
            lines.lines.push((line, depth));
        }
        lines
    }

    /// Puts children on the stack of lines still to be written, the last one first.
    fn push(
        &mut self,
        tree: &Tree,
        options: &Options,
        fold: Option<&Fold>,
        children: &[BranchIndex],
        (depth, leads): (usize, bool),
        waiting: &mut Vec<Waiting>,
    ) {
        let weight = tree.choice.weight;
        let (shown, others) = tree.shown(options, children, depth);
        // What weighs nothing has no share to show.
        let (shown, nothing): (Vec<_>, Vec<_>) =
            shown.into_iter().partition(|child| tree.branches[*child].total.by(weight) > 0);
        let mut folded = Folded::default();
        for child in others.iter().chain(&nothing) {
            folded.add(tree.branches[*child].total);
        }
        let smallest = options.share_min * tree.whole.by(weight) as f64;
        if folded.total.by(weight) > 0 && folded.total.by(weight) as f64 >= smallest {
            waiting.push(Waiting { line: Line::Folded(folded), depth, leads });
        } else {
            self.small.branches += folded.branches;
            self.small.total.add(folded.total);
        }
        waiting.extend(shown.into_iter().rev().map(|child| {
            let run = fold.and_then(|fold| fold.run(child, leads));
            Waiting { line: run.map_or(Line::Branch(child), Line::Run), depth, leads }
        }));
    }
}

fn figures(tree: &Tree, total: Totals, own: Totals) -> [String; COLUMNS.len()] {
    let weight = tree.choice.weight;
    let words = |totals: Totals, weight| match totals.by(weight) {
        0 => "–".to_string(),
        _ => totals.words(weight),
    };
    [
        format!("{} %", percent(total.by(weight), tree.whole.by(weight))),
        words(total, Weight::Cpu),
        words(own, Weight::Cpu),
        words(total, Weight::Wall),
        words(own, Weight::Wall),
        words(total, Weight::Samples),
        words(own, Weight::Samples),
        words(total, Weight::Copied),
        words(own, Weight::Copied),
        words(total, Weight::Allocated),
        words(own, Weight::Allocated),
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
        // An imported file may tell no clock.
        let has_clock = tree.whole.cpu_ns > 0 || tree.whole.wall_ns > 0 || tree.whole.samples == 0;
        let all: &'static [usize] = match tree.choice.weight {
            Weight::Copied => &[0, 7, 8],
            Weight::Allocated => &[0, 9, 10],
            _ if has_clock => &[0, 1, 2, 3, 4],
            _ => &[0, 5, 6],
        };
        let Some(width) = width else {
            return Layout { columns: all, path_cells: None, indent_cells_max: INDENT_CELLS_MAX, cells_a_call: 2 };
        };
        // A narrow screen goes without the clock that does not weigh, then without both.
        let fewer: &'static [usize] = match tree.choice.weight {
            _ if !has_clock => all,
            Weight::Copied | Weight::Allocated => all,
            Weight::Wall => &[0, 3, 4],
            Weight::Cpu | Weight::Samples => &[0, 1, 2],
        };
        let room = |columns: &[usize]| width.saturating_sub(columns.len() * (CELL + GAP));
        let ways = [all, fewer];
        let columns = ways.into_iter().find(|columns| room(columns) >= PATH_CELLS_MIN).unwrap_or(&[0]);
        let path_cells = room(columns);
        let indent_cells_max = path_cells.saturating_sub(NAME_CELLS_MIN.max(path_cells / 2));
        let deepest = lines.iter().map(|(_, depth)| *depth).max().unwrap_or(0);
        let cells_a_call = if deepest * 2 <= indent_cells_max { 2 } else { 1 };
        Layout { columns, path_cells: Some(path_cells), indent_cells_max, cells_a_call }
    }

    fn cells(&self, figures: [String; COLUMNS.len()]) -> String {
        let shown = self.columns.iter().map(|column| format!("{:>CELL$}", figures[*column]));
        shown.collect::<Vec<_>>().join(&" ".repeat(GAP))
    }

    /// The columns of a line that has a share and nothing else.
    fn share(&self, tree: &Tree, total: Totals) -> String {
        let weight = tree.choice.weight;
        let share = format!("{} %", percent(total.by(weight), tree.whole.by(weight)));
        let mut figures = [const { String::new() }; COLUMNS.len()];
        figures[0] = share;
        self.cells(figures)
    }

    /// A path deeper than there is room carries its depth as a number.
    fn indent(&self, depth: usize) -> String {
        let cells = depth * self.cells_a_call;
        if cells <= self.indent_cells_max {
            return " ".repeat(cells);
        }
        let number = format!("[{depth}] ");
        // In a pipe the number follows the indentation; on a screen the number is inside of it.
        let before = match self.path_cells {
            Some(_) => self.indent_cells_max.saturating_sub(number.len()),
            None => self.indent_cells_max,
        };
        format!("{}{number}", " ".repeat(before))
    }

    /// The function's name comes first, because text is cut at its end.
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
