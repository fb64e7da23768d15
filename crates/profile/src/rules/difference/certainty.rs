//! Whether a change is more than what runs of the same program differ by: standard errors, their factor, and how many runs would tell.
//! Owns: the share of errors, what is assumed of a single run, the correction for the number of rows. Never: looks at bins or names.
//!
//! The variance of one run's sum has two parts: when its samples were taken (`bootstrap`), and how runs differ from each other, in proportion
//! to the sum. From several recordings the second part is measured; a single one says nothing about it, so a fixed part is assumed.

use crate::rules::difference::within_run::Sum;
use statrs::distribution::{ChiSquared, ContinuousCDF, Normal, StudentsT};

/// Of comparisons of equal programs, those that find a difference in any row. Two thirds below the 5 % that are promised: runs are not always alike.
pub const ERRORS_IN_ALL_ROWS: f64 = 0.02;
/// Standard deviation of runs of one program, as a part of a row's time, where too few recordings tell it. docs/reading/diff.md has measured ones.
const ASSUMED_SPREAD: f64 = 0.05;
/// So much more where the program waited for a CPU all the time, in proportion: who shares a machine shares its caches and its clock rate.
const ASSUMED_SPREAD_OF_BUSY: f64 = 0.25;
/// What an expression may get from its neighbours or give to them, as a part of the whole run, where too few recordings tell it: which of two the
/// processor is seen in is a matter of where code lies in memory.
const ASSUMED_EXCHANGE: f64 = 0.003;
/// No two runs are alike to that part of their time, even if a few of them happen to be.
const SPREAD_MIN: f64 = 0.002;
/// What advice assumes at least, as a part of a row's time: runs that follow each other are more alike than those of a longer session. Of
/// three small programs on an idle machine, five runs in a row differed by 0.1 to 1.3 %, and fifteen of half a minute by 0.7 to 2.4 %.
const ADVISED_SPREAD_MIN: f64 = 0.015;
/// A few runs may be alike by chance: advice takes the variance that they would exceed in that share of all cases, by the chi-square distribution.
const ALIKE_BY_CHANCE: f64 = 0.1;
/// Recordings on each side from which on the variance between runs is measured. Five on one side tell nothing about a single one on the other.
const RUNS_MIN: usize = 3;
/// What all rows tell about the variance of one counts as much as that many degrees of freedom of its own.
const FREEDOM_OF_ALL_ROWS: f64 = 4.0;
/// To ask for fewer recordings on a side is no advice: with five the factor is near its least.
const ADVISED_RUNS_MIN: u32 = 5;
const ADVISED_RUNS_MAX: u32 = 1000;
/// Of changes that large, 95 % are found with the runs that are asked for.
const POWER_QUANTILE: f64 = 1.645;
/// A row with fewer samples in one run of each side together is not compared.
pub const SAMPLES_MIN: u64 = 20;

/// The sums of a row in the runs before and after.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sums {
    pub before: Vec<Sum>,
    pub after: Vec<Sum>,
    pub samples_before: u64,
    pub samples_after: u64,
}

/// How much runs of the same program differ, as a part of a row's time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub part: f64,
    /// None: assumed.
    pub freedom: Option<usize>,
}

/// In the unit of the weight, per run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub before: f64,
    pub after: f64,
    pub low: f64,
    pub high: f64,
    pub certain: bool,
    /// Not compared.
    pub is_too_few: bool,
    /// On each side, to make a change of this size certain. None: it is, or no number of runs would do.
    pub runs_needed: Option<u32>,
}

impl Estimate {
    #[must_use]
    pub fn change(&self) -> f64 {
        self.after - self.before
    }

    /// Half of the interval's width.
    #[must_use]
    pub fn margin(&self) -> f64 {
        (self.high - self.low) / 2.0
    }
}

/// The part of its time that a run waited for a CPU: on each side, of the run that waited most.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Busy {
    pub before: f64,
    pub after: f64,
}

impl Busy {
    #[must_use]
    pub fn larger(self) -> f64 {
        self.before.max(self.after)
    }
}

