//! What a run did before the time that is compared. Where one side came further, other work falls into the time, and any row may have so much more.
//! Owns: whether times begin alike, how far apart the sides are where they do, and how that is told. Never: looks at rows or samples.
//!
//! A server that answered later, a cold disk or a busy machine hold a run up: it has less CPU before the time. A row may have all of that more at the
//! begin of the time, and another one so much less at its end. The kernel counts waits for a CPU beside that. Both tell of one delay, so the larger
//! one counts, and not their sum.
//!
//! Less CPU may also be the change itself: a server whose requests take less has less before the time and in it, and is where the other one is. So
//! CPU tells of a delay only as far as it differs by more than the CPU in the time does, in proportion and in the same direction. If the time alone
//! changed, the CPU before it is equal and nothing is wider.
//!
//! It can hide a change where no work was moved: start-up became cheaper, and then the program waits for the clock or for requests. Or requests came
//! by chance: a long time before differs by more CPU than a short one has. Of several recordings the mean counts, in which chance is smaller. Times
//! that begin apart make nothing wider, so naming them helps.
//! It can miss a delay: one that goes on in the time looks like less work, and one in work that mostly waits is longer than the CPU that it moved.

use crate::rules::difference::comparable::covered::Covered;
use crate::rules::reading::Reading;
use crate::words::figures::duration;

/// Of a run, in nanoseconds or in another unit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WorkBefore {
    /// When the time that is compared begins. With the recording: nothing was before it.
    pub start_ns: u64,
    /// How long its threads waited for a CPU before that time.
    pub queue: f64,
    /// Its CPU before that time.
    pub cpu: f64,
    /// Its CPU in that time.
    pub cpu_within: f64,
}

impl WorkBefore {
    #[must_use]
    pub fn of(reading: &Reading, queue_ns: f64) -> WorkBefore {
        let Some(window) = reading.window().filter(|window| window.start_ns > 0) else { return WorkBefore::default() };
        WorkBefore {
            start_ns: window.start_ns,
            queue: queue_ns,
            cpu: Covered::before(reading, window).cpu_ns() as f64,
            cpu_within: Covered::of(reading).cpu_ns() as f64,
        }
    }

    #[must_use]
    pub fn in_units_of(self, unit_ns: f64) -> WorkBefore {
        let [queue, cpu, cpu_within] = [self.queue, self.cpu, self.cpu_within].map(|ns| ns / unit_ns);
        WorkBefore { queue, cpu, cpu_within, ..self }
    }

    /// Of runs that begin alike.
    fn mean(side: &[WorkBefore]) -> WorkBefore {
        let mean = |of: fn(&WorkBefore) -> f64| side.iter().map(of).sum::<f64>() / side.len().max(1) as f64;
        WorkBefore {
            start_ns: side.first().map_or(0, |run| run.start_ns),
            queue: mean(|run| run.queue),
            cpu: mean(|run| run.cpu),
            cpu_within: mean(|run| run.cpu_within),
        }
    }
}

/// Both sides, on the average of their runs, where the time begins alike in all of them.
#[derive(Clone, Copy, Debug)]
pub struct Apart {
    before: WorkBefore,
    after: WorkBefore,
}

impl Apart {
    /// None: two times of a run begin apart because they were chosen so.
    #[must_use]
    pub fn of(before: &[WorkBefore], after: &[WorkBefore]) -> Option<Apart> {
        let mut starts_ns = before.iter().chain(after).map(|run| run.start_ns);
        let first_ns = starts_ns.next()?;
        let begin_alike = starts_ns.all(|start_ns| start_ns == first_ns);
        begin_alike.then(|| Apart { before: WorkBefore::mean(before), after: WorkBefore::mean(after) })
    }

    fn queue(self) -> f64 {
        (self.before.queue - self.after.queue).abs()
    }

    /// By what the side with less CPU lacks more than the time itself tells.
    fn cpu(self) -> f64 {
        let is_less_before = self.before.cpu < self.after.cpu;
        let (less, more) = if is_less_before { (self.before, self.after) } else { (self.after, self.before) };
        let part = if more.cpu_within > 0.0 { (less.cpu_within / more.cpu_within).min(1.0) } else { 1.0 };
        (more.cpu * part - less.cpu).max(0.0)
    }

    /// What any row of one side may have more of.
    #[must_use]
    pub fn of_any_row(self) -> f64 {
        self.queue().max(self.cpu())
    }

