//! A `.prof` file on disk, as pstats reads it.
//! Owns: what the listing calls the file, and the words when it cannot be read. Never: prints anything but a note about a part of it.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use chrono::{DateTime, Local};
use genba_format::{Event, MAGIC, Reader};
use genba_import::{COUNTS_BYTES_MIN, Counts};
use genba_process::memory_left::{self, Left};
use genba_process::tree::Tree;
use genba_profile::{figures, shell};
use genba_pstats::{Damaged, NotLoaded, Prof, Stats, is_prof};

use crate::read::check_is_no_pipe;
use crate::words::failure::{Failure, say};
use crate::words::memory_share;

/// As many of a foreign file's first bytes as an error shows.
const SHOWN_BYTES: usize = 8;
/// Of a recording so much is looked at at a time.
const PIECE_BYTES: u64 = 1 << 20;
const HINT: &str = "python -m cProfile -o app.prof app.py makes one; genba report reads recordings";

/// What files that are added up or compared may take of memory together, beside what each may for its size.
pub struct Shared {
    bytes: u64,
}

impl Default for Shared {
    fn default() -> Shared {
        Shared { bytes: COUNTS_BYTES_MIN }
    }
}

impl Shared {
    const fn is_whole(&self) -> bool {
        self.bytes == COUNTS_BYTES_MIN
    }
}

/// Whether the file has counted calls: it begins as a `.prof` file does, or `genba trace` recorded it. One that cannot be opened has none.
pub fn has_counts(path: &Path) -> bool {
    if !path.is_file() {
        return false;
    }
    let Ok(file) = File::open(path) else { return false };
    let mut begin = Vec::new();
    let read = (&file).take(SHOWN_BYTES as u64).read_to_end(&mut begin);
    if read.is_err() || !begin.starts_with(&MAGIC) {
        return read.is_ok() && is_prof(&begin);
    }
    is_traced(&file, &begin)
}

/// `begin`: what was read of it. Block by block, and no further than to the first that tells: a recording may be larger than the memory that is left.
fn is_traced(file: &File, begin: &[u8]) -> bool {
    let mut reader = Reader::default();
    reader.feed(begin);
    let mut piece = Vec::new();
    loop {
        match reader.event() {
            Event::Block(read) if read.block.traced.is_some() => return true,
            Event::Block(read) if read.samples.is_some() => return false,
            Event::Block(_) | Event::Fault(_) => {}
            Event::NeedMore if reader.has_ended() => return false,
            Event::NeedMore => {
                piece.clear();
                match file.take(PIECE_BYTES).read_to_end(&mut piece) {
                    Ok(0) => reader.end(),
                    Ok(_) => reader.feed(&piece),
                    Err(_) => return false,
                }
            }
        }
    }
}

/// Of a recording of `genba trace`, one of each process; else none.
fn traced_profs(bytes: &[u8]) -> Vec<Counts> {
    genba_format::read(bytes).map(genba_import::profs).unwrap_or_default()
}

pub fn load(path: &Path, shared: &mut Shared) -> Result<Stats, NotLoaded> {
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
    if let Some(left) = memory_left::own(&Tree::own())
        && found.is_file()
        && found.len() > memory_share::most_bytes(left)
    {
        return Err(too_large("at least", found.len(), left));
    }
    let bytes = std::fs::read(path).map_err(system)?;
    let profs = match bytes.starts_with(&MAGIC) {
        true => traced_profs(&bytes),
        false => vec![Counts::of_file(bytes)],
    };
    if profs.is_empty() {
        let words = "a recording of samples, which tell no calls: genba trace counts them";
        return Err(NotLoaded::Content(words.to_owned()));
    }
    let shown = path.display();
    let called = match found.modified() {
        Ok(modified) => format!("{}    {shown}", DateTime::<Local>::from(modified).format("%a %b %e %H:%M:%S %Y")),
        Err(_) => shown.to_string(),
    };
    let mut stats: Option<Stats> = None;
    let is_only = profs.len() == 1;
    for counts in profs {
        let prof = match prof_of(&counts, shared) {
            Ok(prof) => prof,
            Err(why) if is_only => return Err(why),
            Err(
                NotLoaded::Content(words)
                | NotLoaded::TooLarge(words)
                | NotLoaded::TooLargeForItsSize(words)
                | NotLoaded::System(_, words),
            ) => {
                say(&format!("note: the counts of one process in {shown} are left out: {words}"));
                continue;
            }
        };
        // The bytes of a large file are needed no more.
        drop(counts);
        let more = Stats::new(prof, called.clone());
        match &mut stats {
            Some(stats) => stats.add_part(more),
            None => stats = Some(more),
        }
    }
    stats.ok_or_else(|| NotLoaded::Content("nothing in it can be read".to_owned()))
}

