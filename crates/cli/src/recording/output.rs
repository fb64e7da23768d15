//! The file a recording goes to: its name, and its making (empty, mode 0600) before the program starts.
//! Owns: the names `app.genba`, `app-2.genba`, the rules of `-o` and `--force`, the folder used when this one cannot be
//! written, and where a recording goes that somebody removed while it was made. Never: replaces anything but an empty file or a recording, and those only with `--force`.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{ErrorKind, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use rustix::fs::{CWD, FlockOperation, OFlags, RenameFlags, flock, fstatvfs, renameat_with};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use crate::files::identity::FileIdentity;
use crate::files::own_file::Content;
use crate::words::failure::{self, Failure};
use crate::words::of_others;
use genba_profile::shell;

/// More recordings of one name in one folder than anybody keeps.
const NUMBER_MAX: u32 = 100_000;

/// Written and taken back before the program starts.
const TRIED_BYTES: usize = 4096;
/// What the first blocks of a process need at least.
const FIRST_BYTES: u64 = 16 << 10;
const LARGER_FILES: &str = "raise the limit of file sizes (ulimit -f)";

/// Why a recording has nothing of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nothing {
    Full,
    /// The limit of file sizes.
    Limited,
    /// By somebody else; or what was written was refused, and nobody can tell any more.
    Shortened,
    /// It has bytes.
    Unread,
}

/// What is to be in the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holds {
    Recording,
    Prof,
}

impl Holds {
    const fn ending(self) -> &'static str {
        match self {
            Holds::Recording => "genba",
            Holds::Prof => "prof",
        }
    }

    const fn noun(self) -> &'static str {
        match self {
            Holds::Recording => "recording",
            Holds::Prof => ".prof file",
        }
    }

    /// Why it is not written to a pipe, and what is done instead.
    const fn about_pipes(self) -> (&'static str, &'static str) {
        match self {
            Holds::Recording => (
                "several processes append to a recording, and genba reads it back at the end",
                "-o app.genba; genba export -o - writes a recording in another format to stdout",
            ),
            Holds::Prof => (
                "the program writes it when it ends, and genba reads it back",
                "-o app.prof; genba trace -s time prints the functions",
            ),
        }
    }

    /// Whether a file with this content may be replaced.
    const fn replaces(self, content: &Content) -> bool {
        matches!(
            (self, content),
            (_, Content::Empty) | (Holds::Recording, Content::Recording) | (Holds::Prof, Content::Prof)
        )
    }
}

/// A recording's file, made for this run.
#[derive(Clone)]
pub struct Output {
    /// Absolute.
    pub path: PathBuf,
    /// As the user would write it.
    pub shown: String,
    /// Set when the current directory cannot be written: words for the user.
    pub moved: Option<String>,
    /// Where the file lies that `--force` replaces, until something was recorded.
    replaced: Option<PathBuf>,
    /// It stays readable when its name is gone.
    file: Arc<File>,
    holds: Holds,
}

impl Output {
    /// As a word of a command that is offered.
    pub fn word(&self) -> String {
        // What is not UTF-8 is not in `shown`.
        let exact = !self.shown.contains(char::REPLACEMENT_CHARACTER);
        shell::path(if exact { Path::new(&self.shown) } else { &self.path })
    }

    /// `stem`: of the name that it gets where none is asked for. `words`: of the program's command line, which may name the file.
    pub fn create(
        holds: Holds,
        asked: Option<&Path>,
        is_forced: bool,
        stem: &str,
        words: &[&OsStr],
    ) -> Result<Output, Failure> {
        match asked {
            Some(path) => create_as_asked(holds, path, is_forced, words),
            None => create_next(holds, stem),
        }
    }

    /// Before a program starts that may run for long: a page is written and taken back. Gives the time of that.
    ///
    /// # Errors
    /// The disk is full, or no file may become so large. What was to be replaced is in its place again.
    pub fn check_room(&self) -> Result<SystemTime, Failure> {
        let mut file = &*self.file;
        let written = file.write_all(&[0; TRIED_BYTES]);
        let taken_back = self.file.set_len(0).and_then(|()| file.rewind());
        let tried = written.and(taken_back).and_then(|()| self.file.metadata()?.modified());
        tried.map_err(|error| {
            self.give_up();
            let what = format!("cannot write the {} {}: {}", self.holds.noun(), self.shown, failure::of_system(&error));
            let failure = Failure::no(what).detail("the program was not started");
            match error.kind() {
                ErrorKind::FileTooLarge => failure.hint(LARGER_FILES),
                _ => failure.hint(self.more_room()),
            }
        })
    }

