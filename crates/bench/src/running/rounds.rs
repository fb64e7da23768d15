//! The order of all runs: setup, warm-up, rounds, cleanup.
//! Owns: how many rounds, and that every other one goes backward (A B, B A): what becomes slower with time is the same for all. Never: starts
//! a process; forgets a run when a later one fails or genba is interrupted; leaves out the cleanup of what was set up.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::Ended;
use super::process::memory_floor_bytes;
use crate::subjects::lines::Line;
use crate::subjects::measured::{Early, Loops, Measured, Run, Session};
use crate::words::refusal::Refusal;

pub const RUNS_MIN: usize = 10;
/// Each command is measured for so long at least, as hyperfine does.
pub const MEASURED_MIN: Duration = Duration::from_secs(3);

/// Something that can be run once.
pub trait Subject {
    fn line(&self) -> &Line;
    /// Of a snippet, once they are known.
    fn loops(&self) -> Option<Loops>;
    /// # Errors
    /// It failed, or genba was interrupted; so for the others.
    fn set_up(&mut self) -> Result<(), Ended>;
    /// `name`: which run it is, for the words of a failure.
    ///
    /// # Errors
    /// It failed.
    fn run(&mut self, name: &str) -> Result<Run, Ended>;
    /// Also runs after an interrupt.
    ///
    /// # Errors
    /// It failed.
    fn clean_up(&mut self) -> Result<(), Ended>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    pub warmups: usize,
    pub runs_min: usize,
    pub runs_max: Option<usize>,
    /// Else each command is set up, measured and cleaned up before the next.
    pub is_interleaved: bool,
    /// Of each command, where the numbers of runs leave it open.
    pub measured_min: Duration,
}

/// What happens now, for whoever waits.
#[derive(Debug, Default)]
pub struct Progress(Mutex<String>);

impl Progress {
    #[must_use]
    pub fn words(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn say(&self, words: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = words;
    }
}

/// # Errors
/// Something failed, or genba was interrupted, before any run was whole.
pub fn measure(subjects: &mut [&mut dyn Subject], plan: &Plan, progress: &Progress) -> Result<Session, Early> {
    let runs = vec![Vec::new(); subjects.len()];
    let planned = vec![plan.fixed(); subjects.len()];
    let mut measuring = Measuring { runs, spent: Duration::ZERO, counted: 0, planned, progress };
    let ended = if plan.is_interleaved {
        measuring.all(subjects, plan)
    } else {
        (0..subjects.len()).try_for_each(|position| measuring.one(subjects, position, plan))
    };
    let planned = match plan.is_interleaved {
        true => measuring.planned.first().copied().flatten(),
        false => measuring.planned.iter().copied().sum(),
    };
    let ended_early = match ended {
        Ok(()) => None,
        Err(Cut { why, cleanup_failure }) => Some(Early { planned, failure: refusal(why), cleanup_failure }),
    };
    if let Some(early) = ended_early.as_ref().filter(|_| measuring.runs.iter().all(Vec::is_empty)) {
        return Err(early.clone());
    }
    let measured = subjects.iter().zip(measuring.runs);
    let measured =
        measured.map(|(one, runs)| Measured { line: one.line().clone(), runs, loops: one.loops(), instructions: None });
    Ok(Session {
        measured: measured.collect(),
        is_interleaved: plan.is_interleaved,
        shell_ns: None,
        memory_floor_bytes: memory_floor_bytes(),
        ended_early,
        start_up: None,
    })
}

struct Cut {
    why: Ended,
    cleanup_failure: Option<Box<Refusal>>,
}

impl From<Ended> for Cut {
    fn from(why: Ended) -> Cut {
        Cut { why, cleanup_failure: None }
    }
}

/// None: an interrupt.
fn refusal(ended: Ended) -> Option<Refusal> {
    match ended {
        Ended::Interrupted => None,
        Ended::Refused(refusal) => Some(refusal),
    }
}

struct Measuring<'a> {
    runs: Vec<Vec<Run>>,
    /// On runs that count, with what is done before and after each.
    spent: Duration,
    counted: usize,
    /// Runs of each. None: the first one tells how many fit.
    planned: Vec<Option<usize>>,
    progress: &'a Progress,
}

