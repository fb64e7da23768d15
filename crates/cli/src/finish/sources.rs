//! The text of the source files that were hit, within limits.
//! Owns: which files and lines are stored. Never: reads what is not a regular file, stores a text that is not the one that ran, leaves out
//! a file in silence.
//! Keeps: at most `TOTAL_BYTES_MAX` of text in a recording; the lines around hits come before whole files, the user's own files before
//! others, which are never stored whole.

pub mod encoding;
mod line_starts;
mod ran;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::ops::RangeInclusive;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use clap::ValueEnum;
use genba_format::proto;
use genba_profile::hits::HitFile;
use sha2::{Digest, Sha256};

use self::line_starts::{LineStarts, line_ends};
use super::elf_files;
use super::root::Root;
use super::side_by_side;

/// A larger file is stored as the lines around each hit.
const WHOLE_BYTES_MAX: usize = 256 << 10;
const TOTAL_BYTES_MAX: usize = 4 << 20;
/// Nobody wrote a larger one by hand; reading it takes too long.
const FILE_BYTES_MAX: u64 = 32 << 20;
/// Lines stored above and below a hit when a file is not stored whole.
const LINES_AROUND: u32 = 20;
/// What is found in so many files is in memory before it is known whether there is room for it.
const FILES_AT_ONCE: usize = 1024;
/// One more thread reads for as many.
const FILES_OF_A_THREAD_MIN: usize = 32;

/// Texts by path, of sources that are no files: a notebook's cells.
pub type Told = BTreeMap<String, String>;

/// How much of the source files hit is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum SourceText {
    All,
    Hit,
    None,
}

/// The text of a file that was typed at a prompt or in a cell, by its name.
pub type Typed<'p> = &'p dyn Fn(&str) -> Option<String>;

/// Where texts are looked for, and how much of them is stored.
#[derive(Clone, Copy)]
pub struct Places<'p> {
    pub root: &'p Root,
    pub told: &'p Told,
    /// Asked for a text that is in no file. `None`: nobody is there to ask.
    pub typed: Option<Typed<'p>>,
    pub source: SourceText,
}

impl<'p> Places<'p> {
    pub fn own(told: &'p Told, source: SourceText) -> Self {
        Places { root: &Root::OWN, told, typed: None, source }
    }
}

/// Rows for the hit lines of each file, and words about files that found no room.
pub fn read(files: &BTreeMap<String, HitFile>, from: Places<'_>) -> (Vec<proto::Source>, Vec<String>) {
    let Places { root, told, typed, source: kept } = from;
    if kept == SourceText::None {
        return (Vec::new(), Vec::new());
    }
    let mut by_importance: Vec<(&String, &HitFile)> = files.iter().collect();
    by_importance.sort_by_key(|(_, hit)| (!hit.is_users_own, std::cmp::Reverse(hit.lines.len())));
    let mut room_bytes = TOTAL_BYTES_MAX;
    let mut left_out = 0_u64;
    let mut rows: Vec<proto::Source> = Vec::new();
    // What may become whole, by the position of its row.
    let mut own: Vec<(usize, String)> = Vec::new();
    for some in by_importance.chunks(FILES_AT_ONCE) {
        let found = side_by_side::each(some, FILES_OF_A_THREAD_MIN, |&(path, hit), room| {
            let file = SourceFile::read(root, path, room).or_else(|| SourceFile::of_text(told.get(path)?))?;
            Some(file.found(path, hit, kept, room))
        });
        for (&(path, hit), found) in some.iter().zip(found) {
            let typed = || SourceFile::of_text(&typed.filter(|_| may_be_typed(path))?(path)?);
            let found = found.or_else(|| Some(typed()?.found(path, hit, kept, &mut Vec::new())));
            let Some(Found { row, whole }) = found else { continue };
            if row.lack != proto::SourceLack::NoLack as i32 {
                rows.push(row);
                continue;
            }
            match room_bytes.checked_sub(text_bytes(&row)) {
                Some(rest) => {
                    room_bytes = rest;
                    own.extend(whole.map(|text| (rows.len(), text)));
                    rows.push(row);
                }
                None => left_out += 1,
            }
        }
    }
    for (row, text) in own {
        let more_bytes = text.len().saturating_sub(text_bytes(&rows[row]));
        if more_bytes <= room_bytes {
            room_bytes -= more_bytes;
            rows[row].chunks = vec![proto::SourceChunk { first_line: 1, text }];
        }
    }
    let notes = (left_out > 0).then(|| {
        format!("the text of {left_out} source files is not stored, the recording holds 4 MiB of text already")
    });
    (rows, notes.into_iter().collect())
}

