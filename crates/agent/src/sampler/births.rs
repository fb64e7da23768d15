//! How a sampler becomes the next one: of another recording in the same process, or of a forked child.
//! Owns: what is kept from one to the next. Never: asks for memory that the one before did not have. A part of sampler.rs.

use super::{Sampler, random_key};
use crate::proc::{self, monotonic_ns};
use crate::reaped;
use crate::session::Session;
use crate::threads::LeftBehind;
use genba_format::proto;

/// When a forked child began, noted by its first thread.
#[derive(Clone, Copy, Debug)]
pub struct Birth {
    pid: u32,
    realtime_ns: u64,
    monotonic_ns: u64,
    cpu_before_ns: u64,
}

impl Birth {
    #[must_use]
    pub fn now() -> Birth {
        Birth {
            pid: proc::own_pid(),
            realtime_ns: proc::clock_ns(libc::CLOCK_REALTIME).unwrap_or(0),
            monotonic_ns: monotonic_ns(),
            cpu_before_ns: proc::clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID).unwrap_or(0),
        }
    }
}

impl Sampler {
    /// The next recording's sampler, when this one has ended, or has parked for a fork, and its thread is gone. What was found out about
    /// the process and the memory that was taken are kept, so that a chain of forks needs no more from one to the next.
    #[must_use]
    pub fn into_next(self, session: Session, start: proto::Start) -> Sampler {
        let Sampler {
            python,
            layout,
            belief,
            recorder,
            mut stacks,
            mut threads,
            left_behind,
            proc,
            tasks,
            outside,
            ..
        } = self;
        // Descriptors of a table that ended with its thread: their numbers are the program's here.
        for thread in &mut threads {
            thread.forget_files();
        }
        std::mem::forget((proc, tasks));
        threads.clear();
        stacks.begin_anew();
        let recorder = recorder.into_next(random_key(), start.clone());
        // Handlers know the layout by this address.
        Sampler {
            belief,
            threads,
            left_behind,
            outside,
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
        let start = proto::Start {
            pid: birth.pid,
            parent_pid: self.pid,
            parent_key: self.recorder.key().to_vec(),
            realtime_ns: birth.realtime_ns,
            monotonic_ns: birth.monotonic_ns,
            cpu_before_ns: birth.cpu_before_ns,
            ..self.start.clone()
        };
        let session = self.session.clone();
        // SAFETY: read once and written back; a panic in between ends the sampler's thread, and nobody uses or drops it after that.
        unsafe {
            let parent = core::ptr::read(self);
            core::ptr::write(
                self,
                Sampler { is_child: true, left_behind: LeftBehind::default(), ..parent.into_next(session, start) },
            );
        }
    }
}
