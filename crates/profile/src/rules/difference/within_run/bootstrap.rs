//! How much a sum over one run is uncertain because of when the samples were taken: the local block bootstrap, in closed form.
//! Owns: where the replacements of a block come from. Never: knows how much runs differ from each other; draws random numbers.
//!
//! A moving-block bootstrap puts each block of time together from blocks that begin anywhere; a *local* one (Paparoditis and Politis 2002) takes
//! only those nearby. A program that first loads and then computes is no stationary series: blocks from anywhere would call its phases noise. The
//! sum of independently drawn blocks has a variance that is the sum of the blocks' own, so it is computed, not drawn.

/// A block may begin at each bin.
pub const BINS_IN_BLOCK: usize = 4;

/// The bootstrap's variance of the sum of all bins.
#[must_use]
pub fn variance_of_sum(bins: &[f64]) -> f64 {
    const BLOCK: usize = BINS_IN_BLOCK;
    if bins.len() < 2 * BLOCK {
        return 0.0;
    }
    let mut before = Vec::with_capacity(bins.len() + 1);
    let mut sum = 0.0;
    before.push(sum);
    for value in bins {
        sum += value;
        before.push(sum);
    }
    let starts_end = bins.len() - BLOCK + 1;
    let block = |start: usize| before[start + BLOCK] - before[start];
    let blocks = bins.len().div_ceil(BLOCK);
    let mut variance = 0.0;
    for position in 0..blocks {
        let own = (position * BLOCK).min(starts_end - 1);
        // One block to each side; at the ends of the run the stretch is moved inwards.
        let first = own.saturating_sub(BLOCK).min(starts_end.saturating_sub(2 * BLOCK + 1));
        let starts = first..(first + 2 * BLOCK + 1).min(starts_end);
        variance += variance_of_overlapping(starts.clone().map(block), starts.len());
    }
    // The last block may be a part of one.
    variance * bins.len() as f64 / (blocks * BLOCK) as f64
}