fn prof_of(Counts { bytes, more_bytes }: &Counts, shared: &mut Shared) -> Result<Prof, NotLoaded> {
    if !is_prof(bytes) {
        let begins = bytes.iter().take(SHOWN_BYTES).copied().collect::<Vec<u8>>();
        let words = format!("not a .prof file: it begins with \"{}\"", begins.escape_ascii());
        return Err(NotLoaded::Content(words));
    }
    // However much memory is left: no profiler writes a file that needs more.
    let room_bytes = shared.bytes.saturating_add(*more_bytes);
    let left = memory_left::own(&Tree::own()).filter(|left| memory_share::most_bytes(*left) < room_bytes);
    let most_bytes = left.map_or(room_bytes, memory_share::most_bytes);
    let mut left_bytes = most_bytes;
    let prof = genba_pstats::read_within(bytes, &mut left_bytes).map_err(|damaged| {
        let Damaged { byte, expected, found, needs_more_memory } = damaged;
        match (needs_more_memory, left) {
            (false, _) => NotLoaded::Content(format!("damaged at byte {byte}: expected {expected}, found {found}")),
            (true, Some(left)) => too_large("about", needed_bytes(most_bytes, byte, bytes.len()), left),
            (true, None) => {
                let most = figures::size(most_bytes);
                let words = format!("it needs more than {most} of memory, the most that genba takes for its size");
                NotLoaded::TooLargeForItsSize(words)
            }
        }
    })?;
    shared.bytes -= (most_bytes - left_bytes).saturating_sub(*more_bytes).min(shared.bytes);
    if prof.rows.is_empty() {
        return Err(NotLoaded::Content("a .prof file without functions: nothing was profiled".to_owned()));
    }
    Ok(prof)
}

/// Of the whole file, as far as can be told where it was left: up to `byte` it needed `most_bytes`.
fn needed_bytes(most_bytes: u64, byte: u64, file_bytes: usize) -> u64 {
    let whole = u128::from(most_bytes) * file_bytes as u128 / u128::from(byte.max(1));
    u64::try_from(whole).unwrap_or(u64::MAX)
}

fn too_large(how_exact: &str, needed_bytes: u64, left: Left) -> NotLoaded {
    let (needed, most) = (figures::size(needed_bytes), figures::size(memory_share::most_bytes(left)));
    let share = memory_share::share_of(left);
    NotLoaded::TooLarge(format!("it needs {how_exact} {needed} of memory, and genba takes at most {most}: {share}"))
}

fn too_large_here(path: &Path, words: String) -> Failure {
    Failure::no(format!("{} is too large to be read here", path.display())).detail(words)
}

/// The same for a file that is named on the command line.
pub fn open(path: &Path, shared: &mut Shared) -> Result<Stats, Failure> {
    check_is_no_pipe(path)?;
    load(path, shared).map_err(|why| {
        let shown = path.display();
        match why {
            NotLoaded::System(_, words) => {
                Failure::no(format!("cannot open {shown}: {}", words.to_lowercase())).hint(HINT)
            }
            NotLoaded::Content(words) => Failure::no(format!("{shown} cannot be read")).detail(words).hint(HINT),
            NotLoaded::TooLarge(words) => too_large_here(path, words).hint(memory_share::HINT),
            NotLoaded::TooLargeForItsSize(words) if shared.is_whole() => too_large_here(path, words).hint(HINT),
            NotLoaded::TooLargeForItsSize(words) => {
                let alone = format!("genba pstats {}", shell::path(path));
                let hint = format!("{alone} tries it alone: what came before it took a part of that memory");
                too_large_here(path, words).hint(hint)
            }
        }
    })
}
