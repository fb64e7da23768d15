//! Which functions of several recordings are the same, and which of their lines.
//! Owns: that answer, made once for all recordings of a comparison. Never: looks at how much a sample weighs.

mod bodies;
mod extent;
mod file_texts;
pub mod homonyms;
mod in_no_file;
mod met_apart;
mod moved_lines;
mod pythons;

use foldhash::{HashMap, HashSet};
use std::collections::BTreeSet;

use crate::rules::difference::files::FileIndex;
use crate::rules::difference::same_code::bodies::Bodies;
use crate::rules::difference::same_code::file_texts::FileTexts;
pub use crate::rules::difference::same_code::file_texts::whole;
use crate::rules::difference::same_code::homonyms::{FirstLines, Homonyms, Instance, names_of_several};
use crate::rules::difference::same_code::in_no_file::InNoFile;
use crate::rules::difference::same_code::met_apart::met_apart;
pub use crate::rules::difference::same_code::moved_lines::Line;
use crate::rules::difference::same_code::pythons::of_other_pythons;
use crate::tables::own_code::without_parts;
use crate::tables::profile::{Function, Home, Profile};

#[derive(Debug, Default)]
pub struct SameCode {
    /// Of each recording.
    first_lines: Vec<FirstLines>,
    homonyms: Homonyms,
    in_no_file: InNoFile,
    bodies: Bodies,
    /// Some recordings have their text, and others do not; or other CPythons ran it.
    half_known: HashSet<FileIndex>,
}

impl SameCode {
    /// `runs`: in the order of both sides, each with its files.
    #[must_use]
    pub fn of(runs: &[(&Profile, &HashMap<String, FileIndex>)]) -> SameCode {
        let first_lines: Vec<FirstLines> = runs.iter().map(|(profile, files)| FirstLines::of(profile, files)).collect();
        let apart = met_apart(runs, &first_lines);
        let names = names_of_several(&first_lines, &apart);
        let files: BTreeSet<FileIndex> = names.iter().map(|name| name.0).collect();
        let homonyms = Homonyms::of(&first_lines, &names, &FileTexts::of(runs, &files), &apart);
        let bodies = Bodies::of(runs, &first_lines, &homonyms);
        SameCode { first_lines, homonyms, in_no_file: InNoFile::of(runs), bodies, half_known: half_known(runs) }
    }

    /// Where the function begins, from which lines without a text are counted. Some comprehensions are functions of their own in CPython 3.11,
    /// and a part of the function around them in CPython 3.12: both are counted from there.
    #[must_use]
    pub fn begin(&self, run: usize, file: FileIndex, function: &str, first_line: u32) -> u32 {
        let around = self.first_lines.get(run).and_then(|lines| lines.nearest(file, function, first_line));
        around.unwrap_or(first_line)
    }

    /// `function`: or a comprehension in it.
    #[must_use]
    pub fn instance(&self, run: usize, file: FileIndex, function: &Function) -> Instance {
        let first_line = if let Home::Python { first_line, .. } = function.home { first_line } else { 0 };
        let in_no_file = self.in_no_file.instance(run, file, function);
        in_no_file.unwrap_or_else(|| self.homonyms.instance(run, file, without_parts(&function.name), first_line))
    }

    /// Neither text nor line tells which expression of a function is the same in another recording.
    #[must_use]
    pub fn is_half_known(&self, file: FileIndex) -> bool {
        self.half_known.contains(&file)
    }

    /// None: the text of the function is not known in all recordings that have it.
    #[must_use]
    pub fn line(&self, run: usize, function: (FileIndex, &str, Instance), line: u32) -> Option<Line> {
        self.bodies.line(run, function, line)
    }
}

fn half_known(runs: &[(&Profile, &HashMap<String, FileIndex>)]) -> HashSet<FileIndex> {
    let (mut with, mut without) = (HashSet::default(), HashSet::default());
    for (profile, files) in runs {
        for (path, file) in *files {
            let has_text = profile.sources.get(path).is_some_and(|source| !source.chunks.is_empty());
            let of_file = if has_text { &mut with } else { &mut without };
            of_file.insert(*file);
        }
    }
    of_other_pythons(runs).into_iter().chain(with.intersection(&without).copied()).collect()
}
