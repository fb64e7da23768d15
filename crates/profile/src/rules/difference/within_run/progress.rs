//! A run's progress: its time as the weight counts it. A bin of progress has as much CPU time (or wall time, or samples) as any other, however long
//! the machine kept the program waiting in between.
//! Owns: how many bins of progress a run has. Keeps: what is moved from bins of the clock to bins of progress keeps its sum.
//!
//! The whole of a run is known exactly, and a part that a filter keeps is a row of it. What samples leave open is which part of it belongs to which row: a stretch in which the program had no CPU
//! makes every row small at once, and no row less certain.

use crate::rules::difference::within_run::bootstrap::{BINS_IN_BLOCK, variance_of_sum};
use crate::rules::difference::within_run::visits::Visits;
use std::ops::Range;

use crate::rules::difference::places::Series;
use crate::rules::difference::within_run::Sum;
use crate::rules::weight::Weight;
use crate::tables::profile::Profile;

/// Neighbouring samples depend on each other as long as one call or one loop goes on: a block holds that many or more.
const SAMPLES_IN_BLOCK: u64 = 32;
/// And no less than this part of the run, so that a long run costs no more.
const BLOCKS_MAX: u64 = 250;
/// With fewer blocks their own variance is uncertain: it is then no less than that of independent samples.
const BLOCKS_MIN: usize = 20;

/// The blocks of a row that has fewer tell nothing about it.
const SAMPLES_OF_ROW_MIN: u64 = 10;

pub struct Progress {
    /// Where each bin of the clock begins, in bins of progress; and where the last one ends.
    starts: Vec<f64>,
    bins: usize,
    /// The bins of progress of what filters keep.
    kept: Range<usize>,
    whole: f64,
    /// What one sample weighs: (Σ weight²) / Σ weight.
    pub one_sample: f64,
}

impl Progress {
    /// `whole`: all samples of the run, also those that filters leave out. `kept`: the others.
    #[must_use]
    pub fn of(whole: &Series, kept: &Series, one_sample: f64) -> Progress {
        let length = whole.bins.iter().map(|(bin, _)| *bin as usize + 1).max().unwrap_or(0);
        let mut of_bin = vec![0.0; length];
        for (bin, weight) in &whole.bins {
            of_bin[*bin as usize] += weight;
        }
        let sum: f64 = of_bin.iter().sum();
        let blocks = (whole.samples / SAMPLES_IN_BLOCK).clamp(1, BLOCKS_MAX) as usize;
        let bins = blocks * BINS_IN_BLOCK;
        let mut starts = Vec::with_capacity(length + 1);
        let mut before = 0.0;
        starts.push(0.0);
        for weight in of_bin {
            before += weight;
            starts.push(if sum > 0.0 { before / sum * bins as f64 } else { 0.0 });
        }
        let mut progress = Progress { starts, bins, kept: 0..bins, whole: sum, one_sample };
        let mut of_kept = vec![0.0; bins];
        progress.spread(kept, &mut of_kept);
        if let Some(first) = of_kept.iter().position(|weight| *weight > 0.0) {
            let last = of_kept.iter().rposition(|weight| *weight > 0.0).unwrap_or(first);
            progress.kept = first..last + 1;
        }
        progress
    }

    /// One row in this run, by its samples.
    #[must_use]
    pub fn sum(&self, series: &Series, buffer: &mut Vec<f64>) -> Sum {
        buffer.clear();
        buffer.resize(self.bins, 0.0);
        self.spread(series, buffer);
        self.sum_of(series.sum(), series.samples, buffer)
    }

    /// A row of which nothing is known yet, bin by bin.
    #[must_use]
    pub fn nothing(&self) -> Vec<f64> {
        vec![0.0; self.bins]
    }

    /// A row with that sum and so many samples, bin by bin.
    #[must_use]
    pub fn sum_of(&self, value: f64, samples: u64, bins: &[f64]) -> Sum {
        let independent = value * (1.0 - value / self.whole).clamp(0.0, 1.0) * self.one_sample;
        if samples < SAMPLES_OF_ROW_MIN {
            let variance = if value > 0.0 { independent } else { 0.0 };
            return Sum { value, variance, visits: None };
        }
        let own = variance_of_sum(bins);
        let variance = if self.bins >= BLOCKS_MIN * BINS_IN_BLOCK { own } else { own.max(independent) };
        let variance_max = (self.whole - value).max(0.0).powi(2);
        let visits = Visits::of(&bins[self.kept.clone()]).map(|visits| Visits { variance_max, ..visits });
        Sum { value, variance, visits }
    }

