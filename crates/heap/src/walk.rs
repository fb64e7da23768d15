//! The walk over all objects of the interpreters that one GIL belongs to: each is met once, and counted in its class's row.
//! Owns: where it begins, what it follows, and when it gives up; live.rs goes on from there. Never: runs without that GIL (or in a copy that was made with it), writes
//! to an object, calls `tp_traverse` where `tp_is_gc` says no (for a static type that ends the process). Keeps: I-07.
//!
//! The collector's lists have each tracked object once, so they need no set. What its `tp_traverse` leads to and is not tracked goes through
//! a set of addresses and a stack of the walk's own.

use core::ffi::{c_int, c_void};

use crate::classes::{Classes, Facts, Kind, Row};
use crate::cycles::Cycles;
use crate::ground::{Ground, Seen, Waiting};
use crate::index::Index;
use crate::layout::{FLAG_HAVE_GC, Frames, GC_HEAD_BYTES, Objects, TYPE, Types};
use crate::links::Links;
use crate::owned::{Owned, dict_of, each_owned};
use crate::parents::Parents;
use crate::private::{buffer_of, is_alone};
use crate::raw::{byte, half, word};
use crate::sizes::{FrameFields, bytes_of, entries_of};

/// What a walk needs to know of the process.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    pub objects: Objects,
    pub types: Types,
    pub frames: Frames,
    /// The interpreters to walk.
    pub interpreters: &'a [u64],
    /// Whether the dicts of interned strings are where the table says.
    pub has_interned: bool,
    /// The interpreter whose collector calls genba at this moment: its lists are whole then. 0: none.
    pub collecting: u64,
}

/// Why a walk ended before it was through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Cut {
    NoMemory = 1,
    Late = 2,
    /// A list of the collector's does not come back to its head.
    Endless = 3,
    /// The collector is at work: its lists are taken apart.
    Collecting = 4,
}

/// How a walk went.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Walked {
    pub objects: u64,
    pub bytes: u64,
    /// Of them, those that the collector tracks.
    pub tracked: u64,
    /// With `run_live`: objects that nothing in use refers to; they are in no row.
    pub garbage_objects: u64,
    pub garbage_bytes: u64,
    pub cut: Option<Cut>,
}

/// Lists of thread states and frames end, or the walk does.
const THREADS_MAX: usize = 20_000;
const FRAMES_MAX: usize = 1 << 20;
/// Frames of this owner or a higher one run no Python code.
const OWNER_OF_NO_CODE: u8 = 3;
/// `_gc_next` of 3.14.0 to 3.14.4 has a mark in its lowest bits.
pub(crate) const LINK_MASK: u64 = !3;
const BETWEEN_LOOKS: u64 = 1 << 16;

/// What is done with an object that another one refers to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pass {
    /// It is met, unless it comes by a list of the collector's.
    Meet,
    /// One reference to it is explained.
    Subtract,
    /// It is met.
    Reach,
    /// The object at hand leads to it.
    Lead,
    /// As `cycles.rs` says, by stages.
    Cycles,
}

/// Objects of which some `tp_traverse` tell, and others, or those of another version, do not; 0: there is none.
#[derive(Clone, Copy, Default)]
struct Parts {
    buffer: u64,
    /// It counts with the object.
    is_buffer_alone: bool,
    is_buffer_told: bool,
    dict: u64,
    is_dict_told: bool,
}

pub struct Walk<'a, G> {
    pub(crate) plan: Plan<'a>,
    pub(crate) ground: &'a G,
    pub(crate) classes: Classes,
    pub(crate) seen: Seen,
    pub(crate) waiting: Waiting,
    pub(crate) walked: Walked,
    pub(crate) pass: Pass,
    looked: u64,
    /// Of the object at hand.
    parts: Parts,
    /// All objects, where they are needed a second time.
    pub(crate) index: Option<Index>,
    /// Who leads to each of them.
    pub(crate) parents: Option<Parents>,
    /// Which of them are in cycles.
    pub(crate) cycles: Option<Cycles>,
    at: &'a core::sync::atomic::AtomicU64,
}

