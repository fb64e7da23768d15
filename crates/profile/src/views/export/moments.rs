//! When the samples were, as columns: of each bin of time, which rows of `samples` had how much in it.
//! Owns: their shape and order. Keeps: the moments of the rows of a stack, thread and state have the samples and times of these, to the nanosecond.

use foldhash::HashMap;
use std::collections::BTreeMap;

use serde::Serialize;

use crate::tables::profile::Profile;

/// A row takes some three bytes of a page: of a recording with more, bins are joined in pairs.
const ROWS_MAX: usize = 40_000;

/// Samples, CPU and wall time, by bin and row.
type Sums = BTreeMap<(u32, usize), [u64; 3]>;

/// In the order of time. Nothing stands for a bin in which nothing was.
#[derive(Debug, Default, Serialize)]
pub struct MomentRows {
    bin_ns: u64,
    /// How many bins after the one of the row before.
    bins_later: Vec<u32>,
    /// Of `samples`: the first row with this stack, thread and state.
    row: Vec<usize>,
    samples: Vec<u64>,
    cpu_ns: Vec<u64>,
    wall_ns: Vec<u64>,
}

impl MomentRows {
    /// None where they were not asked for.
    #[must_use]
    pub fn of(profile: &Profile) -> Option<MomentRows> {
        let bins = profile.moment_bins?;
        let mut row_of = HashMap::default();
        for (row, group) in profile.samples.iter().enumerate() {
            row_of.entry((group.node, group.thread, group.state, group.in_window)).or_insert(row);
        }
        let mut sums = Sums::new();
        for moment in &profile.moments {
            let key = (moment.node, moment.thread, moment.state, moment.in_window);
            // Each group's moments are here as long as the group is.
            let Some(row) = row_of.get(&key) else { continue };
            add(&mut sums, (moment.bin, *row), [u64::from(moment.samples), moment.cpu_ns, moment.wall_ns]);
        }
        let mut rows = MomentRows { bin_ns: bins.length_ns.get(), ..MomentRows::default() };
        while sums.len() > ROWS_MAX && sums.keys().any(|(bin, _)| *bin > 0) {
            sums = halved(sums);
            rows.bin_ns = rows.bin_ns.saturating_mul(2);
        }
        let mut bin_before = 0;
        for ((bin, row), [samples, cpu_ns, wall_ns]) in sums {
            rows.bins_later.push(bin - bin_before);
            bin_before = bin;
            rows.row.push(row);
            rows.samples.push(samples);
            rows.cpu_ns.push(cpu_ns);
            rows.wall_ns.push(wall_ns);
        }
        Some(rows)
    }
}

fn add(sums: &mut Sums, key: (u32, usize), more: [u64; 3]) {
    let sum = sums.entry(key).or_default();
    *sum = std::array::from_fn(|at| sum[at].saturating_add(more[at]));
}

fn halved(sums: Sums) -> Sums {
    let mut halved = Sums::new();
    for ((bin, row), sum) in sums {
        add(&mut halved, (bin / 2, row), sum);
    }
    halved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halving_keeps_the_sums_of_each_row() {
        let sums: Sums = (0..7).map(|bin| ((bin, (bin % 2) as usize), [1, u64::from(bin), 10])).collect();
        let by_row =
            |sums: &Sums, row: usize| sums.iter().filter(|((_, at), _)| *at == row).map(|(_, sum)| sum[1]).sum::<u64>();
        let half = halved(sums.clone());
        assert_eq!(half.keys().map(|(bin, _)| *bin).max(), Some(3));
        for row in [0, 1] {
            assert_eq!(by_row(&half, row), by_row(&sums, row));
        }
        assert_eq!(halved(half).len(), 4);
    }
}
