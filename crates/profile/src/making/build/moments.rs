//! Adds up, bin by bin, when the groups of samples of a process had their time: a second pass over the samples.
//! Owns: how the time of a sample that lies in several bins is shared out. Never: makes a group or a node.
//! Keeps: the moments of a group have its samples and its time, to the nanosecond.

use genba_format::QUANTUM_NS;
use genba_format::columns::Row;

use crate::making::build::samples::{Key, Piece, Sums, pieces};
use crate::tables::profile::{Moment, Profile};
use crate::tables::stored::Stored;
use crate::tables::window::Bins;

/// `group_of_row`: for each row of `sums`, its position in the profile's groups of samples. `begin_ns`: CLOCK_MONOTONIC at the beginning of bin 0.
pub fn add(stored: &Stored, sums: &mut Sums, group_of_row: &[usize], bins: Bins, begin_ns: u64, profile: &mut Profile) {
    // Samples of one stack mostly come in the order of time: the newest moment of each row is the one that goes on.
    let mut newest: Vec<Option<usize>> = vec![None; group_of_row.len()];
    let mut parts_left = PARTS_MAX;
    for read in &stored.blocks {
        let Some(samples) = &read.samples else { continue };
        for Piece { row, end_ns, in_window, is_last } in pieces(samples, read.header.start_ns, sums.window()) {
            let position = sums.position(Key::of(&row, in_window));
            let Some(&group) = group_of_row.get(position) else { continue };
            let row = if sums.is_genbas(position) { Row { cpu_quanta: 0, ..row } } else { row };
            for part in parts(&row, end_ns.saturating_sub(begin_ns), bins, &mut parts_left) {
                let known = newest[position].filter(|known| profile.moments[*known].bin == part.bin);
                let moment = known.unwrap_or_else(|| {
                    let group = profile.samples[group];
                    profile.moments.push(Moment {
                        bin: part.bin,
                        node: group.node,
                        thread: group.thread,
                        state: group.state,
                        in_window: group.in_window,
                        samples: 0,
                        ticks: 0,
                        cpu_ns: 0,
                        wall_ns: 0,
                    });
                    profile.moments.len() - 1
                });
                newest[position] = Some(moment);
                let moment = &mut profile.moments[moment];
                moment.samples = moment.samples.saturating_add(if is_last { part.samples } else { 0 });
                moment.ticks = moment.ticks.saturating_add(part.ticks);
                moment.cpu_ns = moment.cpu_ns.saturating_add(part.cpu_ns);
                moment.wall_ns = moment.wall_ns.saturating_add(part.wall_ns);
            }
        }
    }
}

/// Samples of one thread share no time, so a thread brings no more of these than there are bins. A damaged recording may say otherwise: what
/// comes then is not shared out.
const PARTS_MAX: usize = 1 << 21;

struct Part {
    bin: u32,
    samples: u32,
    ticks: u32,
    cpu_ns: u64,
    wall_ns: u64,
}

/// A sample stands for the time before it: each bin gets its part of the wall time, and as much of the CPU time. Where a sample carries CPU time from looks
/// without a sample, or of threads that ended, it has more of it than wall time. A thread cannot use a millisecond of CPU in less than a millisecond: such time is spread over its own length.
fn parts(row: &Row, end_ns: u64, bins: Bins, parts_left: &mut usize) -> impl Iterator<Item = Part> + use<> {
    let (cpu_ns, wall_ns) = (row.cpu_quanta.saturating_mul(QUANTUM_NS), row.wall_quanta.saturating_mul(QUANTUM_NS));
    let (cpu, wall) = (Spread::before(end_ns, cpu_ns, cpu_ns.max(wall_ns)), Spread::before(end_ns, wall_ns, wall_ns));
    let ticks = row.ticks;
    let last = bins.at(end_ns);
    let first = bins.at(cpu.begin_ns);
    let more = (last - first) as usize;
    let first = if more <= *parts_left { first } else { last };
    *parts_left -= (last - first) as usize;
    let (mut cpu_before_ns, mut wall_before_ns) = (0, 0);
    (first..=last).map(move |bin| {
        let (cpu_until_ns, wall_until_ns) = match bin == last {
            true => (cpu_ns, wall_ns),
            false => {
                let until_ns = bins.start_ns(bin + 1);
                (cpu.until(until_ns), wall.until(until_ns))
            }
        };
        let part = Part {
            bin,
            samples: u32::from(bin == last),
            ticks: if bin == last { ticks } else { 0 },
            cpu_ns: cpu_until_ns.saturating_sub(cpu_before_ns),
            wall_ns: wall_until_ns.saturating_sub(wall_before_ns),
        };
        (cpu_before_ns, wall_before_ns) = (cpu_until_ns, wall_until_ns);
        part
    })
}

/// Time that is evenly spread over a span.
#[derive(Clone, Copy)]
struct Spread {
    begin_ns: u64,
    length_ns: u64,
    whole_ns: u64,
}

impl Spread {
    /// Of what is before the recording's beginning the first bin gets all.
    fn before(end_ns: u64, whole_ns: u64, length_ns: u64) -> Spread {
        let begin_ns = end_ns.saturating_sub(length_ns);
        Spread { begin_ns, length_ns: end_ns - begin_ns, whole_ns }
    }

    fn until(self, until_ns: u64) -> u64 {
        let until_ns = u128::from(until_ns.saturating_sub(self.begin_ns));
        let part = (u128::from(self.whole_ns) * until_ns).checked_div(u128::from(self.length_ns)).unwrap_or(0);
        u64::try_from(part).unwrap_or(self.whole_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU64;

    /// Bins of ten quanta. A sample that ends after `end` quanta: for each bin `bin:samples:cpu:wall`, in quanta.
    fn check(end: u64, cpu: u64, wall: u64, expected: &str) {
        let row = Row { thread: 0, node: 1, state: 0, ticks: 1, cpu_quanta: cpu, wall_quanta: wall, context: 0 };
        let bins = Bins { length_ns: NonZeroU64::new(10 * QUANTUM_NS).expect("not 0") };
        let words = parts(&row, end * QUANTUM_NS, bins, &mut 100).map(|part| {
            let (cpu, wall) = (part.cpu_ns / QUANTUM_NS, part.wall_ns / QUANTUM_NS);
            format!("{}:{}:{cpu}:{wall}", part.bin, part.samples)
        });
        assert_eq!(words.collect::<Vec<_>>().join(" "), expected);
    }

    #[test]
    fn a_sample_stands_for_the_time_before_it() {
        check(8, 5, 5, "0:1:5:5");
        check(15, 10, 10, "0:0:5:5 1:1:5:5");
        check(35, 6, 30, "0:0:1:5 1:0:2:10 2:0:2:10 3:1:1:5");
        check(5, 0, 0, "0:1:0:0");
        check(1505, 1500, 1500, "150:1:1500:1500");
    }

    /// Three threads' worth of CPU in one bin would look like three CPUs.
    #[test]
    fn cpu_time_took_as_long_as_it_is() {
        check(35, 30, 0, "0:0:5:0 1:0:10:0 2:0:10:0 3:1:5:0");
        check(35, 30, 10, "0:0:5:0 1:0:10:0 2:0:10:5 3:1:5:5");
    }

    #[test]
    fn times_outside_of_all_bins_count_for_the_nearest() {
        check(5, 20, 20, "0:1:20:20");
        check(u64::from(Bins::MAX) * 10 + 5, 5, 5, &format!("{}:1:5:5", Bins::MAX - 1));
    }
}
