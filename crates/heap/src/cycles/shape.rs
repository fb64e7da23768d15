//! What one cycle looks like: which classes are in it, and by what names they lead to each other.
//! Owns: the kinds of references of a cycle, and when many names count as one. Never: reads an object.

use crate::ground::{Ground, NoMemory};
use crate::pile::Pile;
use crate::steps::{STEP_BYTES, Step};

/// So many kinds of references of one cycle are told apart.
pub const KINDS_MAX: usize = 64;
/// More names between the same two classes are one kind: they are data, as the keys of a cache are.
const NAMES_MAX: usize = 8;
/// So many classes of one cycle are told apart.
pub const MEMBERS_MAX: usize = 16;
/// Of a cycle with more references only the kinds are kept.
const EDGES_MAX: usize = 1 << 16;

/// Of a node: it is the dict of the attributes of an object of this class.
pub const IS_ATTRIBUTES: u32 = 1 << 31;

/// References from objects of one class to objects of another, by one name.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Row of the class; with `IS_ATTRIBUTES`: the dict of its objects' attributes.
    pub from: u32,
    pub to: u32,
    pub step: Step,
    /// By many names.
    pub is_many: bool,
    pub len: usize,
    pub name: [u8; STEP_BYTES],
    pub count: u64,
}

impl Kind {
    fn has_ends_of(&self, other: &Kind) -> bool {
        (self.from, self.to, self.step) == (other.from, other.to, other.step)
    }

    pub fn is_like(&self, other: &Kind) -> bool {
        self.has_ends_of(other) && self.is_many == other.is_many && self.text() == other.text()
    }

    pub fn text(&self) -> &[u8] {
        self.name.get(..self.len).unwrap_or_default()
    }

    fn of_many(mut self) -> Kind {
        (self.is_many, self.len) = (true, 0);
        self
    }

    /// All kinds beyond the table.
    fn other(mut self) -> Kind {
        (self.from, self.to, self.step) = (0, 0, Step::Plain);
        self.of_many()
    }

    fn hash(&self) -> u64 {
        let numbers = [u64::from(self.from), u64::from(self.to), self.step as u64, u64::from(self.is_many)];
        let bytes = self.text().iter().map(|&letter| u64::from(letter));
        let mixed = numbers
            .into_iter()
            .chain(bytes)
            .fold(0xcbf2_9ce4_8422_2325, |hash: u64, part| (hash ^ part).wrapping_mul(0x0100_0000_01b3));
        (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    }
}

/// A reference between two objects of a cycle, by their places in it, and its kind's place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edge {
    pub from: u16,
    pub to: u16,
    pub kind: u8,
}

/// How many objects of a class there are: its node, their number.
pub type Members = [(u32, u64); MEMBERS_MAX];

/// One cycle.
pub struct Shape {
    pub kinds: Pile<Kind>,
    pub members: Members,
    /// Each reference, unless there are too many.
    pub edges: Pile<Edge>,
    pub has_all_edges: bool,
    pub objects: u64,
}

impl Shape {
    pub fn new(ground: &impl Ground) -> Option<Shape> {
        let (kinds, edges) = (Pile::new(ground)?, Pile::new(ground)?);
        Some(Shape { kinds, members: [(0, 0); MEMBERS_MAX], edges, has_all_edges: true, objects: 0 })
    }

    /// Another cycle, of so many objects.
    pub fn begin(&mut self, objects: u64) {
        self.kinds.truncate(0);
        self.edges.truncate(0);
        self.members = [(0, 0); MEMBERS_MAX];
        self.objects = objects;
        self.has_all_edges = objects <= EDGES_MAX as u64;
    }

    pub fn is_empty(&self) -> bool {
        self.kinds.items().is_empty()
    }

    pub fn add_member(&mut self, node: u32) {
        add_to(&mut self.members, node, 1);
    }

    /// One reference, between two places of the cycle.
    pub fn add(&mut self, kind: Kind, from: u64, to: u64, ground: &impl Ground) -> Result<(), NoMemory> {
        let at = self.place_of(kind, ground)?;
        if let Some(known) = self.kinds.items_mut().get_mut(at) {
            known.count += 1;
        }
        self.has_all_edges &= self.edges.items().len() < EDGES_MAX;
        if self.has_all_edges {
            self.edges.push(Edge { from: from as u16, to: to as u16, kind: at as u8 }, ground)?;
        }
        Ok(())
    }

    fn place_of(&mut self, kind: Kind, ground: &impl Ground) -> Result<usize, NoMemory> {
        let kinds = self.kinds.items();
        let known = |kind: &Kind| kinds.iter().position(|one| one.is_like(kind));
        if let Some(at) = known(&kind) {
            return Ok(at);
        }
        let names = kinds.iter().filter(|one| one.has_ends_of(&kind)).count();
        let kind = if kind.len > 0 && names >= NAMES_MAX { kind.of_many() } else { kind };
        let kind = if kinds.len() < KINDS_MAX - 1 { kind } else { kind.other() };
        if let Some(at) = known(&kind) {
            return Ok(at);
        }
        let at = kinds.len();
        self.kinds.push(Kind { count: 0, ..kind }, ground)?;
        Ok(at)
    }