/// What all rows of a comparison share.
#[derive(Clone, Debug)]
pub struct Certainty {
    /// Of the side that differs more.
    pub spread: Spread,
    /// On each side, as a part of a row's time.
    part_before: f64,
    part_after: f64,
    /// What a machine that was busier on one side may do to a row, as a part of its time. More runs do not make it smaller.
    uneven: f64,
    /// Rows that are compared.
    pub compared: usize,
    runs_before: usize,
    runs_after: usize,
    is_shown: bool,
    /// Assumed, in the unit of the weight.
    exchange: f64,
    /// By how much the CPU that is in no sample differs, in the unit of the weight: a row may have all of it. More runs do not make it smaller.
    uncovered: f64,
    /// Standard errors to each side of a change.
    factor: f64,
    /// For each number of runs a side, from `ADVISED_RUNS_MIN` on: by what the deviation of one run is to be multiplied to be the change that
    /// they tell. More runs tell less.
    tell: Vec<f64>,
}

impl Certainty {
    /// Recordings that are too few to measure it differ by more than what is assumed.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        self.spread.freedom.is_none() && self.is_shown
    }

    /// `rows`: all that are compared, of which each is part of what the spread is measured from. Each side has one run or more.
    #[must_use]
    pub fn of(rows: &[&Sums], whole: &Sums, compared: usize, busy: Busy) -> Certainty {
        let (runs_before, runs_after) = (whole.before.len(), whole.after.len());
        let freedom = (runs_before + runs_after).saturating_sub(2);
        let (mut between, mut squares) = (0.0, 0.0);
        for row in rows.iter().copied().chain([whole]) {
            between += pooled_variance(row) - own_variance(row);
            squares += middle(row).powi(2);
        }
        let measured = if squares > 0.0 && freedom > 0 { (between / squares).max(0.0).sqrt() } else { 0.0 };
        let is_measured = runs_before.min(runs_after) >= RUNS_MIN;
        let assumed = |busy: f64| ASSUMED_SPREAD + ASSUMED_SPREAD_OF_BUSY * busy;
        let part_of = |busy: f64| measured.max(if is_measured { SPREAD_MIN } else { assumed(busy) });
        let (part_before, part_after) = (part_of(busy.before), part_of(busy.after));
        let spread = Spread { part: part_before.max(part_after), freedom: is_measured.then_some(freedom) };
        // Runs of one side tell how much they differ from each other, not what made all of them slower than those of the other side.
        let uneven = if is_measured { ASSUMED_SPREAD_OF_BUSY * (busy.before - busy.after).abs() } else { 0.0 };
        let factor = factor(compared, is_measured.then_some(freedom));
        let tell = (ADVISED_RUNS_MIN..=ADVISED_RUNS_MAX)
            .map(|runs| found(compared, 2 * runs as usize - 2) * (2.0 / f64::from(runs)).sqrt());
        let is_shown = measured > assumed(busy.larger());
        let exchange = if is_measured { 0.0 } else { ASSUMED_EXCHANGE * middle(whole) };
        Certainty {
            spread,
            part_before,
            part_after,
            uneven,
            compared,
            runs_before,
            runs_after,
            is_shown,
            exchange,
            uncovered: 0.0,
            factor,
            tell: tell.collect(),
        }
    }

    /// Of rows that are a part of the run, which filters keep: what is left out are neighbours, too. `recorded`: the mean of whole runs.
    #[must_use]
    pub fn with_neighbours_in(self, recorded: f64) -> Certainty {
        let exchange = if self.spread.freedom.is_some() { 0.0 } else { ASSUMED_EXCHANGE * recorded };
        Certainty { exchange, ..self }
    }

    /// `uncovered`: what is in no sample of a run, on the average of each side.
    #[must_use]
    pub fn with_uncovered(self, before: f64, after: f64) -> Certainty {
        Certainty { uncovered: (before - after).abs(), ..self }
    }

    /// The same runs with other sums: that many, which err together as rarely as all rows do.
    #[must_use]
    pub fn comparing(&self, compared: usize) -> Certainty {
        Certainty { compared, factor: factor(compared, self.spread.freedom), ..self.clone() }
    }

    /// `is_compared`: not one with too few samples.
    #[must_use]
    pub fn estimate(&self, row: &Sums, is_compared: bool) -> Estimate {
        let (before, after) = (mean(&row.before), mean(&row.after));
        let change = after - before;
        let error = (self.squared_error(row) + (self.uneven * middle(row)).powi(2)).sqrt();
        let margin = self.factor * error + self.uncovered;
        let (low, high) = (change - margin, change + margin);
        let certain = is_compared && (low > 0.0 || high < 0.0);
        let runs_needed = if certain { None } else { self.runs_needed(row, change.abs()) };
        Estimate { before, after, low, high, certain, is_too_few: !is_compared, runs_needed }
    }

    /// Recordings on each side with which a change of this size is certain in 95 of 100 comparisons; with one that is assumed to vary, at least.
    #[must_use]
    pub fn runs_needed(&self, row: &Sums, change: f64) -> Option<u32> {
        let variance = self.advised_variance(row);
        let deviation = variance.sqrt();
        let change = change - self.uncovered;
        let position = self.tell.partition_point(|tell| tell * deviation > change);
        (change > 0.0 && position < self.tell.len()).then(|| ADVISED_RUNS_MIN + position as u32)
    }

    /// How many times as long runs would do instead of more runs. None: it is not the samples that are too few.
    #[must_use]
    pub fn times_longer(&self, row: &Sums, change: f64) -> Option<f64> {
        let freedom = self.spread.freedom?;
        let allowed = (change / found(self.compared, freedom)).powi(2) / self.sides();
        let own = own_variance(row);
        let shown = (self.squared_error(row) / self.sides() - own) * at_most(freedom);
        let between = shown.max((ADVISED_SPREAD_MIN * middle(row)).powi(2));
        (between < allowed && own > 0.0).then(|| own / (allowed - between)).filter(|times| *times <= 100.0)
    }

    /// Of one run, as advice has to count with it: no promise is kept with what a few runs happened to differ by.
    fn advised_variance(&self, row: &Sums) -> f64 {
        let least = own_variance(row) + (ADVISED_SPREAD_MIN * middle(row)).powi(2);
        match self.spread.freedom {
            Some(freedom) => {
                let shown = pooled_variance(row) * at_most(freedom);
                least.max(shown).max(self.squared_error(row) / self.sides())
            }
            None => least,
        }
    }

    /// By what a variance of one run is to be multiplied to be that of the change.
    fn sides(&self) -> f64 {
        1.0 / self.runs_before as f64 + 1.0 / self.runs_after as f64
    }

    /// Of the change. Few runs may agree by chance: their variance counts with that of all rows (Smyth 2004), and is never less than what
    /// their samples give.
    fn squared_error(&self, row: &Sums) -> f64 {
        let of_side = |sums: &[Sum], part: f64| {
            let runs = sums.len().max(1) as f64;
            let variance =
                |sum: &Sum| if self.spread.freedom.is_none() { variance_of_single(sum) } else { sum.variance };
            let own = sums.iter().map(variance).sum::<f64>() / runs;
            (own + (part * mean(sums)).powi(2) + self.exchange.powi(2)) / runs
        };
        let expected = of_side(&row.before, self.part_before) + of_side(&row.after, self.part_after);
        let shown = pooled_variance(row) * self.sides();
        match self.spread.freedom {
            None => expected.max(shown),
            Some(freedom) => {
                let (all, own) = (FREEDOM_OF_ALL_ROWS, freedom as f64);
                let both = (all * expected + own * shown) / (all + own);
                both.max(own_variance(row) * self.sides())
            }
        }
    }
}

