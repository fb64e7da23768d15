//! What happens below one piece of the user's code: the ways down, added up, and what most of them have in common.
//! Owns: how far that goes. Keeps: shares are of the row's own time, and those that `genba tree` has for the same path, the whole stacks and
//! the cut ones together.

use foldhash::HashMap;
use std::mem;

use crate::tables::file_names::module;
use crate::tables::profile::{Function, FunctionIndex, Home, Profile};
use crate::tables::state::in_words;
use crate::words::figures::share;
use genba_format::state::State;

/// A step belongs to the chain while it keeps so much of the row's own time.
const KEPT_MIN: f64 = 0.5;
/// Where the chain ends it goes on in so many steps at most, each with so much of that time at least.
const SPLIT_MAX: usize = 3;
const SPLIT_MIN: f64 = 0.1;

/// One step below the user's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Link {
    Function(FunctionIndex),
    /// What the thread waited for.
    State(State),
}

impl Link {
    pub fn name(self, profile: &Profile) -> String {
        match self {
            Link::Function(function) => match &profile.functions[function] {
                Function { name, home: Home::Python { file, .. }, .. } if name == "<module>" => {
                    module(&profile.files[*file].path)
                        .map_or_else(|| name.clone(), |module| format!("<module {module}>"))
                }
                Function { name, .. } => name.clone(),
            },
            Link::State(state) => in_words(state),
        }
    }

    /// What says that a part of the stack is missing here.
    pub fn is_mark(self, profile: &Profile) -> bool {
        matches!(self, Link::Function(function) if profile.functions[function].home == Home::Mark)
    }
}

/// The way that at least half of a row's own time took, and where it goes on from there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chain {
    /// From below the user's code.
    pub links: Vec<Link>,
    /// Of the row's own time, 0 to 1: what took all of these links.
    pub share: f64,
    /// The next steps, the largest first, with their shares of the row's own time.
    pub split: Vec<(Link, f64)>,
}

impl Chain {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.links.is_empty() && self.split.is_empty()
    }
}

/// The ways from the user's code down to the leaves, merged where they begin alike.
pub struct Chains {
    steps: Vec<Step>,
}

#[derive(Default)]
struct Step {
    /// Of this step and everything below it.
    weight: u64,
    /// In the order in which they came, so that equal weights have one answer.
    below: Vec<(Link, usize)>,
    position_of: HashMap<Link, usize>,
}

impl Default for Chains {
    fn default() -> Self {
        Chains { steps: vec![Step::default()] }
    }
}

impl Chains {
    /// `way` begins below the user's code.
    pub fn add(&mut self, way: impl Iterator<Item = Link>, weight: u64) {
        let mut at = 0;
        self.steps[at].weight = self.steps[at].weight.saturating_add(weight);
        for link in way {
            let next = self.steps.len();
            let found = *self.steps[at].position_of.entry(link).or_insert(next);
            if found == next {
                self.steps[at].below.push((link, next));
                self.steps.push(Step::default());
            }
            at = found;
            self.steps[at].weight = self.steps[at].weight.saturating_add(weight);
        }
    }

    /// Empty if nothing has weight. A mark says where a part of the stack is missing. What follows the mark goes to the same step reached
    /// without one; only the rest stays under the mark.
    pub fn descent(mut self, is_mark: impl Fn(&Link) -> bool) -> Chain {
        self.merge_cut(&is_mark);
        let whole = self.steps[0].weight;
        let share_of = |step: &Step| share(step.weight, whole);
        let mut links = Vec::new();
        let mut at = 0;
        loop {
            let below = &self.steps[at].below;
            let heaviest = below.iter().rev().max_by_key(|(_, next)| self.steps[*next].weight);
            match heaviest.filter(|(_, next)| share_of(&self.steps[*next]) >= KEPT_MIN) {
                Some((link, next)) => {
                    links.push(*link);
                    at = *next;
                }
                None => break,
            }
        }
        let mut split: Vec<(Link, f64)> =
            self.steps[at].below.iter().map(|(link, next)| (*link, share_of(&self.steps[*next]))).collect();
        split.retain(|(_, share)| *share >= SPLIT_MIN);
        split.sort_by(|(_, left), (_, right)| right.total_cmp(left));
        split.truncate(SPLIT_MAX);
        Chain { share: if links.is_empty() { 0.0 } else { share_of(&self.steps[at]) }, links, split }
    }
}

