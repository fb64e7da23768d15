//! Adds up, bin by bin, when the groups of samples of a process had their time: a second pass over the samples.
//! Owns: how the time of a sample that lies in several bins is shared out, and that no thread has more than one CPU. Never: makes a group or a node.
//! Keeps: the moments of a group have its samples and its time, to the nanosecond.

use genba_format::QUANTUM_NS;
use genba_format::columns::Row;

use crate::making::build::samples::{Key, Piece, Sums, pieces};
use crate::tables::profile::{Moment, Profile, ThreadIndex};
use crate::tables::stored::Stored;
use crate::tables::window::Bins;

/// `group_of_row`: for each row of `sums`, its position in the profile's groups of samples. `begin_ns`: CLOCK_MONOTONIC at the beginning of bin 0.
pub fn add(stored: &Stored, sums: &mut Sums, group_of_row: &[usize], bins: Bins, begin_ns: u64, profile: &mut Profile) {
    // Samples of one stack mostly come in the order of time: the newest moment of each row is the one that goes on.
    let mut newest: Vec<Option<usize>> = vec![None; group_of_row.len()];
    let mut parts_left = PARTS_MAX;
    let begin = profile.moments.len();
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
    settle(&mut profile.moments, begin, bins);
}

/// CPU time that a sample carries from before lies on top of the time of the samples there, and no thread has more than one CPU: what a bin has too
/// much of goes to the nearest bins before it that have room, or else to those behind. `begin`: of a process's moments.
fn settle(moments: &mut Vec<Moment>, begin: usize, bins: Bins) {
    let mut places: Vec<(ThreadIndex, u32, usize)> = Vec::with_capacity(moments.len() - begin);
    places.extend((begin..moments.len()).map(|at| (moments[at].thread, moments[at].bin, at)));
    places.sort_unstable();
    for of_thread in places.chunk_by(|a, b| a.0 == b.0) {
        let mut full = Full::of(moments, of_thread, bins);
        if full.is_any_over() {
            full.settle(moments, of_thread);
        }
    }
}

/// How much CPU time of one thread each bin has, up to the last of the thread.
struct Full {
    used_ns: Vec<u64>,
    length_ns: u64,
}

impl Full {
    fn of(moments: &[Moment], of_thread: &[(ThreadIndex, u32, usize)], bins: Bins) -> Full {
        let count = of_thread.last().map_or(0, |(_, bin, _)| *bin as usize + 1);
        let mut used_ns = vec![0_u64; count];
        for (_, bin, at) in of_thread {
            let used_ns = &mut used_ns[*bin as usize];
            *used_ns = used_ns.saturating_add(moments[*at].cpu_ns);
        }
        Full { used_ns, length_ns: bins.length_ns.get() }
    }

    /// What comes later than all bins counts for the last of them, which may be as long as it likes.
    fn room_ns(&self, bin: u32) -> u64 {
        if bin + 1 == Bins::MAX { u64::MAX } else { self.length_ns }
    }

    fn is_any_over(&self) -> bool {
        (0..).zip(&self.used_ns).any(|(bin, used_ns)| *used_ns > self.room_ns(bin))
    }

    fn settle(&mut self, moments: &mut Vec<Moment>, of_thread: &[(ThreadIndex, u32, usize)]) {
        // Each with what of it is too much.
        let mut late: Vec<(usize, u64)> = Vec::new();
        let mut by_bin = of_thread.chunk_by(|a, b| a.1 == b.1).rev().peekable();
        let last = u32::try_from(self.used_ns.len()).map_or(0, |count| count.saturating_sub(1));
        for bin in (0..=last).rev() {
            self.fill(moments, bin, &mut late);
            let Some(here) = by_bin.next_if(|here| here[0].1 == bin) else { continue };
            let mut over_ns = self.used_ns[bin as usize].saturating_sub(self.room_ns(bin));
            self.used_ns[bin as usize] -= over_ns;
            // First what was carried from before.
            for is_late in [true, false] {
                for (_, _, at) in here {
                    let moment = &mut moments[*at];
                    let own_ns = if is_late { moment.wall_ns } else { 0 };
                    let taken_ns = moment.cpu_ns.saturating_sub(own_ns).min(over_ns);
                    if taken_ns > 0 {
                        moment.cpu_ns -= taken_ns;
                        over_ns -= taken_ns;
                        late.push((*at, taken_ns));
                    }
                }
            }
        }
        for bin in 0..=last {
            self.fill(moments, bin, &mut late);
        }
        // A damaged recording may tell more than there was time.
        for (at, left_ns) in late {
            moments[at].cpu_ns = moments[at].cpu_ns.saturating_add(left_ns);
        }
    }

