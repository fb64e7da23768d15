//! The sampler's work between samples: it ends questions, lists threads, writes blocks, ends and parks.
//! Owns: how each tick without a sample is counted (I-03). A part of sampler.rs, split off by subject.

mod blocks;
mod counts;
mod ends;

use super::{FILES_MAX, LayoutTrust, STAND_BY_NS, Sampler, WALKING_NS_MAX};
use crate::heap::pending_answers;
use crate::process::bells;
use crate::process::files_over_fork;
use crate::process::life::LIFE;
use crate::process::mailbox::MAILBOX;
use crate::reading::count_hooks;
use crate::reading::modules::nobody_walks;
use crate::sampling::ledger::{Unsampled, Why};
use crate::sampling::roster::{Began, Ids};
use crate::sampling::threads::Thread;
use crate::system::alternate::fitted;
use crate::system::descriptor::descriptor_limit;
use crate::system::proc::{self, Doing, monotonic_ns};
use crate::system::signals::{self, HandlersHeld, mask};
use crate::system::tasks::{self, Tasks};
use crate::system::threads;
use crate::writing::outcomes::{Dropped, Refused};
use genba_format::proto;
use genba_signal::handler::SHARED;
use genba_signal::request::POOL;
use std::sync::atomic::Ordering::SeqCst;

/// So long a handler that has begun is waited for without giving up the CPU: most end within microseconds.
const SPIN_NS_MAX: u64 = 50_000;
/// At the end, handlers that are still walking are waited for so long.
const HANDLERS_NS_MAX: u64 = 2_000_000_000;

impl Sampler {
    /// Looks that end without a sample: their CPU is carried, unless the reason lasts; their wall time is a row of its own.
    pub(super) fn refuse(&mut self, index: usize, why: Refused, ticks: u64) {
        let unsampled = self.threads[index].ledger.lose(Why::Refused(why), ticks, monotonic_ns());
        self.write_unsampled(unsampled);
    }

    pub(super) fn write_unsampled(&mut self, unsampled: Unsampled) {
        let Unsampled { why, ticks, wall_ns } = unsampled;
        match why {
            Why::Dropped(why) => self.recorder.dropped(why, ticks),
            Why::Refused(why) => self.recorder.refused(why, ticks),
        }
        self.recorder.wall_not_sampled(wall_ns);
    }

    /// Ends a thread's open question without an answer, unless the answer came just now.
    pub(super) fn take_back_one(&mut self, index: usize, why: Refused) {
        if !self.cancel_one(index, why) {
            self.await_handler(index, monotonic_ns() + WALKING_NS_MAX);
        }
    }

    /// Ends all open questions. Unless one is held up for longer than `WALKING_NS_MAX`, no handler has anything to do when this returns.
    pub(super) fn take_back(&mut self, why: Refused) {
        let deadline_ns = monotonic_ns() + WALKING_NS_MAX;
        let begun: Vec<usize> = (0..self.threads.len()).filter(|&index| !self.cancel_one(index, why)).collect();
        for index in begun {
            self.await_handler(index, deadline_ns);
        }
    }

    /// Takes a thread's question back. False: its handler has begun.
    fn cancel_one(&mut self, index: usize, why: Refused) -> bool {
        let Some(open) = self.threads[index].open else { return true };
        let cancelled = POOL.cancel(open.ticket);
        if cancelled {
            self.threads[index].open = None;
            self.refuse(index, why, u64::from(open.ticks));
        }
        cancelled
    }

    /// Takes the answer of a handler that has begun, if it comes by `deadline_ns`.
    fn await_handler(&mut self, index: usize, deadline_ns: u64) {
        let Some(open) = &mut self.threads[index].open else { return };
        let began_ns = monotonic_ns();
        let deadline_ns = if open.held_up { began_ns } else { deadline_ns };
        while POOL.answered(open.ticket).is_none() {
            let now_ns = monotonic_ns();
            if now_ns >= deadline_ns {
                open.held_up = true;
                return;
            }
            if now_ns - began_ns < SPIN_NS_MAX {
                core::hint::spin_loop();
            } else {
                // The handler's thread may need this very CPU.
                // SAFETY: no arguments, no memory.
                unsafe { libc::sched_yield() };
            }
        }
        self.take_answer(index);
    }

    /// Ends a thread's question for good: nobody will come back for the answer of a handler that is held up.
    pub(super) fn end_question(&mut self, index: usize, why: Refused) {
        self.take_back_one(index, why);
        if let Some(open) = self.threads[index].open.take() {
            self.left_behind.add(open.ticket);
            self.refuse(index, why, u64::from(open.ticks));
        }
    }

