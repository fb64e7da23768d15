//! A stretch of a recording's time, and stretches of equal length.
//! Owns: which moments a window holds and how it is written; how many bins there are at most. Never: decides what becomes of the samples in it.

use std::fmt;
use std::num::NonZeroU64;

use crate::words::figures::setting_without_blank;

/// Half open, from the recording's beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub start_ns: u64,
    /// None: to the end.
    pub end_ns: Option<u64>,
}

impl Window {
    pub fn holds(self, at_ns: u64) -> bool {
        self.start_ns <= at_ns && self.end_ns.is_none_or(|end_ns| at_ns < end_ns)
    }

    /// How much of a time it holds.
    #[must_use]
    pub fn held_ns(self, start_ns: u64, end_ns: u64) -> u64 {
        let end_ns = self.end_ns.map_or(end_ns, |own_ns| own_ns.min(end_ns));
        end_ns.saturating_sub(self.start_ns.max(start_ns))
    }

    /// The same as a part of that time: 0 to 1. A moment is held whole or not at all.
    #[must_use]
    pub fn held_part(self, start_ns: u64, end_ns: u64) -> f64 {
        match end_ns.saturating_sub(start_ns) {
            0 => f64::from(u8::from(self.holds(start_ns))),
            length_ns => self.held_ns(start_ns, end_ns) as f64 / length_ns as f64,
        }
    }

    /// From times since `begin_ns` to the clock that `begin_ns` is of.
    pub fn shifted_by(self, begin_ns: u64) -> Window {
        let shift = |at_ns: u64| at_ns.saturating_add(begin_ns);
        Window { start_ns: shift(self.start_ns), end_ns: self.end_ns.map(shift) }
    }
}

impl fmt::Display for Window {
    /// As on the command line: `1s..2.5s`, `1s..`
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.end_ns.map(setting_without_blank).unwrap_or_default();
        match self.start_ns {
            0 if !end.is_empty() => write!(text, "..{end}"),
            start_ns => write!(text, "{}..{end}", setting_without_blank(start_ns)),
        }
    }
}

/// Stretches of equal length from the recording's beginning.
#[derive(Clone, Copy, Debug)]
pub struct Bins {
    pub length_ns: NonZeroU64,
}

impl Bins {
    /// What comes later counts for the last bin.
    pub const MAX: u32 = 1 << 12;

    /// At most so many, and never more than `MAX`, for a recording of that length. No process has a tick in less than 50 µs.
    #[must_use]
    pub fn of_span(span_ns: u64, count_max: u32) -> Bins {
        const LENGTH_NS_MIN: u64 = 50_000;
        let length_ns = (span_ns / u64::from(count_max.clamp(1, Self::MAX)) + 1).max(LENGTH_NS_MIN);
        Bins { length_ns: NonZeroU64::new(length_ns).unwrap_or(NonZeroU64::MIN) }
    }

    /// The bin of a time since the beginning.
    #[must_use]
    pub fn at(self, since_ns: u64) -> u32 {
        u32::try_from(since_ns / self.length_ns).unwrap_or(u32::MAX).min(Self::MAX - 1)
    }

    #[must_use]
    pub fn start_ns(self, bin: u32) -> u64 {
        u64::from(bin).saturating_mul(self.length_ns.get())
    }
}
