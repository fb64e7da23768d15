//! How often a run comes to a row and how long it stays: what one run tells about the same program's next one, however long its calls are.
//! Owns: where a visit begins. Never: says how likely an error is.
//!
//! A run that comes back to a row again and again consists of cycles, from the beginning of one visit to the next. What a cycle has of the row, more
//! or less than its length tells, is by chance; and cycles that follow each other have nothing to do with each other, as long as they may be
//! (regenerative simulation: Crane and Iglehart 1975). So their variance asks for no length of a block. A phase that is met once has no second
//! cycle, and tells nothing: neither one of the row, nor one without it, in the middle of a run or at its ends.

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Visits {
    /// Of the sum of the row.
    pub variance: f64,
    /// Of the variance: cycles less one.
    pub freedom: usize,
    /// What the variance is at most. A row that has nearly all of a run loses no more to the rest by chance than there is of it.
    pub variance_max: f64,
}

/// A gap more than so many times as long as the longest other one is a phase without the row. Of gaps by chance (exponential), one of n + 1 is so with
/// the probability 6 / ((n + 1) (n + 2) (n + 3)): 2 of 100 runs with n = 5.
const PHASE_TIMES: usize = 3;
const CYCLES_BESIDE_PHASE_MIN: usize = 5;

#[derive(Clone, Copy, Default)]
struct Cycle {
    bins: usize,
    /// Of the bins: those with less of the row than the mean.
    gap: usize,
    row: f64,
}

impl Visits {
    /// `bins`: each has as much of the run as any other. None: the row is met once, or all the time.
    #[must_use]
    pub fn of(bins: &[f64]) -> Option<Visits> {
        let cycles = cycles(bins);
        let beside = beside_a_phase(&cycles);
        let length: usize = beside.iter().map(|cycle| cycle.bins).sum();
        let mean = beside.iter().map(|cycle| cycle.row).sum::<f64>() / length.max(1) as f64;
        let squares: f64 = beside.iter().map(|cycle| f64::powi(cycle.row - mean * cycle.bins as f64, 2)).sum();
        // Of all cycles, as if the one that is left out were like the others.
        let variance = squares * cycles.len() as f64 / beside.len().max(1) as f64;
        (beside.len() > 1).then(|| Visits { variance, freedom: beside.len() - 1, variance_max: f64::INFINITY })
    }
}

/// The end of the run goes on at its beginning.
fn cycles(bins: &[f64]) -> Vec<Cycle> {
    let mean = bins.iter().sum::<f64>() / bins.len().max(1) as f64;
    let begins = |at: usize| bins[at.checked_sub(1).unwrap_or(bins.len() - 1)] <= mean && bins[at] > mean;
    let Some(first) = (0..bins.len()).find(|at| begins(*at)) else { return Vec::new() };
    let mut cycles: Vec<Cycle> = Vec::new();
    for at in (first..bins.len()).chain(0..first) {
        if begins(at) {
            cycles.push(Cycle::default());
        }
        if let Some(cycle) = cycles.last_mut() {
            cycle.bins += 1;
            cycle.gap += usize::from(bins[at] <= mean);
            cycle.row += bins[at];
        }
    }
    cycles
}

/// All cycles but the one that has a phase without the row, if there is one.
fn beside_a_phase(cycles: &[Cycle]) -> Vec<Cycle> {
    let mut by_gap = cycles.to_vec();
    by_gap.sort_by_key(|cycle| std::cmp::Reverse(cycle.gap));
    if let [longest, next, ..] = by_gap[..]
        && longest.gap > PHASE_TIMES * next.gap
        && by_gap.len() > CYCLES_BESIDE_PHASE_MIN
    {
        by_gap.remove(0);
    }
    by_gap
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_has_more_or_less_of_a_row_than_its_length_tells() {
        // The mean is a half: cycles of 2, 4 and 4 bins with 1, 1 and 3 of the row.
        let bins = [1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0];
        assert_eq!(
            Visits::of(&bins),
            Some(Visits { variance: 0.0 + 1.0 + 1.0, freedom: 2, variance_max: f64::INFINITY })
        );
        // Where the run begins makes no difference.
        let mut turned = bins;
        for _ in 0..bins.len() {
            turned.rotate_left(1);
            assert_eq!(Visits::of(&turned), Visits::of(&bins), "{turned:?}");
        }
    }

    #[test]
    fn what_comes_in_equal_turns_leaves_nothing_open() {
        let turns: Vec<f64> = (0..100).map(|bin| f64::from(bin % 10 < 3)).collect();
        let visits = Visits::of(&turns).expect("ten cycles");
        assert!(visits.variance < 1e-20 && visits.freedom == 9, "{visits:?}");
    }

    #[test]
    fn turns_in_one_phase_of_the_run_leave_nothing_open() {
        let mut bins: Vec<f64> = (0..300).map(|bin| f64::from(bin < 100 && bin % 10 < 8)).collect();
        for _ in 0..3 {
            bins.rotate_left(70);
            let visits = Visits::of(&bins).expect("ten cycles");
            assert!(visits.variance < 1e-20 && visits.freedom == 8, "{visits:?}");
        }
    }

    #[test]
    fn a_phase_tells_nothing_of_other_phases() {
        let phase: Vec<f64> = (0..100).map(|bin| f64::from((20..50).contains(&bin))).collect();
        assert_eq!(Visits::of(&phase), None);
        assert_eq!(Visits::of(&[1.0; 50]), None);
        assert_eq!(Visits::of(&[]), None);
    }
}
