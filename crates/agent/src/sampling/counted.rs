//! What is known of copied bytes, and of allocated ones: how many there were, and how many of them each stack accounts for.
//! Owns: the estimate, and its law: exact = sampled + not sampled, no byte credited twice. Never: looks at a thread.
//!
//! A copy of n bytes is chosen with the probability 1 - exp(-n / mean), and counts as n divided by that (Horvitz and Thompson): so the sum
//! for each place is right on average, whatever the sizes. The sums of a window of samples are then scaled to the bytes that were counted
//! meanwhile, less those that found no room: that takes away most of the noise, since the count misses nothing. The variance of the unscaled
//! sum is that of a Poisson sample: the sum of (1 - p) w² over the samples, each chosen with p and counting as w.

use genba_format::measure::{Measure, Totals};
use genba_format::proto;
use std::collections::BTreeMap;

/// A window ends with so many samples: the scale of fewer would favour small copies over large ones.
const WINDOW_SAMPLES: u64 = 64;
/// Or after so long, so that a recording that is cut off has nearly all.
const WINDOW_NS_MAX: u64 = 5_000_000_000;

/// A speed is that of so much time at least.
const SPEED_NS_MIN: u64 = 5_000_000;

/// 1,024 bytes, squared.
const KIB2: f64 = 1_048_576.0;

/// Who did it: a thread's row and the row of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub thread: u32,
    pub node: u32,
}

/// Copies or allocations, their bytes, and the variance of these.
#[derive(Debug, Default)]
struct Sum {
    count: f64,
    bytes: f64,
    variance: f64,
}

/// Of one segment of a recording.
#[derive(Debug, Default)]
pub struct Tally {
    /// The counters when it began: what they show more is its own.
    counted_before: u64,
    lost_before: u64,
    exact: u64,
    sampled: u64,
    lost: u64,
    /// Of samples whose stack could not be told.
    untold: u64,
    /// What the samples account for, unscaled.
    window: BTreeMap<Place, Sum>,
    window_samples: u64,
    window_began_ns: u64,
    /// The rows of threads that left stacks, by their numbers: some end before their stacks are taken.
    rows: BTreeMap<u32, u32>,
    /// When the speed was told last, and the counter then.
    speed_told: (u64, u64),
}

/// Of copies or of allocations.
#[derive(Debug, Default)]
pub struct Kept {
    /// None: they are not recorded.
    pub tally: Option<Tally>,
    /// What the counters showed when the sampler was told to keep away.
    pub at_pause: Option<(u64, u64)>,
}

impl Tally {
    #[must_use]
    pub fn begin(counted: u64, lost: u64, now_ns: u64) -> Tally {
        Tally {
            counted_before: counted,
            lost_before: lost,
            window_began_ns: now_ns,
            speed_told: (now_ns, counted),
            ..Tally::default()
        }
    }

    /// `counted` and `lost` more bytes than now belong to nobody: nobody looked meanwhile.
    pub fn skip(&mut self, counted: u64, lost: u64) {
        self.counted_before += counted;
        self.lost_before += lost;
    }

    pub fn sample(&mut self, place: Place, bytes: u64, mean_bytes: u64) {
        let sum = self.window.entry(place).or_default();
        let stands_for = stands_for(bytes, mean_bytes);
        sum.count += stands_for / bytes.max(1) as f64;
        sum.bytes += stands_for;
        // Chosen with p = bytes / stands_for.
        sum.variance += (stands_for - bytes as f64) * stands_for;
        self.window_samples += 1;
    }

    #[must_use]
    pub fn row_of(&self, tid: u32) -> Option<u32> {
        self.rows.get(&tid).copied()
    }

    pub fn keep_row(&mut self, tid: u32, row: u32) {
        self.rows.insert(tid, row);
    }

    /// A sample whose stack cannot be told.
    pub fn lose(&mut self, bytes: u64, mean_bytes: u64) {
        self.untold = self.untold.saturating_add(stands_for(bytes, mean_bytes) as u64);
    }

    /// Bytes a second since this was told last. `None`: that was just now.
    pub fn speed(&mut self, counted: u64, now_ns: u64) -> Option<u64> {
        let (told_ns, before) = self.speed_told;
        let since_ns = now_ns.saturating_sub(told_ns);
        if since_ns < SPEED_NS_MIN {
            return None;
        }
        self.speed_told = (now_ns, counted);
        let bytes = u128::from(counted.saturating_sub(before)) * 1_000_000_000 / u128::from(since_ns);
        Some(u64::try_from(bytes).unwrap_or(u64::MAX))
    }

