//! One look at one thread: the table of (clock, state), and what the look ends as.
//! Owns: asking, taking answers, reading threads that do not run. Never: signals a thread that sleeps, believes an outside read
//! during which the thread ran. Keeps: I-01, I-06. A part of sampler.rs.

use super::{BACK_OFF_NS_MAX, BACK_OFF_NS_MIN, Belief, Sampler};
use crate::proc::{self, Doing, monotonic_ns};
use crate::python;
use crate::recorder::{Dropped, Refused, Sample};
use crate::signals;
use crate::threads::{NotTold, Open, Still, Thread};
use genba_format::proto;
use genba_signal::handler::{self, SHARED};
use genba_signal::memory::{Address, ByKernel, Guarded};
use genba_signal::request::{Answer, POOL, Phase, PythonEnd, Question, REQUESTS, Reading};
use genba_signal::unwind::Registers;
use std::sync::atomic::Ordering::SeqCst;

/// State numbers of the recording (genba.proto, Samples.state).
const RUNNING: u32 = 0;
const IN_GC: u32 = 1;
const WAITING_FOR_GIL: u32 = 2;
const WAITING_FOR_CPU: u32 = 3;
const ASLEEP: u32 = 4;
const IN_SYSTEM_CALL: u32 = 16;
const FUTEX: u32 = libc::SYS_futex as u32;
const NO_STACK: u32 = 0;
/// A question older than this is looked into: the thread may block the signal.
const UNANSWERED_NS: u64 = 10_000_000;
/// A thread that blocks the signal is asked again after this time.
const MASKED_NS: u64 = 50_000_000;

impl Sampler {
    /// One look at one thread, already counted. Each path ends it, or leaves it with an open question.
    pub(super) fn look(&mut self, index: usize) {
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
        let doing = match self.threads[index].doing(tasks) {
            Ok(doing) => doing,
            Err(NotTold::Gone) => return self.thread_ended(index, 1),
            Err(NotTold::Unknown) => return self.refuse(index, Refused::Unreadable, 1),
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
        self.threads[index].open =
            Some(Open { ticket, asked_ns, cpu_ns, ticks: 1, files: self.stacks.loaded.generation() });
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

    pub(super) fn refresh_states(&mut self) {
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
    pub(super) fn take_answer(&mut self, index: usize) {
        let Some(open) = self.threads[index].open else { return };
        let Some(answer) = POOL.answered(open.ticket) else { return };
        self.recorder.handler_runs += 1;
        self.recorder.handler_tsc += answer.handler_tsc;
        self.threads[index].open = None;
        let node = self.node_of(answer, open.files);
        let (python_end, in_gc) = (answer.python_end, answer.in_gc);
        POOL.done(open.ticket);
        match (node, python_end) {
            (_, PythonEnd::Ambiguous) => self.refuse(index, Refused::Ambiguous, u64::from(open.ticks)),
            (None, PythonEnd::Fault) => self.refuse(index, Refused::Unreadable, u64::from(open.ticks)),
            // Outside of Python, and no C was asked for: a sample without a stack.
            (node, _) => {
                let node = node.unwrap_or(NO_STACK);
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

    fn node_of(&mut self, answer: &Answer, files: u64) -> Option<u32> {
        let python = (self.belief == Belief::Checked).then_some(&*self.python);
        let (stacks, tables) = (&mut self.stacks, &mut self.tables);
        if self.held.faults {
            stacks.node(&Guarded, python, tables, self.ticks, files, answer)
        } else {
            stacks.node(&ByKernel::new(self.pid), python, tables, self.ticks, files, answer)
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
                    result = match (self.node_of(&answer, self.stacks.loaded.generation()), answer.python_end) {
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
