//! The files and functions of all recordings of a comparison, and which of them are the same.
//! Owns: that answer, found once for the rows and for the call trees. Never: looks at samples.

use foldhash::HashMap;
use std::collections::BTreeSet;

use crate::rules::difference::files::{FileIndex, Files, Side, script};
use crate::rules::difference::same_code::{SameCode, whole};
use crate::tables::profile::{FrameKind, Home, Profile};

#[derive(Debug)]
pub struct Codebase {
    files: Files,
    /// Of each recording.
    files_of: Vec<HashMap<String, FileIndex>>,
    /// The newest ones of A. A file may have another name there.
    paths_before: HashMap<FileIndex, String>,
    pub same_code: SameCode,
}

impl Codebase {
    /// `profiles`: in the order of both sides. `runs_before`: how many of them are A's.
    #[must_use]
    pub fn of(profiles: &[&Profile], runs_before: usize) -> Codebase {
        let mut files = Files::default();
        let add = |profile: &&Profile| {
            let text = |path: &str| whole(profile.sources.get(path)?);
            files.add(python_files(profile), script(profile).as_deref(), &text)
        };
        let files_of: Vec<HashMap<String, FileIndex>> = profiles.iter().map(add).collect();
        let of_before = files_of.iter().take(runs_before).flatten();
        let paths_before = of_before.map(|(path, file)| (*file, path.clone())).collect();
        let met: Vec<_> = profiles.iter().copied().zip(&files_of).collect();
        let same_code = SameCode::of(&met);
        Codebase { files, files_of, paths_before, same_code }
    }

    /// Of the recording with that position. None: no frame is in it.
    #[must_use]
    pub fn file(&self, run: usize, path: &str) -> Option<FileIndex> {
        self.files_of.get(run)?.get(path).copied()
    }

    /// The newest one of that side, or of the other one where the side does not have the file.
    #[must_use]
    pub fn path(&self, file: FileIndex, side: Side) -> &str {
        let before = self.paths_before.get(&file).filter(|_| side == Side::Before);
        before.map_or_else(|| self.files.path(file), String::as_str)
    }

    /// The paths of one file, A's and B's, where they differ.
    #[must_use]
    pub fn moved(&self) -> BTreeSet<(&str, &str)> {
        let both = self.paths_before.iter().map(|(file, before)| (before.as_str(), self.files.path(*file)));
        both.filter(|(before, after)| before != after).collect()
    }
}

fn python_files(profile: &Profile) -> impl Iterator<Item = &str> {
    let python = profile.frames.iter().filter(|frame| frame.kind == FrameKind::Python);
    python.filter_map(move |frame| match profile.functions[frame.function].home {
        Home::Python { file, .. } => Some(profile.files[file].path.as_str()),
        Home::C { .. } | Home::Mark => None,
    })
}