    /// The counters have come so far. `Some`: the window is over, and this is what it gave. `must`: it is over in any case.
    pub fn settle(
        &mut self,
        measure: Measure,
        (counted, lost): (u64, u64),
        now_ns: u64,
        must: bool,
    ) -> Option<proto::Weights> {
        self.exact = self.exact.max(counted.saturating_sub(self.counted_before));
        self.lost = self.lost.max(lost.saturating_sub(self.lost_before));
        let is_over = must
            || self.window_samples >= WINDOW_SAMPLES
            || now_ns.saturating_sub(self.window_began_ns) >= WINDOW_NS_MAX;
        if !is_over || self.window.is_empty() {
            return None;
        }
        let whole: f64 = self.window.values().map(|sum| sum.bytes).sum();
        let mut left = self.exact.saturating_sub(self.sampled).saturating_sub(self.lost).saturating_sub(self.untold);
        let scale = left as f64 / whole;
        let mut weights = proto::Weights { kind: measure.stored(), ..proto::Weights::default() };
        for (place, sum) in std::mem::take(&mut self.window) {
            // Rounded: the last ones get what is left.
            let weight = ((sum.bytes * scale).round() as u64).min(left);
            // All of it was lost, or is too little: no row of nothing.
            if weight == 0 {
                continue;
            }
            left -= weight;
            self.sampled += weight;
            weights.thread.push(place.thread);
            weights.node.push(place.node);
            weights.count.push((sum.count * scale).round().max(1.0) as u64);
            weights.weight.push(weight);
            weights.variance_kib2.push((sum.variance * scale * scale / KIB2).round() as u64);
        }
        self.window_samples = 0;
        self.window_began_ns = now_ns;
        Some(weights).filter(|weights| !weights.weight.is_empty())
    }

    #[must_use]
    pub fn totals(&self) -> Totals {
        let (exact, sampled) = (self.exact, self.sampled);
        Totals { exact, genba: 0, sampled, not_sampled: exact.saturating_sub(sampled) }
    }
}

fn stands_for(bytes: u64, mean_bytes: u64) -> f64 {
    let parts = bytes as f64 / mean_bytes.max(1) as f64;
    // What has no bytes is never chosen.
    if parts > 0.0 { bytes as f64 / -(-parts).exp_m1() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::{Measure, Place, Tally, WINDOW_NS_MAX, WINDOW_SAMPLES};

    const MEAN: u64 = 512 << 10;
    const A: Place = Place { thread: 0, node: 1 };
    const B: Place = Place { thread: 0, node: 2 };

    #[test]
    fn a_window_gives_what_was_counted_and_no_more() {
        let mut copied = Tally::begin(1_000, 0, 0);
        for _ in 0..WINDOW_SAMPLES - 1 {
            copied.sample(A, 100_000, MEAN);
        }
        assert!(copied.settle(Measure::Copied, (1_000 + 40_000_000, 0), 1, false).is_none(), "the window is not over");
        copied.sample(B, 10 * MEAN, MEAN);
        let weights = copied.settle(Measure::Copied, (1_000 + 40_000_000, 0), 2, false).expect("it is over");
        assert_eq!(weights.node, [1, 2]);
        assert_eq!(weights.weight.iter().sum::<u64>(), 40_000_000);
        // Copies of 100,000 bytes, up to what rounding to whole copies does.
        let each = weights.weight[0] / weights.count[0];
        assert!((99_500..100_500).contains(&each), "{each}");
        let totals = copied.totals();
        assert_eq!((totals.exact, totals.sampled, totals.not_sampled), (40_000_000, 40_000_000, 0));
    }

    #[test]
    fn what_found_no_room_is_nobodys() {
        let mut copied = Tally::begin(0, 0, 0);
        copied.sample(A, MEAN, MEAN);
        let weights = copied
            .settle(Measure::Copied, (10_000_000, 4_000_000), WINDOW_NS_MAX, false)
            .expect("it has waited long enough");
        assert_eq!(weights.weight, [6_000_000]);
        let totals = copied.totals();
        assert_eq!((totals.exact, totals.sampled, totals.not_sampled), (10_000_000, 6_000_000, 4_000_000));
    }

    #[test]
    fn where_all_was_lost_there_is_no_row() {
        let mut copied = Tally::begin(0, 0, 0);
        copied.sample(A, MEAN, MEAN);
        assert!(copied.settle(Measure::Copied, (1_000_000, 2_000_000), 0, true).is_none());
        assert_eq!(copied.totals().not_sampled, 1_000_000);
    }

    /// Two places, one of copies of 400,000 bytes and one of 100,000, in turns: each is chosen with its own probability.
    #[test]
    fn the_parts_are_right_on_average_whatever_the_sizes() {
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        let mut below = |probability: f64| {
            random ^= random >> 12;
            random ^= random << 25;
            random ^= random >> 27;
            ((random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64) < probability * (1_u64 << 53) as f64
        };
        let (mut copied, mut counted, mut of_a, mut of_b) = (Tally::begin(0, 0, 0), 0, 0, 0);
        const ROUNDS: u64 = 200_000;
        for round in 0..ROUNDS {
            for (place, bytes) in [(A, 400_000), (B, 100_000)] {
                counted += bytes;
                if below(1.0 - (-(bytes as f64) / MEAN as f64).exp()) {
                    copied.sample(place, bytes, MEAN);
                }
            }
            if let Some(weights) = copied.settle(Measure::Copied, (counted, 0), 0, round + 1 == ROUNDS) {
                for (node, weight) in weights.node.iter().zip(weights.weight) {
                    *(if *node == A.node { &mut of_a } else { &mut of_b }) += weight;
                }
            }
        }
        assert_eq!(of_a + of_b, copied.totals().sampled);
        // 144,000 samples. A place's part of b copies chosen with probability p errs by n sqrt(b (1 - p) / p): 1.9 % of B for 5 sigma.
        let expected = 100_000.0 * ROUNDS as f64;
        assert!((of_b as f64 / expected - 1.0).abs() < 0.03, "{of_b} of {expected}");
    }
}
