//! Functions of one file that have one qualified name: lambdas, the `_` of `singledispatch`, getter and setter, both arms of an `if`. First lines tell them apart.
//! Owns: which of them is which in another recording. Keeps: what nothing tells apart is one function in all recordings.
//!
//! Recordings with one text of the file have the same functions where those begin in the same line. Where texts differ, their lines have
//! numbers (`moved_lines`), and functions are the same if their first lines are, where no other line can be meant; all others of the name are
//! one, together with those whose lines a text lacks: one of the others may be such a function, moved. Where a text is cut or lost, and another
//! recording has another one or none, equal lines tell nothing. Of two copies that are alike to the letter, of which a text has only one, nobody
//! knows which.
//! Without any text, two recordings have the same functions of a name if their first lines are the same. If one has only some of the other's,
//! and no other function of the file moved, those are the same. If other functions moved, as many functions as before are those of before in
//! their order, if each moved as far as a neighbour of its. All else nobody knows.

use foldhash::HashMap;
use std::collections::{BTreeMap, BTreeSet};

use crate::rules::difference::files::FileIndex;
use crate::rules::difference::same_code::file_texts::{FileTexts, Told};
use crate::tables::own_code::without_parts;
use crate::tables::profile::{Home, Profile};

/// Which of the functions with its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Instance {
    Nth(u32),
    /// Of code in no file: where it begins, and how long its location table is.
    InNoFile {
        first_line: u32,
        table_bytes: u32,
    },
    /// All of them.
    Merged,
}

pub type Name = (FileIndex, String);

/// In one recording: for each name the first lines.
#[derive(Debug, Default)]
pub struct FirstLines(BTreeMap<Name, BTreeSet<u32>>);

impl FirstLines {
    #[must_use]
    pub fn of(profile: &Profile, files: &HashMap<String, FileIndex>) -> FirstLines {
        let mut lines: BTreeMap<Name, BTreeSet<u32>> = BTreeMap::new();
        for function in profile.functions.iter() {
            let Home::Python { file, first_line, .. } = function.home else { continue };
            // A comprehension belongs to the function around it.
            if without_parts(&function.name) != function.name {
                continue;
            }
            if let Some(file) = files.get(&profile.files[file].path) {
                lines.entry((*file, function.name.clone())).or_default().insert(first_line);
            }
        }
        FirstLines(lines)
    }

    /// Of that name: the one that begins there, or the nearest one above. None: no such one was met.
    #[must_use]
    pub fn nearest(&self, file: FileIndex, name: &str, line: u32) -> Option<u32> {
        self.0.get(&(file, name.to_string()))?.range(..=line).next_back().copied()
    }

    /// Each function with its file.
    pub fn iter(&self) -> impl Iterator<Item = (FileIndex, &str, u32)> {
        let all = self.0.iter();
        all.flat_map(|((file, name), lines)| lines.iter().map(move |line| (*file, name.as_str(), *line)))
    }
}

/// Names under which each recording met one function, and which several may have.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Apart {
    /// They are not the same one: the texts have both.
    pub differ: BTreeSet<Name>,
    /// In a text in which one was met, two begin alike.
    pub copied: BTreeSet<Name>,
}

/// Of all recordings. Names that only one function has, in all of them the same one, are not in it.
#[derive(Debug, Default)]
pub struct Homonyms {
    of_run: Vec<HashMap<Name, BTreeMap<u32, Instance>>>,
    merged: BTreeSet<Name>,
}

impl Homonyms {
    /// `runs`: in the order of both sides; `names`: those that several functions may have.
    #[must_use]
    pub fn of(runs: &[FirstLines], names: &BTreeSet<Name>, texts: &FileTexts, apart: &Apart) -> Homonyms {
        let mut homonyms =
            Homonyms { of_run: runs.iter().map(|_| HashMap::default()).collect(), ..Homonyms::default() };
        for name in names {
            let met: Vec<usize> = (0..runs.len()).filter(|run| runs[*run].0.contains_key(name)).collect();
            let met_several = met.iter().any(|run| runs[*run].0[name].len() > 1);
            let is_apart = !met_several && apart.differ.contains(name);
            let is_copied = !met_several && apart.copied.contains(name);
            let found = match texts.told(name.0, &met) {
                Told::ByLines => Some(by(name, runs, |_, line| Some(line))),
                Told::ByNumbers if are_copies(name, runs, texts) => None,
                Told::ByNumbers => Some(by_numbers(name, runs, texts)).filter(|found| !is_apart || has_several(found)),
                // Lines alone would take them for one that was moved.
                Told::WithoutText if is_apart || is_copied => None,
                Told::WithoutText => without_text(name, runs, names),
                Told::Not => None,
            };
            match found {
                None => {
                    homonyms.merged.insert(name.clone());
                }
                Some(found) => {
                    for (position, instances) in found {
                        homonyms.of_run[position].insert(name.clone(), instances);
                    }
                }
            }
        }
        homonyms
    }

