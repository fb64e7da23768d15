//! The sampler's side of `--copies` and `--alloc`: it takes the stacks that threads leave, and tells the threads how many are wanted.
//! Owns: when threads may leave stacks, and the mean distance of two. Never: counts a byte (counted.rs). A part of sampler.rs.
//! Partner: genba_signal::deposits::counts.

use super::super::Sampler;
use crate::process::life::LIFE;
use crate::reading::count_hooks::{self, counts};
use crate::reading::modules::nobody_walks;
use crate::sampling::counted::{Place, Tally};
use crate::system::proc::{self, monotonic_ns};
use genba_format::measure::Measure;
use genba_format::proto;
use genba_signal::deposits::counts::{MEAN_BYTES_MAX, MEAN_BYTES_MIN};
use genba_signal::deposits::{DEPOSITS, POOL};
use genba_signal::request::Counted;
use std::sync::atomic::Ordering::SeqCst;

/// So many samples are enough to tell places apart, and cost little.
const SAMPLES_PER_S: u64 = 800;

const ALL: [Counted; 2] = [Counted::Copies, Counted::Allocations];

fn measure(of: Counted) -> Measure {
    match of {
        Counted::Copies => Measure::Copied,
        Counted::Allocations => Measure::Allocated,
    }
}

/// The option, what its library counts, and what a thread without a slot did.
fn words(of: Counted) -> [&'static str; 3] {
    match of {
        Counted::Copies => ["--copies", "copies", "copied"],
        Counted::Allocations => ["--alloc", "allocations", "allocated"],
    }
}

/// The counters now: bytes counted, bytes lost.
fn counters(of: Counted) -> (u64, u64) {
    let lost = counts(of).lost_bytes.load(SeqCst);
    (counts(of).counted_bytes(), lost)
}

impl Sampler {
    fn is_wanted(&self, of: Counted) -> bool {
        match of {
            Counted::Copies => self.session.copies,
            Counted::Allocations => self.session.allocations,
        }
    }

    fn tally(&mut self, of: Counted) -> &mut Option<Tally> {
        let [copies, allocations] = &mut self.counted;
        match of {
            Counted::Copies => &mut copies.tally,
            Counted::Allocations => &mut allocations.tally,
        }
    }

    fn counts_any(&self) -> bool {
        self.counted.iter().any(|kept| kept.tally.is_some())
    }

    /// This thread runs for the recording from here on.
    pub(in super::super) fn begin_counts(&mut self, now_ns: u64) {
        for of in ALL {
            if !self.is_wanted(of) {
                continue;
            }
            if !(count_hooks::begin(of) || of == Counted::Copies && count_hooks::begin_led()) {
                let [option, what, past] = words(of);
                let text = match of {
                    Counted::Copies => {
                        format!("{option}: the C library's memmove was not found, so {past} bytes are not recorded")
                    }
                    Counted::Allocations => format!(
                        "{option}: the library that counts {what} was not loaded, or the program has a malloc of its own, so {past} \
                         bytes are not recorded"
                    ),
                };
                self.recorder.mark(proto::MarkKind::Note, &text, 0);
                match of {
                    Counted::Copies => self.session.copies = false,
                    Counted::Allocations => self.session.allocations = false,
                }
                continue;
            }
            count_hooks::exclude_this_thread(of);
            if self.tally(of).is_none() {
                // From the start of the process or the fork on; what a recording inside of the program did not see is not its own.
                let at_fork = counts(of).at_fork.each_ref().map(|counter| counter.load(SeqCst));
                let (counted, lost) = if self.is_within { counters(of) } else { (at_fork[0], at_fork[1]) };
                *self.tally(of) = Some(Tally::begin(counted, lost, now_ns));
            }
        }
        self.allow_counts();
    }

    /// Threads may leave stacks, in the way in which they may be read now. Before the layout was checked a stack would have no Python frames.
    pub(in super::super) fn allow_counts(&mut self) {
        if !self.counts_any() || self.layout_trust.is_unchecked() || LIFE.stands_by() {
            return;
        }
        for of in ALL {
            if self.tally(of).is_none() {
                continue;
            }
            if of == Counted::Allocations && !count_hooks::begin_python() {
                let text = "--alloc: the interpreter's allocators are not its usual ones, so small objects are not counted; what \
                            comes to malloc is";
                self.recorder.mark(proto::MarkKind::Note, text, 0);
            }
            counts(of).told.set(Some(self.reading()), self.session.native);
        }
    }

    /// Threads may leave no more stacks. Those that have begun are waited for by `nobody_walks`.
    pub(in super::super) fn forbid_counts(&self) {
        for of in ALL {
            counts(of).told.set(None, self.session.native);
        }
    }

