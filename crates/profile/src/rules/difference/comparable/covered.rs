//! CPU that samples hold, CPU that is in none, and ticks that gave none.
//! Owns: how much of each falls into the time that is compared. A block that a bound of it cuts has in each part as much as the part is long.

use crate::rules::reading::Reading;
use crate::tables::profile::{Clocks, Moment};
use crate::tables::window::{Bins, Window};

/// Of the whole run, or of the time of it that is compared: of its program, in all threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Covered {
    pub sampled_ns: u64,
    pub uncovered_ns: u64,
    /// Of the ticks, those that gave no sample, for whatever reason, in thousandths.
    pub lost_per_mille: u64,
}

impl Covered {
    #[must_use]
    pub fn of(reading: &Reading) -> Covered {
        reading.window().map_or_else(|| of_run(reading), |window| of_time(reading, window, |moment| moment.in_window))
    }

    /// Of what was recorded before that time.
    #[must_use]
    pub fn before(reading: &Reading, window: Window) -> Covered {
        let before = Window { start_ns: 0, end_ns: Some(window.start_ns) };
        of_time(reading, before, |moment| is_before(reading, window, moment))
    }

    #[must_use]
    pub fn cpu_ns(self) -> u64 {
        self.sampled_ns.saturating_add(self.uncovered_ns)
    }

    /// What samples hold, in thousandths, rounded down. None: there was no CPU.
    #[must_use]
    pub fn per_mille(self) -> Option<u64> {
        let (cpu_sampled_ns, cpu_not_sampled_ns) = (self.sampled_ns, self.uncovered_ns);
        Clocks { cpu_sampled_ns, cpu_not_sampled_ns, ..Clocks::default() }.covered_per_mille()
    }
}

fn of_run(reading: &Reading) -> Covered {
    let (clocks, accounting) = (reading.clocks(), reading.accounting());
    Covered {
        sampled_ns: clocks.cpu_held_ns(),
        uncovered_ns: clocks
            .cpu_not_sampled_ns
            .saturating_add(clocks.cpu_lost_ns)
            .saturating_add(clocks.cpu_not_recorded_ns),
        lost_per_mille: accounting.lost().saturating_mul(1_000) / accounting.ticks.max(1),
    }
}

/// A moment that is not of that time, and begins before it.
#[must_use]
pub fn is_before(reading: &Reading, window: Window, moment: &Moment) -> bool {
    let begins_before = |bins: Bins| bins.start_ns(moment.bin) < window.start_ns;
    !moment.in_window && reading.moment_bins.is_some_and(begins_before)
}

fn of_time(reading: &Reading, window: Window, is_of_it: impl Fn(&Moment) -> bool) -> Covered {
    let left_out = reading.kept.iter().flat_map(|kept| &kept.left_out);
    let sampled = reading.moments.iter().chain(left_out).filter(|&moment| is_of_it(moment));
    let sampled_ns = sampled.fold(0_u64, |sum, moment| sum.saturating_add(moment.cpu_ns));
    let (mut cpu_ns, mut ticks, mut lost_ticks) = (0_f64, 0_f64, 0_f64);
    for block in &reading.unsampled {
        let part = window.held_part(block.start_ns, block.end_ns);
        cpu_ns += part * block.cpu_ns as f64;
        ticks += part * block.ticks as f64;
        lost_ticks += part * block.lost_ticks as f64;
    }
    // Behind the last block.
    let ended =
        reading.processes.iter().filter(|process| window.holds(process.start_ns.saturating_add(process.wall_ns)));
    let not_recorded_ns = ended.fold(0_u64, |sum, process| sum.saturating_add(process.clocks.cpu_not_recorded_ns));
    Covered {
        sampled_ns,
        // A conversion never goes below zero.
        uncovered_ns: (cpu_ns.round() as u64).saturating_add(not_recorded_ns),
        lost_per_mille: if ticks > 0.0 { (lost_ticks * 1_000.0 / ticks) as u64 } else { 0 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::reading::Kept;
    use crate::rules::weight::Totals;
    use crate::tables::profile::{Profile, ThreadIndex, Unsampled};
    use crate::tables::table::TableIndex;
    use genba_format::state::State;
    use std::num::NonZeroU64;

    /// Two blocks of 100 ns. Samples of the second one hold 10 ns of what was still in none when the first one ended.
    #[test]
    fn each_time_has_what_its_blocks_tell() {
        let unsampled = vec![
            Unsampled { start_ns: 0, end_ns: 100, cpu_ns: 50, ticks: 100, lost_ticks: 20 },
            Unsampled { start_ns: 100, end_ns: 200, cpu_ns: -10, ticks: 10, lost_ticks: 0 },
        ];
        let mut reading = Reading::of(Profile { unsampled, ..Profile::default() });
        let whole = Totals::of_profile(&reading.profile);
        let mut of = |start_ns: u64, end_ns: Option<u64>| {
            let window = Some(Window { start_ns, end_ns });
            reading.kept = Some(Kept { flags: Vec::new(), whole, window, left_out: Vec::new() });
            let Covered { uncovered_ns, lost_per_mille, .. } = Covered::of(&reading);
            (uncovered_ns, lost_per_mille)
        };
        assert_eq!(of(0, Some(100)), (50, 200));
        assert_eq!(of(0, Some(50)), (25, 200));
        assert_eq!(of(0, None), (40, 181));
        assert_eq!(of(100, Some(200)), (0, 0));
        assert_eq!(of(50, Some(150)), (20, 181));
        assert_eq!(of(200, None), (0, 0));
    }

    /// Bins of 50 ns, the second and third of which are compared. A sample that ends in them is of them.
    #[test]
    fn what_was_before_a_time_has_its_samples_and_its_part_of_blocks() {
        let moment = |bin: u32, in_window: bool, cpu_ns: u64| Moment {
            bin,
            node: None,
            thread: ThreadIndex::new(0),
            state: State::Running,
            in_window,
            samples: 1,
            ticks: 1,
            cpu_ns,
            wall_ns: cpu_ns,
        };
        let mut reading = Reading::of(Profile {
            unsampled: vec![Unsampled { start_ns: 0, end_ns: 100, cpu_ns: 50, ticks: 100, lost_ticks: 20 }],
            moment_bins: NonZeroU64::new(50).map(|length_ns| Bins { length_ns }),
            moments: vec![moment(0, true, 2), moment(1, true, 11), moment(2, true, 17)],
            ..Profile::default()
        });
        let whole = Totals::of_profile(&reading.profile);
        let window = Window { start_ns: 50, end_ns: Some(150) };
        let left_out = vec![moment(0, false, 7), moment(3, false, 13)];
        reading.kept = Some(Kept { flags: Vec::new(), whole, window: Some(window), left_out });
        let of = |covered: Covered| (covered.sampled_ns, covered.uncovered_ns);
        assert_eq!(of(Covered::before(&reading, window)), (7, 25));
        assert_eq!(of(Covered::of(&reading)), (30, 25));
    }
}
