//! Which functions of several recordings are the same, and which of their lines.
//! Owns: that answer, made once for all recordings of a comparison. Never: looks at samples.

mod bodies;
mod extent;
pub mod homonyms;
mod in_no_file;
mod met_apart;
mod moved_lines;

use std::collections::HashMap;

use crate::rules::difference::files::FileIndex;
use crate::rules::difference::same_code::bodies::Bodies;
use crate::rules::difference::same_code::homonyms::{FirstLines, Homonyms, Instance};
use crate::rules::difference::same_code::in_no_file::InNoFile;
use crate::rules::difference::same_code::met_apart::met_apart;
use crate::rules::difference::same_code::moved_lines::Sure;
pub use crate::rules::difference::same_code::moved_lines::{Line, whole};
use crate::tables::own_code::without_parts;
use crate::tables::profile::{Function, Home, Profile};

#[derive(Debug, Default)]
pub struct SameCode {
    /// Of each recording.
    first_lines: Vec<FirstLines>,
    homonyms: Homonyms,
    in_no_file: InNoFile,
    bodies: Bodies,
}

impl SameCode {
    /// `runs`: in the order of both sides, each with its files.
    #[must_use]
    pub fn of(runs: &[(&Profile, &HashMap<String, FileIndex>)]) -> SameCode {
        let first_lines: Vec<FirstLines> = runs.iter().map(|(profile, files)| FirstLines::of(profile, files)).collect();
        let homonyms = Homonyms::of(&first_lines, &Sure::of(runs), &met_apart(runs, &first_lines));
        let bodies = Bodies::of(runs, &first_lines, &homonyms);
        SameCode { first_lines, homonyms, in_no_file: InNoFile::of(runs), bodies }
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

    /// None: the text of the function is not known in all recordings that have it.
    #[must_use]
    pub fn line(&self, run: usize, function: (FileIndex, &str, Instance), line: u32) -> Option<Line> {
        self.bodies.line(run, function, line)
    }
}
