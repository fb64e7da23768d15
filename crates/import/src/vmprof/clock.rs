//! What each sample of a vmprof log stands for in time.
//! Owns: the rule of vmprof's own reader (`LogReader.sample_weight`): the time since the sample before, at most one second; the first
//! stands for one period. Never: makes up a time where the log has none: then a sample is one tick, and its place in the order is its time.

use std::collections::HashMap;

use crate::vmprof::log::{Log, Stack};

/// Longer gaps are not of the frame that was seen behind them. Source: `DEFAULT_MAX_SAMPLE_GAP`.
const GAP_NS_MAX: u64 = 1_000_000_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Time {
    pub cpu_ns: u64,
    pub wall_ns: u64,
    /// What a gap is longer than `GAP_NS_MAX`.
    pub cpu_over_ns: u64,
    pub wall_over_ns: u64,
    /// Since the recording began.
    pub at_ns: u64,
}

pub struct Clock {
    period_ns: u64,
    real_time: bool,
    /// By thread where the clock is the wall's, else one for all.
    last_ns: HashMap<u64, u64>,
    first_ns: Option<u64>,
    ticks: u64,
}

impl Clock {
    pub fn of(log: &Log) -> Clock {
        let period_ns = log.period_us.saturating_mul(1_000);
        Clock { period_ns, real_time: log.real_time, last_ns: HashMap::new(), first_ns: None, ticks: 0 }
    }

    pub fn next(&mut self, stack: &Stack) -> Time {
        self.ticks += 1;
        let Some(time_ns) = stack.time_ns else {
            return Time { at_ns: self.ticks.saturating_mul(self.period_ns), ..Time::default() };
        };
        let first_ns = *self.first_ns.get_or_insert(time_ns);
        let at_ns = time_ns.saturating_sub(first_ns).saturating_add(self.period_ns);
        let of = if self.real_time { stack.thread } else { 0 };
        let gap_ns = match self.last_ns.get_mut(&of) {
            None => {
                self.last_ns.insert(of, time_ns);
                self.period_ns
            }
            Some(last_ns) => {
                let gap_ns = time_ns.saturating_sub(*last_ns);
                *last_ns = time_ns.max(*last_ns);
                gap_ns
            }
        };
        let (within_ns, over_ns) = (gap_ns.min(GAP_NS_MAX), gap_ns.saturating_sub(GAP_NS_MAX));
        match self.real_time {
            false => Time { cpu_ns: within_ns, cpu_over_ns: over_ns, at_ns, ..Time::default() },
            true => Time { wall_ns: within_ns, wall_over_ns: over_ns, at_ns, ..Time::default() },
        }
    }
}