    /// The thread is gone; `looks` of it are still to be counted.
    pub(super) fn thread_ended(&mut self, index: usize, looks: u64) {
        if self.threads[index].end.is_none() {
            // It told its end before it was gone: nobody's note otherwise, and its time would be told twice.
            self.take_ends();
        }
        self.end_question(index, Refused::Ended);
        self.settle_glances(index);
        self.write_still(index);
        let looks = self.tell_rest(index, looks);
        if looks > 0 {
            self.refuse(index, Refused::Ended, looks);
        }
        self.tell_step(index);
        let thread = &mut self.threads[index];
        fitted::ended(thread.tid);
        thread.gone = true;
        self.gone_now.push(thread.tid);
        let clock = thread.row.map(|row| thread.clock(row, true));
        if let Some(clock) = &clock {
            self.recorder.thread_clock(*clock);
        }
        self.settle_end(index, clock);
    }

    /// Writes a thread's waiting sample as it stands; the next look begins a new one.
    pub(super) fn write_still(&mut self, index: usize) {
        let Some(still) = self.threads[index].ledger.end_wait() else { return };
        self.step_waited(index, &still);
        let row = self.row(index);
        self.recorder.sample(still.sample(row));
    }

    /// The thread's row in the recording, made when it has its first sample, under the kernel's name for it. Where Python has one, that of the
    /// kernel is asked for when the block is written: a thread that has ended by then does without.
    pub(super) fn row(&mut self, index: usize) -> u32 {
        // Before that nothing of Python's is read: it would be no answer.
        if self.layout_trust == LayoutTrust::Checked && self.threads[index].name.is_due() {
            self.read_name(index);
        }
        let thread = &self.threads[index];
        if let Some(row) = thread.row {
            return row;
        }
        let (tid, first_seen_ns, is_named) = (thread.tid, thread.first_seen_ns, thread.name.is_known());
        let name = if is_named { Vec::new() } else { self.kernel_name(index) };
        let row = self.tables.thread(tid, &name, first_seen_ns);
        let thread = &mut self.threads[index];
        thread.is_kernel_name_due = is_named;
        thread.row = Some(row);
        row
    }

    /// Of a thread whose row is made for this block.
    fn tell_kernel_name(&mut self, index: usize, row: u32) {
        if std::mem::take(&mut self.threads[index].is_kernel_name_due) {
            let name = self.kernel_name(index);
            self.tables.name_thread(row, &name);
        }
    }

    /// Empty: it has ended.
    fn kernel_name(&self, index: usize) -> Vec<u8> {
        let Some(tasks) = &self.tasks else { return Vec::new() };
        let name = proc::read_whole(Some(tasks.folder()), &tasks::path(self.threads[index].number, "comm"));
        name.unwrap_or_default().trim_ascii_end().to_vec()
    }

    pub(super) fn list_is_due(&mut self, now_ns: u64) -> bool {
        self.roster.is_due(now_ns, self.threads.len(), || self.tasks.as_ref().and_then(Tasks::count))
    }

    /// Takes in threads that began; whether they did so within this recording the caller knows.
    pub(super) fn list_threads(&mut self, now_ns: u64) -> bool {
        let Some(tasks) = &self.tasks else {
            self.roster.not_listed(now_ns);
            return false;
        };
        let before = self.threads.len();
        let visitor = LIFE.visitor();
        let mut is_visited = false;
        for position in 0..self.roster.list(now_ns, tasks, self.threads.iter().map(Thread::ids)) {
            let began = self.roster.began(position, tasks, self.threads.iter().map(Thread::ids));
            let Some(Began { ids: Ids { tid, number }, cpu_ns }) = began else { continue };
            is_visited |= tid == visitor;
            if self.gone_now.contains(&tid) || tid == visitor {
                // On its way out, and still listed.
                self.roster.one_ended();
                continue;
            }
            self.threads.push(Thread::new(tid, number, cpu_ns, now_ns));
        }
        if !is_visited && visitor != 0 {
            // Its number may be that of a thread of the program's from now on.
            LIFE.set_visitor(0);
        }
        self.close_old_files();
        self.threads.len() > before
    }

    /// Takes in threads that began since the list before. One that runs on this very CPU is on none at this moment, so that its clock stands still:
    /// it counts as one that ran.
    pub(super) fn list_began(&mut self, now_ns: u64) -> bool {
        let known = self.threads.len();
        let began = self.list_threads(now_ns);
        self.threads.iter_mut().skip(known).for_each(|thread| thread.ledger.begins());
        began
    }

    /// Of the threads from that one on, which were there before the recording.
    pub(super) fn forget_turns_from(&mut self, first: usize) {
        let Some(tasks) = &self.tasks else { return };
        self.threads.iter_mut().skip(first).for_each(|thread| thread.forget_turns(tasks.folder()));
    }

