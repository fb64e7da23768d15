//! The stacks that one step was seen in, as a tree, and for how long each.
//! Owns: in which of them most of the step was, call by call from the root on. Never: grows without a bound; writes anything.
//!
//! One call of a library has hundreds of stacks, none of them for more than half of the step, and the function that called it is in all of them.

use rustc_hash::FxHashMap;

/// More nodes are not told apart from the calls that they are below.
const NODES_MAX: usize = 1024;

#[derive(Clone, Copy, Debug)]
struct Seen {
    node: u32,
    /// Its position, less than this one's. None: a root.
    parent: Option<u32>,
    /// With this node as the leaf.
    ns: u64,
}

#[derive(Clone, Debug, Default)]
pub struct SeenStacks {
    seen: Vec<Seen>,
    /// The position of each node.
    positions: FxHashMap<u32, u32>,
    /// The last stack's nodes, from the root on: most of the next one is the same.
    last: Vec<u32>,
}

impl SeenStacks {
    /// Seen in this stack for so long. Its nodes come from the root on; each of them has one parent.
    pub fn add(&mut self, stack: impl Iterator<Item = u32>, ns: u64) {
        let (mut parent, mut depth) = (None, 0);
        for node in stack {
            if self.last.get(depth).is_some_and(|&position| self.seen[position as usize].node == node) {
                parent = self.last.get(depth).copied();
            } else {
                self.last.truncate(depth);
                let Some(position) = self.position(node, parent) else { break };
                self.last.push(position);
                parent = Some(position);
            }
            depth += 1;
        }
        self.last.truncate(depth);
        if let Some(leaf) = parent {
            self.seen[leaf as usize].ns += ns;
        }
    }

    /// For so long in a stack that it was seen in.
    pub fn add_to(&mut self, leaf: u32, ns: u64) {
        match self.positions.get(&leaf) {
            Some(&position) => self.seen[position as usize].ns += ns,
            // There were too many.
            None => self.add(std::iter::once(leaf), ns),
        }
    }

    /// None: there are too many.
    fn position(&mut self, node: u32, parent: Option<u32>) -> Option<u32> {
        if let Some(&position) = self.positions.get(&node) {
            return Some(position);
        }
        let position = self.seen.len();
        (position < NODES_MAX).then(|| {
            self.seen.push(Seen { node, parent, ns: 0 });
            self.positions.insert(node, position as u32);
            position as u32
        })
    }

    /// From the roots on, always into the call with most time in it and below it. 0: no stack.
    #[must_use]
    pub fn heaviest(&self) -> u32 {
        // Callees come behind their callers.
        let mut whole_ns: Vec<u64> = self.seen.iter().map(|seen| seen.ns).collect();
        // The heaviest call in each, the first of equal ones.
        let mut into: Vec<Option<usize>> = vec![None; self.seen.len()];
        let mut root: Option<usize> = None;
        for (position, seen) in self.seen.iter().enumerate().rev() {
            let best = match seen.parent {
                Some(parent) => {
                    whole_ns[parent as usize] += whole_ns[position];
                    &mut into[parent as usize]
                }
                None => &mut root,
            };
            if best.is_none_or(|best| whole_ns[best] <= whole_ns[position]) {
                *best = Some(position);
            }
        }
        let mut at = root;
        while let Some(callee) = at.and_then(|position| into[position]) {
            if at.is_some_and(|position| self.seen[position].ns > whole_ns[callee]) {
                break;
            }
            at = Some(callee);
        }
        at.map_or(0, |position| self.seen[position].node)
    }
}

#[cfg(test)]
mod tests {
    use super::{NODES_MAX, SeenStacks};

    fn seen(stacks: &[(&[u32], u64)]) -> SeenStacks {
        let mut seen = SeenStacks::default();
        stacks.iter().for_each(|(stack, ns)| seen.add(stack.iter().copied(), *ns));
        seen
    }

    #[test]
    fn the_call_with_most_time_in_many_stacks_is_before_the_longest_stack() {
        // 2 calls 4, 5 and 6; 3 is seen alone, longest and last.
        let stacks: [(&[u32], u64); 4] = [(&[1, 2, 4], 40), (&[1, 2, 5], 50), (&[1, 2, 6], 45), (&[1, 3], 60)];
        assert_eq!(seen(&stacks).heaviest(), 5);
        assert_eq!(seen(&stacks[..3]).heaviest(), 5);
        assert_eq!(seen(&stacks[3..]).heaviest(), 3);
        assert_eq!(seen(&[]).heaviest(), 0);
    }

    #[test]
    fn a_call_that_works_itself_is_before_what_it_calls() {
        assert_eq!(seen(&[(&[1, 2], 50), (&[1, 2, 3], 20), (&[1, 2, 4], 20)]).heaviest(), 2);
        assert_eq!(seen(&[(&[1], 10), (&[1, 2], 10)]).heaviest(), 2);
    }

    #[test]
    fn what_was_waited_counts_where_it_was_seen() {
        let mut waits = seen(&[(&[1, 2], 50), (&[1, 3], 0)]);
        waits.add_to(3, 60);
        assert_eq!(waits.heaviest(), 3);
        waits.add_to(9, 200);
        assert_eq!(waits.heaviest(), 9);
    }

    #[test]
    fn a_long_step_keeps_a_bounded_number_of_stacks() {
        let mut long = SeenStacks::default();
        for leaf in 0..2 * NODES_MAX as u32 {
            long.add([1, 2, leaf + 10].into_iter(), 1);
            long.add([1, 3].into_iter(), 1);
        }
        assert_eq!(long.seen.len(), NODES_MAX);
        // Those that are not told apart are their caller's.
        long.add([1, 2, 9_999, 10_000].into_iter(), 1);
        assert_eq!(long.heaviest(), 2);
    }
}