/// A cell has a name of its own, made from its text. Others use one name for many texts (`<timeit-src>`), so that the text of today need not
/// be the one that ran.
pub fn may_be_typed(path: &str) -> bool {
    path.starts_with('/') || path.starts_with("<ipython-input-")
}

fn text_bytes(row: &proto::Source) -> usize {
    row.chunks.iter().map(|chunk| chunk.text.len()).sum()
}

/// What a file gives to the recording.
struct Found {
    row: proto::Source,
    /// All of the text, if the row may have it instead.
    whole: Option<String>,
}

struct SourceFile {
    text: String,
    line_count: u32,
    sha256: Vec<u8>,
    /// CLOCK_REALTIME. None: the text is in no file.
    written_realtime_ns: Option<u64>,
}

impl SourceFile {
    /// `room`: memory to read it into.
    fn read(root: &Root, path: &str, room: &mut Vec<u8>) -> Option<Self> {
        let path = &path_of(path);
        let found = root.metadata(path).ok()?;
        if !found.is_file() || found.len() > FILE_BYTES_MAX {
            return None;
        }
        let bytes = root.read_into(path, std::mem::take(room)).ok()?;
        let sha256 = Sha256::digest(&bytes).to_vec();
        SourceFile::new(encoding::decoded_whole(bytes)?, sha256, elf_files::written_ns(&found))
    }

    fn of_text(text: &str) -> Option<Self> {
        SourceFile::new(text.to_owned(), Sha256::digest(text.as_bytes()).to_vec(), None)
    }

    fn new(text: String, sha256: Vec<u8>, written_realtime_ns: Option<u64>) -> Option<Self> {
        let has_open_line = !text.is_empty() && !text.ends_with('\n');
        let line_count = u32::try_from(line_ends(&text) + usize::from(has_open_line)).ok()?;
        Some(SourceFile { text, line_count, sha256, written_realtime_ns })
    }

    /// Leaves its memory in `room`.
    fn found(self, path: &str, hit: &HitFile, kept: SourceText, room: &mut Vec<u8>) -> Found {
        let row = self.row(path, hit);
        let may_be_whole = kept == SourceText::All && hit.is_users_own && self.text.len() <= WHOLE_BYTES_MAX;
        let whole = may_be_whole.then(|| self.text.clone());
        *room = self.text.into_bytes();
        Found { row, whole }
    }

    /// With the lines around hits, or without any and the reason.
    fn row(&self, path: &str, hit: &HitFile) -> proto::Source {
        match ran::lack(&self.text, &hit.definitions, self.written_realtime_ns, hit.began_realtime_ns) {
            proto::SourceLack::NoLack => self.around(path, hit),
            lack => proto::Source { path: path.to_owned(), lack: lack as i32, ..Default::default() },
        }
    }

    fn around(&self, path: &str, hit: &HitFile) -> proto::Source {
        let mut lines = LineStarts::of(&self.text);
        let chunks = stretches(hit, self.line_count)
            .into_iter()
            .map(|stretch| {
                let (first_line, from) = (*stretch.start(), lines.start_of(*stretch.start()));
                let text = self.text.get(from..lines.start_of(stretch.end() + 1)).unwrap_or_default();
                proto::SourceChunk { first_line, text: text.to_owned() }
            })
            .collect();
        proto::Source { path: path.to_owned(), sha256: self.sha256.clone(), lines: self.line_count, chunks, lack: 0 }
    }
}

/// Python has `\udcXX` in a path for each byte that is not UTF-8, and so has the recording.
pub(super) fn path_of(text: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\\udc") {
        let (before, behind) = (&rest[..at], &rest[at + 4..]);
        let byte = behind.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|byte| *byte >= 0x80);
        bytes.extend_from_slice(before.as_bytes());
        match byte {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(&rest.as_bytes()[at..at + 4]),
        }
        rest = &behind[if byte.is_some() { 2 } else { 0 }..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    PathBuf::from(OsString::from_vec(bytes))
}

