//! A `.prof` file on disk, as pstats reads it.
//! Owns: what the listing calls the file, and the words when it cannot be read. Never: prints.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use chrono::{DateTime, Local};
use genba_pstats::{NotLoaded, Stats, is_prof};

use crate::read::check_is_no_pipe;
use crate::words::failure::Failure;

/// As many of a foreign file's first bytes as an error shows.
const SHOWN_BYTES: usize = 8;

/// Whether the file begins as a `.prof` file does. One that cannot be opened does not.
pub fn is_prof_file(path: &Path) -> bool {
    if !path.is_file() {
        return false;
    }
    let mut begin = Vec::new();
    let read = File::open(path).and_then(|file| file.take(SHOWN_BYTES as u64).read_to_end(&mut begin));
    read.is_ok() && is_prof(&begin)
}

pub fn load(path: &Path) -> Result<Stats, NotLoaded> {
    let system = |error: std::io::Error| {
        let words = error.to_string();
        let plain = words.split(" (os error").next().unwrap_or(&words);
        NotLoaded::System(error.raw_os_error().unwrap_or(0), plain.to_owned())
    };
    let found = std::fs::metadata(path).map_err(system)?;
    // Opening a named pipe would wait for a writer. A directory says by itself that it is one.
    if !found.is_file() && !found.is_dir() {
        return Err(NotLoaded::Content("it is no regular file".to_owned()));
    }
    let bytes = std::fs::read(path).map_err(system)?;
    if !is_prof(&bytes) {
        let begins = bytes.iter().take(SHOWN_BYTES).copied().collect::<Vec<u8>>();
        let words = format!("not a .prof file: it begins with \"{}\"", begins.escape_ascii());
        return Err(NotLoaded::Content(words));
    }
    let prof = genba_pstats::read(&bytes).map_err(|damaged| {
        NotLoaded::Content(format!(
            "damaged at byte {}: expected {}, found {}",
            damaged.byte, damaged.expected, damaged.found
        ))
    })?;
    if prof.rows.is_empty() {
        return Err(NotLoaded::Content("a .prof file without functions: nothing was profiled".to_owned()));
    }
    let shown = path.display();
    let called = match found.modified() {
        Ok(modified) => format!("{}    {shown}", DateTime::<Local>::from(modified).format("%a %b %e %H:%M:%S %Y")),
        Err(_) => shown.to_string(),
    };
    Ok(Stats::new(prof, called))
}

/// The same for a file that is named on the command line.
pub fn open(path: &Path) -> Result<Stats, Failure> {
    check_is_no_pipe(path)?;
    load(path).map_err(|why| {
        let shown = path.display();
        match why {
            NotLoaded::System(_, words) => Failure::no(format!("cannot open {shown}: {}", words.to_lowercase())),
            NotLoaded::Content(words) => Failure::no(format!("{shown} cannot be read")).detail(words),
        }
        .hint("python -m cProfile -o app.prof app.py makes one; genba report reads recordings")
    })
}
