//! Where genba keeps what it can make again: its library, names of C functions.
//! Owns: which folder that is, and who may have written there. Never: trusts what somebody else could have written.

use std::fs::{self, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// No genba writes a file for so long: what is unfinished and older was left by one that was killed.
const UNFINISHED_MAX: Duration = Duration::from_hours(1);

/// The user's cache, else a folder of their own in /tmp.
pub fn folders() -> impl Iterator<Item = PathBuf> {
    let named = |variable: &str| std::env::var_os(variable).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let cache = named("XDG_CACHE_HOME").or_else(|| named("HOME").map(|home| home.join(".cache")));
    let own = format!("/tmp/genba-{}", rustix::process::geteuid().as_raw());
    cache.map(|cache| cache.join("genba")).into_iter().chain([PathBuf::from(own)])
}

/// Of genba's libraries. What root starts may go on as a user who cannot look into root's own folders, so that the system's comes first, where root
/// named no other one: not where it is missing, or another user's, as for the root of a user namespace.
pub fn folders_of_libraries() -> impl Iterator<Item = PathBuf> {
    let is_named = std::env::var_os("XDG_CACHE_HOME").is_some_and(|folder| Path::new(&folder).is_absolute());
    let of_system = (is_root() && !is_named).then_some(Path::new("/var/cache"));
    let is_roots = |cache: &&Path| fs::metadata(cache).is_ok_and(|found| check_owned(&found, true).is_ok());
    of_system.filter(is_roots).map(|cache| cache.join("genba")).into_iter().chain(folders())
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Ours, and nobody else may write to it.
pub fn check_owned(found: &fs::Metadata, is_folder: bool) -> Result<(), String> {
    let owner = found.uid();
    if found.is_dir() != is_folder {
        return Err(format!("it is not a {}", if is_folder { "folder" } else { "file" }));
    }
    if owner != rustix::process::geteuid().as_raw() {
        return Err(format!("it belongs to another user (uid {owner})"));
    }
    if found.mode() & 0o022 != 0 {
        return Err(format!("others may write to it (mode {:o})", found.mode() & 0o7777));
    }
    Ok(())
}

/// Puts a whole file in place at once, under its name or not at all: other genbas may be reading it, or doing the same, in containers with the same
/// pids too.
pub fn put(folder: &Path, name: &str, mode: u32, bytes: &[u8]) -> io::Result<()> {
    remove_unfinished(folder);
    let unfinished = folder.join(format!(".{name}.{:016x}", RandomState::new().hash_one(0)));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&unfinished)?;
    let written = file.write_all(bytes).and_then(|()| fs::rename(&unfinished, folder.join(name)));
    if written.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    written
}

fn remove_unfinished(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_name().as_encoded_bytes().starts_with(b".")) {
        let age = entry.metadata().and_then(|found| found.modified()).ok().and_then(|time| time.elapsed().ok());
        if age.is_some_and(|age| age > UNFINISHED_MAX) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{UNFINISHED_MAX, put};
    use std::fs;
    use std::time::{Duration, SystemTime};

    /// Threads, which have one pid, as processes of two containers may.
    #[test]
    fn files_are_whole_and_what_a_killed_process_left_goes() {
        let folder = std::env::temp_dir().join(format!("genba-put-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        for (name, age) in [(".old", UNFINISHED_MAX + Duration::from_secs(60)), (".new", Duration::ZERO)] {
            fs::write(folder.join(name), "unfinished").unwrap();
            let file = fs::File::options().write(true).open(folder.join(name)).unwrap();
            file.set_modified(SystemTime::now() - age).unwrap();
        }
        let content = vec![b'x'; 1 << 20];
        put(&folder, "file", 0o600, &content).unwrap();
        std::thread::scope(|scope| {
            let write = || (0..40).for_each(|_| put(&folder, "file", 0o600, &content).unwrap());
            let writers: Vec<_> = (0..2).map(|_| scope.spawn(write)).collect();
            while writers.iter().any(|writer| !writer.is_finished()) {
                assert!(fs::read(folder.join("file")).unwrap() == content, "a file that is not whole");
            }
        });
        let mut names: Vec<_> =
            fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        assert_eq!(names, [".new", "file"]);
        fs::remove_dir_all(&folder).unwrap();
    }
}
