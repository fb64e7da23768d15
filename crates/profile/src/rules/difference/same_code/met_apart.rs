//! Names under which each recording met one function, and not the same one: this `_` of a `singledispatch` here, and that one there.
//! Owns: that the texts say so. Never: says which is which (`homonyms` does); parses Python: it compares the lines at which functions begin, and those
//! that these are indented under: `class`, `if` and `else`.
//! Takes time for each line of each text, of which many recordings have few, and not for each pair of functions.

use foldhash::HashMap;
use std::collections::{BTreeMap, BTreeSet};

use crate::rules::difference::files::FileIndex;
use crate::rules::difference::same_code::extent::{around, parents};
use crate::rules::difference::same_code::file_texts::whole;
use crate::rules::difference::same_code::homonyms::{Apart, FirstLines};
use crate::tables::profile::Profile;

/// Decorators of more lines hide where a function begins.
const DECORATOR_LINES_MAX: usize = 50;

/// Where a function begins: its decorators and its `def`.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Head<'t> {
    lines: Vec<&'t str>,
    /// What it is indented under, the nearest first.
    around: Vec<&'t str>,
}

/// How many lines the heads have that end in that line.
type Lengths<'t> = HashMap<&'t str, BTreeSet<usize>>;

struct Text<'t> {
    lines: Vec<&'t str>,
    /// The line that each is indented under.
    parents: Vec<Option<usize>>,
}

impl<'t> Text<'t> {
    fn of(text: &'t str) -> Text<'t> {
        let lines: Vec<&str> = text.lines().collect();
        let parents = parents(&lines);
        Text { lines, parents }
    }

    /// Of the function that begins there. None: the next `def` is another one's, or it is a lambda.
    fn head(&self, first_line: u32, name: &str) -> Option<Head<'t>> {
        let first = (first_line as usize).checked_sub(1)?;
        let from = self.lines.get(first..)?;
        let of_def = |line: &'t str| {
            let line = line.trim_start();
            line.strip_prefix("async ").unwrap_or(line).strip_prefix("def ")
        };
        let at = from.iter().take(DECORATOR_LINES_MAX).copied().position(|line| of_def(line).is_some())?;
        let rest = of_def(from[at])?.strip_prefix(name.rsplit('.').next()?)?;
        let is_its_own = rest.starts_with(['(', '[']);
        is_its_own.then(|| self.head_between(first, first + at))
    }

    fn head_between(&self, first: usize, last: usize) -> Head<'t> {
        Head { lines: self.lines[first..=last].to_vec(), around: around(&self.lines, &self.parents, first) }
    }

    /// All heads of these lengths, and how often each is there.
    fn heads(&self, lengths: &Lengths) -> BTreeMap<Head<'t>, usize> {
        let ends = self.lines.iter().enumerate().filter_map(|(at, line)| Some((at, lengths.get(line)?)));
        let spans =
            ends.flat_map(|(at, lengths)| lengths.iter().map(move |length| ((at + 1).checked_sub(*length), at)));
        let mut found = BTreeMap::new();
        for head in spans.filter_map(|(first, last)| Some(self.head_between(first?, last))) {
            *found.entry(head).or_insert(0) += 1;
        }
        found
    }
}

/// Each text once, though many recordings have it.
#[derive(Default)]
struct Texts<'t> {
    all: Vec<(FileIndex, Text<'t>)>,
    /// Where in `all` those of each recording are.
    of_run: Vec<HashMap<FileIndex, usize>>,
}

