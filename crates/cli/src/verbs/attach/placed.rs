//! The agent and the recording where the process can open them: where they are, or in a private folder in its root.
//! Owns: that folder, with owner and mode, and that nothing of it stays. Never: follows a link of the process's, writes outside of the folder.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use genba_process::facts::Facts;
use genba_profile::figures;
use rustix::fs::{AtFlags, Dir, Gid, Mode, OFlags, ResolveFlags, StatVfsMountFlags, Uid};
use rustix::fs::{
    FallocateFlags, FlockOperation, chmodat, chownat, fallocate, fchown, flock, fstatvfs, mkdirat, openat, openat2,
    unlinkat,
};

use super::left_behind::{self, ABANDONED_AFTER};
use crate::recording::agent_file;
use crate::recording::output::Output;
use crate::words::failure::{self, Failure};

/// Folders of the process's root in which everybody may make files.
const FOLDERS: [&str; 3] = ["tmp", "var/tmp", "dev/shm"];
const RECORDING: &str = "recording.genba";
const ROWS: &str = "rows";
const PREFIX: &str = "genba-";

pub struct Place {
    /// As the process sees them.
    pub library: String,
    pub recording: PathBuf,
    file: File,
    folder: Option<Folder>,
    brought_bytes: u64,
}

/// A folder made for this one recording.
struct Folder {
    parent: OwnedFd,
    name: String,
    folder: OwnedFd,
}

impl Place {
    pub fn for_process(facts: &Facts, library: &Path, output: &Path) -> Result<Place, Failure> {
        let cannot = |error: std::io::Error| {
            Failure::no(format!("cannot open the recording {}: {}", output.display(), failure::of_system(&error)))
        };
        left_behind::remove();
        if sees_as_we_do(facts) {
            let file = OpenOptions::new().read(true).write(true).open(output).map_err(cannot)?;
            let library = library.to_str().ok_or_else(|| Failure::no("the path of genba's library is not UTF-8"))?;
            return Ok(Place {
                library: library.to_owned(),
                recording: output.to_owned(),
                file,
                folder: None,
                brought_bytes: 0,
            });
        }
        let mut refusals = Vec::new();
        for parent in FOLDERS {
            match Place::in_root(facts, parent) {
                Ok(place) => return Ok(place),
                Err(error) => refusals.push(format!("/{parent}: {}", failure::of_system(&error))),
            }
        }
        Err(nowhere(facts, refusals))
    }

    /// What `for_process` would say, as far as that can be known without writing.
    pub fn check(facts: &Facts) -> Result<(), Failure> {
        if sees_as_we_do(facts) {
            return Ok(());
        }
        let mut refusals = Vec::new();
        for parent in FOLDERS {
            match folder_of(facts, parent).and_then(|folder| check_mount(&folder)) {
                Ok(()) => return Ok(()),
                Err(error) => refusals.push(format!("/{parent}: {}", failure::of_system(&error))),
            }
        }
        Err(nowhere(facts, vec![refusals.join("; ")]))
    }

    fn in_root(facts: &Facts, parent: &str) -> std::io::Result<Place> {
        let parent_folder = folder_of(facts, parent)?;
        check_mount(&parent_folder)?;
        let (owner, group) = (Uid::from_raw(facts.users[1]), Gid::from_raw(facts.groups[1]));
        let is_ours = rustix::process::geteuid() == owner;
        let mut random = [0; 8];
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
        remove_abandoned(&parent_folder, owner);
        let name = format!("{PREFIX}{:016x}", u64::from_le_bytes(random));
        mkdirat(&parent_folder, &name, Mode::from_raw_mode(0o700))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let folder = openat(&parent_folder, &name, flags, Mode::empty())?;
        let folder = Folder { parent: parent_folder, name, folder };
        let made = folder.file(&agent_file::name(), 0o500).and_then(|mut file| file.write_all(agent_file::bytes()));
        let made = made.and_then(|()| folder.file(RECORDING, 0o600));
        let owned = made.and_then(|file| {
            if !is_ours {
                for name in [&agent_file::name(), RECORDING] {
                    chownat(&folder.folder, name, Some(owner), Some(group), AtFlags::SYMLINK_NOFOLLOW)?;
                }
                fchown(&folder.folder, Some(owner), Some(group))?;
            }
            Ok(file)
        });
        match owned {
            Ok(file) => {
                let inside = Path::new("/").join(parent).join(&folder.name);
                let library = inside.join(agent_file::name()).to_string_lossy().into_owned();
                Ok(Place { library, recording: inside.join(RECORDING), file, folder: Some(folder), brought_bytes: 0 })
            }
            Err(error) => {
                folder.remove();
                Err(error)
            }
        }
    }

