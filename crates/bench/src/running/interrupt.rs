//! Ctrl-C: the process that runs is ended, nothing else begins, and what was measured stays.
//! Owns: which process runs now. Never: catches a signal itself; whoever does calls `interrupt`.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

#[derive(Debug, Default)]
pub struct Interrupt {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    has_come: bool,
    /// It leads a group of its own, and is not reaped yet: its number is no other process's.
    running: Option<Pid>,
}

impl Interrupt {
    #[must_use]
    pub fn has_come(&self) -> bool {
        self.state().has_come
    }

    /// From now on nothing begins; the process that runs, and its group, get the signal.
    pub fn interrupt(&self, signal: Signal) {
        let mut state = self.state();
        state.has_come = true;
        if let Some(group) = state.running {
            let _ = kill_process_group(group, signal);
        }
    }

    /// None: it has come. `begin` starts a process and gives its number.
    pub(super) fn begin<Begun, Error>(
        &self,
        begin: impl FnOnce() -> Result<(Pid, Begun), Error>,
    ) -> Result<Option<(Pid, Begun)>, Error> {
        let mut state = self.state();
        if state.has_come {
            return Ok(None);
        }
        let (pid, begun) = begin()?;
        state.running = Some(pid);
        Ok(Some((pid, begun)))
    }

    /// `reap` waits for the process, which has ended already.
    pub(super) fn end<Reaped>(&self, reap: impl FnOnce() -> Reaped) -> Reaped {
        let mut state = self.state();
        state.running = None;
        self.ended.notify_all();
        reap()
    }

    /// Waits until no process runs, at most `time`. False: one goes on.
    #[must_use]
    pub fn ends_within(&self, time: Duration) -> bool {
        let runs = |state: &mut State| state.running.is_some();
        let waited = self.ended.wait_timeout_while(self.state(), time, runs);
        waited.unwrap_or_else(PoisonError::into_inner).0.running.is_none()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
