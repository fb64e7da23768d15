//! Which packages an installer put into a folder that is not called `site-packages`: `pip install --target`, a folder in `PYTHONPATH`, what is
//! bundled with a program.
//! Owns: what an installer's own list (`RECORD` in a `*.dist-info` folder) says. Never: takes a file for a package's that no list names; the
//! user's own files often lie beside packages.

use std::cell::LazyCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::root::Root;
use super::sources::path_of;

/// A folder of some thousand packages. Of a larger one, such as a `/tmp` that many share, no more is read: what it lists is not found.
const ENTRIES_MAX: usize = 10_000;
/// A list of a package with some ten thousand files.
const LIST_BYTES_MAX: u64 = 8 << 20;

/// The topmost folders or modules of packages that hold any of `files`, absolute.
pub fn packages_of<'f>(root: &Root, files: impl Iterator<Item = &'f str>) -> BTreeSet<String> {
    let files: Vec<PathBuf> = files.filter(|text| text.starts_with('/')).map(path_of).collect();
    let mut lists: HashMap<&Path, HashSet<&str>> = HashMap::new();
    let mut packages: BTreeSet<String> = BTreeSet::new();
    for path in &files {
        for folder in path.ancestors().skip(1) {
            let listed = lists.entry(folder).or_insert_with(|| {
                let names = root.names_in(folder).into_iter().flatten();
                let below = || files.iter().filter_map(|path| path.strip_prefix(folder).ok()?.to_str()).collect();
                listed_in(root, names.map(|name| folder.join(name)), below)
            });
            let Some(below) = path.strip_prefix(folder).ok().and_then(Path::to_str) else { continue };
            if let (true, Some(first)) = (listed.contains(below), below.split('/').next()) {
                packages.extend(folder.join(first).to_str().map(str::to_owned));
                break;
            }
            // The list lies beside the topmost package, and nothing is imported from above a folder that cannot be one.
            if !folder.file_name().is_some_and(is_identifier) {
                break;
            }
        }
    }
    packages
}

fn is_identifier(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| name.chars().all(|sign| sign.is_alphanumeric() || sign == '_'))
}

/// Those of `files` that the lists in a folder with these entries name, by their paths below it.
fn listed_in<'f>(
    root: &Root,
    entries: impl Iterator<Item = PathBuf>,
    files: impl FnOnce() -> HashSet<&'f str>,
) -> HashSet<&'f str> {
    // Most folders have no list.
    let files = LazyCell::new(files);
    let mut listed = HashSet::new();
    for path in entries.take(ENTRIES_MAX) {
        if path.extension().is_some_and(|extension| extension == "dist-info") {
            let list = path.join("RECORD");
            let is_list = root.metadata(&list).is_ok_and(|found| found.is_file() && found.len() <= LIST_BYTES_MAX);
            let bytes = if is_list { root.read(&list).unwrap_or_default() } else { Vec::new() };
            let text = str::from_utf8(&bytes).unwrap_or_default();
            // `pandas/core/frame.py,sha256=…,12345`; a path with a comma is quoted.
            let paths = text.lines().filter_map(|line| match line.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"').map(|(path, _)| path),
                None => line.split(',').next(),
            });
            listed.extend(paths.filter_map(|path| files.get(path)));
        }
    }
    listed
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::fs;
    use std::path::PathBuf;

    use super::{ENTRIES_MAX, Root, listed_in, packages_of};

    #[test]
    fn only_what_an_installer_lists_is_a_package() {
        let folder = std::env::temp_dir().join(format!("genba-packages-{}", std::process::id()));
        let info = folder.join("thing-1.0.dist-info");
        fs::create_dir_all(&info).unwrap();
        let list = "thing/__init__.py,sha256=a,1\nthing/deep/a.py,,\nsix.py,,\n\"thing/a,b.py\",,\n../bin/thing,,\n";
        fs::write(info.join("RECORD"), list).unwrap();
        fs::create_dir_all(folder.join("empty.dist-info/RECORD")).unwrap();
        let check = |file: &str, expected: Option<&str>| {
            let file = folder.join(file);
            let found = packages_of(&Root::OWN, [file.to_str().unwrap()].into_iter());
            let expected = expected.map(|name| folder.join(name).to_str().unwrap().to_owned());
            assert_eq!(found.into_iter().next(), expected, "{}", file.display());
        };
        check("thing/deep/a.py", Some("thing"));
        check("thing/a,b.py", Some("thing"));
        check("six.py", Some("six.py"));
        check("handler.py", None);
        check("app/thing/deep/a.py", None);
        check("thing/mine.py", None);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_list_above_what_cannot_be_a_package_is_not_read() {
        let folder = std::env::temp_dir().join(format!("genba-above-{}", std::process::id()));
        let info = folder.join("thing-1.0.dist-info");
        fs::create_dir_all(&info).unwrap();
        fs::write(info.join("RECORD"), "my-app/main.py,,\nmine/main.py,,\n").unwrap();
        let check = |file: &str, packages: usize| {
            let file = folder.join(file);
            assert_eq!(
                packages_of(&Root::OWN, [file.to_str().unwrap()].into_iter()).len(),
                packages,
                "{}",
                file.display()
            );
        };
        check("mine/main.py", 1);
        check("my-app/main.py", 0);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_folder_that_many_share_is_not_read_to_its_end() {
        let mut read = 0;
        let endless = std::iter::repeat_with(|| {
            read += 1;
            PathBuf::from("/shared/file")
        });
        assert!(listed_in(&Root::OWN, endless, || HashSet::from(["shared.py"])).is_empty());
        assert_eq!(read, ENTRIES_MAX);
    }
}
