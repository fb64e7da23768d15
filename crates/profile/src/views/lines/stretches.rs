//! Which lines of a function's source are shown, and which are folded: hot ones, and a little around each.
//! Never: shows a line that belongs to another function.

use unicode_width::UnicodeWidthStr;

use crate::rules::weight::{Totals, Weight};
use crate::tables::profile::Profile;
use crate::tables::source_text::SourceText;
use crate::views::lines::FunctionLines;
use crate::words::excerpt::expand;

/// Shown above and below each hot line.
const AROUND: u32 = 2;

#[derive(Debug, PartialEq, Eq)]
pub enum Stretch {
    /// One line of the source.
    Shown(u32),
    /// Lines that hold little or nothing.
    Folded { lines: u32, own: Totals },
}

/// From the function's first line to its last hot one and what stands around it.
pub fn stretches(profile: &Profile, function: &FunctionLines, weight: Weight, smallest: f64) -> Vec<Stretch> {
    let source = profile.source_of(function.function);
    let is_hot = |own: Totals, total: Totals| {
        let heavier = own.by(weight).max(total.by(weight));
        heavier > 0 && heavier as f64 >= smallest
    };
    let touched = function.lines.iter().filter_map(|line| Some((line.line?, line)));
    let hot: Vec<u32> = touched.clone().filter(|(_, row)| is_hot(row.own, row.total)).map(|(line, _)| line).collect();
    let Some((first, last)) = hot.first().zip(hot.last()) else { return Vec::new() };
    let is_module = profile.functions[function.function].name == "<module>";
    let begin = function.first_line.min(*first);
    let end = source.map_or(*last, |source| last_around(source, function, is_module, *last));
    let known = |line: u32| source.is_none_or(|source| source.line(line).is_some());
    let near = |line: u32| hot.iter().any(|hot| hot.abs_diff(line) <= AROUND) || line == begin;
    let mut stretches: Vec<Stretch> = Vec::new();
    let mut rest = touched.filter(|(line, _)| *line >= begin).peekable();
    for line in begin..=end {
        let mut own = Totals::default();
        let mut is_touched = false;
        while let Some((_, row)) = rest.next_if(|(at, _)| *at <= line) {
            own.add(row.own);
            is_touched = true;
        }
        // A hot line is shown without its text, too: its figures are what was asked for.
        let is_hot = is_touched && hot.binary_search(&line).is_ok();
        let shown = is_hot || source.is_some() && near(line) && known(line);
        match (shown, stretches.last_mut()) {
            (true, _) => stretches.push(Stretch::Shown(line)),
            (false, Some(Stretch::Folded { lines, own: sum })) => {
                *lines += 1;
                sum.add(own);
            }
            (false, _) => stretches.push(Stretch::Folded { lines: 1, own }),
        }
    }
    unfold_single_lines(&mut stretches, begin, &known, source.is_some());
    stretches
}

/// A fold takes a line itself, so it never stands for only one that could be shown.
fn unfold_single_lines(stretches: &mut [Stretch], begin: u32, known: &dyn Fn(u32) -> bool, has_source: bool) {
    let mut line = begin;
    for stretch in stretches {
        match stretch {
            Stretch::Shown(shown) => line = *shown + 1,
            Stretch::Folded { lines, .. } => {
                let (folded, count) = (line, *lines);
                line += count;
                if count == 1 && has_source && known(folded) {
                    *stretch = Stretch::Shown(folded);
                }
            }
        }
    }
}

/// The lines below the last hot one that still belong to the function: those that are indented more than its first.
fn last_around(source: &SourceText, function: &FunctionLines, is_module: bool, last: u32) -> u32 {
    let indent = |text: &str| expand(&text[..text.len() - text.trim_start().len()], 0).width();
    let first_indent = source.line(function.first_line).map_or(0, indent);
    let mut end = last;
    for line in last + 1..=last.saturating_add(AROUND) {
        match source.line(line) {
            Some(text) if text.trim().is_empty() => {}
            Some(text) if is_module || indent(text) > first_indent => end = line,
            _ => break,
        }
    }
    end
}
