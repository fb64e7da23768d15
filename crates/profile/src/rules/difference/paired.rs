//! Whether two ways to run a program differ, judged by pairs of runs.
//! Owns: the interval of the mean difference. Never: compares runs of different pairs: what is slow for a while slows both runs of a pair.
//!
//! By Student's *t* of the differences. Several measures of the same pairs share the errors, so that all of their intervals hold together
//! in `HOLD` of all comparisons.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// All intervals of one comparison hold in that share of comparisons.
pub const HOLD: f64 = 0.95;
/// Two differences tell next to nothing about how much pairs differ.
pub const PAIRS_MIN: usize = 3;

/// Means, in the unit of the measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paired {
    pub before: f64,
    pub after: f64,
    pub low: f64,
    pub high: f64,
}

impl Paired {
    /// `pairs`: before and after; `measures`: how many are judged by these pairs. None: too few pairs.
    #[must_use]
    pub fn of(pairs: &[(f64, f64)], measures: usize) -> Option<Paired> {
        if pairs.len() < PAIRS_MIN {
            return None;
        }
        let runs = pairs.len() as f64;
        let mean = |value: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(value).sum::<f64>() / runs;
        let difference = |pair: &(f64, f64)| pair.1 - pair.0;
        let change = mean(&difference);
        let variance = pairs.iter().map(|pair| (difference(pair) - change).powi(2)).sum::<f64>() / (runs - 1.0);
        let each_side = (1.0 - HOLD) / measures.max(1) as f64 / 2.0;
        let factor = StudentsT::new(0.0, 1.0, runs - 1.0).ok()?.inverse_cdf(1.0 - each_side);
        let margin = factor * (variance / runs).sqrt();
        let (before, after) = (mean(&|pair| pair.0), mean(&|pair| pair.1));
        Some(Paired { before, after, low: change - margin, high: change + margin })
    }

    #[must_use]
    pub fn change(&self) -> f64 {
        self.after - self.before
    }

    /// No change is outside of the interval.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::Paired;

    #[test]
    fn an_interval_is_that_of_the_differences() {
        // Differences -9, -10, -11: mean -10, deviation 1. t of 2 degrees of freedom at 0.975: 4.3027, at 0.9875: 6.2053.
        let pairs = [(100.0, 91.0), (150.0, 140.0), (50.0, 39.0)];
        let one = Paired::of(&pairs, 1).unwrap();
        assert_eq!((one.before, one.after, one.change()), (100.0, 90.0, -10.0));
        assert!((one.high + 10.0 - 4.3027 / 3.0_f64.sqrt()).abs() < 1e-3, "{one:?}");
        assert!((one.low + 10.0 + 4.3027 / 3.0_f64.sqrt()).abs() < 1e-3, "{one:?}");
        let two = Paired::of(&pairs, 2).unwrap();
        assert!((two.high + 10.0 - 6.2053 / 3.0_f64.sqrt()).abs() < 1e-3, "{two:?}");
        assert!(two.is_shown());
    }

    #[test]
    fn what_pairs_do_not_agree_on_is_not_shown() {
        let pairs = [(100.0, 91.0), (100.0, 111.0), (100.0, 98.0), (100.0, 95.0)];
        assert!(!Paired::of(&pairs, 2).unwrap().is_shown());
        assert_eq!(Paired::of(&pairs[..2], 2), None);
    }

    /// Of comparisons of equal programs 5 % show a difference in one of two measures, or fewer.
    #[test]
    fn equal_programs_seldom_differ() {
        let mut state = 7_u64;
        // Sums of twelve even numbers are as good as normal.
        let mut noise = || {
            let mut sum = -6.0;
            for _ in 0..12 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                sum += (state >> 11) as f64 / (1_u64 << 53) as f64;
            }
            sum
        };
        let mut shown = 0;
        for _ in 0..2_000 {
            let mut pairs = || (0..6).map(|_| (100.0 + noise(), 100.0 + noise())).collect::<Vec<_>>();
            let (wall, cpu) = (pairs(), pairs());
            let is_shown = [wall, cpu].iter().any(|pairs| Paired::of(pairs, 2).unwrap().is_shown());
            shown += u32::from(is_shown);
        }
        // 100 expected; the bound is five standard deviations of that count above.
        assert!((50..150).contains(&shown), "{shown}");
    }
}
