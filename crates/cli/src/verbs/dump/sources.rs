//! The source files of a process, as it sees them, and what was typed into it.
//! Owns: which of them tell what runs. Never: reads what is no regular file, gives the text of a file that was
//! written after the process began.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use genba_format::proto;
use genba_process::facts::Facts;
use genba_profile::source_text::SourceText;

use crate::finish::{Root, decoded, may_be_typed};

const FILE_BYTES_MAX: u64 = 32 << 20;
/// The time at which a process began is known to about 20 ms.
const BEGAN_SLACK_NS: u64 = 50_000_000;

pub struct Sources {
    pub root: Option<Root>,
    working_directory: Option<PathBuf>,
    began_realtime_ns: Option<u64>,
    texts: HashMap<String, Found>,
}

enum Found {
    Text(SourceText),
    /// Written after the process began.
    Changed,
    None,
}

impl Sources {
    pub fn of(facts: &Facts) -> Sources {
        Sources {
            root: Root::of_process(facts.pid).ok(),
            working_directory: facts.working_directory.clone(),
            began_realtime_ns: facts.began_realtime_ns,
            texts: HashMap::new(),
        }
    }

    /// Of a process that is gone: files on this machine that are older than its core file.
    pub fn here(core: &Path) -> Sources {
        let written = std::fs::metadata(core).ok().and_then(|status| u64::try_from(status.mtime()).ok());
        Sources {
            root: Some(Root::OWN),
            working_directory: None,
            began_realtime_ns: written.map(|seconds| seconds.saturating_mul(1_000_000_000)),
            texts: HashMap::new(),
        }
    }

    /// `typed`: the text that somebody typed under this name, for a name that no file has.
    pub fn get(&mut self, path: &str, typed: impl FnOnce(&str) -> Option<String>) -> Option<&SourceText> {
        if !self.texts.contains_key(path) {
            let found = match self.read(path) {
                Found::None if may_be_typed(path) => {
                    typed(path).map_or(Found::None, |text| Found::Text(source_text(path, text)))
                }
                found => found,
            };
            self.texts.insert(path.to_owned(), found);
        }
        match self.texts.get(path) {
            Some(Found::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// The files whose text is not shown for that reason, by name.
    pub fn changed(&self) -> Vec<String> {
        let is_changed = |(_, found): &(&String, &Found)| matches!(found, Found::Changed);
        let mut paths: Vec<String> = self.texts.iter().filter(is_changed).map(|(path, _)| path.clone()).collect();
        paths.sort_unstable();
        paths
    }

    fn read(&self, path: &str) -> Found {
        let Some(mut file) = self.open(path) else { return Found::None };
        let Ok(status) = file.metadata() else { return Found::None };
        if !status.is_file() || status.len() > FILE_BYTES_MAX {
            return Found::None;
        }
        let written_ns = status
            .mtime()
            .cast_unsigned()
            .saturating_mul(1_000_000_000)
            .saturating_add(status.mtime_nsec().cast_unsigned());
        if self.began_realtime_ns.is_some_and(|began_ns| written_ns > began_ns + BEGAN_SLACK_NS) {
            return Found::Changed;
        }
        let mut bytes = Vec::new();
        if file.read_to_end(&mut bytes).is_err() {
            return Found::None;
        }
        let Some(text) = decoded(&bytes) else { return Found::None };
        Found::Text(source_text(path, text))
    }

    fn open(&self, path: &str) -> Option<File> {
        let path = match Path::new(path) {
            absolute if absolute.is_absolute() => absolute.to_path_buf(),
            // `<string>` and the like are no paths.
            _ if path.starts_with('<') => return None,
            relative => self.working_directory.as_ref()?.join(relative),
        };
        self.root.as_ref()?.open(&path).ok()
    }
}

fn source_text(path: &str, text: String) -> SourceText {
    let chunks = vec![proto::SourceChunk { first_line: 1, text }];
    SourceText::new(&proto::Source { path: path.to_owned(), chunks, ..proto::Source::default() })
}
