//! Cycles of one shape together: how many there are, and one of them as an example.
//! Owns: the table of shapes. Never: loses a cycle: those beyond the table are in a row of their own.

use crate::cycles::shape::{Edge, Kind, Members, Shape, add_to};
use crate::ground::{Ground, NoMemory};
use crate::pile::Pile;

/// So many shapes, and so many more in which all keys count as one.
pub const GROUPS_MAX: usize = 1 << 12;
const PLACES: usize = 1 << 14;
/// References of all examples.
const EDGES_MAX: usize = 1 << 20;
/// The row of the shapes that have none.
pub const OTHERS: u32 = 0;

/// Cycles of one shape.
#[derive(Clone, Copy, Default, Debug)]
pub struct Group {
    signature: u64,
    pub cycles: u64,
    pub objects: u64,
    pub bytes: u64,
    /// What only they keep alive.
    pub held_objects: u64,
    pub held_bytes: u64,
    /// Objects of the largest one.
    pub largest: u64,
    pub members: Members,
    kinds: (usize, usize),
    edges: (usize, usize),
}

pub struct Groups {
    rows: Pile<Group>,
    kinds: Pile<Kind>,
    edges: Pile<Edge>,
    /// Rows by signature, each with 1 added.
    places: Pile<u32>,
}

impl Groups {
    pub fn new(ground: &impl Ground) -> Option<Groups> {
        let mut groups = Groups {
            rows: Pile::new(ground)?,
            kinds: Pile::new(ground)?,
            edges: Pile::new(ground)?,
            places: Pile::new(ground)?,
        };
        for _ in 0..PLACES {
            groups.places.push(0, ground).ok()?;
        }
        groups.rows.push(Group::default(), ground).ok()?;
        Some(groups)
    }

    pub fn rows(&self) -> &[Group] {
        self.rows.items()
    }

    pub fn row_mut(&mut self, row: u32) -> Option<&mut Group> {
        self.rows.items_mut().get_mut(row as usize)
    }

    pub fn kinds(&self, group: &Group) -> &[Kind] {
        self.kinds.items().get(group.kinds.0..group.kinds.1).unwrap_or_default()
    }

    /// The references of one of its cycles; none where each has too many.
    pub fn edges(&self, group: &Group) -> &[Edge] {
        self.edges.items().get(group.edges.0..group.edges.1).unwrap_or_default()
    }

    /// The row of the cycle's shape.
    pub fn add(&mut self, shape: &mut Shape, ground: &impl Ground) -> Result<u32, NoMemory> {
        let mut found = self.find(shape.signature());
        if found.is_err() && self.rows().len() > GROUPS_MAX {
            shape.fold(true);
            found = self.find(shape.signature());
        }
        let row = match found {
            Ok(row) => row,
            Err(_) if self.rows().len() > 2 * GROUPS_MAX => OTHERS,
            Err(place) => self.make(shape, place, ground)?,
        };
        let needs_edges = row != OTHERS
            && shape.has_all_edges
            && self.rows().get(row as usize).is_some_and(|group| group.edges.1 == 0)
            && self.edges.items().len() + shape.edges.items().len() <= EDGES_MAX;
        let from = self.edges.items().len();
        if needs_edges {
            for edge in shape.edges.items() {
                self.edges.push(*edge, ground)?;
            }
        }
        let Some(group) = self.rows.items_mut().get_mut(row as usize) else { return Ok(OTHERS) };
        if needs_edges {
            group.edges = (from, self.edges.items().len());
        }
        group.cycles += 1;
        group.objects += shape.objects;
        group.largest = group.largest.max(shape.objects);
        for &(node, count) in shape.members.iter().filter(|(_, count)| *count > 0) {
            add_to(&mut group.members, node, count);
        }
        let own = self.kinds.items_mut().get_mut(group.kinds.0..group.kinds.1).unwrap_or_default();
        for kind in shape.kinds.items() {
            if let Some(known) = own.iter_mut().find(|known| known.is_like(kind)) {
                known.count += kind.count;
            }
        }
        Ok(row)
    }