impl Chains {
    fn merge_cut(&mut self, is_mark: &impl Fn(&Link) -> bool) {
        let mut to_visit = vec![0];
        while let Some(at) = to_visit.pop() {
            let marks: Vec<usize> =
                self.steps[at].below.iter().filter(|(link, _)| is_mark(link)).map(|(_, mark)| *mark).collect();
            for mark in marks {
                for (link, cut) in mem::take(&mut self.steps[mark].below) {
                    match self.steps[at].position_of.get(&link) {
                        Some(&whole) => {
                            self.steps[mark].weight -= self.steps[cut].weight;
                            self.merge(cut, whole);
                        }
                        None => self.steps[mark].below.push((link, cut)),
                    }
                }
            }
            to_visit.extend(self.steps[at].below.iter().map(|(_, next)| *next));
        }
    }

    /// Everything at and below `from` is added to `to`, and `from` is left without weight.
    fn merge(&mut self, from: usize, to: usize) {
        let mut to_merge = vec![(from, to)];
        while let Some((from, to)) = to_merge.pop() {
            let Step { weight, below, .. } = mem::take(&mut self.steps[from]);
            self.steps[to].weight = self.steps[to].weight.saturating_add(weight);
            for (link, next) in below {
                let found = *self.steps[to].position_of.entry(link).or_insert(next);
                if found == next {
                    self.steps[to].below.push((link, next));
                } else {
                    to_merge.push((next, found));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::profile::FunctionIndex;
    use crate::tables::table::TableIndex;

    /// `abc 3` is a way through three functions that weighs 3; `!` is a mark.
    #[track_caller]
    fn check(ways: &[(&str, u64)], expected: &str) {
        let mut chains = Chains::default();
        for (way, weight) in ways {
            let links = way.bytes().map(|letter| Link::Function(FunctionIndex::new(usize::from(letter))));
            chains.add(links, *weight);
        }
        let letter = |link: &Link| match link {
            Link::Function(function) => char::from(u8::try_from(function.position()).unwrap()),
            Link::State(_) => '?',
        };
        let Chain { links, share, split } =
            chains.descent(|link| *link == Link::Function(FunctionIndex::new(usize::from(b'!'))));
        let links: String = links.iter().map(letter).collect();
        let split: Vec<String> =
            split.iter().map(|(link, share)| format!("{} {:.0}", letter(link), share * 100.0)).collect();
        assert_eq!(format!("{links} {:.0} | {}", share * 100.0, split.join(", ")), expected, "{ways:?}");
    }

    #[test]
    fn a_chain_goes_on_while_half_of_the_time_does() {
        check(&[("abc", 10)], "abc 100 | ");
        check(&[("abc", 5), ("abd", 5)], "abc 50 | ");
        check(&[("abc", 4), ("abd", 4), ("ab", 2)], "ab 100 | c 40, d 40");
        check(&[("abc", 49), ("x", 51)], "x 51 | ");
        check(&[("a", 40), ("b", 30), ("c", 20), ("d", 10)], " 0 | a 40, b 30, c 20");
    }

    #[test]
    fn a_cut_stack_counts_with_the_whole_ones_that_go_on_alike() {
        check(&[("abc", 6), ("!bc", 4)], "abc 60 | ");
        check(&[("ab", 41), ("a", 12), ("!ab", 36), ("!x", 11)], "ab 77 | ");
        check(&[("!ab", 6), ("!ac", 4)], "!ab 60 | ");
        check(&[("ab", 3), ("!ab", 3), ("!acd", 4)], "ab 60 | ");
        check(&[("ab", 4), ("!a", 3), ("!xy", 3)], "a 70 | b 40");
        check(&[("za", 3), ("z!a", 4), ("z!b", 3)], "za 70 | ");
    }

    #[test]
    fn what_ends_on_the_way_is_none_of_the_chain() {
        check(&[("", 60), ("a", 40)], " 0 | a 40");
        check(&[("", 95), ("a", 5)], " 0 | ");
        check(&[], " 0 | ");
        check(&[("a", 0)], " 0 | ");
    }
}
