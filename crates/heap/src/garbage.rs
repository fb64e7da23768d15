//! The garbage that waits for the collector, and the cycles in it: what a full collection would free now, found without touching an object.
//! Owns: which references are subtracted, and which objects are counted with a cycle. Never: runs a finalizer, writes to an object, recurses.
//! Keeps: I-07.
//!
//! As live.rs does it, but among the objects that the collector tracks alone, less those that `gc.freeze` set aside: so exactly these
//! are found that a collection finds (`deduce_unreachable` in CPython's Python/gc.c). What it does not track and is freed with them, such as
//! the text of an attribute, is counted with the cycle that leads to it.

use crate::classes::{Facts, Kind as ClassKind};
use crate::cycles::shape::{IS_ATTRIBUTES, Kind};
use crate::cycles::{COUNTED, Cycles, HANGS, Holder, IN_CYCLE, IN_USE, Stage, Work};
use crate::ground::{Ground, NoMemory};
use crate::index::{Cursor, Index};
use crate::layout::{GC_HEAD_BYTES, TYPE};
use crate::links::Links;
use crate::raw::{half, references_of, word};
use crate::steps::{Names, STEP_BYTES, Step};
use crate::walk::{Cut, LINK_MASK, Pass, Walk, Walked};

/// The lists that a full collection looks at: all but the one of `gc.freeze`.
const LISTS: usize = 3;
/// What lives for ever has more references than this.
const REFERENCES_MAX: u32 = 1 << 29;
/// Subtracted, an object that is left with references of others.
const HAS_OTHERS: u32 = 1;

