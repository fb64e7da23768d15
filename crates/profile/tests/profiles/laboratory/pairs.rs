//! Pairs of sides that are compared, on all CPUs at once.
//! Each has a seed, so that a count is the same on every machine. Never: knows what is compared.

use crate::random::Random;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// As many as are asked for.
pub fn pairs() -> Option<usize> {
    std::env::var("GENBA_PAIRS").ok().and_then(|pairs| pairs.parse().ok())
}

/// Of so many pairs: of how many it holds. `holds` is given the pair's number and its random numbers.
pub fn counted(pairs: usize, seed: u64, holds: impl Fn(usize, &mut Random) -> bool + Sync) -> usize {
    let (next, found) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        loop {
            let pair = next.fetch_add(1, Ordering::Relaxed);
            if pair >= pairs {
                return;
            }
            if holds(pair, &mut of_pair(seed, pair)) {
                found.fetch_add(1, Ordering::Relaxed);
            }
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(pairs.max(1));
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    found.into_inner()
}

/// Seeds that are neighbours begin far apart (the finisher of SplitMix64: Steele, Lea and Flood 2014).
fn of_pair(seed: u64, pair: usize) -> Random {
    let mut mixed = (seed << 32 | pair as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    Random(mixed ^ (mixed >> 31))
}
