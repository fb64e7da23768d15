//! The sampler thread: ticks, and what each look at a thread ends as.
//! Owns: the table of (clock, state), the timer, questions in flight. Never: runs while the process forks, waits for a handler
//! without end. Keeps: I-01, I-02, I-03, I-08. Partners: genba_signal::request (asks, takes), recorder.rs (counts).

use crate::arena::SAMPLER_TID;
use crate::control::{self, Done, Order};
use crate::proc::{self, Descriptor, monotonic_ns};
use crate::python::Python;
use crate::recorder::{Dropped, Recorder, Refused};
use crate::session::Session;
use crate::signals::{self, Held};
use crate::stacks::Stacks;
use crate::states::ThreadStates;
use crate::tables::Tables;
use crate::threads::Thread;
use genba_format::proto;
use genba_signal::handler::SHARED;
use genba_signal::layout::Layout;
use genba_signal::request::{Answer, Reading};
use rustc_hash::FxHashSet;
use std::ffi::CString;
use std::sync::atomic::Ordering::SeqCst;

mod bookkeeping;
mod looks;
pub use bookkeeping::random_key;

const FLUSH_EVERY_NS: u64 = 250_000_000;
const LIST_EVERY_NS: u64 = 20_000_000;
const MEMORY_EVERY_NS: u64 = 10_000_000;
/// Compiling takes at most so much of one tick.
const COMPILE_NS_MAX: u64 = 2_000_000;
/// Up to so many threads each one is looked at on every tick; beyond, those that sleep back off.
const EVERY_TICK_MAX: usize = 16;
const BACK_OFF_NS_MIN: u64 = 2_000_000;
const BACK_OFF_NS_MAX: u64 = 16_000_000;
/// Up to so many threads the process clock is compared with the sum of theirs on every tick: the kernel adds them up.
const CLOCK_SUM_MAX: usize = 64;
/// So much CPU that no known thread used means that there is another one.
const UNEXPLAINED_NS_MAX: u64 = 500_000;
/// Open `syscall` files, where the program's limit of descriptors allows: at most half of it is used, in a table of our own.
const FILES_MAX: usize = 512;
/// A handler that has begun ends within this time, unless its thread is held up.
const WALKING_NS_MAX: u64 = 20_000_000;

/// How far the interpreter's layout is believed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Belief {
    /// No frame has run yet: nothing to check it with.
    Unchecked,
    Checked,
    Wrong,
}

pub struct Sampler {
    session: Session,
    start: proto::Start,
    python: Box<Python>,
    layout: Box<Layout>,
    belief: Belief,
    recorder: Recorder,
    tables: Tables,
    stacks: Stacks,
    states: ThreadStates,
    threads: Vec<Thread>,
    listed: FxHashSet<u32>,
    tids: Vec<u32>,
    tasks: Option<Descriptor>,
    pid: u32,
    own_tid: u32,
    interval_ns: u64,
    jitter: u64,
    ticks: u64,
    held: Held,
    list_at_ns: u64,
    /// CPU of threads that ended, at their last look.
    ended_cpu_ns: u64,
    /// How far the process clock was ahead of its known threads at the last listing.
    unexplained_ns: u64,
    flush_at_ns: u64,
    memory_at_ns: u64,
    /// The sampler's own clock and the wall clock when the rate was last judged.
    judged: (u64, u64),
    parked_at_ns: Option<u64>,
    is_child: bool,
    /// Own buffer for threads that do not run.
    outside: Option<Box<Answer>>,
}

/// Why the thread's function returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Left {
    /// For a fork: the sampler goes on later.
    Parked,
    Ended,
}

