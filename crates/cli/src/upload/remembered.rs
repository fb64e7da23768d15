//! Uploads that did not come to their end, by server, content, name and tags: the same push goes on where one stopped.
//! Owns: one small file for each, mode 0600, in genba's cache folder. Never: holds a token; fails a push.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;
use sha2::{Digest, Sha256};

use super::address::Server;
use super::client::{New, is_id};
use crate::files::cache_folder::{check_owned, folders, put};

const FOLDER: &str = "uploads";
/// Servers do not keep unfinished ones for longer.
const AGE_MAX: Duration = Duration::from_secs(30 * 24 * 3600);
const ID_BYTES_MAX: u64 = 100;

/// Where one upload is remembered. None: no folder of our own can be written.
pub struct Remembered(Option<PathBuf>);

impl Remembered {
    /// Under another name, or with other tags, it is another recording: an upload keeps those that it began with.
    pub fn of(server: &Server, sha256: &str, new: &New) -> Remembered {
        let mut hash = Sha256::new();
        for word in [server.shown(), sha256, &new.name].into_iter().chain(new.tags.iter().map(String::as_str)) {
            hash.update(word);
            // No word of a command line has one.
            hash.update(b"\0");
        }
        let name: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Remembered(folders().find_map(|folder| usable(&folder)).map(|folder| folder.join(name)))
    }

    pub fn load(&self) -> Option<String> {
        let path = self.0.as_deref()?;
        let file = OpenOptions::new().read(true).custom_flags(no_follow()).open(path).ok()?;
        check_owned(&file.metadata().ok()?, false).ok()?;
        let mut id = String::new();
        file.take(ID_BYTES_MAX).read_to_string(&mut id).ok()?;
        Some(id).filter(|id| is_id(id))
    }

    /// Put in place at once: another push may be reading it. What cannot be remembered is sent anew.
    pub fn store(&self, id: &str) {
        let Some(path) = self.0.as_deref() else { return };
        if let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(OsStr::to_str)) {
            let _ = put(folder, name, 0o600, id.as_bytes());
        }
    }

    pub fn forget(&self) {
        if let Some(path) = self.0.as_deref() {
            let _ = fs::remove_file(path);
        }
    }
}

fn usable(cache: &Path) -> Option<PathBuf> {
    let folder = cache.join(FOLDER);
    DirBuilder::new().recursive(true).mode(0o700).create(&folder).ok()?;
    for ours in [cache, &folder] {
        check_owned(&fs::symlink_metadata(ours).ok()?, true).ok()?;
    }
    for entry in fs::read_dir(&folder).ok()?.flatten() {
        let age = entry.metadata().and_then(|found| found.modified()).ok().and_then(|time| time.elapsed().ok());
        if age.is_some_and(|age| age > AGE_MAX) {
            let _ = fs::remove_file(entry.path());
        }
    }
    Some(folder)
}

fn no_follow() -> i32 {
    i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or(0)
}
