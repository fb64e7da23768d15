//! Code that is in no file, as `python -c` and `exec` run it: many texts are called `<string>`. If no text of it is known, the lengths of
//! location tables tell them apart.
//! Owns: which of them is which in another recording. Never: compares lengths from two CPythons, which compile one text to different tables.

use foldhash::HashMap;
use std::collections::{BTreeMap, BTreeSet};

use crate::rules::difference::files::FileIndex;
use crate::rules::difference::same_code::homonyms::Instance;
use crate::tables::own_code::without_parts;
use crate::tables::profile::{Function, Home, Profile};

type Name = (FileIndex, String);

/// By the first line: the lengths of the tables of what begins there.
type Lengths = BTreeMap<u32, BTreeSet<u32>>;

#[derive(Debug, Default)]
pub struct InNoFile {
    /// Of each recording.
    of_run: Vec<BTreeMap<Name, Lengths>>,
    /// All recordings are of one CPython.
    do_lengths_tell: bool,
}

impl InNoFile {
    /// `runs`: in the order of both sides, each with its files.
    #[must_use]
    pub fn of(runs: &[(&Profile, &HashMap<String, FileIndex>)]) -> InNoFile {
        let texts = runs.iter().flat_map(|(profile, files)| with_text(profile, files));
        let with_text: BTreeSet<FileIndex> = texts.collect();
        let of_run = runs.iter().map(|(profile, files)| lengths(profile, files, &with_text)).collect();
        InNoFile { of_run, do_lengths_tell: are_of_one_python(runs) }
    }

    /// None: it is in a file, or its text is known, or what else is known has to tell.
    #[must_use]
    pub fn instance(&self, run: usize, file: FileIndex, function: &Function) -> Option<Instance> {
        let Home::Python { first_line, table_bytes, .. } = function.home else { return None };
        let name = (file, without_parts(&function.name).to_string());
        let of_name = self.of_run.get(run)?.get(&name)?;
        if !self.do_lengths_tell {
            let are_several = self.of_run.iter().filter_map(|run| run.get(&name)).any(are_several);
            return are_several.then_some(Instance::Merged);
        }
        // A comprehension is of the one function that it can be in.
        let is_part = name.1 != function.name;
        let around = of_name.range(..=first_line).next_back().filter(|(_, lengths)| is_part && lengths.len() == 1);
        let around = around.and_then(|(line, lengths)| Some((*line, *lengths.first()?)));
        let (first_line, table_bytes) = around.unwrap_or((first_line, table_bytes));
        Some(Instance::InNoFile { first_line, table_bytes })
    }
}

/// Two CPythons make two tables of one text, of other lengths.
#[must_use]
pub fn are_of_one_python(runs: &[(&Profile, &HashMap<String, FileIndex>)]) -> bool {
    let all = runs.iter().flat_map(|(profile, _)| profile.processes.iter());
    let pythons: BTreeSet<&str> = all.filter_map(|process| process.python.as_deref()).map(minor).collect();
    pythons.len() < 2
}

fn are_several(lengths: &Lengths) -> bool {
    lengths.values().any(|lengths| lengths.len() > 1)
}

/// Notebooks keep the texts of their cells.
fn with_text(profile: &Profile, files: &HashMap<String, FileIndex>) -> Vec<FileIndex> {
    let has_text = |path: &str| profile.sources.get(path).is_some_and(|source| !source.chunks.is_empty());
    files.iter().filter(|(path, _)| has_text(path)).map(|(_, file)| *file).collect()
}

fn lengths(
    profile: &Profile,
    files: &HashMap<String, FileIndex>,
    with_text: &BTreeSet<FileIndex>,
) -> BTreeMap<Name, Lengths> {
    let mut found: BTreeMap<Name, Lengths> = BTreeMap::new();
    for function in profile.functions.iter() {
        let Home::Python { file, first_line, table_bytes } = function.home else { continue };
        let Some(&file) = files.get(&profile.files[file].path) else { continue };
        let name = without_parts(&function.name);
        if table_bytes == 0 || with_text.contains(&file) {
            continue;
        }
        let of_name = found.entry((file, name.to_string())).or_default();
        // Those of a comprehension are not its function's.
        if name == function.name {
            of_name.entry(first_line).or_default().insert(table_bytes);
        }
    }
    found
}

/// `3.13` of `3.13.0`.
#[must_use]
pub fn minor(version: &str) -> &str {
    let mut dots = version.match_indices('.').map(|(at, _)| at);
    dots.nth(1).map_or(version, |at| &version[..at])
}

#[cfg(test)]
mod tests {
    use super::minor;

    #[test]
    fn releases_of_one_cpython_compile_alike() {
        assert_eq!(["3.13.0", "3.13.11", "3.14.0rc1", "3.15"].map(minor), ["3.13", "3.13", "3.14", "3.15"]);
    }
}
