//! What happens below one piece of the user's code: the ways down, added up, and the heaviest of them.

use std::collections::HashMap;

use crate::report::Link;

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

    /// From the top follows the heaviest step each time, and ends where more weight ends than goes on in any one.
    /// Nothing when nothing has weight.
    pub fn heaviest(&self) -> Vec<Link> {
        let mut chain = Vec::new();
        let mut at = 0;
        loop {
            let step = &self.steps[at];
            let going_on = step.below.iter().map(|(_, next)| self.steps[*next].weight);
            let ending = step.weight.saturating_sub(going_on.fold(0, u64::saturating_add));
            let heaviest = step.below.iter().rev().max_by_key(|(_, next)| self.steps[*next].weight);
            match heaviest {
                Some((link, next)) if self.steps[*next].weight >= ending.max(1) => {
                    chain.push(*link);
                    at = *next;
                }
                _ => return chain,
            }
        }
    }
}
