//! How many runs would show a difference of a given size.
//! Owns: that number. Never: promises what a few runs happened to be alike by: it counts with the deviation that they may hide, as `genba diff` does.

use genba_profile::difference::certainty::{at_most, factor_of, found_with};
use genba_profile::difference::paired::HOLD;

use super::comparison::{ROUNDS_MIN, Ratio};

/// To ask for more is no advice.
const RUNS_MAX: usize = 100_000;

/// Runs of each command with which 95 of 100 comparisons show that the other takes `difference` (0.01 is 1 %) longer. `compared`: pairs whose
/// intervals hold together. None: more than anyone makes, or the rounds tell nothing about it.
#[must_use]
pub fn runs_needed(found: &Ratio, difference: f64, compared: usize) -> Option<usize> {
    if difference <= 0.0 || found.blocks < 2 {
        return None;
    }
    let deviation = found.spread * at_most(found.blocks - 1).sqrt();
    let tells = |runs: usize| {
        let freedom = runs / 2 - 1;
        let factor = factor_of(1.0 - HOLD, compared, Some(freedom));
        found_with(factor, freedom) * deviation / ((runs / 2) as f64).sqrt() <= difference.ln_1p()
    };
    // More runs tell less and less more: the least number by halving.
    let (mut least, mut most) = (ROUNDS_MIN / 2, RUNS_MAX / 2);
    if !tells(most * 2) {
        return None;
    }
    while least < most {
        let middle = usize::midpoint(least, most);
        if tells(middle * 2) {
            most = middle;
        } else {
            least = middle + 1;
        }
    }
    Some(least * 2)
}

#[cfg(test)]
mod tests {
    use super::runs_needed;
    use crate::statistics::comparison::{Comparison, Ratio, all_pairs};

    fn ratio(spread: f64, blocks: usize) -> Ratio {
        Ratio { ratio: 1.0, interval: None, spread, blocks }
    }

    /// By hand: of 500 blocks with a deviation of 10 %, chi-square's tenth percentile of 499 degrees is 458.98 (`at_most` 1.0872), so
    /// 10.43 %. The factor of many degrees is 1.96, that of finding 3.605: (3.605 × 0.1043 / ln 1.02)² is 361 blocks.
    #[test]
    fn the_number_is_the_one_worked_out_by_hand() {
        let runs = runs_needed(&ratio(0.1, 500), 0.02, 1).unwrap();
        assert!((722..=728).contains(&runs), "{runs}");
        assert!(runs_needed(&ratio(0.1, 5), 0.02, 1).unwrap() > 2 * runs, "few blocks hide much");
        assert!(runs_needed(&ratio(0.1, 500), 0.02, 10).unwrap() > runs, "of ten pairs each may err less");
        assert_eq!(runs_needed(&ratio(0.0, 5), 0.02, 1), Some(8));
        assert_eq!(runs_needed(&ratio(0.5, 5), 0.000_1, 1), None);
        assert_eq!(runs_needed(&ratio(0.1, 1), 0.02, 1), None);
    }

    /// A difference of 3 % is planted; ten rounds say how many runs show it; so many are made.
    #[test]
    fn the_runs_that_are_asked_for_show_the_difference() {
        let mut random = fastrand::Rng::with_seed(11);
        let mut side = |runs: usize, mean: f64| -> Vec<f64> {
            (0..runs).map(|_| mean * (1.0 + 0.02 * ((0..12).map(|_| random.f64()).sum::<f64>() - 6.0))).collect()
        };
        let mut shown = 0;
        for _ in 0..60 {
            let pilot = Comparison::of(&[side(10, 100.0), side(10, 100.0)], &all_pairs(2)).ratio(0, 1).unwrap();
            let runs = runs_needed(&pilot, 0.03, 1).unwrap();
            let made = Comparison::of(&[side(runs, 100.0), side(runs, 103.0)], &all_pairs(2)).ratio(0, 1).unwrap();
            shown += u32::from(made.interval.unwrap().0 > 1.0);
        }
        // 57 expected; five standard deviations of that count (1.7) below.
        assert!(shown >= 49, "{shown}");
    }
}
