//! What any row of a run may have more of though its code is the same: by so much each interval is wider.
//! Owns: which of that there is by what is weighed, and whether the clock or the work ended what is compared. Never: says whether sides can be
//! compared at all.

use crate::rules::difference::comparable::covered::Covered;
use crate::rules::difference::comparable::ending::{End, end_of};
use crate::rules::difference::comparable::has_all_of;
use crate::rules::difference::comparable::queue::{Queue, queue};
use crate::rules::difference::comparable::work_before::{Apart, WorkBefore};
use crate::rules::pace::Pace;
use crate::rules::reading::Reading;
use crate::rules::weight::Weight;
use crate::tables::window::Window;

/// In the unit of the weight.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OfAnyRow {
    /// CPU that is in no sample.
    uncovered: f64,
    /// The wait for a CPU: wall time itself; of what the clock ended, work that was not done in it.
    queue: f64,
    queue_counts: bool,
    /// What was done in the time that is compared began later in the work.
    work_before: WorkBefore,
}

impl OfAnyRow {
    #[must_use]
    pub fn of(reading: &Reading, weight: Weight) -> OfAnyRow {
        let window = reading.window();
        let queue_counts = weight == Weight::Wall || is_ended_by_clock(reading, window);
        let queue_of = |unit_ns: f64| {
            let Queue { within_ns, before_ns } = queue(reading);
            let work_before = WorkBefore::of(reading, before_ns).in_units_of(unit_ns);
            OfAnyRow { uncovered: 0.0, queue: within_ns / unit_ns, queue_counts, work_before }
        };
        match weight {
            Weight::Cpu => OfAnyRow { uncovered: Covered::of(reading).uncovered_ns as f64, ..queue_of(1.0) },
            Weight::Wall => queue_of(1.0),
            Weight::Samples => {
                let interval_ns =
                    Pace::within(&reading.profile, window).mostly_ns.filter(|interval_ns| *interval_ns > 0);
                interval_ns.map(|interval_ns| queue_of(interval_ns as f64)).unwrap_or_default()
            }
            Weight::Copied | Weight::Allocated => OfAnyRow::default(),
        }
    }
}

/// The time that is compared has an end before the recording's, or the program went on when its recording ended.
fn is_ended_by_clock(reading: &Reading, window: Option<Window>) -> bool {
    window.is_some_and(|window| has_all_of(reading.profile.span_ns, window))
        || end_of(&reading.profile).is_some_and(End::is_early)
}

/// By how much the sides differ in that, on the average of their runs. Each of them may be of another row.
#[must_use]
pub fn apart(before: &[OfAnyRow], after: &[OfAnyRow]) -> f64 {
    let of = |part: fn(&OfAnyRow) -> f64| {
        let mean = |side: &[OfAnyRow]| side.iter().map(part).sum::<f64>() / side.len().max(1) as f64;
        (mean(before) - mean(after)).abs()
    };
    let all = || before.iter().chain(after);
    let within_it = if all().any(|run| run.queue_counts) { of(|run| run.queue) } else { 0.0 };
    let works = |side: &[OfAnyRow]| side.iter().map(|run| run.work_before).collect::<Vec<_>>();
    let before_it = Apart::of(&works(before), &works(after)).map_or(0.0, Apart::of_any_row);
    of(|run| run.uncovered) + within_it + before_it
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(uncovered: f64, queue: f64, queue_before: f64) -> OfAnyRow {
        let work_before = WorkBefore { start_ns: 5, queue: queue_before, ..WorkBefore::default() };
        OfAnyRow { uncovered, queue, queue_counts: true, work_before }
    }

    #[test]
    fn one_difference_does_not_make_up_for_another() {
        assert_eq!(apart(&[run(1.0, 7.0, 0.0)], &[run(4.0, 2.0, 1.0)]), 9.0);
        assert_eq!(apart(&[run(1.0, 0.0, 0.0), run(3.0, 0.0, 0.0)], &[run(2.0, 0.0, 0.0)]), 0.0);
    }

    #[test]
    fn times_that_were_chosen_apart_begin_apart() {
        let mut later = run(1.0, 7.0, 50.0);
        later.work_before.start_ns = 9;
        assert_eq!(apart(&[run(1.0, 7.0, 0.0)], &[later]), 0.0);
    }

    /// Of `--before-time ..5s --after-time 5s..` the second one has the end of the work.
    #[test]
    fn the_wait_within_counts_where_the_clock_ended_either_side() {
        let to_its_end = |queue: f64| OfAnyRow { queue_counts: false, ..run(0.0, queue, 0.0) };
        assert_eq!(apart(&[to_its_end(7.0)], &[to_its_end(2.0)]), 0.0);
        assert_eq!(apart(&[run(0.0, 7.0, 0.0)], &[to_its_end(7.0)]), 0.0);
        assert_eq!(apart(&[run(0.0, 7.0, 0.0)], &[to_its_end(2.0)]), 5.0);
    }
}
