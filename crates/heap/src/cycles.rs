//! What the search for cycles in garbage keeps: who is on the path, where components begin, which shapes there are.
//! Owns: the states of an object, and how components are told apart. Never: reads an object (garbage.rs does).
//!
//! Gabow's search for strongly connected components, with stacks of its own instead of calls. `path` has the objects that belong to no
//! component yet, in the order in which they were met; `bounds` the places in it where a component may begin. A reference back to a place
//! takes all bounds behind it away: what lies there is one component. `work` has objects to visit, and those to leave, which are marked.

pub mod groups;
pub mod shape;

use core::cell::Cell;

use crate::classes::Facts;
use crate::ground::{Ground, NoMemory};
use crate::index::Index;
use crate::pile::Pile;
use crate::steps::ALL_PLACES_MAX;
use groups::Groups;
use shape::Shape;

/// States of an object, in the count of its references once these are subtracted. 0: garbage that was not visited. From 1 on: its place on
/// the path. From `IN_CYCLE` on: the group of its cycle.
pub(crate) const IN_USE: u32 = u32::MAX;
pub(crate) const IN_CYCLE: u32 = 0xf000_0000;
/// Garbage, in no cycle itself: a cycle leads to it.
pub(crate) const HANGS: u32 = IN_CYCLE - 1;
/// The same, and counted.
pub(crate) const COUNTED: u32 = HANGS - 1;
const PLACE_MAX: u32 = COUNTED - 1;

/// What is asked of a reference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// Nothing.
    Gather,
    /// What an object in use leads to is in use.
    Mark,
    /// Whether it leads back.
    Search,
    /// Whether it is to the dict of the holder's attributes.
    Owners,
    /// Whether it stays within the cycle, and what it is called.
    Name,
    /// Whether it is to an object that the collector does not track.
    Untracked,
    /// One reference to such an object is explained.
    Explain,
    /// What such an object in use leads to is in use.
    MarkUntracked,
    /// What a cycle leads to is counted with it.
    Count,
}

/// Of an entry of the path: the address. Above it is the row of the class that it has the attributes of.
const ADDRESS_BITS: u32 = 48;
const ADDRESS_MASK: u64 = (1 << ADDRESS_BITS) - 1;
/// Of an entry of `work`: it is left.
const LEAVES: u64 = 1;
/// Of the names of one holder's references so many places are looked through.
const HOLDER_PLACES_MAX: u64 = 1 << 16;

/// The object whose references are looked at.
#[derive(Clone, Copy)]
pub(crate) struct Holder {
    pub object: u64,
    /// In the path, from 1 on.
    pub place: u32,
    pub row: usize,
    pub facts: Facts,
}

pub(crate) enum Work {
    Visit(u64),
    Leave(u64),
}

pub struct Cycles {
    pub(crate) stage: Stage,
    path: Pile<u64>,
    bounds: Pile<u32>,
    work: Pile<u64>,
    /// Places of the component at hand, the first and the last one.
    pub(crate) component: (u32, u32),
    pub(crate) holder: Option<Holder>,
    pub(crate) shape: Shape,
    pub groups: Groups,
    /// Garbage that the collector does not track.
    pub(crate) untracked: Index,
    /// Whose references are counted.
    pub(crate) group: u32,
    /// What the collector tracks, and how much of that is garbage.
    pub tracked: u64,
    pub found: u64,
    pub(crate) left: Cell<u64>,
    all_left: u64,
}

impl Cycles {
    pub(crate) fn new(ground: &impl Ground) -> Option<Cycles> {
        Some(Cycles {
            stage: Stage::Gather,
            path: Pile::new(ground)?,
            bounds: Pile::new(ground)?,
            work: Pile::new(ground)?,
            component: (0, 0),
            holder: None,
            shape: Shape::new(ground)?,
            groups: Groups::new(ground)?,
            untracked: Index::new(ground)?,
            group: groups::OTHERS,
            tracked: 0,
            found: 0,
            left: Cell::new(0),
            all_left: ALL_PLACES_MAX,
        })
    }

    pub(crate) fn visit_later(&mut self, object: u64, ground: &impl Ground) -> Result<(), NoMemory> {
        self.work.push(object, ground)
    }

    pub(crate) fn next(&mut self) -> Option<Work> {
        let entry = self.work.pop()?;
        Some(if entry & LEAVES == 0 { Work::Visit(entry) } else { Work::Leave(entry & !LEAVES) })
    }

    /// The object's place on the path.
    pub(crate) fn enter(&mut self, object: u64, ground: &impl Ground) -> Result<u32, NoMemory> {
        self.path.push(object, ground)?;
        let place = u32::try_from(self.path.items().len()).ok().filter(|place| *place <= PLACE_MAX).ok_or(NoMemory)?;
        self.bounds.push(place, ground)?;
        self.work.push(object | LEAVES, ground)?;
        Ok(place)
    }

    /// The path leads back to a place: what lies behind it belongs together.
    #[inline]
    pub(crate) fn lead_back(&mut self, place: u32) {
        while self.bounds.items().last().is_some_and(|&bound| bound > place) {
            self.bounds.pop();
        }
    }

    /// Whether a component begins at the place that is left. It goes to the end of the path.
    pub(crate) fn leave(&mut self, place: u32) -> bool {
        if self.bounds.items().last() != Some(&place) {
            return false;
        }
        self.bounds.pop();
        self.component = (place, self.path.items().len() as u32);
        true
    }

    pub(crate) fn is_in_component(&self, place: u32) -> bool {
        (self.component.0..=self.component.1).contains(&place)
    }

