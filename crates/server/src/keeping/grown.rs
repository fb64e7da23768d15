//! Files of recordings that grow: what one reading has put together the next one goes on with, so that no part is opened twice.
//! Owns: which recordings have such a file, and for how long. Never: more files than `FILES_MAX`; knows where parts are.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tempfile::NamedTempFile;
use tokio::sync::Mutex as Turn;

use crate::storage::scratch;

/// Each is as large as its recording. Others are put together anew for each reading.
pub const FILES_MAX: usize = 64;
/// Without a reading: each part that comes is read within a second or two, so nothing came for as long.
const KEPT: Duration = Duration::from_secs(300);

/// A clone shares the files.
#[derive(Clone, Default)]
pub struct Grown(Arc<Mutex<HashMap<String, Kept>>>);

/// One reading at a time goes on with it. None: nobody has begun, or the last one failed in the middle.
pub type Place = Arc<Turn<Option<Growing>>>;

struct Kept {
    read: Instant,
    place: Place,
}

/// The first bytes of a recording.
pub struct Growing {
    pub file: NamedTempFile,
    pub bytes: u64,
}

impl Growing {
    pub fn begin(scratch: &Path) -> std::io::Result<Growing> {
        Ok(Growing { file: scratch::make(scratch)?, bytes: 0 })
    }
}

impl Grown {
    /// None: there are as many as there may be.
    pub fn of(&self, recording: &str) -> Option<Place> {
        self.forget_unread(Instant::now());
        let mut files = self.files();
        if !files.contains_key(recording) && files.len() >= FILES_MAX {
            return None;
        }
        let kept = files.entry(recording.to_owned());
        let kept = kept.or_insert_with(|| Kept { read: Instant::now(), place: Place::default() });
        kept.read = Instant::now();
        Some(Arc::clone(&kept.place))
    }

    /// Its room on the disk is free once nobody reads it any more.
    pub fn forget(&self, recording: &str) {
        self.files().remove(recording);
    }

    pub fn forget_all(&self) {
        self.files().clear();
    }

    pub fn forget_unread(&self, now: Instant) {
        self.files().retain(|_, kept| now.saturating_duration_since(kept.read) < KEPT);
    }

    fn files(&self) -> MutexGuard<'_, HashMap<String, Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_a_bound_and_end() {
        let (grown, scratch) = (Grown::default(), tempfile::tempdir().expect("a folder"));
        let count = || std::fs::read_dir(scratch.path()).expect("a folder").count();
        let of = |number: usize| grown.of(&number.to_string());
        let begin = |number: usize| {
            let place = of(number).expect("there is room");
            *place.try_lock().expect("nobody reads it") = Some(Growing::begin(scratch.path()).expect("a file"));
        };
        (0..FILES_MAX).for_each(begin);
        assert!(of(FILES_MAX).is_none());
        assert!(of(0).is_some_and(|place| place.try_lock().is_ok_and(|kept| kept.is_some())));
        assert_eq!(count(), FILES_MAX);
        grown.forget("0");
        assert_eq!(count(), FILES_MAX - 1);
        assert!(of(FILES_MAX).is_some());
        grown.forget_unread(Instant::now());
        assert_eq!(count(), FILES_MAX - 1);
        grown.forget_unread(Instant::now() + KEPT);
        assert_eq!(count(), 0);
        begin(0);
        grown.forget_all();
        assert_eq!(count(), 0);
    }
}
