//! The text of source files as stored in a recording: lines, and columns turned from bytes into characters.
//! Owns: `SourceText`. Never: opens a file; gives a column it cannot know to be right.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use genba_format::proto;

use crate::tables::locations::Location;

/// One file, whole or in pieces.
#[derive(Clone, Debug)]
pub struct SourceText {
    pub path: String,
    pub sha256: Vec<u8>,
    /// Of the whole file, known or not.
    pub line_count: u32,
    pub chunks: Vec<Chunk>,
    /// Why there are none.
    pub lack: Option<Lack>,
}

/// Why the text at a path is not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// The file was written after the program had begun.
    WrittenLater,
    /// The functions that ran do not begin there.
    NotWhatRan,
}

#[derive(Clone, Debug)]
pub struct Chunk {
    pub first_line: u32,
    pub text: String,
    /// Where each line begins in `text`, and where the text ends.
    line_starts: Vec<usize>,
}

/// A piece of source that was being executed: its columns in characters and its text, line breaks included.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Expression {
    pub column: u32,
    pub end_column: u32,
    pub text: String,
}

impl SourceText {
    pub fn new(source: &proto::Source) -> SourceText {
        let mut chunks: Vec<Chunk> =
            source.chunks.iter().map(|chunk| Chunk::new(chunk.first_line, chunk.text.clone())).collect();
        chunks.sort_by_key(|chunk| chunk.first_line);
        SourceText {
            path: source.path.clone(),
            sha256: source.sha256.clone(),
            line_count: source.lines,
            chunks,
            lack: Lack::of(source),
        }
    }

    /// Without its line break. None: the line is not stored.
    pub fn line(&self, line: u32) -> Option<&str> {
        self.chunks.iter().find_map(|chunk| chunk.line(line))
    }

    /// Of the same text.
    fn add_lines(&mut self, chunks: Vec<Chunk>) {
        let mut all = mem::take(&mut self.chunks);
        all.extend(chunks);
        all.sort_by_key(|chunk| chunk.first_line);
        for chunk in all {
            match self.chunks.last_mut() {
                Some(before) if chunk.first_line < before.behind() => before.go_on(&chunk),
                _ => self.chunks.push(chunk),
            }
        }
    }

    /// None: without columns, or outside of what is stored, or the columns do not fit the text.
    pub fn expression(&self, location: Location) -> Option<Expression> {
        let bytes = location.byte_columns?;
        let (start, end) = (bytes.start as usize, bytes.end as usize);
        let first = self.line(location.line)?;
        let last = self.line(location.end_line)?;
        let before = first.get(..start)?;
        let through = last.get(..end)?;
        let text = if location.line == location.end_line {
            first.get(start..end)?.to_string()
        } else {
            let mut text = first[start..].to_string();
            for line in location.line + 1..location.end_line {
                text.push('\n');
                text += self.line(line)?;
            }
            text.push('\n');
            text + through
        };
        Some(Expression { column: before.chars().count() as u32, end_column: through.chars().count() as u32, text })
            .filter(|expression| !expression.text.is_empty())
    }
}

impl Lack {
    /// Said of the file.
    pub fn words(self) -> &'static str {
        match self {
            Lack::WrittenLater => "the file was changed after the program began",
            Lack::NotWhatRan => "the file is not the source of what ran",
        }
    }

    /// As machines read it.
    pub fn key(self) -> &'static str {
        match self {
            Lack::WrittenLater => "written-later",
            Lack::NotWhatRan => "not-what-ran",
        }
    }

    fn of(source: &proto::Source) -> Option<Lack> {
        match source.lack() {
            proto::SourceLack::NoLack => None,
            proto::SourceLack::WrittenLater => Some(Lack::WrittenLater),
            proto::SourceLack::NotWhatRan => Some(Lack::NotWhatRan),
        }
    }
}

impl Chunk {
    fn new(first_line: u32, text: String) -> Chunk {
        // The lines that CPython counts: a form feed or U+2028 ends none.
        let mut line_starts = vec![0];
        line_starts.extend(text.match_indices('\n').map(|(position, _)| position + 1));
        if text.ends_with('\n') || text.is_empty() {
            line_starts.pop();
        }
        line_starts.push(text.len());
        Chunk { first_line, text, line_starts }
    }

