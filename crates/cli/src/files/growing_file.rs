//! A file that somebody still writes: in which state it is, what became of it since it was opened, and its bytes as they come.
//! Owns: how it is noticed that there is more to show. `genba top` reads on (`GrowingFile`); a page of `genba view` is made anew where the
//! state is another one (`FileState`). Never: decodes, waits, writes. The server follows no file: its database tells how far an upload is.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::files::identity::FileIdentity;
use crate::files::own_file::Content;

/// Read at a time.
const PIECE_BYTES: usize = 1 << 20;

/// How a file is at one moment: where another state is found later, there may be more to show.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct FileState {
    identity: FileIdentity,
    bytes: u64,
    changed_ns: i128,
}

impl FileState {
    /// None: no file has this name.
    pub fn of(path: &Path) -> Option<FileState> {
        let found = std::fs::metadata(path).ok()?;
        let changed_ns = i128::from(found.mtime()) * 1_000_000_000 + i128::from(found.mtime_nsec());
        Some(FileState { identity: FileIdentity::of(&found), bytes: found.len(), changed_ns })
    }
}

/// What has become of a file since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fate {
    #[default]
    Same,
    /// It has fewer bytes than were read.
    Truncated,
    /// Another file has its name.
    Replaced,
    Removed,
}

/// An open file, as far as it was read.
pub struct GrowingFile {
    path: PathBuf,
    file: File,
    opened: FileIdentity,
    read_bytes: u64,
}

impl GrowingFile {
    pub fn open(path: &Path) -> io::Result<GrowingFile> {
        let file = File::open(path)?;
        let opened = FileIdentity::of(&file.metadata()?);
        Ok(GrowingFile { path: path.to_path_buf(), file, opened, read_bytes: 0 })
    }

    /// The name that it had.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn content(&self) -> io::Result<Content> {
        Content::of(&self.file)
    }

    pub fn fate(&self) -> Fate {
        let now_bytes = self.file.metadata().map_or(0, |found| found.len());
        if now_bytes < self.read_bytes {
            return Fate::Truncated;
        }
        match FileIdentity::at(&self.path) {
            Some(found) if found == self.opened => Fate::Same,
            Some(_) => Fate::Replaced,
            None => Fate::Removed,
        }
    }

    pub const fn read_bytes(&self) -> u64 {
        self.read_bytes
    }

    /// Seconds since it last grew.
    pub fn quiet_seconds(&self) -> u64 {
        let written = self.file.metadata().and_then(|found| found.modified()).ok();
        let age = written.and_then(|written| SystemTime::now().duration_since(written).ok());
        age.map_or(0, |age| age.as_secs())
    }

    /// Gives `take` what it has grown by, in pieces.
    pub fn advance(&mut self, mut take: impl FnMut(&[u8])) -> io::Result<()> {
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            let bytes = match self.file.read_at(&mut piece, self.read_bytes) {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let Some(read) = piece.get(..bytes).filter(|read| !read.is_empty()) else { return Ok(()) };
            take(read);
            self.read_bytes += bytes as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn taken(growing: &mut GrowingFile) -> Vec<u8> {
        let mut taken = Vec::new();
        growing.advance(|piece| taken.extend_from_slice(piece)).expect("read");
        taken
    }

    #[test]
    fn each_byte_comes_once() {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        let mut growing = GrowingFile::open(file.path()).expect("opened");
        assert_eq!((taken(&mut growing), growing.read_bytes()), (Vec::new(), 0));
        file.write_all(b"first").expect("written");
        assert_eq!((taken(&mut growing), growing.read_bytes()), (b"first".to_vec(), 5));
        let more = vec![7_u8; PIECE_BYTES + 3];
        file.write_all(&more).expect("written");
        assert!(taken(&mut growing) == more, "more than a piece");
        assert_eq!((taken(&mut growing), growing.read_bytes()), (Vec::new(), PIECE_BYTES as u64 + 8));
    }

    #[test]
    fn what_becomes_of_the_file_is_noticed() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, moved) = (folder.path().join("a.genba"), folder.path().join("b.genba"));
        std::fs::write(&path, "four").expect("written");
        let mut growing = GrowingFile::open(&path).expect("opened");
        assert_eq!((taken(&mut growing), growing.fate()), (b"four".to_vec(), Fate::Same));
        std::fs::rename(&path, &moved).expect("moved");
        assert_eq!(growing.fate(), Fate::Removed);
        std::fs::write(&path, "another").expect("written");
        assert_eq!(growing.fate(), Fate::Replaced);
        std::fs::write(&moved, "3").expect("written");
        assert_eq!(growing.fate(), Fate::Truncated);
    }

    #[test]
    fn a_state_is_another_one_when_the_file_grew_or_is_another_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, other) = (folder.path().join("a.genba"), folder.path().join("b.genba"));
        assert!(FileState::of(&path).is_none());
        std::fs::write(&path, "four").expect("written");
        let before = FileState::of(&path);
        assert!(before.is_some() && before == FileState::of(&path));
        std::fs::write(&path, "more than four").expect("written");
        let after = FileState::of(&path);
        assert!(after != before, "it grew");
        std::fs::write(&other, "more than four").expect("written");
        std::fs::rename(&other, &path).expect("moved");
        assert!(FileState::of(&path) != after, "another file has its name");
    }
}