    /// Takes what was left since the last tick.
    pub(in super::super) fn take_counts(&mut self) {
        if !self.counts_any() {
            return;
        }
        count_hooks::lead_new();
        for index in 0..DEPOSITS {
            let Some(ticket) = POOL.left_at(index) else { continue };
            let Some(answer) = POOL.answered(ticket) else { continue };
            let cause = answer.cause;
            let seen = self.node_of(answer, self.stacks.loaded.generation());
            let node = seen.node_or_refused(answer.python_end).ok();
            POOL.done(ticket);
            let thread = self.thread_row(cause.of, cause.tid);
            let Some(tally) = self.tally(cause.of) else { continue };
            match node {
                Some(node) => tally.sample(Place { thread, node }, cause.bytes, cause.mean_bytes),
                None => tally.lose(cause.bytes, cause.mean_bytes),
            }
        }
        ALL.into_iter().for_each(|of| self.judge_counts(of));
    }

    /// The row of the thread that left a stack. It may have ended since, and may have been seen here alone.
    fn thread_row(&mut self, of: Counted, tid: u32) -> u32 {
        let position = |sampler: &Sampler| sampler.threads.iter().position(|thread| thread.tid == tid);
        let found = position(self).or_else(|| {
            let lives = proc::thread_cpu_ns(tid).is_some();
            if lives {
                self.list_threads(monotonic_ns());
            }
            position(self).filter(|_| lives)
        });
        let row = found.map(|position| self.row(position));
        let before = self.tally(of).as_ref().and_then(|tally| tally.row_of(tid));
        let row = row.or(before).unwrap_or_else(|| self.tables.thread(tid, b"", monotonic_ns()));
        if let Some(tally) = self.tally(of) {
            tally.keep_row(tid, row);
        }
        row
    }

    /// Before a block is written. `must`: it is the last one of this segment.
    pub(in super::super) fn settle_counts(&mut self, must: bool) {
        self.take_counts();
        for of in ALL {
            let Some(tally) = self.tally(of) else { continue };
            let weights = tally.settle(measure(of), counters(of), monotonic_ns(), must);
            let totals = tally.totals();
            weights.into_iter().for_each(|weights| self.recorder.weigh(weights));
            self.recorder.measure(measure(of), totals);
            counts(of).free_slots(|tid| proc::thread_cpu_ns(tid).is_none());
            let without = counts(of).without_slot.swap(0, SeqCst);
            if without > 0 {
                let [option, _, past] = words(of);
                let text = format!(
                    "{option}: {without} threads began beside too many others: what they {past} is not counted"
                );
                self.recorder.mark(proto::MarkKind::Note, &text, without);
            }
        }
    }

    /// The mean distance follows the speed at which the program copies or allocates.
    fn judge_counts(&mut self, of: Counted) {
        let Some(tally) = self.tally(of) else { return };
        if let Some(speed) = tally.speed(counts(of).counted_bytes(), monotonic_ns()) {
            let mean_bytes = (speed / SAMPLES_PER_S).clamp(MEAN_BYTES_MIN, MEAN_BYTES_MAX);
            counts(of).told.mean_bytes.store(mean_bytes, SeqCst);
        }
    }

    /// The next segment's rows are others.
    pub(in super::super) fn begin_counts_of_segment(&mut self) {
        for of in ALL {
            if let Some(tally) = self.tally(of) {
                let (counted, lost) = counters(of);
                *tally = Tally::begin(counted, lost, monotonic_ns());
            }
        }
    }

    /// Nobody looks for a while: what is done meanwhile is in no sample and no total.
    pub(in super::super) fn pause_counts(&mut self) {
        self.forbid_counts();
        self.take_counts();
        for (kept, of) in self.counted.iter_mut().zip(ALL) {
            kept.at_pause = kept.tally.is_some().then(|| counters(of));
        }
    }

    pub(in super::super) fn resume_counts(&mut self) {
        for (kept, of) in self.counted.iter_mut().zip(ALL) {
            if let (Some(tally), Some((counted, lost))) = (&mut kept.tally, kept.at_pause.take()) {
                let (counted_now, lost_now) = counters(of);
                tally.skip(counted_now.saturating_sub(counted), lost_now.saturating_sub(lost));
            }
        }
    }

    /// The end: who has begun to leave a stack gets so long.
    pub(in super::super) fn end_counts(&mut self) {
        if !self.counts_any() {
            return;
        }
        self.forbid_counts();
        let deadline_ns = monotonic_ns() + super::super::WALKING_NS_MAX;
        while !nobody_walks() && monotonic_ns() < deadline_ns {
            core::hint::spin_loop();
        }
    }
}