/// Blocks that overlap are like each other, which makes their variance too small; by how much is known for blocks that follow each other.
fn variance_of_overlapping(sums: impl Iterator<Item = f64> + Clone, count: usize) -> f64 {
    let count_f = count as f64;
    let mean = sums.clone().sum::<f64>() / count_f;
    let spread = sums.map(|sum| (sum - mean).powi(2)).sum::<f64>() / count_f;
    let alike: f64 = (1..BINS_IN_BLOCK.min(count))
        .map(|apart| 2.0 * (count - apart) as f64 * (1.0 - apart as f64 / BINS_IN_BLOCK as f64))
        .sum::<f64>();
    let alike = (count_f + alike) / (count_f * count_f);
    if alike < 1.0 { spread / (1.0 - alike) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers from a seed, the same in every run of the tests: the first of PCG's family (O'Neill 2014).
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let word = (((self.0 >> 18) ^ self.0) >> 27) as u32;
            f64::from(word.rotate_right((self.0 >> 59) as u32)) / f64::from(u32::MAX)
        }
    }

    /// A thread with two places, one sample a tick, eight ticks a bin: it stays where it is for `stay` ticks on average. `share`: of the first
    /// place at a time of the run, 0 to 1.
    fn run(random: &mut Random, bins: usize, stay: f64, share: &dyn Fn(f64) -> f64) -> Vec<f64> {
        let mut inside = random.next() < share(0.0);
        let tick = |bin: usize, random: &mut Random| {
            if random.next() < 1.0 / stay {
                inside = random.next() < share(bin as f64 / bins as f64);
            }
            f64::from(u8::from(inside))
        };
        let mut tick = tick;
        (0..bins).map(|bin| (0..8).map(|_| tick(bin, random)).sum()).collect()
    }

    /// In how many of 1,000 runs the true mean lies within 1.96 standard errors of the sum.
    fn covered(stay: f64, share: &dyn Fn(f64) -> f64) -> (usize, f64) {
        let mut random = Random(7);
        let runs: Vec<Vec<f64>> = (0..1000).map(|_| run(&mut random, 500, stay, share)).collect();
        let sums: Vec<f64> = runs.iter().map(|run| run.iter().sum()).collect();
        let mean = sums.iter().sum::<f64>() / sums.len() as f64;
        let true_variance = sums.iter().map(|sum| (sum - mean).powi(2)).sum::<f64>() / (sums.len() - 1) as f64;
        let variances: Vec<f64> = runs.iter().map(|run| variance_of_sum(run)).collect();
        let inside =
            sums.iter().zip(&variances).filter(|(sum, variance)| (*sum - mean).abs() <= 1.96 * variance.sqrt());
        (inside.count(), variances.iter().sum::<f64>() / variances.len() as f64 / true_variance)
    }

    #[test]
    fn intervals_hold_the_truth_where_samples_depend_on_their_neighbours() {
        // 950 of 1,000, give or take five standard deviations (35).
        let half = |_: f64| 0.5;
        for stay in [1.0, 2.0, 4.0] {
            let (inside, ratio) = covered(stay, &half);
            assert!((915..=985).contains(&inside), "stay {stay}: {inside}");
            assert!((0.8..=1.2).contains(&ratio), "stay {stay}: {ratio:.2} of the true variance");
        }
        let (inside, ratio) = covered(2.0, &|_| 0.02);
        assert!((915..=985).contains(&inside), "a rare place: {inside}, {ratio:.2}");
    }

    #[test]
    fn a_variance_that_takes_samples_for_independent_would_be_too_small() {
        // Each sum is that of 4,000 ticks of one half: 1,000 if they were independent.
        let (_, ratio) = covered(4.0, &|_| 0.5);
        let mut random = Random(7);
        let runs: Vec<Vec<f64>> = (0..1000).map(|_| run(&mut random, 500, 4.0, &|_| 0.5)).collect();
        let mean: f64 = runs.iter().map(|run| variance_of_sum(run)).sum::<f64>() / 1000.0;
        assert!(mean > 4_000.0, "{mean:.0}, {ratio:.2} of the true variance");
    }

    #[test]
    fn phases_are_no_noise() {
        // Three phases, long beside a block: the ends of phases count, their lengths do not.
        let phases = |time: f64| if (0.3..0.7).contains(&time) { 0.95 } else { 0.05 };
        let (inside, ratio) = covered(2.0, &phases);
        assert!(inside >= 915, "{inside}");
        assert!(ratio < 3.0, "{ratio:.2} of the true variance");
        let mut random = Random(7);
        let run = run(&mut random, 500, 2.0, &phases);
        let share = run.iter().sum::<f64>() / 4000.0;
        let anywhere = 4000.0 * share * (1.0 - share) * 32.0;
        assert!(variance_of_sum(&run) < anywhere / 10.0, "blocks from anywhere would give {anywhere:.0}");
    }

    #[test]
    fn a_program_that_does_one_thing_has_no_variance() {
        assert_eq!(variance_of_sum(&[5.0; 400]), 0.0);
        assert_eq!(variance_of_sum(&[]), 0.0);
        assert_eq!(variance_of_sum(&[1.0; 7]), 0.0);
    }

    #[test]
    fn the_closed_form_is_what_drawing_gives() {
        let mut random = Random(3);
        let run = run(&mut random, 400, 3.0, &|_| 0.4);
        let sums: Vec<f64> = (0..20_000)
            .map(|_| {
                (0..100)
                    .map(|position: usize| {
                        let first = (position * 4).saturating_sub(4).min(388);
                        let start = first + (random.next() * 8.999) as usize;
                        run[start..start + 4].iter().sum::<f64>()
                    })
                    .sum()
            })
            .collect();
        let mean = sums.iter().sum::<f64>() / sums.len() as f64;
        let drawn = sums.iter().map(|sum| (sum - mean).powi(2)).sum::<f64>() / sums.len() as f64;
        // Of nine starts, four of which a block shares with its neighbours.
        let alike = 31.0 / 81.0;
        let ratio = variance_of_sum(&run) * (1.0 - alike) / drawn;
        assert!((0.95..=1.05).contains(&ratio), "{ratio:.3}");
    }
}
