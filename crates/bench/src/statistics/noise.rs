//! How far two equal commands would seem to be apart on this machine, told by the runs of one.
//! Owns: that distance, by Student's *t* of the blocks that a comparison is made of: a drift that a block evens out is no noise. Leaves out blocks with a
//! run that lies far outside while such runs are rare: of one nobody knows how often it comes, and it would be all that is told.

use genba_profile::difference::certainty::factor_of;
use genba_profile::difference::paired::HOLD;
use statrs::statistics::Statistics;

use super::comparison::{ROUNDS_IN_BLOCK, ROUNDS_MIN, block_sums, mean};
use super::summary::{Summary, far_outside};

/// One such run, or that part of all runs, is rare. More are noise.
const RARE: f64 = 0.05;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Floor {
    /// Of the time: 0.01 is 1 %. Of as many runs of each command as there are here.
    pub part: f64,
    /// Runs that lie far outside of the others.
    pub left_out: usize,
}

/// None: too few runs, or no time.
#[must_use]
pub fn floor(times: &[f64]) -> Option<Floor> {
    let mut far = far_outside(times, Summary::of(times)?.median);
    if far.len() > 1 && far.len() as f64 > RARE * times.len() as f64 {
        far.clear();
    }
    // Blocks of equal length: a round without a partner is left out.
    let blocks = times.chunks_exact(ROUNDS_IN_BLOCK).enumerate();
    let is_near = |(number, _): &(usize, &[f64])| far.iter().all(|run| run / ROUNDS_IN_BLOCK != *number);
    let near: Vec<f64> = blocks.filter(is_near).flat_map(|(_, block)| block).copied().collect();
    if near.len() < ROUNDS_MIN {
        return None;
    }
    let sums = block_sums(&near);
    let middle = mean(&sums);
    if middle <= 0.0 {
        return None;
    }
    let blocks = sums.len();
    let spread = (&sums).std_dev() / middle;
    let apart = factor_of(1.0 - HOLD, 1, Some(blocks - 1)) * spread * (2.0 / blocks as f64).sqrt();
    Some(Floor { part: apart.exp_m1(), left_out: far.len() })
}

#[cfg(test)]
mod tests {
    use super::floor;

    fn part(times: &[f64]) -> Option<f64> {
        floor(times).map(|floor| floor.part)
    }

    fn runs(random: &mut fastrand::Rng, rounds: usize, spread: f64) -> Vec<f64> {
        (0..rounds).map(|_| 100.0 * (1.0 + spread * ((0..12).map(|_| random.f64()).sum::<f64>() - 6.0))).collect()
    }

    /// By hand: 30 runs with a deviation of 2 %: the means of two such commands differ with one of 2 % × √(2 / 30) = 0.516 %. Of 15 blocks,
    /// Student's t of 14 degrees at 0.975 is 2.145 (published tables), so 1.108 %. The mean of estimated deviations is 1.8 % too small.
    #[test]
    fn the_floor_is_the_one_worked_out_by_hand() {
        let mut random = fastrand::Rng::with_seed(5);
        let floors: Vec<f64> = (0..200).filter_map(|_| part(&runs(&mut random, 30, 0.02))).collect();
        let mean = floors.iter().sum::<f64>() / floors.len() as f64;
        // Five standard errors (0.015 %) to each side of 1.09 %.
        assert!((0.0102..0.0117).contains(&mean), "{mean}");
    }

    /// Of equal commands 95 of 100 seem to be less than that apart, of few runs, too.
    #[test]
    fn equal_commands_lie_below_it() {
        let mut random = fastrand::Rng::with_seed(6);
        for rounds in [8, 10, 20, 40] {
            let mut below = 0;
            for _ in 0..400 {
                let (one, other) = (runs(&mut random, rounds, 0.02), runs(&mut random, rounds, 0.02));
                let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len() as f64;
                let apart = (mean(&one) / mean(&other)).ln().abs();
                // Of eight runs one may lie far outside by chance: then no floor is told.
                below += u32::from(part(&one).is_none_or(|floor| apart < floor.ln_1p()));
            }
            // 380 are expected; five standard deviations (4.4) below.
            assert!((358..=399).contains(&below), "{below} of 400, {rounds} rounds");
        }
    }

    #[test]
    fn a_steady_drift_is_no_noise_and_few_runs_tell_none() {
        let drift: Vec<f64> = (0..40).map(|round| 100.0 + if round % 2 == 0 { 1.0 } else { -1.0 }).collect();
        assert!(part(&drift).unwrap() < 1e-12);
        assert_eq!(part(&[1.0; 9]), Some(0.0), "an odd number of runs");
        assert_eq!(floor(&[1.0; 7]), None);
        assert_eq!(floor(&[0.0; 20]), None);
    }

    /// One run of twenty takes a hundred times as long. With it two equal commands seemed to be 1,009 % apart.
    #[test]
    fn a_run_far_outside_is_counted_and_left_out() {
        let mut random = fastrand::Rng::with_seed(7);
        let mut times = runs(&mut random, 20, 0.02);
        let calm = part(&times).unwrap();
        times[7] *= 100.0;
        let found = floor(&times).unwrap();
        assert!(found.left_out == 1 && found.part < 1.5 * calm, "{found:?}, without it {calm}");
        times[12] *= 100.0;
        let found = floor(&times).unwrap();
        assert!(found.left_out == 0 && found.part > 1.0, "two of twenty are no chance: {found:?}");
        // Too few blocks are left to tell.
        assert_eq!(floor(&[100.0, 101.0, 99.0, 100.0, 102.0, 98.0, 9000.0, 101.0]), None);
    }
}
