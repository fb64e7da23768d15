//! Which lines of several texts are the same, though others were put in or taken out between them.
//! Owns: a line's number. Keeps: no two lines of one text have the same.

use foldhash::{HashMap, HashSet};
use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::rules::difference::same_code::extent::{around, body, parents};

/// In larger texts nobody looks for moved lines: two that have nothing in common take a time that grows with the product of their lines.
const LINES_MAX: usize = 20_000;

/// A line in all texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Line {
    pub number: u32,
    /// Each text has it.
    pub is_everywhere: bool,
    /// In each text it is in one piece with a line that each has once.
    pub is_sure: bool,
    /// A function begins there that is beside a copy of itself, and another text has only one of the two.
    pub is_one_of_copies: bool,
}

/// With whether no other line can be meant.
type Numbered = (u32, bool);

/// Each text against the one before it that differs. None: too many lines.
#[must_use]
pub fn numbered(texts: &[Vec<&str>]) -> Option<Vec<Vec<Line>>> {
    if texts.iter().any(|lines| lines.len() > LINES_MAX) {
        return None;
    }
    let mut different: Vec<(&[&str], Vec<Numbered>)> = Vec::new();
    let mut of_text: Vec<usize> = Vec::new();
    let mut next = 0..;
    let mut copies: HashSet<u32> = HashSet::default();
    let mut earlier: HashSet<&str> = HashSet::default();
    for lines in texts {
        let known = different.iter().position(|(known, _)| known == lines);
        of_text.push(known.unwrap_or(different.len()));
        if known.is_none() {
            let numbers = match different.last() {
                Some((before, numbers)) => followed(before, numbers, lines, &earlier, &mut next, &mut copies),
                None => next.by_ref().take(lines.len()).map(|number| (number, true)).collect(),
            };
            different.push((lines, numbers));
            earlier.extend(lines);
        }
    }
    let mut count_of: HashMap<u32, usize> = HashMap::default();
    let mut unsure: HashSet<u32> = HashSet::default();
    for (number, is_sure) in different.iter().flat_map(|(_, numbers)| numbers) {
        *count_of.entry(*number).or_default() += 1;
        if !is_sure {
            unsure.insert(*number);
        }
    }
    let line = |(number, _): &Numbered| Line {
        number: *number,
        is_everywhere: count_of[number] == different.len(),
        is_sure: !unsure.contains(number),
        is_one_of_copies: copies.contains(number),
    };
    Some(of_text.into_iter().map(|at| different[at].1.iter().map(line).collect()).collect())
}

/// The numbers of a text by those of the text before it. As many lines in the place of as many are those, written anew. `earlier`: all lines of all
/// texts before it.
fn followed(
    before: &[&str],
    numbers: &[Numbered],
    lines: &[&str],
    earlier: &HashSet<&str>,
    next: &mut impl Iterator<Item = u32>,
    copies: &mut HashSet<u32>,
) -> Vec<Numbered> {
    let (once_before, once) = (counts(before), counts(lines));
    let is_anchor = |line: &&str| once_before.get(line) == Some(&1) && once.get(line) == Some(&1);
    let mut found: Vec<Option<Numbered>> = vec![None; lines.len()];
    let steps = from_begins(capture_diff_slices(Algorithm::Patience, before, lines), before, lines);
    for step in &steps {
        let (old, new, len, is_sure) = match *step {
            DiffOp::Equal { old_index, new_index, len } => {
                (old_index, new_index, len, lines[new_index..new_index + len].iter().any(is_anchor))
            }
            DiffOp::Replace { old_index, old_len, new_index, new_len } if old_len == new_len => {
                (old_index, new_index, new_len, false)
            }
            DiffOp::Replace { .. } | DiffOp::Delete { .. } | DiffOp::Insert { .. } => continue,
        };
        let is_replaced = matches!(step, DiffOp::Replace { .. });
        for at in 0..len {
            // What is in both texts was moved: it is not what is in its place now.
            if !is_replaced || !is_anchor(&before[old + at]) && !is_anchor(&lines[new + at]) {
                found[new + at] = Some((numbers[old + at].0, is_sure));
            }
        }
    }
    let (parents_before, parents_now) = (parents(before), parents(lines));
    let equal_lines = |step: Option<&DiffOp>| if let Some(DiffOp::Equal { len, .. }) = step { *len } else { 0 };
    for (at, step) in steps.iter().enumerate() {
        let equal = (equal_lines(at.checked_sub(1).and_then(|at| steps.get(at))), equal_lines(steps.get(at + 1)));
        match *step {
            DiffOp::Delete { old_index, old_len, .. } => {
                let beside = beside_copies(before, &parents_before, old_index..old_index + old_len, equal);
                copies.extend(beside.into_iter().map(|at| numbers[at].0));
            }
            DiffOp::Insert { new_index, new_len, .. } => {
                let beside = beside_copies(lines, &parents_now, new_index..new_index + new_len, equal);
                copies.extend(beside.into_iter().filter_map(|at| found[at].map(|(number, _)| number)));
            }
            DiffOp::Equal { .. } | DiffOp::Replace { .. } => {}
        }
    }
    // A piece that was moved behind another one is in no order with it.
    let place_of: HashMap<&str, usize> = before.iter().copied().zip(0..).collect();
    let mut taken: HashSet<u32> = found.iter().flatten().map(|(number, _)| *number).collect();
    for at in 0..lines.len() {
        if found[at].is_none() && is_anchor(&lines[at]) {
            take_moved_piece((before, numbers), lines, (place_of[lines[at]], at), &mut found, &mut taken);
        }
    }
    let all = found.into_iter().zip(lines);
    // A line that is new could be an old one that was moved, if one like it was in any text.
    all.map(|(found, line)| found.unwrap_or_else(|| (next.next().unwrap_or(u32::MAX), !earlier.contains(line))))
        .collect()
}

