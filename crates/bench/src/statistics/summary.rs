//! What is said of the times of one command: mean, deviation, median, range, and which of them lie far outside.
//! Owns: the rule for outliers. Never: leaves one out.

use statrs::statistics::{Data, Median, Statistics};

/// So many robust standard deviations from the median is an outlier: hyperfine's bound. Of times that are normal none is in a lifetime.
const OUTLIER_DEVIATIONS: f64 = 10.0;
/// The median distance from the median, of normal times, is that part of their standard deviation (Iglewicz and Hoaglin 1993).
const MEDIAN_DISTANCE: f64 = 0.6745;
/// Of fewer times two may be close by chance, and any third one is far from them.
const TOLD_RUNS_MIN: usize = 5;
/// Of the median: who reads has no use for an outlier that is closer.
const TOLD_PART_MIN: f64 = 0.05;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    pub mean: f64,
    /// Of the sample, by n - 1. None: one time alone.
    pub deviation: Option<f64>,
    pub median: f64,
    pub min: f64,
    pub max: f64,
    pub outliers: Outliers,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outliers {
    None,
    /// The first time, perhaps others.
    First,
    /// Others than the first.
    Later,
}

impl Summary {
    /// None: no times.
    #[must_use]
    pub fn of(times: &[f64]) -> Option<Summary> {
        if times.is_empty() {
            return None;
        }
        let median = median(times);
        let deviation = times.std_dev();
        Some(Summary {
            mean: times.mean(),
            deviation: (times.len() > 1).then_some(deviation),
            median,
            min: times.min(),
            max: times.max(),
            outliers: outliers(times, median),
        })
    }
}

fn median(values: &[f64]) -> f64 {
    Data::new(values.to_vec()).median()
}

fn outliers(times: &[f64], middle: f64) -> Outliers {
    match worth_telling(times, middle).first() {
        Some(0) if times[0] > middle => Outliers::First,
        Some(_) => Outliers::Later,
        None => Outliers::None,
    }
}

/// Which times lie far outside of the others, in their order. `middle`: their median.
#[must_use]
pub fn far_outside(times: &[f64], middle: f64) -> Vec<usize> {
    let distances: Vec<f64> = times.iter().map(|time| (time - middle).abs()).collect();
    let far = median(&distances) / MEDIAN_DISTANCE * OUTLIER_DEVIATIONS;
    let is_far = |distance: f64| distance > far && distance > f64::EPSILON * middle;
    (0..times.len()).filter(|position| is_far(distances[*position])).collect()
}

/// Those of them that a warning names.
#[must_use]
pub fn worth_telling(times: &[f64], middle: f64) -> Vec<usize> {
    if times.len() < TOLD_RUNS_MIN {
        return Vec::new();
    }
    let mut far = far_outside(times, middle);
    far.retain(|position| (times[*position] - middle).abs() > TOLD_PART_MIN * middle);
    far
}

#[cfg(test)]
mod tests {
    use super::{Outliers, Summary, far_outside};

    /// By Python's statistics module: mean, stdev and median of the same ten numbers.
    #[test]
    fn figures_are_those_of_pythons_statistics() {
        let times = [9.1, 10.4, 9.8, 10.0, 11.3, 9.5, 10.2, 9.9, 10.1, 10.7];
        let found = Summary::of(&times).unwrap();
        let near = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-9, "{value}, not {expected}");
        near(found.mean, 10.1);
        near(found.deviation.unwrap(), 0.614_636_297_152_859_2);
        near(found.median, 10.05);
        assert_eq!((found.min, found.max, found.outliers), (9.1, 11.3, Outliers::None));
    }

    #[test]
    fn one_time_has_no_deviation_and_none_no_summary() {
        let one = Summary::of(&[5.0]).unwrap();
        assert_eq!((one.mean, one.deviation, one.median, one.outliers), (5.0, None, 5.0, Outliers::None));
        assert_eq!(Summary::of(&[]), None);
    }

    #[test]
    fn what_is_far_from_the_median_is_an_outlier() {
        let usual = [10.0, 10.1, 9.9, 10.0, 10.1, 9.9];
        let with = |position: usize, time: f64| {
            let mut times = usual.to_vec();
            times.insert(position, time);
            Summary::of(&times).unwrap().outliers
        };
        // The median distance is 0.1, so the bound is 0.1 / 0.6745 × 10 = 1.48.
        assert_eq!(with(0, 11.4), Outliers::None);
        assert_eq!(with(0, 11.6), Outliers::First);
        assert_eq!(with(0, 8.0), Outliers::Later, "a fast first run filled no cache");
        assert_eq!(with(3, 11.6), Outliers::Later);
        assert_eq!(far_outside(&[10.0, 10.1, 30.0, 9.9, 10.0, 10.1, 0.5], 10.0), [2, 6]);
        assert_eq!(Summary::of(&[10.0, 10.0, 10.0, 10.0]).unwrap().outliers, Outliers::None);
    }

    #[test]
    fn few_runs_and_small_distances_have_no_outlier_to_tell() {
        let outliers = |times: &[f64]| Summary::of(times).unwrap().outliers;
        assert_eq!(outliers(&[200.6, 200.1, 200.11]), Outliers::None);
        assert_eq!(outliers(&[300.0, 200.1, 200.11, 200.1]), Outliers::None);
        assert_eq!(outliers(&[200.6, 200.1, 200.11, 200.1, 200.11, 200.1]), Outliers::None);
        assert_eq!(outliers(&[212.0, 200.1, 200.11, 200.1, 200.11]), Outliers::First);
    }
}
