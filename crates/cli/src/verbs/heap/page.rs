//! What is known about a heap, and the same as JSON; docs/json.md describes it.
//! Owns: the keys, the file of a page. Keeps: what is absent is `null`. Never: holds a secret of the command line (docs/privacy.md).

use std::fs::{OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use genba_format::masking;
use genba_heap::answer::Class;
use genba_process::interpreter::Interpreter;
use genba_profile::shell;
use serde::{Deserialize, Serialize};

use super::asking::Asked;
use super::choice::Choice;
use crate::words::failure::{self, Failure};

pub const FORMAT: &str = "genba-heap";
pub const VERSION: u32 = 1;

/// So many classes are shown.
pub const TOP: usize = 25;

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Format {
    Text,
    Json,
}

#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Page {
    pub format: String,
    pub version: u32,
    pub genba_version: String,
    pub pid: u32,
    pub python: String,
    /// Secrets masked.
    pub argv: Vec<String>,
    /// Of a heap that was walked during a recording: why, and when.
    pub moment: Option<String>,
    pub walked_realtime_ns: Option<u64>,
    pub objects: u64,
    pub bytes: u64,
    /// Those that the collector tracks.
    pub tracked: u64,
    pub unreached: Unreached,
    /// `copy` or `in_place`.
    pub walked: String,
    pub why_in_place: Option<String>,
    /// The GIL was held for so long.
    pub pause_ns: u64,
    /// All threads were stopped for so long, to ask.
    pub stopped_ns: u64,
    /// The GIL was waited for.
    pub wait_ns: u64,
    pub walk_ns: u64,
    /// What the process had in memory; null: not known, as in files of earlier versions.
    pub resident_bytes: Option<u64>,
    /// Of that: pages of files such as libraries, and memory that is shared.
    pub resident_files_bytes: Option<u64>,
    /// Of the rest: what belongs to no object that was met, as far as genba knows its size.
    pub unaccounted_bytes: Option<u64>,
    /// With `--collect`.
    pub collection: Option<Collection>,
    /// With `--live-only`: what was not counted.
    pub garbage: Option<Garbage>,
    /// Of the program, while its copy lived.
    pub page_faults: Option<u64>,
    pub classes: Vec<Row>,
    /// How many `--limit` left out. A file that is kept has all.
    #[serde(default)]
    pub classes_left_out: usize,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct Collection {
    pub pause_ns: u64,
    /// Objects that it found unreachable.
    pub collected: u64,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct Garbage {
    pub objects: u64,
    pub bytes: u64,
}

#[derive(Clone, Copy, Default, Serialize, Deserialize)]
pub struct Unreached {
    /// Interpreters with a GIL of their own.
    pub interpreters: u64,
    /// Of all objects, those that only C code holds are at most this share in genba's tests.
    pub share_max: f64,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Row {
    /// Null: its `__module__` is no text.
    pub module: Option<String>,
    /// Null: all classes beyond the first 65,535.
    pub name: Option<String>,
    /// Its names are longer than is shown.
    pub is_cut: bool,
    /// Its objects own memory of which genba does not know.
    #[serde(default)]
    pub has_more: bool,
    pub count: u64,
    pub bytes: u64,
}

impl Row {
    pub fn of(class: Class) -> Row {
        let name = (!class.name.is_empty()).then_some(class.name);
        Row {
            module: class.module,
            name,
            is_cut: class.is_cut,
            has_more: class.has_more,
            count: class.count,
            bytes: class.bytes,
        }
    }

    /// `module.Name`; classes of `builtins` without it.
    pub fn full_name(&self) -> String {
        let cut = if self.is_cut { "…" } else { "" };
        match (self.module.as_deref(), self.name.as_deref()) {
            (_, None) => "(classes without a row of their own)".to_owned(),
            (Some("builtins"), Some(name)) => format!("{name}{cut}"),
            (Some(module), Some(name)) => format!("{module}.{name}{cut}"),
            (None, Some(name)) => format!("?.{name}{cut}"),
        }
    }
}

/// Whose heap it is.
pub struct Process {
    pub pid: u32,
    pub python: String,
    pub argv: Vec<String>,
}

impl Page {
    pub fn new(interpreter: &Interpreter, choice: &Choice, asked: Asked) -> Page {
        let process = Process {
            pid: interpreter.facts.pid,
            python: interpreter.version.clone(),
            argv: interpreter.facts.command_line.clone(),
        };
        Page::of(process, choice.against_copy.clone(), asked)
    }

    pub fn of(process: Process, against_copy: Option<String>, asked: Asked) -> Page {
        let answer = asked.answer;
        let done = answer.done;
        let errno = (done.detail != 0).then(|| std::io::Error::from_raw_os_error(done.detail.cast_signed()));
        let failed = errno
            .filter(|_| !done.is_forked)
            .map(|error| format!("no copy can be made: {}", failure::of_system(&error)));
        let mut classes: Vec<Row> = answer.classes.into_iter().map(Row::of).collect();
        classes.sort_by(|one, other| {
            let key = |row: &Row| (std::cmp::Reverse(row.bytes), row.full_name());
            key(one).cmp(&key(other))
        });
        // Interned strings of 3.11, or a dict of them that is elsewhere, are found by what refers to them alone.
        let resident_bytes = (done.resident_bytes > 0).then_some(done.resident_bytes);
        let known = answer.bytes.saturating_add(answer.garbage_bytes).saturating_add(done.resident_files_bytes);
        let share_max = if done.has_interned { 0.003 } else { 0.01 };
        Page {
            format: FORMAT.to_owned(),
            version: VERSION,
            genba_version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: process.pid,
            python: process.python,
            argv: masking::masked(process.argv.iter().map(String::as_str)),
            moment: None,
            walked_realtime_ns: None,
            objects: answer.objects,
            bytes: answer.bytes,
            tracked: answer.tracked,
            unreached: Unreached { interpreters: done.interpreters_left, share_max },
            walked: if done.is_forked { "copy" } else { "in_place" }.to_owned(),
            why_in_place: against_copy.or(failed),
            pause_ns: done.pause_ns,
            stopped_ns: asked.stopped_ns,
            wait_ns: done.wait_ns,
            walk_ns: done.walk_ns,
            resident_bytes,
            resident_files_bytes: resident_bytes.map(|_| done.resident_files_bytes),
            unaccounted_bytes: resident_bytes.map(|bytes| bytes.saturating_sub(known)),
            collection: asked
                .wants
                .collection
                .then_some(Collection { pause_ns: done.collect_ns, collected: done.collected }),
            garbage: asked
                .wants
                .live_only
                .then_some(Garbage { objects: answer.garbage_objects, bytes: answer.garbage_bytes }),
            page_faults: done.is_forked.then_some(done.page_faults),
            classes,
            classes_left_out: 0,
        }
    }

    /// With so many classes; 0: all. Sums stay those of all.
    #[must_use]
    pub fn limited(&self, top: usize) -> Page {
        let mut page = self.clone();
        if top > 0 && top < page.classes.len() {
            page.classes_left_out += page.classes.len() - top;
            page.classes.truncate(top);
        }
        page
    }

    /// Into a file that only its owner can read. `replaces`: one that is there already, too.
    pub fn write(&self, path: &Path, replaces: bool) -> Result<(), Failure> {
        write(path, &self.json()?, replaces)
    }

    pub fn json(&self) -> Result<String, Failure> {
        let text = genba_text::json::pretty(self);
        text.map_err(|error| Failure::ours(format!("cannot write JSON: {error}")))
    }
}

fn write(path: &Path, text: &str, replaces: bool) -> Result<(), Failure> {
    let cannot = |error| Failure::no(format!("cannot write {}: {}", path.display(), failure::of_system(&error)));
    let is_there = replaces && path.exists();
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(!is_there).mode(0o600).open(path).map_err(cannot)?;
    if is_there && file.metadata().map_err(cannot)?.is_file() {
        // First of all: where that fails, what is there stays.
        file.set_permissions(Permissions::from_mode(0o600)).map_err(|error| {
            cannot(error)
                .detail("only its owner may read a heap, and the mode of this file cannot be changed; it is as it was")
                .hint(format!("-o with another name, or first: rm {}", shell::path(path)))
        })?;
        file.set_len(0).map_err(cannot)?;
    }
    file.write_all(text.as_bytes()).map_err(cannot)
}

#[cfg(test)]
mod tests {
    use super::{Page, Row, write};
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    #[test]
    fn a_file_is_replaced_as_a_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("heap.json");
        fs::write(&path, "a longer one").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(write(&path, "new", false).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "a longer one");
        write(&path, "new", true).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        // A regular file that may be written, and whose mode nobody may change.
        let fixed = Path::new("/proc/self/comm");
        let before = fs::read_to_string(fixed).unwrap();
        let failure = write(fixed, "new", true).unwrap_err();
        let words = format!("{failure:?}");
        assert!(words.contains("it is as it was"), "{words}");
        assert_eq!(fs::read_to_string(fixed).unwrap(), before);
    }

    #[test]
    fn a_limit_leaves_classes_out_and_says_how_many() {
        let row = |bytes| Row { module: None, name: None, is_cut: false, has_more: false, count: 1, bytes };
        let page = Page { objects: 3, bytes: 60, classes: vec![row(30), row(20), row(10)], ..Page::default() };
        for (limit, shown) in [(0, 3), (1, 1), (2, 2), (3, 3), (9, 3)] {
            let limited = page.limited(limit);
            assert_eq!((limited.classes.len(), limited.classes_left_out), (shown, 3 - shown), "{limit}");
            assert_eq!((&limited.classes[..], limited.objects, limited.bytes), (&page.classes[..shown], 3, 60));
        }
    }
}