/// Standard errors to each side: each row may err with an equal part of what all may (Bonferroni), which holds however rows hang together.
fn factor(compared: usize, freedom: Option<usize>) -> f64 {
    factor_of(ERRORS_IN_ALL_ROWS, compared, freedom)
}

/// The same where that share of comparisons may err. `freedom`: None: the variance is known.
#[must_use]
pub fn factor_of(errors: f64, compared: usize, freedom: Option<usize>) -> f64 {
    let probability = 1.0 - errors / 2.0 / compared.max(1) as f64;
    match freedom.and_then(|freedom| StudentsT::new(0.0, 1.0, freedom as f64).ok()) {
        Some(students_t) => students_t.inverse_cdf(probability),
        None => Normal::standard().inverse_cdf(probability),
    }
}

fn found(compared: usize, freedom: usize) -> f64 {
    found_with(factor(compared, Some(freedom)), freedom)
}

/// How many standard errors a change has to be so that `POWER_QUANTILE` of its comparisons find it: the factor, and what both the change and the
/// standard error that is measured with it err by (Student's *t* off its centre, Johnson and Welch 1940).
#[must_use]
pub fn found_with(factor: f64, freedom: usize) -> f64 {
    factor + POWER_QUANTILE * (1.0 + factor.powi(2) / (2.0 * freedom as f64)).sqrt()
}

