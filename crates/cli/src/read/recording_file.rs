//! A recording on disk, opened and turned into a profile.
//! Owns: which file is meant when none is named, and the words when it cannot be read. Never: writes.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use genba_format::{FaultKind, NotARecording, ProcessKey, Recording};
use genba_import::{Imported, Refused};
use genba_process::memory_left::{self, Left};
use genba_process::tree::Tree;
use genba_profile::build::{self, Additions, Import};
use genba_profile::difference_view::bins_of;
use genba_profile::figures;
use genba_profile::profile::Profile;
use genba_profile::shell;
use genba_profile::window::{Bins, Window};

use crate::files::own_file::{Content, format_of};
use crate::finish;
use crate::words::failure::{Failure, say};
use crate::words::memory_share;
use crate::words::progress::during;

pub struct RecordingFile {
    pub path: PathBuf,
    pub bytes: u64,
    pub recording: Recording,
    /// Of another profiler's file.
    pub import: Option<ImportedFile>,
}

/// What another profiler's file tells about itself.
pub struct ImportedFile {
    /// What is wrong with it, and what else a reader should know.
    pub faults: Vec<String>,
    pub notes: Vec<String>,
    words: String,
    /// What it does not tell, in words.
    pub unknown: String,
    /// Why its samples have no order in time.
    pub timeless: Option<&'static str>,
    counts_calls: bool,
}

impl RecordingFile {
    /// None: the newest recording in the current directory; its name is said on stderr.
    pub fn open(path: Option<&Path>) -> Result<RecordingFile, Failure> {
        let path = match path {
            Some(path) => path.to_path_buf(),
            None => {
                let newest = newest_here()?;
                say(&format!("reading {}", newest.display()));
                newest
            }
        };
        during("reading the recording", || {
            check_is_file(&path)?;
            let bytes = std::fs::read(&path).map_err(|error| cannot_open(&path, &error))?;
            let size = bytes.len() as u64;
            let left = memory_left::own(&Tree::own());
            let most_bytes = left.map_or(u64::MAX, memory_share::most_bytes);
            let traced = |recording| genba_import::traced_within(recording, most_bytes);
            let imported = match genba_format::read(&bytes).map(traced) {
                Ok(Ok(traced)) => traced,
                Ok(Err(recording)) if recording.blocks.is_empty() => return Err(without_blocks(&path, &recording)),
                Ok(Err(recording)) => return Ok(RecordingFile { path, bytes: size, recording, import: None }),
                Err(why) if matches!(why, NotARecording::Empty) => return Err(empty(&path, &why)),
                Err(_) => import(&path, &bytes, left)?,
            };
            let Imported { recording, words, unknown, faults, notes, timeless, counts_calls } = imported;
            let import = Some(ImportedFile { faults, notes, words, unknown, timeless, counts_calls });
            Ok(RecordingFile { path, bytes: size, recording, import })
        })
    }

    /// Why its samples have no times; none: they have some.
    pub fn timeless(&self) -> Option<&'static str> {
        self.import.as_ref().and_then(|imported| imported.timeless)
    }

    /// It counts calls in place of samples.
    pub fn counts_calls(&self) -> bool {
        self.import.as_ref().is_some_and(|imported| imported.counts_calls)
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
        let additions = self.additions();
        during("adding up samples", || build::profile_in_window(&self.recording, &additions, window))
    }

    /// With the moments of its samples, in as many bins as a comparison wants.
    pub fn profile_over_time(&self, window: Option<Window>) -> Profile {
        self.profile_in_bins(window, bins_of(&self.accounts()))
    }

    pub fn profile_in_bins(&self, window: Option<Window>, bins: Bins) -> Profile {
        let additions = self.additions();
        during("adding up samples", || {
            build::promoted(build::profile_over_time(&self.recording, &additions, window, bins))
        })
    }

    /// What was counted, without samples.
    pub fn accounts(&self) -> Profile {
        let import = self.import.as_ref().map(ImportedFile::import);
        build::accounts(&self.recording, &Additions { import, ..Additions::default() })
    }

    /// What can still be found beside the file.
    fn additions(&self) -> Additions {
        match &self.import {
            None => during("naming C functions", || finish::found_beside(&self.recording)),
            Some(imported) => {
                // Without the time of the run nothing tells whether a file is still the one that ran.
                let starts = self.recording.blocks.iter().filter_map(|read| read.block.start.as_ref());
                let is_dated = starts.into_iter().any(|start| start.realtime_ns > 0);
                // Those that genba trace stored are the ones that ran.
                let has_own = self.recording.blocks.iter().any(|read| read.block.recorder.is_some());
                let found =
                    if is_dated && !has_own { finish::sources_beside(&self.recording) } else { Additions::default() };
                Additions { import: Some(imported.import()), ..found }
            }
        }
    }

    /// Without its folder.
    pub fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        name.to_string_lossy().into_owned()
    }
}