impl<'t> Texts<'t> {
    fn of(runs: impl Iterator<Item = Vec<(FileIndex, &'t str)>>) -> Texts<'t> {
        let mut texts = Texts::default();
        let mut known: HashMap<FileIndex, Vec<(&'t str, usize)>> = HashMap::default();
        for run in runs {
            let mut of_run = HashMap::default();
            for (file, text) in run {
                let of_file = known.entry(file).or_default();
                let same = of_file.iter().find(|(known, _)| *known == text).map(|(_, number)| *number);
                let number = same.unwrap_or_else(|| {
                    texts.all.push((file, Text::of(text)));
                    of_file.push((text, texts.all.len() - 1));
                    texts.all.len() - 1
                });
                of_run.insert(file, number);
            }
            texts.of_run.push(of_run);
        }
        texts
    }

    /// Of the functions of one name that begin there, each with the texts in which it was met.
    fn heads_met(&self, name: &str, places: &BTreeSet<(usize, u32)>) -> BTreeMap<Head<'t>, BTreeSet<usize>> {
        let mut met: BTreeMap<Head, BTreeSet<usize>> = BTreeMap::new();
        for (text, first_line) in places {
            if let Some(head) = self.all[*text].1.head(*first_line, name) {
                met.entry(head).or_default().insert(*text);
            }
        }
        met
    }

    /// `met`: recordings with a function, its name and its first line.
    fn apart<'n>(&self, met: impl Iterator<Item = (usize, FileIndex, &'n str, u32)>) -> Apart {
        let mut places: BTreeMap<(FileIndex, &str), BTreeSet<(usize, u32)>> = BTreeMap::new();
        for (run, file, name, first_line) in met {
            if let Some(text) = self.of_run[run].get(&file) {
                places.entry((file, name)).or_default().insert((*text, first_line));
            }
        }
        let several = places.into_iter().filter(|(_, places)| places.len() > 1);
        let heads: Vec<_> = several.map(|((file, name), places)| (file, name, self.heads_met(name, &places))).collect();
        let mut lengths: HashMap<FileIndex, Lengths> = HashMap::default();
        for (file, _, met) in &heads {
            for head in met.keys() {
                let Some(last) = head.lines.last() else { continue };
                lengths.entry(*file).or_default().entry(*last).or_default().insert(head.lines.len());
            }
        }
        let in_text = |(file, text): &(FileIndex, Text<'t>)| lengths.get(file).map(|lengths| text.heads(lengths));
        let found: Vec<BTreeMap<Head, usize>> = self.all.iter().map(|text| in_text(text).unwrap_or_default()).collect();
        let mut apart = Apart::default();
        for (file, name, met) in &heads {
            let name = (*file, (*name).to_string());
            if has_copies(met, &found) {
                apart.copied.insert(name.clone());
            }
            if met.len() > 1 && are_apart(met, &found) {
                apart.differ.insert(name);
            }
        }
        apart
    }
}

/// A text in which such a function was met has two that begin alike. `found`: the heads in each text.
fn has_copies<'t>(met: &BTreeMap<Head<'t>, BTreeSet<usize>>, found: &[BTreeMap<Head<'t>, usize>]) -> bool {
    let is_copied = |head: &Head<'t>, text: &usize| found[*text].get(head).is_some_and(|count| *count > 1);
    met.iter().any(|(head, texts)| texts.iter().any(|text| is_copied(head, text)))
}

/// Two of the functions were met in texts that have both.
fn are_apart<'t>(met: &BTreeMap<Head<'t>, BTreeSet<usize>>, found: &[BTreeMap<Head<'t>, usize>]) -> bool {
    let mut taken = BTreeSet::new();
    if !met.values().flatten().all(|text| taken.insert(*text)) {
        // One text has both. From here on there are no more functions than texts.
        return true;
    }
    let also_has =
        |texts: &BTreeSet<usize>, other: &Head<'t>| texts.iter().any(|text| found[*text].contains_key(other));
    let mut pairs = met.iter().enumerate().flat_map(|(nth, one)| met.iter().take(nth).map(move |other| (one, other)));
    pairs.any(|(one, other)| also_has(one.1, other.0) && also_has(other.1, one.0))
}

/// Two recordings have a function of that name, each with another head, and the texts of both have both heads; or a head is there twice.
/// `first_lines`: of each run.
#[must_use]
pub fn met_apart(runs: &[(&Profile, &HashMap<String, FileIndex>)], first_lines: &[FirstLines]) -> Apart {
    let texts = Texts::of(runs.iter().map(|(profile, files)| texts(profile, files)));
    let met = first_lines.iter().enumerate();
    texts.apart(met.flat_map(|(run, lines)| lines.iter().map(move |(file, name, line)| (run, file, name, line))))
}

/// The whole text of each file that is known.
fn texts<'p>(profile: &'p Profile, files: &HashMap<String, FileIndex>) -> Vec<(FileIndex, &'p str)> {
    let text = |path: &String| whole(profile.sources.get(path)?);
    files.iter().filter_map(|(path, file)| Some((*file, text(path)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> FileIndex {
        FileIndex::of(0)
    }

    fn of_texts<'t>(runs: &[&'t str]) -> Texts<'t> {
        Texts::of(runs.iter().map(|text| vec![(file(), *text)]))
    }

    #[test]
    fn a_function_begins_at_its_def() {
        let text = "@cost.register\n@cache\ndef _(x: list):\n    return 1\nclass A:\n    @property\n    async def value[T](self):\n        pass\nkey = lambda row: row\ndef later(): pass\n";
        let text = Text::of(text);
        let of = |first_line: u32, name: &str| {
            let found = text.head(first_line, name)?;
            let words = found.around.iter().rev().chain(&found.lines).map(|line| line.trim()).collect::<Vec<_>>();
            let lengths = HashMap::from_iter([(*found.lines.last()?, BTreeSet::from([found.lines.len()]))]);
            assert!(text.heads(&lengths).contains_key(&found));
            Some(words.join(" > "))
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
        let whole = Text::of(text);
        let around_of = |first_line: u32| whole.head(first_line, "A.f").map(|head| head.around);
        assert_eq!(around_of(3), Some(vec!["    if X:", "class A:"]));
        assert_eq!(around_of(8), Some(vec!["    else:", "class A:"]));
        let without_else = Text::of(&text[..text.find("    else:").expect("an else")]);
        let lengths = HashMap::from_iter([("        def f(self):", BTreeSet::from([1]))]);
        let has = |text: &Text| text.heads(&lengths).contains_key(&whole.head(8, "A.f").expect("a head"));
        assert_eq!((has(&whole), has(&without_else)), (true, false));
    }

    #[test]
    fn two_functions_are_apart_where_both_texts_have_both() {
        let apart = |texts: &[&str], met: &[(usize, u32)]| {
            let met = met.iter().map(|(run, line)| (*run, file(), "_", *line));
            !of_texts(texts).apart(met).differ.is_empty()
        };
        let both = "def _(x: list):\n    pass\ndef _(x: dict):\n    pass\n";
        let moved = "import os\ndef _(x: list):\n    pass\ndef _(x: dict):\n    pass\n";
        let edited = "def _(x: list, more):\n    pass\ndef _(x: dict):\n    pass\n";
        assert!(apart(&[both, both], &[(0, 1), (1, 3)]));
        assert!(apart(&[both, moved], &[(0, 1), (1, 4)]));
        assert!(!apart(&[both, moved], &[(0, 1), (1, 2)]), "the same one");
        assert!(!apart(&[both, edited], &[(0, 1), (1, 1)]), "the text of each has one of them");
        assert!(!apart(&[both, edited], &[(0, 1), (1, 3)]), "the first one may have become the second");
    }

    #[test]
    fn two_functions_that_begin_alike_are_copies() {
        let is_copied = |texts: &[&str], name: &str, met: &[(usize, u32)]| {
            let met = met.iter().map(|(run, line)| (*run, file(), name, *line));
            !of_texts(texts).apart(met).copied.is_empty()
        };
        let (two, one) = ("def _(x):\n    pass\ndef _(x):\n    pass\n", "def _(x):\n    pass\n");
        assert!(is_copied(&[two, two], "_", &[(0, 1), (1, 3)]));
        assert!(is_copied(&[two, one], "_", &[(0, 3), (1, 1)]));
        assert!(!is_copied(&[two, two], "_", &[(0, 3), (1, 3)]), "the same one");
        assert!(!is_copied(&[one, "import os\ndef _(x):\n    pass\n"], "_", &[(0, 1), (1, 2)]), "it was moved");
        // Those of other functions are no copies, however the arguments of these are written.
        let inner = |name: &str| format!("def {name}(\n    x,\n):\n    def inner():\n        pass\n");
        let (before, after) = (inner("a") + &inner("b"), String::from("import os\n") + &inner("a") + &inner("b"));
        assert!(!is_copied(&[before.as_str(), after.as_str()], "a.<locals>.inner", &[(0, 4), (1, 5)]));
    }

    /// Forty recordings of two texts, which differ in the `def` of each of two thousand functions. To look through a text for each pair of recordings
    /// and each function would be billions of lines.
    #[test]
    fn many_recordings_of_a_large_file_that_was_edited_take_no_time() {
        const FUNCTIONS: u32 = 2000;
        let text =
            |more: &str| (0..FUNCTIONS).map(|nth| format!("def f{nth}(row{more}):\n    pass\n")).collect::<String>();
        let (before, after) = (text(""), text(", key"));
        let runs: Vec<&str> = (0..40).map(|run| if run < 20 { before.as_str() } else { after.as_str() }).collect();
        let texts = of_texts(&runs);
        assert_eq!(texts.all.len(), 2, "each text is looked through once");
        let names: Vec<String> = (0..FUNCTIONS).map(|nth| format!("f{nth}")).collect();
        let functions = || names.iter().zip(0..).map(|(name, nth): (&String, u32)| (name.as_str(), 2 * nth + 1));
        let met = (0..runs.len()).flat_map(|run| functions().map(move |(name, line)| (run, file(), name, line)));
        assert_eq!(texts.apart(met), Apart::default());
    }
}
