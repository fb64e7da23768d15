//! Short names of source files: the last part of the path, and as many parts more as tell it from the others shown.

use foldhash::HashMap;

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

/// `_json.cpython-313-x86_64-linux-gnu.so` is `_json.so` on a screen.
pub fn without_tag(file: &str) -> String {
    let cut = file.split_once(".cpython-").and_then(|(name, tag)| Some((name, tag.rsplit_once('.')?.1)));
    cut.map_or_else(|| file.to_string(), |(name, ending)| format!("{name}.{ending}"))
}
