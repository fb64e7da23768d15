//! What the sampler does between looks: ends questions, lists threads, writes blocks, ends and parks.
//! Owns: how each look that was no sample is counted (I-03). A part of sampler.rs, split off by subject.

use super::{BACK_OFF_NS_MIN, COMPILE_NS_MAX, FILES_MAX, FLUSH_EVERY_NS, Sampler, UNEXPLAINED_NS_MAX, WALKING_NS_MAX};
use crate::control::{self, Done};
use crate::proc::{self, monotonic_ns};
use crate::recorder::{Dropped, Refused, Sample};
use crate::signals::Held;
use crate::threads::Thread;
use genba_format::proto;
use genba_signal::handler::SHARED;
use genba_signal::request::POOL;
use std::ffi::CString;
use std::sync::atomic::Ordering::SeqCst;

impl Sampler {
    /// Looks that end without a sample: their CPU is carried, their wall time is a row of its own.
    pub(super) fn refuse(&mut self, index: usize, why: Refused, ticks: u64) {
        self.recorder.refused(why, ticks);
        let skipped_ns = self.threads[index].skip_wall(monotonic_ns());
        self.recorder.wall_not_sampled(skipped_ns);
    }

    /// Ends a thread's open question without an answer, unless the answer came just now.
    pub(super) fn take_back_one(&mut self, index: usize, why: Refused) {
        let Some(open) = self.threads[index].open else { return };
        if POOL.cancel(open.ticket) {
            self.threads[index].open = None;
            return self.refuse(index, why, u64::from(open.ticks));
        }
        let deadline_ns = monotonic_ns() + WALKING_NS_MAX;
        while POOL.answered(open.ticket).is_none() && monotonic_ns() < deadline_ns {
            core::hint::spin_loop();
        }
        self.take_answer(index);
    }

    /// Ends all open questions: no handler has anything to do when this returns.
    pub(super) fn take_back(&mut self, why: Refused) {
        for index in 0..self.threads.len() {
            self.take_back_one(index, why);
        }
    }

    /// The thread is gone; `looks` of it are still to be counted.
    pub(super) fn thread_ended(&mut self, index: usize, looks: u64) {
        self.take_back_one(index, Refused::Ended);
        self.write_still(index);
        if looks > 0 {
            self.refuse(index, Refused::Ended, looks);
        }
        let thread = &mut self.threads[index];
        thread.gone = true;
        if let Some(row) = thread.row {
            let clock = proto::ThreadClock {
                thread: row,
                cpu_ns: thread.cpu_ns,
                cpu_not_sampled_ns: thread.cpu_ns - thread.credited_cpu_ns.min(thread.cpu_ns),
                ended: true,
            };
            self.recorder.thread_clock(clock);
        }
    }

    /// Writes a thread's waiting sample as it stands; the next look begins a new one.
    pub(super) fn write_still(&mut self, index: usize) {
        let Some(still) = self.threads[index].still.take() else { return };
        if still.ticks == 0 {
            return;
        }
        let row = self.row(index);
        self.recorder.sample(Sample {
            end_ns: still.end_ns,
            thread: row,
            node: still.node,
            state: still.state,
            ticks: still.ticks,
            cpu_quanta: 0,
            wall_quanta: still.wall_quanta,
        });
    }

    /// The thread's row in the recording, made when it has its first sample.
    pub(super) fn row(&mut self, index: usize) -> u32 {
        let thread = &mut self.threads[index];
        if let Some(row) = thread.row {
            return row;
        }
        let name = CString::new(format!("{}/comm", thread.tid))
            .ok()
            .and_then(|path| proc::read_whole(self.tasks.as_ref(), &path))
            .unwrap_or_default();
        let row = self.tables.thread(thread.tid, name.trim_ascii_end(), thread.first_seen_ns);
        thread.row = Some(row);
        row
    }

    /// Takes in threads that began. Those that ended are noticed when they are looked at.
    pub(super) fn list_threads(&mut self, now_ns: u64) {
        let Some(tasks) = &self.tasks else { return };
        proc::thread_ids(tasks, &mut self.tids);
        self.listed.clear();
        self.listed.extend(self.threads.iter().map(|thread| thread.tid));
        let mut began = false;
        for &tid in &self.tids {
            if tid == self.own_tid || self.listed.contains(&tid) {
                continue;
            }
            if let Some(cpu_ns) = proc::thread_cpu_ns(tid) {
                self.threads.push(Thread::new(tid, cpu_ns, now_ns));
                began = true;
            }
        }
        if began || self.threads.len() > 1 {
            self.refresh_states();
        }
        self.close_old_files();
    }