impl<G: Ground> Walk<'_, G> {
    /// Finds the cycles. Counts garbage alone.
    ///
    /// # Safety
    /// As `run`.
    pub unsafe fn run_cycles(&mut self) -> Walked {
        let (Some(index), Some(cycles)) = (Index::new(self.ground), Cycles::new(self.ground)) else {
            return Walked { cut: Some(Cut::NoMemory), ..self.walked };
        };
        (self.index, self.cycles) = (Some(index), Some(cycles));
        // SAFETY: as the caller promises.
        if unsafe { self.find_cycles() }.is_err() {
            self.walked.cut = self.walked.cut.or(Some(Cut::NoMemory));
        }
        self.walked
    }

    /// # Errors
    /// No memory, or the walk was cut.
    unsafe fn find_cycles(&mut self) -> Result<(), NoMemory> {
        // SAFETY: as the caller promises; lists and objects stay as they are.
        unsafe {
            self.at_stage(Stage::Gather)?;
            for place in 0..self.plan.interpreters.len() {
                let Some(&interpreter) = self.plan.interpreters.get(place) else { break };
                // A collector that calls frees objects of its own interpreter alone.
                if self.plan.collecting != 0 && interpreter != self.plan.collecting {
                    continue;
                }
                let gc = interpreter + self.plan.objects.gc;
                if half(gc + self.plan.objects.gc_collecting) != 0 && interpreter != self.plan.collecting {
                    self.walked.cut = Some(Cut::Collecting);
                    return Err(NoMemory);
                }
                for list in self.plan.objects.gc_lists.into_iter().take(LISTS) {
                    self.gather(gc + list)?;
                }
            }
            self.subtract()?;
            self.mark()?;
            self.search()?;
            self.find_untracked()?;
            self.count_all()
        }
    }

    fn at_stage(&mut self, stage: Stage) -> Result<(), NoMemory> {
        self.pass = Pass::Cycles;
        if let Some(cycles) = self.cycles.as_mut() {
            cycles.stage = stage;
        }
        if self.walked.cut.is_some() { Err(NoMemory) } else { Ok(()) }
    }

    /// Each object of a list has a number, and its class a row.
    unsafe fn gather(&mut self, head: u64) -> Result<(), NoMemory> {
        // SAFETY: a list of the collector's, as in `walk_list`.
        unsafe {
            let mut link = word(head) & LINK_MASK;
            let mut links = Links::default();
            while link != head {
                if links.have_no_end(link) {
                    self.walked.cut = Some(Cut::Endless);
                    return Err(NoMemory);
                }
                let object = link + GC_HEAD_BYTES;
                if let Some(index) = self.index.as_mut() {
                    index.insert(object, self.ground)?;
                }
                self.class_of(word(object + TYPE))?;
                self.look_at_the_time();
                if self.walked.cut.is_some() {
                    return Err(NoMemory);
                }
                link = word(link) & LINK_MASK;
            }
        }
        Ok(())
    }

    /// What others refer to is in use, with all that it leads to. The rest is garbage.
    unsafe fn mark(&mut self) -> Result<(), NoMemory> {
        self.at_stage(Stage::Mark)?;
        let (mut cursor, mut tracked) = (Cursor::default(), 0);
        while let Some((object, left)) = self.next_of_index(&mut cursor) {
            tracked += 1;
            self.set_state(object, left.min(HAS_OTHERS));
        }
        let mut cursor = Cursor::default();
        while let Some((object, left)) = self.next_of_index(&mut cursor) {
            if left == HAS_OTHERS {
                self.set_state(object, IN_USE);
                // SAFETY: an object that was gathered.
                unsafe {
                    self.take(object);
                    self.follow();
                }
            }
            if self.walked.cut.is_some() {
                return Err(NoMemory);
            }
        }
        let (mut cursor, mut found) = (Cursor::default(), 0);
        while let Some((_, left)) = self.next_of_index(&mut cursor) {
            found += u64::from(left == 0);
        }
        if let Some(cycles) = self.cycles.as_mut() {
            (cycles.tracked, cycles.found) = (tracked, found);
        }
        Ok(())
    }

    unsafe fn search(&mut self) -> Result<(), NoMemory> {
        let ground = self.ground;
        let mut cursor = Cursor::default();
        while let Some((object, state)) = self.next_of_index(&mut cursor) {
            if state != 0 {
                continue;
            }
            self.at_stage(Stage::Search)?;
            self.cycles.as_mut().ok_or(NoMemory)?.visit_later(object, ground)?;
            while let Some(work) = self.cycles.as_mut().and_then(Cycles::next) {
                self.at_stage(Stage::Search)?;
                match work {
                    Work::Visit(object) => match self.state(object) {
                        Some(0) => {
                            let place = self.cycles.as_mut().ok_or(NoMemory)?.enter(object, ground)?;
                            self.set_state(object, place);
                            // SAFETY: an object that was gathered.
                            unsafe { self.take(object) };
                        }
                        Some(place) if place < COUNTED => self.cycles.as_mut().ok_or(NoMemory)?.lead_back(place),
                        _ => {}
                    },
                    Work::Leave(object) => {
                        let place = self.state(object).unwrap_or(0);
                        if self.cycles.as_mut().ok_or(NoMemory)?.leave(place) {
                            // SAFETY: as above.
                            unsafe { self.look_at_component()? };
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// A component is a cycle if a reference stays within it.
    unsafe fn look_at_component(&mut self) -> Result<(), NoMemory> {
        let ground = self.ground;
        let (first, last) = self.cycles.as_ref().ok_or(NoMemory)?.component;
        if first != last {
            self.at_stage(Stage::Owners)?;
            for place in first..=last {
                // SAFETY: objects on the path were gathered.
                unsafe { self.take_holder(place) };
            }
        }
        self.at_stage(Stage::Name)?;
        self.cycles.as_mut().ok_or(NoMemory)?.shape.begin(u64::from(last - first) + 1);
        for place in first..=last {
            // SAFETY: as above.
            unsafe { self.take_holder(place) };
        }
        let cycles = self.cycles.as_mut().ok_or(NoMemory)?;
        let state = if cycles.shape.is_empty() {
            HANGS
        } else {
            cycles.shape.fold(false);
            IN_CYCLE | cycles.groups.add(&mut cycles.shape, ground)?
        };
        for place in first..=last {
            let (object, _) = self.cycles.as_ref().ok_or(NoMemory)?.at(place);
            self.set_state(object, state);
        }
        self.cycles.as_mut().ok_or(NoMemory)?.end_component();
        Ok(())
    }

    unsafe fn take_holder(&mut self, place: u32) {
        let Some((object, owner)) = self.cycles.as_ref().map(|cycles| cycles.at(place)) else { return };
        // SAFETY: an object that was gathered.
        let (row, facts) = unsafe {
            let class = word(object + TYPE);
            let row = self.classes.known(class);
            (row, self.classes.facts_for(row, class))
        };
        if let Some(cycles) = self.cycles.as_mut() {
            cycles.hold(Holder { object, place, row, facts });
            if cycles.stage == Stage::Name {
                cycles.shape.add_member(node_of(row, owner));
            }
        }
        // SAFETY: as above.
        unsafe { self.take(object) };
        if let Some(cycles) = self.cycles.as_mut() {
            cycles.let_go();
        }
    }

    /// What the collector does not track, and only garbage refers to.
    unsafe fn find_untracked(&mut self) -> Result<(), NoMemory> {
        let ground = self.ground;
        self.begin(Pass::Cycles)?;
        self.at_stage(Stage::Untracked)?;
        // SAFETY: objects that were gathered or met.
        unsafe {
            self.take_garbage()?;
            let minor = self.plan.objects.minor;
            let untracked = &mut self.cycles.as_mut().ok_or(NoMemory)?.untracked;
            untracked.number(ground)?;
            let mut cursor = Cursor::default();
            while let Some((object, _)) = untracked.next(&mut cursor) {
                let references = references_of(object, minor);
                untracked.count(object).into_iter().for_each(|count| *count = references);
            }
            self.at_stage(Stage::Explain)?;
            self.take_garbage()?;
            let mut cursor = Cursor::default();
            while let Some((object, _)) = self.next_untracked(&mut cursor) {
                self.take(object);
            }
            self.at_stage(Stage::MarkUntracked)?;
            let mut cursor = Cursor::default();
            while let Some((object, left)) = self.next_untracked(&mut cursor) {
                if left > 0 && left != IN_USE {
                    self.take(object);
                    self.follow();
                }
                self.at_stage(Stage::MarkUntracked)?;
            }
        }
        Ok(())
    }

    /// Looks at all garbage that the collector tracks.
    unsafe fn take_garbage(&mut self) -> Result<(), NoMemory> {
        let mut cursor = Cursor::default();
        while let Some((object, state)) = self.next_of_index(&mut cursor) {
            if state != IN_USE {
                // SAFETY: an object that was gathered.
                unsafe {
                    self.take(object);
                    self.follow();
                }
            }
            if self.walked.cut.is_some() {
                return Err(NoMemory);
            }
        }
        Ok(())
    }

    /// Each cycle's own objects, and what hangs off them.
    unsafe fn count_all(&mut self) -> Result<(), NoMemory> {
        self.at_stage(Stage::Count)?;
        self.classes.forget();
        self.walked = Walked::default();
        let mut cursor = Cursor::default();
        while let Some((object, state)) = self.next_of_index(&mut cursor) {
            if state < IN_CYCLE || state == IN_USE {
                continue;
            }
            self.cycles.as_mut().ok_or(NoMemory)?.group = state & !IN_CYCLE;
            // SAFETY: an object that was gathered.
            unsafe {
                self.take(object);
                self.follow();
            }
            self.at_stage(Stage::Count)?;
        }
        Ok(())
    }

    /// An object of garbage is looked at.
    pub(crate) unsafe fn take_of_cycle(&mut self, object: u64, row: usize, facts: &Facts, is_gc: bool) {
        let Some(stage) = self.cycles.as_ref().map(|cycles| cycles.stage) else { return };
        if stage != Stage::Count {
            return self.look_at_the_time();
        }
        let before = self.walked.bytes;
        // SAFETY: as the caller promises.
        unsafe { self.add(object, row, facts, is_gc) };
        let bytes = self.walked.bytes.saturating_sub(before);
        let is_member = self.state(object).is_some_and(|state| state >= IN_CYCLE);
        let Some(group) = self.cycles.as_mut().and_then(|cycles| cycles.groups.row_mut(cycles.group)) else { return };
        if is_member {
            group.bytes += bytes;
        } else {
            group.held_objects += 1;
            group.held_bytes += bytes;
        }
    }

    /// Whether what `tp_traverse` leaves out is looked at, too. The collector does not: so not to find what it finds.
    pub(crate) fn looks_at_owned(&self) -> bool {
        self.cycles.as_ref().is_none_or(|cycles| {
            matches!(cycles.stage, Stage::Untracked | Stage::Explain | Stage::MarkUntracked | Stage::Count)
        })
    }

    /// Something that is looked at refers to an object.
    pub(crate) unsafe fn meet_of_cycle(&mut self, object: u64) {
        let ground = self.ground;
        // SAFETY: as the caller promises.
        let is_met = unsafe {
            match self.cycles.as_ref().map(|cycles| cycles.stage) {
                None | Some(Stage::Gather) => return,
                Some(Stage::Untracked) => self.meet_untracked(object),
                Some(Stage::Owners | Stage::Name) => self.meet_within(object),
                Some(stage) => {
                    let (Some(index), Some(cycles)) = (self.index.as_mut(), self.cycles.as_mut()) else { return };
                    let tracked = index.count(object);
                    match (stage, tracked) {
                        (Stage::Mark, Some(state)) if *state == 0 => {
                            *state = IN_USE;
                            self.waiting.push(object, ground)
                        }
                        (Stage::Search, Some(state)) => match *state {
                            0 => cycles.visit_later(object, ground),
                            place if place < COUNTED => {
                                cycles.lead_back(place);
                                Ok(())
                            }
                            _ => Ok(()),
                        },
                        (Stage::Explain, None) => {
                            if let Some(count) = cycles.untracked.count(object) {
                                *count = count.saturating_sub(1);
                            }
                            Ok(())
                        }
                        (Stage::MarkUntracked, None) => match cycles.untracked.count(object) {
                            Some(count) if *count == 0 => {
                                *count = IN_USE;
                                self.waiting.push(object, ground)
                            }
                            _ => Ok(()),
                        },
                        (Stage::Count, Some(state)) if *state == HANGS => {
                            *state = COUNTED;
                            self.waiting.push(object, ground)
                        }
                        (Stage::Count, None) => match cycles.untracked.count(object) {
                            Some(count) if *count == 0 => {
                                *count = IN_USE;
                                self.waiting.push(object, ground)
                            }
                            _ => Ok(()),
                        },
                        _ => Ok(()),
                    }
                }
            }
        };
        if is_met.is_err() {
            self.walked.cut = Some(Cut::NoMemory);
        }
    }

    /// Types are left out: a static one has no header, and leads to all that there is.
    unsafe fn meet_untracked(&mut self, object: u64) -> Result<(), NoMemory> {
        let ground = self.ground;
        // SAFETY: an object that is alive.
        unsafe {
            if self.state(object).is_some() || references_of(object, self.plan.objects.minor) > REFERENCES_MAX {
                return Ok(());
            }
            let class = word(object + TYPE);
            let (row, _) = self.class_of(class)?;
            let is_gc = self.is_gc(object, row);
            if self.classes.facts_for(row, class).kind == ClassKind::Type || self.is_tracked(object, is_gc) {
                return Ok(());
            }
        }
        if self.seen.insert(object, ground)? {
            self.cycles.as_mut().ok_or(NoMemory)?.untracked.insert(object, ground)?;
            self.waiting.push(object, ground)?;
        }
        Ok(())
    }

    /// A reference from the holder at hand, within its cycle or not.
    unsafe fn meet_within(&mut self, object: u64) -> Result<(), NoMemory> {
        let Some(place) = self.state(object) else { return Ok(()) };
        let ground = self.ground;
        let Some(cycles) = self.cycles.as_mut() else { return Ok(()) };
        let Some(holder) = cycles.holder.filter(|_| cycles.is_in_component(place)) else { return Ok(()) };
        let names = Names {
            objects: &self.plan.objects,
            types: &self.plan.types,
            frames: &self.plan.frames,
            left: &cycles.left,
        };
        if cycles.stage == Stage::Owners {
            // SAFETY: both are alive.
            if unsafe { names.is_attributes_of(holder.object, &holder.facts, object) } {
                cycles.own(place, holder.row);
            }
            return Ok(());
        }
        let mut name = [0; STEP_BYTES];
        // SAFETY: as above.
        let (step, len) = unsafe { names.step(holder.object, &holder.facts, object, &mut name) };
        let (_, owner) = cycles.at(holder.place);
        let (_, held_owner) = cycles.at(place);
        // SAFETY: as above.
        let held_row = self.classes.known(unsafe { word(object + TYPE) });
        let step = if owner != 0 && step == Step::Key { Step::Attribute } else { step };
        let kind = Kind {
            from: node_of(holder.row, owner),
            to: node_of(held_row, held_owner),
            step,
            is_many: false,
            len,
            name,
            count: 0,
        };
        let first = cycles.component.0;
        cycles.shape.add(kind, u64::from(holder.place - first), u64::from(place - first), ground)
    }

    fn next_of_index(&self, cursor: &mut Cursor) -> Option<(u64, u32)> {
        self.index.as_ref().and_then(|index| index.next(cursor))
    }

    fn next_untracked(&self, cursor: &mut Cursor) -> Option<(u64, u32)> {
        self.cycles.as_ref().and_then(|cycles| cycles.untracked.next(cursor))
    }

    fn state(&mut self, object: u64) -> Option<u32> {
        self.index.as_mut().and_then(|index| index.count(object)).map(|state| *state)
    }

    fn set_state(&mut self, object: u64, state: u32) {
        if let Some(slot) = self.index.as_mut().and_then(|index| index.count(object)) {
            *slot = state;
        }
    }
}

const fn node_of(row: usize, owner: u32) -> u32 {
    if owner == 0 { row as u32 } else { owner | IS_ATTRIBUTES }
}