impl Sampler {
    #[must_use]
    pub fn new(session: Session, python: Box<Python>, start: proto::Start, stacks: Stacks) -> Sampler {
        let layout = Box::new(python.layout);
        let interval_ns = session.interval_ns;
        let pid = proc::own_pid();
        Sampler {
            session,
            start: start.clone(),
            python,
            layout,
            belief: Belief::Unchecked,
            recorder: Recorder::new(bookkeeping::random_key(), start),
            tables: Tables::default(),
            stacks,
            states: ThreadStates::default(),
            threads: Vec::new(),
            listed: FxHashSet::default(),
            tids: Vec::new(),
            tasks: None,
            pid,
            own_tid: 0,
            interval_ns,
            jitter: monotonic_ns() | 1,
            ticks: 0,
            held: Held { sample: false, faults: false },
            list_at_ns: 0,
            ended_cpu_ns: 0,
            unexplained_ns: 0,
            flush_at_ns: 0,
            memory_at_ns: 0,
            judged: (0, 0),
            parked_at_ns: None,
            is_child: false,
            outside: None,
        }
    }

    /// The forked child's sampler: the same program, a recording of its own in the same file.
    #[must_use]
    pub fn into_child(self, start: proto::Start) -> Sampler {
        let Sampler { session, python, layout, belief, recorder, tables, mut stacks, threads, .. } = self;
        let start = proto::Start { parent_key: recorder.key().to_vec(), ..start };
        // Left as they lie, on pages shared with the parent: taking them apart would copy each page of them. The
        // descriptors in `threads` belong to a table that ended with the parent's sampler.
        std::mem::forget((recorder, tables, threads));
        stacks.begin_anew();
        let mut child = Sampler::new(session, python, start, stacks);
        // Handlers know the layout by this address.
        child.layout = layout;
        child.belief = belief;
        child.is_child = true;
        child
    }

