//! Facts that were learned once, kept from one run to the next: to learn those of an interpreter takes a tenth of a second or more.
//! Owns: the folder `names` in genba's cache folder, and what makes a file in it count. Never: trusts one that somebody else could have
//! written, keeps more than `FOLDER_BYTES_MAX`, tells of a failure: without that folder everything is learned anew.
//! Keeps: facts are those of the very file that was mapped, with the debug files that lay where they are looked for, by this genba.

mod file;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use genba_profile::hits::HitModule;
use rustix::fs::OFlags;
use sha2::{Digest, Sha256};

use self::file::{KeptFile, encode};
use super::elf_files::{self, LookedFor, identity};
use super::facts::Facts;
use super::root::Root;
use crate::files::cache_folder::{check_owned, folders, put};

const FILE_BYTES_MAX: u64 = 64 << 20;
/// What was written longest ago goes first, until half of this is left.
const FOLDER_BYTES_MAX: u64 = 256 << 20;

/// Where the facts of one module are kept.
pub struct Kept {
    folder: PathBuf,
    name: String,
}

impl Kept {
    /// `None`: there is no folder to keep them in, or no file of this module. `known`: what the dynamic linker told of it.
    pub fn of(root: &Root, module: &HitModule, known: &BTreeMap<u64, String>) -> Option<Kept> {
        let folder = folders().find(|folder| can_be_used(folder))?.join("names");
        Kept::in_folder(folder, root, module, known)
    }

    fn in_folder(folder: PathBuf, root: &Root, module: &HitModule, known: &BTreeMap<u64, String>) -> Option<Kept> {
        let mut hasher = Sha256::new();
        hasher.update(identity(&Root::OWN, Path::new("/proc/self/exe"))?);
        if elf_files::is_vdso(&module.path) {
            // No file; the kernel's build has an id.
            module.build_id.first()?;
        } else {
            hasher.update(identity(root, Path::new(&module.path))?);
        }
        hasher.update(&module.build_id);
        for (address, name) in known {
            hasher.update(address.to_le_bytes());
            hasher.update(name);
            hasher.update([0]);
        }
        let name = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Some(Kept { folder, name })
    }

    /// What is kept of the code around `addresses`, or all of it. `None`: nothing is kept, or it counts no longer.
    pub fn read(&self, root: &Root, addresses: Option<&BTreeSet<u64>>) -> Option<Facts> {
        if !is_private(&self.folder) {
            return None;
        }
        let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).ok()?;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(self.folder.join(&self.name)).ok()?;
        let found = file.metadata().ok()?;
        if check_owned(&found, false).is_err() || !found.is_file() || found.len() > FILE_BYTES_MAX {
            return None;
        }
        let read = |offset: u64, count: usize| {
            let mut bytes = vec![0; count];
            file.read_exact_at(&mut bytes, offset).ok().map(|()| bytes)
        };
        let kept = KeptFile::of(read, found.len())?;
        if !kept.looked_for().iter().all(|looked_for| looked_for.still_holds(root)) {
            return None;
        }
        kept.facts(addresses)
    }

    /// A whole new file, put in place at once: another genba may be doing the same, or reading. `looked_for`: where the file with the
    /// symbols may lie.
    pub fn write(&self, facts: &Facts, looked_for: Vec<LookedFor>) {
        let bytes = encode(facts, looked_for);
        if bytes.len() as u64 > FILE_BYTES_MAX {
            return;
        }
        let _ = DirBuilder::new().mode(0o700).create(&self.folder);
        if is_private(&self.folder) {
            let _ = put(&self.folder, &self.name, 0o600, &bytes);
        }
    }

    /// Once, after all that was learned is written: it looks at each file of the folder.
    pub fn make_room(&self) {
        if is_private(&self.folder) {
            make_room(&self.folder, FOLDER_BYTES_MAX);
        }
    }
}

/// Made where it is missing: root's library is in another folder, so that nobody else may have made this one.
fn can_be_used(cache: &Path) -> bool {
    let _ = DirBuilder::new().recursive(true).mode(0o700).create(cache);
    is_private(cache)
}

fn is_private(folder: &Path) -> bool {
    fs::symlink_metadata(folder).is_ok_and(|found| check_owned(&found, true).is_ok())
}

