//! How many times as long as another something takes, and between which bounds that number lies.
//! Owns: the bootstrap. Never: compares times of different rounds: what slows the machine down for a while slows all of a round.
//!
//! Rounds go forward and backward by turns (A B, B A), and two of them are a block: in it a steady drift adds the same to each side. The
//! ratio is that of the means. Its interval is a bootstrap of the blocks: drawn anew with replacement, all commands together, each time
//! the ratio's distance from the one found is divided by its standard error *of that draw* (a bootstrap-*t*, Efron and Tibshirani 1993, 12.5;
//! symmetric, Hall 1988). Of several pairs the largest distance counts (Westfall and Young 1993), so all intervals hold together, though the
//! fastest command was chosen by the same times. A draw of few blocks may be one block several times, with next to no standard error, and
//! makes the interval endless: of fewer than `BLOCKS_DRAWN_MIN`, Student's *t* tells it.

use genba_profile::difference::paired::HOLD;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Fewer rounds tell next to nothing about how much they differ.
pub const ROUNDS_MIN: usize = ROUNDS_IN_BLOCK * BLOCKS_MIN;
pub(super) const ROUNDS_IN_BLOCK: usize = 2;
const BLOCKS_MIN: usize = 4;
const BLOCKS_DRAWN_MIN: usize = 10;
const DRAWS_MAX: usize = 9_999;
const DRAWS_MIN: usize = 999;
/// Pairs times blocks times draws: about a second.
const STEPS_MAX: usize = 200_000_000;
/// The same times always give the same interval.
const SEED: u64 = 0x67656e6261;

/// Of one pair: the other's mean time divided by the reference's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    pub ratio: f64,
    /// None: too few rounds.
    pub interval: Option<(f64, f64)>,
    /// Standard deviation of one block's ratio, as a part of it.
    pub spread: f64,
    pub blocks: usize,
}

impl Ratio {
    /// 1 is outside of the interval.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        self.interval.is_some_and(|(low, high)| low > 1.0 || high < 1.0)
    }
}

#[derive(Clone, Debug)]
pub struct Comparison {
    /// Of each command, for each block.
    sums: Vec<Vec<f64>>,
    /// Standard errors to each side.
    factor: Option<f64>,
    /// Pairs whose intervals hold together.
    pub compared: usize,
}

impl Comparison {
    /// `times`: of each command, a time for each round. `pairs`: reference and other; of these only will be asked.
    #[must_use]
    pub fn of(times: &[Vec<f64>], pairs: &[(usize, usize)]) -> Comparison {
        Comparison::with_draws(times, pairs, DRAWS_MAX)
    }

    fn with_draws(times: &[Vec<f64>], pairs: &[(usize, usize)], draws_max: usize) -> Comparison {
        let sums = blocks(times);
        // What took no time has no ratio.
        let has_ratio = |command: &usize| sums.get(*command).is_some_and(|sums| mean(sums) > 0.0);
        let pairs: Vec<_> = pairs.iter().copied().filter(|(one, other)| has_ratio(one) && has_ratio(other)).collect();
        let factor = factor(&sums, &pairs, draws_max);
        Comparison { sums, factor, compared: pairs.len() }
    }

    /// None: one of them took no time that could be measured.
    #[must_use]
    pub fn ratio(&self, reference: usize, other: usize) -> Option<Ratio> {
        let (one, other) = (self.sums.get(reference)?, self.sums.get(other)?);
        let (of_one, of_other) = (mean(one), mean(other));
        if of_one <= 0.0 || of_other <= 0.0 {
            return None;
        }
        let blocks = one.len();
        let ratio = of_other / of_one;
        let error = squares(one, other, of_one, of_other).sqrt() / (blocks as f64 * (blocks as f64 - 1.0)).sqrt();
        let interval = self.factor.filter(|factor| factor.is_finite()).map(|factor| {
            let margin = factor * error;
            (ratio * (-margin).exp(), ratio * margin.exp())
        });
        Some(Ratio { ratio, interval, spread: error * (blocks as f64).sqrt(), blocks })
    }
}

