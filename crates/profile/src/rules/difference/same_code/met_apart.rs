//! Names under which each recording met one function, and not the same one: this `_` of a `singledispatch` here, and that one there.
//! Owns: that the texts say so. Never: says which is which (`homonyms` does); parses Python: it compares the lines at which functions begin, and those
//! that these are indented under: `class`, `if` and `else`.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::rules::difference::files::FileIndex;
use crate::rules::difference::same_code::homonyms::FirstLines;
use crate::rules::difference::same_code::moved_lines::whole;
use crate::tables::profile::Profile;

/// Decorators of more lines hide where a function begins.
const DECORATOR_LINES_MAX: usize = 50;

/// Where a function begins: its decorators and its `def`.
#[derive(PartialEq, Eq)]
struct Head<'t> {
    lines: Vec<&'t str>,
    /// What it is indented under, the nearest first.
    around: Vec<&'t str>,
}

impl Head<'_> {
    fn is_in(&self, lines: &[&str]) -> bool {
        let mut places = lines.windows(self.lines.len()).enumerate();
        places.any(|(at, found)| found == self.lines && around(lines, at) == self.around)
    }
}

/// Two recordings have a function of that name, each with another head, and the texts of both have both heads. `first_lines`: of each run.
#[must_use]
pub fn met_apart(
    runs: &[(&Profile, &HashMap<String, FileIndex>)],
    first_lines: &[FirstLines],
) -> BTreeSet<(FileIndex, String)> {
    let texts: Vec<HashMap<FileIndex, Vec<&str>>> = runs.iter().map(|(profile, files)| texts(profile, files)).collect();
    let mut heads_of: BTreeMap<(FileIndex, &str), Vec<(usize, Head)>> = BTreeMap::new();
    for (position, first_lines) in first_lines.iter().enumerate() {
        for (file, name, first_line) in first_lines.iter() {
            let head = texts[position].get(&file).and_then(|lines| head(lines, first_line, name));
            heads_of.entry((file, name)).or_default().extend(head.map(|head| (position, head)));
        }
    }
    let has = |run: usize, file: FileIndex, head: &Head| texts[run].get(&file).is_some_and(|lines| head.is_in(lines));
    let are_two = |file: FileIndex, one: &(usize, Head), other: &(usize, Head)| {
        one.1 != other.1 && [one.0, other.0].iter().all(|run| has(*run, file, &one.1) && has(*run, file, &other.1))
    };
    let mut apart = BTreeSet::new();
    for ((file, name), heads) in &heads_of {
        let differ = heads.iter().any(|(_, head)| *head != heads[0].1);
        if differ && heads.iter().any(|one| heads.iter().any(|other| are_two(*file, one, other))) {
            apart.insert((*file, (*name).to_string()));
        }
    }
    apart
}

/// The lines of each file whose whole text is known.
fn texts<'p>(profile: &'p Profile, files: &HashMap<String, FileIndex>) -> HashMap<FileIndex, Vec<&'p str>> {
    let lines = |path: &String| Some(whole(profile.sources.get(path)?)?.lines().collect::<Vec<&'p str>>());
    files.iter().filter_map(|(path, file)| Some((*file, lines(path)?))).collect()
}

/// Of the function that begins there. None: the next `def` is another one's, or it is a lambda.
fn head<'t>(lines: &[&'t str], first_line: u32, name: &str) -> Option<Head<'t>> {
    let first = (first_line as usize).checked_sub(1)?;
    let from = lines.get(first..)?;
    let of_def = |line: &'t str| {
        let line = line.trim_start();
        line.strip_prefix("async ").unwrap_or(line).strip_prefix("def ")
    };
    let at = from.iter().take(DECORATOR_LINES_MAX).copied().position(|line| of_def(line).is_some())?;
    let rest = of_def(from[at])?.strip_prefix(name.rsplit('.').next()?)?;
    let is_its_own = rest.starts_with(['(', '[']);
    is_its_own.then(|| Head { lines: from[..=at].to_vec(), around: around(lines, first) })
}

/// The lines that this one is indented under, the nearest first.
fn around<'t>(lines: &[&'t str], at: usize) -> Vec<&'t str> {
    let depth_of = |line: &str| line.len() - line.trim_start().len();
    let mut depth = lines.get(at).map_or(0, |line| depth_of(line));
    let mut found = Vec::new();
    for line in lines.iter().take(at).rev() {
        if depth == 0 {
            break;
        }
        let text = line.trim_start();
        if depth_of(line) < depth && !text.is_empty() && !text.starts_with('#') {
            depth = depth_of(line);
            found.push(*line);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::head;

    #[test]
    fn a_function_begins_at_its_def() {
        let text = "@cost.register\n@cache\ndef _(x: list):\n    return 1\nclass A:\n    @property\n    async def value[T](self):\n        pass\nkey = lambda row: row\ndef later(): pass\n";
        let lines: Vec<&str> = text.lines().collect();
        let of = |first_line: u32, name: &str| {
            let found = head(&lines, first_line, name)?;
            assert!(found.is_in(&lines));
            Some(found.around.iter().rev().chain(&found.lines).map(|line| line.trim()).collect::<Vec<_>>().join(" > "))
        };
        assert_eq!(of(1, "_").as_deref(), Some("@cost.register > @cache > def _(x: list):"));
        assert_eq!(of(3, "_").as_deref(), Some("def _(x: list):"));
        assert_eq!(of(6, "A.value").as_deref(), Some("class A: > @property > async def value[T](self):"));
        assert_eq!(of(6, "A.val"), None);
        assert_eq!(of(9, "<lambda>"), None);
        assert_eq!((of(0, "_"), of(99, "_")), (None, None));
    }

    #[test]
    fn what_a_function_is_indented_under_is_part_of_its_head() {
        let text = "class A:\n    if X:\n        def f(self):\n            pass\n\n        # no\n    else:\n        def f(self):\n            pass\n";
        let lines: Vec<&str> = text.lines().collect();
        let around_of = |first_line: u32| head(&lines, first_line, "A.f").map(|head| head.around);
        assert_eq!(around_of(3), Some(vec!["    if X:", "class A:"]));
        assert_eq!(around_of(8), Some(vec!["    else:", "class A:"]));
        let without_else = &lines[..6];
        assert!(!head(&lines, 8, "A.f").is_some_and(|head| head.is_in(without_else)));
    }
}
