//! The ways to objects of one class, as bytes: part of an answer (answer.rs).
//! Owns: which objects are told, how a way is written and read. Never: tells a way that is longer than `STEPS_MAX`: its end at the object is
//! told, and that it was cut.

use core::cell::Cell;

use crate::bytes::{Sink, put_text, put_word};
use crate::classes::CLASSES_MAX;
use crate::ground::Ground;
use crate::index::Cursor;
use crate::layout::TYPE;
use crate::parents::{Keeper, Parent};
use crate::raw::word;
use crate::steps::{ALL_PLACES_MAX, Names, STEP_BYTES};
use crate::titles::{HAS_MODULE, TEXT_BYTES, names_of};
use crate::walk::Walk;

pub(crate) const TAG_HELD: u8 = 4;
pub(crate) const TAG_CHAIN: u8 = 5;
/// From the object on.
pub const STEPS_MAX: usize = 64;
const IS_CUT: u8 = 1;

/// Whether a class is called so: `module.Name`, or `Name` alone.
#[must_use]
pub fn is_called(module: Option<&[u8]>, name: &[u8], wanted: &[u8]) -> Called {
    let is_whole = module.is_some_and(|module| {
        let rest = wanted.strip_prefix(module).and_then(|rest| rest.strip_prefix(b"."));
        rest == Some(name) || module == b"builtins" && wanted == name
    });
    match is_whole {
        true => Called::Wholly,
        false if wanted == name => Called::ByItsName,
        false => Called::Otherwise,
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Called {
    Otherwise,
    ByItsName,
    Wholly,
}

/// Writes ways to at most so many objects of a class, evenly from all of them.
///
/// # Safety
/// As `Walk::run`, after `run_held`.
pub unsafe fn write_chains<G: Ground>(
    walk: &mut Walk<'_, G>,
    wanted: &[u8],
    sample: u64,
    sink: &mut impl Sink,
) -> bool {
    let marks = walk.ground.map(CLASSES_MAX);
    if marks.is_null() {
        return false;
    }
    // SAFETY: as the caller promises; `marks` has a byte for each row.
    unsafe {
        mark(walk, wanted, marks);
        let mut kept_by = [0_u64; 4];
        each_marked(walk, marks, |walk, object, _| {
            kept_by[walk.keeper_of(object) as usize] += 1;
            true
        });
        let total: u64 = kept_by.iter().sum();
        let told = total.min(sample.max(1));
        let mut is_put = sink.put(&[TAG_HELD])
            && put_word(sink, total)
            && put_word(sink, told)
            && kept_by.into_iter().all(|count| put_word(sink, count));
        let left = Cell::new(ALL_PLACES_MAX);
        // The object of each equal part.
        let (mut place, mut next) = (0_u64, 0_u64);
        each_marked(walk, marks, |walk, object, row| {
            if place
                == u128::from(next).saturating_mul(u128::from(total)).checked_div(u128::from(told)).unwrap_or(0) as u64
                && next < told
            {
                next += 1;
                is_put &= write_chain(walk, object, row, &left, sink);
            }
            place += 1;
            is_put
        });
        walk.ground.unmap(marks, CLASSES_MAX);
        is_put
    }
}

/// # Safety
/// As `write_chains`; `marks` has a byte for each row.
unsafe fn mark<G: Ground>(walk: &Walk<'_, G>, wanted: &[u8], marks: *mut u8) {
    let mut best = Called::ByItsName;
    // Classes that are wholly called so are meant before those with that name alone.
    for is_second in [false, true] {
        for row in 0..walk.classes().len() {
            let (mut module, mut name) = ([0; TEXT_BYTES], [0; TEXT_BYTES]);
            let facts = walk.classes().facts(row);
            // SAFETY: a type that objects have is alive.
            let ((module_len, name_len), flags) =
                unsafe { names_of(walk, facts.class, facts.flags, &mut module, &mut name) };
            let module = module.get(..module_len).filter(|_| flags & HAS_MODULE != 0);
            let called = is_called(module, name.get(..name_len).unwrap_or_default(), wanted);
            if !is_second {
                best = best.max(called);
            } else if called == best {
                // SAFETY: below CLASSES_MAX.
                unsafe { marks.add(row).write(1) };
            }
        }
    }
}

/// # Safety
/// As above.
unsafe fn each_marked<G: Ground>(
    walk: &mut Walk<'_, G>,
    marks: *const u8,
    mut tell: impl FnMut(&Walk<'_, G>, u64, usize) -> bool,
) {
    let mut cursor = Cursor::default();
    while let Some((object, _)) = walk.index.as_ref().and_then(|index| index.next(&mut cursor)) {
        // SAFETY: an object that was met, whose class has a row; below CLASSES_MAX.
        let row = unsafe { walk.row_of(object) };
        // SAFETY: as above.
        if unsafe { *marks.add(row) } != 0 && !tell(walk, object, row) {
            return;
        }
    }
}

/// From the object to its root.
///
/// # Safety
/// As `write_chains`; an object that the walk met.
unsafe fn write_chain<G: Ground>(
    walk: &Walk<'_, G>,
    object: u64,
    row: usize,
    left: &Cell<u64>,
    sink: &mut impl Sink,
) -> bool {
    let plan = walk.plan();
    let names = Names { objects: &plan.objects, types: &plan.types, frames: &plan.frames, left };
    let keeper = walk.keeper_of(object);
    let mut is_put = sink.put(&[TAG_CHAIN, keeper as u8]);
    let mut held = (object, row);
    let mut root = Parent::C;
    let mut is_cut = false;
    for place in 0..=STEPS_MAX {
        if keeper == Keeper::Nobody {
            break;
        }
        let parent = walk.parent_of(held.0);
        is_cut = place == STEPS_MAX;
        let (mut name, mut len, mut step) = ([0; STEP_BYTES], 0, crate::steps::Step::Plain);
        // SAFETY: objects that were met, and frames that were walked, are alive.
        unsafe {
            match parent {
                Parent::Object(holder) if !is_cut => {
                    let facts = walk.classes().facts_for(walk.row_of_known(holder), word(holder + TYPE));
                    (step, len) = names.step(holder, &facts, held.0, &mut name);
                }
                Parent::Frame(frame) if frame != 0 && keeper == Keeper::Named => {
                    (step, len) = names.local(frame, held.0, &mut name);
                }
                _ => {}
            }
            is_put &= sink.put(&[1, step as u8])
                && put_word(sink, held.1 as u64)
                && put_text(sink, name.get(..len).unwrap_or_default());
            match parent {
                Parent::Object(holder) if !is_cut => held = (holder, walk.row_of_known(holder)),
                _ => {
                    root = parent;
                    break;
                }
            }
        }
    }
    let (mut function, mut file) = ([0; STEP_BYTES], [0; STEP_BYTES]);
    let (kind, (function_len, file_len)) = match root {
        Parent::Modules => (1, (0, 0)),
        // SAFETY: as above.
        Parent::Frame(frame) if frame != 0 => (2, unsafe { names.function(frame, &mut function, &mut file) }),
        Parent::Frame(_) => (2, (0, 0)),
        Parent::Object(_) | Parent::C => (0, (0, 0)),
    };
    is_put
        && sink.put(&[0, kind, if is_cut { IS_CUT } else { 0 }])
        && put_text(sink, function.get(..function_len).unwrap_or_default())
        && put_text(sink, file.get(..file_len).unwrap_or_default())
}

impl<G: Ground> Walk<'_, G> {
    /// # Safety
    /// An object that the walk met.
    unsafe fn row_of(&mut self, object: u64) -> usize {
        // SAFETY: an object that was met.
        unsafe { self.classes.of(word(object + TYPE)) }.map_or(0, |(row, _)| row)
    }

    /// # Safety
    /// As above.
    unsafe fn row_of_known(&self, object: u64) -> usize {
        // SAFETY: as above.
        self.classes.known(unsafe { word(object + TYPE) })
    }
}

#[cfg(any(test, feature = "std"))]
pub use reading::{Chain, Held, Link, Root};

#[cfg(any(test, feature = "std"))]
mod reading {
    use super::IS_CUT;
    use crate::bytes::Rest;
    use crate::parents::Keeper;
    use crate::steps::Step;
    use std::string::String;
    use std::vec::Vec;

    /// A way from an object to its root.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct Chain {
        pub keeper: Keeper,
        /// The object first. Each says how what comes after it leads to it.
        pub links: Vec<Link>,
        pub root: Root,
        /// It goes on.
        pub is_cut: bool,
    }

    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct Link {
        pub step: Step,
        pub name: String,
        /// Of its class: a row of the answer's.
        pub row: u64,
    }

    #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
    pub enum Root {
        Modules,
        Frame { function: String, file: String },
        C,
    }

    /// Objects of the class that was asked for.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct Held {
        pub total: u64,
        pub told: u64,
        /// By the keeper's number.
        pub kept_by: [u64; 4],
    }

    impl Held {
        pub(crate) fn read(rest: &mut Rest<'_>) -> Option<Held> {
            let mut held = Held { total: rest.word()?, told: rest.word()?, kept_by: [0; 4] };
            for count in &mut held.kept_by {
                *count = rest.word()?;
            }
            Some(held)
        }
    }

    impl Chain {
        pub(crate) fn read(rest: &mut Rest<'_>) -> Option<Chain> {
            let keeper = Keeper::of(rest.byte()?)?;
            let mut links = Vec::new();
            while rest.byte()? == 1 {
                links.push(Link { step: Step::of(rest.byte()?)?, row: rest.word()?, name: rest.text()? });
            }
            let (kind, flags) = (rest.byte()?, rest.byte()?);
            let (function, file) = (rest.text()?, rest.text()?);
            let root = match kind {
                1 => Root::Modules,
                2 => Root::Frame { function, file },
                _ => Root::C,
            };
            Some(Chain { keeper, links, root, is_cut: flags & IS_CUT != 0 })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Called, is_called};

    #[test]
    fn a_class_is_meant_by_its_whole_name_or_by_its_last() {
        for (module, name, wanted, called) in [
            (Some("app"), "Leak", "app.Leak", Called::Wholly),
            (Some("app"), "Leak", "Leak", Called::ByItsName),
            (Some("app.web"), "Outer.Leak", "app.web.Outer.Leak", Called::Wholly),
            (Some("app"), "Leak", "ap.Leak", Called::Otherwise),
            (Some("app"), "Leak", "app.Leaks", Called::Otherwise),
            (Some("builtins"), "list", "list", Called::Wholly),
            (None, "Leak", "Leak", Called::ByItsName),
            (None, "Leak", ".Leak", Called::Otherwise),
        ] {
            assert_eq!(is_called(module.map(str::as_bytes), name.as_bytes(), wanted.as_bytes()), called, "{wanted}");
        }
    }
}