    /// Its row, or the place that waits for it.
    fn find(&self, signature: u64) -> Result<u32, usize> {
        let mut place = signature as usize % PLACES;
        for _ in 0..PLACES {
            let row = self.places.items().get(place).copied().unwrap_or(0);
            if row == 0 {
                break;
            }
            if self.rows().get(row as usize).is_some_and(|group| group.signature == signature) {
                return Ok(row);
            }
            place = (place + 1) % PLACES;
        }
        Err(place)
    }

    fn make(&mut self, shape: &Shape, place: usize, ground: &impl Ground) -> Result<u32, NoMemory> {
        let (row, from) = (self.rows.items().len() as u32, self.kinds.items().len());
        for kind in shape.kinds.items() {
            // `add` counts.
            self.kinds.push(Kind { count: 0, ..*kind }, ground)?;
        }
        let kinds = (from, self.kinds.items().len());
        self.rows.push(Group { signature: shape.signature(), kinds, ..Group::default() }, ground)?;
        if let Some(slot) = self.places.items_mut().get_mut(place) {
            *slot = row;
        }
        Ok(row)
    }

    pub fn give_back(self, ground: &impl Ground) {
        self.rows.give_back(ground);
        self.kinds.give_back(ground);
        self.edges.give_back(ground);
        self.places.give_back(ground);
    }
}

#[cfg(test)]
mod tests {
    use super::{GROUPS_MAX, Groups, OTHERS};
    use crate::cycles::shape::tests::{kind, shape};
    use crate::ground::tests::Heap;
    use crate::steps::Step;
    use std::cell::Cell;

    #[test]
    fn cycles_of_one_shape_are_one_row_with_one_example() {
        let heap = Heap(Cell::new(1000));
        let mut groups = Groups::new(&heap).unwrap();
        let (key, parent) = (kind(1, Step::Key, "key", 2), kind(2, Step::Attribute, "parent", 1));
        let rows: Vec<u32> = [vec![key, parent], vec![parent, key, parent], vec![kind(1, Step::Key, "key", 1)]]
            .iter()
            .map(|kinds| groups.add(&mut shape(kinds, &heap), &heap).unwrap())
            .collect();
        assert_eq!(rows, [1, 1, 2]);
        let group = groups.rows()[1];
        assert_eq!((group.cycles, group.objects, group.largest), (2, 5, 3));
        assert_eq!(&group.members[..3], &[(1, 2), (2, 3), (0, 0)]);
        assert_eq!(groups.kinds(&group).iter().map(|kind| kind.count).collect::<Vec<_>>(), [2, 3]);
        assert_eq!(groups.edges(&group).len(), 2, "one example is enough");
    }

    #[test]
    fn keys_count_as_one_when_there_are_too_many_shapes_and_no_cycle_is_lost() {
        let heap = Heap(Cell::new(100_000));
        let mut groups = Groups::new(&heap).unwrap();
        let rows: Vec<u32> = (0..GROUPS_MAX + 10)
            .map(|number| {
                let mut shape = shape(&[kind(1, Step::Key, &format!("key {number}"), 1)], &heap);
                let row = groups.add(&mut shape, &heap).unwrap();
                shape.give_back(&heap);
                row
            })
            .collect();
        assert_eq!(rows[GROUPS_MAX - 1] as usize, GROUPS_MAX);
        assert!(rows[GROUPS_MAX..].iter().all(|&row| row as usize == GROUPS_MAX + 1), "one row for all further keys");
        for number in 0..GROUPS_MAX as u32 + 10 {
            let mut shape = shape(&[kind(number + 2, Step::Attribute, "own", number + 2)], &heap);
            groups.add(&mut shape, &heap).unwrap();
            shape.give_back(&heap);
        }
        assert_eq!(groups.rows().iter().map(|group| group.cycles).sum::<u64>(), 2 * (GROUPS_MAX as u64 + 10));
        assert_eq!(groups.rows()[OTHERS as usize].cycles, 11);
    }
}
