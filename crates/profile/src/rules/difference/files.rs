//! Which files of several recordings are the same, though they were moved to another folder or renamed.
//! Owns: the steps by which files find each other. Keeps: two files of one recording never become one.

mod texts;

use foldhash::{HashMap, HashSet};
use std::collections::BTreeMap;

use crate::rules::difference::files::texts::Text;
use crate::tables::owner::{Library, is_nameless};
use crate::tables::profile::Profile;
use crate::tables::stored::absolute;

/// Of a comparison: A or B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Before,
    After,
}

/// Of all recordings, by the newest path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileIndex(usize);

impl FileIndex {
    #[cfg(test)]
    pub const fn of(position: usize) -> FileIndex {
        FileIndex(position)
    }
}

/// The files of all recordings.
#[derive(Debug, Default)]
pub struct Files {
    paths: Vec<String>,
    /// Of each file, the newest that is known whole.
    texts: Vec<Option<Text>>,
    /// By the newest path.
    known: HashMap<String, usize>,
    /// The program's own file.
    script: Option<usize>,
}

impl Files {
    /// The files of the next recording, each with its index. A known file whose path another one took is where its text is. A path that is new is
    /// a known file that this recording lacks, if both are the only ones with so long an end of their path. A file of one library never becomes one
    /// of another: `json/decoder.py` is not `simplejson/decoder.py`. `script`: the file that the command line names, which may be called otherwise.
    /// `text`: of a file that is known whole.
    pub fn add<'p>(
        &mut self,
        paths: impl Iterator<Item = &'p str>,
        script: Option<&str>,
        text: &dyn Fn(&str) -> Option<&'p str>,
    ) -> HashMap<String, FileIndex> {
        let mut index_of: HashMap<String, FileIndex> = HashMap::default();
        let mut new: Vec<&str> = Vec::new();
        let mut paths: Vec<&str> = paths.collect();
        paths.sort_unstable();
        paths.dedup();
        let read = |path: &str| text(path).map(|text| Text::of(text, self.known_text(path)));
        let texts: BTreeMap<&str, Option<Text>> = paths.iter().map(|path| (*path, read(path))).collect();
        let elsewhere = self.elsewhere(&texts);
        let have_gone: HashSet<usize> = elsewhere.values().copied().collect();
        for path in paths {
            let known = self.known.get(path).copied().filter(|index| !have_gone.contains(index));
            match elsewhere.get(path).copied().or(known) {
                Some(index) => drop(index_of.insert(path.to_string(), FileIndex(index))),
                None => new.push(path),
            }
        }
        for (path, index) in elsewhere {
            self.paths[index] = path.to_string();
        }
        let taken: HashSet<usize> = index_of.values().map(|index| index.0).collect();
        let mut left: HashMap<&str, Vec<usize>> = HashMap::default();
        for (index, path) in self.paths.iter().enumerate() {
            if !taken.contains(&index) && !is_nameless(path) {
                left.entry(base_name(path)).or_default().push(index);
            }
        }
        let mut moved: Vec<(&str, usize)> = Vec::new();
        let renamed = self.script.filter(|index| !taken.contains(index));
        for path in &new {
            if let Some(index) = renamed.filter(|_| script == Some(*path)) {
                moved.retain(|(_, other)| *other != index);
                moved.push((path, index));
                left.values_mut().for_each(|left| left.retain(|other| *other != index));
                continue;
            }
            let mut candidates = left.get(base_name(path)).cloned().unwrap_or_default();
            candidates.retain(|index| Library::of(&self.paths[*index]) == Library::of(path));
            let longest = candidates.iter().map(|index| common_parts(&self.paths[*index], path)).max();
            let nearest: Vec<usize> = candidates
                .iter()
                .copied()
                .filter(|index| Some(common_parts(&self.paths[*index], path)) == longest)
                .collect();
            if let [only] = nearest[..] {
                moved.push((path, only));
            }
        }
        for (path, index) in &moved {
            if moved.iter().filter(|(_, other)| other == index).count() == 1 {
                index_of.insert((*path).to_string(), FileIndex(*index));
            }
        }
        for (path, index) in moved {
            if index_of.get(path) == Some(&FileIndex(index)) {
                self.paths[index] = path.to_string();
            }
        }
        for path in new {
            index_of.entry(path.to_string()).or_insert_with(|| {
                self.paths.push(path.to_string());
                self.texts.push(None);
                FileIndex(self.paths.len() - 1)
            });
        }
        self.remember(&index_of, texts);
        self.script = script.and_then(|script| index_of.get(script)).map(|index| index.0).or(self.script);
        index_of
    }

    /// Where known files are whose paths others took: at the only path that has their text, to the letter.
    fn elsewhere<'p>(&self, texts: &BTreeMap<&'p str, Option<Text>>) -> HashMap<&'p str, usize> {
        let mut found: Vec<(&'p str, usize)> = Vec::new();
        for (path, &index) in &self.known {
            let (Some(before), Some(Some(now))) = (&self.texts[index], texts.get(path.as_str())) else { continue };
            if before == now || before.is_edited_to(now) {
                continue;
            }
            let mut same = texts.iter().filter_map(|(other, text)| {
                let is_it = text.as_ref() == Some(before) && Library::of(other) == Library::of(path);
                is_it.then_some(*other)
            });
            let (Some(only), None) = (same.next(), same.next()) else { continue };
            if self.known_text(only) != Some(before) {
                found.push((only, index));
            }
        }
        // Two files had that text.
        let is_of_one = |path: &str| found.iter().filter(|(other, _)| *other == path).count() == 1;
        found.iter().copied().filter(|(path, _)| is_of_one(path)).collect()
    }

    fn known_text(&self, path: &str) -> Option<&Text> {
        self.texts[*self.known.get(path)?].as_ref()
    }

    fn remember(&mut self, index_of: &HashMap<String, FileIndex>, texts: BTreeMap<&str, Option<Text>>) {
        self.known.extend(index_of.iter().map(|(path, index)| (path.clone(), index.0)));
        let paths = &self.paths;
        self.known.retain(|path, index| paths[*index] == *path);
        for (path, text) in texts {
            if let (Some(index), Some(text)) = (index_of.get(path), text) {
                self.texts[index.0] = Some(text);
            }
        }
    }

    #[must_use]
    pub fn path(&self, file: FileIndex) -> &str {
        &self.paths[file.0]
    }
}