    /// Whose the signal handlers are now; a change is told in the recording.
    pub(super) fn note_handlers(&mut self, held: Held) {
        let before = std::mem::replace(&mut self.held, held);
        let sample = (before.sample, held.sample);
        let faults = (before.faults, held.faults);
        for (change, taken, given_back) in [
            (
                sample,
                "the program installed its own SIGURG handler: running threads are not asked any more",
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
    }

    /// Keeps up with the loaded files. Compiling their rows is work of the start: it takes at most half an interval
    /// of each tick and is not held against the rate.
    pub(super) fn refresh_files(&mut self, now_ns: u64) {
        let compiling = !self.stacks.loaded.is_compiled();
        let before_ns = if compiling { proc::clock_ns(libc::CLOCK_THREAD_CPUTIME_ID) } else { None };
        self.stacks.refresh(now_ns + (self.interval_ns / 2).min(COMPILE_NS_MAX));
        if let Some(spent_ns) = before_ns
            .zip(proc::clock_ns(libc::CLOCK_THREAD_CPUTIME_ID))
            .and_then(|(before_ns, after_ns)| after_ns.checked_sub(before_ns))
        {
            self.judged.0 += spent_ns;
        }
    }

    /// The process clock ran ahead of the sum of its threads: a thread began that is not listed yet.
    pub(super) fn somebody_else_ran(&mut self) -> bool {
        let known_ns: u64 = self.threads.iter().map(|thread| thread.cpu_ns).sum();
        let own_ns = proc::clock_ns(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0);
        let process_ns = proc::clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID).unwrap_or(0);
        let unexplained_ns = process_ns.saturating_sub(known_ns + own_ns + self.ended_cpu_ns);
        let ahead = unexplained_ns > self.unexplained_ns + UNEXPLAINED_NS_MAX;
        if ahead {
            self.unexplained_ns = unexplained_ns;
        }
        ahead
    }

    fn close_old_files(&mut self) {
        let open = self.threads.iter().filter(|thread| thread.has_file()).count();
        let files_max = FILES_MAX.min(proc::descriptor_limit() / 2);
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

    /// Writes a block, when there is anything to say.
    pub(super) fn flush(&mut self, end: Option<&str>) {
        for index in 0..self.threads.len() {
            let still = self.threads[index].still;
            self.write_still(index);
            self.threads[index].still = still.map(|still| crate::threads::Still { ticks: 0, wall_quanta: 0, ..still });
            let thread = &self.threads[index];
            if let Some(row) = thread.row {
                let clock = proto::ThreadClock {
                    thread: row,
                    cpu_ns: thread.cpu_ns,
                    cpu_not_sampled_ns: thread.cpu_ns.saturating_sub(thread.credited_cpu_ns),
                    ended: false,
                };
                self.recorder.thread_clock(clock);
            }
        }
        if self.recorder.is_started() && end.is_none() && !self.recorder.has_news() {
            return;
        }
        let looks_open = self.threads.iter().filter_map(|thread| thread.open).map(|open| u64::from(open.ticks)).sum();
        self.recorder.flush(&mut self.tables, looks_open, end);
    }

    /// The last block.
    pub(super) fn end(&mut self, why: &str) {
        SHARED.pid.store(0, SeqCst);
        self.take_back(Refused::Exited);
        // A forked child that did nothing and became another program leaves no trace but that program's.
        if why != "exec" || !self.is_child || self.recorder.is_started() || self.recorder.has_news() {
            self.flush(Some(why));
        }
        self.recorder.set_file(None);
        control::report(Done::Ended);
    }

    /// Ends for a fork: all questions back, the files of this thread's table closed.
    pub(super) fn park(&mut self) {
        SHARED.pid.store(0, SeqCst);
        self.take_back(Refused::Exited);
        self.recorder.thread_ends();
        self.recorder.set_file(None);
        self.tasks = None;
        for thread in &mut self.threads {
            thread.close_file();
        }
        self.parked_at_ns = Some(monotonic_ns());
        control::report(Done::Ended);
    }

    /// Doubles the interval when the sampler costs more than it may: 5 % of a core, 25 % above 200 threads. Halves it again, down
    /// to what was asked for, when it costs less than a quarter of that.
    pub(super) fn judge_rate(&mut self, now_ns: u64) {
        let own_cpu_ns = proc::clock_ns(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0);
        let (before_cpu_ns, before_ns) = self.judged;
        self.judged = (own_cpu_ns, now_ns);
        if !self.session.adaptive || now_ns - before_ns < FLUSH_EVERY_NS / 2 {
            return;
        }
        let share_max_percent = if self.threads.len() > 200 { 25 } else { 5 };
        let (spent_ns, passed_ns) = (own_cpu_ns.saturating_sub(before_cpu_ns) * 100, now_ns - before_ns);
        if spent_ns > share_max_percent * passed_ns && self.interval_ns < 64 * BACK_OFF_NS_MIN {
            self.interval_ns *= 2;
            let text = "sampling cost too much: the interval was doubled";
            self.recorder.mark(proto::MarkKind::Rate, text, self.interval_ns);
        } else if spent_ns * 4 < share_max_percent * passed_ns && self.interval_ns > self.session.interval_ns {
            self.interval_ns /= 2;
            self.recorder.mark(
                proto::MarkKind::Rate,
                "sampling is cheap again: the interval was halved",
                self.interval_ns,
            );
        }
    }

    /// Looks that the gap of a fork took away.
    pub(super) fn count_gap(&mut self, gap_ns: u64) {
        let missed = gap_ns / self.interval_ns * self.threads.len() as u64;
        if missed > 0 {
            self.recorder.look(missed);
            self.recorder.dropped(Dropped::Fork, missed);
        }
    }
}

/// 128 random bits from the kernel; from clocks and addresses where it has none.
pub fn random_key() -> [u8; 16] {
    let mut key = [0_u8; 16];
    // SAFETY: the kernel writes at most 16 bytes.
    let filled = unsafe { libc::syscall(libc::SYS_getrandom, key.as_mut_ptr(), key.len(), 1_u32) };
    if filled != 16 {
        let words = [monotonic_ns(), u64::from(proc::own_pid()) << 32 ^ (&raw const key) as u64];
        for (slot, byte) in key.iter_mut().zip(words.iter().flat_map(|word| word.to_le_bytes())) {
            *slot = byte;
        }
    }
    key
}

/// Resident bytes: the second number of `/proc/self/statm`, in pages.
pub fn resident_bytes() -> Option<u64> {
    const PAGE_BYTES: u64 = 4096;
    let text = proc::read_whole(None, c"/proc/self/statm")?;
    let pages: u64 = std::str::from_utf8(&text).ok()?.split(' ').nth(1)?.parse().ok()?;
    Some(pages * PAGE_BYTES)
}
