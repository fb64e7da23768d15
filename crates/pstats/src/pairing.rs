//! Which function of one file is which of another, where lines were added above it or its folder has another name.
//! Owns: the rule. Never: pairs functions by their counts or times.

use std::collections::{BTreeMap, HashSet};

use crate::functions::Function;

/// Of a path, from its end: as many parts as are compared at most, then fewer.
const PARTS_MAX: usize = 4;
/// They are in many folders, and their folder tells them apart.
const OF_A_FOLDER: [&str; 2] = ["__init__.py", "__main__.py"];

/// Numbers of functions by side.
type Group = [Vec<usize>; 2];

/// For each function of `after` its place in `before`, if it is there.
pub fn pairs(before: &[&Function], after: &[&Function]) -> Vec<Option<usize>> {
    let mut pairing = Pairing { sides: [before, after], taken: HashSet::new(), pairs: vec![None; after.len()] };
    // As many of one name in one file on both sides are the same ones, in the order of lines.
    pairing.pair(|function| Some((&*function.file, 0)), true);
    pairing.pair(|function| Some((&*function.file, function.line)), true);
    pairing.pair(|function| Some((&*function.file, 0)), false);
    for parts in (1..=PARTS_MAX).rev() {
        pairing.pair(|function| Some((end_of(&function.file, parts)?, 0)), true);
    }
    pairing.pairs
}

struct Pairing<'f> {
    sides: [&'f [&'f Function]; 2],
    /// Of the side before.
    taken: HashSet<usize>,
    pairs: Vec<Option<usize>>,
}

impl<'f> Pairing<'f> {
    /// Those of one key and one name that are left: one on each side, or where `several` equally many, each side's in one file.
    fn pair(&mut self, key: impl Fn(&'f Function) -> Option<(&'f str, i64)>, several: bool) {
        let mut groups: BTreeMap<(&str, i64, &str), Group> = BTreeMap::new();
        for (side, functions) in self.sides.into_iter().enumerate() {
            for (place, function) in functions.iter().enumerate() {
                let is_left = if side == 0 { !self.taken.contains(&place) } else { self.pairs[place].is_none() };
                if let Some((file, line)) = key(function).filter(|_| is_left) {
                    groups.entry((file, line, &function.name)).or_default()[side].push(place);
                }
            }
        }
        for group in groups.into_values() {
            let is_of_one_file = |side: usize| {
                let mut files = group[side].iter().map(|place| &self.sides[side][*place].file);
                let first = files.next();
                files.all(|file| Some(file) == first)
            };
            let count = group[0].len();
            let fits = count == group[1].len() && (count == 1 || several && is_of_one_file(0) && is_of_one_file(1));
            if !fits {
                continue;
            }
            let in_order = |side: usize| {
                let mut places = group[side].clone();
                places.sort_by_key(|place| self.sides[side][*place].line);
                places
            };
            let (old, new) = (in_order(0), in_order(1));
            for (old, new) in old.into_iter().zip(new) {
                self.taken.insert(old);
                self.pairs[new] = Some(old);
            }
        }
    }
}

/// None: no file, or one whose folder is needed.
fn end_of(file: &str, parts: usize) -> Option<&str> {
    let begin = file.rmatch_indices('/').nth(parts - 1).map_or(0, |(at, _)| at + 1);
    let end = &file[begin..];
    (file.contains(['/', '.']) && !OF_A_FOLDER.contains(&end)).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::pairs;
    use crate::functions::Function;

    fn functions(texts: &[(&str, i64, &str)]) -> Vec<Function> {
        let of = |(file, line, name): &(&str, i64, &str)| Function {
            file: (*file).into(),
            line: *line,
            name: (*name).into(),
        };
        texts.iter().map(of).collect()
    }

    fn paired(before: &[(&str, i64, &str)], after: &[(&str, i64, &str)]) -> Vec<Option<usize>> {
        let (before, after) = (functions(before), functions(after));
        pairs(&before.iter().collect::<Vec<_>>(), &after.iter().collect::<Vec<_>>())
    }

    #[test]
    fn a_line_above_or_another_folder_makes_no_other_function() {
        assert_eq!(
            paired(&[("a.py", 1, "f"), ("a.py", 5, "g")], &[("a.py", 6, "g"), ("a.py", 2, "f")]),
            [Some(1), Some(0)]
        );
        assert_eq!(paired(&[("/A/p/a.py", 1, "f")], &[("/B/p/a.py", 3, "f")]), [Some(0)]);
        assert_eq!(paired(&[("~", 0, "<len>")], &[("~", 0, "<len>")]), [Some(0)]);
        assert_eq!(paired(&[("/A/p/__init__.py", 1, "f")], &[("/B/p/__init__.py", 1, "f")]), [Some(0)]);
    }

    #[test]
    fn several_of_one_name_are_in_the_order_of_lines_where_they_are_as_many() {
        let before = [("a.py", 1, "<lambda>"), ("a.py", 2, "<lambda>")];
        assert_eq!(paired(&before, &[("a.py", 3, "<lambda>"), ("a.py", 2, "<lambda>")]), [Some(1), Some(0)]);
        let three = [("a.py", 7, "<lambda>"), ("a.py", 8, "<lambda>"), ("a.py", 9, "<lambda>")];
        assert_eq!(paired(&before, &three), [None, None, None]);
    }

    #[test]
    fn what_may_be_either_of_two_is_neither() {
        assert_eq!(paired(&[("/A/x/a.py", 1, "f"), ("/A/y/a.py", 1, "f")], &[("/B/z/a.py", 1, "f")]), [None]);
        assert_eq!(paired(&[("/A/p/__init__.py", 1, "f")], &[("/B/q/__init__.py", 1, "f")]), [None]);
        assert_eq!(paired(&[("a.py", 1, "f")], &[("b.py", 1, "f"), ("a.py", 1, "g")]), [None, None]);
    }
}