/// The first file that the first process's command line names.
#[must_use]
pub fn script(profile: &Profile) -> Option<String> {
    let process = profile.processes.iter().find(|process| process.refused.is_none())?;
    let words = process.argv.iter().skip(1).map(|word| absolute(word, process.cwd.as_deref()));
    words.into_iter().find(|path| profile.files.iter().any(|file| file.path == *path))
}

#[must_use]
pub fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn common_parts(one: &str, other: &str) -> usize {
    one.rsplit('/').zip(other.rsplit('/')).take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_may_be_in_another_folder() {
        let check = |first: &[&str], second: &[&str], expected: &[usize]| {
            let mut files = Files::default();
            files.add(first.iter().copied(), None, &|_| None);
            let found = files.add(second.iter().copied(), None, &|_| None);
            let found: Vec<usize> = second.iter().map(|path| found[*path].0).collect();
            assert_eq!(found, expected, "{first:?} and {second:?}");
        };
        check(&["/v1/app.py", "/v1/db.py"], &["/v2/db.py", "/v2/app.py"], &[1, 0]);
        check(&["/v1/a/x.py", "/v1/b/x.py"], &["/v2/b/x.py", "/v2/a/x.py"], &[1, 0]);
        // Which one it was nobody knows.
        check(&["/v1/a/x.py", "/v1/b/x.py"], &["/v2/c/x.py"], &[2]);
        check(&["/a/x.py"], &["/a/x.py", "/b/x.py"], &[0, 1]);
        check(&["/a/x.py"], &["/b/x.py", "/c/x.py"], &[1, 2]);
        check(&["<string>"], &["<stdin>"], &[1]);
        // A library is another one under another name, whichever takes the place of which, and the same one wherever it is installed.
        check(
            &["/usr/lib/python3.13/json/decoder.py"],
            &["/v/lib/python3.13/site-packages/simplejson/decoder.py"],
            &[1],
        );
        check(&["/v/site-packages/ujson/decoder.py"], &["/app/json/decoder.py"], &[1]);
        check(&["/a/lib/python3.11/json/decoder.py"], &["/b/lib/python3.13/json/decoder.py"], &[0]);
        check(&["/a/site-packages/ujson/decoder.py"], &["/b/dist-packages/ujson/decoder.py"], &[0]);
        check(&["/a/lib/python3.13/json/decoder.py"], &["/a/lib/python3.13/site-packages/json/decoder.py"], &[1]);
        // Moved within its package; and an egg has its version in the path.
        check(&["/a/site-packages/numpy/core/x.py"], &["/a/site-packages/numpy/_core/x.py"], &[0]);
        check(&["/a/site-packages/foo-1.0.egg/foo/x.py"], &["/a/site-packages/foo-1.1.egg/foo/x.py"], &[0]);
    }

    #[test]
    fn the_programs_own_file_may_have_another_name() {
        let mut files = Files::default();
        files.add(["/app/slow.py", "/app/db.py"].into_iter(), Some("/app/slow.py"), &|_| None);
        let found = files.add(["/app/db.py", "/app/fast.py"].into_iter(), Some("/app/fast.py"), &|_| None);
        assert_eq!((found["/app/fast.py"], found["/app/db.py"]), (FileIndex(1), FileIndex(0)));
        assert_eq!(files.path(FileIndex(1)), "/app/fast.py");
        // One that was there before keeps its own rows.
        let found = files.add(["/app/db.py", "/app/fast.py"].into_iter(), Some("/app/db.py"), &|_| None);
        assert_eq!((found["/app/fast.py"], found["/app/db.py"]), (FileIndex(1), FileIndex(0)));
    }

    /// Each recording as `path=text path=text`; the indices of the files of the last one.
    fn check_texts(recordings: &[&str], expected: &[usize]) {
        let mut files = Files::default();
        let mut found = Vec::new();
        for recording in recordings {
            let recording: &'static str = String::from(*recording).leak();
            let read = |word: &'static str| {
                let (path, text) = word.split_once('=').expect("a text");
                let text: &'static str = text.replace(',', "\n").leak();
                (path, text)
            };
            let texts: Vec<(&'static str, &'static str)> = recording.split(' ').map(read).collect();
            let text = |path: &str| texts.iter().find(|(other, _)| *other == path).map(|(_, text)| *text);
            let index_of = files.add(texts.iter().map(|(path, _)| *path), None, &text);
            found = texts.iter().map(|(path, _)| index_of[*path].0).collect();
        }
        assert_eq!(found, expected, "{recordings:?}");
    }

    #[test]
    fn a_file_whose_name_another_one_took_is_where_its_text_is() {
        check_texts(&["/a.py=1,2,3", "/a.py=7,8 /old.py=1,2,3"], &[1, 0]);
        check_texts(&["/a.py=1,2,3", "/a.py=7,8 /old.py=1,2,3", "/a.py=7,8,9 /old.py=1,2,3"], &[1, 0]);
        // Two change their names.
        check_texts(&["/a.py=1,2,3 /b.py=7,8", "/a.py=7,8 /b.py=1,2,3"], &[1, 0]);
        // And one takes that of a file that is gone.
        check_texts(&["/a.py=1,2 /b.py=5,6", "/a.py=7,8 /b.py=1,2", "/a.py=7,8 /b.py=1,2,3"], &[2, 0]);
        // Edited, and a copy of what it was is beside it.
        check_texts(&["/a.py=1,2,3", "/a.py=1,2,4 /old.py=1,2,3"], &[0, 1]);
        // Two have its text, or had it.
        check_texts(&["/a.py=1,2", "/a.py=7,8 /b.py=1,2 /c.py=1,2"], &[0, 1, 2]);
        check_texts(&["/a.py=1,2 /b.py=1,2", "/a.py=7,8 /b.py=1,2"], &[0, 1]);
        check_texts(&["/a.py=1,2 /b.py=1,2", "/a.py=7,8 /b.py=7,9 /c.py=1,2"], &[0, 1, 2]);
    }
}
