//! Where the processes of a traced program write their counts, and which of them did.
//! Owns: the folder for what goes into a recording. Never: reads what was counted.

use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::files::private_folder;
use crate::recording::notes::Note;
use crate::recording::output::{Holds, Output};
use crate::words::failure::{self, Failure};

/// Where processes write their counts.
pub struct Place {
    /// The file of the program's own process.
    pub prof: PathBuf,
    /// Of the others, as the user would write it.
    folder: PathBuf,
    /// A folder for this run alone: what is in it goes into the recording.
    within: Option<tempfile::TempDir>,
}

impl Place {
    pub fn of(holds: Holds, output: &Output, stem: &str) -> Result<Place, Failure> {
        if holds == Holds::Prof {
            let folder = Path::new(&output.shown).parent().unwrap_or(Path::new("")).to_owned();
            return Ok(Place { prof: output.path.clone(), folder, within: None });
        }
        let made = private_folder::make("genba-trace-").map_err(|error| {
            output.give_up();
            Failure::no(format!("cannot make a folder for counts: {}", failure::of_system(&error)))
                .hint("TMPDIR=/path/to/folder genba trace …")
        })?;
        let prof = made.path().join(format!("{stem}.prof"));
        // There before it is written, as the file of -o is: by that the program's own process knows that it is its.
        let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&prof);
        file.map_err(|error| {
            output.give_up();
            Failure::no(format!("cannot make a file for counts: {}", failure::of_system(&error)))
        })?;
        Ok(Place { prof, folder: made.path().to_owned(), within: Some(made) })
    }

    pub fn is_within(&self) -> bool {
        self.within.is_some()
    }

    /// Where counts stay that no recording has; else nothing.
    pub fn folder_within(&self) -> Option<PathBuf> {
        self.is_within().then(|| self.folder.clone())
    }

    /// The counts are nowhere else.
    pub fn keep(self) -> Option<PathBuf> {
        self.within.map(tempfile::TempDir::keep)
    }
}

/// The files of one run.
pub struct Written {
    /// The one that was asked for.
    pub has_main: bool,
    /// As the user would write them.
    pub others: Vec<PathBuf>,
    pub refusals: Vec<String>,
}

impl Written {
    /// Behind a launcher no process is genba's own child: where one process alone wrote a file, that is the one that was asked for.
    pub fn sorted(place: &Place, said: &[Note]) -> Written {
        let mut written = Written { has_main: false, others: Vec::new(), refusals: Vec::new() };
        for note in said {
            match note {
                Note::Wrote(path) if *path == place.prof => written.has_main = true,
                Note::Wrote(path) => written.others.push(path.clone()),
                Note::Refused(words) if !written.refusals.contains(words) => written.refusals.push(words.clone()),
                Note::Refused(_) => {}
            }
        }
        written.has_main |= fs::metadata(&place.prof).is_ok_and(|found| found.len() > 0);
        if let (false, false, [only]) = (written.has_main, place.is_within(), &*written.others)
            && fs::rename(only, &place.prof).is_ok()
        {
            (written.has_main, written.others) = (true, Vec::new());
        }
        for path in &mut written.others {
            *path = place.folder.join(path.file_name().unwrap_or_default());
        }
        written
    }

    /// A file is made before it is known whether anything will be counted.
    pub fn has_any(&self, place: &Place) -> bool {
        self.has_main
            || (!self.others.is_empty() && (!place.is_within() || self.others.iter().any(|path| path.exists())))
    }
}
