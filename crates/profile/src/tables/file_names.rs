//! Short names of source files: the last part of the path, and as many parts more as tell it from all others of the recording, so that each view
//! and the verdict above it call a file the same.

use foldhash::HashMap;

use crate::tables::owner::versioned_folder;
use crate::tables::profile::{File, FileIndex, Profile};

pub struct FileNames {
    short: HashMap<FileIndex, String>,
}

impl FileNames {
    pub fn of(profile: &Profile) -> FileNames {
        let mut namesakes: HashMap<&str, Vec<(FileIndex, &str)>> = HashMap::default();
        for (file, File { path, .. }) in profile.files.enumerate() {
            let last = path.rsplit('/').find(|part| !part.is_empty()).unwrap_or(path);
            namesakes.entry(last).or_default().push((file, path));
        }
        let name = |&(file, path): &(FileIndex, &str), all: &[(FileIndex, &str)]| {
            (file, shortest(path, all.iter().map(|(_, other)| *other)).to_string())
        };
        FileNames { short: namesakes.values().flat_map(|all| all.iter().map(|one| name(one, all))).collect() }
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
    use super::{FileNames, module};
    use crate::tables::owner::Owner;
    use crate::tables::profile::{File, Profile};

    #[test]
    fn a_name_is_as_long_as_tells_it_from_all_others_of_the_recording() {
        let mut profile = Profile::default();
        let named = [
            ("/app/views.py", "app/views.py"),
            ("/app/users/views.py", "users/views.py"),
            ("views.py", "views.py"),
            ("/app/main.py", "main.py"),
            ("<string>", "<string>"),
            ("<string>", "<string>"),
            ("/", "/"),
            ("", ""),
        ];
        let files =
            named.map(|(path, _)| profile.files.push(File { path: path.to_owned(), owner: Owner::Stdlib, family: 0 }));
        let names = FileNames::of(&profile);
        for (file, (path, expected)) in files.into_iter().zip(named) {
            assert_eq!(names.short(file), Some(expected), "{path}");
        }
    }

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
