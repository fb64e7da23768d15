//! The threads of processes whose Python BOLT made: each is sent to the agent once, to get a stack for signals, before the agent asks it.
//! Owns: which processes, and how often their new threads are looked for. Never: stops a thread by itself (crates/entry does).

use std::collections::BTreeMap;
use std::time::Duration;

use genba_entry::visit::{Visits, WORDS};
use genba_process::maps;

use super::entering;
use crate::recording::agent_file;

/// A thread that begins is in no sample before it is found.
pub const LOOKED_EVERY: Duration = Duration::from_millis(20);

#[derive(Default)]
pub struct Visiting {
    processes: BTreeMap<u32, Visits>,
}

impl Visiting {
    /// Those of these processes that the agent is in and whose threads need a stack, and no others.
    pub fn set(&mut self, pids: &[u32]) {
        self.processes.retain(|pid, _| pids.contains(pid));
        for &pid in pids {
            if !self.processes.contains_key(&pid)
                && let Some(visits) = find(pid)
            {
                self.processes.insert(pid, visits);
            }
        }
    }

    /// Sends their new threads.
    pub fn look(&mut self) {
        // One that has ended, or that runs another program now, is found anew if genba comes into it again.
        self.processes.retain(|_, visits| visits.look());
    }

    pub fn is_empty(&self) -> bool {
        self.processes.is_empty()
    }

    /// For how long one thread was held, at most.
    pub fn longest(&self) -> Duration {
        self.processes.values().map(|visits| visits.longest).max().unwrap_or_default()
    }
}

fn find(pid: u32) -> Option<Visits> {
    let at = entering::agent_at(&maps::read(pid).ok()?)?;
    Visits::of(pid, at + agent_file::offset_of(WORDS).ok()?)
}
