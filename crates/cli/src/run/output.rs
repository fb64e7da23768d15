//! The file a recording goes to: its name, and its making (empty, mode 0600) before the program starts.
//! Owns: the names `app.genba`, `app-2.genba`, the rules of `-o` and `--force`, the folder used when this one cannot be
//! written. Never: overwrites what it was not told to.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// More recordings of one name in one folder than anybody keeps.
const NUMBER_MAX: u32 = 100_000;

/// A recording's file, made for this run.
pub struct Output {
    /// Absolute.
    pub path: PathBuf,
    /// As the user would write it.
    pub shown: String,
    /// Set when the current directory cannot be written: words for the user.
    pub moved: Option<String>,
    /// Where the file lies that `--force` replaces, until the program has started.
    replaced: Option<PathBuf>,
}

impl Output {
    pub fn create(asked: Option<&Path>, is_forced: bool, stem: &str) -> Result<Output, Failure> {
        match asked {
            Some(path) => create_as_asked(path, is_forced),
            None => create_next(stem),
        }
    }

    /// The program has started: what `--force` replaces is gone.
    pub fn begin(&self) {
        if let Some(replaced) = &self.replaced {
            let _ = fs::remove_file(replaced);
        }
    }

    /// Takes the file away again if nothing was recorded into it. What it was to replace comes back if it is still there.
    pub fn remove_if_empty(&self) {
        if fs::metadata(&self.path).is_ok_and(|found| found.len() == 0) {
            let _ = fs::remove_file(&self.path);
            if let Some(replaced) = &self.replaced {
                let _ = fs::rename(replaced, &self.path);
            }
        }
    }
}

fn create_as_asked(path: &Path, is_forced: bool) -> Result<Output, Failure> {
    let shown = path.display().to_string();
    let refused = |why: &str| Failure::usage(format!("cannot write the recording {shown}: {why}"));
    let mut replaced = None;
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => {
            return Err(refused("it is a directory").hint(format!("-o {}", path.join("app.genba").display())));
        }
        Ok(found) if !found.is_file() => {
            return Err(refused("it is not a regular file")
                .detail("several processes append to a recording, and genba reads it back at the end")
                .hint("-o app.genba"));
        }
        Ok(_) if !is_forced => {
            return Err(refused("it exists").hint("--force replaces it; without -o genba takes the next free name"));
        }
        Ok(_) => {
            let aside = aside(path);
            fs::rename(path, &aside).map_err(|error| refused(&words(&error)).hint("name another file with -o"))?;
            replaced = Some(aside);
        }
        Err(_) => {}
    }
    let made = create_new(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            let folder = path.parent().unwrap_or(Path::new("."));
            refused("its folder does not exist").hint(format!("mkdir -p {}", folder.display()))
        }
        _ => refused(&words(&error)).hint("name a file in a folder that you may write to"),
    });
    match made.and_then(|()| absolute(path)) {
        Ok(path) => Ok(Output { path, shown, moved: None, replaced }),
        Err(failure) => {
            replaced.map(|aside| fs::rename(aside, path));
            Err(failure)
        }
    }
}

/// In the same folder, with an ending that no reader looks for.
fn aside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".replaced-{}", std::process::id()));
    PathBuf::from(name)
}

/// `app.genba`, `app-2.genba`, … in the current directory, else in a private temporary folder.
fn create_next(stem: &str) -> Result<Output, Failure> {
    let refusal = match create_numbered(Path::new(""), stem) {
        Ok(path) => {
            return Ok(Output {
                shown: path.display().to_string(),
                path: absolute(&path)?,
                moved: None,
                replaced: None,
            });
        }
        Err(error) => error,
    };
    let nowhere = |error: &std::io::Error| {
        Failure::no(format!("cannot write a recording: {}", words(error)))
            .detail(format!("the current directory: {}", words(&refusal)))
            .hint("name a file in a folder that you may write to: genba run -o FOLDER/app.genba …")
    };
    let folder = private_folder().map_err(|error| nowhere(&error))?;
    let path = create_numbered(&folder, stem).map_err(|error| nowhere(&error))?;
    let shown = path.display().to_string();
    let moved = format!("the current directory cannot be written ({}); recording to {shown}", words(&refusal));
    Ok(Output { path, shown, moved: Some(moved), replaced: None })
}

fn create_numbered(folder: &Path, stem: &str) -> std::io::Result<PathBuf> {
    for number in 1..=NUMBER_MAX {
        let name = if number == 1 { format!("{stem}.genba") } else { format!("{stem}-{number}.genba") };
        let path = folder.join(name);
        match create_new(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(()) => return Ok(path),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

fn create_new(path: &Path) -> std::io::Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map(drop)
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

/// The agent takes the path as text. Err: it is none.
fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    let refused = |why: &str| Failure::no(format!("cannot name {} in full: {why}", path.display()));
    let absolute = std::path::absolute(path)
        .map_err(|error| refused(&words(&error)).hint("start genba in a folder that exists"))?;
    if absolute.to_str().is_none() {
        let _ = fs::remove_file(path);
        return Err(refused("it is not UTF-8").hint("name a file in a folder whose path is UTF-8: -o /tmp/app.genba"));
    }
    Ok(absolute)
}

/// The system's words without Rust's `(os error 13)`.
pub fn words(error: &std::io::Error) -> String {
    let text = error.to_string();
    let plain = text.split(" (os error").next().unwrap_or(&text);
    let mut letters = plain.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}