    /// What a forked child says of itself: the same program under another pid.
    #[must_use]
    pub fn start_for_child(&self, pid: u32) -> proto::Start {
        let mut start = self.start.clone();
        start.pid = pid;
        start.parent_pid = self.pid;
        start.realtime_ns = proc::clock_ns(libc::CLOCK_REALTIME).unwrap_or(0);
        start.monotonic_ns = monotonic_ns();
        start.cpu_before_ns = proc::clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID).unwrap_or(0);
        start
    }

    /// The thread's whole life, or one piece of it between two forks.
    pub fn run(&mut self) -> Left {
        proc::own_descriptor_table();
        self.own_tid = proc::own_tid();
        SAMPLER_TID.store(self.own_tid, SeqCst);
        self.open_files();
        let now_ns = monotonic_ns();
        self.resume(now_ns);
        SHARED.pid.store(self.pid, SeqCst);
        control::report(Done::Running);
        let mut due_ns = now_ns + self.interval_ns;
        loop {
            control::sleep_until(self.jittered(due_ns), Order::Run);
            match control::order() {
                Order::Run => {}
                Order::Pause => {
                    self.take_back(Refused::Unanswered);
                    control::report(Done::Paused);
                    while control::order() == Order::Pause {
                        control::sleep_until(monotonic_ns() + 1_000_000_000, Order::Pause);
                    }
                    control::report(Done::Running);
                    continue;
                }
                Order::Flush => {
                    self.recorder.mark(proto::MarkKind::Exec, "", 0);
                    self.flush(None);
                    control::report(Done::Flushed);
                    while control::order() == Order::Flush {
                        control::sleep_until(monotonic_ns() + 1_000_000_000, Order::Flush);
                    }
                    control::report(Done::Running);
                    continue;
                }
                Order::End => {
                    self.end("exit");
                    return Left::Ended;
                }
                Order::Park => {
                    self.park();
                    return Left::Parked;
                }
            }
            let now_ns = monotonic_ns();
            if now_ns + self.interval_ns / 2 < due_ns {
                continue;
            }
            let late = now_ns.saturating_sub(due_ns) / self.interval_ns;
            due_ns += (late + 1) * self.interval_ns;
            self.tick(now_ns, late);
            if let Some(why) = self.must_end(now_ns) {
                self.end(why);
                return Left::Ended;
            }
        }
    }

    fn must_end(&mut self, now_ns: u64) -> Option<&'static str> {
        if self.session.until_ns.is_some_and(|until_ns| now_ns >= until_ns) {
            self.recorder.mark(proto::MarkKind::Stopped, "--duration is over", 0);
            return Some("duration");
        }
        self.recorder.stopped.is_some().then_some("stopped")
    }

    fn open_files(&mut self) {
        let out = CString::new(self.session.out.as_bytes()).unwrap_or_default();
        self.recorder.set_file(Descriptor::open_at(None, &out, libc::O_WRONLY | libc::O_APPEND).ok());
        self.tasks = Descriptor::open_at(None, c"/proc/self/task", libc::O_RDONLY | libc::O_DIRECTORY).ok();
    }

    fn resume(&mut self, now_ns: u64) {
        let own_cpu_ns = proc::clock_ns(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0);
        self.judged = (own_cpu_ns, now_ns);
        self.held = signals::held();
        match self.parked_at_ns.take() {
            Some(parked_at_ns) => {
                for thread in &mut self.threads {
                    thread.forget_files();
                }
                self.recorder.mark(proto::MarkKind::Fork, "", 0);
                self.count_gap(now_ns - parked_at_ns);
            }
            None => {
                self.flush_at_ns = now_ns + FLUSH_EVERY_NS;
                self.list_threads(now_ns);
                // What these threads used before is not genba's to tell.
                for thread in &mut self.threads {
                    thread.credited_cpu_ns = thread.cpu_ns;
                }
                // A forked child may be about to become another program: its first block waits until there is news.
                if !self.is_child {
                    self.flush(None);
                }
            }
        }
    }

    /// Uniform within a quarter of the interval, so that a program with the same period is not sampled in step.
    fn jittered(&mut self, due_ns: u64) -> u64 {
        // xorshift64: Marsaglia, "Xorshift RNGs", 2003.
        self.jitter ^= self.jitter << 13;
        self.jitter ^= self.jitter >> 7;
        self.jitter ^= self.jitter << 17;
        let quarter_ns = self.interval_ns / 4;
        due_ns - quarter_ns + self.jitter % (2 * quarter_ns).max(1)
    }

    fn reading(&self) -> Reading {
        if self.held.faults { Reading::Guarded } else { Reading::ByKernel }
    }

    fn tick(&mut self, now_ns: u64, late: u64) {
        self.ticks += 1;
        self.note_handlers(signals::held());
        if now_ns >= self.list_at_ns {
            self.list_at_ns = now_ns + LIST_EVERY_NS;
            self.list_threads(now_ns);
        }
        self.refresh_files(now_ns);
        let all = self.threads.len() <= EVERY_TICK_MAX;
        for index in 0..self.threads.len() {
            let thread = &self.threads[index];
            if all || thread.open.is_some() || now_ns >= thread.next_look_ns {
                self.recorder.look(1 + late);
                if late > 0 {
                    self.recorder.dropped(Dropped::Late, late);
                }
                self.look(index);
            }
        }
        if self.threads.iter().any(|thread| thread.gone) {
            self.ended_cpu_ns +=
                self.threads.iter().filter(|thread| thread.gone).map(|thread| thread.cpu_ns).sum::<u64>();
            self.threads.retain(|thread| !thread.gone);
        }
        if self.threads.len() <= CLOCK_SUM_MAX && self.somebody_else_ran() {
            self.list_at_ns = now_ns;
        }
        if self.session.memory && now_ns >= self.memory_at_ns {
            self.memory_at_ns = now_ns + MEMORY_EVERY_NS;
            if let Some(rss_bytes) = bookkeeping::resident_bytes() {
                self.recorder.mark(proto::MarkKind::Rss, "", rss_bytes);
            }
        }
        if now_ns >= self.flush_at_ns {
            self.flush_at_ns = now_ns + FLUSH_EVERY_NS;
            self.flush(None);
            self.judge_rate(now_ns);
        }
    }
}
