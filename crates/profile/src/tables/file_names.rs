//! Short names of source files: the last part of the path, and as many parts more as tell it from the others shown.

use foldhash::HashMap;

use crate::tables::owner::versioned_folder;
use crate::tables::profile::{FileIndex, Profile};

pub struct FileNames {
    short: HashMap<FileIndex, String>,
}

impl FileNames {
    pub fn of(profile: &Profile, files: impl IntoIterator<Item = FileIndex>) -> FileNames {
        let mut files: Vec<FileIndex> = files.into_iter().collect();
        files.sort();
        files.dedup();
        let mut short = HashMap::default();
        for file in &files {
            let path = &profile.files[*file].path;
            let all = files.iter().map(|other| profile.files[*other].path.as_str());
            short.insert(*file, shortest(path, all).to_string());
        }
        FileNames { short }
    }

    pub fn short(&self, file: FileIndex) -> Option<&str> {
        self.short.get(&file).map(String::as_str)
    }
}

/// The shortest end of a path that no other path has.
pub fn shortest<'p>(path: &'p str, all: impl Iterator<Item = &'p str> + Clone) -> &'p str {
    let suffixes = path.rmatch_indices('/').map(|(slash, _)| &path[slash + 1..]);
    let is_others = |suffix: &str| all.clone().any(|other| other != path && ends_with_parts(other, suffix));
    suffixes.filter(|suffix| !suffix.is_empty()).find(|suffix| !is_others(suffix)).unwrap_or(path)
}

fn ends_with_parts(path: &str, suffix: &str) -> bool {
    path.strip_suffix(suffix).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
}

/// `asyncio.base_events` of `/usr/lib/python3.13/asyncio/base_events.py`; the file's own name where its path does not tell from which
/// folder it was imported. None: of no file.
pub fn module(path: &str) -> Option<String> {
    if path.starts_with('<') {
        return path.strip_prefix("<frozen ").and_then(|rest| rest.strip_suffix('>')).map(str::to_owned);
    }
    let in_packages =
        ["/site-packages/", "/dist-packages/"].iter().find_map(|folder| Some(path.rsplit_once(folder)?.1));
    match in_packages.or_else(|| versioned_folder(path)).and_then(|inside| inside.strip_suffix(".py")) {
        Some(inside) => Some(inside.strip_suffix("/__init__").unwrap_or(inside).replace('/', ".")),
        None => path.rsplit('/').next().map(str::to_owned),
    }
}

/// `_json.cpython-313-x86_64-linux-gnu.so` is `_json.so` on a screen.
pub fn without_tag(file: &str) -> String {
    let cut = file.split_once(".cpython-").and_then(|(name, tag)| Some((name, tag.rsplit_once('.')?.1)));
    cut.map_or_else(|| file.to_string(), |(name, ending)| format!("{name}.{ending}"))
}

#[cfg(test)]
mod tests {
    use super::module;

    #[test]
    fn a_module_is_called_as_it_is_imported() {
        for (path, expected) in [
            ("/usr/lib/python3.13/asyncio/base_events.py", "asyncio.base_events"),
            ("/usr/lib/python3.13/asyncio/__init__.py", "asyncio"),
            ("/v/lib/python3.13/site-packages/pandas/core/api.py", "pandas.core.api"),
            ("/usr/lib/python3/dist-packages/six.py", "six"),
            ("<frozen zipimport>", "zipimport"),
            ("/app/models/user.py", "user.py"),
        ] {
            assert_eq!(module(path).as_deref(), Some(expected), "{path}");
        }
        assert_eq!(module("<string>"), None);
    }
}