impl<'a, G: Ground> Walk<'a, G> {
    /// `at` is told the row of each class before code of it runs. `None`: there is no memory.
    ///
    /// # Safety
    /// `rows` is as `Classes::new` wants it.
    pub unsafe fn new(
        plan: Plan<'a>,
        rows: *mut Row,
        at: &'a core::sync::atomic::AtomicU64,
        ground: &'a G,
    ) -> Option<Walk<'a, G>> {
        // SAFETY: as the caller promises.
        let classes = unsafe { Classes::new(rows, plan.types, plan.objects.minor, ground) }?;
        let (seen, waiting) = (Seen::new(ground)?, Waiting::new(ground)?);
        let walked = Walked::default();
        Some(Walk {
            plan,
            ground,
            classes,
            seen,
            waiting,
            walked,
            pass: Pass::Meet,
            looked: 0,
            parts: Parts::default(),
            index: None,
            parents: None,
            cycles: None,
            at,
        })
    }

    /// Meets every object.
    ///
    /// # Safety
    /// The GIL of the plan's interpreters is held, or was when this copy of the process was made; the plan is true.
    pub unsafe fn run(&mut self) -> Walked {
        // SAFETY: as the caller promises.
        unsafe {
            for place in 0..self.plan.interpreters.len() {
                let Some(&interpreter) = self.plan.interpreters.get(place) else { break };
                let is_collecting = half(interpreter + self.plan.objects.gc + self.plan.objects.gc_collecting) != 0;
                if is_collecting && interpreter != self.plan.collecting {
                    self.walked.cut = Some(Cut::Collecting);
                    return self.walked;
                }
                for list in self.plan.objects.gc_lists {
                    self.walk_list(interpreter + self.plan.objects.gc + list);
                }
                self.walk_threads(interpreter);
                if let Some(interned) = self.plan.objects.interned.filter(|_| self.plan.has_interned) {
                    self.meet(word(interpreter + interned));
                    self.follow();
                }
            }
            for class in self.known_types() {
                self.meet(class);
                self.follow();
            }
        }
        self.walked
    }

    #[must_use]
    pub const fn classes(&self) -> &Classes {
        &self.classes
    }

    pub fn give_back(self) {
        self.classes.give_back(self.ground);
        self.seen.give_back(self.ground);
        self.waiting.give_back(self.ground);
        if let Some(index) = self.index {
            index.give_back(self.ground);
        }
        if let Some(parents) = self.parents {
            parents.give_back(self.ground);
        }
        if let Some(cycles) = self.cycles {
            cycles.give_back(self.ground);
        }
    }

    /// Types that no object of theirs has to lead to.
    fn known_types(&self) -> [u64; 4] {
        let types = &self.plan.types;
        [types.range, types.bytearray, types.async_generator, types.frozenset]
    }

    pub(crate) unsafe fn walk_list(&mut self, head: u64) {
        // SAFETY: a list of the collector's: each head leads to the next one, and what follows it is an object.
        unsafe {
            let mut link = word(head) & LINK_MASK;
            let mut links = Links::default();
            while link != head && self.walked.cut.is_none() {
                if links.have_no_end(link) {
                    self.walked.cut = Some(Cut::Endless);
                    return;
                }
                match self.pass {
                    Pass::Meet => self.take(link + GC_HEAD_BYTES),
                    _ => self.meet(link + GC_HEAD_BYTES),
                }
                self.follow();
                link = word(link) & LINK_MASK;
            }
        }
    }

    pub(crate) unsafe fn walk_threads(&mut self, interpreter: u64) {
        let frames = self.plan.frames;
        // SAFETY: the lists of thread states and of frames change with the GIL only.
        unsafe {
            let mut thread = word(interpreter + frames.threads_head);
            for _ in 0..THREADS_MAX {
                if thread == 0 {
                    break;
                }
                let holder = frames.c_frame.map_or(thread, |c_frame| word(thread + c_frame));
                let mut frame = if holder == 0 { 0 } else { word(holder + frames.current_frame) };
                for _ in 0..FRAMES_MAX {
                    if frame == 0 {
                        break;
                    }
                    if byte(frame + frames.owner) < OWNER_OF_NO_CODE {
                        self.meet_frame(frame);
                    }
                    frame = word(frame + frames.previous);
                }
                thread = word(thread + frames.thread_next);
            }
        }
    }

    unsafe fn meet_frame(&mut self, frame: u64) {
        let (frames, objects) = (self.plan.frames, self.plan.objects);
        let (has_namespaces, has_locals) = self.frame_parts(frame);
        // SAFETY: a frame that runs Python code, and waits for the GIL or in a call.
        unsafe {
            let code = word(frame + frames.code) & !7;
            if has_namespaces {
                self.meet(code);
                for field in objects.frame_fields {
                    self.meet_tagged(word(frame + field));
                }
            }
            if code == 0 || !has_locals {
                return;
            }
            let locals = u64::from(half(code + objects.code_locals));
            let most = locals + u64::from(half(code + objects.code_stack_size));
            let used = frames.stack_pointer.map_or(0, |pointer| {
                word(frame + pointer).checked_sub(frame + frames.locals).map_or(0, |bytes| bytes / 8)
            });
            let slots = if (locals..=most).contains(&used) { used } else { locals };
            for slot in 0..slots.min(1 << 20) {
                self.meet_tagged(word(frame + frames.locals + 8 * slot));
            }
            self.follow();
        }
    }

    /// From 3.14 on the two lowest bits of a slot say whether the reference is counted; both of them: it is a number.
    unsafe fn meet_tagged(&mut self, slot: u64) {
        if slot & 3 != 3 {
            // SAFETY: an object, or 0.
            unsafe { self.meet(slot & !3) };
        }
    }

    /// An object that something refers to. Those that the collector tracks come by its lists.
    #[inline]
    pub(crate) unsafe fn meet(&mut self, object: u64) {
        if object == 0 || self.walked.cut.is_some() {
            return;
        }
        match self.pass {
            // SAFETY: an object that is alive.
            Pass::Meet => unsafe {
                let Ok((row, _)) = self.class_of(word(object + TYPE)) else { return };
                if self.is_gc(object, row) && word(object - GC_HEAD_BYTES) != 0 {
                    return;
                }
            },
            Pass::Subtract => return self.explain(object),
            Pass::Lead => return self.lead_to(object),
            // SAFETY: as above.
            Pass::Cycles => return unsafe { self.meet_of_cycle(object) },
            Pass::Reach => {}
        }
        let is_new = self.seen.insert(object, self.ground);
        if is_new == Ok(true) && self.waiting.push(object, self.ground).is_ok() || is_new == Ok(false) {
            return;
        }
        self.walked.cut = Some(Cut::NoMemory);
    }

    pub(crate) unsafe fn class_of(&mut self, class: u64) -> Result<(usize, bool), crate::ground::NoMemory> {
        // SAFETY: the type of an object that is alive.
        let found = unsafe { self.classes.of(class) };
        if let Ok((_, true)) = found {
            // A static type is no object of the collector's, and nothing else may lead to it.
            // SAFETY: as above. The type of a type of a type is `type`, whose own type is itself.
            unsafe { self.meet(class) };
        }
        found
    }

    #[inline]
    pub(crate) unsafe fn is_gc(&self, object: u64, row: usize) -> bool {
        // SAFETY: an object that is alive, of the class of this row.
        let facts = unsafe { self.classes.facts_for(row, word(object + TYPE)) };
        if facts.flags & FLAG_HAVE_GC == 0 {
            return false;
        }
        if facts.is_gc == 0 {
            return true;
        }
        type Inquiry = unsafe extern "C" fn(*mut c_void) -> c_int;
        // SAFETY: the type's function of this slot; the collector calls it in the same way.
        unsafe {
            let inquiry = core::mem::transmute::<u64, Inquiry>(facts.is_gc);
            inquiry(core::ptr::with_exposed_provenance_mut(object as usize)) != 0
        }
    }

    pub(crate) unsafe fn follow(&mut self) {
        while self.walked.cut.is_none() {
            let Some(object) = self.waiting.pop() else { return };
            // SAFETY: an object that was met.
            unsafe { self.take(object) };
        }
    }

    /// Counts an object, and meets those that it refers to.
    pub(crate) unsafe fn take(&mut self, object: u64) {
        // SAFETY: an object that is alive.
        unsafe {
            let class = word(object + TYPE);
            let Ok((row, _)) = self.class_of(class) else { return };
            let facts = self.classes.facts_for(row, class);
            self.at.store(row as u64, core::sync::atomic::Ordering::Relaxed);
            let is_gc = self.is_gc(object, row);
            match self.pass {
                Pass::Meet if self.index.as_mut().is_some_and(|index| index.insert(object, self.ground).is_err()) => {
                    self.walked.cut = Some(Cut::NoMemory);
                }
                Pass::Meet => self.add(object, row, &facts, is_gc),
                Pass::Subtract => self.add_uncounted(object, facts.kind),
                Pass::Reach => {
                    self.add(object, row, &facts, is_gc);
                    // No object of a class needs to lead to it.
                    self.meet(facts.class);
                }
                Pass::Lead => self.look_at_the_time(),
                Pass::Cycles => self.take_of_cycle(object, row, &facts, is_gc),
            }
            let is_uncounted = self.pass != Pass::Meet && facts.kind == Kind::Dict && self.is_interned_dict(object);
            if is_uncounted || self.walked.cut.is_some() {
                return;
            }
            let objects = self.plan.objects;
            let buffer = buffer_of(object, facts.kind, &objects);
            let is_buffer_alone = buffer != 0 && is_alone(buffer, objects.minor);
            let dict = dict_of(object, &facts, objects.minor);
            self.parts = Parts { buffer, is_buffer_alone, dict, ..Parts::default() };
            if is_gc && facts.traverse != 0 {
                type Visit<G> = unsafe extern "C" fn(*mut c_void, *mut Walk<'_, G>) -> c_int;
                type Traverse<G> = unsafe extern "C" fn(*mut c_void, Visit<G>, *mut Walk<'_, G>) -> c_int;
                let traverse = core::mem::transmute::<u64, Traverse<G>>(facts.traverse);
                traverse(core::ptr::with_exposed_provenance_mut(object as usize), visit::<G>, &raw mut *self);
            }
            let told = core::mem::take(&mut self.parts);
            if !self.looks_at_owned() {
                return;
            }
            if !is_buffer_alone && !told.is_buffer_told {
                self.meet(buffer);
            }
            if !told.is_dict_told {
                self.meet(dict);
            }
            each_owned(object, &facts, &objects, &mut |owned| match owned {
                Owned::Object(object) => self.meet(object),
                Owned::SharedKeys(keys) => self.meet_keys(keys),
            });
        }
    }

    #[inline]
    pub(crate) unsafe fn add(&mut self, object: u64, row: usize, facts: &Facts, is_gc: bool) {
        let frame = FrameFields { code: self.plan.frames.code };
        // SAFETY: an object that is alive, of this class.
        unsafe {
            let bytes = bytes_of(object, facts, is_gc, &self.plan.objects, frame);
            self.classes.add(row, bytes);
            self.walked.bytes = self.walked.bytes.saturating_add(bytes);
            self.walked.tracked += u64::from(self.is_tracked(object, is_gc));
        }
        self.walked.objects += 1;
        self.look_at_the_time();
    }

    #[inline]
    pub(crate) fn look_at_the_time(&mut self) {
        self.looked += 1;
        if self.looked.is_multiple_of(BETWEEN_LOOKS) && self.ground.is_late() {
            self.walked.cut = Some(Cut::Late);
        }
    }

    /// Keys that several instances share are met once.
    unsafe fn meet_keys(&mut self, keys: u64) {
        // Their references are the table's, and not the garbage's.
        if keys == 0 || self.cycles.is_some() || self.seen.insert(keys, self.ground) != Ok(true) {
            return;
        }
        // SAFETY: a table of keys.
        unsafe {
            let entries = entries_of(keys);
            for place in 0..entries.count {
                self.meet(word(entries.first + place * entries.step));
            }
        }
    }

    /// After `run_cycles`.
    #[must_use]
    pub const fn cycles(&self) -> Option<&Cycles> {
        self.cycles.as_ref()
    }

    #[must_use]
    pub const fn plan(&self) -> &Plan<'a> {
        &self.plan
    }
}

/// What `tp_traverse` calls for each object that it knows of. Returns 0: go on.
///
/// # Safety
/// As `tp_traverse` calls it, with the walk that it was given.
unsafe extern "C" fn visit<G: Ground>(object: *mut c_void, walk: *mut Walk<'_, G>) -> c_int {
    // SAFETY: the walk waits for `tp_traverse`, so nobody else uses it.
    let walk = unsafe { &mut *walk };
    let object = object.expose_provenance() as u64;
    walk.parts.is_dict_told |= object == walk.parts.dict;
    if object == walk.parts.buffer {
        walk.parts.is_buffer_told = true;
        if walk.parts.is_buffer_alone {
            return 0;
        }
    }
    // SAFETY: an object that is alive.
    unsafe { walk.meet(object) };
    c_int::from(walk.walked.cut.is_some())
}
