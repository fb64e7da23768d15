//! Where the recording comes from that `genba top` follows, and its blocks as they come.
//! Owns: what TARGET means. Never: waits, writes; knows how a file grows (crates/cli/src/files/growing_file.rs does).
//! Each source ends as a path of a recording in `open`.

use std::path::{Path, PathBuf};

use genba_format::{Event, Reader};
use genba_profile::growing::Growing;
use genba_profile::shell;

use super::attaching::Attaching;
use super::passed::Passed;
use super::starting::{Starting, Wanted};
use crate::files::growing_file::GrowingFile;
use crate::files::interpreter::is_executable;
use crate::files::own_file::Content;
use crate::finish::Root;
use crate::read::{check_opens, newest_here};
use crate::words::failure::{Failure, say};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    Recording(PathBuf),
    Process(u32),
    Program(Wanted),
}

/// The other genba that makes the recording.
pub enum Beside {
    Attaching(Attaching),
    Starting(Starting),
}

impl Source {
    /// A number is a process, unless there is a file of that name; any other file that is no script and cannot be executed is a recording,
    /// and so is what is called one. What is left is a program, in `genba run`'s words. Nothing: the newest recording here, whose name is said.
    pub fn of_target(wanted: Wanted) -> Result<Source, Failure> {
        if wanted.module.is_some() || wanted.python.is_some() {
            return Ok(Source::Program(wanted));
        }
        let Some(first) = wanted.target.first().map(PathBuf::from) else {
            let newest = newest_here()?;
            say(&format!("following {}", newest.display()));
            return Ok(Source::Recording(newest));
        };
        let pid = first.to_str().and_then(|text| text.parse::<u32>().ok());
        if let Some(pid) = pid.filter(|_| !first.exists()) {
            return alone(&wanted, Source::Process(pid));
        }
        if is_recording(&first) { alone(&wanted, Source::Recording(first)) } else { Ok(Source::Program(wanted)) }
    }

    /// Whether it can be followed, as far as that is known before anything begins.
    pub fn check(&self) -> Result<(), Failure> {
        match self {
            Source::Recording(path) => Following::open(path, Root::OWN).map(drop),
            Source::Process(pid) => Attaching::check(*pid).map(drop),
            Source::Program(wanted) => wanted.program().map(drop),
        }
    }

    /// And the genba that makes the recording, where there is none yet.
    pub fn open(self, passed: &Passed) -> Result<(Following, Option<Beside>), Failure> {
        match self {
            Source::Recording(path) => Ok((Following::open(&path, Root::OWN)?, None)),
            Source::Process(pid) => {
                let attaching = Attaching::begin(pid, passed)?;
                let root = Root::of_process(pid).unwrap_or(Root::OWN);
                Ok((Following::open(attaching.path(), root)?, Some(Beside::Attaching(attaching))))
            }
            Source::Program(wanted) => {
                let starting = Starting::begin(&wanted, passed)?;
                Ok((Following::open(starting.path(), Root::OWN)?, Some(Beside::Starting(starting))))
            }
        }
    }
}

/// Only a program has arguments.
fn alone(wanted: &Wanted, source: Source) -> Result<Source, Failure> {
    match wanted.target.as_slice() {
        [_] => Ok(source),
        [first, more @ ..] => {
            let target = shell::path(Path::new(first));
            // Behind a program they would be the program's.
            let has_option = more.iter().any(|word| word.as_encoded_bytes().starts_with(b"-"));
            let hint = if has_option {
                let words: Vec<String> = more.iter().map(|word| shell::word(&word.to_string_lossy())).collect();
                format!("options come before it: genba top {} {target}", words.join(" "))
            } else {
                format!("genba top {target}")
            };
            Err(Failure::usage(format!("{} is no program: nothing may come behind it", first.display())).hint(hint))
        }
        [] => Ok(source),
    }
}

fn is_recording(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    match ending {
        Some("genba") => true,
        Some("py" | "pyz") => false,
        _ if path.is_dir() => !path.join("__main__.py").is_file(),
        _ if path.is_file() => !is_executable(path),
        _ => path.exists(),
    }
}

/// A recording on disk, as far as it was read.
pub struct Following {
    /// Where the paths in it lead.
    pub root: Root,
    pub file: GrowingFile,
    reader: Reader,
}

impl Following {
    fn open(path: &Path, root: Root) -> Result<Following, Failure> {
        let cannot_open = |error: std::io::Error| Failure::no(format!("cannot open {}: {error}", path.display()));
        let found = std::fs::metadata(path);
        if found.as_ref().is_ok_and(|found| !found.is_file()) {
            return Err(Failure::no(format!("{} is not a file", path.display())).hint("genba top app.genba"));
        }
        check_opens(path)?;
        let file = GrowingFile::open(path).map_err(cannot_open)?;
        match file.content().map_err(cannot_open)? {
            // It has no block yet, or is one.
            Content::Empty | Content::Recording => {}
            other => return Err(not_a_recording(path, &other)),
        }
        Ok(Following { root, file, reader: Reader::default() })
    }

    /// Adds what the file has grown by. `Ok(false)`: by nothing.
    pub fn advance(&mut self, growing: &mut Growing) -> std::io::Result<bool> {
        let Following { file, reader, .. } = self;
        let mut has_grown = false;
        file.advance(|piece| {
            reader.feed(piece);
            has_grown |= add_events(reader, growing);
        })?;
        Ok(has_grown)
    }
}

/// False: nothing is whole yet.
fn add_events(reader: &mut Reader, growing: &mut Growing) -> bool {
    let mut has_grown = false;
    loop {
        match reader.event() {
            Event::Block(block) => growing.add(*block),
            Event::Fault(fault) => growing.add_fault(fault),
            Event::NeedMore => return has_grown,
        }
        has_grown = true;
    }
}

fn not_a_recording(path: &Path, content: &Content) -> Failure {
    let shown = path.display();
    Failure::no(format!("{shown} is not a recording")).detail(content.to_string()).hint(format!(
        "genba top follows a recording that genba run is writing; genba report {} reads other files",
        shell::path(path)
    ))
}
