//! Files that exist only while a request or a chore is under way: recordings that are put together, objects that are being written, rows that move.
//! Owns: their names, and that none outlives a killed server for long. Never: removes a file that somebody may still write.

use std::fs::DirEntry;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use tempfile::{NamedTempFile, TempDir};

/// The folder may be the system's, where others have files.
const PREFIX: &str = "genba-serve-";
/// Of earlier versions, in a folder of our own.
const EARLIER_PREFIX: &str = ".tmp";
/// No request takes that long: a file that was not written to since is a killed server's.
const KEPT: Duration = Duration::from_secs(6 * 3_600);
/// A folder is a chore's, which may copy for days and write nothing into it meanwhile.
const FOLDER_KEPT: Duration = Duration::from_secs(7 * 24 * 3_600);

pub fn make(folder: &Path) -> std::io::Result<NamedTempFile> {
    tempfile::Builder::new().prefix(PREFIX).tempfile_in(folder)
}

/// For a chore, in a folder of our own.
pub fn make_folder(folder: &Path) -> std::io::Result<TempDir> {
    tempfile::Builder::new().prefix(PREFIX).tempdir_in(folder)
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
        if is_folder && entry.file_name().to_str().is_some_and(is_scratch) && is_older(&entry, FOLDER_KEPT) {
            removed += u64::from(std::fs::remove_dir_all(entry.path()).is_ok());
        }
    }
    removed
}

/// This user's, and not written to for so long.
fn is_older(entry: &DirEntry, kept: Duration) -> bool {
    let own_user = rustix::process::geteuid().as_raw();
    let found = entry.metadata().ok().filter(|found| found.uid() == own_user);
    let written = found.and_then(|found| found.modified().ok());
    written.and_then(|time| time.elapsed().ok()).is_some_and(|age| age > kept)
}
