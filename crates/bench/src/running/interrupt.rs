//! Ctrl-C: the process that runs is ended, nothing else begins but the cleanup, and what was measured stays.
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
    /// Nothing begins. A cleanup may begin although an interrupt has come.
    is_stopped: bool,
    begun: u64,
    running: Option<Running>,
}

/// It leads a group of its own, and is not reaped yet: its number is no other process's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Running {
    group: Pid,
    /// How many had begun before.
    number: u64,
}

impl Interrupt {
    #[must_use]
    pub fn has_come(&self) -> bool {
        self.state().has_come
    }

    /// From now on nothing begins; the process that runs, and its group, get the signal.
    pub fn interrupt(&self, signal: Signal) -> Option<Running> {
        let mut state = self.state();
        state.has_come = true;
        state.is_stopped = true;
        if let Some(running) = state.running {
            let _ = kill_process_group(running.group, signal);
        }
        state.running
    }

    /// If it still runs. What has begun since is another process.
    pub fn kill(&self, running: Running) {
        let state = self.state();
        if state.running == Some(running) {
            let _ = kill_process_group(running.group, Signal::KILL);
        }
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.state().is_stopped
    }

    /// What `clean_up` starts runs although an interrupt has come; another interrupt ends it.
    pub(super) fn during_clean_up<Done>(&self, clean_up: impl FnOnce() -> Done) -> Done {
        self.state().is_stopped = false;
        let done = clean_up();
        let mut state = self.state();
        state.is_stopped = state.has_come;
        done
    }

    /// None: it has come. `begin` starts a process and gives its number.
    pub(super) fn begin<Begun, Error>(
        &self,
        begin: impl FnOnce() -> Result<(Pid, Begun), Error>,
    ) -> Result<Option<(Pid, Begun)>, Error> {
        let mut state = self.state();
        if state.is_stopped {
            return Ok(None);
        }
        let (pid, begun) = begin()?;
        state.running = Some(Running { group: pid, number: state.begun });
        state.begun += 1;
        Ok(Some((pid, begun)))
    }

    /// `reap` waits for the process, which has ended already.
    pub(super) fn end<Reaped>(&self, reap: impl FnOnce() -> Reaped) -> Reaped {
        let mut state = self.state();
        state.running = None;
        self.ended.notify_all();
        reap()
    }

    /// Waits until that process has ended, at most `time`. False: it goes on.
    #[must_use]
    pub fn ends_within(&self, running: Running, time: Duration) -> bool {
        let goes_on = |state: &mut State| state.running == Some(running);
        let waited = self.ended.wait_timeout_while(self.state(), time, goes_on);
        waited.unwrap_or_else(PoisonError::into_inner).0.running != Some(running)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::os::unix::process::CommandExt;
    use std::process::Command;
    use std::time::Duration;

    use rustix::process::Signal;

    use super::{Interrupt, Pid};

    #[test]
    fn a_cleanup_begins_after_an_interrupt_and_another_interrupt_ends_it() {
        let interrupt = Interrupt::default();
        let begins = || interrupt.begin(|| Ok::<_, Infallible>((Pid::INIT, ()))).unwrap().is_some();
        assert_eq!(interrupt.interrupt(Signal::INT), None);
        assert!(!begins());
        interrupt.during_clean_up(|| {
            assert!(!interrupt.is_stopped());
            interrupt.interrupt(Signal::INT);
            assert!(!begins());
        });
        assert!(!begins() && interrupt.has_come());
        interrupt.during_clean_up(|| assert!(!interrupt.is_stopped()));
        assert!(interrupt.is_stopped());
    }

    /// The process that was interrupted has ended; the one that began since is not killed for it.
    #[test]
    fn only_the_process_that_was_interrupted_is_killed() {
        let interrupt = Interrupt::default();
        let begin = || {
            let child = Command::new("sleep").arg("600").process_group(0).spawn()?;
            Ok::<_, std::io::Error>((Pid::from_child(&child), child))
        };
        let (_, mut first) = interrupt.begin(begin).unwrap().unwrap();
        let hit = interrupt.interrupt(Signal::TERM).unwrap();
        interrupt.end(|| first.wait()).unwrap();
        assert!(interrupt.ends_within(hit, Duration::ZERO));
        interrupt.during_clean_up(|| {
            let (_, mut second) = interrupt.begin(begin).unwrap().unwrap();
            assert!(interrupt.ends_within(hit, Duration::ZERO), "that one has ended");
            interrupt.kill(hit);
            assert!(second.try_wait().unwrap().is_none());
            let hit = interrupt.interrupt(Signal::CONT).unwrap();
            assert!(!interrupt.ends_within(hit, Duration::ZERO));
            interrupt.kill(hit);
            assert!(!second.wait().unwrap().success());
        });
    }
}
