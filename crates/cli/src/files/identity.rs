//! What tells a file from another one of the same name.
//! Owns: when two names, or a name and an open file, are one file. Never: opens one, or looks at what it holds.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileIdentity {
    device: u64,
    inode: u64,
}

impl FileIdentity {
    pub fn of(found: &Metadata) -> FileIdentity {
        FileIdentity { device: found.dev(), inode: found.ino() }
    }

    /// Where a link leads to, that file. None: no file has this name.
    pub fn at(path: &Path) -> Option<FileIdentity> {
        std::fs::metadata(path).ok().map(|found| FileIdentity::of(&found))
    }
}

#[cfg(test)]
mod tests {
    use super::FileIdentity;

    #[test]
    fn names_of_one_file_have_one_identity() {
        let folder = tempfile::tempdir().expect("a folder");
        let [one, other, link, another] = ["one", "other", "link", "another"].map(|name| folder.path().join(name));
        assert_eq!(FileIdentity::at(&one), None);
        std::fs::write(&one, "alike").expect("written");
        std::fs::hard_link(&one, &other).expect("named twice");
        std::os::unix::fs::symlink(&one, &link).expect("linked");
        std::fs::write(&another, "alike").expect("written");
        let opened = std::fs::File::open(&one).and_then(|file| file.metadata()).expect("opened");
        let identity = Some(FileIdentity::of(&opened));
        assert_eq!([&one, &other, &link].map(|path| FileIdentity::at(path)), [identity; 3]);
        assert_ne!(FileIdentity::at(&another), identity);
    }
}
