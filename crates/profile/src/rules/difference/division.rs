//! Under which caller a row is: the nearest one at which the ways to the row's function divide, over all recordings.
//! Owns: how much of a function's time one caller may have without dividing it. Keeps: all expressions of a function divide at the same place.

use foldhash::HashMap;

use crate::rules::difference::aligned::SiteIndex;

/// A caller with more than this part of a function's time has nearly all of it: its own callers tell more.
const NEARLY_ALL: f64 = 0.9;

/// The ways to one function, the nearest caller first, each with its weight.
#[derive(Debug, Default)]
pub struct Ways {
    weight_of: HashMap<Vec<SiteIndex>, f64>,
}

/// The callers that nearly all ways have in common.
#[derive(Debug)]
pub struct Division {
    common: Vec<SiteIndex>,
    /// Of the way that has nearly all: which of its callers names it.
    named: usize,
}

impl Ways {
    pub fn add(&mut self, way: &[SiteIndex], weight: f64) {
        *self.weight_of.entry(way.to_vec()).or_default() += weight;
    }

    #[must_use]
    pub fn division(&self) -> Division {
        let mut ways: Vec<(&Vec<SiteIndex>, f64)> = self.weight_of.iter().map(|(way, weight)| (way, *weight)).collect();
        // Sums of floats depend on their order.
        ways.sort_by_key(|(way, _)| *way);
        let whole: f64 = ways.iter().map(|(_, weight)| weight).sum();
        let mut common: Vec<SiteIndex> = Vec::new();
        loop {
            let mut next: HashMap<SiteIndex, f64> = HashMap::default();
            for (way, weight) in &ways {
                if let Some(&caller) = way.strip_prefix(&common[..]).and_then(<[SiteIndex]>::first) {
                    *next.entry(caller).or_default() += weight;
                }
            }
            let largest = next.iter().max_by(|one, other| one.1.total_cmp(other.1).then(other.0.cmp(one.0)));
            match largest {
                Some((caller, weight)) if *weight > NEARLY_ALL * whole => common.push(*caller),
                _ => break,
            }
        }
        // Where most of the rest leaves; without any rest, the nearest caller.
        let mut leaving = vec![0.0; common.len() + 1];
        for (way, weight) in ways.iter().filter(|(way, _)| **way != common) {
            leaving[together(way, &common)] += weight;
        }
        let most = leaving.iter().copied().fold(0.0, f64::max);
        let named = leaving.iter().position(|weight| *weight == most && most > 0.0).unwrap_or(0);
        Division { common, named }
    }
}

impl Division {
    /// Where this way leaves the others.
    #[must_use]
    pub fn caller(&self, way: &[SiteIndex]) -> Option<SiteIndex> {
        let position = if way == self.common { self.named } else { together(way, &self.common) };
        way.get(position).copied()
    }
}

/// How many callers two ways have in common.
fn together(one: &[SiteIndex], other: &[SiteIndex]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ways as `0>3 40`, separated by commas: the caller of each.
    fn check(ways: &str, expected: &[Option<usize>]) {
        let read = |text: &str| -> (Vec<SiteIndex>, f64) {
            let (way, weight) = text.rsplit_once(' ').expect("a weight");
            let sites = way.split('>').filter(|site| !site.trim().is_empty());
            (
                sites.map(|site| SiteIndex::of(site.trim().parse().expect("a number"))).collect(),
                weight.parse().expect("a weight"),
            )
        };
        let ways: Vec<(Vec<SiteIndex>, f64)> = ways.split(',').map(read).collect();
        let mut all = Ways::default();
        for (way, weight) in &ways {
            all.add(way, *weight);
        }
        let division = all.division();
        let callers: Vec<Option<SiteIndex>> = ways.iter().map(|(way, _)| division.caller(way)).collect();
        assert_eq!(callers, expected.iter().map(|site| site.map(SiteIndex::of)).collect::<Vec<_>>());
    }

    #[test]
    fn the_nearest_division_counts() {
        // Called by 0 alone, which 1 and 2 call.
        check("0>1>9 50, 0>2>9 50", &[Some(1), Some(2)]);
        check("1>9 50, 2>9 50", &[Some(1), Some(2)]);
        // One way: the nearest caller.
        check("0>1>9 50", &[Some(0)]);
        check(" 50", &[None]);
        // What is rare divides nothing, and has its own caller.
        check("0>1>9 60, 0>2>9 38, 3>9 2", &[Some(1), Some(2), Some(3)]);
        // Nearly all is on one way: its caller is where the rest leaves it.
        check("0>1>9 95, 0>2>9 5", &[Some(1), Some(2)]);
        // A way may end where others go on.
        check("0>1 50, 0 50", &[Some(1), None]);
    }
}
