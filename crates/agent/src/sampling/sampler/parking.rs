//! How the sampler ends for a fork, how it goes on when the fork did not wait, and its files after one.
//! Owns: the sampler's side of life.rs. Never: touches the sampler once it is parked. A part of sampler.rs, split off by subject.

use super::Sampler;
use crate::collections;
use crate::process::bells;
use crate::process::files_over_fork;
use crate::process::life::{LIFE, State};
use crate::process::mailbox::{MAILBOX, Posted};
use crate::system::descriptor::Descriptor;
use crate::system::proc::monotonic_ns;
use crate::system::programs::handed;
use crate::system::tasks::Tasks;
use crate::writing::outcomes::{Dropped, Refused};
use genba_format::proto;
use genba_signal::handler::SHARED;
use std::sync::atomic::Ordering::SeqCst;

impl Sampler {
    /// Ends for a fork: all questions back, no file of this thread's table left. False: nobody waits for that any more, or the order comes
    /// again, with somebody who receives the files.
    pub(super) fn park(&mut self, posted: Posted) -> bool {
        if files_over_fork::misses_receiver() {
            MAILBOX.answer(posted);
            return false;
        }
        SHARED.pid.store(0, SeqCst);
        self.take_back(Refused::Exited);
        for thread in &mut self.threads {
            thread.close_file();
        }
        self.alarm = None;
        let recording = self.recorder.take_file();
        let (proc, tasks) = (self.proc.take(), self.tasks.take());
        if let (Some(recording), Some(proc)) = (&recording, &proc) {
            files_over_fork::hand_over(recording, proc);
        }
        let own_ns = self.recorder.thread_ends();
        self.parked_at_ns = Some(monotonic_ns());
        bells::leave_place();
        if !LIFE.step(State::Parking, State::Parked) {
            self.parked_at_ns = None;
            self.recorder.thread_goes_on(own_ns);
            self.recorder.set_file(recording);
            (self.proc, self.tasks) = (proc, tasks);
            SHARED.pid.store(self.pid, SeqCst);
            bells::take_place();
            return false;
        }
        // From here on the sampler is another thread's. The files are closed behind the answer, which does not wait for a dead server.
        MAILBOX.answer(posted);
        true
    }

    /// In words, why no thread can be looked at with them, or nothing written.
    pub(super) fn take_files(&mut self, files: Option<files_over_fork::Files>) -> Result<(), &'static str> {
        let (recording, proc) = files.map_or((None, None), |files| (Some(files.recording), files.proc));
        let tasks = Tasks::of(proc.as_ref());
        self.proc = proc;
        if !self.take_recording(recording) {
            return Err("its recording is out of reach");
        }
        self.tasks = Some(tasks?);
        Ok(())
    }

    /// False: nothing of this process can be in its recording. That there was one is in the run's table, which a fork inherits, and the sampler
    /// has to end, so that each is counted once, and its children are not.
    pub(super) fn take_recording(&mut self, recording: Option<Descriptor>) -> bool {
        let is_unwritten = recording.is_none() && !self.recorder.is_started();
        self.recorder.set_file(recording);
        if !is_unwritten || !handed::count_out_of_reach(&self.start.executable) {
            return true;
        }
        // As in a forked child that nobody follows: its parent's callables are in its interpreter, too.
        collections::rest();
        false
    }

    /// Forks that did not wait: the sampler goes on, too, and their children have taken nothing from it.
    pub(super) fn note_forks_without(&mut self) {
        let _ = LIFE.step(State::HeldUp, State::Running);
        let forks = LIFE.take_without();
        if forks > 0 {
            let text = "a fork did not wait any longer for genba's thread, which was held up";
            self.recorder.mark(proto::MarkKind::Note, text, u64::from(forks));
        }
    }

    /// The last block of a parked sampler that got no thread any more, written by a thread of the program.
    pub fn end_where_it_stands(&mut self) {
        self.begin_if_born();
        let text = "the process can make no more threads: nothing was sampled since";
        self.recorder.mark(proto::MarkKind::Note, text, 0);
        if let Some(parked_at_ns) = self.parked_at_ns.take() {
            self.count_gap(monotonic_ns().saturating_sub(parked_at_ns), Dropped::Aside);
        }
        self.recorder.by_program = true;
        // The last block needs no look at threads.
        let _ = self
            .take_files(files_over_fork::numbers().map_or_else(files_over_fork::Files::open, files_over_fork::files));
        self.end("exit");
        (self.tasks, self.proc) = (None, None);
    }
}