    /// Why nothing of a process is in it, though it could be written at `tried`. `None`: nothing tells. `is_beheaded`: its first bytes are missing.
    pub fn why_nothing(&self, tried: SystemTime, is_beheaded: bool) -> Option<Nothing> {
        let found = self.file.metadata().ok()?;
        let disk = fstatvfs(&*self.file).ok()?;
        let largest = getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX);
        if found.len() > 0 {
            Some(if is_beheaded { Nothing::Shortened } else { Nothing::Unread })
        } else if disk.f_bavail.saturating_mul(disk.f_frsize) < FIRST_BYTES {
            Some(Nothing::Full)
        } else if largest < FIRST_BYTES {
            Some(Nothing::Limited)
        } else {
            found.modified().is_ok_and(|modified| modified != tried).then_some(Nothing::Shortened)
        }
    }

    /// What was recorded is not here, for a program that ran to its end.
    pub fn nothing(&self, why: Nothing) -> Failure {
        let shown = &self.shown;
        match why {
            Nothing::Full => {
                Failure::no(format!("nothing was recorded: the disk of {shown} is full")).hint(self.more_room())
            }
            Nothing::Limited => {
                Failure::no(format!("nothing was recorded: no file may become as large as {shown} would"))
                    .hint(LARGER_FILES)
            }
            Nothing::Unread => Failure::no(format!("genba cannot read the recording {shown} that the program left"))
                .detail("no memory is left for that (ulimit -v), or somebody else wrote into it")
                .hint(format!("genba check {}", self.word())),
            Nothing::Shortened => Failure::no(format!(
                "the recording {shown} was made shorter while the program ran: its beginning is gone"
            ))
            .detail("the program or another one opened it to write, or its disk was full for a time")
            .hint(format!("-o with a file that nobody else writes, such as -o FOLDER/app.{}", self.holds.ending())),
        }
    }

    fn more_room(&self) -> String {
        format!("free some space, or record to another disk: -o FOLDER/app.{}", self.holds.ending())
    }

    /// Something was recorded: what `--force` replaces is gone.
    pub fn keep(&self) {
        if let Some(replaced) = &self.replaced {
            let _ = fs::remove_file(replaced);
        }
    }

    /// Adds to its end, whatever its name leads to by now.
    pub fn append(&self, from: &mut impl std::io::Read) -> std::io::Result<u64> {
        let mut file = &*self.file;
        file.seek(SeekFrom::End(0))?;
        std::io::copy(from, &mut file)
    }

    /// Its name leads to it no more: somebody removed or moved it, or its folder, while the program ran. What was written goes into a new file: in the same folder,
    /// else in a private temporary one. Words for the user.
    pub fn find(&mut self) -> Result<Option<String>, Failure> {
        let is_here = |found: &Metadata| self.file.metadata().is_ok_and(|file| is_same(&file, found));
        if fs::symlink_metadata(&self.path).as_ref().is_ok_and(is_here) {
            return Ok(None);
        }
        let gone = format!("{} was removed while the program ran", self.shown);
        let hint = format!("name a file in a folder that is not removed: -o FOLDER/app.{}", self.holds.ending());
        if self.file.metadata().is_ok_and(|file| file.len() == 0) {
            return Err(Failure::no(format!("{gone}, before anything was written into it")).hint(hint));
        }
        let lost = |error: &std::io::Error| {
            Failure::no(format!("{gone}, and what was recorded cannot be kept: {}", failure::of_system(error)))
                .hint(&hint)
        };
        let stem = self.path.file_stem().and_then(OsStr::to_str).unwrap_or("app").to_owned();
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        let (path, copy) = create_numbered(folder, &stem, self.holds.ending())
            .or_else(|_| create_numbered(&private_folder()?, &stem, self.holds.ending()))
            .map_err(|error| lost(&error))?;
        let copied = (&*self.file).rewind().and_then(|()| std::io::copy(&mut &*self.file, &mut &copy));
        copied.map_err(|error| {
            let _ = fs::remove_file(&path);
            lost(&error)
        })?;
        self.shown = path.display().to_string();
        (self.path, self.file) = (path, Arc::new(copy));
        Ok(Some(format!("{gone}; it is kept as {}", self.shown)))
    }

    /// genba ends before the program does.
    pub fn leave(&self) {
        if fs::metadata(&self.path).is_ok_and(|found| found.len() > 0) {
            self.keep();
        }
    }

    /// Nothing was recorded: takes the file away again if it is empty. What it was to replace comes back.
    pub fn give_up(&self) {
        if fs::metadata(&self.path).is_ok_and(|found| found.len() == 0) {
            let _ = fs::remove_file(&self.path);
        }
        if let Some(replaced) = &self.replaced {
            let _ = rename_to_free(replaced, &self.path);
        }
    }
}

