//! Which reference breaks a cycle.
//! Owns: the order in which references are proposed. Never: proposes one that leaves a cycle, as far as the references are known.

use std::collections::{HashMap, HashSet};

use genba_heap::found::{Cycles, Reference};
use genba_heap::steps::Step;

/// Places in `Cycles::references`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Breaking {
    /// Each of these alone, the best one first.
    Each(Vec<usize>),
    /// All of these.
    Together(Vec<usize>),
    /// The references are not known.
    Unknown,
}

impl Breaking {
    /// `is_fixed`: whether the holder stays as it was made.
    pub fn of(cycles: &Cycles, is_fixed: impl Fn(&Reference) -> bool) -> Breaking {
        let graph = Graph::of(cycles);
        let mut order: Vec<usize> = (0..cycles.references.len())
            .filter(|&place| cycles.references.get(place).is_some_and(|reference| reference.step != Step::Attributes))
            .collect();
        order.sort_by_cached_key(|&place| {
            let reference = cycles.references.get(place);
            let fewest = std::cmp::Reverse(graph.references_a_target(place));
            let rank = reference.map(|reference| if is_fixed(reference) { LAST } else { rank(reference) });
            (rank, fewest, reference.map(|reference| reference.name.clone()))
        });
        let each: Vec<usize> =
            order.iter().copied().filter(|&place| graph.is_broken_without(&HashSet::from([place]))).collect();
        if !each.is_empty() {
            return Breaking::Each(each);
        }
        let mut taken = HashSet::new();
        for &place in &order {
            taken.insert(place);
            if graph.is_broken_without(&taken) {
                break;
            }
        }
        if taken.is_empty() || !graph.is_broken_without(&taken) {
            return Breaking::Unknown;
        }
        for place in order.iter().rev() {
            if taken.remove(place) && !graph.is_broken_without(&taken) {
                taken.insert(*place);
            }
        }
        Breaking::Together(order.into_iter().filter(|place| taken.contains(place)).collect())
    }
}

/// What no user can drop comes last.
const LAST: u8 = 6;

/// What a user can drop most easily comes first.
fn rank(reference: &Reference) -> u8 {
    let is_special = reference.name.starts_with("__");
    match reference.step {
        Step::Attribute | Step::Key if !is_special && !reference.is_many => 0,
        Step::Local => 1,
        Step::Attribute | Step::Key if reference.is_many => 2,
        Step::Item | Step::AsKey => 3,
        Step::Attribute | Step::Key => 4,
        Step::Plain | Step::Attributes => 5,
    }
}

/// The references of one cycle, or where these are too many, those between its classes: what breaks these breaks it.
struct Graph {
    nodes: usize,
    /// From, to, by which of the references.
    edges: Vec<(usize, usize, usize)>,
}

impl Graph {
    fn of(cycles: &Cycles) -> Graph {
        let edges: Vec<(usize, usize, usize)> = if cycles.example.is_empty() {
            let mut numbers = HashMap::new();
            let mut number = |node| {
                let next = numbers.len();
                *numbers.entry(node).or_insert(next)
            };
            let references = cycles.references.iter().enumerate();
            references.map(|(place, reference)| (number(reference.from), number(reference.to), place)).collect()
        } else {
            let edges = cycles.example.iter();
            edges.map(|edge| (usize::from(edge.from), usize::from(edge.to), usize::from(edge.kind))).collect()
        };
        let nodes = edges.iter().map(|&(from, to, _)| from.max(to) + 1).max().unwrap_or(0);
        Graph { nodes, edges }
    }

    /// A hundred for each that leads to the same object: those to a parent are more than those to a child.
    fn references_a_target(&self, reference: usize) -> usize {
        let own = self.edges.iter().filter(|(.., of)| *of == reference);
        let targets: HashSet<usize> = own.clone().map(|&(_, to, _)| to).collect();
        (own.count() * 100).checked_div(targets.len()).unwrap_or(0)
    }

