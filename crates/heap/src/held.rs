//! Who keeps an object alive: one way to each object, as short as there is one, from a module, a frame, or C code.
//! Owns: the order of the roots, one parent for each object. Never: keeps an edge; runs without the GIL (or in a copy that was made with it).
//! Keeps: I-07.
//!
//! Breadth first, so the first one that leads to an object is on a shortest way. Three times over, each time from what is left: from
//! `sys.modules` and the local variables of all frames; from the namespaces of frames; from objects with references that no object explains.

use crate::ground::{Ground, NoMemory};
use crate::index::{Cursor, Index};
use crate::parents::{Keeper, Parent, Parents, ROOT_C, ROOT_MODULES};
use crate::raw::word;
use crate::walk::{Cut, Pass, Walk, Walked};

impl<G: Ground> Walk<'_, G> {
    /// Meets every object, and finds a way to each.
    ///
    /// # Safety
    /// As `run`; the dicts of modules are where the plan says.
    pub unsafe fn run_held(&mut self) -> Walked {
        // SAFETY: as the caller promises.
        unsafe {
            let all = self.run_indexed();
            if all.cut.is_some() {
                return all;
            }
            if self.subtract().and_then(|()| self.lead()).is_err() {
                self.walked.cut = Some(Cut::NoMemory);
            }
        }
        self.walked
    }

    unsafe fn lead(&mut self) -> Result<(), NoMemory> {
        self.begin(Pass::Lead)?;
        let objects = self.index.as_ref().map_or(0, Index::len);
        self.parents = Some(Parents::new(objects, self.ground).ok_or(NoMemory)?);
        // SAFETY: lists and objects as in the first walk: nothing ran since.
        unsafe {
            for keeper in [Keeper::Named, Keeper::Frame] {
                self.with_parents(|parents| parents.keeper = keeper);
                for place in 0..self.plan.interpreters.len() {
                    let Some(&interpreter) = self.plan.interpreters.get(place) else { break };
                    if keeper == Keeper::Named {
                        self.with_parents(|parents| parents.root(ROOT_MODULES));
                        self.meet(word(interpreter + self.plan.objects.modules));
                    }
                    self.walk_threads(interpreter);
                }
                self.lead_on();
            }
            self.with_parents(|parents| (parents.keeper = Keeper::C, parents.root(ROOT_C)));
            let mut cursor = Cursor::default();
            while let Some((object, left)) = self.index.as_ref().and_then(|index| index.next(&mut cursor)) {
                if left > 0 {
                    self.meet(object);
                }
            }
            self.lead_on();
        }
        Ok(())
    }

    unsafe fn lead_on(&mut self) {
        while self.walked.cut.is_none() {
            let Some(object) = self.parents.as_mut().and_then(Parents::next) else { return };
            let number = self.index.as_ref().and_then(|index| index.number_of(object)).unwrap_or(0);
            self.with_parents(|parents| parents.from = number);
            // SAFETY: an object that was met.
            unsafe { self.take(object) };
        }
    }

    fn with_parents<T>(&mut self, act: impl FnOnce(&mut Parents) -> T) {
        if let Some(parents) = self.parents.as_mut() {
            act(parents);
        }
    }

    #[inline]
    pub(crate) fn lead_to(&mut self, object: u64) {
        if let (Some(index), Some(parents)) = (&self.index, &mut self.parents)
            && let Some(number) = index.number_of(object)
        {
            parents.lead_to(number, object);
        }
    }

    /// Which parts of a frame are looked at now: its namespaces, its local variables.
    pub(crate) fn frame_parts(&mut self, frame: u64) -> (bool, bool) {
        let Some(parents) = self.parents.as_mut().filter(|_| self.pass == Pass::Lead) else { return (true, true) };
        parents.root_frame(frame);
        (parents.keeper == Keeper::Frame, parents.keeper == Keeper::Named)
    }

    /// What keeps an object alive.
    #[must_use]
    pub fn keeper_of(&self, object: u64) -> Keeper {
        let number = self.index.as_ref().and_then(|index| index.number_of(object));
        match (number, &self.parents) {
            (Some(number), Some(parents)) => parents.keeper_of(number),
            _ => Keeper::Nobody,
        }
    }

    /// What leads to an object that somebody keeps alive.
    #[must_use]
    pub fn parent_of(&self, object: u64) -> Parent {
        match (&self.index, &self.parents) {
            (Some(index), Some(parents)) => {
                index.number_of(object).map_or(Parent::C, |number| parents.parent_of(number, index))
            }
            _ => Parent::C,
        }
    }
}