/// Removes what was written longest ago when all files together are larger than `bytes_max`.
fn make_room(folder: &Path, bytes_max: u64) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let facts = |entry: fs::DirEntry| -> Option<(SystemTime, u64, PathBuf)> {
        let found = entry.metadata().ok()?;
        Some((found.modified().ok()?, found.len(), entry.path()))
    };
    let mut files: Vec<_> = entries.flatten().filter_map(facts).collect();
    let mut bytes: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
    if bytes <= bytes_max {
        return;
    }
    files.sort();
    for (_, file_bytes, path) in files {
        if bytes <= bytes_max / 2 {
            return;
        }
        if fs::remove_file(path).is_ok() {
            bytes -= file_bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Kept, make_room};
    use crate::finish::elf_files::LookedFor;
    use crate::finish::facts::Facts;
    use crate::finish::root::Root;
    use genba_names::Names;
    use genba_profile::hits::HitModule;
    use std::collections::{BTreeMap, BTreeSet};
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::{Path, PathBuf};
    use std::time::{Duration, SystemTime};

    const SHOP: &[u8] = include_bytes!("../../../names/tests/shop/shop.so");

    fn facts() -> Facts {
        let names = Names::new(SHOP, None, &[]).unwrap();
        let mut facts = Facts::default();
        facts.learn(&names, &BTreeSet::new());
        facts
    }

    /// A folder of its own for each test, removed at its end, with `shop.so` in it.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("genba-kept-names-{}-{name}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join("shop.so"), SHOP).unwrap();
            Folder(path)
        }

        fn kept(&self) -> Kept {
            self.kept_of(b"build", &BTreeMap::new()).unwrap()
        }

        fn kept_of(&self, build_id: &[u8], known: &BTreeMap<u64, String>) -> Option<Kept> {
            let path = self.0.join("shop.so").to_str().unwrap().to_owned();
            Kept::in_folder(self.0.join("names"), &Root::OWN, &HitModule { path, build_id: build_id.to_vec() }, known)
        }

        fn files(&self) -> usize {
            fs::read_dir(self.0.join("names")).unwrap().count()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn allow(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn what_is_written_is_read_again() {
        let folder = Folder::new("again");
        assert_eq!(folder.kept().read(&Root::OWN, None), None);
        folder.kept().write(&facts(), Vec::new());
        assert_eq!(folder.kept().read(&Root::OWN, None), Some(facts()));
        assert_eq!(folder.files(), 1, "nothing unfinished is left");
    }

    #[test]
    fn another_file_has_facts_of_its_own() {
        let folder = Folder::new("other");
        folder.kept().write(&facts(), Vec::new());
        assert_eq!(folder.kept_of(b"other", &BTreeMap::new()).unwrap().read(&Root::OWN, None), None);
        assert_eq!(
            folder.kept_of(b"build", &BTreeMap::from([(1, "memmove".to_owned())])).unwrap().read(&Root::OWN, None),
            None
        );
        // The same bytes, put there anew.
        fs::remove_file(folder.0.join("shop.so")).unwrap();
        fs::write(folder.0.join("shop.so"), SHOP).unwrap();
        assert_eq!(folder.kept().read(&Root::OWN, None), None);
        fs::remove_file(folder.0.join("shop.so")).unwrap();
        assert!(folder.kept_of(b"build", &BTreeMap::new()).is_none());
    }

    #[test]
    fn the_vdso_is_known_by_its_build_id() {
        let folder = Folder::new("vdso");
        let vdso = |build_id: &[u8]| {
            let module = HitModule { path: "linux-vdso.so.1".to_owned(), build_id: build_id.to_vec() };
            Kept::in_folder(folder.0.join("names"), &Root::OWN, &module, &BTreeMap::new())
        };
        vdso(b"kernel").unwrap().write(&facts(), Vec::new());
        assert_eq!(vdso(b"kernel").unwrap().read(&Root::OWN, None), Some(facts()));
        assert_eq!(vdso(b"other").unwrap().read(&Root::OWN, None), None);
        assert!(vdso(b"").is_none());
    }

    #[test]
    fn a_debug_file_that_comes_or_goes_ends_them() {
        let folder = Folder::new("debug");
        let debug = folder.0.join("shop.debug");
        folder.kept().write(&facts(), vec![LookedFor::now(&Root::OWN, &debug)]);
        assert!(folder.kept().read(&Root::OWN, None).is_some());
        fs::write(&debug, b"symbols").unwrap();
        assert_eq!(folder.kept().read(&Root::OWN, None), None);
        folder.kept().write(&facts(), vec![LookedFor::now(&Root::OWN, &debug)]);
        assert!(folder.kept().read(&Root::OWN, None).is_some());
        fs::remove_file(&debug).unwrap();
        assert_eq!(folder.kept().read(&Root::OWN, None), None);
    }

    #[test]
    fn only_private_files_count() {
        let folder = Folder::new("private");
        folder.kept().write(&facts(), Vec::new());
        let names = folder.0.join("names");
        let file = names.join(folder.kept().name);
        for (path, open, private) in [(&file, 0o620, 0o600), (&names, 0o702, 0o700)] {
            allow(path, open);
            assert_eq!(folder.kept().read(&Root::OWN, None), None);
            allow(path, private);
            assert!(folder.kept().read(&Root::OWN, None).is_some());
        }
        fs::rename(&file, names.join("elsewhere")).unwrap();
        symlink(names.join("elsewhere"), &file).unwrap();
        assert_eq!(folder.kept().read(&Root::OWN, None), None);
        folder.kept().write(&facts(), Vec::new());
        assert!(folder.kept().read(&Root::OWN, None).is_some(), "a link gives way to a file");
    }

    #[test]
    fn the_oldest_make_room() {
        let folder = Folder::new("room");
        let names = folder.0.join("names");
        fs::create_dir(&names).unwrap();
        let begin = SystemTime::now() - Duration::from_hours(1);
        for (number, name) in (0..).zip(["c", "a", "d", "b"]) {
            let file = fs::File::create(names.join(name)).unwrap();
            file.set_len(100).unwrap();
            file.set_modified(begin + Duration::from_secs(number)).unwrap();
        }
        make_room(&names, 400);
        assert_eq!(folder.files(), 4);
        make_room(&names, 399);
        let mut left: Vec<_> = fs::read_dir(&names).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["b"]);
    }

    #[test]
    fn without_a_folder_nothing_is_kept() {
        let folder = Folder::new("without");
        fs::write(folder.0.join("names"), b"a file").unwrap();
        folder.kept().write(&facts(), Vec::new());
        assert_eq!(folder.kept().read(&Root::OWN, None), None);
    }
}