    /// Adds the samples to the bins of a row.
    pub fn spread(&self, series: &Series, bins: &mut [f64]) {
        let last = self.bins.saturating_sub(1);
        for (bin, weight) in &series.bins {
            let (Some(&start), Some(&end)) = (self.starts.get(*bin as usize), self.starts.get(*bin as usize + 1))
            else {
                continue;
            };
            let (first, behind) = ((start as usize).min(last), (end as usize).min(last));
            if first == behind {
                bins[first] += weight;
                continue;
            }
            let mut from = start;
            for (position, sum) in bins.iter_mut().enumerate().take(behind + 1).skip(first) {
                let until = if position == behind { end } else { (position + 1) as f64 };
                *sum += weight * (until - from) / (end - start);
                from = until;
            }
        }
    }
}

/// Samples that stand for more time than others make a sum less certain: (Σ weight²) / Σ weight.
#[must_use]
pub fn one_sample(profile: &Profile, weight: Weight, whole: &Series) -> f64 {
    match weight {
        Weight::Cpu => {
            let groups = profile.samples.iter();
            let (cpu_ns, cpu_us2) =
                groups.fold((0.0, 0.0), |sum, group| (sum.0 + group.cpu_ns as f64, sum.1 + group.cpu_us2 as f64));
            if cpu_ns > 0.0 { cpu_us2 * 1e6 / cpu_ns } else { 0.0 }
        }
        Weight::Wall => whole.sum() / whole.samples.max(1) as f64,
        Weight::Samples | Weight::Copied | Weight::Allocated => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(samples: u64, bins: &[(u32, f64)]) -> Series {
        Series { samples, bins: bins.to_vec() }
    }

    #[test]
    fn a_bin_of_progress_has_as_much_as_any_other() {
        // Half of the CPU in the first bin, and a stretch without any.
        let whole = series(32, &[(0, 8.0), (5, 4.0), (6, 4.0)]);
        let progress = Progress::of(&whole, &whole, 1.0);
        let spread = |series: &Series| {
            let mut bins = progress.nothing();
            progress.spread(series, &mut bins);
            bins
        };
        assert_eq!(spread(&whole), [4.0; 4]);
        assert_eq!(spread(&series(1, &[(5, 2.0)])), [0.0, 0.0, 2.0, 0.0]);
        assert_eq!(spread(&series(1, &[(0, 2.0)])), [1.0, 1.0, 0.0, 0.0]);
    }

    #[test]
    fn a_machine_that_is_busy_makes_no_row_less_certain() {
        // Two rows with a half each, in every bin; CPU only in some of the time.
        let busy = |bin: u32| if bin % 37 < 20 { 1.0 } else { 0.1 };
        let of = |part: f64| -> Vec<(u32, f64)> { (0..4000).map(|bin| (bin, part * busy(bin))).collect() };
        let whole = series(4000, &of(1.0));
        let variance = Progress::of(&whole, &whole, 1.0).sum(&series(2000, &of(0.5)), &mut Vec::new()).variance;
        assert!(variance < 1e-9, "{variance}");
    }

    /// Two cycles tell nothing about each other, but the row is nearly all of the run.
    #[test]
    fn a_row_loses_no_more_than_there_is_of_the_rest() {
        let whole = series(400, &(0..100).map(|bin| (bin, 4.0)).collect::<Vec<_>>());
        let row = (0..100).map(|bin| (bin, if [3, 4, 5, 70].contains(&bin) { 0.0 } else { 4.0 }));
        let row = series(384, &row.collect::<Vec<_>>());
        let sum = Progress::of(&whole, &whole, 1.0).sum(&row, &mut Vec::new());
        let visits = sum.visits.expect("two cycles");
        assert_eq!((visits.freedom, visits.variance_max), (1, 16.0 * 16.0));
    }

    #[test]
    fn few_samples_are_no_more_certain_than_independent_ones() {
        let bins: Vec<(u32, f64)> = (0..200).map(|bin| (bin, 1.0)).collect();
        let whole = series(200, &bins);
        let first_half = series(100, &bins[..100]);
        assert!(Progress::of(&whole, &whole, 1.0).sum(&first_half, &mut Vec::new()).variance >= 50.0);
        assert!(Progress::of(&whole, &whole, 1.0).sum(&whole, &mut Vec::new()).variance < 1e-9);
        assert_eq!(
            Progress::of(&series(0, &[]), &series(0, &[]), 0.0).sum(&series(0, &[]), &mut Vec::new()).variance,
            0.0
        );
    }
}
