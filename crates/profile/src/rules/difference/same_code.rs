//! Which functions of several recordings are the same, and which of their lines.
//! Owns: that answer, made once for all recordings of a comparison. Never: looks at samples.

mod bodies;
pub mod homonyms;
mod met_apart;
mod moved_lines;

use std::collections::HashMap;

use crate::rules::difference::files::FileIndex;
use crate::rules::difference::same_code::bodies::Bodies;
use crate::rules::difference::same_code::homonyms::{FirstLines, Homonyms, Instance};
use crate::rules::difference::same_code::met_apart::met_apart;
pub use crate::rules::difference::same_code::moved_lines::Line;
use crate::rules::difference::same_code::moved_lines::Sure;
use crate::tables::profile::Profile;

#[derive(Debug, Default)]
pub struct SameCode {
    /// Of each recording.
    first_lines: Vec<FirstLines>,
    homonyms: Homonyms,
    bodies: Bodies,
}

impl SameCode {
    /// `runs`: in the order of both sides, each with its files.
    #[must_use]
    pub fn of(runs: &[(&Profile, &HashMap<String, FileIndex>)]) -> SameCode {
        let first_lines: Vec<FirstLines> = runs.iter().map(|(profile, files)| FirstLines::of(profile, files)).collect();
        let homonyms = Homonyms::of(&first_lines, &Sure::of(runs), &met_apart(runs, &first_lines));
        let bodies = Bodies::of(runs, &first_lines, &homonyms);
        SameCode { first_lines, homonyms, bodies }
    }

    /// Where the function begins, from which lines without a text are counted. CPython 3.11 has some comprehensions as functions of their own that CPython
    /// 3.12 has inside of the function around them: both are counted from there.
    #[must_use]
    pub fn begin(&self, run: usize, file: FileIndex, function: &str, first_line: u32) -> u32 {
        let around = self.first_lines.get(run).and_then(|lines| lines.nearest(file, function, first_line));
        around.unwrap_or(first_line)
    }

    /// `first_line`: of the function or of a comprehension in it.
    #[must_use]
    pub fn instance(&self, run: usize, file: FileIndex, function: &str, first_line: u32) -> Instance {
        self.homonyms.instance(run, file, function, first_line)
    }

    /// None: the text of the function is not known in all recordings that have it.
    #[must_use]
    pub fn line(&self, run: usize, function: (FileIndex, &str, Instance), line: u32) -> Option<Line> {
        self.bodies.line(run, function, line)
    }
}