    /// In nanoseconds. From `more_than` on, and of the CPU what a wait that is told does not explain.
    #[must_use]
    pub fn told(self, more_than: f64, in_turn: &str) -> Vec<String> {
        let line = |words: String, advice: &str| {
            format!(
                "before the time that is compared a run {words}: the intervals are wider for that; {in_turn}{advice}"
            )
        };
        let is_queue_told = self.queue() > more_than;
        let explained = if is_queue_told { self.queue() } else { 0.0 };
        let mut found = Vec::new();
        if is_queue_told {
            let [a, b] = [self.before.queue, self.after.queue].map(|ns| duration(ns as u64));
            found.push(line(format!("waited for a CPU for {a} in A, for {b} in B"), ""));
        }
        if self.cpu() - explained > more_than {
            let [a, b] = [self.before.cpu, self.after.cpu].map(|ns| duration(ns as u64));
            let advice = ", or name the same part of the work with --before-time and --after-time";
            found.push(line(format!("took {a} of CPU in A, {b} in B"), advice));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(queue: f64, cpu: f64, cpu_within: f64) -> WorkBefore {
        WorkBefore { start_ns: 5, queue, cpu, cpu_within }
    }

    /// Either side may be the one that was held up.
    fn of_any_row(one: WorkBefore, other: WorkBefore) -> f64 {
        let [there, back] =
            [(one, other), (other, one)].map(|(a, b)| Apart::of(&[a], &[b]).expect("they begin alike").of_any_row());
        assert_eq!(there, back);
        there
    }

    #[test]
    fn a_run_that_was_held_up_did_less_before() {
        assert_eq!(of_any_row(run(0.0, 400.0, 1000.0), run(0.0, 100.0, 1000.0)), 300.0);
        // To the end of the work, more of it is in the time then.
        assert_eq!(of_any_row(run(0.0, 400.0, 1000.0), run(0.0, 100.0, 1300.0)), 300.0);
    }

    #[test]
    fn of_one_delay_the_larger_figure_counts() {
        assert_eq!(of_any_row(run(0.0, 400.0, 1000.0), run(250.0, 100.0, 1000.0)), 300.0);
        assert_eq!(of_any_row(run(0.0, 400.0, 1000.0), run(350.0, 100.0, 1000.0)), 350.0);
    }

    #[test]
    fn less_work_in_proportion_is_no_delay() {
        assert_eq!(of_any_row(run(0.0, 800.0, 1000.0), run(0.0, 400.0, 500.0)), 0.0);
        // A start-up that is as long as before, and then half of the work.
        assert_eq!(of_any_row(run(0.0, 800.0, 1000.0), run(0.0, 600.0, 500.0)), 0.0);
        // Half of the work, and a delay that took half of that.
        assert_eq!(of_any_row(run(0.0, 800.0, 1000.0), run(0.0, 200.0, 500.0)), 200.0);
    }

    #[test]
    fn a_change_of_the_time_alone_makes_nothing_wider() {
        assert_eq!(of_any_row(run(0.0, 800.0, 1000.0), run(0.0, 800.0, 250.0)), 0.0);
        assert_eq!(of_any_row(run(0.0, 800.0, 0.0), run(0.0, 800.0, 250.0)), 0.0);
        assert_eq!(of_any_row(run(0.0, 800.0, 0.0), run(0.0, 300.0, 0.0)), 500.0);
    }

    #[test]
    fn the_mean_of_a_side_counts() {
        let before = [run(0.0, 300.0, 900.0), run(40.0, 500.0, 1100.0)];
        let apart = Apart::of(&before, &[run(20.0, 400.0, 1000.0)]).map(Apart::of_any_row);
        assert_eq!(apart, Some(0.0));
    }

    #[test]
    fn times_that_begin_apart_were_chosen_so() {
        let later = WorkBefore { start_ns: 9, ..run(0.0, 400.0, 1000.0) };
        assert!(Apart::of(&[run(0.0, 400.0, 1000.0)], &[later]).is_none());
        assert!(Apart::of(&[run(0.0, 400.0, 1000.0), later], &[run(0.0, 400.0, 1000.0)]).is_none());
    }

    #[test]
    fn in_another_unit_they_are_as_far_apart() {
        let [one, other] = [run(250.0, 400.0, 1000.0), run(0.0, 100.0, 1000.0)].map(|run| run.in_units_of(100.0));
        assert_eq!(of_any_row(one, other), 3.0);
    }

    /// From so much on, and once for one delay.
    #[test]
    fn a_delay_is_told_once() {
        let told = |a: WorkBefore, b: WorkBefore| {
            let [a, b] = [a, b].map(|run| run.in_units_of(1e-6));
            let lines = Apart::of(&[a], &[b]).map(|apart| apart.told(250e6, "record both sides in turn"));
            lines.expect("they begin alike")
        };
        let first = run(0.0, 1200.0, 5000.0);
        assert_eq!(told(first, run(0.0, 951.0, 5000.0)), [] as [String; 0]);
        let cpu = "before the time that is compared a run took 1.20 s of CPU in A, 900 ms in B: the intervals are wider for that; record both sides in turn, or name the same part of the work with --before-time and --after-time";
        assert_eq!(told(first, run(0.0, 900.0, 5000.0)), [cpu]);
        // The kernel's count is too small to be told, and explains nothing.
        assert_eq!(told(first, run(240.0, 900.0, 5000.0)), [cpu]);
        let queue = "before the time that is compared a run waited for a CPU for 0 ns in A, for 300 ms in B: the intervals are wider for that; record both sides in turn";
        assert_eq!(told(first, run(300.0, 900.0, 5000.0)), [queue]);
        let both = told(first, run(300.0, 600.0, 5000.0));
        assert!(
            both.len() == 2 && both[0] == queue && both[1].contains(" took 1.20 s of CPU in A, 600 ms in B: "),
            "{both:?}"
        );
    }
}
