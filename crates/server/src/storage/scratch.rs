//! Files that exist only while a request or a chore is under way: recordings that are put together, objects that are being written, rows that move.
//! Owns: their names, and that none outlives a killed server for long. Never: removes a file that somebody may still write.

use std::fs::{DirEntry, File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use tempfile::{NamedTempFile, TempDir};

/// The folder may be the system's, where others have files.
const PREFIX: &str = "genba-serve-";
/// Of earlier versions, in a folder of our own.
const EARLIER_PREFIX: &str = ".tmp";
/// No request takes that long: a file that was not written to since is a killed server's.
const KEPT: Duration = Duration::from_secs(6 * 3_600);
/// In a chore's folder: locked as long as the chore lives.
const HELD: &str = "held";
/// Of a folder in which nothing is locked: of an earlier version, or on a file system without locks. Its chore may copy for days and write nothing
/// into it meanwhile.
const FOLDER_KEPT: Duration = Duration::from_secs(7 * 24 * 3_600);

pub fn make(folder: &Path) -> std::io::Result<NamedTempFile> {
    tempfile::Builder::new().prefix(PREFIX).tempfile_in(folder)
}

/// A chore's, which nobody clears while the chore lives.
pub struct Folder {
    folder: TempDir,
    /// None: the file system knows no locks.
    _held: Option<File>,
}

impl Folder {
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// For a chore, in a folder of our own.
pub fn make_folder(folder: &Path) -> std::io::Result<Folder> {
    let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(folder)?;
    let held = hold(folder.path()).ok();
    Ok(Folder { folder, _held: held })
}

/// It is locked before it has its name: one that is found unlocked is a killed chore's.
fn hold(folder: &Path) -> std::io::Result<File> {
    let held = NamedTempFile::new_in(folder)?;
    flock(held.as_file(), FlockOperation::NonBlockingLockExclusive)?;
    Ok(held.persist(folder.join(HELD))?)
}

/// Of the folder for scratch files: those in it, and the folders of killed chores. Returns how many were removed.
pub fn clear(folder: &Path) -> u64 {
    let is_own = folder != std::env::temp_dir();
    // As `tempfile` ends a name.
    let is_random = |rest: &str| rest.len() == 6 && rest.bytes().all(|letter| letter.is_ascii_alphanumeric());
    let is_scratch =
        |name: &str| name.strip_prefix(PREFIX).is_some_and(is_random) || (is_own && name.starts_with(EARLIER_PREFIX));
    clear_old(folder, false, &is_scratch) + if is_own { clear_folders(folder, &is_scratch) } else { 0 }
}

/// Below a folder of objects: `object_store` writes `NAME#1` and renames it. No object's name has a `#`.
pub fn clear_staged(folder: &Path) -> u64 {
    clear_old(folder, true, &|name| {
        name.rsplit_once('#').is_some_and(|(_, number)| number.bytes().all(|letter| letter.is_ascii_digit()))
    })
}

fn clear_old(folder: &Path, goes_below: bool, is_scratch: &impl Fn(&str) -> bool) -> u64 {
    let mut removed = 0;
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        // Not of what a symbolic link leads to.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            removed += if goes_below { clear_old(&entry.path(), true, is_scratch) } else { 0 };
        } else if entry.file_name().to_str().is_some_and(is_scratch) {
            removed += u64::from(is_older(&entry, KEPT) && std::fs::remove_file(entry.path()).is_ok());
        }
    }
    removed
}

fn clear_folders(folder: &Path, is_scratch: &impl Fn(&str) -> bool) -> u64 {
    let mut removed = 0;
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && entry.file_name().to_str().is_some_and(is_scratch) && is_left(&entry) {
            removed += u64::from(std::fs::remove_dir_all(entry.path()).is_ok());
        }
    }
    removed
}

/// A folder of this user's, whose chore is gone.
fn is_left(entry: &DirEntry) -> bool {
    // Closed, and with that unlocked, before the folder is removed: nobody comes back to it.
    let locked = File::options()
        .write(true)
        .open(entry.path().join(HELD))
        .map(|held| flock(&held, FlockOperation::NonBlockingLockExclusive));
    match locked {
        Ok(Ok(())) => own(entry).is_some(),
        Ok(Err(Errno::WOULDBLOCK)) => false,
        Ok(Err(_)) | Err(_) => is_older(entry, FOLDER_KEPT),
    }
}

/// None: it is another user's, or gone.
fn own(entry: &DirEntry) -> Option<Metadata> {
    let own_user = rustix::process::geteuid().as_raw();
    entry.metadata().ok().filter(|found| found.uid() == own_user)
}

/// This user's, and not written to for so long.
fn is_older(entry: &DirEntry, kept: Duration) -> bool {
    let written = own(entry).and_then(|found| found.modified().ok());
    written.and_then(|time| time.elapsed().ok()).is_some_and(|age| age > kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_cleared_once_its_chore_is_gone() {
        let scratch = tempfile::tempdir().expect("a folder");
        let made = make_folder(scratch.path()).expect("a folder");
        std::fs::write(made.path().join("rows"), b"half").expect("a file");
        assert_eq!(clear(scratch.path()), 0);
        // As the kernel does when the chore is killed: the lock goes, and the folder stays.
        let Folder { folder, _held: held } = made;
        let path = folder.keep();
        drop(held.expect("a lock"));
        assert_eq!((clear(scratch.path()), path.exists()), (1, false));
        // One that ends by itself leaves nothing.
        drop(make_folder(scratch.path()).expect("a folder"));
        assert_eq!(std::fs::read_dir(scratch.path()).expect("a folder").count(), 0);
    }
}
