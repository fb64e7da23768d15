//! A recording on disk, opened and turned into a profile.
//! Owns: which file is meant when none is named, and the words when it cannot be read. Never: writes.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use genba_format::{NotARecording, ProcessKey, Recording};
use genba_profile::build::{self, Additions};
use genba_profile::difference_view::bins_of;
use genba_profile::profile::Profile;
use genba_profile::window::Window;

use crate::finish;
use crate::words::failure::{Failure, say};
use crate::words::progress::during;

pub struct RecordingFile {
    pub path: PathBuf,
    pub bytes: u64,
    pub recording: Recording,
}

impl RecordingFile {
    /// None: the newest recording in the current directory; its name is said on stderr.
    pub fn open(path: Option<&Path>) -> Result<RecordingFile, Failure> {
        let path = match path {
            Some(path) => path.to_path_buf(),
            None => {
                let newest = newest()?.ok_or_else(none_here)?;
                say(&format!("reading {}", newest.display()));
                newest
            }
        };
        during("reading the recording", || {
            let bytes = std::fs::read(&path).map_err(|error| cannot_open(&path, &error))?;
            let recording = genba_format::read(&bytes).map_err(|error| not_a_recording(&path, &error))?;
            Ok(RecordingFile { path, bytes: bytes.len() as u64, recording })
        })
    }

    /// Each process has a key of its own, in every copy of its recording.
    pub fn has_processes_of(&self, other: &RecordingFile) -> bool {
        let keys = |file: &RecordingFile| -> HashSet<ProcessKey> {
            let begins = file.recording.blocks.iter().filter(|read| read.block.start.is_some());
            begins.map(|read| read.header.process_key).collect()
        };
        !keys(self).is_disjoint(&keys(other))
    }

    /// With the names and sources that a run which was killed could not store, where they can still be found. Not `promoted` yet.
    pub fn profile_in_window(&self, window: Option<Window>) -> Profile {
        self.profile_of(None, window)
    }

    /// The same for the command that waited for the program until `ended_ns` (CLOCK_MONOTONIC).
    pub fn profile_of_run(&self, ended_ns: u64) -> Profile {
        build::promoted(self.profile_of(Some(ended_ns), None))
    }

    /// With the moments of its samples.
    pub fn profile_over_time(&self, window: Option<Window>) -> Profile {
        let additions = during("naming C functions", || finish::found_beside(&self.recording));
        let bins = bins_of(&build::accounts(&self.recording));
        during("adding up samples", || {
            build::promoted(build::profile_over_time(&self.recording, &additions, window, bins))
        })
    }

    fn profile_of(&self, run_ended_ns: Option<u64>, window: Option<Window>) -> Profile {
        let found = during("naming C functions", || finish::found_beside(&self.recording));
        let additions = Additions { run_ended_ns, ..found };
        during("adding up samples", || build::profile_in_window(&self.recording, &additions, window))
    }

    /// Without its folder.
    pub fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        name.to_string_lossy().into_owned()
    }
}

/// Of two with the same time the last by name (`app-2.genba`).
fn newest() -> Result<Option<PathBuf>, Failure> {
    let cannot_list = |error: std::io::Error| Failure::no(format!("cannot list the current directory: {error}"));
    let mut found: Option<(SystemTime, PathBuf)> = None;
    for entry in std::fs::read_dir(".").map_err(cannot_list)? {
        let entry = entry.map_err(cannot_list)?;
        let name = PathBuf::from(entry.file_name());
        if name.extension().is_none_or(|extension| extension != "genba") {
            continue;
        }
        // A file that vanishes between the listing and this look is not the newest.
        let Ok(modified) = std::fs::metadata(&name).and_then(|metadata| metadata.modified()) else {
            continue;
        };
        let candidate = (modified, name);
        if found.as_ref().is_none_or(|newest| *newest < candidate) {
            found = Some(candidate);
        }
    }
    Ok(found.map(|(_, name)| name))
}

fn none_here() -> Failure {
    let directory = std::env::current_dir().map(|directory| directory.display().to_string());
    Failure::no("no recording in the current directory")
        .detail(format!("found no file named *.genba in {}", directory.unwrap_or_else(|_| "it".to_owned())))
        .hint("genba run app.py makes one; or name the recording")
}

fn cannot_open(path: &Path, error: &std::io::Error) -> Failure {
    let failure = Failure::no(format!("cannot open {}: {}", path.display(), words(error)));
    match newest() {
        Ok(Some(newest)) if newest != path => {
            failure.hint(format!("the newest recording here is {}", newest.display()))
        }
        _ => failure,
    }
}

fn words(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        std::io::ErrorKind::IsADirectory => "it is a directory".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}

fn not_a_recording(path: &Path, why: &NotARecording) -> Failure {
    let path = path.display();
    match why {
        NotARecording::Empty => Failure::no(format!("{path} is empty"))
            .detail(why.to_string())
            .hint("the program ended before genba's library wrote a first block, or it still starts"),
        NotARecording::NoMagic { .. } => Failure::no(format!("{path} is not a recording of genba"))
            .detail(why.to_string())
            .hint("genba run app.py makes one"),
    }
}