/// By what a variance with that many degrees of freedom is to be multiplied to be no less than the true one, but for `ALIKE_BY_CHANCE`.
#[must_use]
pub fn at_most(freedom: usize) -> f64 {
    let freedom = freedom as f64;
    ChiSquared::new(freedom).map_or(1.0, |alike| freedom / alike.inverse_cdf(ALIKE_BY_CHANCE))
}

/// What the samples of one run cannot tell about a row that they hardly met: none seen may have been as many as `factor²/2`.
#[must_use]
pub fn variance_of_unseen(one_sample: f64, compared: usize) -> f64 {
    (one_sample * factor(compared, None)).powi(2) / 2.0
}

/// What the samples of a run leave open that no other one is measured with: its calls may be as long as they like, and a few of them alike by
/// chance.
fn variance_of_single(sum: &Sum) -> f64 {
    sum.visits.map_or(sum.variance, |visits| sum.variance.max(visits.variance * at_most(visits.freedom)))
}

fn mean(sums: &[Sum]) -> f64 {
    sums.iter().map(|sum| sum.value).sum::<f64>() / sums.len().max(1) as f64
}

fn middle(row: &Sums) -> f64 {
    f64::midpoint(mean(&row.before), mean(&row.after))
}

/// Mean of what the samples give.
fn own_variance(row: &Sums) -> f64 {
    let all = row.before.iter().chain(&row.after);
    all.map(|sum| sum.variance).sum::<f64>() / (row.before.len() + row.after.len()).max(1) as f64
}

