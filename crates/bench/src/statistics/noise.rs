//! How far two equal commands would seem to be apart on this machine, told by the runs of one.
//! Owns: that distance, by Student's *t*: four runs of the command one after the other are A B B A of a comparison with itself, in which a steady drift
//! cancels as it does between two commands. Leaves out blocks with a run that lies far outside while such runs are rare: of one nobody knows how often
//! it comes, and it would be all that is told.

use genba_profile::difference::certainty::factor_of;
use genba_profile::difference::paired::HOLD;
use statrs::statistics::Statistics;

use super::comparison::{ROUNDS_IN_BLOCK, ROUNDS_MIN};
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
    let middle = (&near).mean();
    if middle <= 0.0 {
        return None;
    }
    // The two outer ones less the two inner ones: of a drift nothing is left, and two slow runs beside each other are on one side.
    let apart: Vec<f64> = near.windows(4).map(|runs| runs[0] - runs[1] - runs[2] + runs[3]).collect();
    let spread = (apart.iter().map(|one| one.powi(2)).sum::<f64>() / (4 * apart.len()) as f64).sqrt() / middle;
    let apart = factor_of(1.0 - HOLD, 1, Some(freedom(apart.len()))) * spread * (2.0 / near.len() as f64).sqrt();
    Some(Floor { part: apart.exp_m1(), left_out: far.len() })
}

/// As much is told by so many of them as by fewer that share no run: their correlations are -1/4, -1/2 and 1/4, and 1 + 2 × (1/16 + 1/4 + 1/16) is 7/4.
const fn freedom(windows: usize) -> usize {
    windows * 4 / 7
}

#[cfg(test)]
mod tests {
    use super::floor;
    use crate::statistics::comparison::Comparison;

    fn part(times: &[f64]) -> Option<f64> {
        floor(times).map(|floor| floor.part)
    }

    /// Twelve even numbers are as good as a normal one.
    fn normal(random: &mut fastrand::Rng) -> f64 {
        (0..12).map(|_| random.f64()).sum::<f64>() - 6.0
    }

    fn runs(random: &mut fastrand::Rng, rounds: usize, spread: f64) -> Vec<f64> {
        (0..rounds).map(|_| 100.0 * (1.0 + spread * normal(random))).collect()
    }

    /// By hand: 30 runs with a deviation of 2 %: the means of two such commands differ with one of 2 % × √(2 / 30) = 0.516 %. They have 27 windows, so
    /// 15 degrees: Student's t at 0.975 is 2.131 (published tables), so 1.100 %. The mean of estimated deviations is 1.6 % too small.
    #[test]
    fn the_floor_is_the_one_worked_out_by_hand() {
        let mut random = fastrand::Rng::with_seed(5);
        let floors: Vec<f64> = (0..200).filter_map(|_| part(&runs(&mut random, 30, 0.02))).collect();
        let mean = floors.iter().sum::<f64>() / floors.len() as f64;
        // Five standard errors (0.014 %) to each side of 1.08 %.
        assert!((0.0101..0.0116).contains(&mean), "{mean}");
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

    /// The runs of one of two commands in turns, at the places 0, 3, 4, 7, 8, … of all, on a machine that becomes 1 % slower with each.
    #[test]
    fn a_steady_drift_is_no_noise_and_few_runs_tell_none() {
        let place = |round: usize| 2 * round + round % 2;
        let drift: Vec<f64> = (0..40).map(|round| 100.0 + place(round) as f64).collect();
        assert!(part(&drift).unwrap() < 1e-12);
        assert_eq!(part(&[1.0; 9]), Some(0.0), "an odd number of runs");
        assert_eq!(floor(&[1.0; 7]), None);
        assert_eq!(floor(&[0.0; 20]), None);
    }

    /// Beside the comparison's own interval of two equal commands in turns on a machine that drifts, wanders, or is slow for two runs now and then: never
    /// narrower, and no more than a half wider. What they seem to be apart lies below it.
    #[test]
    fn it_is_about_as_wide_as_the_interval_of_equal_commands() {
        for (steady, walk, bursts) in [(0.0, 0.0, 0.0), (0.01, 0.0, 0.0), (0.0, 0.02, 0.0), (0.0, 0.0, 0.05)] {
            let mut random = fastrand::Rng::with_seed(8);
            let (mut floors, mut margins, mut below) = (0.0, 0.0, 0);
            for _ in 0..200 {
                let mut times = vec![Vec::new(), Vec::new()];
                let (mut place, mut drift, mut slow) = (0.0, 0.0, 0);
                for round in 0..30 {
                    for command in if round % 2 == 0 { [0, 1] } else { [1, 0] } {
                        place += 1.0;
                        drift += walk * normal(&mut random);
                        slow = if slow > 0 { slow - 1 } else { 2 * u32::from(random.f64() < bursts) };
                        let noise = (1.0 + 0.02 * normal(&mut random)) * if slow > 0 { 1.1 } else { 1.0 };
                        times[command].push(100.0 * noise * (1.0 + steady * place) * f64::exp(drift));
                    }
                }
                let found = Comparison::of(&times, &[(0, 1)]).ratio(0, 1).unwrap();
                let most = part(&times[0]).unwrap().max(part(&times[1]).unwrap());
                floors += most;
                margins += found.interval.unwrap().1 / found.ratio - 1.0;
                below += u32::from(found.ratio.ln().abs() < most.ln_1p());
            }
            let wider = floors / margins;
            assert!((1.0..1.5).contains(&wider), "{wider} with a drift of {steady}, {walk}, bursts of {bursts}");
            // 190 are expected of one command, and the noisier of two counts; five standard deviations (3.1) below.
            assert!(below >= 175, "{below} of 200 with a drift of {steady}, {walk}, bursts of {bursts}");
        }
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
