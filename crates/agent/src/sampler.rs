//! The sampler thread: ticks, and what each look at a thread ends as.
//! Owns: the table of (clock, state), the timer, questions in flight. Never: runs while the process forks, waits for a handler
//! without end. Keeps: I-01, I-02, I-03, I-08. Partners: genba_signal::request (asks, takes), recorder.rs (counts).

use crate::control::{self, Done, Order};
use crate::proc::{self, Descriptor, Doing, monotonic_ns};
use crate::python::{self, Python};
use crate::recorder::{Dropped, Recorder, Refused, Sample};
use crate::session::Session;
use crate::signals::{self, Held};
use crate::stacks::Stacks;
use crate::states::ThreadStates;
use crate::tables::Tables;
use crate::threads::{Open, Still, Thread};
use genba_format::proto;
use genba_signal::handler::{self, SHARED};
use genba_signal::layout::Layout;
use genba_signal::memory::{Address, ByKernel, Guarded};
use genba_signal::request::{Answer, POOL, Phase, PythonEnd, Question, REQUESTS, Reading};
use genba_signal::unwind::Registers;
use rustc_hash::FxHashSet;
use std::ffi::CString;
use std::sync::atomic::Ordering::SeqCst;

const FLUSH_EVERY_NS: u64 = 250_000_000;
const LIST_EVERY_NS: u64 = 20_000_000;
const MEMORY_EVERY_NS: u64 = 10_000_000;
/// A question older than this is looked into: the thread may block the signal.
const UNANSWERED_NS: u64 = 10_000_000;
/// A thread that blocks the signal is asked again after this time.
const MASKED_NS: u64 = 50_000_000;
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
/// Open `syscall` files.
const FILES_MAX: usize = 64;
/// A handler that has begun ends within this time, unless its thread is held up.
const WALKING_NS_MAX: u64 = 20_000_000;