impl Measuring<'_> {
    /// All have the same setup and cleanup, which are done once.
    fn all(&mut self, subjects: &mut [&mut dyn Subject], plan: &Plan) -> Result<(), Cut> {
        if subjects.is_empty() {
            return Ok(());
        }
        subjects[0].set_up()?;
        let made = self.in_turns(subjects, plan);
        self.clean_up(subjects[0], made)
    }

    /// What was set up is cleaned up however it was measured.
    fn clean_up(&self, subject: &mut dyn Subject, made: Result<(), Ended>) -> Result<(), Cut> {
        self.progress.say("cleaning up".to_owned());
        let cleaned = subject.clean_up();
        match made {
            Ok(()) => cleaned.map_err(Cut::from),
            Err(why) => Err(Cut { why, cleanup_failure: cleaned.err().and_then(refusal).map(Box::new) }),
        }
    }

    fn in_turns(&mut self, subjects: &mut [&mut dyn Subject], plan: &Plan) -> Result<(), Ended> {
        let count = subjects.len();
        for number in 0..plan.warmups {
            for position in order(number, count) {
                self.warm_up(subjects[position], number)?;
            }
        }
        let mut rounds = 1;
        let mut round = 0;
        while round < rounds {
            for (place, position) in order(round, count).into_iter().enumerate() {
                self.run(subjects, position, (rounds - round) * count - place)?;
            }
            if round == 0 {
                rounds = plan.rounds(self.spent, count);
                self.planned.fill(Some(rounds));
            }
            round += 1;
        }
        Ok(())
    }

    fn one(&mut self, subjects: &mut [&mut dyn Subject], position: usize, plan: &Plan) -> Result<(), Cut> {
        subjects[position].set_up()?;
        let made = self.in_a_row(subjects, position, plan);
        self.clean_up(subjects[position], made)
    }

    fn in_a_row(&mut self, subjects: &mut [&mut dyn Subject], position: usize, plan: &Plan) -> Result<(), Ended> {
        for number in 0..plan.warmups {
            self.warm_up(subjects[position], number)?;
        }
        (self.spent, self.counted) = (Duration::ZERO, 0);
        let mut runs = 1;
        let mut number = 0;
        while number < runs {
            self.run(subjects, position, runs - number)?;
            if number == 0 {
                runs = plan.rounds(self.spent, 1);
                self.planned[position] = Some(runs);
            }
            number += 1;
        }
        Ok(())
    }

    fn warm_up(&self, subject: &mut dyn Subject, number: usize) -> Result<(), Ended> {
        self.progress.say(format!("warm-up {} of {}", number + 1, subject.line().name));
        subject.run(&format!("warm-up {}", number + 1)).map(drop)
    }

    /// `left`: so many runs are to come, this one included.
    fn run(&mut self, subjects: &mut [&mut dyn Subject], position: usize, left: usize) -> Result<(), Ended> {
        let subject = &mut subjects[position];
        let number = self.runs[position].len() + 1;
        let each = self.spent.as_secs_f64() / self.counted.max(1) as f64;
        let seconds = each * left as f64;
        let about = if seconds >= 2.0 { format!(", about {seconds:.0} s left") } else { String::new() };
        let of = self.planned[position].map_or_else(String::new, |planned| format!(" of {planned}"));
        self.progress.say(format!("run {number}{of}: {}{about}", subject.line().name));
        let began = Instant::now();
        let run = subject.run(&format!("run {number}"))?;
        self.spent += began.elapsed();
        self.counted += 1;
        self.runs[position].push(run);
        Ok(())
    }
}

impl Plan {
    /// So many runs of each command, however long they take, and no warm-up.
    #[must_use]
    pub const fn with_runs(runs: usize, is_interleaved: bool) -> Plan {
        Plan { warmups: 0, runs_min: runs, runs_max: Some(runs), is_interleaved, measured_min: Duration::ZERO }
    }

    /// How many runs of each command there are, however long they take. None: as many as fit.
    fn fixed(&self) -> Option<usize> {
        self.runs_max.filter(|most| *most <= self.runs_min).map(|most| most.max(1))
    }

