//! What any row of a run may have more of though its code is the same: by so much each interval is wider.
//! Owns: which of that there is by what is weighed, and whether a time was chosen. Never: says whether sides can be compared at all.

use crate::rules::difference::comparable::covered::Covered;
use crate::rules::difference::comparable::queue::{Queue, queue};
use crate::rules::pace::Pace;
use crate::rules::reading::Reading;
use crate::rules::weight::Weight;
use crate::tables::window::Window;

/// In the unit of the weight.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OfAnyRow {
    /// CPU that is in no sample.
    uncovered: f64,
    /// The wait for a CPU: wall time itself; of a time with an end, what was not done in it.
    queue: f64,
    /// The same before that time: what was done in it began later in the work.
    queue_before: f64,
    window: Option<Window>,
}

impl OfAnyRow {
    #[must_use]
    pub fn of(reading: &Reading, weight: Weight) -> OfAnyRow {
        let window = reading.window();
        let has_end = window.is_some_and(|window| window.end_ns.is_some());
        let queue_of = |unit_ns: f64| {
            let Queue { within_ns, before_ns } = queue(reading);
            let queue = if has_end || weight == Weight::Wall { within_ns / unit_ns } else { 0.0 };
            OfAnyRow { uncovered: 0.0, queue, queue_before: before_ns / unit_ns, window }
        };
        match weight {
            Weight::Cpu => OfAnyRow { uncovered: Covered::of(reading).uncovered_ns as f64, ..queue_of(1.0) },
            Weight::Wall => queue_of(1.0),
            Weight::Samples => {
                let interval_ns =
                    Pace::within(&reading.profile, window).mostly_ns.filter(|interval_ns| *interval_ns > 0);
                interval_ns.map_or(OfAnyRow::default(), |interval_ns| queue_of(interval_ns as f64))
            }
            Weight::Copied | Weight::Allocated => OfAnyRow::default(),
        }
    }
}

/// By how much the sides differ in that, on the average of their runs. Each of them may be of another row.
#[must_use]
pub fn apart(before: &[OfAnyRow], after: &[OfAnyRow]) -> f64 {
    let of = |part: fn(&OfAnyRow) -> f64| {
        let mean = |side: &[OfAnyRow]| side.iter().map(part).sum::<f64>() / side.len().max(1) as f64;
        (mean(before) - mean(after)).abs()
    };
    let windows: Vec<Option<Window>> = before.iter().chain(after).map(|run| run.window).collect();
    // Two times of a run begin apart because they were chosen so.
    let before_it = if windows.windows(2).all(|two| two[0] == two[1]) { of(|run| run.queue_before) } else { 0.0 };
    of(|run| run.uncovered) + of(|run| run.queue) + before_it
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Window = Window { start_ns: 5, end_ns: Some(9) };

    fn run(uncovered: f64, queue: f64, queue_before: f64) -> OfAnyRow {
        OfAnyRow { uncovered, queue, queue_before, window: Some(TIME) }
    }

    #[test]
    fn one_difference_does_not_make_up_for_another() {
        assert_eq!(apart(&[run(1.0, 7.0, 0.0)], &[run(4.0, 2.0, 1.0)]), 9.0);
        assert_eq!(apart(&[run(1.0, 0.0, 0.0), run(3.0, 0.0, 0.0)], &[run(2.0, 0.0, 0.0)]), 0.0);
    }

    #[test]
    fn times_that_were_chosen_apart_begin_apart() {
        let later = OfAnyRow { window: Some(Window { start_ns: 9, end_ns: None }), ..run(1.0, 7.0, 50.0) };
        assert_eq!(apart(&[run(1.0, 7.0, 0.0)], &[later]), 0.0);
    }
}
