//! How often genba ticked: the interval that was asked for, the interval of most of the time, and the budget behind it.
//! Owns: the words of the header about it. Never: weighs samples by the interval: clocks give the weight of each sample.

use std::collections::{BTreeMap, BTreeSet};

use crate::tables::profile::{MarkKind, Profile};
use crate::tables::window::Window;
use crate::words::figures::setting;

/// Over all recorded processes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// With which recording began.
    pub begun_ns: BTreeSet<u64>,
    /// The median over time: for half of it the interval was this one or a shorter one, for half of it this one or a longer one.
    pub mostly_ns: Option<u64>,
    /// The longest one that it changed to. `None`: it never changed.
    longest_ns: Option<u64>,
    /// Thousandths of the program's CPU. `None`: the interval was asked for.
    pub budget_per_mille: Option<u32>,
}

impl Pace {
    pub fn of(profile: &Profile) -> Pace {
        Pace::within(profile, None)
    }

    /// `mostly_ns` is of that time; None: of all of it.
    #[must_use]
    pub fn within(profile: &Profile, window: Option<Window>) -> Pace {
        let lasted_ns = |since_ns: u64, at_ns: u64| match window {
            Some(window) => window.held_ns(since_ns, at_ns),
            None => at_ns.saturating_sub(since_ns),
        };
        let changes = || profile.marks.iter().filter(|mark| mark.kind == MarkKind::Rate && mark.value.is_some());
        let mut pace = Pace { longest_ns: changes().filter_map(|mark| mark.value).max(), ..Pace::default() };
        let mut held: BTreeMap<u64, u64> = BTreeMap::new();
        for (index, process) in profile.processes.enumerate() {
            let Some(mut interval_ns) = process.interval_ns.filter(|_| process.refused.is_none()) else { continue };
            pace.begun_ns.insert(interval_ns);
            pace.budget_per_mille = pace.budget_per_mille.max(process.budget_per_mille);
            let mut since_ns = process.start_ns;
            let end_ns = process.start_ns.saturating_add(process.wall_ns);
            let own = changes().filter(|mark| mark.process == index).map(|mark| (mark.at_ns, mark.value));
            for (at_ns, next_ns) in own.chain([(end_ns, None)]) {
                let time_ns = held.entry(interval_ns).or_default();
                *time_ns = time_ns.saturating_add(lasted_ns(since_ns, at_ns));
                (since_ns, interval_ns) = (at_ns, next_ns.unwrap_or(interval_ns));
            }
        }
        pace.mostly_ns = median(&held);
        pace
    }

    /// The shortest with which recording began, and the longest that it changed to. `None`: it never changed.
    pub fn extremes_ns(&self) -> Option<(u64, u64)> {
        self.begun_ns.first().copied().zip(self.longest_ns)
    }

    /// `sampled every 1 ms`, or where the interval changed `sampled every 1 ms, mostly 5 ms (budget 2 %)`. `None`: nothing was recorded.
    pub fn words(&self) -> Option<String> {
        let mostly_ns = self.mostly_ns?;
        let begun = self.begun_ns.iter().copied().map(setting).collect::<Vec<_>>().join(", ");
        let begun = format!("sampled every {begun}");
        let Some(longest_ns) = self.longest_ns else { return Some(begun) };
        let later = match self.begun_ns.contains(&mostly_ns) {
            true => format!("later {}", setting(longest_ns)),
            false => format!("mostly {}", setting(mostly_ns)),
        };
        let budget = |per_mille| format!(" (budget {} %)", f64::from(per_mille) / 10.0);
        Some(format!("{begun}, {later}{}", self.budget_per_mille.map_or(String::new(), budget)))
    }
}

/// The rate (per second) to advise where samples are few. `None`: it was as high, or another profiler's.
pub fn higher_rate(profile: &Profile) -> Option<u64> {
    const RATE: u64 = 10_000;
    let recorded = profile.processes.iter().filter(|process| process.refused.is_none() && process.imported.is_none());
    let shortest_ns = recorded.filter_map(|process| process.interval_ns).min()?;
    (shortest_ns > 1_000_000_000 / RATE).then_some(RATE)
}

/// Of intervals and the time for which each held.
fn median(held: &BTreeMap<u64, u64>) -> Option<u64> {
    let whole_ns = held.values().fold(0_u64, |sum, time_ns| sum.saturating_add(*time_ns));
    let mut so_far_ns = 0_u64;
    held.iter().find_map(|(interval_ns, time_ns)| {
        so_far_ns = so_far_ns.saturating_add(*time_ns);
        (so_far_ns >= whole_ns.div_ceil(2)).then_some(*interval_ns)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::profile::{Mark, Process};

    /// A tick each millisecond for 60 ms, then one each 5 ms for 40 ms.
    #[test]
    fn a_time_has_the_interval_of_most_of_it() {
        let mut profile = Profile::default();
        let running = Process { interval_ns: Some(1_000_000), wall_ns: 100_000_000, ..Process::default() };
        let process = profile.processes.push(running);
        let value = Some(5_000_000);
        profile.marks.push(Mark { process, at_ns: 60_000_000, kind: MarkKind::Rate, text: None, value });
        let mostly_ns = |start_ms: u64, end_ms: u64| {
            let window = Window { start_ns: start_ms * 1_000_000, end_ns: Some(end_ms * 1_000_000) };
            Pace::within(&profile, Some(window)).mostly_ns
        };
        assert_eq!(Pace::of(&profile).mostly_ns, Some(1_000_000));
        assert_eq!(mostly_ns(0, 50), Some(1_000_000));
        assert_eq!(mostly_ns(50, 100), Some(5_000_000));
    }
}