    /// Whether no way leads from an object back to it.
    fn is_broken_without(&self, without: &HashSet<usize>) -> bool {
        let (mut next, mut waits_for) = (vec![Vec::new(); self.nodes], vec![0_usize; self.nodes]);
        for &(from, to, _) in self.edges.iter().filter(|(.., of)| !without.contains(of)) {
            if let (Some(next), Some(waits_for)) = (next.get_mut(from), waits_for.get_mut(to)) {
                next.push(to);
                *waits_for += 1;
            }
        }
        let mut free: Vec<usize> =
            waits_for.iter().enumerate().filter(|(_, count)| **count == 0).map(|(node, _)| node).collect();
        let mut passed = 0;
        while let Some(node) = free.pop() {
            passed += 1;
            for &to in next.get(node).into_iter().flatten() {
                if let Some(count) = waits_for.get_mut(to) {
                    *count -= 1;
                    if *count == 0 {
                        free.push(to);
                    }
                }
            }
        }
        passed == self.nodes
    }
}

#[cfg(test)]
mod tests {
    use super::Breaking;
    use genba_heap::cycles::shape::Edge;
    use genba_heap::found::{Cycles, Node, Reference};
    use genba_heap::steps::Step;

    fn breaking(cycles: &Cycles) -> Breaking {
        Breaking::of(cycles, |reference| reference.from.row == 9)
    }

    fn reference(from: u64, step: Step, name: &str, to: u64) -> Reference {
        let node = |row| Node { row, is_attributes: false };
        Reference { from: node(from), to: node(to), step, is_many: false, count: 1, name: name.to_owned() }
    }

    fn cycles(references: Vec<Reference>, example: &[(u16, u16, u8)]) -> Cycles {
        let example = example.iter().map(|&(from, to, kind)| Edge { from, to, kind }).collect();
        Cycles { references, example, ..Cycles::default() }
    }

    #[test]
    fn a_parent_goes_before_its_children() {
        // A node with three children, in a list.
        let references = vec![
            reference(1, Step::Attribute, "children", 2),
            reference(2, Step::Item, "", 1),
            reference(1, Step::Attribute, "parent", 1),
        ];
        let tree = [(0, 1, 0), (1, 2, 1), (1, 3, 1), (1, 4, 1), (2, 0, 2), (3, 0, 2), (4, 0, 2)];
        assert_eq!(breaking(&cycles(references, &tree)), Breaking::Each(vec![2, 0, 1]));
    }

    #[test]
    fn each_reference_of_a_simple_circle_breaks_it_and_names_come_first() {
        let references = vec![reference(1, Step::Item, "", 2), reference(2, Step::Key, "owner", 1)];
        assert_eq!(breaking(&cycles(references.clone(), &[(0, 1, 0), (1, 0, 1)])), Breaking::Each(vec![1, 0]));
        // The classes tell it, too.
        assert_eq!(breaking(&cycles(references, &[])), Breaking::Each(vec![1, 0]));
    }

    #[test]
    fn an_exception_is_let_go_by_the_variable_that_holds_it() {
        let references = vec![
            reference(1, Step::Attribute, "__traceback__", 9),
            reference(9, Step::Attribute, "tb_frame", 3),
            reference(3, Step::Local, "error", 1),
        ];
        assert_eq!(breaking(&cycles(references, &[])), Breaking::Each(vec![2, 0, 1]));
    }

    #[test]
    fn what_cannot_be_changed_comes_last() {
        let references = vec![reference(9, Step::Item, "", 1), reference(1, Step::Plain, "", 9)];
        assert_eq!(breaking(&cycles(references, &[])), Breaking::Each(vec![1, 0]));
    }

    #[test]
    fn where_none_is_enough_there_are_several() {
        let references = vec![
            reference(1, Step::Attribute, "itself", 1),
            reference(1, Step::Attribute, "next", 2),
            reference(2, Step::Attribute, "previous", 1),
        ];
        let both = [(0, 0, 0), (0, 1, 1), (1, 0, 2)];
        assert_eq!(breaking(&cycles(references, &both)), Breaking::Together(vec![0, 1]));
        assert_eq!(breaking(&Cycles::default()), Breaking::Unknown);
    }
}