    /// The right of the agents to go on.
    pub fn locked(&self) -> Result<Lock, Failure> {
        let cannot = |error: std::io::Error| {
            Failure::no(format!(
                "cannot lock the recording {}: {}",
                self.recording.display(),
                failure::of_system(&error)
            ))
            .hint("name a file on a local file system with -o")
        };
        // Another description of the file than the one that is read back: closing it gives the lock up.
        let file =
            File::open(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&self.file))).map_err(cannot)?;
        Lock::on(file).map_err(cannot)
    }

    /// The same of a file of genba's own, which is told from one left behind by it: both of them, where they are two.
    pub fn held(&self, own: &Path) -> Result<Held, Failure> {
        let place = self.locked()?;
        if self.recording == own {
            return Ok(Held { _locks: (place, None) });
        }
        let lock = File::open(own).and_then(Lock::on).map_err(|error| {
            Failure::no(format!("cannot lock the file {}: {}", own.display(), failure::of_system(&error)))
                .hint("TMPDIR=/path/to/folder genba …, on a local file system")
        })?;
        Ok(Held { _locks: (place, Some(lock)) })
    }

    /// The device and the inode of the file that is there for the process.
    pub fn identity(&self) -> Option<(u64, u64)> {
        self.file.metadata().ok().map(|found| (found.dev(), found.ino()))
    }

    /// All that is in the file by now, and no more than so much.
    pub fn content(&self, bytes_max: u64) -> std::io::Result<Vec<u8>> {
        let bytes = self.file.metadata()?.len().min(bytes_max);
        let mut content = vec![0; usize::try_from(bytes).unwrap_or(0)];
        self.file.read_exact_at(&mut content, 0)?;
        Ok(content)
    }

    /// What is in the file from there on, and no more than so much.
    pub fn content_from(&self, from: u64, bytes_max: u64) -> std::io::Result<Vec<u8>> {
        let bytes = self.file.metadata()?.len().saturating_sub(from).min(bytes_max);
        let mut content = vec![0; usize::try_from(bytes).unwrap_or(0)];
        self.file.read_exact_at(&mut content, from)?;
        Ok(content)
    }

    /// At the file's beginning.
    pub fn write_first(&self, bytes: &[u8]) -> std::io::Result<()> {
        self.file.write_all_at(bytes, 0)
    }

    /// Gives the disk back what was read: all but the first page. Not every file system can; then the file stays as large as it is.
    pub fn forget_before(&self, end: u64) {
        const PAGE_BYTES: u64 = 4096;
        if let Some(length) = end.checked_sub(PAGE_BYTES).filter(|length| *length > 0) {
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            let _ = fallocate(&self.file, flags, PAGE_BYTES, length);
        }
    }

    /// What the recording has grown by, to where the user wants it: of the file that genba made, whatever its name leads to by now.
    pub fn bring(&mut self, output: &Output) -> Result<(), Failure> {
        if self.folder.is_none() {
            return Ok(());
        }
        let brought = self.file.seek(SeekFrom::Start(self.brought_bytes)).and_then(|_| output.append(&mut self.file));
        self.brought_bytes += brought.map_err(|error| {
            Failure::no(format!("cannot write the recording {}: {}", output.shown, failure::of_system(&error)))
        })?;
        Ok(())
    }
}

/// Nothing of genba's stays in the process's root.
impl Drop for Place {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            folder.remove();
        }
    }
}

impl Folder {
    fn file(&self, name: &str, mode: u32) -> std::io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&self.folder, name, flags, Mode::from_raw_mode(0o600))?;
        chmodat(&self.folder, name, Mode::from_raw_mode(mode), AtFlags::empty())?;
        Ok(File::from(file))
    }

    /// The agent keeps what it compiled in a folder `rows` beside its file. Links are not followed.
    fn remove(&self) {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        if let Ok(rows) = openat(&self.folder, ROWS, flags, Mode::empty()) {
            for name in Dir::read_from(&rows).into_iter().flatten().flatten() {
                let _ = unlinkat(&rows, name.file_name(), AtFlags::empty());
            }
            let _ = unlinkat(&self.folder, ROWS, AtFlags::REMOVEDIR);
        }
        for name in [&agent_file::name(), RECORDING] {
            let _ = unlinkat(&self.folder, name, AtFlags::empty());
        }
        let _ = unlinkat(&self.parent, &self.name, AtFlags::REMOVEDIR);
    }
}

