//! What a genba that was killed left in the folder for temporary files; the next one that enters a process removes it.
//! Owns: the names of what may be left there, and when nobody needs it any more. Never: follows a link, touches what belongs to another user,
//! takes a script from a process that may still run it.

use std::fs::{self, File, Metadata, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use genba_process::facts::Facts;
use genba_process::refusal::Refusal;
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::process::geteuid;

/// A folder with the script that a process is asked to run (remote_exec.rs). The name goes on with the PID namespace and the process.
const ASKED: &str = "genba-asked-";
/// The script, and what the process says.
pub const SCRIPT: &str = "begin.py";
pub const ANSWER: &str = "answer";
pub const ANSWER_UNFINISHED: &str = "answer.new";
/// Files for what genba's library finds in a heap. Who waits for it holds a lock on it.
pub const HEAP: &str = "genba-heap-";
pub const HEAPS: &str = "genba-heaps-";
/// A file without a lock may be that of a genba that has not come to that yet.
pub const ABANDONED_AFTER: Duration = Duration::from_secs(60);

/// Of the folder for a script that this process is asked to run.
pub fn prefix_of_asked(facts: &Facts) -> String {
    format!("{ASKED}{}-{}-", facts.namespaces.pid.unwrap_or(0), facts.pid)
}

pub fn remove() {
    remove_in(&std::env::temp_dir());
}

fn remove_in(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let asked = name.strip_prefix(ASKED);
        if asked.is_none() && ![HEAP, HEAPS].iter().any(|prefix| name.starts_with(prefix)) {
            continue;
        }
        // Of the link itself, if it is one.
        let Ok(found) = entry.metadata() else { continue };
        let is_private = found.uid() == geteuid().as_raw() && found.mode() & 0o077 == 0;
        if is_private && found.is_dir() && asked.is_some_and(|rest| is_over(rest, &found)) {
            for file in [SCRIPT, ANSWER, ANSWER_UNFINISHED] {
                let _ = fs::remove_file(entry.path().join(file));
            }
            let _ = fs::remove_dir(entry.path());
        }
        if is_private && found.is_file() && asked.is_none() {
            let _ = remove_unlocked(&entry.path(), &found);
        }
    }
}

/// Whether the process of this name is gone. Of one in another PID namespace that cannot be told.
fn is_over(rest: &str, found: &Metadata) -> bool {
    let own = Facts::own().ok().and_then(|own| own.namespaces.pid);
    let mut numbers = rest.split('-').map(|number| number.parse::<u64>().ok());
    let (Some(Some(namespace)), Some(Some(pid))) = (numbers.next(), numbers.next()) else { return false };
    let Ok(pid) = u32::try_from(pid) else { return false };
    if own != Some(namespace) {
        return false;
    }
    let made = found.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let made_ns = made.and_then(|made| u64::try_from(made.as_nanos()).ok());
    match (Facts::of(pid), made_ns) {
        (Err(Refusal::NoSuchProcess { .. }), _) => true,
        // It may be hidden from us.
        (Err(_), _) => false,
        // Another process has its number now.
        (Ok(facts), Some(made_ns)) => facts.is_zombie() || facts.began_after(made_ns),
        (Ok(_), None) => false,
    }
}

