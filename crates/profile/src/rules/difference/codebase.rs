//! The files and functions of all recordings of a comparison, and which of them are the same.
//! Owns: that answer, found once for the rows and for the call trees. Never: looks at samples.

use std::collections::HashMap;

use crate::rules::difference::files::{FileIndex, Files, script};
use crate::rules::difference::same_code::{SameCode, whole};
use crate::tables::profile::{FrameKind, Home, Profile};

#[derive(Debug)]
pub struct Codebase {
    files: Files,
    /// Of each recording.
    files_of: Vec<HashMap<String, FileIndex>>,
    pub same_code: SameCode,
}

impl Codebase {
    /// `profiles`: in the order of both sides.
    #[must_use]
    pub fn of(profiles: &[&Profile]) -> Codebase {
        let mut files = Files::default();
        let add = |profile: &&Profile| {
            let text = |path: &str| whole(profile.sources.get(path)?);
            files.add(python_files(profile), script(profile).as_deref(), &text)
        };
        let files_of: Vec<HashMap<String, FileIndex>> = profiles.iter().map(add).collect();
        let met: Vec<_> = profiles.iter().copied().zip(&files_of).collect();
        let same_code = SameCode::of(&met);
        Codebase { files, files_of, same_code }
    }

    /// Of the recording with that position. None: no frame is in it.
    #[must_use]
    pub fn file(&self, run: usize, path: &str) -> Option<FileIndex> {
        self.files_of.get(run)?.get(path).copied()
    }

    /// The newest one.
    #[must_use]
    pub fn path(&self, file: FileIndex) -> &str {
        self.files.path(file)
    }
}

fn python_files(profile: &Profile) -> impl Iterator<Item = &str> {
    let python = profile.frames.iter().filter(|frame| frame.kind == FrameKind::Python);
    python.filter_map(move |frame| match profile.functions[frame.function].home {
        Home::Python { file, .. } => Some(profile.files[file].path.as_str()),
        Home::C { .. } | Home::Mark => None,
    })
}