    /// In another /proc than before the threads may be numbered otherwise.
    pub(super) fn number_threads(&mut self) {
        let Some(tasks) = &self.tasks else { return };
        let number = self.roster.renumber(tasks);
        for thread in &mut self.threads {
            thread.number = number(thread.tid);
        }
    }

    /// Whose the signal handlers are now; a change is told in the recording.
    pub(super) fn note_handlers(&mut self, held: HandlersHeld) {
        let before = std::mem::replace(&mut self.held, held);
        let sample = (before.sample, held.sample);
        let faults = (before.faults, held.faults);
        for (change, taken, given_back) in [
            (
                sample,
                "the program took SIGURG for itself: running threads are not asked any more",
                "SIGURG is genba's again: running threads are asked",
            ),
            (
                faults,
                "a handler for SIGSEGV or SIGBUS that is not genba's: memory is read by process_vm_readv",
                "SIGSEGV and SIGBUS are genba's again",
            ),
        ] {
            match change {
                (true, false) => self.recorder.mark(proto::MarkKind::Handler, taken, 0),
                (false, true) => self.recorder.mark(proto::MarkKind::Handler, given_back, 0),
                _ => {}
            }
        }
        if before.sample != held.sample {
            // Also where a raw system call did it.
            mask::sample_is_ours(held.sample);
        }
    }

    /// Keeps up with the loaded files, for at most half an interval on each tick. That is work of the start and not held
    /// against the rate, unless the program loads files without end.
    pub(super) fn refresh_files(&mut self, now_ns: u64) {
        let loaded = &self.stacks.loaded;
        if loaded.is_compiled() && !loaded.is_outdated() {
            return self.stacks.free_retired();
        }
        self.go_anywhere();
        self.compile_until(self.schedule.compile_until_ns(now_ns));
    }

    pub(super) fn compile_until(&mut self, deadline_ns: u64) {
        let before_ns = proc::clock_ns(libc::CLOCK_THREAD_CPUTIME_ID);
        self.stacks.refresh(deadline_ns);
        for path in self.stacks.loaded.take_came() {
            self.recorder.loaded(path);
        }
        let after_ns = proc::clock_ns(libc::CLOCK_THREAD_CPUTIME_ID);
        let spent_ns = before_ns.zip(after_ns).and_then(|(before_ns, after_ns)| after_ns.checked_sub(before_ns));
        self.schedule.compiled(spent_ns.unwrap_or(0));
    }

    /// The process's first thread is gone, in a recording that another thread may have begun: nothing tells so then. Looked at as often as
    /// threads are listed.
    pub(super) fn leader_ended(&self, now_ns: u64) -> bool {
        let is_due = self.is_within && self.roster.was_listed_within(now_ns, 2 * self.schedule.interval_ns());
        let Some(tasks) = self.tasks.as_ref().filter(|_| is_due) else { return false };
        let text = proc::read_whole(Some(tasks.folder()), &tasks::path(tasks.first(), "stat"));
        text.is_some_and(|text| Doing::parse_stat(&text).is_none())
    }

    /// Threads of the program beside its first.
    pub(super) fn program_threads(&mut self) -> usize {
        let Some(tasks) = &self.tasks else { return 0 };
        self.roster.others(tasks)
    }

    fn close_old_files(&mut self) {
        let open = self.threads.iter().filter(|thread| thread.has_file()).count();
        let files_max = FILES_MAX.min(descriptor_limit() / 2);
        if open <= files_max {
            return;
        }
        let mut used: Vec<u64> =
            self.threads.iter().filter(|thread| thread.has_file()).map(|thread| thread.last_used).collect();
        used.sort_unstable();
        let oldest = used[open - files_max];
        for thread in &mut self.threads {
            if thread.last_used < oldest {
                thread.close_file();
            }
        }
    }

    /// From now on nothing is looked at: the program wants none of it. What passes meanwhile is in no sample.
    pub(super) fn go_away(&mut self) {
        self.keep_away();
        self.recorder.mark(proto::MarkKind::Pause, "", 0);
        self.flush(None);
        // Not while the write hangs: the call may fail meanwhile.
        LIFE.set_stands_by(true);
    }

    /// After an order that made it look, or tell clocks, while it stands by: as before that.
    pub(super) fn keep_away(&mut self) {
        self.go_anywhere();
        self.pause_ends();
        self.pause_counts();
        self.take_back(Refused::Unanswered);
        for index in 0..self.threads.len() {
            self.settle_glances(index);
        }
        if let Some(tasks) = &self.tasks {
            self.threads.iter_mut().for_each(|thread| thread.pause_turns(tasks.folder()));
        }
    }