    /// With what is late, as far as there is room.
    fn fill(&mut self, moments: &mut Vec<Moment>, bin: u32, late: &mut Vec<(usize, u64)>) {
        let room_ns = self.room_ns(bin);
        let used_ns = &mut self.used_ns[bin as usize];
        while *used_ns < room_ns {
            let Some((at, late_ns)) = late.pop() else { break };
            let cpu_ns = late_ns.min(room_ns - *used_ns);
            *used_ns += cpu_ns;
            moments.push(Moment { bin, samples: 0, ticks: 0, cpu_ns, wall_ns: 0, ..moments[at] });
            if cpu_ns < late_ns {
                late.push((at, late_ns - cpu_ns));
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

    use genba_format::state::State;

    use crate::tables::table::TableIndex;

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

    /// Moments of one thread, each `bin:cpu:wall` in quanta, and what each of the bins of ten quanta has of CPU in the end.
    fn check_settled(moments: &str, expected: &[u64]) {
        let mut made: Vec<Moment> = Vec::new();
        for words in moments.split(' ') {
            let numbers: Vec<u64> = words.split(':').map(|number| number.parse().expect("a number")).collect();
            let [bin, cpu, wall] = numbers[..] else { panic!("{words}") };
            made.push(Moment {
                bin: u32::try_from(bin).expect("a bin"),
                node: None,
                thread: ThreadIndex::new(0),
                state: State::Running,
                in_window: true,
                samples: 1,
                ticks: 1,
                cpu_ns: cpu * QUANTUM_NS,
                wall_ns: wall * QUANTUM_NS,
            });
        }
        let whole_ns = |made: &[Moment]| {
            made.iter()
                .map(|moment| (moment.cpu_ns, moment.wall_ns, moment.samples))
                .fold((0, 0, 0), |sum, each| (sum.0 + each.0, sum.1 + each.1, sum.2 + each.2))
        };
        let before = whole_ns(&made);
        settle(&mut made, 0, Bins { length_ns: NonZeroU64::new(10 * QUANTUM_NS).expect("not 0") });
        assert_eq!(whole_ns(&made), before, "{moments}");
        let mut found = vec![0; expected.len()];
        for moment in &made {
            found[moment.bin as usize] += moment.cpu_ns / QUANTUM_NS;
        }
        assert_eq!(found, expected, "{moments}");
    }

    #[test]
    fn a_thread_has_one_cpu_in_each_bin() {
        check_settled("0:10:10 1:10:10", &[10, 10]);
        check_settled("0:4:10 1:3:10 2:10:10 2:5:0", &[4, 8, 10]);
        check_settled("0:4:10 3:8:0 3:9:9 3:10:0", &[4, 7, 10, 10]);
        // Bins without a moment have room, too.
        check_settled("0:2:2 3:12:10", &[2, 0, 2, 10]);
        // Where there is none before, there may be some behind.
        check_settled("0:12:10 2:3:3", &[10, 2, 3]);
        // More than there was time.
        check_settled("0:15:10 1:10:10", &[15, 10]);
    }

    #[test]
    fn times_outside_of_all_bins_count_for_the_nearest() {
        check(5, 20, 20, "0:1:20:20");
        check(u64::from(Bins::MAX) * 10 + 5, 5, 5, &format!("{}:1:5:5", Bins::MAX - 1));
    }
}