/// All pairs of so many commands.
#[must_use]
pub fn all_pairs(commands: usize) -> Vec<(usize, usize)> {
    (0..commands).flat_map(|one| (one + 1..commands).map(move |other| (one, other))).collect()
}

/// The last block takes a round that has no partner.
fn blocks(times: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let rounds = times.iter().map(Vec::len).min().unwrap_or(0);
    times.iter().map(|times| block_sums(&times[..rounds])).collect()
}

/// Of one command.
pub(super) fn block_sums(times: &[f64]) -> Vec<f64> {
    let rounds = times.len();
    let blocks = (rounds / ROUNDS_IN_BLOCK).max(1);
    let block = |number: usize| {
        let end = if number + 1 == blocks { rounds } else { (number + 1) * ROUNDS_IN_BLOCK };
        times[number * ROUNDS_IN_BLOCK..end].iter().sum::<f64>()
    };
    (0..blocks).map(block).collect()
}

pub(super) fn mean(sums: &[f64]) -> f64 {
    sums.iter().sum::<f64>() / sums.len().max(1) as f64
}

/// Of the blocks' own ratios around the ratio of the means, to the first order.
fn squares(one: &[f64], other: &[f64], of_one: f64, of_other: f64) -> f64 {
    one.iter().zip(other).map(|(one, other)| (other / of_other - one / of_one).powi(2)).sum()
}

/// The distance, in standard errors, that the farthest of all pairs exceeds in `1 - HOLD` of the draws.
fn factor(sums: &[Vec<f64>], pairs: &[(usize, usize)], draws_max: usize) -> Option<f64> {
    let blocks = sums.first().map_or(0, Vec::len);
    if blocks < BLOCKS_MIN || pairs.is_empty() {
        return None;
    }
    if blocks < BLOCKS_DRAWN_MIN {
        return students(blocks, pairs.len());
    }
    let draws = (STEPS_MAX / (pairs.len() * blocks)).max(DRAWS_MIN).min(draws_max);
    let means: Vec<f64> = sums.iter().map(|sums| mean(sums)).collect();
    let root = (blocks as f64 * (blocks as f64 - 1.0)).sqrt();
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut drawn: Vec<Vec<f64>> = sums.to_vec();
    let mut farthest: Vec<f64> = (0..draws)
        .map(|_| {
            for position in 0..blocks {
                let chosen = random.usize(..blocks);
                drawn.iter_mut().zip(sums).for_each(|(drawn, sums)| drawn[position] = sums[chosen]);
            }
            let drawn_means: Vec<f64> = drawn.iter().map(|sums| mean(sums)).collect();
            let distance = |(one, other): &(usize, usize)| {
                let found = (means[*other] / means[*one]).ln();
                let away = ((drawn_means[*other] / drawn_means[*one]).ln() - found).abs();
                let error = squares(&drawn[*one], &drawn[*other], drawn_means[*one], drawn_means[*other]).sqrt() / root;
                // A draw of one block alone tells nothing about its error: as far as can be.
                if away > 0.0 { away / error } else { 0.0 }
            };
            pairs.iter().map(distance).fold(0.0, f64::max)
        })
        .collect();
    farthest.sort_by(f64::total_cmp);
    let position = (HOLD * (draws + 1) as f64).ceil() as usize;
    farthest.get(position.min(draws) - 1).copied()
}

/// Standard errors to each side by Student's *t*, for intervals of all pairs that hold together (Bonferroni).
fn students(blocks: usize, pairs: usize) -> Option<f64> {
    let each_side = (1.0 - HOLD) / (2.0 * pairs as f64);
    Some(StudentsT::new(0.0, 1.0, blocks as f64 - 1.0).ok()?.inverse_cdf(1.0 - each_side))
}

#[cfg(test)]
mod tests;
