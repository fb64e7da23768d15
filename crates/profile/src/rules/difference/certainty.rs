//! Whether a change is more than what runs of the same program differ by: standard errors, their factor, and how many runs would tell.
//! Owns: the share of errors, what is assumed of a single run, the correction for the number of rows. Never: looks at bins or names.
//!
//! The variance of one run's sum has two parts: when its samples were taken (`bootstrap`), and how runs differ from each other, in proportion
//! to the sum. From several recordings the second part is measured; a single one says nothing about it, so a fixed part is assumed.

use crate::rules::difference::within_run::Sum;
use crate::rules::difference::within_run::visits::Visits;
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
/// Of longer runs: as many tell by how much they differ, and a person waits for them.
const LONGER_RUNS_MIN: u32 = 10;
/// More of them are asked for before each is longer than so many times what it was.
const TIMES_LONGER_MAX: f64 = 50.0;
/// And none is longer: a person waits for it, ten times and more.
pub const LONGER_RUN_NS_MAX: f64 = 120e9;
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

    /// From the change to the end of the interval that is further away.
    #[must_use]
    pub fn margin(&self) -> f64 {
        let change = self.change();
        (change - self.low).max(self.high - change)
    }
}

/// Recordings on each side, each so many times as long as those there are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Longer {
    pub runs: u32,
    pub times: f64,
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
    /// By how much the CPU that is in no sample differs, of wall time the wait for a CPU, and of a chosen time what came before it, in the unit of
    /// the weight: a row may have all of it.
    /// More runs do not make it smaller.
    uncovered: f64,
    /// By which part one side was recorded longer, of programs that went on: a row may have that much more for it. More runs do not make it
    /// smaller.
    longer: f64,
    /// Standard errors to each side of a change.
    factor: f64,
    /// For each number of runs a side, from `ADVISED_RUNS_MIN` on. More runs tell less.
    tell: Vec<Tell>,
}

/// What that many runs on each side tell.
#[derive(Clone, Copy, Debug)]
struct Tell {
    runs: u32,
    /// How many standard errors a change has to be.
    errors: f64,
}

impl Tell {
    /// The change, where one run has that variance, and both sides may differ by `uneven` beside it.
    fn change(self, variance: f64, uneven: f64) -> f64 {
        self.errors * (2.0 / f64::from(self.runs) * variance + uneven.powi(2)).sqrt()
    }

    /// The variance that one run may have, so that a change is told. Negative: it cannot be.
    fn variance(self, change: f64, uneven: f64) -> f64 {
        ((change / self.errors).powi(2) - uneven.powi(2)) * f64::from(self.runs) / 2.0
    }
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
            .map(|runs| Tell { runs, errors: found(compared, 2 * runs as usize - 2) });
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
            longer: 0.0,
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

    /// By how much the sides differ in what any row may have.
    #[must_use]
    pub fn with_uncovered(self, apart: f64) -> Certainty {
        Certainty { uncovered: apart, ..self }
    }

    /// `part`: of any row's time, which a side has for its longer recording alone.
    #[must_use]
    pub fn with_longer(self, part: f64) -> Certainty {
        Certainty { longer: part, ..self }
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
        let margin = self.factor * error + self.no_work(row);
        // How often a run comes to a row says nothing of what it can lose: no more than A has, with what samples and runs leave open of both sides.
        let of_what_was_met =
            (self.squared_error_of(row, |sum| sum.variance) + (self.uneven * middle(row)).powi(2)).sqrt();
        let most = self.factor * of_what_was_met + self.no_work(row);
        let (low, high) = ((change - margin).max(-before - most), (change + margin).min(after + most));
        let certain = is_compared && (low > 0.0 || high < 0.0);
        let runs_needed = if certain { None } else { self.runs_needed(row, change.abs()) };
        Estimate { before, after, low, high, certain, is_too_few: !is_compared, runs_needed }
    }

    /// Recordings on each side with which a change of this size is certain in 95 of 100 comparisons; with one that is assumed to vary, at least.
    #[must_use]
    pub fn runs_needed(&self, row: &Sums, change: f64) -> Option<u32> {
        let (variance, uneven) = (self.advised_variance(row), self.uneven * middle(row));
        let change = change - self.no_work(row);
        let position = self.tell.partition_point(|tell| tell.change(variance, uneven) > change);
        let first = self.tell.get(position)?;
        (change > 0.0).then_some(first.runs)
    }

    /// How many times as long runs would do instead of more runs. None: it is not the samples that are too few.
    #[must_use]
    pub fn times_longer(&self, row: &Sums, change: f64) -> Option<f64> {
        let freedom = self.spread.freedom?;
        let (change, uneven) = (change - self.no_work(row), self.uneven * middle(row));
        let allowed = ((change / found(self.compared, freedom)).powi(2) - uneven.powi(2)) / self.sides();
        let own = own_variance(row);
        let shown = (self.squared_error(row) / self.sides() - own) * at_most(freedom);
        let between = shown.max((ADVISED_SPREAD_MIN * middle(row)).powi(2));
        let is_told = change > 0.0 && between < allowed && own > 0.0;
        is_told.then(|| own / (allowed - between)).filter(|times| *times <= 100.0)
    }

    /// What does as well as `runs` recordings on each side: fewer ones that are longer. `longest_ns`: the longest run there is. None: their samples
    /// would not do it, or nobody waits for such runs.
    #[must_use]
    pub fn fewer_longer(&self, row: &Sums, change: f64, runs: u32, longest_ns: u64) -> Option<Longer> {
        let own = own_variance(row);
        let between = self.advised_variance(row) - own;
        let (change, uneven) = (change - self.no_work(row), self.uneven * middle(row));
        let times = |runs: u32| {
            let allowed = self.tell.get((runs - ADVISED_RUNS_MIN) as usize)?.variance(change, uneven);
            (change > 0.0 && between < allowed && own > 0.0).then(|| own / (allowed - between))
        };
        let longer = |runs: u32| times(runs).map(|times| Longer { runs, times });
        let times_max = (LONGER_RUN_NS_MAX / longest_ns.max(1) as f64).min(TIMES_LONGER_MAX);
        (LONGER_RUNS_MIN..runs).filter_map(longer).find(|longer| longer.times.ceil() <= times_max)
    }

    /// What a row of one side may have more of though its code did no more.
    fn no_work(&self, row: &Sums) -> f64 {
        self.uncovered + self.longer * middle(row)
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
        let is_measured = self.spread.freedom.is_some();
        self.squared_error_of(row, |sum| if is_measured { sum.variance } else { variance_of_single(sum) })
    }

    /// With that variance of one run by its samples.
    fn squared_error_of(&self, row: &Sums, variance: impl Fn(&Sum) -> f64) -> f64 {
        let of_side = |sums: &[Sum], part: f64| {
            let runs = sums.len().max(1) as f64;
            let own = sums.iter().map(&variance).sum::<f64>() / runs;
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
    let of_visits = |visits: Visits| (visits.variance * at_most(visits.freedom)).min(visits.variance_max);
    sum.visits.map_or(sum.variance, |visits| sum.variance.max(of_visits(visits)))
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
mod tests;
