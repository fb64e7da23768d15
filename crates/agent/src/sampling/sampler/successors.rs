//! How a sampler becomes the next one: of another recording in the same process, of its next segment, or of a forked child.
//! Owns: what is kept from one to the next. Never: asks for memory that the one before did not have. A part of sampler.rs.

use super::Sampler;
use super::birth::Birth;
use crate::process::process_key::random_key;
use crate::process::session::Session;
use crate::reading::modules::Loaded;
use crate::reading::stacks::Stacks;
use crate::sampling::collections::{Collections, Stale};
use crate::sampling::threads::{LeftBehind, Name, Ran};
use crate::system::proc::{clock_ns, monotonic_ns};
use crate::writing::outcomes::Refused;
use crate::writing::reaped;
use crate::writing::tables::Tables;
use genba_format::{ProcessKey, proto};
use genba_python::find::Python;
use std::sync::atomic::{AtomicPtr, Ordering::SeqCst};

/// What a process's recording began with. Unlike the sampler it is never in the middle of something.
struct Origin {
    session: Session,
    start: proto::Start,
    key: ProcessKey,
}

/// Written by the sampler's thread alone, and read in forked children that have no such thread; null: there was none yet.
static ORIGIN: AtomicPtr<Origin> = AtomicPtr::new(core::ptr::null_mut());

impl Sampler {
    /// For a forked child that cannot use this sampler.
    pub(super) fn remember_origin(&self) {
        let key = self.recorder.key();
        // SAFETY: made by `into_raw` below, and only this thread frees it.
        if unsafe { ORIGIN.load(SeqCst).as_ref() }.is_some_and(|origin| origin.key == key) {
            return;
        }
        let origin = Origin { session: self.session.clone(), start: self.start.clone(), key };
        let before = ORIGIN.swap(Box::into_raw(Box::new(origin)), SeqCst);
        if !before.is_null() {
            // SAFETY: made by `into_raw`; the swap gave it to this thread alone.
            drop(unsafe { Box::from_raw(before) });
        }
    }

    /// A forked child's sampler that takes nothing from its parent's, which was held up at the fork. `None`: there was none.
    #[must_use]
    pub fn anew(python: Box<Python>, birth: Birth) -> Option<Sampler> {
        reaped::forget();
        // SAFETY: made by `into_raw`; the thread that frees it is not there in this process.
        let origin = unsafe { ORIGIN.load(SeqCst).as_ref()? };
        let start = birth.start(&origin.start, origin.key);
        let mut sampler = Sampler::new(origin.session.clone(), python, start, Stacks::new(Loaded::new()));
        sampler.is_child = true;
        let text = "genba's thread in the parent was held up at the fork: this recording begins anew";
        sampler.recorder.mark(proto::MarkKind::Note, text, 0);
        Some(sampler)
    }

    /// The next recording's sampler, when this one has ended, or has parked for a fork, and its thread is gone. What was found out about
    /// the process and the memory that was taken are kept, so that a chain of forks needs no more from one to the next.
    #[must_use]
    pub fn into_next(self, session: Session, start: proto::Start) -> Sampler {
        let Sampler {
            python,
            layout,
            layout_trust,
            recorder,
            mut stacks,
            mut threads,
            left_behind,
            proc,
            tasks,
            outside,
            echo_ns,
            ..
        } = self;
        // Descriptors of a table that ended with its thread: their numbers are the program's here.
        for thread in &mut threads {
            thread.forget_files();
        }
        std::mem::forget((proc, tasks));
        threads.clear();
        let stale = Stale::of_anew(&mut stacks);
        stacks.loaded.is_begin = true;
        let mut collections = Collections::new(&session);
        collections.stale = stale;
        let recorder = recorder.into_next(random_key(), start.clone());
        // Handlers know the layout by this address.
        Sampler {
            layout_trust,
            threads,
            left_behind,
            collections,
            outside,
            echo_ns,
            ..Sampler::with(session, python, layout, start, stacks, recorder)
        }
    }

    /// This is a forked child's now.
    pub fn is_born(&mut self, birth: Birth) {
        reaped::forget();
        self.birth = Some(birth);
    }

    /// The forked child's sampler, when it is born: the same program, a recording of its own in the same file. In the same memory: a child
    /// needs none that its parent did not have.
    pub fn begin_if_born(&mut self) {
        let Some(birth) = self.birth.take() else { return };
        let start = birth.start(&self.start, self.recorder.key());
        let session = self.session.clone();
        // SAFETY: read once and written back; a panic in between ends the sampler's thread, and nobody uses or drops it after that.
        unsafe {
            let parent = core::ptr::read(self);
            let parent_collections = parent.collections.of_child(Stale::NONE);
            let child = parent.into_next(session, start);
            let collections = parent_collections.of_child(child.collections.stale);
            core::ptr::write(
                self,
                Sampler { is_child: true, left_behind: LeftBehind::default(), collections, ..child },
            );
        }
    }

    /// Ends this segment and begins the next, at the process's clock that its last block tells: what passes until each thread's clock is read
    /// again is the next one's, in no sample.
    /// Row numbers, sequence numbers and totals begin anew, under another process key; the thread, the file and what was found out about the
    /// process stay.
    pub(super) fn begin_segment(&mut self) {
        self.take_back(Refused::Unanswered);
        for index in 0..self.threads.len() {
            self.end_question(index, Refused::Unanswered);
            self.settle_glances(index);
            self.write_still(index);
            self.tell_step(index);
        }
        self.end_counts();
        self.flush(Some("segment"));
        self.begin_counts_of_segment();
        let now_ns = monotonic_ns();
        let start = proto::Start {
            continues_key: self.recorder.key().to_vec(),
            within: true,
            realtime_ns: clock_ns(libc::CLOCK_REALTIME).unwrap_or(0),
            monotonic_ns: now_ns,
            cpu_before_ns: self.recorder.cpu_told_ns(),
            ..self.start.clone()
        };
        self.recorder.begin_segment(random_key(), start);
        self.remember_origin();
        self.tables = Tables::default();
        self.forget_ends();
        self.collections.stale = Stale::of_anew(&mut self.stacks);
        self.collections.is_told = false;
        self.ticks = 0;
        for index in 0..self.threads.len() {
            self.skip(index, now_ns);
            let thread = &mut self.threads[index];
            thread.row = None;
            thread.clock_told = None;
            thread.ran = Ran::Never;
            thread.name = Name::default();
            thread.ledger.forget_wait();
        }
        self.flush(None);
    }
}