    /// The line below the last one.
    fn behind(&self) -> u32 {
        self.first_line.saturating_add(self.line_starts.len() as u32 - 1)
    }

    /// With the lines of `other`, which begins inside, that are not in it.
    fn go_on(&mut self, other: &Chunk) {
        let known = (self.behind() - other.first_line) as usize;
        if let Some(&start) = other.line_starts.get(known).filter(|&&start| start < other.text.len()) {
            *self = Chunk::new(self.first_line, mem::take(&mut self.text) + &other.text[start..]);
        }
    }

    fn near(&self, hits: &BTreeSet<u32>, around: u32) -> Vec<Chunk> {
        let is_near =
            |line: u32| hits.range(line.saturating_sub(around)..=line.saturating_add(around)).next().is_some();
        let kept: Vec<u32> = (self.first_line..self.behind()).filter(|line| is_near(*line)).collect();
        let stretches = kept.chunk_by(|line, next| line + 1 == *next);
        let start = |line: u32| self.line_starts[(line - self.first_line) as usize];
        let text = |lines: &[u32]| self.text[start(lines[0])..start(lines[0] + lines.len() as u32)].to_string();
        stretches.map(|lines| Chunk::new(lines[0], text(lines))).collect()
    }

    fn line(&self, line: u32) -> Option<&str> {
        let position = line.checked_sub(self.first_line)? as usize;
        let start = *self.line_starts.get(position)?;
        let end = *self.line_starts.get(position + 1)?;
        let line = self.text[start..end].trim_end_matches(['\n', '\r']);
        // A byte order mark is no part of what CPython counts columns in.
        Some(line.strip_prefix('\u{feff}').filter(|_| self.first_line == 1 && position == 0).unwrap_or(line))
    }
}

/// The files of a recording by path.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    by_path: BTreeMap<String, SourceText>,
}

impl Sources {
    /// The first text of a path stays; what more there is of the same one is added.
    pub fn add(&mut self, source: &proto::Source) {
        match self.by_path.entry(source.path.clone()) {
            Entry::Vacant(free) => drop(free.insert(SourceText::new(source))),
            Entry::Occupied(mut known) => {
                let more = SourceText::new(source);
                let known = known.get_mut();
                if (&known.sha256, known.line_count) == (&more.sha256, more.line_count) {
                    known.add_lines(more.chunks);
                }
            }
        }
    }

    /// Paths whose text is another in `other`.
    pub fn differing(&self, other: &Sources) -> BTreeSet<String> {
        let differs = |source: &&SourceText| {
            let known = self.by_path.get(&source.path);
            known.is_some_and(|known| known.sha256 != source.sha256 || known.line_count != source.line_count)
        };
        other.iter().filter(differs).map(|source| source.path.clone()).collect()
    }

    /// Adds the files of another recording, each under the path that `path` gives it: paths of another text must get another one.
    pub fn join(&mut self, other: Sources, path: impl Fn(&str) -> String) {
        for source in other.by_path.into_values() {
            let path = path(&source.path);
            match self.by_path.entry(path.clone()) {
                Entry::Vacant(free) => drop(free.insert(SourceText { path, ..source })),
                Entry::Occupied(mut known) => known.get_mut().add_lines(source.chunks),
            }
        }
    }

    /// For each path in `hits`: keeps only its lines and `around` lines above and below each of them.
    pub fn keep_near(&mut self, around: u32, hits: impl Fn(&str) -> Option<BTreeSet<u32>>) {
        for source in self.by_path.values_mut() {
            if let Some(hits) = hits(&source.path) {
                source.chunks = source.chunks.iter().flat_map(|chunk| chunk.near(&hits, around)).collect();
            }
        }
    }

    pub fn get(&self, path: &str) -> Option<&SourceText> {
        self.by_path.get(path)
    }