/// A line that each text has once, where it was and where it is, with the lines around it that are the same in both. `taken`: the numbers in `found`.
fn take_moved_piece(
    (before, numbers): (&[&str], &[Numbered]),
    lines: &[&str],
    (old, new): (usize, usize),
    found: &mut [Option<Numbered>],
    taken: &mut HashSet<u32>,
) {
    let is_of_piece = |old: usize, new: usize, found: &[Option<Numbered>]| {
        before[old] == lines[new] && found[new].is_none() && !taken.contains(&numbers[old].0)
    };
    let above = (1..=old.min(new)).take_while(|far| is_of_piece(old - far, new - far, found)).count();
    let room_below = (before.len() - old).min(lines.len() - new);
    let below = (1..room_below).take_while(|far| is_of_piece(old + far, new + far, found)).count();
    for (old, new) in (old - above..).zip(new - above..=new + below) {
        let number = numbers[old].0;
        found[new] = Some((number, true));
        taken.insert(number);
    }
}

/// Lines that only one text has may often be others as well, with the same lines around them: of two functions that begin alike, the first one that
/// was taken out, or the rest of it and the beginning of the second one. They are taken from where a function begins.
fn from_begins(mut steps: Vec<DiffOp>, before: &[&str], lines: &[&str]) -> Vec<DiffOp> {
    for at in 1..steps.len().saturating_sub(1) {
        let (
            DiffOp::Equal { old_index: old_above, new_index: new_above, len: above },
            DiffOp::Equal { old_index: old_below, new_index: new_below, len: below },
        ) = (steps[at - 1], steps[at + 1])
        else {
            continue;
        };
        let (start, begin) = match steps[at] {
            DiffOp::Delete { old_index, old_len, .. } => {
                (old_index, begin(before, old_index..old_index + old_len, (above, below)))
            }
            DiffOp::Insert { new_index, new_len, .. } => {
                (new_index, begin(lines, new_index..new_index + new_len, (above, below)))
            }
            DiffOp::Equal { .. } | DiffOp::Replace { .. } => continue,
        };
        let moved = |index: usize| index + begin - start;
        steps[at] = match steps[at] {
            DiffOp::Delete { old_index, old_len, new_index } => {
                DiffOp::Delete { old_index: moved(old_index), old_len, new_index: moved(new_index) }
            }
            DiffOp::Insert { old_index, new_index, new_len } => {
                DiffOp::Insert { old_index: moved(old_index), new_index: moved(new_index), new_len }
            }
            other @ (DiffOp::Equal { .. } | DiffOp::Replace { .. }) => other,
        };
        steps[at - 1] = DiffOp::Equal { old_index: old_above, new_index: new_above, len: moved(above) };
        let len = below + start - begin;
        steps[at + 1] = DiffOp::Equal { old_index: moved(old_below), new_index: moved(new_below), len };
    }
    steps
}