fn folder_of(facts: &Facts, parent: &str) -> std::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = openat(rustix::fs::CWD, format!("/proc/{}/root", facts.pid), flags, Mode::empty())?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(openat2(&root, parent, flags, Mode::empty(), ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS)?)
}

/// Whether a library can be put there, and be loaded from there.
fn check_mount(folder: &OwnedFd) -> std::io::Result<()> {
    let found = fstatvfs(folder)?;
    // Some file systems tell no size.
    let free_bytes = (found.f_blocks > 0).then(|| found.f_bavail.saturating_mul(found.f_frsize));
    match refusal_of(found.f_flag, free_bytes) {
        None => Ok(()),
        Some(words) => Err(std::io::Error::other(words)),
    }
}

fn refusal_of(flags: StatVfsMountFlags, free_bytes: Option<u64>) -> Option<String> {
    let wanted_bytes = agent_file::bytes().len() as u64;
    if flags.contains(StatVfsMountFlags::RDONLY) {
        Some("it is mounted read-only".to_owned())
    } else if flags.contains(StatVfsMountFlags::NOEXEC) {
        Some("it is mounted noexec".to_owned())
    } else {
        let free_bytes = free_bytes.filter(|free_bytes| *free_bytes < wanted_bytes)?;
        Some(format!(
            "it has {} free, and genba's library is {}",
            figures::size(free_bytes),
            figures::size(wanted_bytes)
        ))
    }
}

fn nowhere(facts: &Facts, refusals: Vec<String>) -> Failure {
    let failure = Failure::no(format!("cannot place genba's library where process {} can open it", facts.pid));
    let room = figures::size(agent_file::bytes().len() as u64);
    refusals.into_iter().fold(failure, Failure::detail).hint(format!(
        "one of them with {room} free, mounted for writing and without noexec: nsenter -t {0} -m mount -t tmpfs tmpfs /dev/shm makes one, \
         and hides what is in there; genba dump {0} needs none",
        facts.pid
    ))
}

/// What a genba left that was killed: nobody has a lock on the recording any more. `owner`: whom such folders belong to, beside this user.
fn remove_abandoned(parent: &OwnedFd, owner: Uid) {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    for entry in Dir::read_from(parent).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.strip_prefix(PREFIX).is_none_or(|digits| digits.len() != 16) {
            continue;
        }
        let Ok(folder) = openat(parent, &name, flags | OFlags::DIRECTORY, Mode::empty()) else { continue };
        let is_locked = openat(&folder, RECORDING, flags, Mode::empty())
            .is_ok_and(|recording| flock(recording, FlockOperation::NonBlockingLockExclusive).is_err());
        let folder = File::from(folder);
        let Ok(found) = folder.metadata() else { continue };
        let made = found.modified().ok();
        let is_ours = [owner, rustix::process::geteuid()].contains(&Uid::from_raw(found.uid()));
        let is_old = made.and_then(|time| time.elapsed().ok()).is_some_and(|age| age > ABANDONED_AFTER);
        let Ok(parent) = parent.try_clone() else { continue };
        if is_ours && is_old && !is_locked {
            Folder { parent, name, folder: folder.into() }.remove();
        }
    }
}

/// Whether paths lead it to the same files as us, and it may open ours.
pub fn sees_as_we_do(facts: &Facts) -> bool {
    let Ok(own) = Facts::own() else { return false };
    let is_same_view = facts.namespaces.mount == own.namespaces.mount && facts.root == own.root;
    is_same_view && (facts.users[1] == own.users[1] || facts.users[1] == 0)
}

/// Locks on all of what one genba waits for, until it is dropped.
pub struct Held {
    _locks: (Lock, Option<Lock>),
}

/// Held until it is dropped.
pub struct Lock {
    _file: File,
}