    pub fn iter(&self) -> impl Iterator<Item = &SourceText> {
        self.by_path.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::locations::ByteColumns;
    use expect_test::{Expect, expect};

    /// `place` is `line:byte-end_line:byte`, as a location table says it.
    fn check(first_line: u32, text: &str, place: [u32; 4], expected: Expect) {
        let source = SourceText::new(&proto::Source {
            path: "x.py".to_string(),
            chunks: vec![proto::SourceChunk { first_line, text: text.to_string() }],
            ..Default::default()
        });
        let [line, start, end_line, end] = place;
        let expression = source.expression(Location { line, end_line, byte_columns: Some(ByteColumns { start, end }) });
        expected.assert_eq(&match expression {
            None => "none".to_string(),
            Some(found) => format!("{}..{} {:?}", found.column, found.end_column, found.text),
        });
    }

    #[track_caller]
    fn check_joined(one: &[(u32, &str)], other: &[(u32, &str)], expected: &[(u32, &str)]) {
        let sources = |chunks: &[(u32, &str)]| {
            let chunks =
                chunks.iter().map(|&(first_line, text)| proto::SourceChunk { first_line, text: text.to_string() });
            let mut sources = Sources::default();
            sources.add(&proto::Source { path: "x.py".to_string(), chunks: chunks.collect(), ..Default::default() });
            sources
        };
        let mut joined = sources(one);
        joined.join(sources(other), str::to_string);
        let chunks = &joined.get("x.py").unwrap().chunks;
        let found: Vec<(u32, &str)> = chunks.iter().map(|chunk| (chunk.first_line, chunk.text.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_joined_text_has_the_lines_of_both() {
        check_joined(&[(3, "c\n")], &[(1, "a\n"), (9, "i")], &[(1, "a\n"), (3, "c\n"), (9, "i")]);
        check_joined(&[(1, "a\nb\nc\n")], &[(2, "b\n"), (3, "c\nd")], &[(1, "a\nb\nc\nd")]);
        check_joined(&[(4, "d\ne\n")], &[(1, "a\nb\nc\nd\ne\nf\n")], &[(1, "a\nb\nc\nd\ne\nf\n")]);
        check_joined(&[(1, "a\nb\n")], &[(1, "a\nb\n")], &[(1, "a\nb\n")]);
        check_joined(&[(1, "a\n")], &[(2, "b\n")], &[(1, "a\n"), (2, "b\n")]);
    }

    #[test]
    fn near_hits_are_whole_lines_around_each() {
        let check = |first_line: u32, text: &str, hits: &[u32], expected: &[(u32, &str)]| {
            let chunk = Chunk::new(first_line, text.to_string());
            let found = chunk.near(&hits.iter().copied().collect(), 1);
            let found: Vec<(u32, &str)> = found.iter().map(|chunk| (chunk.first_line, chunk.text.as_str())).collect();
            assert_eq!(found, expected, "{text:?} {hits:?}");
        };
        check(1, "a\nb\nc\nd\ne\nf\ng", &[2, 7], &[(1, "a\nb\nc\n"), (6, "f\ng")]);
        check(1, "a\nb\nc\nd\n", &[2, 3], &[(1, "a\nb\nc\nd\n")]);
        check(5, "e\nf\ng\n", &[4, 9], &[(5, "e\n")]);
        check(1, "a\nb\n", &[], &[]);
        check(1, "", &[1], &[]);
    }

    #[test]
    fn bytes_become_characters() {
        check(1, "x = 表[i:]\n", [1, 4, 1, 11], expect![[r#"4..9 "表[i:]""#]]);
        check(1, "表 = b[i:]", [1, 6, 1, 11], expect![[r#"4..9 "b[i:]""#]]);
    }

    #[test]
    fn an_expression_over_lines_keeps_its_breaks() {
        check(7, "a = [\r\n  1,\r\n]\r\n", [7, 4, 9, 1], expect![[r#"4..1 "[\n  1,\n]""#]]);
    }

    #[test]
    fn what_does_not_fit_is_not_guessed() {
        check(1, "表", [1, 1, 1, 2], expect![["none"]]);
        check(1, "a\n", [2, 0, 2, 1], expect![["none"]]);
        check(5, "a\n", [4, 0, 4, 1], expect![["none"]]);
        check(1, "abc\n", [1, 2, 1, 9], expect![["none"]]);
    }

    #[test]
    fn a_byte_order_mark_is_not_counted() {
        check(1, "\u{feff}b[i:]\n", [1, 0, 1, 5], expect![[r#"0..5 "b[i:]""#]]);
    }
}
