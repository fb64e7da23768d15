//! One command now, and the same at other times: whether they differ.
//! Owns: what is assumed of sessions that nobody measured side by side. Never: takes runs of one session for independent of what the machine
//! did then: between sessions it differs by more than between runs.

use genba_profile::difference::certainty::factor_of;
use genba_profile::difference::paired::HOLD;

use super::summary::Summary;

/// Standard deviation of one session's mean, as a part of it, where too few of them tell it. Of three small programs on an idle machine fifteen
/// runs of half a minute differed by 0.7 to 2.4 % (docs/reading/diff.md).
pub const ASSUMED_SPREAD: f64 = 0.025;
/// No two sessions are alike to that part, even if a few of them happen to be.
const SPREAD_MIN: f64 = 0.002;
/// From so many earlier sessions on they tell how much they differ.
pub const SESSIONS_MIN: usize = 3;

/// One session's times of a command.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    mean: f64,
    /// Of the mean, as a part of it.
    variance: f64,
}

impl Sample {
    /// None: no time that could be measured.
    #[must_use]
    pub fn of(times: &[f64]) -> Option<Sample> {
        let summary = Summary::of(times).filter(|summary| summary.mean > 0.0)?;
        let part = summary.deviation.unwrap_or(0.0) / summary.mean;
        Some(Sample { mean: summary.mean, variance: part.powi(2) / times.len() as f64 })
    }
}

/// Now, divided by then.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Apart {
    pub ratio: f64,
    pub low: f64,
    pub high: f64,
    pub sessions: usize,
    /// Of one session's mean, as a part of it.
    pub spread: f64,
    pub is_spread_assumed: bool,
}

impl Apart {
    /// `compared`: commands whose intervals hold together. None: no earlier session.
    #[must_use]
    pub fn of(earlier: &[Sample], now: &Sample, compared: usize) -> Option<Apart> {
        if earlier.is_empty() {
            return None;
        }
        let sessions = earlier.len() as f64;
        let middle = earlier.iter().map(|sample| sample.mean.ln()).sum::<f64>() / sessions;
        let is_spread_assumed = earlier.len() < SESSIONS_MIN;
        let (spread, freedom) = if is_spread_assumed {
            (ASSUMED_SPREAD, None)
        } else {
            let squares = earlier.iter().map(|sample| (sample.mean.ln() - middle).powi(2)).sum::<f64>();
            ((squares / (sessions - 1.0)).sqrt().max(SPREAD_MIN), Some(earlier.len() - 1))
        };
        // What sessions differ by holds what their own runs leave open; what is assumed does not.
        let of_runs = match is_spread_assumed {
            true => earlier.iter().map(|sample| sample.variance).sum::<f64>() / sessions.powi(2),
            false => 0.0,
        };
        let variance = spread.powi(2) * (1.0 + 1.0 / sessions) + of_runs + now.variance;
        let margin = factor_of(1.0 - HOLD, compared, freedom) * variance.sqrt();
        let change = now.mean.ln() - middle;
        let [ratio, low, high] = [change, change - margin, change + margin].map(f64::exp);
        Some(Apart { ratio, low, high, sessions: earlier.len(), spread, is_spread_assumed })
    }

    #[must_use]
    pub fn is_shown(&self) -> bool {
        self.low > 1.0 || self.high < 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::{Apart, Sample};

    fn sample(mean: f64) -> Sample {
        Sample { mean, variance: 0.0 }
    }

    #[test]
    fn one_session_may_differ_by_what_is_assumed() {
        // 1.96 × 2.5 % × √2 is 6.93 %.
        let told = Apart::of(&[sample(100.0)], &sample(106.0), 1).unwrap();
        assert!(!told.is_shown() && told.is_spread_assumed, "{told:?}");
        assert!((told.high / told.ratio - 0.0693_f64.exp()).abs() < 1e-4, "{told:?}");
        assert!(Apart::of(&[sample(100.0)], &sample(108.0), 1).unwrap().is_shown());
        assert!(!Apart::of(&[sample(100.0)], &sample(108.0), 10).unwrap().is_shown(), "one of ten");
        assert_eq!(Apart::of(&[], &sample(1.0), 1), None);
    }

    #[test]
    fn several_sessions_tell_how_much_they_differ() {
        // Logarithms of 99, 100 and 101: deviation 0.01. Student's t of 2 degrees at 0.975 is 4.3027; × √(4/3) × 0.01 is 4.97 %.
        let earlier = [99.0, 100.0, 101.0].map(sample);
        let told = Apart::of(&earlier, &sample(104.0), 1).unwrap();
        assert!(!told.is_shown() && !told.is_spread_assumed, "{told:?}");
        assert!((told.high / told.ratio - 0.0497_f64.exp()).abs() < 1e-3, "{told:?}");
        assert!(Apart::of(&earlier, &sample(106.0), 1).unwrap().is_shown());
        let alike = [100.0, 100.0, 100.0].map(sample);
        assert!(!Apart::of(&alike, &sample(100.9), 1).unwrap().is_shown(), "no sessions are alike to 0.2 %");
    }

    #[test]
    fn runs_that_differ_widen_the_interval() {
        let steady = Sample::of(&[100.0, 100.0, 100.0]).unwrap();
        let restless = Sample::of(&[80.0, 120.0, 100.0]).unwrap();
        let width = |now: &Sample| {
            let told = Apart::of(&[steady], now, 1).unwrap();
            told.high / told.low
        };
        assert!(width(&restless) > 1.3 * width(&steady));
        assert_eq!(Sample::of(&[0.0, 0.0]), None);
    }
}