/// State numbers of the recording (genba.proto, Samples.state).
const RUNNING: u32 = 0;
const IN_GC: u32 = 1;
const WAITING_FOR_GIL: u32 = 2;
const WAITING_FOR_CPU: u32 = 3;
const ASLEEP: u32 = 4;
const IN_SYSTEM_CALL: u32 = 16;
const FUTEX: u32 = libc::SYS_futex as u32;
const NO_STACK: u32 = 0;

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
        self.held = signals::held();
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

    /// One look at one thread, already counted. Each path ends it, or leaves it with an open question.
    fn look(&mut self, index: usize) {
        let Some(cpu_ns) = proc::thread_cpu_ns(self.threads[index].tid) else {
            return self.thread_ended(index, 1);
        };
        if cpu_ns < self.threads[index].cpu_ns {
            // Another thread with the number of one that ended.
            self.thread_ended(index, 0);
            self.threads[index] = Thread::new(self.threads[index].tid, 0, monotonic_ns());
        }
        let moved = cpu_ns != self.threads[index].cpu_ns;
        self.threads[index].cpu_ns = cpu_ns;
        self.take_answer(index);
        let Some(tasks) = &self.tasks else {
            return self.refuse(index, Refused::Unreadable, 1);
        };
        let Some(doing) = self.threads[index].doing(tasks) else {
            return self.thread_ended(index, 1);
        };
        self.threads[index].last_used = self.ticks;
        let thread = &mut self.threads[index];
        if moved {
            thread.back_off_ns = 0;
            self.write_still(index);
        } else {
            thread.back_off_ns = (thread.back_off_ns * 2).clamp(BACK_OFF_NS_MIN, BACK_OFF_NS_MAX);
            thread.next_look_ns = monotonic_ns() + thread.back_off_ns;
        }
        match doing {
            Doing::Runnable if moved => match &mut self.threads[index].open {
                Some(open) => {
                    open.ticks += 1;
                    self.look_into_silence(index);
                }
                None => self.ask(index, cpu_ns),
            },
            Doing::Runnable => self.wait_seen(index, WAITING_FOR_CPU, None),
            Doing::Asleep { call, rsp, rip } => {
                self.take_back_one(index, Refused::Asleep);
                let state = match call {
                    Some((FUTEX, address)) if self.states.is_gil(&self.python, address) => WAITING_FOR_GIL,
                    Some((number, _)) => IN_SYSTEM_CALL + number,
                    None => ASLEEP,
                };
                self.wait_seen(index, state, Some(Registers { rip, rsp, rbp: None }));
            }
            Doing::AsleepUnseen => {
                self.take_back_one(index, Refused::Asleep);
                self.wait_seen(index, ASLEEP, None);
            }
        }
    }

    /// Asks a running thread for its stack.
    fn ask(&mut self, index: usize, cpu_ns: u64) {
        let asked_ns = monotonic_ns();
        let thread = &self.threads[index];
        if !self.held.sample {
            return self.refuse(index, Refused::SignalTaken, 1);
        }
        if asked_ns < thread.masked_until_ns {
            return self.refuse(index, Refused::Masked, 1);
        }
        let tid = thread.tid;
        let question = self.question(tid);
        // The lowest one: few buffers are ever touched.
        let Some(free) = (0..REQUESTS).find(|&n| POOL.phase(n) == Phase::Free) else {
            self.recorder.dropped(Dropped::NoBuffer, 1);
            let skipped_ns = self.threads[index].skip_wall(asked_ns);
            return self.recorder.wall_not_sampled(skipped_ns);
        };
        let Some(ticket) = POOL.ask(free, question) else {
            return self.refuse(index, Refused::Unanswered, 1);
        };
        self.threads[index].open = Some(Open { ticket, asked_ns, cpu_ns, ticks: 1 });
        match signals::send(self.pid, tid, ticket.to_value()) {
            Ok(()) => {}
            Err(libc::ESRCH) => self.thread_ended(index, 0),
            Err(_) => self.take_back_one(index, Refused::Unanswered),
        }
    }

    fn question(&mut self, tid: u32) -> Question {
        let mut states = self.states.of(tid);
        if states.len == 0 && self.belief != Belief::Wrong {
            self.refresh_states();
            states = self.states.of(tid);
        }
        if self.belief == Belief::Unchecked && states.len > 0 {
            self.check_layout(states.addresses[0]);
        }
        Question {
            pid: self.pid,
            tid,
            native: self.session.native,
            reading: self.reading(),
            thread_states: states.addresses,
            thread_states_len: if self.belief == Belief::Checked { states.len } else { 0 },
        }
    }

    /// I-10: the table of offsets is checked on a living frame before the handler may use it.
    fn check_layout(&mut self, thread_state: Address) {
        let fits = match self.reading() {
            Reading::Guarded => python::fits(&Guarded, &self.python, thread_state),
            Reading::ByKernel => python::fits(&ByKernel::new(self.pid), &self.python, thread_state),
        };
        match fits {
            Some(true) => {
                self.belief = Belief::Checked;
                SHARED.layout.store(&raw mut *self.layout, SeqCst);
            }
            Some(false) => {
                self.belief = Belief::Wrong;
                let text = "this interpreter's structures are not where its version says: Python frames are left out";
                self.recorder.mark(proto::MarkKind::Note, text, 0);
            }
            None => {}
        }
    }

    fn refresh_states(&mut self) {
        match self.reading() {
            Reading::Guarded => self.states.refresh(&Guarded, &self.python),
            Reading::ByKernel => self.states.refresh(&ByKernel::new(self.pid), &self.python),
        }
    }

    /// A question that stays without an answer: does the thread block the signal?
    fn look_into_silence(&mut self, index: usize) {
        let Some(open) = self.threads[index].open else { return };
        let waited_ns = monotonic_ns() - open.asked_ns;
        if waited_ns < UNANSWERED_NS {
            return;
        }
        if self.tasks.as_ref().is_some_and(|tasks| self.threads[index].blocks_sample(tasks)) {
            self.threads[index].masked_until_ns = monotonic_ns() + MASKED_NS;
            self.take_back_one(index, Refused::Masked);
        } else if waited_ns > 50 * UNANSWERED_NS {
            // Long in the kernel, or the signal was lost to an older one that was pending: ask anew.
            self.take_back_one(index, Refused::Unanswered);
        }
    }

    /// Takes the answer of a thread's open question, when it is there.
    fn take_answer(&mut self, index: usize) {
        let Some(open) = self.threads[index].open else { return };
        let Some(answer) = POOL.answered(open.ticket) else { return };
        self.recorder.handler_runs += 1;
        self.recorder.handler_tsc += answer.handler_tsc;
        self.threads[index].open = None;
        let node = self.node_of(answer);
        let (python_end, in_gc) = (answer.python_end, answer.in_gc);
        POOL.done(open.ticket);
        match node {
            _ if python_end == PythonEnd::Ambiguous => self.refuse(index, Refused::Ambiguous, u64::from(open.ticks)),
            None => self.refuse(index, Refused::Unreadable, u64::from(open.ticks)),
            Some(node) => {
                let row = self.row(index);
                let thread = &mut self.threads[index];
                let cpu_quanta = thread.credit_cpu(open.cpu_ns);
                let wall_quanta = thread.credit_wall(open.asked_ns);
                self.recorder.sample(Sample {
                    end_ns: open.asked_ns,
                    thread: row,
                    node,
                    state: if in_gc { IN_GC } else { RUNNING },
                    ticks: open.ticks,
                    cpu_quanta,
                    wall_quanta,
                });
            }
        }
    }

    fn node_of(&mut self, answer: &Answer) -> Option<u32> {
        let python = (self.belief == Belief::Checked).then_some(&*self.python);
        let (stacks, tables) = (&mut self.stacks, &mut self.tables);
        if self.held.faults {
            stacks.node(&Guarded, python, tables, self.ticks, answer)
        } else {
            stacks.node(&ByKernel::new(self.pid), python, tables, self.ticks, answer)
        }
    }

    /// A thread that does not run: extends its waiting sample, or reads it from outside.
    fn wait_seen(&mut self, index: usize, state: u32, registers: Option<Registers>) {
        let now_ns = monotonic_ns();
        let thread = &mut self.threads[index];
        if thread.still.is_some_and(|still| still.state != state) {
            self.write_still(index);
        }
        let thread = &mut self.threads[index];
        if thread.still.is_none() {
            let node = match self.read_outside(index, registers) {
                Ok(node) => node,
                Err(why) => return self.refuse(index, why, 1),
            };
            self.threads[index].still = Some(Still { state, node, ticks: 0, wall_quanta: 0, end_ns: now_ns });
        }
        let thread = &mut self.threads[index];
        let wall_quanta = thread.credit_wall(now_ns);
        if let Some(still) = &mut thread.still {
            still.ticks += 1;
            still.wall_quanta += wall_quanta;
            still.end_ns = now_ns;
        }
    }

    /// Reads a thread's stack while its clock stands still: a seqlock with the clock as its count.
    fn read_outside(&mut self, index: usize, registers: Option<Registers>) -> Result<u32, Refused> {
        let (tid, cpu_ns) = (self.threads[index].tid, self.threads[index].cpu_ns);
        let mut question = self.question(tid);
        question.native &= registers.is_some();
        let registers = registers.unwrap_or(Registers { rip: 0, rsp: 0, rbp: None });
        let mut answer = self.outside.take().unwrap_or_else(|| Box::new(Answer::EMPTY));
        let mut result = Err(Refused::Moved);
        for _ in 0..2 {
            match self.reading() {
                Reading::Guarded => handler::look(&Guarded, registers, &question, &mut answer),
                Reading::ByKernel => handler::look(&ByKernel::new(self.pid), registers, &question, &mut answer),
            }
            match proc::thread_cpu_ns(tid) {
                Some(after_ns) if after_ns == cpu_ns => {
                    result = match (self.node_of(&answer), answer.python_end) {
                        (_, PythonEnd::Ambiguous) => Err(Refused::Ambiguous),
                        (Some(node), _) => Ok(node),
                        (None, PythonEnd::Fault) => Err(Refused::Unreadable),
                        // A thread without frames, or none that may be seen: a sample without a stack.
                        (None, _) => Ok(NO_STACK),
                    };
                    break;
                }
                Some(_) => {}
                None => {
                    result = Err(Refused::Ended);
                    break;
                }
            }
        }
        self.outside = Some(answer);
        result
    }
}

#[path = "bookkeeping.rs"]
mod bookkeeping;
pub use bookkeeping::random_key;
