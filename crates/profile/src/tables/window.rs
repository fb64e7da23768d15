//! A stretch of a recording's time.
//! Owns: which moments it holds, and how it is written. Never: decides what becomes of the samples in it.

use std::fmt;

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
