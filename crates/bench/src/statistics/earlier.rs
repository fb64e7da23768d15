//! One command now, and the same at other times: whether they differ.
//! Owns: what is assumed of sessions that nobody measured side by side. Never: takes runs of one session for independent of what the machine
//! did then: between sessions it differs by more than between runs.
//!
//! The margin adds up the squares of each uncertainty's own margin: of each mean by Student's *t* of its runs, of the sessions by what is assumed or
//! measured. Banerjee (Sankhyā 22, 1960) proves that such an interval of normal times holds at least as often as each *t* does, however
//! few runs there are. Welch's approximation promises that only from some five runs on.

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
/// A single run says nothing about how much runs differ.
pub const RUNS_MIN: usize = 2;

/// One session's times of a command.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    mean: f64,
    /// Of the mean, as a part of it. None: a single run.
    variance: Option<f64>,
    runs: usize,
}

impl Sample {
    /// None: no time that could be measured.
    #[must_use]
    pub fn of(times: &[f64]) -> Option<Sample> {
        let summary = Summary::of(times).filter(|summary| summary.mean > 0.0)?;
        let runs = times.len();
        let variance = |deviation: f64| (deviation / summary.mean).powi(2) / runs as f64;
        Some(Sample { mean: summary.mean, variance: summary.deviation.map(variance), runs })
    }

    /// None: a single run.
    fn margin_squared(&self, compared: usize) -> Option<f64> {
        let factor = factor_of(1.0 - HOLD, compared, Some(self.runs.checked_sub(1)?));
        self.variance.map(|variance| factor.powi(2) * variance)
    }
}

/// Now, divided by then.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Apart {
    pub ratio: f64,
    /// None: a session of fewer than `RUNS_MIN` runs, or runs that tell nothing.
    pub interval: Option<(f64, f64)>,
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
        let change = now.mean.ln() - middle;
        let of_sessions = factor_of(1.0 - HOLD, compared, freedom).powi(2) * spread.powi(2) * (1.0 + 1.0 / sessions);
        // What sessions differ by holds what their own runs leave open; what is assumed does not.
        let of_earlier = match is_spread_assumed {
            true => earlier.iter().map(|sample| sample.margin_squared(compared)).sum::<Option<f64>>(),
            false => Some(0.0),
        };
        let margin = of_earlier.zip(now.margin_squared(compared));
        let margin = margin.map(|(then, now)| (of_sessions + then / sessions.powi(2) + now).sqrt());
        let interval = margin.map(|margin| ((change - margin).exp(), (change + margin).exp()));
        let interval = interval.filter(|(low, high)| *low > 0.0 && high.is_finite());
        Some(Apart { ratio: change.exp(), interval, sessions: earlier.len(), spread, is_spread_assumed })
    }

    /// 1 is outside of the interval.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        self.interval.is_some_and(|(low, high)| low > 1.0 || high < 1.0)
    }
}

#[cfg(test)]
mod tests;