    /// `first`: what the first round of so many commands took.
    fn rounds(&self, first: Duration, commands: usize) -> usize {
        let most = self.runs_max.unwrap_or(usize::MAX);
        let budget = self.measured_min.as_secs_f64() * commands as f64;
        // A float that is too large becomes the largest integer.
        let fitting = (budget / first.as_secs_f64().max(1e-9)) as usize;
        let rounds = fitting.max(self.runs_min).min(most).max(1);
        // Two rounds are a block.
        let is_free = self.runs_max.is_none() && commands > 1;
        if is_free { rounds.next_multiple_of(2) } else { rounds }
    }
}

/// Forward and backward by turns.
fn order(round: usize, count: usize) -> Vec<usize> {
    let forward = 0..count;
    if round.is_multiple_of(2) { forward.collect() } else { forward.rev().collect() }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::time::Duration;

    use super::{Early, Ended, Line, Loops, MEASURED_MIN, Plan, Progress, Refusal, Run, Subject, measure};
    use crate::subjects::lines::Parameters;

    /// Writes down what happens.
    struct Noted<'a> {
        line: Line,
        log: &'a RefCell<Vec<String>>,
        /// How many runs are possible before `then`.
        left: &'a RefCell<usize>,
        then: Ended,
        /// What becomes of setup and cleanup.
        around: [Result<(), Ended>; 2],
    }

    impl Noted<'_> {
        fn note(&self, what: &str) {
            self.log.borrow_mut().push(format!("{what}{}", self.line.name));
        }
    }

    impl Subject for Noted<'_> {
        fn line(&self) -> &Line {
            &self.line
        }

        fn loops(&self) -> Option<Loops> {
            None
        }

        fn set_up(&mut self) -> Result<(), Ended> {
            self.note("setup ");
            self.around[0].clone()
        }

        fn run(&mut self, name: &str) -> Result<Run, Ended> {
            let mut left = self.left.borrow_mut();
            *left = left.checked_sub(1).ok_or(self.then.clone())?;
            self.note(if name.starts_with("warm") { "warm " } else { "" });
            Ok(Run::default())
        }

        fn clean_up(&mut self) -> Result<(), Ended> {
            self.note("cleanup ");
            self.around[1].clone()
        }
    }

    fn plan(warmups: usize, runs: usize, is_interleaved: bool) -> Plan {
        Plan { warmups, measured_min: MEASURED_MIN, ..Plan::with_runs(runs, is_interleaved) }
    }

    fn failed(what: &str) -> Ended {
        Ended::Refused(Refusal::no(what, ""))
    }

    /// The log, runs of each, and why it ended early.
    fn ended(
        plan: &Plan,
        left: usize,
        then: &Ended,
        around: [Result<(), Ended>; 2],
    ) -> (String, Vec<usize>, Option<Early>) {
        let (log, left) = (RefCell::default(), RefCell::new(left));
        let noted = |name: &str| Noted {
            line: Line { name: name.into(), command: String::new(), parameters: Parameters::default() },
            log: &log,
            left: &left,
            then: then.clone(),
            around: around.clone(),
        };
        let (mut a, mut b) = (noted("A"), noted("B"));
        let (runs, early) = match measure(&mut [&mut a, &mut b], plan, &Progress::default()) {
            Ok(session) => (session.measured.iter().map(|one| one.runs.len()).collect(), session.ended_early),
            Err(early) => (vec![], Some(early)),
        };
        (log.borrow().join(" "), runs, early)
    }

    fn measured(plan: &Plan, left: usize) -> (String, Vec<usize>, Option<Early>) {
        ended(plan, left, &Ended::Interrupted, [Ok(()), Ok(())])
    }

    #[test]
    fn every_other_round_goes_backward() {
        let (log, runs, _) = measured(&plan(1, 3, true), 99);
        assert_eq!(log, "setup A warm A warm B A B B A A B cleanup A");
        assert_eq!(runs, [3, 3]);
    }

    #[test]
    fn one_after_the_other_has_a_setup_for_each() {
        let (log, ..) = measured(&plan(1, 2, false), 99);
        assert_eq!(log, "setup A warm A A A cleanup A setup B warm B B B cleanup B");
    }

    #[test]
    fn an_interrupt_keeps_what_was_measured() {
        let (log, runs, early) = measured(&plan(0, 4, true), 5);
        assert_eq!(log, "setup A A B B A A cleanup A");
        let interrupted = Early { planned: Some(4), failure: None, cleanup_failure: None };
        assert_eq!((runs, early), (vec![3, 2], Some(interrupted.clone())));
        let (log, runs, early) = measured(&plan(1, 4, true), 1);
        assert_eq!((runs, early), (vec![], Some(interrupted)), "a warm-up is no measurement");
        assert_eq!(log, "setup A warm A cleanup A");
    }

    #[test]
    fn one_after_the_other_plans_the_runs_of_all() {
        let planned = |plan: &Plan, left: usize| {
            let (_, runs, early) = measured(plan, left);
            (runs, early.unwrap().planned)
        };
        assert_eq!(planned(&plan(0, 4, false), 3), (vec![3, 0], Some(8)));
        let free = Plan { runs_max: Some(9), ..plan(0, 4, false) };
        assert_eq!(planned(&free, 3), (vec![3, 0], None), "nobody knows how many of B fit");
        // They take no time, so as many fit as there may be.
        assert_eq!(planned(&free, 10), (vec![9, 1], Some(18)));
        let free = Plan { is_interleaved: true, ..free };
        assert_eq!((planned(&free, 1), planned(&free, 2)), ((vec![1, 0], None), (vec![1, 1], Some(9))));
    }

    #[test]
    fn a_failure_keeps_what_was_measured_and_cleans_up() {
        let [run, setup, cleanup] = ["run", "setup", "cleanup"].map(failed);
        let what = |early: Option<Early>| {
            let early = early.unwrap();
            let cleanup = early.cleanup_failure.map(|failure| *failure);
            [early.failure, cleanup].map(|failure| failure.map_or(String::new(), |failure| failure.what))
        };
        let (log, runs, early) = ended(&plan(0, 4, true), 3, &run, [Ok(()), Ok(())]);
        assert_eq!(
            (log.as_str(), runs, what(early)),
            ("setup A A B B cleanup A", vec![1, 2], ["run".into(), String::new()])
        );
        let (log, runs, early) = ended(&plan(0, 2, false), 3, &run, [Ok(()), Err(cleanup.clone())]);
        assert_eq!((log.as_str(), runs), ("setup A A A cleanup A", vec![2, 0]), "B is not begun");
        assert_eq!(what(early), ["cleanup", ""]);
        let (log, runs, early) = ended(&plan(0, 4, true), 1, &run, [Ok(()), Err(cleanup)]);
        assert_eq!(
            (log.as_str(), runs, what(early)),
            ("setup A A cleanup A", vec![1, 0], ["run", "cleanup"].map(String::from))
        );
        let (log, runs, early) = ended(&plan(0, 4, true), 3, &run, [Err(setup), Ok(())]);
        assert_eq!((log.as_str(), runs, what(early)), ("setup A", vec![], ["setup".into(), String::new()]));
    }

    #[test]
    fn rounds_take_three_seconds_a_command_or_as_many_as_are_asked_for() {
        let free = Plan { runs_max: None, ..plan(0, 10, true) };
        let rounds = |plan: &Plan, milliseconds: u64| plan.rounds(Duration::from_millis(milliseconds), 2);
        assert_eq!(rounds(&free, 200), 30);
        assert_eq!(rounds(&free, 400), 16, "fifteen, and a partner for the last");
        assert_eq!(rounds(&free, 60_000), 10);
        assert_eq!(rounds(&Plan { runs_max: Some(12), ..free }, 200), 12);
        assert_eq!(rounds(&Plan { runs_min: 3, runs_max: Some(3), ..free }, 200), 3);
        assert_eq!(free.rounds(Duration::from_millis(200), 1), 15);
        assert_eq!(rounds(&Plan { measured_min: 2 * MEASURED_MIN, ..free }, 200), 60);
    }
}
