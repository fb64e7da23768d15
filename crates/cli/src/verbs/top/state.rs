//! In which state the recording is that `genba top` follows: it grows, nothing comes any more, it has ended.
//! Owns: the judgement, from what the newest picture tells and from which processes run here. Never: reads the recording, draws.
//! Keeps: the same judgement whether something new has come or not.

use genba_process::facts::Facts;
use genba_process::refusal::Refusal;
use genba_process::threads;
use genba_profile::figures;
use genba_profile::profile::{MarkKind, Process, Profile};

/// After so many seconds without a new block it is asked whether the processes are still there.
pub const QUIET_SECONDS: u64 = 3;
/// How a recording ended whose program's exit code nobody knows.
pub const COMPLETE: &str = "the recording is complete";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// No block yet.
    #[default]
    Waiting,
    Recording,
    /// No new block for so many seconds.
    Quiet {
        seconds: u64,
    },
    /// The same, and no process of the recording runs here.
    Gone {
        seconds: u64,
    },
    /// In words: `exit code 0`, `the recording is complete`.
    Ended(String),
    /// The program has ended, in words, and so many processes that it left behind go on.
    LeftBehind {
        how: String,
        processes: usize,
    },
}

/// What a profile tells of the ends of its processes.
#[derive(Clone, Debug, Default)]
pub struct Known {
    program: Program,
    processes: Vec<Recorded>,
    /// Those of which no block tells the end.
    not_ended: Vec<Recorded>,
    /// Those of them of which more may come. Nothing comes of what was not sampled, or became another program: that may go on all the same.
    without_end: Vec<Recorded>,
    /// There is an end, and of no process more may come.
    have_all_ended: bool,
    was_stopped: bool,
}

/// What the command's block tells.
#[derive(Clone, Debug, Default)]
enum Program {
    /// There is no such block.
    #[default]
    Untold,
    /// The command does not wait for its program.
    NotWaitedFor,
    /// In words.
    Ended(String),
}

/// A process of the recording: its number, and a moment at which it had that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    pid: u32,
    /// None: the recording does not tell.
    at_realtime_ns: Option<u64>,
}

impl Known {
    pub fn of(profile: &Profile) -> Known {
        let processes = || profile.processes.iter();
        Known {
            program: Program::of(profile),
            processes: recorded(processes()),
            not_ended: recorded(processes().filter(|process| process.ended.is_none())),
            without_end: recorded(profile.without_end()),
            have_all_ended: processes().any(|process| process.ended.is_some()) && profile.have_all_ended(),
            was_stopped: profile.marks.iter().any(|mark| mark.kind == MarkKind::Stopped),
        }
    }

    /// `runs`: whether a process runs here.
    pub fn state(&self, quiet_seconds: u64, runs: impl Fn(Recorded) -> bool) -> State {
        let any_runs = |processes: &[Recorded]| processes.iter().any(|process| runs(*process));
        match &self.program {
            Program::NotWaitedFor => return State::Ended(COMPLETE.to_owned()),
            // A process without an end may have been killed.
            Program::Ended(how) => {
                return match self.without_end.iter().filter(|process| runs(**process)).count() {
                    0 => State::Ended(how.clone()),
                    processes => State::LeftBehind { how: how.clone(), processes },
                };
            }
            Program::Untold => {}
        }
        if quiet_seconds < QUIET_SECONDS {
            return State::Recording;
        }
        if self.have_all_ended && !any_runs(&self.not_ended) {
            let how = if self.was_stopped { "the recording was stopped" } else { "its processes ended" };
            return State::Ended(how.to_owned());
        }
        let is_gone = !self.processes.is_empty() && !any_runs(&self.processes);
        if is_gone { State::Gone { seconds: quiet_seconds } } else { State::Quiet { seconds: quiet_seconds } }
    }
}

impl Program {
    fn of(profile: &Profile) -> Program {
        let Some(recorder) = &profile.recorder else { return Program::Untold };
        match (recorder.exit_signal, recorder.exit_code) {
            (Some(signal), _) => Program::Ended(format!("signal {signal}")),
            (None, Some(code)) => Program::Ended(format!("exit code {code}")),
            (None, None) => Program::NotWaitedFor,
        }
    }
}

fn recorded<'a>(processes: impl Iterator<Item = &'a Process>) -> Vec<Recorded> {
    processes.filter_map(Recorded::of).collect()
}

impl Recorded {
    /// None: the block that tells its number was lost.
    fn of(process: &Process) -> Option<Recorded> {
        Some(Recorded { pid: process.pid?, at_realtime_ns: process.start_realtime_ns })
    }

    /// Whether it runs here: a later process may have its number, as may a thread.
    pub fn runs(self) -> bool {
        match Facts::of(self.pid) {
            Ok(facts) => {
                let is_later = self.at_realtime_ns.is_some_and(|at_ns| facts.began_after(at_ns));
                facts.pid == self.pid && !is_later && !has_ended(&facts)
            }
            Err(Refusal::NoSuchProcess { .. }) => false,
            // Some process has that number, and /proc is mounted so that it does not show us which (`hidepid`).
            Err(_) => true,
        }
    }
}

/// A zombie has ended, but for the one whose first thread alone has: its others go on.
fn has_ended(facts: &Facts) -> bool {
    let goes_on = |tid| threads::task(facts.pid, tid).is_some_and(|task| !task.has_ended());
    facts.is_zombie() && !threads::tids(facts.pid).into_iter().any(goes_on)
}

/// `2 processes go on`
pub fn left_behind_in_words(processes: usize) -> String {
    figures::counted(processes as u64, "process goes on", "processes go on")
}