fn create_as_asked(holds: Holds, path: &Path, is_forced: bool, words: &[&OsStr]) -> Result<Output, Failure> {
    let shown = path.display().to_string();
    let refused = |why: &str| Failure::usage(format!("cannot write the {} {shown}: {why}", holds.noun()));
    if path == Path::new("-") {
        let (why, hint) = holds.about_pipes();
        return Err(refused("- is no file").detail(why).hint(hint));
    }
    if let Some(then) = of_others::ending(path).filter(|_| holds == Holds::Recording) {
        let (recording, ending) = (path.with_extension(holds.ending()), of_others::shown_ending(path));
        return Err(refused(&format!("the name of a recording does not end in {ending}"))
            .hint(format!("-o {}; {then}", shell::path(&recording))));
    }
    let mut replaced = None;
    if let Ok(found) = fs::symlink_metadata(path) {
        let behind = fs::metadata(path);
        if behind.as_ref().is_ok_and(Metadata::is_dir) {
            return Err(refused("it is a directory")
                .hint(format!("-o {}", shell::path(&path.join(format!("app.{}", holds.ending()))))));
        }
        if behind.is_ok_and(|behind| !behind.is_file()) {
            return Err(refused("it is not a regular file")
                .detail(holds.about_pipes().0)
                .hint(format!("-o app.{}", holds.ending())));
        }
        if found.is_symlink() {
            let hint = "name the file itself with -o, or another one";
            return Err(refused("it is a symbolic link").detail(link_target(path)).hint(hint));
        }
        if is_named_by(words, &found) {
            return Err(refused("the program's own command line names this file").hint("name another file with -o"));
        }
        let (file, content) = opened(path).map_err(|error| {
            refused(&format!("it exists, and genba cannot read it: {}", failure::of_system(&error)))
                .hint("name another file with -o")
        })?;
        match content {
            // genba attach holds a lock on it.
            ref content if holds.replaces(content) && flock(&file, FlockOperation::NonBlockingLockShared).is_err() => {
                return Err(refused("another genba is writing it").hint("name another file with -o"));
            }
            ref content if holds.replaces(content) && is_forced => {
                let aside = aside(path);
                set_aside(path, &aside, &file)
                    .map_err(|error| refused(&failure::of_system(&error)).hint("name another file with -o"))?;
                replaced = Some(aside);
            }
            ref content if holds.replaces(content) => {
                return Err(refused("it exists").hint("--force replaces it; without -o genba takes the next free name"));
            }
            content => {
                return Err(refused(&format!("it exists and is not a {}", holds.noun()))
                    .detail(content.to_string())
                    .hint(format!(
                        "remove it first, or name another file with -o; --force replaces {}s only",
                        holds.noun()
                    )));
            }
        }
    }
    let made = create_new(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            let folder = path.parent().unwrap_or(Path::new("."));
            // /proc says so of each file that somebody wants to make there.
            if folder.is_dir() {
                return refused("no file can be made in that folder")
                    .hint("name a file in a folder that you may write to");
            }
            refused("its folder does not exist").hint(format!("mkdir -p {}", shell::path(folder)))
        }
        _ => refused(&failure::of_system(&error)).hint("name a file in a folder that you may write to"),
    });
    match made.and_then(|file| Ok((absolute(path)?, file))) {
        Ok((path, file)) => Ok(Output { path, shown, moved: None, replaced, file: Arc::new(file), holds }),
        Err(failure) => {
            replaced.map(|aside| fs::rename(aside, path));
            Err(failure)
        }
    }
}

fn link_target(path: &Path) -> String {
    fs::read_link(path)
        .map_or_else(|error| failure::of_system(&error), |target| format!("it points to {}", target.display()))
}

/// A script, or a file the program reads or writes itself.
fn is_named_by(words: &[&OsStr], found: &Metadata) -> bool {
    words.iter().filter_map(|word| fs::metadata(word).ok()).any(|named| is_same(&named, found))
}

fn is_same(one: &Metadata, other: &Metadata) -> bool {
    FileIdentity::of(one) == FileIdentity::of(other)
}

