//! How far an upload has come, shared by the thread that sends and whoever shows it.
//! Owns: those numbers and their words. Never: prints.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use genba_profile::figures;

/// Numbers for the eye alone: Relaxed, nothing else is read by them.
#[derive(Clone, Default)]
pub struct Progress(Arc<Numbers>);

#[derive(Default)]
struct Numbers {
    whole_bytes: AtomicU64,
    kept_bytes: AtomicU64,
}

impl Progress {
    pub fn set_whole(&self, bytes: u64) {
        self.0.whole_bytes.store(bytes, Ordering::Relaxed);
    }

    /// The server has so many.
    pub fn set_kept(&self, bytes: u64) {
        self.0.kept_bytes.store(bytes, Ordering::Relaxed);
    }

    /// `pushing: 1.05 MB of 41.2 MB`
    pub fn in_words(&self) -> String {
        let (whole, kept) = (self.0.whole_bytes.load(Ordering::Relaxed), self.0.kept_bytes.load(Ordering::Relaxed));
        format!("pushing: {} of {}", figures::size(kept), figures::size(whole))
    }
}
