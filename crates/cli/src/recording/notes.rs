//! What processes that are traced tell the command: which files they wrote, and what kept them from it.
//! Owns: the memory file for that, for as long as genba runs. Never: waits for a process. Partner: crates/agent/src/tracing/file.rs.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rustix::fs::{MemfdFlags, SeekFrom, fstat, memfd_create, seek};

pub struct Notes {
    file: OwnedFd,
    device: u64,
    inode: u64,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Note {
    /// A file, by its whole path.
    Wrote(PathBuf),
    /// Why a process was not traced, or not to its end.
    Refused(String),
}

impl Notes {
    /// `None`: the kernel has no such files, or no memory. Then only the file that was asked for is found.
    pub fn create() -> Option<Notes> {
        let file = memfd_create("genba", MemfdFlags::CLOEXEC).ok()?;
        let found = fstat(&file).ok()?;
        Some(Notes { file, device: found.st_dev, inode: found.st_ino })
    }

    /// What the agent finds it by.
    pub fn name(&self) -> String {
        format!("{},{},/proc/{}/fd/{}", self.device, self.inode, std::process::id(), self.file.as_raw_fd())
    }

    pub fn read(self) -> Vec<Note> {
        let mut bytes = Vec::new();
        let read = seek(&self.file, SeekFrom::Start(0)).map_err(Into::into);
        match read.and_then(|_| File::from(self.file).read_to_end(&mut bytes)) {
            Ok(_) => parsed(&bytes),
            Err(_) => Vec::new(),
        }
    }
}

fn parsed(bytes: &[u8]) -> Vec<Note> {
    let note = |note: &[u8]| match note.split_first()? {
        (b'+', path) => Some(Note::Wrote(OsStr::from_bytes(path).into())),
        (b'-', words) => Some(Note::Refused(String::from_utf8_lossy(words).into_owned())),
        _ => None,
    };
    bytes.split(|byte| *byte == 0).filter_map(note).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_read_in_order() {
        assert_eq!(
            parsed(b"+/a/app.prof\0-no room\0?\0"),
            [Note::Wrote("/a/app.prof".into()), Note::Refused("no room".to_owned())]
        );
    }
}
