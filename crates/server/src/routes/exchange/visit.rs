//! One connection, as the requests on it tell: whether somebody known asked, and since when nothing is under way.
//! Owns: those marks. Never: ends a connection (`serve/connections.rs` does).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

/// Marks for the choice of a connection to close, and nothing is read by them: Relaxed.
#[derive(Debug)]
pub struct Visit {
    began: Instant,
    is_known: AtomicBool,
    requests: AtomicUsize,
    /// Milliseconds after `began`.
    last_ms: AtomicU64,
}

/// A request, until its answer is sent.
pub struct Asking(Arc<Visit>);

/// Which connection is closed first: the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Worth {
    pub is_known: bool,
    pub is_busy: bool,
    pub last: Instant,
}

impl Visit {
    pub fn begin() -> Arc<Visit> {
        Arc::new(Visit {
            began: Instant::now(),
            is_known: AtomicBool::new(false),
            requests: AtomicUsize::new(0),
            last_ms: AtomicU64::new(0),
        })
    }

    /// Somebody with a token, a session, or on a server without tokens.
    pub fn note_known(&self) {
        self.is_known.store(true, Ordering::Relaxed);
    }

    pub fn ask(self: &Arc<Visit>) -> Asking {
        self.requests.fetch_add(1, Ordering::Relaxed);
        Asking(Arc::clone(self))
    }

    pub fn worth(&self) -> Worth {
        Worth {
            is_known: self.is_known.load(Ordering::Relaxed),
            is_busy: self.requests.load(Ordering::Relaxed) > 0,
            last: self.began + std::time::Duration::from_millis(self.last_ms.load(Ordering::Relaxed)),
        }
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        let last_ms = u64::try_from(self.0.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.0.last_ms.store(last_ms, Ordering::Relaxed);
        self.0.requests.fetch_sub(1, Ordering::Relaxed);
    }
}
