//! Names under which each recording met one function, and not the same one: this `_` of a `singledispatch` here, and that one there.
//! Owns: that the texts say so. Never: says which is which (`homonyms` does); parses Python: it compares the lines at which functions begin.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::rules::difference::files::FileIndex;
use crate::rules::difference::same_code::homonyms::FirstLines;
use crate::rules::difference::same_code::moved_lines::whole;
use crate::tables::profile::Profile;

/// Decorators of more lines hide where a function begins.
const DECORATOR_LINES_MAX: usize = 50;

/// Two recordings have a function of that name, each in another line, and the texts of both have both lines, once each. `first_lines`: of each run.
#[must_use]
pub fn met_apart(
    runs: &[(&Profile, &HashMap<String, FileIndex>)],
    first_lines: &[FirstLines],
) -> BTreeSet<(FileIndex, String)> {
    let texts: Vec<HashMap<FileIndex, Vec<&str>>> = runs.iter().map(|(profile, files)| texts(profile, files)).collect();
    let mut heads_of: BTreeMap<(FileIndex, &str), Vec<(usize, &str)>> = BTreeMap::new();
    for (position, first_lines) in first_lines.iter().enumerate() {
        for (file, name, first_line) in first_lines.iter() {
            let head = texts[position].get(&file).and_then(|lines| head(lines, first_line, name));
            heads_of.entry((file, name)).or_default().extend(head.map(|head| (position, head)));
        }
    }
    let has_once = |run: usize, file: FileIndex, head: &str| {
        texts[run].get(&file).is_some_and(|lines| lines.iter().filter(|line| **line == head).count() == 1)
    };
    let are_two = |file: FileIndex, one: (usize, &str), other: (usize, &str)| {
        one.1 != other.1
            && [one.0, other.0].iter().all(|run| has_once(*run, file, one.1) && has_once(*run, file, other.1))
    };
    let mut apart = BTreeSet::new();
    for ((file, name), heads) in &heads_of {
        let differ = heads.iter().any(|(_, head)| *head != heads[0].1);
        if differ && heads.iter().any(|one| heads.iter().any(|other| are_two(*file, *one, *other))) {
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

/// The line with the `def` of the function that begins there, behind its decorators. None: it is another one's, or a lambda's.
fn head<'t>(lines: &[&'t str], first_line: u32, name: &str) -> Option<&'t str> {
    let from = lines.get((first_line as usize).checked_sub(1)?..)?;
    let of_def = |line: &'t str| {
        let line = line.trim_start();
        line.strip_prefix("async ").unwrap_or(line).strip_prefix("def ")
    };
    let head = from.iter().take(DECORATOR_LINES_MAX).copied().find(|line| of_def(line).is_some())?;
    let rest = of_def(head)?.strip_prefix(name.rsplit('.').next()?)?;
    rest.starts_with(['(', '[']).then_some(head)
}

#[cfg(test)]
mod tests {
    use super::head;

    #[test]
    fn a_function_begins_at_its_def() {
        let text = "@cost.register\n@cache\ndef _(x: list):\n    return 1\nclass A:\n    @property\n    async def value[T](self):\n        pass\nkey = lambda row: row\ndef later(): pass\n";
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(head(&lines, 1, "_"), Some("def _(x: list):"));
        assert_eq!(head(&lines, 3, "_"), Some("def _(x: list):"));
        assert_eq!(head(&lines, 6, "A.value"), Some("    async def value[T](self):"));
        assert_eq!(head(&lines, 6, "A.val"), None);
        assert_eq!(head(&lines, 9, "<lambda>"), None);
        assert_eq!((head(&lines, 0, "_"), head(&lines, 99, "_")), (None, None));
    }
}