    /// `first_line`: of the function or of a comprehension in it.
    #[must_use]
    pub fn instance(&self, run: usize, file: FileIndex, function: &str, first_line: u32) -> Instance {
        let name = (file, function.to_string());
        if self.merged.contains(&name) {
            return Instance::Merged;
        }
        let instances = self.of_run.get(run).and_then(|of_run| of_run.get(&name));
        let nearest = instances.and_then(|instances| instances.range(..=first_line).next_back());
        nearest.map_or(Instance::Nth(0), |(_, instance)| *instance)
    }
}

/// The functions of one name by their first lines, and the recording that has them.
type OfRun = (usize, BTreeMap<u32, Instance>);

fn has_several(found: &[OfRun]) -> bool {
    let instances: BTreeSet<&Instance> = found.iter().flat_map(|(_, instances)| instances.values()).collect();
    instances.len() > 1
}

/// Two functions of that name are alike to the letter, and one of the texts has only one of them.
fn are_copies(name: &Name, runs: &[FirstLines], texts: &FileTexts) -> bool {
    let is_copy = |(run, lines): (usize, &FirstLines)| {
        lines.0.get(name).into_iter().flatten().any(|line| texts.is_one_of_copies(run, name.0, *line))
    };
    runs.iter().enumerate().any(is_copy)
}

/// Names that several functions have in a recording, or may have in two.
#[must_use]
pub fn names_of_several(runs: &[FirstLines], apart: &Apart) -> BTreeSet<Name> {
    let several = |(name, lines): (&Name, &BTreeSet<u32>)| {
        (lines.len() > 1 || name.1.ends_with("<lambda>")).then(|| name.clone())
    };
    let mut names: BTreeSet<Name> = runs.iter().flat_map(|run| run.0.iter().filter_map(several)).collect();
    names.extend(apart.differ.iter().chain(&apart.copied).cloned());
    names
}

/// The functions of that name in each recording, by what `number` says of a recording and a first line. All of which it knows nothing are one.
fn by(name: &Name, runs: &[FirstLines], number: impl Fn(usize, u32) -> Option<u32>) -> Vec<OfRun> {
    let mut nth: HashMap<u32, u32> = HashMap::default();
    let mut found = Vec::new();
    for (position, run) in runs.iter().enumerate() {
        let mut instances = BTreeMap::new();
        for line in run.0.get(name).into_iter().flatten() {
            let next = nth.len() as u32;
            let instance = match number(position, *line) {
                Some(number) => Instance::Nth(*nth.entry(number).or_insert(next)),
                None => Instance::Merged,
            };
            instances.insert(*line, instance);
        }
        found.push((position, instances));
    }
    found
}

/// The same by the numbers of their first lines. If one of these is not sure, it may be any line that a text lacks, moved: then only lines that
/// all texts have tell.
fn by_numbers(name: &Name, runs: &[FirstLines], texts: &FileTexts) -> Vec<OfRun> {
    let are_sure = |(run, lines): (usize, &FirstLines)| {
        lines.0.get(name).into_iter().flatten().all(|line| texts.sure_line(run, name.0, *line).is_some())
    };
    let are_all_sure = runs.iter().enumerate().all(are_sure);
    by(name, runs, |run, line| {
        let line = texts.sure_line(run, name.0, line).filter(|line| are_all_sure || line.is_everywhere)?;
        Some(line.number)
    })
}

/// The same by first lines alone. None: they do not tell.
fn without_text(name: &Name, runs: &[FirstLines], names: &BTreeSet<Name>) -> Option<Vec<OfRun>> {
    // First lines in the newest recording that has them, and which recording that is.
    let mut known: BTreeMap<u32, u32> = BTreeMap::new();
    let mut newest: Option<&FirstLines> = None;
    let mut count = 0;
    let mut found: Vec<OfRun> = Vec::new();
    for (position, run) in runs.iter().enumerate() {
        let Some(lines) = run.0.get(name) else { continue };
        let before: BTreeSet<u32> = known.keys().copied().collect();
        let has_moved = newest.is_some_and(|newest| has_moved(name.0, newest, run, names));
        let is_explained = || {
            newest.is_some_and(|newest| {
                let others = Moved::of(name.0, newest, run, names);
                before.iter().zip(lines).all(|(before, after)| others.explain(*before, *after))
            })
        };
        let mut numbers: BTreeMap<u32, u32> = if has_moved && lines.len() == before.len() && is_explained() {
            lines.iter().copied().zip(known.values().copied()).collect()
        } else if before.is_empty() || !has_moved && (lines.is_subset(&before) || before.is_subset(lines)) {
            known.clone()
        } else {
            return None;
        };
        for line in lines {
            numbers.entry(*line).or_insert_with(|| {
                count += 1;
                count - 1
            });
        }
        known.clone_from(&numbers);
        newest = Some(run);
        found.push((position, numbers.into_iter().map(|(line, number)| (line, Instance::Nth(number))).collect()));
    }
    Some(found)
}

/// The functions of a file that have their names for themselves: where each begins in two recordings.
struct Moved(BTreeMap<u32, u32>);