#[cfg(test)]
mod tests {
    use super::{COMPLETE, Known, QUIET_SECONDS, Recorded, State};
    use genba_process::facts::Facts;
    use genba_profile::profile::{Process, Profile, Recorder};
    use std::process::{Child, Command, Stdio};

    fn process(pid: u32) -> Process {
        Process { pid: Some(pid), ..Process::default() }
    }

    fn ended(pid: u32) -> Process {
        Process { ended: Some("exit".to_owned()), ..process(pid) }
    }

    fn refused(pid: u32) -> Process {
        Process { refused: Some("unsupported".to_owned()), ..process(pid) }
    }

    fn known(recorder: Option<Option<i32>>, processes: Vec<Process>) -> Known {
        let recorder =
            recorder.map(|exit_code| Recorder { argv: Vec::new(), exit_code, exit_signal: None, wall_ns: 0 });
        let mut profile = Profile { recorder, ..Profile::default() };
        for process in processes {
            profile.processes.push(process);
        }
        Known::of(&profile)
    }

    /// With processes 1 to 9 running here.
    fn of(recorder: Option<Option<i32>>, processes: Vec<Process>, quiet_seconds: u64) -> State {
        known(recorder, processes).state(quiet_seconds, |process| process.pid < 10)
    }

    #[test]
    fn processes_that_the_program_left_behind_are_counted() {
        let how = || "exit code 0".to_owned();
        let after_zero = |processes| of(Some(Some(0)), processes, 0);
        assert_eq!(after_zero(vec![ended(1), ended(2)]), State::Ended(how()));
        assert_eq!(after_zero(vec![ended(1), refused(2)]), State::Ended(how()));
        assert_eq!(after_zero(vec![ended(1), process(2)]), State::LeftBehind { how: how(), processes: 1 });
        // Killed: it has no end, and does not run.
        let killed_too = vec![ended(1), process(2), process(3), process(12)];
        assert_eq!(after_zero(killed_too), State::LeftBehind { how: how(), processes: 2 });
        assert_eq!(after_zero(vec![ended(1), process(12)]), State::Ended(how()));
        assert_eq!(of(Some(None), vec![process(1)], 0), State::Ended(COMPLETE.to_owned()));
    }

    #[test]
    fn one_that_was_left_behind_and_is_killed_while_nothing_new_comes_is_counted_no_more() {
        let how = || "exit code 0".to_owned();
        let known = known(Some(Some(0)), vec![ended(1), process(2), process(3)]);
        let judged = |running: &[u32]| known.state(QUIET_SECONDS, |process| running.contains(&process.pid));
        assert_eq!(judged(&[2, 3]), State::LeftBehind { how: how(), processes: 2 });
        assert_eq!(judged(&[3]), State::LeftBehind { how: how(), processes: 1 });
        assert_eq!(judged(&[]), State::Ended(how()));
    }

    #[test]
    fn without_the_commands_block_processes_have_ended_when_none_goes_on() {
        let quiet = |processes| of(None, processes, QUIET_SECONDS);
        let all_ended = State::Ended("its processes ended".to_owned());
        assert_eq!(quiet(vec![ended(1)]), all_ended);
        assert_eq!(quiet(vec![ended(12)]), all_ended);
        assert_eq!(quiet(vec![ended(1), refused(12)]), all_ended);
        for goes_on in [vec![ended(1), refused(2)], vec![ended(1), process(12)], vec![process(1)], vec![]] {
            assert_eq!(quiet(goes_on), State::Quiet { seconds: QUIET_SECONDS });
        }
        for gone in [vec![ended(11), process(12)], vec![process(12)], vec![refused(12)]] {
            assert_eq!(quiet(gone), State::Gone { seconds: QUIET_SECONDS });
        }
        assert_eq!(of(None, vec![ended(1)], 0), State::Recording);
    }

    #[test]
    fn a_number_that_a_later_process_has_is_not_counted() {
        let at = |pid, at_ns| Process { start_realtime_ns: Some(at_ns), ..process(pid) };
        let reused = known(Some(Some(0)), vec![ended(1), at(2, 100), at(3, 500)]);
        // Both numbers are those of processes that began at 300.
        let state = reused.state(0, |process| process.at_realtime_ns.is_none_or(|at_ns| at_ns >= 300));
        assert_eq!(state, State::LeftBehind { how: "exit code 0".to_owned(), processes: 1 });
    }

    /// Until its input ends.
    fn cat() -> Child {
        Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("cat")
    }

    #[test]
    fn this_process_runs_but_not_as_one_of_yesterday() {
        let own = Facts::own().expect("a /proc");
        let began_ns = own.began_realtime_ns.expect("a start");
        let runs = |at_realtime_ns| Recorded { pid: own.pid, at_realtime_ns }.runs();
        assert!(runs(None) && runs(Some(began_ns)) && runs(Some(began_ns + 1_000_000_000)));
        assert!(!runs(Some(began_ns - 24 * 3_600 * 1_000_000_000)));
    }

    #[test]
    fn a_process_that_was_killed_does_not_run_even_if_nobody_asked_for_its_end() {
        let mut child = cat();
        let recorded = Recorded { pid: child.id(), at_realtime_ns: None };
        assert!(recorded.runs());
        child.kill().expect("a child");
        while Facts::of(child.id()).is_ok_and(|facts| !facts.is_zombie()) {
            std::thread::yield_now();
        }
        assert!(!recorded.runs());
        child.wait().expect("an end");
        assert!(!recorded.runs());
    }
}
