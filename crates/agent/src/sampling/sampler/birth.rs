//! When a forked child began, and what it says of itself.
//! Owns: the numbers that are noted before anything else happens in the child. Never: takes memory in `now`.

use crate::system::proc::{self, monotonic_ns};
use genba_format::{ProcessKey, proto};

/// When a forked child began, noted by its first thread.
#[derive(Clone, Copy, Debug)]
pub struct Birth {
    pid: u32,
    realtime_ns: u64,
    monotonic_ns: u64,
    cpu_before_ns: u64,
}

impl Birth {
    #[must_use]
    pub fn now() -> Birth {
        Birth {
            pid: proc::own_pid(),
            realtime_ns: proc::clock_ns(libc::CLOCK_REALTIME).unwrap_or(0),
            monotonic_ns: monotonic_ns(),
            cpu_before_ns: proc::clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID).unwrap_or(0),
        }
    }
}

impl Birth {
    /// What the child says of itself.
    pub fn start(self, parent: &proto::Start, parent_key: ProcessKey) -> proto::Start {
        proto::Start {
            pid: self.pid,
            parent_pid: parent.pid,
            parent_key: parent_key.to_vec(),
            realtime_ns: self.realtime_ns,
            monotonic_ns: self.monotonic_ns,
            cpu_before_ns: self.cpu_before_ns,
            ..parent.clone()
        }
    }
}