fn remove_unlocked(path: &Path, found: &Metadata) -> std::io::Result<()> {
    let age = SystemTime::now().duration_since(found.modified()?).unwrap_or_default();
    if age < ABANDONED_AFTER {
        return Ok(());
    }
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).unwrap_or(0);
    let file: File = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    fs::remove_file(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::private_folder;
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};
    use std::path::PathBuf;
    use std::process::Command;

    const NOBODY: u32 = 65534;

    /// A folder for temporary files, and a process that has ended.
    struct Left {
        folder: tempfile::TempDir,
        ended: Facts,
    }

    impl Left {
        fn new() -> Left {
            let mut child = Command::new("true").spawn().unwrap();
            child.wait().unwrap();
            let ended = Facts { pid: child.id(), ..Facts::own().unwrap() };
            Left { folder: private_folder::make("genba-left-test-").unwrap(), ended }
        }

        fn asked(&self, facts: &Facts, mode: u32) -> PathBuf {
            let path = self.folder.path().join(format!("{}{mode}", prefix_of_asked(facts)));
            fs::create_dir(&path).unwrap();
            fs::write(path.join(SCRIPT), "print()").unwrap();
            fs::write(path.join(ANSWER), "0").unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            path
        }

        fn heaps(&self, name: &str, age: Duration) -> PathBuf {
            let path = self.folder.path().join(name);
            let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).unwrap();
            file.set_modified(SystemTime::now() - age).unwrap();
            path
        }

        /// Which of them are there afterwards.
        fn removed(&self, paths: &[&PathBuf]) -> Vec<bool> {
            remove_in(self.folder.path());
            paths.iter().map(|path| path.symlink_metadata().is_err()).collect()
        }
    }

    #[test]
    fn a_script_goes_when_the_process_has_ended_that_was_to_run_it() {
        let left = Left::new();
        let own = Facts::own().unwrap();
        let elsewhere = Facts {
            namespaces: genba_process::facts::Namespaces { pid: Some(1), ..own.namespaces },
            ..left.ended.clone()
        };
        let ended = left.asked(&left.ended, 0o700);
        let (runs, elsewhere) = (left.asked(&own, 0o700), left.asked(&elsewhere, 0o700));
        assert_eq!(left.removed(&[&ended, &runs, &elsewhere]), [true, false, false]);
    }

    #[test]
    fn a_number_that_another_process_has_by_now_keeps_no_script() {
        let left = Left::new();
        let path = left.asked(&Facts::own().unwrap(), 0o700);
        File::open(&path).unwrap().set_modified(UNIX_EPOCH + Duration::from_secs(1)).unwrap();
        assert_eq!(left.removed(&[&path]), [true]);
    }

    #[test]
    fn what_others_may_have_planted_is_left_alone() {
        let left = Left::new();
        let outside = private_folder::make("genba-outside-test-").unwrap();
        fs::write(outside.path().join(SCRIPT), "theirs").unwrap();
        let link = left.folder.path().join(format!("{}link", prefix_of_asked(&left.ended)));
        symlink(outside.path(), &link).unwrap();
        let link_of_heaps = left.folder.path().join("genba-heaps-link");
        symlink(outside.path().join(SCRIPT), &link_of_heaps).unwrap();
        let open_to_all = left.asked(&left.ended, 0o777);
        assert_eq!(left.removed(&[&link, &link_of_heaps, &open_to_all]), [false; 3]);
        assert_eq!(fs::read(outside.path().join(SCRIPT)).unwrap(), b"theirs");
        if geteuid().is_root() {
            let (script, heaps) = (left.asked(&left.ended, 0o700), left.heaps("genba-heaps-1", ABANDONED_AFTER * 2));
            for path in [&script, &heaps] {
                chown(path, Some(NOBODY), None).unwrap();
            }
            assert_eq!(left.removed(&[&script, &heaps]), [false; 2]);
        }
    }

    #[test]
    fn a_file_for_heaps_goes_when_nobody_holds_it() {
        let left = Left::new();
        let old = ABANDONED_AFTER * 2;
        let (heaps, heap) = (left.heaps("genba-heaps-1", old), left.heaps("genba-heap-2", old));
        let (young, held, other) =
            (left.heaps("genba-heaps-3", Duration::ZERO), left.heaps("genba-heaps-4", old), left.heaps("heaps-5", old));
        let lock = File::open(&held).unwrap();
        flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
        assert_eq!(left.removed(&[&heaps, &heap, &young, &held, &other]), [true, true, false, false, false]);
    }
}