    /// Waits for the next order. Comes back by itself when its time is over: the next tick ends the recording.
    pub(super) fn stand_by(&mut self) {
        while MAILBOX.order().is_none() {
            let now_ns = monotonic_ns();
            if self.session.until_ns.is_some_and(|until_ns| now_ns >= until_ns) || self.lease_is_over(now_ns) {
                return self.come_back();
            }
            MAILBOX.sleep_until(self.lease.not_after(None).unwrap_or(now_ns + STAND_BY_NS));
            // A thread may have left one as this began.
            pending_answers::write();
            self.note_forks_without();
            self.answer_killer();
        }
    }

    pub(super) fn come_back(&mut self) {
        let now_ns = monotonic_ns();
        if let Some(tasks) = &self.tasks {
            self.threads.iter_mut().for_each(|thread| thread.resume_turns(tasks.folder()));
        }
        self.resume_counts();
        let known = self.threads.len();
        self.list_threads(now_ns);
        self.forget_turns_from(known);
        for index in 0..self.threads.len() {
            self.skip(index, now_ns);
            self.threads[index].ledger.forget_wait();
        }
        self.skip_collections();
        self.stacks.loaded.is_begin = true;
        threads::ends::want(true);
        self.recorder.mark(proto::MarkKind::Pause, "", 1);
        LIFE.set_stands_by(false);
        self.allow_counts();
    }

    /// What a thread did since its last look, and how long that took, is in no sample.
    pub(super) fn skip(&mut self, index: usize, now_ns: u64) {
        let thread = &mut self.threads[index];
        thread.step = None;
        let cpu_ns = proc::thread_cpu_ns(thread.tid).unwrap_or(thread.ledger.cpu_ns());
        let skipped_ns = thread.ledger.skip(now_ns, cpu_ns);
        self.recorder.wall_not_sampled(skipped_ns);
    }

    /// The last block.
    pub(super) fn end(&mut self, why: &str) {
        SHARED.pid.store(0, SeqCst);
        self.end_counts();
        self.take_back(Refused::Exited);
        self.settle_last_ends();
        for index in 0..self.threads.len() {
            self.end_question(index, Refused::Exited);
            self.settle_glances(index);
            self.write_still(index);
            self.tell_step(index);
        }
        // For the processes that come after this one.
        let _ = self.judged_rate(monotonic_ns());
        self.heaps.end();
        self.end_collections();
        self.flush(Some(why));
        bells::leave_place();
        self.recorder.set_file(None);
        self.alarm = None;
        if self.session.is_leased {
            give_handlers_back();
            count_hooks::lead_back();
        }
        MAILBOX.nobody_listens();
    }

    /// The command that began this recording in a running program has given its lock up, or is gone.
    pub(super) fn lease_is_over(&mut self, now_ns: u64) -> bool {
        let recorder = &self.recorder;
        self.lease.is_over(now_ns, || recorder.is_locked())
    }

    /// Ends before it began: without a table of its own each descriptor here would be one of the program's. What is written
    /// goes through one that is open for a moment, as before `main`.
    pub(super) fn end_without_table(&mut self) -> super::ThreadEnd {
        let words = "the kernel forbids what keeps genba's descriptors apart from the program's (close_range, unshare)";
        // The sampler ends either way.
        let _ = self.take_recording(files_over_fork::Files::open().map(|files| files.recording));
        self.end_unsampled(words)
    }

    /// Ends before it began, and says why.
    pub(super) fn end_unsampled(&mut self, words: &str) -> super::ThreadEnd {
        if self.recorder.is_started() {
            self.recorder.mark(proto::MarkKind::Stopped, words, 0);
            self.flush(Some("stopped"));
        } else {
            self.recorder.refuse(words);
            self.recorder.announce();
        }
        self.recorder.set_file(None);
        MAILBOX.nobody_listens();
        super::ThreadEnd::Ended
    }

    /// Looks that a time without the sampler took away.
    pub(super) fn count_gap(&mut self, gap_ns: u64, why: Dropped) {
        let missed = self.schedule.ticks_in(gap_ns) * self.threads.len() as u64;
        if missed > 0 {
            self.recorder.look(missed);
            self.recorder.dropped(why, missed);
        }
    }
}

/// The program is as it was before genba was in it. Where a handler is held up in the middle of its walk, a fault of its guarded reads would
/// end the program: then they stay, and do nothing.
fn give_handlers_back() {
    let deadline_ns = monotonic_ns() + HANDLERS_NS_MAX;
    while !nobody_walks() && monotonic_ns() < deadline_ns {
        MAILBOX.sleep_until(monotonic_ns() + WALKING_NS_MAX / 20);
    }
    if nobody_walks() {
        signals::withdraw();
    }
}