    /// Names of which there are many between the same classes become one kind; `all_keys`: each key does.
    pub fn fold(&mut self, all_keys: bool) {
        let mut places = [0_u8; KINDS_MAX];
        let mut is_folded = [false; KINDS_MAX];
        for (kind, is_folded) in self.kinds.items().iter().zip(&mut is_folded) {
            let is_one_of_many = self.kinds.items().iter().any(|one| one.is_many && one.has_ends_of(kind));
            *is_folded = is_one_of_many || all_keys && kind.step == Step::Key;
        }
        let mut kept = 0;
        for (place, (at, &is_folded)) in places.iter_mut().zip(is_folded.iter().enumerate()) {
            let kinds = self.kinds.items_mut();
            let Some(&kind) = kinds.get(at) else { break };
            let kind = if is_folded { kind.of_many() } else { kind };
            match kinds.iter_mut().take(kept).position(|one| one.is_like(&kind)) {
                Some(known) => {
                    if let Some(one) = kinds.get_mut(known) {
                        one.count += kind.count;
                    }
                    *place = known as u8;
                }
                None => {
                    if let Some(slot) = kinds.get_mut(kept) {
                        *slot = kind;
                    }
                    *place = kept as u8;
                    kept += 1;
                }
            }
        }
        self.kinds.truncate(kept);
        for edge in self.edges.items_mut() {
            edge.kind = places.get(usize::from(edge.kind)).copied().unwrap_or(0);
        }
    }

    /// The same for cycles with the same kinds, in whatever order these came.
    pub fn signature(&self) -> u64 {
        self.kinds.items().iter().fold(self.kinds.items().len() as u64, |sum, kind| sum.wrapping_add(kind.hash()))
    }

    pub fn give_back(self, ground: &impl Ground) {
        self.kinds.give_back(ground);
        self.edges.give_back(ground);
    }
}

/// The last place is for all classes that have none.
pub fn add_to(members: &mut Members, node: u32, count: u64) {
    let last = members.len() - 1;
    let free = |&(one, objects): &(u32, u64)| one == node || objects == 0;
    let at = members.iter().take(last).position(free).unwrap_or(last);
    if let Some(slot) = members.get_mut(at) {
        *slot = (if at == last { 0 } else { node }, slot.1 + count);
    }
}

#[cfg(test)]
pub mod tests {
    use super::{Kind, MEMBERS_MAX, Shape, add_to};
    use crate::ground::tests::Heap;
    use crate::steps::{STEP_BYTES, Step};
    use std::cell::Cell;

    pub fn kind(from: u32, step: Step, text: &str, to: u32) -> Kind {
        let mut name = [0; STEP_BYTES];
        name[..text.len()].copy_from_slice(text.as_bytes());
        Kind { from, to, step, is_many: false, len: text.len(), name, count: 0 }
    }

    pub fn shape(kinds: &[Kind], heap: &Heap) -> Shape {
        let mut shape = Shape::new(heap).unwrap();
        shape.begin(kinds.len() as u64);
        for (place, kind) in kinds.iter().enumerate() {
            shape.add_member(kind.from);
            shape.add(*kind, place as u64, ((place + 1) % kinds.len()) as u64, heap).unwrap();
        }
        shape.fold(false);
        shape
    }

    #[test]
    fn the_order_of_its_references_does_not_matter_and_their_names_do() {
        let heap = Heap(Cell::new(100));
        let (key, parent) = (kind(1, Step::Key, "key", 2), kind(2, Step::Attribute, "parent", 1));
        let one = shape(&[key, parent], &heap).signature();
        assert_eq!(one, shape(&[parent, key], &heap).signature());
        for other in [
            [kind(1, Step::Key, "kez", 2), parent],
            [kind(1, Step::Attribute, "key", 2), parent],
            [kind(2, Step::Key, "key", 1), parent],
        ] {
            assert_ne!(one, shape(&other, &heap).signature());
        }
    }

    #[test]
    fn many_names_are_one_kind_and_references_follow() {
        let heap = Heap(Cell::new(100));
        let names: Vec<String> = (0..20).map(|number| format!("user:{number}")).collect();
        let mut kinds: Vec<Kind> = names.iter().map(|name| kind(1, Step::Key, name, 2)).collect();
        kinds.push(kind(2, Step::Attribute, "cache", 1));
        let shape = shape(&kinds, &heap);
        let [many, back] = shape.kinds.items() else { panic!("{:?}", shape.kinds.items()) };
        assert!(many.is_many && many.len == 0 && many.count == 20 && back.count == 1);
        let of_edges: Vec<u8> = shape.edges.items().iter().map(|edge| edge.kind).collect();
        assert_eq!(of_edges, [[0; 20].as_slice(), &[1]].concat());
        assert_eq!(&shape.members[..3], &[(1, 20), (2, 1), (0, 0)]);
    }

    #[test]
    fn few_names_stay_and_all_keys_go_when_asked() {
        let heap = Heap(Cell::new(100));
        let mut shape = shape(&[kind(1, Step::Key, "a", 1), kind(1, Step::Key, "b", 1)], &heap);
        assert_eq!(shape.kinds.items().len(), 2);
        shape.fold(true);
        let [many] = shape.kinds.items() else { panic!("{:?}", shape.kinds.items()) };
        assert_eq!((many.is_many, many.count), (true, 2));
    }

    #[test]
    fn more_kinds_than_there_is_room_for_are_one() {
        let heap = Heap(Cell::new(100));
        let kinds: Vec<Kind> = (0..100).map(|row| kind(row, Step::Attribute, "next", (row + 1) % 100)).collect();
        let shape = shape(&kinds, &heap);
        let last = shape.kinds.items().last().unwrap();
        assert_eq!((shape.kinds.items().len(), last.from, last.is_many, last.count), (64, 0, true, 37));
        let mut members = [(0, 0); MEMBERS_MAX];
        (1..100).for_each(|node| add_to(&mut members, node, 1));
        assert_eq!(members[MEMBERS_MAX - 1], (0, 84));
    }
}
