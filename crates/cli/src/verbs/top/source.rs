//! Where the recording comes from that `genba top` follows, and its bytes as they come.
//! Owns: what TARGET means, and what becomes of the file meanwhile (truncated, replaced, removed). Never: decodes, waits, writes.
//! Each source ends as a path of a recording in `open`.

use std::fs::{File, Metadata};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use genba_format::{Event, Reader};
use genba_profile::growing::Growing;
use genba_profile::shell;

use super::attaching::Attaching;
use super::passed::Passed;
use super::starting::{Starting, Wanted};
use crate::files::interpreter::is_executable;
use crate::files::own_file::Content;
use crate::finish::Root;
use crate::read::{check_opens, newest_here};
use crate::words::failure::{Failure, say};

/// Read at a time.
const PIECE_BYTES: usize = 1 << 20;

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
            Source::Recording(path) => Following::open(path.clone(), Root::OWN).map(drop),
            Source::Process(pid) => Attaching::check(*pid).map(drop),
            Source::Program(wanted) => wanted.program().map(drop),
        }
    }

    /// And the genba that makes the recording, where there is none yet.
    pub fn open(self, passed: &Passed) -> Result<(Following, Option<Beside>), Failure> {
        match self {
            Source::Recording(path) => Ok((Following::open(path, Root::OWN)?, None)),
            Source::Process(pid) => {
                let attaching = Attaching::begin(pid, passed)?;
                let root = Root::of_process(pid).unwrap_or(Root::OWN);
                Ok((Following::open(attaching.path().to_path_buf(), root)?, Some(Beside::Attaching(attaching))))
            }
            Source::Program(wanted) => {
                let starting = Starting::begin(&wanted, passed)?;
                Ok((Following::open(starting.path().to_path_buf(), Root::OWN)?, Some(Beside::Starting(starting))))
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
    pub path: PathBuf,
    /// Where the paths in it lead.
    pub root: Root,
    file: File,
    opened: Identity,
    reader: Reader,
    read_bytes: u64,
}

/// What tells a file from another one of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
}

/// What has become of the file since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fate {
    #[default]
    Same,
    /// It has fewer bytes than were read: what was read stays on the screen, and nothing more is read.
    Truncated,
    /// Another file has its name.
    Replaced,
    Removed,
}

impl Following {
    fn open(path: PathBuf, root: Root) -> Result<Following, Failure> {
        let cannot_open = |error: std::io::Error| Failure::no(format!("cannot open {}: {error}", path.display()));
        let found = std::fs::metadata(&path);
        if found.as_ref().is_ok_and(|found| !found.is_file()) {
            return Err(Failure::no(format!("{} is not a file", path.display())).hint("genba top app.genba"));
        }
        check_opens(&path)?;
        let file = File::open(&path).map_err(cannot_open)?;
        let opened = Identity::of(&file.metadata().map_err(cannot_open)?);
        match Content::of(&file).map_err(cannot_open)? {
            // It has no block yet, or is one.
            Content::Empty | Content::Recording => {}
            other => return Err(not_a_recording(&path, &other)),
        }
        Ok(Following { path, root, file, opened, reader: Reader::default(), read_bytes: 0 })
    }

    pub fn fate(&self) -> Fate {
        let now_bytes = self.file.metadata().map_or(0, |found| found.len());
        if now_bytes < self.read_bytes {
            return Fate::Truncated;
        }
        match std::fs::metadata(&self.path) {
            Ok(found) if Identity::of(&found) == self.opened => Fate::Same,
            Ok(_) => Fate::Replaced,
            Err(_) => Fate::Removed,
        }
    }

    pub const fn read_bytes(&self) -> u64 {
        self.read_bytes
    }

    /// Seconds since the file last grew.
    pub fn quiet_seconds(&self) -> u64 {
        let written = self.file.metadata().and_then(|found| found.modified()).ok();
        let age = written.and_then(|written| SystemTime::now().duration_since(written).ok());
        age.map_or(0, |age| age.as_secs())
    }

    /// Adds what the file has grown by. `Ok(false)`: by nothing.
    pub fn advance(&mut self, growing: &mut Growing) -> std::io::Result<bool> {
        let mut has_grown = false;
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            let bytes = match self.file.read_at(&mut piece, self.read_bytes) {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let Some(read) = piece.get(..bytes).filter(|read| !read.is_empty()) else { return Ok(has_grown) };
            self.reader.feed(read);
            self.read_bytes += bytes as u64;
            loop {
                match self.reader.event() {
                    Event::Block(block) => {
                        growing.add(*block);
                        has_grown = true;
                    }
                    Event::Fault(fault) => {
                        growing.add_fault(fault);
                        has_grown = true;
                    }
                    Event::NeedMore => break,
                }
            }
        }
    }
}

impl Identity {
    fn of(found: &Metadata) -> Identity {
        Identity { device: found.dev(), inode: found.ino() }
    }
}

fn not_a_recording(path: &Path, content: &Content) -> Failure {
    let shown = path.display();
    Failure::no(format!("{shown} is not a recording")).detail(content.to_string()).hint(format!(
        "genba top follows a recording that genba run is writing; genba report {} reads other files",
        shell::path(path)
    ))
}
