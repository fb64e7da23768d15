//! How often a run comes to a row and how long it stays: what one run tells about the same program's next one, however long its calls are.
//! Owns: where a visit begins. Never: says how likely an error is.
//!
//! A run that comes back to a row again and again consists of cycles, from the beginning of one visit to the next. What a cycle has of the row, more
//! or less than its length tells, is by chance; and cycles that follow each other have nothing to do with each other, as long as they may be
//! (regenerative simulation: Crane and Iglehart 1975). So their variance asks for no length of a block. A phase that is met once has no second
//! cycle, and tells nothing.

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Visits {
    /// Of the sum of the row.
    pub variance: f64,
    /// Of the variance: cycles less one.
    pub freedom: usize,
}

impl Visits {
    /// `bins`: each has as much of the run as any other. None: the row is met once, or all the time.
    #[must_use]
    pub fn of(bins: &[f64]) -> Option<Visits> {
        let mean = bins.iter().sum::<f64>() / bins.len().max(1) as f64;
        // The end of the run goes on at its beginning.
        let begins = |at: usize| bins[at.checked_sub(1).unwrap_or(bins.len() - 1)] <= mean && bins[at] > mean;
        let first = (0..bins.len()).find(|at| begins(*at))?;
        let (mut cycles, mut squares, mut more) = (0, 0.0, 0.0);
        for at in (first..bins.len()).chain(0..first) {
            if begins(at) {
                cycles += 1;
                squares += f64::powi(more, 2);
                more = 0.0;
            }
            more += bins[at] - mean;
        }
        (cycles > 1).then(|| Visits { variance: squares + more.powi(2), freedom: cycles - 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_has_more_or_less_of_a_row_than_its_length_tells() {
        // The mean is a half: cycles of 2, 4 and 4 bins with 1, 1 and 3 of the row.
        let bins = [1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0];
        assert_eq!(Visits::of(&bins), Some(Visits { variance: 0.0 + 1.0 + 1.0, freedom: 2 }));
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
    fn a_phase_tells_nothing_of_other_phases() {
        let phase: Vec<f64> = (0..100).map(|bin| f64::from((20..50).contains(&bin))).collect();
        assert_eq!(Visits::of(&phase), None);
        assert_eq!(Visits::of(&[1.0; 50]), None);
        assert_eq!(Visits::of(&[]), None);
    }
}