/// Where a function begins from which on such lines are those as well: the shallowest, and the nearest of those. `equal`: how many lines above and
/// below the other text has.
fn begin(text: &[&str], lacking: Range<usize>, equal: (usize, usize)) -> usize {
    let Range { start, end } = lacking;
    let (above, below) = further(text, start, end, equal);
    let is_begin = |at: usize| {
        let is_class = text[at].trim_start().starts_with("class ");
        let is_decorated = at > 0 && text[at - 1].trim_start().starts_with('@');
        (is_class || is_head(text[at])) && !is_decorated
    };
    let indent = |at: usize| text[at].len() - text[at].trim_start().len();
    let begins = (start - above..=start + below).filter(|at| is_begin(*at));
    begins.min_by_key(|at| (indent(*at), at.abs_diff(start))).unwrap_or(start)
}

/// What the other text lacks may as well be so many lines further up, or down.
fn further(text: &[&str], start: usize, end: usize, equal: (usize, usize)) -> (usize, usize) {
    let above = (0..equal.0).take_while(|at| text[start - 1 - at] == text[end - 1 - at]).count();
    let below = (0..equal.1).take_while(|at| text[start + at] == text[end + at]).count();
    (above, below)
}

/// Where functions begin that the other text has, beside lines that it lacks, and that are copies of what it lacks. `equal`: how many lines above
/// and below it has. `parents`: of the text.
fn beside_copies(text: &[&str], parents: &[Option<usize>], lacking: Range<usize>, equal: (usize, usize)) -> Vec<usize> {
    let Range { start, end } = lacking;
    let (above, below) = further(text, start, end, equal);
    let is_alike = |at: usize, other: usize| {
        let lines = code_lines(text, at);
        text.get(at..at + lines) == text.get(other..other + lines)
            && around(text, parents, at) == around(text, parents, other)
    };
    let is_copy = |at: usize, other: usize| is_head(text[at]) && is_alike(at, other);
    let found_above = (start - above..start).filter(|at| is_copy(*at, at + (end - start)));
    found_above.chain((end..end + below).filter(|at| is_copy(*at, at - (end - start)))).collect()
}

/// Whether a function may begin there.
fn is_head(line: &str) -> bool {
    let text = line.trim_start();
    text.starts_with('@') || text.starts_with("def ") || text.starts_with("async ") || text.contains("lambda")
}

/// Of what begins there: without the empty lines and remarks behind it.
fn code_lines(text: &[&str], at: usize) -> usize {
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let lines = body(text, at as u32 + 1).unwrap_or_default();
    lines.iter().rposition(is_code).map_or(1, |last| last + 1)
}