impl ImportedFile {
    fn import(&self) -> Import {
        let faults = self.faults.iter().chain(&self.notes).cloned().collect();
        Import { words: self.words.clone(), faults, counts_calls: self.counts_calls }
    }
}

/// The newest recording in the current directory.
pub fn newest_here() -> Result<PathBuf, Failure> {
    newest()?.ok_or_else(none_here)
}

/// Whether there is such a file that may be read, whatever is in it.
pub fn check_opens(path: &Path) -> Result<(), Failure> {
    check_is_file(path)?;
    std::fs::File::open(path).map(drop).map_err(|error| cannot_open(path, &error))
}

fn check_is_file(path: &Path) -> Result<(), Failure> {
    let metadata = std::fs::metadata(path).map_err(|error| cannot_open(path, &error))?;
    if metadata.is_dir() {
        return Err(cannot_open(path, &std::io::ErrorKind::IsADirectory.into()));
    }
    check_is_no_pipe(path)
}

/// Before a file is opened, which waits for a writer where it is a named pipe. Recordings are read more than once, and what comes out of a
/// pipe cannot be.
pub fn check_is_no_pipe(path: &Path) -> Result<(), Failure> {
    match std::fs::metadata(path) {
        Ok(found) if !found.is_file() && !found.is_dir() => {
            Err(Failure::no(format!("cannot open {}: it is no regular file", path.display()))
                .hint("write what comes out of it to a file first"))
        }
        _ => Ok(()),
    }
}

/// Whether it is something that the readers read. Of a recording only its beginning is looked at.
pub fn check_reads(path: &Path) -> Result<(), Failure> {
    check_begins(path, &[Content::Recording])
}

/// The same for a reader who comes again: until its program has begun, a recording is empty.
pub fn check_will_read(path: &Path) -> Result<(), Failure> {
    check_begins(path, &[Content::Recording, Content::Empty])
}

