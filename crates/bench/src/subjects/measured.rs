//! What was measured: the runs of each command or snippet, in the order in which they were made.
//! Owns: the shape. Never: adds anything up.

use crate::subjects::lines::Line;
use crate::words::refusal::Refusal;

/// One run. Times and counts are those of the process that was started and of all its children that it waited for, as the kernel adds them
/// up for wait4(2).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Run {
    /// Wall time: of a command without the shell's own, so it is not whole; of a snippet, one turn of its loop.
    pub time_ns: f64,
    pub user_ns: f64,
    pub system_ns: f64,
    /// Of the process that was largest.
    pub memory_bytes: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    /// 128 + n: ended by signal n.
    pub exit_code: i32,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    pub line: Line,
    pub runs: Vec<Run>,
    /// Of a snippet.
    pub loops: Option<Loops>,
    /// In user mode, of one further run. None: they were not asked for, or could not be counted.
    pub instructions: Option<Instructions>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instructions {
    pub count: u64,
    pub by: CountedBy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedBy {
    Processor,
    Valgrind,
}

impl CountedBy {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            CountedBy::Processor => "processor",
            CountedBy::Valgrind => "valgrind",
        }
    }
}

/// How a snippet is timed in each process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loops {
    pub turns: u64,
    /// Their mean is the run's time.
    pub values: u64,
}

impl Measured {
    #[must_use]
    pub fn times(&self) -> Vec<f64> {
        self.runs.iter().map(|run| run.time_ns).collect()
    }
}

/// All that one call of `genba bench` measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    pub measured: Vec<Measured>,
    /// Forward and backward by turns; else one command after the other.
    pub is_interleaved: bool,
    /// What was taken off each run for the shell.
    pub shell_ns: Option<f64>,
    /// What `Run::memory_bytes` is at least, whatever ran.
    pub memory_floor_bytes: u64,
    /// None: all rounds were made.
    pub ended_early: Option<Early>,
    /// Where one was named.
    pub start_up: Option<Box<StartUp>>,
}

/// What all commands do before their work.
#[derive(Clone, Debug, PartialEq)]
pub struct StartUp {
    pub measured: Measured,
    /// The commands, each run without the time of the start-up in its round: less than nothing, where chance made that one longer.
    pub beyond: Session,
}

/// Why a session ended before all rounds were made, or after its cleanup failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Early {
    /// Rounds; of commands one after the other: the runs of all. None: how many fit was not known yet.
    pub planned: Option<usize>,
    /// None: Ctrl-C.
    pub failure: Option<Refusal>,
    /// Of the cleanup that followed.
    pub cleanup_failure: Option<Box<Refusal>>,
}

impl Session {
    /// Rounds in which everything was measured. One after the other: so many runs has each command that was begun.
    #[must_use]
    pub fn rounds(&self) -> usize {
        let runs = self.measured.iter().map(|one| one.runs.len());
        runs.filter(|runs| self.is_interleaved || *runs > 0).min().unwrap_or(0)
    }

    /// Of all commands.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.measured.iter().map(|one| one.runs.len()).sum()
    }

    /// What `Early::planned` is where all was measured.
    #[must_use]
    pub fn made(&self) -> usize {
        if self.is_interleaved { self.rounds() } else { self.runs() }
    }

    /// The last one, measured in turns with the others, was their start-up.
    #[must_use]
    pub fn with_last_as_start_up(mut self) -> Session {
        let Some(start_up) = self.measured.pop() else { return self };
        let mut beyond = self.clone();
        for one in &mut beyond.measured {
            one.runs.truncate(start_up.runs.len());
            for (run, start_up) in one.runs.iter_mut().zip(&start_up.runs) {
                run.time_ns -= start_up.time_ns;
            }
        }
        self.start_up = Some(Box::new(StartUp { measured: start_up, beyond }));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::{Measured, Run, Session};
    use crate::subjects::lines::{Line, Parameters};

    fn measured(name: &str, times: &[f64]) -> Measured {
        Measured {
            line: Line { name: name.into(), command: name.into(), parameters: Parameters::default() },
            runs: times.iter().map(|time| Run { time_ns: *time, ..Run::default() }).collect(),
            loops: None,
            instructions: None,
        }
    }

    fn session(measured: Vec<Measured>) -> Session {
        Session {
            measured,
            is_interleaved: true,
            shell_ns: None,
            memory_floor_bytes: 0,
            ended_early: None,
            start_up: None,
        }
    }

    #[test]
    fn a_command_that_has_not_begun_takes_no_runs_from_those_before_it() {
        let turns = session(vec![measured("a", &[1.0, 2.0]), measured("b", &[])]);
        assert_eq!((turns.rounds(), turns.runs(), turns.made()), (0, 2, 0), "no round is whole");
        let row = Session { is_interleaved: false, ..turns };
        assert_eq!((row.rounds(), row.runs(), row.made()), (2, 2, 2));
    }

    #[test]
    fn each_run_is_less_the_start_up_of_its_round() {
        // Interrupted: the last round has no start-up.
        let all = [measured("a", &[50.0, 70.0, 60.0]), measured("b", &[9.0, 30.0]), measured("pass", &[10.0, 20.0])];
        let session = session(all.to_vec()).with_last_as_start_up();
        let start_up = session.start_up.expect("one was measured");
        assert_eq!((session.measured.as_slice(), &start_up.measured), (&all[..2], &all[2]));
        let times: Vec<_> = start_up.beyond.measured.iter().map(Measured::times).collect();
        assert_eq!(times, [vec![40.0, 50.0], vec![-1.0, 10.0]]);
    }
}