/// The lines around each hit and the first one of each function, joined where they meet; what lies behind the end of the file is none.
fn stretches(hit: &HitFile, line_count: u32) -> Vec<RangeInclusive<u32>> {
    let around = |line: u32| {
        let first = line.saturating_sub(LINES_AROUND).max(1);
        first..=line.saturating_add(LINES_AROUND).min(line_count)
    };
    let is_there = |line: &u32| (1..=line_count).contains(line);
    let definitions = hit.definitions.keys().copied().filter(is_there).map(|line| line..=line);
    let mut all: Vec<_> = hit.lines.iter().copied().filter(is_there).map(around).chain(definitions).collect();
    all.sort_unstable_by_key(|stretch| *stretch.start());
    let mut found: Vec<RangeInclusive<u32>> = Vec::new();
    for stretch in all {
        match found.last_mut() {
            Some(before) if *stretch.start() <= before.end().saturating_add(1) => {
                *before = *before.start()..=*before.end().max(stretch.end());
            }
            _ => found.push(stretch),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::SourceText;
    use super::{Places, Root, SourceFile, Told, path_of, read, stretches};
    use genba_format::proto;
    use genba_profile::hits::HitFile;
    use std::collections::{BTreeMap, BTreeSet};

    /// Of the user.
    fn hit(lines: &[u32], definitions: &[u32]) -> HitFile {
        let names = BTreeSet::from(["<module>".to_string()]);
        let definitions = definitions.iter().map(|&line| (line, names.clone())).collect();
        HitFile { lines: lines.iter().copied().collect(), definitions, is_users_own: true, began_realtime_ns: 0 }
    }

    #[test]
    fn a_path_that_is_not_utf_8_is_found() {
        use std::os::unix::ffi::OsStrExt;
        let check = |text: &str, bytes: &[u8]| assert_eq!(path_of(text).as_os_str().as_bytes(), bytes);
        check("/a/b.py", b"/a/b.py");
        check("/a\\udcff/\\udc80b", b"/a\xff/\x80b");
        check("/a\\udc7f\\udc\\udcé", "/a\\udc7f\\udc\\udcé".as_bytes());
    }

    #[test]
    fn lines_around_hits_join_where_they_meet() {
        let check = |lines: &[u32], definitions: &[u32], line_count, expected: &[(u32, u32)]| {
            let found: Vec<(u32, u32)> = stretches(&hit(lines, definitions), line_count)
                .into_iter()
                .map(|stretch| (*stretch.start(), *stretch.end()))
                .collect();
            assert_eq!(found, expected, "{lines:?}, {definitions:?} of {line_count}");
        };
        check(&[1], &[], 100, &[(1, 21)]);
        check(&[50], &[], 60, &[(30, 60)]);
        check(&[50, 91], &[], 200, &[(30, 111)]);
        check(&[50, 92], &[], 200, &[(30, 70), (72, 112)]);
        check(&[0, 7, 300], &[], 9, &[(1, 9)]);
        check(&[5], &[], 0, &[]);
        check(&[50], &[2], 60, &[(2, 2), (30, 60)]);
        check(&[50], &[29, 40, 61], 60, &[(29, 60)]);
    }

    #[test]
    fn a_line_without_an_end_counts() {
        let lines = |text: &str| SourceFile::of_text(text).unwrap().line_count;
        assert_eq!(["", "\n", "a", "a\n", "a\nb"].map(lines), [0, 1, 1, 1, 2]);
    }

    /// What is stored of a file with `lines` lines of `line_bytes` bytes, hit at line 500.
    #[track_caller]
    fn check(lines: usize, line_bytes: usize, kept: SourceText, expected: &[(u32, usize)]) {
        check_owned(true, lines, line_bytes, kept, expected);
    }

    #[track_caller]
    fn check_owned(is_users_own: bool, lines: usize, line_bytes: usize, kept: SourceText, expected: &[(u32, usize)]) {
        let name = format!("genba-sources-{}-{is_users_own}-{lines}-{line_bytes}-{kept:?}.py", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, format!("{}\n", "x".repeat(line_bytes - 1)).repeat(lines)).unwrap();
        let file = HitFile { is_users_own, ..hit(&[500], &[450]) };
        let files = BTreeMap::from([(path.to_str().unwrap().to_owned(), file)]);
        let (rows, notes) = read(&files, Places::own(&Told::new(), kept));
        std::fs::remove_file(&path).unwrap();
        let stored: Vec<(u32, usize)> = rows
            .iter()
            .inspect(|row| assert_eq!(row.lines as usize, lines))
            .flat_map(|row| &row.chunks)
            .map(|chunk| (chunk.first_line, chunk.text.len()))
            .collect();
        assert_eq!(stored, expected);
        assert_eq!(notes, Vec::<String>::new());
    }

    #[test]
    fn small_files_are_stored_whole_and_large_ones_around_their_hits() {
        check(1024, 256, SourceText::All, &[(1, 256 << 10)]);
        check(1025, 256, SourceText::All, &[(450, 256), (480, 41 * 256)]);
        check(1024, 256, SourceText::Hit, &[(450, 256), (480, 41 * 256)]);
        check(1024, 256, SourceText::None, &[]);
    }

    #[test]
    fn of_a_library_the_lines_around_hits_are_stored() {
        for kept in [SourceText::All, SourceText::Hit] {
            check_owned(false, 1024, 40, kept, &[(450, 40), (480, 41 * 40)]);
        }
        check_owned(false, 1024, 40, SourceText::None, &[]);
    }

    #[test]
    fn lines_around_hits_come_before_whole_files() {
        let folder = std::env::temp_dir().join(format!("genba-sources-around-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut files = BTreeMap::new();
        for number in 0..30 {
            let path = folder.join(format!("{number}.py"));
            std::fs::write(&path, format!("{}\n", "x".repeat(199)).repeat(1000)).unwrap();
            files.insert(path.to_str().unwrap().to_owned(), hit(&[500], &[]));
        }
        let (rows, notes) = read(&files, Places::own(&Told::new(), SourceText::All));
        std::fs::remove_dir_all(&folder).unwrap();
        let whole = rows.iter().filter(|row| row.chunks[0].first_line == 1).count();
        assert_eq!((rows.len(), whole, notes), (30, 20, Vec::new()));
    }

    #[test]
    fn many_files_have_each_its_own_text_and_come_in_the_order_of_their_hits() {
        let folder = std::env::temp_dir().join(format!("genba-sources-many-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = |number: u32| folder.join(format!("{number}.py")).to_str().unwrap().to_owned();
        let text = |number: u32| format!("{number}\n").repeat(number as usize);
        let mut files = BTreeMap::new();
        for number in 1..=200 {
            std::fs::write(path(number), text(number)).unwrap();
            files.insert(path(number), hit(&(1..=number).collect::<Vec<u32>>(), &[]));
        }
        let (rows, notes) = read(&files, Places::own(&Told::new(), SourceText::All));
        std::fs::remove_dir_all(&folder).unwrap();
        let stored = rows.iter().map(|row| (row.path.clone(), row.lines, row.chunks[0].text.clone()));
        assert!(stored.eq((1..=200).rev().map(|number| (path(number), number, text(number)))));
        assert_eq!(notes, Vec::<String>::new());
    }

    #[test]
    fn a_text_that_is_not_the_one_that_ran_is_a_reason_instead() {
        let path = std::env::temp_dir().join(format!("genba-sources-lack-{}.py", std::process::id()));
        std::fs::write(&path, "def f(): pass\n").unwrap();
        let shown = |definitions: &[(u32, &str)], began_realtime_ns| {
            let definitions = definitions.iter().map(|&(line, name)| (line, BTreeSet::from([name.to_string()])));
            let file = HitFile { definitions: definitions.collect(), began_realtime_ns, ..hit(&[1], &[]) };
            let files = BTreeMap::from([(path.to_str().unwrap().to_owned(), file)]);
            let (rows, notes) = read(&files, Places::own(&Told::new(), SourceText::All));
            assert_eq!((rows.len(), notes.len()), (1, 0));
            (rows[0].chunks.len(), rows[0].lack())
        };
        let found = [
            shown(&[(1, "f")], 0),
            shown(&[(1, "f")], u64::MAX / 2),
            shown(&[(1, "f")], 1),
            shown(&[(1, "f"), (1, "g")], 0),
        ];
        std::fs::remove_file(&path).unwrap();
        use proto::SourceLack::{NoLack, NotWhatRan, WrittenLater};
        assert_eq!(found, [(1, NoLack), (1, NoLack), (0, WrittenLater), (0, NotWhatRan)]);
    }

    #[test]
    fn only_a_name_of_one_text_is_asked_for() {
        let names = ["/nowhere/ipykernel_7/1.py", "<ipython-input-1-a>", "<string>", "<timeit-src>", "nowhere/1.py"];
        let files: BTreeMap<_, _> = names.map(|name| (name.to_owned(), hit(&[1], &[]))).into();
        let typed = |name: &str| Some(format!("{name:?}\n"));
        let (told, source) = (Told::new(), SourceText::All);
        let (rows, _) = read(&files, Places { root: &Root::OWN, told: &told, typed: Some(&typed), source });
        let found: BTreeSet<&str> = rows.iter().map(|row| row.path.as_str()).collect();
        assert_eq!(found, BTreeSet::from(["/nowhere/ipykernel_7/1.py", "<ipython-input-1-a>"]));
    }

    #[test]
    fn what_finds_no_room_is_told() {
        let folder = std::env::temp_dir().join(format!("genba-sources-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut files = BTreeMap::new();
        for number in 0..18 {
            let path = folder.join(format!("{number}.py"));
            // One line, so that the lines around a hit are the whole file.
            std::fs::write(&path, "x".repeat(256 << 10)).unwrap();
            files.insert(path.to_str().unwrap().to_owned(), hit(&[1], &[]));
        }
        let (rows, notes) = read(&files, Places::own(&Told::new(), SourceText::All));
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(rows.len(), 16);
        assert!(notes[0].contains("2 source files"), "{notes:?}");
    }
}
