//! Kinds of cycles: those that differ in their keys alone are one kind where there are many.
//! Owns: when keys are data. Never: loses a cycle.

use std::collections::BTreeMap;

use genba_heap::found::{Cycles, Node, Reference};
use genba_heap::steps::Step;

/// So many kinds may differ by their keys alone.
const BY_KEYS_MAX: usize = 8;

/// The largest first.
pub fn kinds(groups: Vec<Cycles>) -> Vec<Cycles> {
    let mut shapes: BTreeMap<Vec<Named>, Vec<Cycles>> = BTreeMap::new();
    for group in groups {
        let mut shape: Vec<_> = group.references.iter().map(without_keys).collect();
        shape.sort();
        shape.dedup();
        shapes.entry(shape).or_default().push(group);
    }
    let mut kinds = Vec::new();
    for groups in shapes.into_values() {
        if groups.len() <= BY_KEYS_MAX {
            kinds.extend(groups);
        } else if let Some(merged) = groups.into_iter().map(with_keys_as_one).reduce(merged) {
            kinds.push(merged);
        }
    }
    kinds.sort_by_key(|kind| std::cmp::Reverse((kind.objects + kind.held_objects, kind.bytes + kind.held_bytes)));
    kinds
}

/// A reference, and its name unless that is a key.
type Named = (Node, Node, u8, String);

fn without_keys(reference: &Reference) -> Named {
    let name = if reference.step == Step::Key { String::new() } else { reference.name.clone() };
    (reference.from, reference.to, reference.step as u8, name)
}

fn with_keys_as_one(mut cycles: Cycles) -> Cycles {
    let mut places = Vec::new();
    let mut references: Vec<Reference> = Vec::new();
    for reference in std::mem::take(&mut cycles.references) {
        let is_many = reference.is_many || reference.step == Step::Key;
        let name = if is_many { String::new() } else { reference.name.clone() };
        places.push(add(&mut references, Reference { is_many, name, ..reference }));
    }
    for edge in &mut cycles.example {
        let place = places.get(usize::from(edge.kind)).copied().unwrap_or(0);
        edge.kind = u8::try_from(place).unwrap_or(0);
    }
    Cycles { references, ..cycles }
}

/// Where it is.
fn add(references: &mut Vec<Reference>, reference: Reference) -> usize {
    let is_same =
        |one: &Reference| Reference { count: 0, ..one.clone() } == Reference { count: 0, ..reference.clone() };
    match references.iter().position(is_same) {
        Some(place) => {
            if let Some(known) = references.get_mut(place) {
                known.count += reference.count;
            }
            place
        }
        None => {
            references.push(reference);
            references.len() - 1
        }
    }
}

/// One of them is the example.
fn merged(mut one: Cycles, other: Cycles) -> Cycles {
    one.cycles += other.cycles;
    one.objects += other.objects;
    one.bytes += other.bytes;
    one.held_objects += other.held_objects;
    one.held_bytes += other.held_bytes;
    one.largest = one.largest.max(other.largest);
    for (node, count) in other.members {
        match one.members.iter_mut().find(|(known, _)| *known == node) {
            Some((_, known)) => *known += count,
            None => one.members.push((node, count)),
        }
    }
    for reference in other.references {
        add(&mut one.references, reference);
    }
    one
}

#[cfg(test)]
mod tests {
    use super::kinds;
    use genba_heap::cycles::shape::Edge;
    use genba_heap::found::{Cycles, Node, Reference};
    use genba_heap::steps::Step;

    fn own_key(name: &str, is_many: bool) -> Cycles {
        let node = Node { row: 1, is_attributes: false };
        let name = name.to_owned();
        Cycles {
            cycles: 1,
            objects: 1,
            bytes: 64,
            largest: 1,
            members: vec![(node, 1)],
            references: vec![Reference { from: node, to: node, step: Step::Key, is_many, count: 1, name }],
            example: vec![Edge { from: 0, to: 0, kind: 0 }],
            ..Cycles::default()
        }
    }

    #[test]
    fn a_few_keys_are_kinds_of_their_own_and_many_are_one() {
        assert_eq!(kinds(vec![own_key("a", false), own_key("b", false)]).len(), 2);
        let mut many: Vec<Cycles> = (0..20).map(|number| own_key(&number.to_string(), false)).collect();
        many.push(own_key("", true));
        let [one] = kinds(many).try_into().unwrap();
        assert_eq!(
            (one.cycles, one.objects, one.bytes, one.members.clone()),
            (21, 21, 64 * 21, vec![(one.members[0].0, 21)])
        );
        let [reference] = one.references.try_into().unwrap();
        assert_eq!((reference.is_many, reference.count, reference.name.as_str()), (true, 21, ""));
    }
}
