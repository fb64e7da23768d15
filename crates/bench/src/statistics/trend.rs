//! Whether runs become slower or faster one after the other, as those of a command do that changes its own input.
//! Owns: the test, by Spearman's rank correlation of the times with their order, and how large a change counts. Never: says whether the command
//! or the machine does it.

use statrs::distribution::{ContinuousCDF, StudentsT};
use statrs::statistics::{Data, Median, OrderStatistics, RankTieBreaker, Statistics};

/// Of runs without a trend, that share seems to have one.
pub const P_MAX: f64 = 0.001;
/// Busy machines wander: with many runs that has an order, too, but one with many exceptions.
const CORRELATION_MIN: f64 = 0.8;
/// A smaller change is told of no run: a machine that becomes warm does as much.
const CHANGE_MIN: f64 = 0.05;
/// Fewer have no order that chance would not have made more often.
const RUNS_MIN: usize = 8;
/// From so many runs on *t* gives the chance to a tenth of it.
const BY_T_MIN: usize = 20;
const ORDERS: usize = 100_000;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// Spearman's, above 0 where runs become slower.
    pub correlation: f64,
    /// So often runs without a trend have one as clear, either way.
    pub p: f64,
    /// Medians.
    pub first_third: f64,
    pub last_third: f64,
}

impl Trend {
    /// `times` in their order. None: too few, no trend, or a small one.
    #[must_use]
    pub fn of(times: &[f64]) -> Option<Trend> {
        let runs = times.len();
        if runs < RUNS_MIN {
            return None;
        }
        let ranks = Data::new(times.to_vec()).ranks(RankTieBreaker::Average);
        let order: Vec<f64> = (0..runs).map(|run| run as f64).collect();
        let deviations = (&ranks).std_dev() * (&order).std_dev();
        if deviations <= 0.0 {
            return None;
        }
        let correlation = ((&ranks).covariance(&order) / deviations).clamp(-1.0, 1.0);
        let third = runs / 3;
        let [first_third, last_third] =
            [&times[..third], &times[runs - third..]].map(|times| Data::new(times.to_vec()).median());
        let is_large = first_third > 0.0 && (last_third / first_third).ln().abs() >= CHANGE_MIN.ln_1p();
        // A few far runs in one third are no trend, whatever its median.
        let is_one_way = (last_third - first_third) * correlation > 0.0;
        if !is_large || !is_one_way || correlation.abs() < CORRELATION_MIN {
            return None;
        }
        let p = if runs < BY_T_MIN { chance_in_any_order(&ranks) } else { chance_by_t(correlation, runs)? };
        (p <= P_MAX).then_some(Trend { correlation, p, first_third, last_third })
    }
}

/// Both ways: of so many orders of the same runs, drawn at random, that share is as clear; their own order is one of them.
fn chance_in_any_order(ranks: &[f64]) -> f64 {
    let middle = (ranks.len() as f64 - 1.0) / 2.0;
    let clearness =
        |ranks: &[f64]| ranks.iter().enumerate().map(|(run, rank)| rank * (run as f64 - middle)).sum::<f64>().abs();
    let own = clearness(ranks) - 1e-9;
    let mut random = fastrand::Rng::with_seed(0);
    let mut drawn = ranks.to_vec();
    let as_clear = (0..ORDERS).filter(|_| {
        random.shuffle(&mut drawn);
        clearness(&drawn) >= own
    });
    (1 + as_clear.count()) as f64 / (1 + ORDERS) as f64
}

/// Both ways, by Student's *t* (Kendall and Stuart 1979, 31.19), which is too bold for few runs.
fn chance_by_t(correlation: f64, runs: usize) -> Option<f64> {
    let freedom = runs as f64 - 2.0;
    let t = correlation.abs() * (freedom / (1.0 - correlation.powi(2)).max(f64::MIN_POSITIVE)).sqrt();
    Some(2.0 * StudentsT::new(0.0, 1.0, freedom).ok()?.sf(t))
}

#[cfg(test)]
mod tests {
    use super::{P_MAX, Trend, chance_by_t, chance_in_any_order};

    struct Machine(fastrand::Rng);

    impl Machine {
        /// Flat: normal, some with every tenth run up to twice as long.
        fn runs(&mut self, runs: usize, spread: f64, has_spikes: bool) -> Vec<f64> {
            let mut run = || {
                let even = 1.0 + spread * ((0..12).map(|_| self.0.f64()).sum::<f64>() - 6.0);
                let is_far = has_spikes && self.0.f64() < 0.1;
                100.0 * if is_far { even + self.0.f64() } else { even }
            };
            (0..runs).map(|_| run()).collect()
        }
    }