fn counts<'l>(lines: &[&'l str]) -> HashMap<&'l str, usize> {
    let mut counts = HashMap::default();
    lines.iter().for_each(|line| *counts.entry(*line).or_default() += 1);
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A letter a line; a dot behind those that are not everywhere, a question mark behind those of which others can be meant.
    fn check(texts: &[&str], expected: &str) {
        let lines = |text: &'static str| -> Vec<&'static str> { (0..text.len()).map(|at| &text[at..=at]).collect() };
        let texts: Vec<Vec<&str>> = texts.iter().map(|text| lines(String::from(*text).leak())).collect();
        let told = numbered(&texts).expect("few lines").into_iter().map(|numbers| {
            let shown = numbers.iter().map(|line| {
                let (dot, mark) = (if line.is_everywhere { "" } else { "." }, if line.is_sure { "" } else { "?" });
                format!("{}{dot}{mark}", line.number)
            });
            shown.collect::<Vec<_>>().join(" ")
        });
        assert_eq!(told.collect::<Vec<_>>().join(" | "), expected);
    }

    #[test]
    fn a_line_keeps_its_number() {
        check(&["abc", "abc"], "0 1 2 | 0 1 2");
        // Put in, taken out, and one text twice.
        check(&["aba", "xaba", "aba"], "0 1 2 | 3. 0 1 2 | 0 1 2");
        check(&["abc", "ac"], "0 1. 2 | 0 2");
        check(&["abc", "axyc"], "0 1. 2 | 0 3. 4. 2");
        check(&["ab", "xab", "xaby"], "0 1 | 2. 0 1 | 2. 0 1 3.");
        // Moved.
        check(&["abcd", "cdab"], "0 1 2 3 | 2 3 0 1");
        check(&["axyzb", "bxyza"], "0 1 2 3 4 | 4 1 2 3 0");
        // With what is around it, though the lines are there twice.
        check(&["xaxmn", "mnxax"], "0 1 2 3 4 | 3 4 0 1 2");
    }

    #[test]
    fn a_line_that_others_can_be_meant_by_is_not_sure() {
        // Written anew: one in the place of one.
        check(&["abc", "axc"], "0 1? 2 | 0 1? 2");
        // Nobody knows which of two is gone.
        check(&["xx", "x"], "0? 1. | 0?");
        // It is there again, or another one like it.
        check(&["xay", "xy", "axy"], "0 1. 2 | 0 2 | 3.? 0 2");
    }

    /// The lines, counted from 1, at which a function may be another one than it seems, in each text.
    fn copies(before: &str, after: &str) -> [Vec<usize>; 2] {
        let texts = [before, after].map(|text| text.lines().collect::<Vec<&str>>());
        let found = numbered(&texts).expect("few lines");
        let of = |lines: &[Line]| -> Vec<usize> {
            (1..).zip(lines).filter(|(_, line)| line.is_one_of_copies).map(|(at, _)| at).collect()
        };
        [of(&found[0]), of(&found[1])]
    }

    #[test]
    fn one_of_two_copies_may_be_either() {
        let copy = "@cost.register\ndef _(data):\n    step(data)\n\n";
        let main = "def main():\n    cost(data)\n";
        let (two, one) = (format!("{copy}{copy}{main}"), format!("{copy}{main}"));
        assert_eq!(copies(&two, &one)[1], [1, 2]);
        assert_eq!(copies(&one, &two)[0], [1, 2]);
        // A decorator is there again, and no copy of the function.
        let other = "@cost.register\ndef _(data: list):\n    turn(data)\n\n";
        assert_eq!(copies(&format!("{other}{copy}{main}"), &one), [Vec::<usize>::new(), Vec::new()]);
        // Neither is the method of another class.
        let class = |name: &str| format!("class {name}:\n    def run(self):\n        step(data)\n");
        assert_eq!(copies(&(class("A") + &class("B")), &class("A")), [Vec::<usize>::new(), Vec::new()]);
        let class = |name: &str| format!("class {name}(\n    Base,\n):\n    def run(self):\n        step(data)\n");
        assert_eq!(copies(&(class("A") + &class("B")), &class("A")), [Vec::<usize>::new(), Vec::new()]);
    }

    /// They begin alike, and are not.
    #[test]
    fn a_function_keeps_its_first_line_where_the_one_beside_it_goes() {
        let of = |call: &str| format!("@cost.register\ndef _(data):\n    {call}(data)\n\n");
        let main = "def main():\n    cost(data)\n";
        let both = format!("import data\n{}{}{main}", of("step"), of("turn"));
        let numbers = |before: &str, after: &str| {
            let texts = [before, after].map(|text| text.lines().collect::<Vec<&str>>());
            let found = numbered(&texts).expect("few lines");
            found[1].iter().map(|line| line.number).collect::<Vec<u32>>()
        };
        let without_first = format!("import data\n{}{main}", of("turn"));
        assert_eq!(numbers(&both, &without_first), [0, 5, 6, 7, 8, 9, 10]);
        assert_eq!(numbers(&without_first, &both), [0, 7, 8, 9, 10, 1, 2, 3, 4, 5, 6]);
        let without_second = format!("import data\n{}{main}", of("step"));
        assert_eq!(numbers(&both, &without_second), [0, 1, 2, 3, 4, 9, 10]);
        // A method begins below its class.
        let class = |name: &str| format!("class {name}:\n    def run(self):\n        step(data)\n");
        assert_eq!(numbers(&(class("A") + &class("B")), &class("A")), [0, 1, 2]);
    }

    #[test]
    fn a_text_that_is_larger_than_anybody_s_has_no_numbers() {
        assert!(numbered(&[vec!["x"; LINES_MAX + 1]]).is_none());
    }
}