impl Moved {
    fn of(file: FileIndex, before: &FirstLines, after: &FirstLines, names: &BTreeSet<Name>) -> Moved {
        let of_file = before.0.range((file, String::new())..).take_while(|((of, _), _)| *of == file);
        let alone = of_file.filter(|(name, _)| !names.contains(name));
        let pairs = alone.filter_map(|(name, lines)| Some((*lines.first()?, *after.0.get(name)?.first()?)));
        Moved(pairs.collect())
    }

    /// Whether a function was moved as far as its neighbour above it (or not at all, below the file's beginning) or the one below it.
    fn explain(&self, before: u32, after: u32) -> bool {
        let far = |(before, after): (&u32, &u32)| i64::from(*after) - i64::from(*before);
        let above = self.0.range(..before).next_back().map_or(0, far);
        let below = self.0.range(before..).next().map(far);
        let own = i64::from(after) - i64::from(before);
        own == above || Some(own) == below
    }
}

/// Whether a function of the file that has its name for itself begins in another line.
fn has_moved(file: FileIndex, before: &FirstLines, after: &FirstLines, names: &BTreeSet<Name>) -> bool {
    let of_file = before.0.range((file, String::new())..).take_while(|((of, _), _)| *of == file);
    of_file
        .filter(|(name, _)| !names.contains(name))
        .any(|(name, lines)| after.0.get(name).is_some_and(|other| other != lines))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A recording a word: `name:line,line;name:line`. The instance of each line of `f`, recording by recording, or `merged`.
    fn check(recordings: &str, expected: &str) {
        let run = |text: &str| {
            let names = text.split(';').map(|name| {
                let (name, lines) = name.split_once(':').expect("a name");
                let lines = lines.split(',').map(|line| line.parse().expect("a line")).collect();
                ((FileIndex::of(0), name.to_string()), lines)
            });
            FirstLines(names.collect())
        };
        let runs: Vec<FirstLines> = recordings.split(' ').map(run).collect();
        let names = names_of_several(&runs, &Apart::default());
        let homonyms = Homonyms::of(&runs, &names, &FileTexts::default(), &Apart::default());
        let told = runs.iter().enumerate().map(|(position, run)| {
            let lines = run.0.get(&(FileIndex::of(0), "f".to_string())).into_iter().flatten();
            let told = lines.map(|line| match homonyms.instance(position, FileIndex::of(0), "f", *line) {
                Instance::Nth(number) => number.to_string(),
                Instance::Merged => "merged".to_string(),
                Instance::InNoFile { .. } => panic!("it is in a file"),
            });
            told.collect::<Vec<_>>().join(",")
        });
        assert_eq!(told.collect::<Vec<_>>().join(" "), expected, "{recordings}");
    }

    #[test]
    fn first_lines_tell_functions_of_one_name_apart() {
        check("f:3,4 f:3,4", "0,1 0,1");
        // One that was not met, in this recording or in that.
        check("f:3,4 f:4 f:3,4", "0,1 1 0,1");
        check("f:4 f:3,4", "0 1,0");
        // The only one may be anywhere.
        check("f:3 f:9", "0 0");
    }

    #[test]
    fn moved_functions_stay_in_order() {
        check("f:3,9;main:20 f:13,19;main:30", "0,1 0,1");
        check("f:3,9;main:20 f:3,19;main:30", "0,1 0,1");
        // Moved to where the other one was.
        check("f:3,9;main:20 f:9,15;main:26", "0,1 0,1");
        // As many, and not as far as their neighbours: others of that name were met.
        check("f:3,4;main:20 f:10,11;main:26", "merged,merged merged,merged");
    }

    /// Each recording met one of two that are alike, and the lines of the text are not sure.
    #[test]
    fn one_of_two_copies_in_each_recording_is_named() {
        let name = (FileIndex::of(0), "f".to_string());
        let run = |line: u32| FirstLines(BTreeMap::from([(name.clone(), BTreeSet::from([line]))]));
        let merged = |copied: &[Name]| {
            let apart = Apart { copied: copied.iter().cloned().collect(), ..Apart::default() };
            let runs = [run(3), run(9)];
            Homonyms::of(&runs, &names_of_several(&runs, &apart), &FileTexts::default(), &apart).merged
        };
        assert_eq!(merged(&[]), BTreeSet::new());
        assert_eq!(merged(std::slice::from_ref(&name)), BTreeSet::from([name.clone()]));
    }

    #[test]
    fn what_nothing_tells_apart_is_one_function() {
        check("f:3,9;main:20 f:9;main:26", "merged,merged merged");
        // What is above them moved, and they did not: other lines.
        check("main:1;f:3,9 main:2;f:3,9", "merged,merged merged,merged");
        check("f:3,9 f:3,15", "merged,merged merged,merged");
        check("f:3,9 f:13,19,25", "merged,merged merged,merged,merged");
        // The others stay where they are, so it is another function that was met, or it alone was moved.
        check("f:3,9;main:20 f:4;main:20", "merged,merged merged");
    }
}
