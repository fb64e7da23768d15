//! Sessions before this one: files of `--against`, and the history that grows by this one.
//! Owns: how they are read, and whether a history has something to compare with. Never: compares; writes.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use genba_bench::findings::Earlier;
use genba_bench::json;
use genba_bench::measured::Session;

use super::outcome::refused;
use crate::read;
use crate::words::failure::{self, Failure};

/// Read before anything is measured.
pub struct EarlierSessions<'a> {
    files: Vec<Earlier>,
    /// None in it: no session yet.
    history: Option<(&'a Path, Option<Earlier>)>,
}

impl<'a> EarlierSessions<'a> {
    pub fn read(files: &[PathBuf], history: Option<&'a Path>) -> Result<EarlierSessions<'a>, Failure> {
        let file = |path: &PathBuf| parsed(path, &text_of(path)?.map_err(|error| cannot_read(path, &error))?);
        let files = files.iter().map(file).collect::<Result<Vec<Earlier>, Failure>>()?;
        let history = history.map(|path| read_history(path).map(|found| (path, found))).transpose()?;
        Ok(EarlierSessions { files, history })
    }

    /// Those that the session is compared with. If the history has none of its commands, that is said where `is_told`.
    pub fn beside(self, session: &Session, is_told: bool) -> Vec<Earlier> {
        let of_history = self.history.and_then(|(path, found)| keep_if_measured(path, found, session, is_told));
        self.files.into_iter().chain(of_history).collect()
    }
}

/// None: no session yet.
fn read_history(path: &Path) -> Result<Option<Earlier>, Failure> {
    match text_of(path)? {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(cannot_read(path, &error)),
        Ok(text) if text.trim().is_empty() => Ok(None),
        Ok(text) => parsed(path, &text).map(Some),
    }
}

/// The history, if it has one of the commands; else a message that it has none.
fn keep_if_measured(path: &Path, history: Option<Earlier>, session: &Session, is_told: bool) -> Option<Earlier> {
    let found =
        history.filter(|history| session.measured.iter().any(|measured| history.times_of(&measured.line).is_some()));
    if found.is_none() && is_told {
        failure::say(&format!("no session of these commands in {} yet", path.display()));
    }
    found
}

fn text_of(path: &Path) -> Result<std::io::Result<String>, Failure> {
    read::check_is_no_pipe(path)?;
    Ok(whole(path))
}

fn whole(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    // Another bench may be adding its line now, and half of it would be no session. Some file systems have no locks.
    let _ = file.lock_shared();
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(text)
}

fn parsed(path: &Path, text: &str) -> Result<Earlier, Failure> {
    json::earlier(&path.display().to_string(), text).map_err(refused)
}

fn cannot_read(path: &Path, error: &std::io::Error) -> Failure {
    Failure::usage(format!("cannot read {}: {}", path.display(), failure::of_system(error)))
        .hint("genba bench --export-json FILE writes one")
}
