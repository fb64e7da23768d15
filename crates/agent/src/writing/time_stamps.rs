//! The processor's time stamps as times.
//! Owns: how many of them a nanosecond has, as two readings tell. Never: trusts a frequency that somebody states.

use crate::system::proc::monotonic_ns;

/// How long a tick of the time stamp counter is: measured between two moments.
#[derive(Clone, Copy)]
pub struct Calibration {
    tsc: u64,
    at_ns: u64,
}

impl Calibration {
    pub fn now() -> Calibration {
        Calibration { tsc: genba_signal::memory::time_stamp(false).unwrap_or(0), at_ns: monotonic_ns() }
    }

    /// How long so many ticks are.
    pub fn to_ns(self, ticks: u64) -> u64 {
        self.to_ns_until(Calibration::now(), ticks)
    }

    pub fn moment_ns(self, tsc: u64) -> Option<u64> {
        let now = Calibration::now();
        let ticks = now.tsc.checked_sub(tsc).filter(|_| tsc > 0)?;
        now.at_ns.checked_sub(self.to_ns_until(now, ticks))
    }

    fn to_ns_until(self, now: Calibration, ticks: u64) -> u64 {
        let (tsc, ns) = (now.tsc.saturating_sub(self.tsc), now.at_ns.saturating_sub(self.at_ns));
        if tsc == 0 { 0 } else { (u128::from(ticks) * u128::from(ns) / u128::from(tsc)) as u64 }
    }
}
