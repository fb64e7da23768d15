//! The cycles in garbage, as bytes: part of an answer (answer.rs).
//! Owns: how a group of cycles is written and read. Never: leaves a group out.

use crate::bytes::{Sink, put_text, put_word};
use crate::cycles::groups::Group;
use crate::ground::Ground;
use crate::layout::SIZE;
use crate::raw::{half, word};
use crate::walk::Walk;

pub(crate) const TAG_FOUND: u8 = 6;
pub(crate) const TAG_GROUP: u8 = 7;

/// Writes what was found, and each group of cycles.
///
/// # Safety
/// As `Walk::run`, after `run_cycles`.
pub unsafe fn write_found<G: Ground>(walk: &Walk<'_, G>, sink: &mut impl Sink) -> bool {
    let Some(cycles) = walk.cycles() else { return true };
    // SAFETY: as the caller promises.
    let (off, garbage_list) = unsafe { collectors(walk) };
    let mut is_put = sink.put(&[TAG_FOUND])
        && put_word(sink, cycles.tracked)
        && put_word(sink, cycles.found)
        && put_word(sink, off)
        && put_word(sink, garbage_list);
    for group in cycles.groups.rows().iter().filter(|group| group.cycles > 0) {
        is_put &= write_group(walk, group, sink);
    }
    is_put
}

/// How many of the collectors begin no collection by themselves, and how many objects are in `gc.garbage`.
unsafe fn collectors<G: Ground>(walk: &Walk<'_, G>) -> (u64, u64) {
    const THRESHOLD: u64 = 16;
    let objects = &walk.plan().objects;
    let (mut off, mut garbage) = (0, 0);
    for interpreter in walk.plan().interpreters {
        let gc = interpreter + objects.gc;
        // SAFETY: an interpreter of the plan; its collector has these fields, and `gc.garbage` is a list or not there yet.
        unsafe {
            let [young, ..] = objects.gc_lists;
            off += u64::from(half(gc + objects.gc_enabled) == 0 || half(gc + young + THRESHOLD) == 0);
            let list = word(gc + objects.gc_garbage);
            garbage += if list == 0 { 0 } else { word(list + SIZE) };
        }
    }
    (off, garbage)
}

fn write_group<G: Ground>(walk: &Walk<'_, G>, group: &Group, sink: &mut impl Sink) -> bool {
    let Some(cycles) = walk.cycles() else { return true };
    let numbers = [group.cycles, group.objects, group.bytes, group.held_objects, group.held_bytes, group.largest];
    let members = || group.members.iter().filter(|(_, count)| *count > 0);
    let (kinds, edges) = (cycles.groups.kinds(group), cycles.groups.edges(group));
    sink.put(&[TAG_GROUP])
        && numbers.into_iter().all(|number| put_word(sink, number))
        && put_word(sink, members().count() as u64)
        && members().all(|&(node, count)| put_word(sink, u64::from(node)) && put_word(sink, count))
        && put_word(sink, kinds.len() as u64)
        && kinds.iter().all(|kind| {
            put_word(sink, u64::from(kind.from))
                && put_word(sink, u64::from(kind.to))
                && sink.put(&[kind.step as u8, u8::from(kind.is_many)])
                && put_word(sink, kind.count)
                && put_text(sink, kind.text())
        })
        && put_word(sink, edges.len() as u64)
        && edges.iter().all(|edge| {
            let ([from, from_high], [to, to_high]) = (edge.from.to_le_bytes(), edge.to.to_le_bytes());
            sink.put(&[from, from_high, to, to_high, edge.kind])
        })
}

#[cfg(any(test, feature = "std"))]
pub use reading::{Cycles, Found, Node, Reference};

#[cfg(any(test, feature = "std"))]
mod reading {
    use crate::bytes::Rest;
    use crate::cycles::shape::{Edge, IS_ATTRIBUTES};
    use crate::steps::Step;
    use std::string::String;
    use std::vec::Vec;

    /// What a full collection would look at, and free.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct Found {
        pub tracked: u64,
        pub garbage: u64,
        /// So many collectors begin no collection by themselves.
        pub off: u64,
        pub garbage_list: u64,
    }

    /// Objects of a class.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
    pub struct Node {
        /// The class, by its row in the answer; 0: all that have no row here.
        pub row: u64,
        /// Not the objects: the dicts of their attributes.
        pub is_attributes: bool,
    }

    /// References of one name between objects of two classes.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct Reference {
        pub from: Node,
        pub to: Node,
        pub step: Step,
        pub is_many: bool,
        pub count: u64,
        pub name: String,
    }

    /// Cycles of one shape.
    #[derive(Clone, PartialEq, Eq, Debug, Default)]
    pub struct Cycles {
        pub cycles: u64,
        pub objects: u64,
        pub bytes: u64,
        pub held_objects: u64,
        pub held_bytes: u64,
        pub largest: u64,
        pub members: Vec<(Node, u64)>,
        /// None of all of the shapes that have no group of their own.
        pub references: Vec<Reference>,
        /// Those of one of the cycles; none where they are too many. `kind` is a place in `references`.
        pub example: Vec<Edge>,
    }

    impl Node {
        fn read(rest: &mut Rest<'_>) -> Option<Node> {
            let word = rest.word()?;
            let mark = u64::from(IS_ATTRIBUTES);
            Some(Node { row: word & !mark, is_attributes: word & mark != 0 })
        }
    }

    impl Found {
        pub(crate) fn read(rest: &mut Rest<'_>) -> Option<Found> {
            Some(Found { tracked: rest.word()?, garbage: rest.word()?, off: rest.word()?, garbage_list: rest.word()? })
        }
    }

    impl Cycles {
        pub(crate) fn read(rest: &mut Rest<'_>) -> Option<Cycles> {
            let mut found = Cycles {
                cycles: rest.word()?,
                objects: rest.word()?,
                bytes: rest.word()?,
                held_objects: rest.word()?,
                held_bytes: rest.word()?,
                largest: rest.word()?,
                ..Cycles::default()
            };
            for _ in 0..rest.word()? {
                found.members.push((Node::read(rest)?, rest.word()?));
            }
            for _ in 0..rest.word()? {
                let (from, to) = (Node::read(rest)?, Node::read(rest)?);
                let &[step, is_many] = rest.take(2)? else { return None };
                let (step, count, name) = (Step::of(step)?, rest.word()?, rest.text()?);
                found.references.push(Reference { from, to, step, is_many: is_many != 0, count, name });
            }
            for _ in 0..rest.word()? {
                let &[from, from_high, to, to_high, kind] = rest.take(5)? else { return None };
                let (from, to) = (u16::from_le_bytes([from, from_high]), u16::from_le_bytes([to, to_high]));
                found.example.push(Edge { from, to, kind });
                if usize::from(kind) >= found.references.len() {
                    return None;
                }
            }
            Some(found)
        }
    }
}