/// Of one run, around the mean of its side.
fn pooled_variance(row: &Sums) -> f64 {
    let freedom = (row.before.len() + row.after.len()).saturating_sub(2);
    if freedom == 0 {
        return 0.0;
    }
    let squares = |sums: &[Sum]| {
        let mean = mean(sums);
        sums.iter().map(|sum| (sum.value - mean).powi(2)).sum::<f64>()
    };
    (squares(&row.before) + squares(&row.after)) / freedom as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::difference::within_run::visits::Visits;

    fn sums(before: &[f64], after: &[f64], deviation: f64) -> Sums {
        let side = |values: &[f64]| {
            values
                .iter()
                .map(|value| Sum { value: *value, variance: deviation * deviation, visits: None })
                .collect::<Vec<_>>()
        };
        Sums { before: side(before), after: side(after), samples_before: 1000, samples_after: 1000 }
    }

    fn estimate(row: &Sums, compared: usize) -> Estimate {
        Certainty::of(&[], row, compared, Busy::default()).estimate(row, true)
    }

    #[test]
    fn factors_are_those_of_the_tables() {
        let near = |value: f64, expected: f64| assert!((value - expected).abs() < 2e-3, "{value}, not {expected}");
        near(factor(1, None), 2.326);
        near(factor(10, None), 3.090);
        near(factor(10, Some(8)), 4.501);
        near(factor(10, Some(4)), 7.173);
        near(factor(1, Some(1)), 31.821);
        near(factor(1000, Some(1998)), 4.277);
        for compared in [1, 100, 10_000, 1_000_000] {
            let factors = [4, 8, 40, 1998].map(|freedom| factor(compared, Some(freedom)));
            assert!(
                factors.is_sorted_by(|one, other| one > other) && factors[3] > factor(compared, None),
                "{factors:?}"
            );
        }
    }

    #[test]
    fn one_run_on_each_side_may_differ_by_what_is_assumed() {
        // 2.33 × 5 % × √2 of about 100 is 16.5.
        assert!(!estimate(&sums(&[100.0], &[115.0], 0.0), 1).certain);
        assert!(estimate(&sums(&[100.0], &[120.0], 0.0), 1).certain);
        assert!(!estimate(&sums(&[100.0], &[120.0], 10.0), 1).certain, "few samples");
        assert!(!estimate(&sums(&[100.0], &[120.0], 0.0), 20).certain, "one of many rows");
        let two = estimate(&sums(&[100.0, 100.0], &[110.0, 110.0], 0.0), 1);
        assert!(!two.certain && two.high - two.low > 20.0, "two that agree may do so by chance: {two:?}");
        let two = sums(&[80.0, 120.0], &[130.0, 140.0], 0.0);
        assert!(!estimate(&two, 1).certain, "what two show is more than what is assumed");
    }

    #[test]
    fn a_busy_machine_and_neighbours_may_differ_by_more() {
        let (row, small) = (sums(&[1000.0], &[1300.0], 0.0), sums(&[1.0], &[9.0], 0.0));
        let at = |before: f64, after: f64| {
            let certainty = Certainty::of(&[], &row, 1, Busy { before, after });
            certainty.estimate(&row, true).certain
        };
        assert!(at(0.0, 0.0) && !at(0.3, 0.3) && !at(0.0, 0.3));
        let certainty = Certainty::of(&[&small], &row, 1, Busy::default());
        assert!(!certainty.estimate(&small, true).certain, "8 of 1,000 may be the neighbour's");
    }

    #[test]
    fn a_single_run_is_as_uncertain_as_its_own_calls_and_several_are_measured() {
        let with_visits = |runs: usize| {
            let mut row = sums(&vec![100.0; runs], &vec![140.0; runs], 0.0);
            let all = row.before.iter_mut().chain(&mut row.after);
            all.for_each(|sum| sum.visits = Some(Visits { variance: 100.0, freedom: 8 }));
            estimate(&row, 1).margin()
        };
        // Twice 100 × 2.293 and 5 % of 100 and of 140, 2.326 times.
        let one: f64 = 2.326 * (2.0 * 229.3 + 25.0 + 49.0 + 2.0 * 0.36_f64.powi(2)).sqrt();
        assert!((with_visits(1) - one).abs() < 0.1, "{} and {one}", with_visits(1));
        assert!(with_visits(3) < 2.0, "{}", with_visits(3));
    }

    #[test]
    fn what_is_in_no_sample_of_one_side_may_be_any_row_s() {
        let row = sums(&[100.0, 100.1, 99.9, 100.0], &[103.0, 103.1, 102.9, 103.0], 0.0);
        let of = |before: f64, after: f64| {
            let certainty = Certainty::of(&[], &row, 1, Busy::default()).with_uncovered(before, after);
            certainty.estimate(&row, true)
        };
        assert!(of(0.0, 0.0).certain && of(5.0, 5.0).certain);
        assert!(!of(3.0, 0.0).certain && !of(0.0, 3.0).certain);
        assert_eq!(of(3.5, 0.0).runs_needed, None, "no number of runs would do");
    }

    #[test]
    fn one_run_beside_several_measures_nothing() {
        let row = sums(&[100.0], &[90.0, 90.1, 89.9, 90.0, 90.05], 0.0);
        let certainty = Certainty::of(&[], &row, 1, Busy::default());
        assert_eq!(certainty.spread.freedom, None);
        assert!(!certainty.estimate(&row, true).certain, "a single run that differs by two of its standard deviations");
        let two = sums(&[100.0, 100.0], &[90.0, 90.1, 89.9, 90.0], 0.0);
        assert_eq!(Certainty::of(&[], &two, 1, Busy::default()).spread.freedom, None);
        let three = sums(&[100.0, 100.1, 99.9], &[90.0, 90.1, 89.9], 0.0);
        assert_eq!(Certainty::of(&[], &three, 1, Busy::default()).spread.freedom, Some(4));
    }

    #[test]
    fn a_side_that_was_busier_may_be_slower_for_that_alone() {
        let row = sums(&[100.0, 100.1, 99.9, 100.0], &[110.0, 110.1, 109.9, 110.0], 0.0);
        let at = |before: f64, after: f64| {
            let certainty = Certainty::of(&[], &row, 1, Busy { before, after });
            certainty.estimate(&row, true).certain
        };
        assert!(at(0.0, 0.0) && at(0.4, 0.4), "what both sides had is in what their runs differ by");
        assert!(!at(0.0, 0.4) && !at(0.4, 0.0));
    }

    #[test]
    fn several_runs_tell_how_much_they_differ() {
        let steady = sums(&[100.0, 101.0, 99.0, 100.5], &[105.0, 104.0, 106.0, 105.5], 0.0);
        let told = estimate(&steady, 1);
        assert!(told.certain && told.low > 0.0 && told.high < 10.0, "{told:?}");
        let restless = sums(&[100.0, 110.0, 90.0, 105.0], &[105.0, 95.0, 116.0, 110.0], 0.0);
        let told = estimate(&restless, 1);
        assert!(!told.certain, "{told:?}");
        assert!(told.runs_needed > Some(10), "{told:?}");
    }

    #[test]
    fn advice_counts_with_what_few_runs_cannot_show() {
        let near = |value: f64, expected: f64| assert!((value - expected).abs() < 2e-3, "{value}, not {expected}");
        // Of the tables: 4 / 1.0636, 8 / 3.4895, 50 / 37.689.
        near(at_most(4), 3.761);
        near(at_most(8), 2.293);
        near(at_most(50), 1.327);
        // 4.5008 + 1.645 × √(1 + 4.5008² / 16), and with 3.1319 and 396.
        near(found(10, 8), 6.977);
        near(found(10, 198), 4.797);
        let advised = |row: &Sums| Certainty::of(&[], row, 10, Busy::default()).advised_variance(row);
        // Five of each with a variance of 16 among them.
        let row = sums(&[96.0, 96.0, 100.0, 104.0, 104.0], &[96.0, 96.0, 100.0, 104.0, 104.0], 0.0);
        near(advised(&row), 16.0 * at_most(8));
        // Alike by chance, and no less than what the samples leave open.
        near(advised(&sums(&[100.0; 5], &[100.0; 5], 0.0)), 2.25);
        near(advised(&sums(&[100.0; 5], &[100.0; 5], 4.0)), 18.25);
        near(advised(&sums(&[100.0], &[100.0], 4.0)), 18.25);
    }

    /// Runs that are drawn anew for each comparison, with as many on each side as five of each asked for.
    #[test]
    fn what_is_asked_for_finds_the_change_in_95_of_100() {
        let mut random = Random(13);
        for deviation in [2.0, 3.0] {
            let mut side = |runs: usize, mean: f64| -> Vec<f64> {
                (0..runs).map(|_| mean + deviation * random.normal()).collect()
            };
            let mut found = 0;
            for _ in 0..400 {
                let pilots = sums(&side(5, 100.0), &side(5, 105.0), 0.5);
                let certainty = Certainty::of(&[], &pilots, 25, Busy::default());
                let runs = certainty.runs_needed(&pilots, 5.0).expect("a number of runs") as usize;
                let row = sums(&side(runs, 100.0), &side(runs, 105.0), 0.5);
                found += u32::from(estimate(&row, 25).certain);
            }
            // 95 % of 400 less 5 σ.
            assert!(found >= 358, "{found} of 400");
        }
    }

    /// Numbers from a seed, the same in every run of the tests: the first of PCG's family (O'Neill 2014).
    struct Random(u64);

    impl Random {
        fn uniform(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let word = (((self.0 >> 18) ^ self.0) >> 27) as u32;
            f64::from(word.rotate_right((self.0 >> 59) as u32)) / f64::from(u32::MAX)
        }

        fn normal(&mut self) -> f64 {
            (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
        }
    }

    #[test]
    fn the_runs_that_are_asked_for_tell() {
        let row = sums(&[100.0, 102.0, 98.0], &[100.0, 101.0, 99.0], 1.0);
        let certainty = Certainty::of(&[], &row, 10, Busy::default());
        let runs = certainty.runs_needed(&row, 5.0).expect("a number of runs");
        let noise = certainty.advised_variance(&row);
        let errors = |runs: u32| 5.0 / (noise * 2.0 / f64::from(runs)).sqrt();
        let needed = |runs: u32| found(10, 2 * runs as usize - 2);
        assert!(errors(runs) >= needed(runs) && runs >= ADVISED_RUNS_MIN);
        assert!(runs == ADVISED_RUNS_MIN || errors(runs - 1) < needed(runs - 1));
        assert_eq!(certainty.runs_needed(&row, 0.0), None);
        assert_eq!(certainty.runs_needed(&row, 1e-6), None, "no number of runs would do");
        assert!(certainty.runs_needed(&row, 1.0) > Some(runs));
    }

    #[test]
    fn longer_runs_help_where_samples_are_few_alone() {
        let few = sums(&[100.0; 10], &[100.0; 10], 5.0);
        let certainty = Certainty::of(&[], &few, 10, Busy::default());
        let times = certainty.times_longer(&few, 5.0).expect("more samples tell");
        assert!((5.0..50.0).contains(&times), "{times}");
        let restless = sums(&[90.0, 110.0, 95.0, 105.0], &[90.0, 110.0, 95.0, 105.0], 0.1);
        let one = sums(&[100.0], &[100.0], 5.0);
        assert_eq!(Certainty::of(&[], &restless, 10, Busy::default()).times_longer(&restless, 5.0), None);
        assert_eq!(
            Certainty::of(&[], &one, 10, Busy::default()).times_longer(&one, 5.0),
            None,
            "nothing is known of other runs"
        );
    }
}
