//! Files that exist only while a request is under way: recordings that are put together, and objects that are being written.
//! Owns: their names, and that none outlives a killed server for long. Never: removes a file that somebody may still write.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use tempfile::NamedTempFile;

/// The folder may be the system's, where others have files.
const PREFIX: &str = "genba-serve-";
/// Of earlier versions, in a folder of our own.
const EARLIER_PREFIX: &str = ".tmp";
/// No request takes that long: a file that was not written to since is a killed server's.
const KEPT: Duration = Duration::from_secs(6 * 3_600);

pub fn make(folder: &Path) -> std::io::Result<NamedTempFile> {
    tempfile::Builder::new().prefix(PREFIX).tempfile_in(folder)
}

/// Of the folder for scratch files, not of those below it. Returns how many were removed.
pub fn clear(folder: &Path) -> u64 {
    let is_own = folder != std::env::temp_dir();
    // As `tempfile` ends a name.
    let is_random = |rest: &str| rest.len() == 6 && rest.bytes().all(|letter| letter.is_ascii_alphanumeric());
    clear_old(folder, false, &|name| {
        name.strip_prefix(PREFIX).is_some_and(is_random) || (is_own && name.starts_with(EARLIER_PREFIX))
    })
}

/// Below a folder of objects: `object_store` writes `NAME#1` and renames it. No object's name has a `#`.
pub fn clear_staged(folder: &Path) -> u64 {
    clear_old(folder, true, &|name| {
        name.rsplit_once('#').is_some_and(|(_, number)| number.bytes().all(|letter| letter.is_ascii_digit()))
    })
}

fn clear_old(folder: &Path, goes_below: bool, is_scratch: &impl Fn(&str) -> bool) -> u64 {
    let own_user = rustix::process::geteuid().as_raw();
    let mut removed = 0;
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        // Not of what a symbolic link leads to.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            removed += if goes_below { clear_old(&entry.path(), true, is_scratch) } else { 0 };
        } else if entry.file_name().to_str().is_some_and(is_scratch) {
            let found = entry.metadata().ok().filter(|found| found.uid() == own_user);
            let written = found.and_then(|found| found.modified().ok());
            let is_old = written.and_then(|time| time.elapsed().ok()).is_some_and(|age| age > KEPT);
            removed += u64::from(is_old && std::fs::remove_file(entry.path()).is_ok());
        }
    }
    removed
}
