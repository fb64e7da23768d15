//! The files of a machine, below a root.
//! Owns: reading small ones. Never: takes a file that is not there for one that is empty.

use std::fs;
use std::path::PathBuf;
use std::str::FromStr;

/// `/`, or a folder with some of the same files.
#[derive(Clone, Debug)]
pub struct Tree {
    root: PathBuf,
}

impl Tree {
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Tree {
        Tree { root: root.into() }
    }

    /// Of this machine.
    #[must_use]
    pub fn own() -> Tree {
        Tree::new("/")
    }

    /// Below the root, without a slash at its beginning.
    fn at(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// A file's text without blanks around it. `None`: it is not there, or not to be read.
    #[must_use]
    pub fn text(&self, path: &str) -> Option<String> {
        let bytes = fs::read(self.at(path)).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// `None`: the file is not there, or holds no such number.
    #[must_use]
    pub fn number<N: FromStr>(&self, path: &str) -> Option<N> {
        self.text(path)?.parse().ok()
    }

    #[must_use]
    pub fn is_folder(&self, path: &str) -> bool {
        self.at(path).is_dir()
    }

    /// Whether something of that name is there, readable or not. `None`: its folder is not.
    #[must_use]
    pub fn has(&self, path: &str) -> Option<bool> {
        let at = self.at(path);
        at.parent()?.is_dir().then(|| fs::symlink_metadata(&at).is_ok())
    }

    /// What is in a folder, sorted; nothing where there is none.
    #[must_use]
    pub fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.at(folder)).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names
    }
}

#[cfg(test)]
pub(crate) mod made {
    use std::fs;

    use tempfile::TempDir;

    use super::Tree;

    /// A folder with files.
    pub struct Made(TempDir);

    impl Made {
        pub fn with(files: &[(&str, &str)]) -> Made {
            let folder = TempDir::new().unwrap();
            for (path, text) in files {
                let file = folder.path().join(path);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, text).unwrap();
            }
            Made(folder)
        }

        pub fn tree(&self) -> Tree {
            Tree::new(self.0.path())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::made::Made;

    #[test]
    fn what_is_not_there_is_no_value() {
        let made = Made::with(&[("sys/a", " 7\n"), ("sys/b", "x")]);
        let tree = made.tree();
        assert_eq!(
            (tree.number::<u32>("sys/a"), tree.number::<u32>("sys/b"), tree.number::<u32>("sys/c")),
            (Some(7), None, None)
        );
        assert_eq!((tree.has("sys/a"), tree.has("sys/c"), tree.has("proc/c")), (Some(true), Some(false), None));
        assert_eq!((tree.names("sys"), tree.names("proc")), (vec!["a".to_owned(), "b".to_owned()], Vec::new()));
    }
}