    /// Published tables of Spearman's correlation (Zar 1972): at 0.001, both ways, 20 values need 0.677, and 30 need 0.567 or 0.568.
    #[test]
    fn the_chance_of_many_runs_is_that_of_published_tables() {
        assert!((chance_by_t(0.677, 20).unwrap() - P_MAX).abs() < 1e-4);
        assert!((chance_by_t(-0.5675, 30).unwrap() - P_MAX).abs() < 1e-4);
    }

    /// Of the 40,320 orders of eight values, 8 are at most one exchange of neighbours away from a rise, and 23 at most two.
    #[test]
    fn the_chance_of_few_runs_is_counted() {
        let one_exchange = [1.0, 2.0, 3.0, 5.0, 4.0, 6.0, 7.0, 8.0];
        let two_exchanges = [2.0, 1.0, 3.0, 5.0, 4.0, 6.0, 7.0, 8.0];
        for (ranks, orders) in [(one_exchange, 8.0), (two_exchanges, 23.0)] {
            let expected: f64 = 2.0 * orders / 40_320.0;
            // Five standard deviations of a count of 100,000.
            let spread = 5.0 * (expected / 100_000.0).sqrt();
            let found = chance_in_any_order(&ranks);
            assert!((found - expected).abs() < spread + 1e-5, "{found}, {expected}");
        }
        assert!(Trend::of(&one_exchange).is_some());
        assert_eq!(Trend::of(&two_exchanges), None);
    }

    /// At 0.1 % of 4,000, four are expected by chance alone, and fewer because small changes are not told.
    #[test]
    fn flat_runs_seldom_have_a_trend() {
        let mut machine = Machine(fastrand::Rng::with_seed(21));
        // As many as a hundred take the most time: `make test-all` has them.
        let runs_max = if std::env::var_os("GENBA_ALL").is_some() { 100 } else { 20 };
        for runs in [8, 10, 20, 100].into_iter().filter(|runs| *runs <= runs_max) {
            for (spread, has_spikes) in [(0.02, false), (0.10, false), (0.30, false), (0.02, true)] {
                let alarms = (0..4_000).filter(|_| Trend::of(&machine.runs(runs, spread, has_spikes)).is_some());
                // 1 % are 40, promised as the most; five standard deviations (2) above 4 are 14.
                let alarms = alarms.count();
                assert!(alarms <= 14, "{alarms} of 4000: {runs} runs, {spread}, {has_spikes}");
            }
        }
    }

    /// A command that appends to what it reads, from 118 to 339 ms in ten runs.
    #[test]
    fn a_growing_input_is_a_trend_either_way() {
        let mut machine = Machine(fastrand::Rng::with_seed(22));
        for spread in [0.02, 0.05] {
            let flat = machine.runs(10, spread, false);
            let growing: Vec<f64> =
                flat.iter().enumerate().map(|(run, time)| time * (1.18 + 0.24 * run as f64)).collect();
            let found = Trend::of(&growing).unwrap();
            assert!(found.correlation > 0.95 && found.last_third > 1.8 * found.first_third, "{found:?}");
            let shrinking: Vec<f64> = growing.into_iter().rev().collect();
            assert!(Trend::of(&shrinking).unwrap().correlation < -0.95);
        }
    }

    #[test]
    fn a_slow_first_run_a_small_change_and_few_runs_are_no_trend() {
        let cold: Vec<f64> = (0..10).map(|run| if run == 0 { 500.0 } else { 100.0 + f64::from(run % 3) }).collect();
        assert_eq!(Trend::of(&cold), None);
        let warm: Vec<f64> = (0..10).map(|run| 100.0 + 0.3 * f64::from(run)).collect();
        assert_eq!(Trend::of(&warm), None, "3 % in all");
        assert_eq!(Trend::of(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]), None);
        assert_eq!(Trend::of(&[1.0; 20]), None);
        // Spearman's 0.53, whose chance is 0.04 %, and 15 % from third to third.
        let wandering: Vec<f64> = (0..40).map(|run| 100.0 + f64::from(run / 4) + 12.0 * f64::from(run % 2)).collect();
        assert_eq!(Trend::of(&wandering), None, "a rise with as large exceptions");
    }
}
