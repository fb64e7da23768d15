//! One parent for each object, and who it is.
//! Owns: how a parent is kept in four bytes, and the objects that wait. Never: reads an object.

use crate::ground::Ground;
use crate::index::Index;

/// What an object is kept alive by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Keeper {
    /// Nothing: it is garbage that the collector has not freed.
    Nobody = 0,
    /// A module, or a local variable of a frame.
    Named = 1,
    /// A frame's globals, builtins, function or code, of no module in `sys.modules`.
    Frame = 2,
    /// The interpreter, or C code.
    C = 3,
}

impl Keeper {
    #[must_use]
    pub const fn of(number: u8) -> Option<Keeper> {
        Some(match number {
            0 => Keeper::Nobody,
            1 => Keeper::Named,
            2 => Keeper::Frame,
            3 => Keeper::C,
            _ => return None,
        })
    }
}

/// Who leads to an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parent {
    Object(u64),
    /// `sys.modules`.
    Modules,
    /// Its address; 0: one of those beyond the table.
    Frame(u64),
    C,
}

const KEEPER_BITS: u32 = 30;
const PLACE_MASK: u32 = (1 << KEEPER_BITS) - 1;
const FRAMES_MAX: usize = 1 << 16;
/// Behind the numbers of objects come the roots: modules, C code, frames.
pub(crate) const ROOT_MODULES: u32 = 0;
pub(crate) const ROOT_C: u32 = 1;
const ROOT_FRAME: u32 = 2;

/// One parent for each object, and the objects that wait.
pub struct Parents {
    /// The keeper in the upper two bits; in the others the number of an object or behind all of these that of a root.
    of: *mut u32,
    queue: *mut u64,
    frames: *mut u64,
    frames_len: usize,
    objects: u32,
    first: usize,
    last: usize,
    pub(crate) keeper: Keeper,
    /// Who leads to the objects that come.
    pub(crate) from: u32,
}

impl Parents {
    pub(crate) fn new(objects: u32, ground: &impl Ground) -> Option<Parents> {
        let room = objects as usize + 1;
        if objects > PLACE_MASK - (FRAMES_MAX as u32 + ROOT_FRAME) {
            return None;
        }
        let (of, queue) = (ground.map(room * 4).cast::<u32>(), ground.map(room * 8).cast::<u64>());
        let frames = ground.map(FRAMES_MAX * 8).cast::<u64>();
        let is_there = !of.is_null() && !queue.is_null() && !frames.is_null();
        is_there.then_some(Parents {
            of,
            queue,
            frames,
            frames_len: 0,
            objects,
            first: 0,
            last: 0,
            keeper: Keeper::Named,
            from: 0,
        })
    }

    #[inline]
    pub(crate) fn lead_to(&mut self, number: u32, object: u64) {
        // SAFETY: numbers are below `objects`, and each comes into the queue once.
        unsafe {
            let slot = self.of.add(number as usize);
            if *slot == 0 {
                slot.write((self.keeper as u32) << KEEPER_BITS | self.from);
                self.queue.add(self.last).write(object);
                self.last += 1;
            }
        }
    }

    pub(crate) fn next(&mut self) -> Option<u64> {
        if self.first == self.last {
            return None;
        }
        self.first += 1;
        // SAFETY: below `last`.
        Some(unsafe { *self.queue.add(self.first - 1) })
    }

    pub(crate) const fn root(&mut self, root: u32) {
        self.from = self.objects + root;
    }

    pub(crate) fn root_frame(&mut self, frame: u64) {
        if self.frames_len < FRAMES_MAX {
            // SAFETY: below the table's room.
            unsafe { self.frames.add(self.frames_len).write(frame) };
            self.frames_len += 1;
        }
        self.root(ROOT_FRAME + self.frames_len as u32 - 1);
    }

    pub(crate) fn keeper_of(&self, number: u32) -> Keeper {
        // SAFETY: numbers are below `objects`.
        let parent = unsafe { *self.of.add(number as usize) };
        Keeper::of((parent >> KEEPER_BITS) as u8).unwrap_or(Keeper::Nobody)
    }

    pub(crate) fn parent_of(&self, number: u32, index: &Index) -> Parent {
        // SAFETY: as above.
        let place = unsafe { *self.of.add(number as usize) } & PLACE_MASK;
        match place.checked_sub(self.objects) {
            None => index.address(place).map_or(Parent::C, Parent::Object),
            Some(ROOT_MODULES) => Parent::Modules,
            Some(ROOT_C) => Parent::C,
            Some(root) if ((root - ROOT_FRAME) as usize) < FRAMES_MAX - 1 => {
                // SAFETY: below `frames_len`, which `root_frame` gave.
                Parent::Frame(unsafe { *self.frames.add((root - ROOT_FRAME) as usize) })
            }
            Some(_) => Parent::Frame(0),
        }
    }

    pub fn give_back(self, ground: &impl Ground) {
        let room = self.objects as usize + 1;
        // SAFETY: all of them are this table's own, and it is consumed.
        unsafe {
            ground.unmap(self.of.cast(), room * 4);
            ground.unmap(self.queue.cast(), room * 8);
            ground.unmap(self.frames.cast(), FRAMES_MAX * 8);
        }
    }
}
