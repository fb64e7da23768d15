//! The objects in use: those that are left when all garbage is gone, found without touching an object.
//! Owns: what is subtracted, and from where the objects in use are reached. Never: runs a finalizer, writes to an object; calls an object
//! garbage of which a reference cannot be explained. Keeps: I-07.
//!
//! As the collector does it (`deduce_unreachable` in CPython's Python/gc.c), on a table of the walk's own: each object's count of references,
//! less one for each that an object of the heap is seen to have. What is left of a count comes from elsewhere: from C code, from running
//! frames, from an interpreter. Such objects are in use, and all that they lead to. The collector looks at tracked objects alone. Here all
//! others take part, too, so that what it frees later, as the last reference goes, is left out.

use crate::classes::Kind;
use crate::ground::{Ground, NoMemory, Seen};
use crate::index::{Cursor, Index};
use crate::layout::GC_HEAD_BYTES;
use crate::raw::{half, references_of, word};
use crate::walk::{Cut, Pass, Walk, Walked};

/// `gc.freeze` sets them aside: the collector does not look at them, so what they refer to is in use.
const FROZEN_LIST: usize = 3;

impl<G: Ground> Walk<'_, G> {
    /// Meets every object, and counts those in use.
    ///
    /// # Safety
    /// As `run`.
    pub unsafe fn run_live(&mut self) -> Walked {
        // SAFETY: as the caller promises.
        let all = unsafe { self.run_indexed() };
        if all.cut.is_some() {
            return all;
        }
        // SAFETY: as above.
        if unsafe { self.subtract().and_then(|()| self.reach()) }.is_err() {
            self.walked.cut = Some(Cut::NoMemory);
        }
        self.walked.garbage_objects = all.objects.saturating_sub(self.walked.objects);
        self.walked.garbage_bytes = all.bytes.saturating_sub(self.walked.bytes);
        self.walked
    }

    /// Meets every object, and keeps where it is.
    pub(crate) unsafe fn run_indexed(&mut self) -> Walked {
        let Some(index) = Index::new(self.ground) else { return Walked { cut: Some(Cut::NoMemory), ..self.walked } };
        self.index = Some(index);
        // SAFETY: as the caller promises.
        unsafe { self.run() }
    }

    /// Each count becomes that of the references which no object explains.
    pub(crate) unsafe fn subtract(&mut self) -> Result<(), NoMemory> {
        self.begin(Pass::Subtract)?;
        let ground = self.ground;
        let Some(index) = self.index.as_mut() else { return Ok(()) };
        index.number(ground)?;
        let mut cursor = Cursor::default();
        while let Some((object, _)) = index.next(&mut cursor) {
            // SAFETY: an object that was met.
            let references = unsafe { references_of(object, self.plan.objects.minor) };
            index.count(object).into_iter().for_each(|count| *count = references);
        }
        let mut cursor = Cursor::default();
        while let Some((object, _)) = self.index.as_ref().and_then(|index| index.next(&mut cursor)) {
            self.look_at_the_time();
            if self.walked.cut.is_some() {
                break;
            }
            // SAFETY: an object that was met.
            unsafe { self.take(object) };
        }
        Ok(())
    }

    /// Counts what is in use.
    unsafe fn reach(&mut self) -> Result<(), NoMemory> {
        if self.walked.cut.is_some() {
            return Ok(());
        }
        self.begin(Pass::Reach)?;
        self.classes.forget();
        self.walked = Walked::default();
        // SAFETY: lists and objects as in the first walk: nothing ran since.
        unsafe {
            for place in 0..self.plan.interpreters.len() {
                let Some(&interpreter) = self.plan.interpreters.get(place) else { break };
                self.walk_list(interpreter + self.plan.objects.gc + self.plan.objects.gc_lists[FROZEN_LIST]);
                self.walk_threads(interpreter);
            }
            let mut cursor = Cursor::default();
            while let Some((object, left)) = self.index.as_ref().and_then(|index| index.next(&mut cursor)) {
                if left > 0 {
                    self.meet(object);
                    self.follow();
                }
                if self.walked.cut.is_some() {
                    break;
                }
            }
        }
        Ok(())
    }

    pub(crate) fn begin(&mut self, pass: Pass) -> Result<(), NoMemory> {
        self.pass = pass;
        let fresh = Seen::new(self.ground).ok_or(NoMemory)?;
        core::mem::replace(&mut self.seen, fresh).give_back(self.ground);
        Ok(())
    }

    /// One reference to an object is explained.
    #[inline]
    pub(crate) fn explain(&mut self, object: u64) {
        if let Some(count) = self.index.as_mut().and_then(|index| index.count(object)) {
            *count = count.saturating_sub(1);
        }
    }

    /// From 3.14 on a frame may have a reference that is not counted, and `tp_traverse` tells it as one that is. The collector's own visitor
    /// leaves them out; here one is added for each.
    pub(crate) unsafe fn add_uncounted(&mut self, object: u64, kind: Kind) {
        let frames = self.plan.frames;
        let (Some(pointer), Some(frame)) = (
            frames.stack_pointer,
            match kind {
                Kind::Generator => Some(object + self.plan.objects.generator_frame),
                // SAFETY: a frame object has its frame there.
                Kind::Frame => Some(unsafe { word(object + FRAME_OBJECT_FRAME) }),
                _ => None,
            },
        ) else {
            return;
        };
        // SAFETY: a generator's own frame, or a frame object's.
        unsafe {
            self.add_if_uncounted(word(frame + frames.code));
            self.add_if_uncounted(word(frame + self.plan.objects.frame_fields[0]));
            let code = word(frame + frames.code) & !7;
            if code == 0 {
                return;
            }
            let most = u64::from(half(code + self.plan.objects.code_locals))
                + u64::from(half(code + self.plan.objects.code_stack_size));
            let used = word(frame + pointer).saturating_sub(frame + frames.locals) / 8;
            if used <= most {
                (0..used).for_each(|slot| self.add_if_uncounted(word(frame + frames.locals + 8 * slot)));
            }
        }
    }

    fn add_if_uncounted(&mut self, slot: u64) {
        const UNCOUNTED: u64 = 1;
        if slot & 3 == UNCOUNTED
            && let Some(count) = self.index.as_mut().and_then(|index| index.count(slot & !3))
        {
            *count = count.saturating_add(1);
        }
    }

    /// Its references are not counted, so it keeps no string in use.
    pub(crate) unsafe fn is_interned_dict(&self, object: u64) -> bool {
        let Some(interned) = self.plan.objects.interned.filter(|_| self.plan.has_interned) else { return false };
        // SAFETY: interpreters of the plan.
        self.plan.interpreters.iter().any(|interpreter| unsafe { word(interpreter + interned) } == object)
    }

    /// Whether the collector has it in a list of its own.
    pub(crate) unsafe fn is_tracked(&self, object: u64, is_gc: bool) -> bool {
        // SAFETY: in front of such an object are the links.
        is_gc && unsafe { word(object - GC_HEAD_BYTES) } != 0
    }
}

/// Of a frame object: its frame.
const FRAME_OBJECT_FRAME: u64 = 24;