/// `enough`: what the rest of the file is not looked at for.
fn check_begins(path: &Path, enough: &[Content]) -> Result<(), Failure> {
    check_is_file(path)?;
    let file = std::fs::File::open(path).map_err(|error| cannot_open(path, &error))?;
    match Content::of(&file) {
        Ok(content) if enough.contains(&content) => Ok(()),
        _ => RecordingFile::open(Some(path)).map(drop),
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
    if path.extension().is_some_and(|ending| ending == "html") {
        return failure.hint(format!("a page is named with -o: genba html -o {}", shell::path(path)));
    }
    let is_running = |pid: u32| Path::new("/proc").join(pid.to_string()).exists();
    if let Some(hint) = of_process(path, is_running).filter(|_| error.kind() == std::io::ErrorKind::NotFound) {
        return failure.hint(hint);
    }
    match newest() {
        Ok(Some(newest)) if newest != path => {
            failure.hint(format!("the newest recording here is {}", newest.display()))
        }
        _ => failure,
    }
}

/// Where a process is named in place of a recording.
fn of_process(path: &Path, is_running: impl Fn(u32) -> bool) -> Option<String> {
    let word = path.to_str().filter(|word| word.bytes().all(|letter| letter.is_ascii_digit()))?;
    let pid = word.parse().ok().filter(|pid| is_running(*pid))?;
    Some(format!(
        "{pid} is a process: genba attach {pid} records it, with --gc its collections too; genba gc cycles {pid} shows the garbage in its cycles now"
    ))
}

fn words(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        std::io::ErrorKind::IsADirectory => "it is a directory".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}

fn empty(path: &Path, why: &NotARecording) -> Failure {
    Failure::no(format!("{} is empty", path.display()))
        .detail(why.to_string())
        .hint("the program ended before genba's library wrote a first block, or it still starts")
}

/// Bytes of a recording, and no block that this genba can read.
fn without_blocks(path: &Path, recording: &Recording) -> Failure {
    const FAULTS_MAX: usize = 3;
    let (faults, path) = (&recording.faults, path.display());
    let (what, hint) = match faults.iter().any(|fault| fault.kind == FaultKind::TooNew) {
        true => (format!("{path} is newer than this genba"), "install the newest genba"),
        false => (format!("nothing of {path} can be read"), "copy the file again, or record again"),
    };
    let named = faults.iter().take(FAULTS_MAX);
    let told = named.fold(Failure::no(what), |failure, fault| failure.detail(fault.to_string()));
    let more = faults.len().saturating_sub(FAULTS_MAX);
    let told = if more > 0 { told.detail(format!("and {more} more")) } else { told };
    told.hint(hint)
}

/// Another profiler's file. `left`: of memory, beside its bytes.
fn import(path: &Path, bytes: &[u8], left: Option<Left>) -> Result<Imported, Failure> {
    let most_bytes = left.map_or(u64::MAX, memory_share::most_bytes);
    genba_import::read_within(bytes, most_bytes).map_err(|refused| match (&refused, left) {
        (Refused::TooLarge { most_bytes }, Some(left)) => {
            let (most, share) = (figures::size(*most_bytes), memory_share::share_of(left));
            Failure::no(format!("{} is too large to be read here", path.display()))
                .detail(format!("it needs more than {most} of memory, the most that genba takes: {share}"))
                .hint(memory_share::HINT)
        }
        _ => not_read(path, bytes, &refused),
    })
}

fn not_read(path: &Path, bytes: &[u8], why: &Refused) -> Failure {
    let (path, word) = (path.display(), shell::path(path));
    match why {
        Refused::Unknown { .. } => {
            let failure = Failure::no(format!("{path} is not a recording"));
            // They lie beside recordings, and are named like them.
            match format_of(bytes) {
                Some(b"genba-gc-cycles") => failure
                    .detail("it has the garbage in cycles before one collection, as --gc-cycles keeps it")
                    .hint(format!("genba gc cycles {word}")),
                Some(b"genba-heap") => failure
                    .detail("it is a heap by class, as --heap-every and genba heap -o keep it")
                    .hint(format!("genba heap {word}")),
                _ => failure.detail(why.to_string()).hint("genba run app.py makes one"),
            }
        }
        Refused::Unsupported(_) | Refused::TooLarge { .. } => {
            Failure::no(format!("{path} cannot be read")).detail(why.to_string())
        }
        Refused::Damaged { .. } => Failure::no(format!("{path} is damaged"))
            .detail(why.to_string())
            .hint("nothing of it can be read; make the file again"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_no_recording() {
        let hint = |word: &str, is_running: bool| of_process(Path::new(word), |_| is_running);
        let told = hint("12900", true).unwrap();
        assert!(told.starts_with("12900 is a process: genba attach 12900 records it"), "{told}");
        assert_eq!((hint("12900", false), hint("12900.genba", true), hint("./12900", true)), (None, None, None));
        assert_eq!((hint("", true), hint("99999999999999999999", true)), (None, None));
    }
}
