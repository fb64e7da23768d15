//! Which recordings have the text of a file, and which of them have the same one.
//! Owns: what tells functions of one name apart in a file: lines, their numbers (`moved_lines`), or neither. Never: says which function is which
//! (`homonyms` does).

use foldhash::HashMap;
use std::collections::{BTreeMap, BTreeSet};

use crate::rules::difference::files::FileIndex;
use crate::rules::difference::same_code::moved_lines::{Line, numbered};
use crate::tables::profile::Profile;
use crate::tables::source_text::SourceText;

/// By recording.
#[derive(Debug, Default)]
pub struct FileTexts(Vec<HashMap<FileIndex, OfFile>>);

/// What one recording tells of the text of a file.
#[derive(Debug, Default)]
struct OfFile {
    /// Recordings with the same number have the same text. None: it is not known.
    text: Option<usize>,
    /// Empty where it is not known whole.
    lines: Vec<Line>,
    /// What is at its path is not what ran.
    is_lost: bool,
}

/// What tells which is which of the functions of one name that recordings met in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// All of them have one text.
    ByLines,
    ByNumbers,
    /// None of them has a text.
    WithoutText,
    /// The texts differ, or some of them have none; and some are lost, cut or too long.
    Not,
}

impl FileTexts {
    /// Of these files.
    #[must_use]
    pub fn of(runs: &[(&Profile, &HashMap<String, FileIndex>)], asked: &BTreeSet<FileIndex>) -> FileTexts {
        let mut sources_of: BTreeMap<FileIndex, Vec<(usize, Option<&SourceText>)>> = BTreeMap::new();
        for (position, (profile, files)) in runs.iter().enumerate() {
            for (path, file) in files.iter().filter(|(_, file)| asked.contains(*file)) {
                sources_of.entry(*file).or_default().push((position, profile.sources.get(path)));
            }
        }
        let mut texts = FileTexts(runs.iter().map(|_| HashMap::default()).collect());
        for (file, sources) in sources_of {
            for ((position, _), of_file) in sources.iter().zip(of_file(&sources)) {
                texts.0[*position].insert(file, of_file);
            }
        }
        texts
    }

    /// `runs`: those that met such functions.
    #[must_use]
    pub fn told(&self, file: FileIndex, runs: &[usize]) -> Told {
        if runs.len() < 2 {
            return Told::ByLines;
        }
        let all: Option<Vec<&OfFile>> = runs.iter().map(|run| self.0.get(*run)?.get(&file)).collect();
        let Some(all) = all else { return Told::WithoutText };
        let has_text_of_first = |of_file: &&OfFile| of_file.text.is_some() && of_file.text == all[0].text;
        if all.iter().all(has_text_of_first) {
            Told::ByLines
        } else if all.iter().all(|of_file| !of_file.lines.is_empty()) {
            Told::ByNumbers
        } else if all.iter().all(|of_file| of_file.text.is_none() && !of_file.is_lost) {
            Told::WithoutText
        } else {
            Told::Not
        }
    }

    /// None: others can be meant.
    #[must_use]
    pub fn sure_line(&self, run: usize, file: FileIndex, line: u32) -> Option<&Line> {
        self.line(run, file, line).filter(|line| line.is_sure)
    }

    /// Which of two copies is left nobody knows.
    #[must_use]
    pub fn is_one_of_copies(&self, run: usize, file: FileIndex, line: u32) -> bool {
        self.line(run, file, line).is_some_and(|line| line.is_one_of_copies)
    }

    fn line(&self, run: usize, file: FileIndex, line: u32) -> Option<&Line> {
        self.0.get(run)?.get(&file)?.lines.get((line as usize).checked_sub(1)?)
    }
}

/// Of each recording that met the file.
fn of_file(sources: &[(usize, Option<&SourceText>)]) -> Vec<OfFile> {
    let mut texts: Vec<&SourceText> = Vec::new();
    let mut found: Vec<OfFile> = Vec::new();
    for (_, source) in sources {
        let text = source.filter(|source| source.lack.is_none() && !source.chunks.is_empty()).map(|source| {
            let known = texts.iter().position(|other| are_same(other, source));
            known.unwrap_or_else(|| {
                texts.push(source);
                texts.len() - 1
            })
        });
        let is_lost = source.is_some_and(|source| source.lack.is_some());
        found.push(OfFile { text, lines: Vec::new(), is_lost });
    }
    let wholes = sources.iter().enumerate().filter_map(|(at, (_, source))| Some((at, whole((*source)?)?)));
    let (places, wholes): (Vec<usize>, Vec<Vec<&str>>) =
        wholes.map(|(at, text)| (at, text.lines().collect::<Vec<&str>>())).unzip();
    for (at, numbers) in places.into_iter().zip(numbered(&wholes).unwrap_or_default()) {
        found[at].lines = numbers;
    }
    found
}

/// Of a text that is cut, the checksum of the whole is known.
fn are_same(one: &SourceText, other: &SourceText) -> bool {
    match (whole(one), whole(other)) {
        (Some(one), Some(other)) => one == other,
        _ => !one.sha256.is_empty() && (&one.sha256, one.line_count) == (&other.sha256, other.line_count),
    }
}

/// The text of a file that is stored whole.
#[must_use]
pub fn whole(source: &SourceText) -> Option<&str> {
    match source.chunks.as_slice() {
        [only] if only.first_line == 1 && only.text.lines().count() >= source.line_count as usize => Some(&only.text),
        _ => None,
    }
}