/// The file itself, not what a link leads to, and what it holds. Does not wait where the path has become a FIFO.
fn opened(path: &Path) -> std::io::Result<(File, Content)> {
    let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or(0);
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::other("it is not a regular file any more"));
    }
    let content = Content::of(&file)?;
    Ok((file, content))
}

/// Renames `path` and makes sure that this moved `checked`. Otherwise the file that came in between goes back.
fn set_aside(path: &Path, aside: &Path, checked: &File) -> std::io::Result<()> {
    rename_to_free(path, aside)?;
    if fs::symlink_metadata(aside).and_then(|moved| Ok(is_same(&moved, &checked.metadata()?))).unwrap_or(false) {
        return Ok(());
    }
    rename_to_free(aside, path)?;
    Err(std::io::Error::other("another file took its place just now"))
}

/// Never replaces what is at `to`. A file system that cannot promise this is asked beforehand.
fn rename_to_free(from: &Path, to: &Path) -> std::io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS) if !to.try_exists()? => fs::rename(from, to),
        Err(Errno::INVAL | Errno::NOSYS) => Err(ErrorKind::AlreadyExists.into()),
        moved => Ok(moved?),
    }
}

/// In the same folder, with an ending that no reader looks for.
fn aside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".replaced-{}", std::process::id()));
    PathBuf::from(name)
}

/// `app.genba`, `app-2.genba`, … in the current directory, else in a private temporary folder.
fn create_next(holds: Holds, stem: &str) -> Result<Output, Failure> {
    let (cannot, refusal) = match check_is_text().and_then(|()| create_numbered(Path::new(""), stem, holds.ending())) {
        Ok((path, file)) => {
            return Ok(Output {
                shown: path.display().to_string(),
                path: absolute(&path)?,
                moved: None,
                replaced: None,
                file: Arc::new(file),
                holds,
            });
        }
        Err(error) if error.kind() == ErrorKind::InvalidInput => ("is not used", error),
        Err(error) => ("cannot be written", error),
    };
    let nowhere = |error: &std::io::Error| {
        Failure::no(format!("cannot write a {}: {}", holds.noun(), failure::of_system(error)))
            .detail(format!("the current directory: {}", failure::of_system(&refusal)))
            .hint(format!(
                "name a file in a folder that you may write to: genba run -o FOLDER/app.{} …",
                holds.ending()
            ))
    };
    let folder = private_folder().map_err(|error| nowhere(&error))?;
    let (path, file) = create_numbered(&folder, stem, holds.ending()).map_err(|error| nowhere(&error))?;
    let shown = path.display().to_string();
    let moved = format!("the current directory {cannot} ({}); recording to {shown}", failure::of_system(&refusal));
    Ok(Output { path, shown, moved: Some(moved), replaced: None, file: Arc::new(file), holds })
}

fn create_numbered(folder: &Path, stem: &str, ending: &str) -> std::io::Result<(PathBuf, File)> {
    for number in 1..=NUMBER_MAX {
        let name = if number == 1 { format!("{stem}.{ending}") } else { format!("{stem}-{number}.{ending}") };
        let path = folder.join(name);
        match create_new(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(file) => return Ok((path, file)),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

fn create_new(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)
}

fn private_folder() -> std::io::Result<PathBuf> {
    let base = std::env::temp_dir();
    for number in 1..=NUMBER_MAX {
        let folder = base.join(format!("genba-{}-{number}", std::process::id()));
        match DirBuilder::new().mode(0o700).create(&folder) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(()) => return Ok(folder),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// Of the current directory, as of a recording in it.
fn check_is_text() -> std::io::Result<()> {
    match std::env::current_dir() {
        Ok(folder) if folder.to_str().is_none() => {
            Err(std::io::Error::new(ErrorKind::InvalidInput, "its path is not UTF-8"))
        }
        _ => Ok(()),
    }
}

/// The agent takes the path as text. Err: it is none.
fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    let refused = |why: &str| Failure::usage(format!("cannot name {} in full: {why}", path.display()));
    let absolute = std::path::absolute(path)
        .map_err(|error| refused(&failure::of_system(&error)).hint("start genba in a folder that exists"))?;
    if absolute.to_str().is_none() {
        let _ = fs::remove_file(path);
        return Err(refused("it is not UTF-8").hint("name a file in a folder whose path is UTF-8: -o /tmp/app.genba"));
    }
    Ok(absolute)
}
