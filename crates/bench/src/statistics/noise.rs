//! How far two equal commands would seem to be apart on this machine, told by the runs of one.
//! Owns: the halves. Keeps: a half is made of the blocks that a comparison is made of, so a drift that a block evens out is no noise.

use super::comparison::{ROUNDS_MIN, block_sums, mean};

const DRAWS: usize = 1_999;
/// So many of the comparisons of equal commands lie below.
const BELOW: f64 = 0.95;
const SEED: u64 = 0x6e6f697365;

/// As a part of the time: 0.01 is 1 %. Of as many runs of each command as there are here. None: too few runs, or no time.
#[must_use]
pub fn floor(times: &[f64]) -> Option<f64> {
    if times.len() < ROUNDS_MIN {
        return None;
    }
    // Blocks of equal length: a round without a partner is left out.
    let mut sums = block_sums(&times[..times.len() / 2 * 2]);
    let half = sums.len() / 2;
    if mean(&sums) <= 0.0 {
        return None;
    }
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut apart: Vec<f64> = (0..DRAWS)
        .map(|_| {
            random.shuffle(&mut sums);
            (mean(&sums[..half]) / mean(&sums[half..2 * half])).ln().abs()
        })
        .collect();
    apart.sort_by(f64::total_cmp);
    let position = (BELOW * (DRAWS + 1) as f64).ceil() as usize;
    // A half is fewer blocks than a comparison has of each command.
    let shrink = (half as f64 / sums.len() as f64).sqrt();
    apart.get(position.min(DRAWS) - 1).map(|far| (far * shrink).exp_m1())
}

#[cfg(test)]
mod tests {
    use super::floor;

    fn runs(random: &mut fastrand::Rng, rounds: usize, spread: f64) -> Vec<f64> {
        (0..rounds).map(|_| 100.0 * (1.0 + spread * ((0..12).map(|_| random.f64()).sum::<f64>() - 6.0))).collect()
    }

    /// By hand: 30 runs with a deviation of 2 %: the means of two such commands differ with one of 2 % × √(2 / 30) = 0.516 %, and 95 of
    /// 100 of these lie within 1.96 of it.
    #[test]
    fn the_floor_is_the_one_worked_out_by_hand() {
        let mut random = fastrand::Rng::with_seed(5);
        let floors: Vec<f64> = (0..200).filter_map(|_| floor(&runs(&mut random, 30, 0.02))).collect();
        let mean = floors.iter().sum::<f64>() / floors.len() as f64;
        assert!((0.0095..0.0107).contains(&mean), "{mean}");
    }

    /// Of equal commands about 95 of 100 seem to be less than that apart.
    #[test]
    fn equal_commands_lie_below_it() {
        let mut random = fastrand::Rng::with_seed(6);
        let mut below = 0;
        for _ in 0..400 {
            let (one, other) = (runs(&mut random, 40, 0.02), runs(&mut random, 40, 0.02));
            let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len() as f64;
            let apart = (mean(&one) / mean(&other)).ln().abs();
            below += u32::from(apart < floor(&one).unwrap().ln_1p());
        }
        // 380 expected of exact floors, somewhat fewer of those that 20 blocks tell; five deviations below.
        assert!((355..=398).contains(&below), "{below}");
    }

    #[test]
    fn a_steady_drift_is_no_noise_and_few_runs_tell_none() {
        let drift: Vec<f64> = (0..40).map(|round| 100.0 + if round % 2 == 0 { 1.0 } else { -1.0 }).collect();
        assert!(floor(&drift).unwrap() < 1e-12);
        assert_eq!(floor(&[1.0; 9]), Some(0.0), "an odd number of runs");
        assert_eq!(floor(&[1.0; 7]), None);
        assert_eq!(floor(&[0.0; 20]), None);
    }
}
