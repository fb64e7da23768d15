//! Which CPythons ran the code of a file. Two of them make two tables of one text, with other places for the same instruction:
//! what a loop does to get its next row is at its head in CPython 3.12, and at what it goes through in CPython 3.13.
//! Owns: the files that other CPythons ran in other recordings. Never: compares a file with what a helper of another CPython ran beside it.

use foldhash::{HashMap, HashSet};
use std::collections::BTreeSet;

use crate::rules::difference::files::FileIndex;
use crate::rules::difference::same_code::in_no_file::{are_of_one_python, minor};
use crate::tables::profile::{Home, Node, NodeIndex, Profile};

/// `runs`: in the order of both sides, each with its files.
#[must_use]
pub fn of_other_pythons(runs: &[(&Profile, &HashMap<String, FileIndex>)]) -> HashSet<FileIndex> {
    // Of nearly all comparisons.
    if are_of_one_python(runs) {
        return HashSet::default();
    }
    let mut of_file: HashMap<FileIndex, Vec<BTreeSet<&str>>> = HashMap::default();
    for (profile, files) in runs {
        for (file, pythons) in ran(profile, files) {
            of_file.entry(file).or_default().push(pythons);
        }
    }
    let differ = |pythons: &[BTreeSet<&str>]| pythons.windows(2).any(|pair| pair[0] != pair[1]);
    of_file.into_iter().filter(|(_, pythons)| differ(pythons)).map(|(file, _)| file).collect()
}

/// The CPythons that have a sample in the file, or below it.
fn ran<'p>(profile: &'p Profile, files: &HashMap<String, FileIndex>) -> HashMap<FileIndex, BTreeSet<&'p str>> {
    let mut found: HashMap<FileIndex, BTreeSet<&str>> = HashMap::default();
    let mut seen: HashSet<(&str, NodeIndex)> = HashSet::default();
    for group in &profile.samples {
        let process = profile.threads[group.thread].process;
        let Some(python) = profile.processes[process].python.as_deref().map(minor) else { continue };
        let mut next = group.node;
        while let Some(node) = next.filter(|node| seen.insert((python, *node))) {
            let Node { parent, frame } = profile.nodes[node];
            next = parent;
            let Home::Python { file, .. } = profile.function_of(frame).home else { continue };
            if let Some(file) = files.get(&profile.files[file].path) {
                found.entry(*file).or_default().insert(python);
            }
        }
    }
    found
}