    /// The object at a place, and the row of the class that it has the attributes of; 0: it has none.
    pub(crate) fn at(&self, place: u32) -> (u64, u32) {
        let entry = self.path.items().get((place as usize).wrapping_sub(1)).copied().unwrap_or(0);
        (entry & ADDRESS_MASK, (entry >> ADDRESS_BITS) as u32)
    }

    pub(crate) fn own(&mut self, place: u32, row: usize) {
        if let Some(entry) = self.path.items_mut().get_mut((place as usize).wrapping_sub(1)) {
            *entry = *entry & ADDRESS_MASK | (row as u64) << ADDRESS_BITS;
        }
    }

    pub(crate) fn end_component(&mut self) {
        self.path.truncate(self.component.0 as usize - 1);
    }

    /// Names are looked for in so many places of each holder, as long as there are any left.
    pub(crate) fn hold(&mut self, holder: Holder) {
        let given = HOLDER_PLACES_MAX.min(self.all_left);
        self.all_left -= given;
        self.holder = Some(holder);
        self.left.set(given);
    }

    pub(crate) fn let_go(&mut self) {
        self.holder = None;
        self.all_left += self.left.replace(0);
    }

    pub fn give_back(self, ground: &impl Ground) {
        self.path.give_back(ground);
        self.bounds.give_back(ground);
        self.work.give_back(ground);
        self.shape.give_back(ground);
        self.groups.give_back(ground);
        self.untracked.give_back(ground);
    }
}

#[cfg(test)]
mod tests {
    use super::{Cycles, Work};
    use crate::ground::tests::Heap;
    use std::cell::Cell;
    use std::collections::HashMap;

    fn components(graph: &[&[u64]]) -> Vec<Vec<u64>> {
        let heap = Heap(Cell::new(1000));
        components_by(&mut Cycles::new(&heap).unwrap(), graph, &heap)
    }

    /// Components of a graph of numbers, each sorted.
    fn components_by(cycles: &mut Cycles, graph: &[&[u64]], heap: &Heap) -> Vec<Vec<u64>> {
        let mut states: HashMap<u64, u32> = HashMap::new();
        let mut found = Vec::new();
        for node in 0..graph.len() as u64 {
            if states.contains_key(&node) {
                continue;
            }
            cycles.visit_later(node * 8, heap).unwrap();
            while let Some(work) = cycles.next() {
                match work {
                    Work::Visit(object) => match states.get(&(object / 8)) {
                        None => {
                            states.insert(object / 8, cycles.enter(object, heap).unwrap());
                            for next in graph[(object / 8) as usize] {
                                match states.get(next) {
                                    None => cycles.visit_later(next * 8, heap).unwrap(),
                                    Some(&place) if place > 0 => cycles.lead_back(place),
                                    Some(_) => {}
                                }
                            }
                        }
                        Some(&place) if place > 0 => cycles.lead_back(place),
                        Some(_) => {}
                    },
                    Work::Leave(object) => {
                        if cycles.leave(states[&(object / 8)]) {
                            let (first, last) = cycles.component;
                            let mut nodes: Vec<u64> = (first..=last).map(|place| cycles.at(place).0 / 8).collect();
                            states.extend(nodes.iter().map(|&node| (node, 0)));
                            nodes.sort_unstable();
                            found.push(nodes);
                            cycles.end_component();
                        }
                    }
                }
            }
        }
        found.sort();
        found
    }

    #[test]
    fn components_are_told_apart() {
        assert_eq!(components(&[&[1], &[2], &[0]]), [[0, 1, 2]]);
        assert_eq!(components(&[&[1, 2], &[], &[0, 1]]), [vec![0, 2], vec![1]]);
        // Two circles with a bridge, one object that hangs off, one that leads in.
        assert_eq!(components(&[&[1], &[0, 2], &[3], &[2, 4], &[], &[0]]), [vec![0, 1], vec![2, 3], vec![4], vec![5]]);
        // A reference back past several, met behind another branch.
        assert_eq!(components(&[&[1, 4], &[2], &[3], &[1], &[5], &[0, 3]]), [vec![0, 4, 5], vec![1, 2, 3]]);
        assert_eq!(components(&[&[0, 0], &[1, 0]]), [[0], [1]]);
    }

    #[test]
    fn they_are_what_reachability_says_of_any_graph() {
        let heap = Heap(Cell::new(1000));
        let mut cycles = Cycles::new(&heap).unwrap();
        let mut random = 7_u64;
        let mut below = |end: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % end
        };
        for _ in 0..200 {
            let nodes = 1 + below(12);
            let graph: Vec<Vec<u64>> = (0..nodes).map(|_| (0..below(4)).map(|_| below(nodes)).collect()).collect();
            let graph: Vec<&[u64]> = graph.iter().map(Vec::as_slice).collect();
            let reached = |from: u64| {
                let (mut seen, mut waiting) = (vec![from], vec![from]);
                while let Some(node) = waiting.pop() {
                    for &next in graph[node as usize] {
                        if !seen.contains(&next) {
                            seen.push(next);
                            waiting.push(next);
                        }
                    }
                }
                seen
            };
            let mut expected: Vec<Vec<u64>> = (0..nodes)
                .map(|node| {
                    (0..nodes)
                        .filter(|&other| reached(node).contains(&other) && reached(other).contains(&node))
                        .collect()
                })
                .collect();
            expected.sort();
            expected.dedup();
            assert_eq!(components_by(&mut cycles, &graph, &heap), expected, "{graph:?}");
        }
    }
}
