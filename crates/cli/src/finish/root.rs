//! Files by the paths that a recording has: as this process sees them, or as the process saw them that was recorded.
//! Owns: following a path in another root. Never: is led out of that root by a link, opens what waits for a writer.

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{Error, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};

/// Holds on to the root, which may be read after the process has ended.
#[derive(Clone)]
pub struct Root(Option<Arc<OwnedFd>>);

impl Root {
    /// Paths as this process has them.
    pub const OWN: Root = Root(None);

    /// That of a process, in whatever mount namespace.
    pub fn of_process(pid: u32) -> Result<Root, Error> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Root(Some(Arc::new(openat(CWD, format!("/proc/{pid}/root"), flags, Mode::empty())?))))
    }

    pub fn metadata(&self, path: &Path) -> Result<Metadata, Error> {
        match &self.0 {
            None => fs::metadata(path),
            Some(root) => opened(root, path, OFlags::PATH)?.metadata(),
        }
    }

    /// For reading. The file may be none that is safe to read: ask its metadata.
    pub fn open(&self, path: &Path) -> Result<File, Error> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        match &self.0 {
            None => Ok(File::from(openat(CWD, path, flags | OFlags::CLOEXEC, Mode::empty())?)),
            Some(root) => opened(root, path, flags),
        }
    }

    pub fn read(&self, path: &Path) -> Result<Vec<u8>, Error> {
        self.read_into(path, Vec::new())
    }

    /// The same in the memory of `room`, whose content goes.
    pub fn read_into(&self, path: &Path, mut room: Vec<u8>) -> Result<Vec<u8>, Error> {
        room.clear();
        self.open(path)?.read_to_end(&mut room)?;
        Ok(room)
    }

    /// The names in a folder.
    pub fn names_in(&self, folder: &Path) -> Result<impl Iterator<Item = OsString> + use<>, Error> {
        let entries = match &self.0 {
            None => fs::read_dir(folder)?,
            Some(root) => {
                let open = opened(root, folder, OFlags::PATH | OFlags::DIRECTORY)?;
                fs::read_dir(format!("/proc/self/fd/{}", open.as_raw_fd()))?
            }
        };
        Ok(entries.flatten().map(|entry| entry.file_name()))
    }
}

fn opened(root: &OwnedFd, path: &Path, flags: OFlags) -> Result<File, Error> {
    let within = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    Ok(File::from(openat2(root, path, flags | OFlags::CLOEXEC, Mode::empty(), within)?))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;
    use std::sync::Arc;

    use super::Root;

    /// A folder as root: `Root::of_process` gives one of the same kind.
    fn of_folder(folder: &Path) -> Root {
        Root(Some(Arc::new(fs::File::open(folder).unwrap().into())))
    }

    #[test]
    fn a_link_leads_to_a_file_of_that_root_and_to_no_other() {
        let folder = std::env::temp_dir().join(format!("genba-root-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let outside = folder.join("outside.py");
        fs::write(&outside, "outside").unwrap();
        let inside = folder.join("root");
        fs::create_dir_all(inside.join("app")).unwrap();
        fs::write(inside.join("app/app.py"), "inside").unwrap();
        symlink("/app/app.py", inside.join("absolute.py")).unwrap();
        symlink(&outside, inside.join("out.py")).unwrap();
        symlink("../../outside.py", inside.join("app/up.py")).unwrap();
        let root = of_folder(&inside);
        let read = |path: &str| root.read(Path::new(path)).map(|bytes| String::from_utf8(bytes).unwrap()).ok();
        assert_eq!(read("/app/app.py").as_deref(), Some("inside"));
        assert_eq!(read("/absolute.py").as_deref(), Some("inside"));
        assert_eq!(read("/out.py"), None);
        assert_eq!(read("/app/up.py"), None);
        assert_eq!(root.metadata(Path::new("/absolute.py")).unwrap().len(), 6);
        let mut names: Vec<_> = root.names_in(Path::new("/app")).unwrap().collect();
        names.sort();
        assert_eq!(names, ["app.py", "up.py"]);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn the_root_of_a_process_is_read_as_it_sees_it() {
        let root = Root::of_process(std::process::id()).unwrap();
        let own = std::env::current_exe().unwrap();
        assert_eq!(root.metadata(&own).unwrap().len(), fs::metadata(&own).unwrap().len());
        assert!(Root::of_process(u32::MAX).is_err());
    }
}