impl Lock {
    fn on(file: File) -> std::io::Result<Lock> {
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Lock { _file: file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::private_folder;
    use std::fs;
    use std::os::unix::fs::{chown, symlink};
    use std::path::PathBuf;
    use std::time::{Duration, SystemTime};

    const NOBODY: u32 = 65534;

    /// A folder in which genbas make theirs.
    struct Parent(tempfile::TempDir);

    impl Parent {
        fn new() -> Parent {
            Parent(private_folder::make("genba-placed-test-").unwrap())
        }

        /// As `in_root` leaves it, when the agent has kept rows.
        fn folder(&self, name: &str, age: Duration) -> PathBuf {
            let path = self.0.path().join(name);
            fs::create_dir_all(path.join(ROWS)).unwrap();
            for file in [agent_file::name(), RECORDING.to_owned(), format!("{ROWS}/1")] {
                fs::write(path.join(file), "").unwrap();
            }
            self.age(&path, age);
            path
        }

        fn age(&self, path: &Path, age: Duration) {
            File::open(path).unwrap().set_modified(SystemTime::now() - age).unwrap();
        }

        fn removed(&self, paths: &[&PathBuf]) -> Vec<bool> {
            let parent = openat(rustix::fs::CWD, self.0.path(), OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty());
            remove_abandoned(&parent.unwrap(), rustix::process::geteuid());
            paths.iter().map(|path| path.symlink_metadata().is_err()).collect()
        }
    }

    #[test]
    fn a_folder_that_takes_no_library_is_told_without_a_try() {
        let wanted_bytes = agent_file::bytes().len() as u64;
        let none = StatVfsMountFlags::empty();
        for (flags, free_bytes, words) in [
            (StatVfsMountFlags::RDONLY | StatVfsMountFlags::NOEXEC, None, Some("it is mounted read-only")),
            (StatVfsMountFlags::NOEXEC, Some(u64::MAX), Some("it is mounted noexec")),
            (StatVfsMountFlags::NOSUID, Some(wanted_bytes), None),
            (none, None, None),
        ] {
            assert_eq!(refusal_of(flags, free_bytes).as_deref(), words);
        }
        let full = refusal_of(none, Some(4096)).unwrap();
        assert!(full.starts_with("it has 4.10 kB free, and genba's library is "), "{full}");
    }

    #[test]
    fn a_folder_goes_when_nobody_has_locked_it_for_a_minute() {
        let parent = Parent::new();
        let old = ABANDONED_AFTER * 2;
        let abandoned = parent.folder("genba-0123456789abcdef", old);
        let young = parent.folder("genba-1123456789abcdef", Duration::ZERO);
        let held = parent.folder("genba-2123456789abcdef", old);
        let other = parent.folder("genba-somebody's", old);
        let _lock = Lock::on(File::open(held.join(RECORDING)).unwrap()).unwrap();
        assert_eq!(parent.removed(&[&abandoned, &young, &held, &other]), [true, false, false, false]);
    }

    #[test]
    fn no_link_is_followed() {
        let parent = Parent::new();
        let old = ABANDONED_AFTER * 2;
        let outside = Parent::new().0.keep();
        for name in [RECORDING, ROWS] {
            fs::write(outside.join(name), "theirs").unwrap();
        }
        // In place of the folder, of the recording, and of the rows.
        let link = parent.0.path().join("genba-0123456789abcdef");
        symlink(&outside, &link).unwrap();
        let within = parent.folder("genba-1123456789abcdef", old);
        fs::remove_file(within.join(RECORDING)).unwrap();
        fs::remove_dir_all(within.join(ROWS)).unwrap();
        symlink(outside.join(RECORDING), within.join(RECORDING)).unwrap();
        symlink(&outside, within.join(ROWS)).unwrap();
        parent.age(&within, old);
        assert_eq!(parent.removed(&[&link]), [false]);
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 2);
        fs::remove_dir_all(outside).unwrap();
    }

    #[test]
    fn what_belongs_to_a_third_user_stays() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let parent = Parent::new();
        let path = parent.folder("genba-0123456789abcdef", ABANDONED_AFTER * 2);
        chown(&path, Some(NOBODY), None).unwrap();
        parent.age(&path, ABANDONED_AFTER * 2);
        assert_eq!(parent.removed(&[&path]), [false]);
        chown(&path, Some(0), None).unwrap();
        assert_eq!(parent.removed(&[&path]), [true]);
    }
}
