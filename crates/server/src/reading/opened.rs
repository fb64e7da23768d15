//! A recording that was opened, and the profiles of it: of its own bytes alone.
//! Owns: which files are read, and the words for those that are not. Never: looks for anything that the recording names, such as sources
//! or modules. Runs only in the process that may die (`work`).

use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::Path;

use genba_format::{NotARecording, ProcessKey, Recording};
use genba_import::Refused;
use genba_profile::build::{self, Additions, Import};
use genba_profile::profile::Profile;
use genba_profile::reading::Reading;
use genba_profile::window::Bins;

use super::unread::Refusal;

pub struct Opened {
    recording: Recording,
    /// Nothing but what another profiler's file tells about itself.
    additions: Additions,
    /// Its samples have no times.
    pub is_timeless: bool,
}

pub enum NotOpened {
    Refused(Refusal),
    OutOfMemory,
    /// The server names files that are there.
    Absent(std::io::Error),
}

impl Opened {
    pub fn open(path: &Path) -> Result<Opened, NotOpened> {
        let bytes = std::fs::read(path).map_err(|error| match error.kind() {
            ErrorKind::OutOfMemory => NotOpened::OutOfMemory,
            _ => NotOpened::Absent(error),
        })?;
        Opened::of(&bytes).map_err(NotOpened::Refused)
    }

    fn of(bytes: &[u8]) -> Result<Opened, Refusal> {
        let imported = match genba_format::read(bytes).map(genba_import::traced) {
            Ok(Ok(traced)) => traced,
            Ok(Err(recording)) => {
                return Ok(Opened { recording, additions: Additions::default(), is_timeless: false });
            }
            Err(why) if matches!(why, NotARecording::Empty) => {
                return Err(Refusal::new("the file is empty").detail(why.to_string()));
            }
            Err(_) => genba_import::read(bytes).map_err(|why| not_read(&why))?,
        };
        let faults = imported.faults.into_iter().chain(imported.notes).collect();
        let import = Some(Import { words: imported.words, faults, counts_calls: imported.counts_calls });
        Ok(Opened {
            recording: imported.recording,
            additions: Additions { import, ..Additions::default() },
            is_timeless: imported.timeless.is_some(),
        })
    }

    /// Each process has a key of its own, in every copy of its recording.
    pub fn has_processes_of(&self, other: &Opened) -> bool {
        let keys = |opened: &Opened| -> HashSet<ProcessKey> {
            let begins = opened.recording.blocks.iter().filter(|read| read.block.start.is_some());
            begins.map(|read| read.header.process_key).collect()
        };
        !keys(self).is_disjoint(&keys(other))
    }

    pub fn reading(&self) -> Reading {
        Reading::of(build::profile(&self.recording, &self.additions))
    }

    /// With the moments of its samples where they have times.
    pub fn reading_in_bins(&self, bins_max: u32) -> Reading {
        match self.is_timeless {
            true => self.reading(),
            false => self.reading_over_time(Bins::of_span(self.accounts().span_ns, bins_max)),
        }
    }

    pub fn reading_over_time(&self, bins: Bins) -> Reading {
        let profile = build::profile_over_time(&self.recording, &self.additions, None, bins);
        Reading::of(build::promoted(profile))
    }

    /// What was counted, without samples.
    pub fn accounts(&self) -> Profile {
        build::accounts(&self.recording, &self.additions)
    }
}

fn not_read(why: &Refused) -> Refusal {
    match why {
        Refused::Unknown { .. } => Refusal::new("the file is not a recording")
            .detail(why.to_string())
            .hint("genba run app.py makes a recording"),
        Refused::Unsupported(_) | Refused::TooLarge { .. } => {
            Refusal::new("the file cannot be read").detail(why.to_string())
        }
        Refused::Damaged { .. } => Refusal::new("the file is damaged")
            .detail(why.to_string())
            .hint("nothing of it can be read; make the file again"),
    }
}
