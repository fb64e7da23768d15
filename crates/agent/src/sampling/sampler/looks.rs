//! One tick of one thread: what the table says (table.rs), and the tick's outcome.
//! Owns: asking, taking answers, reading threads that do not run. Never: signals a thread that sleeps, believes an outside read
//! during which the thread ran. Keeps: I-01, I-06. A part of sampler.rs.

use super::{LayoutTrust, Sampler};
use crate::reading::stacks::Seen;
use crate::reading::waited_on::{kind_in, waited_on};
use crate::sampling::ledger::ended::Met;
use crate::sampling::ledger::{Clock, Extension, Found, RUNS, WAITS, WaitingSample, Why};
use crate::sampling::schedule::looks::back_off_ns_max;
use crate::sampling::table::{Action, action};
use crate::sampling::threads::{NotTold, OpenQuestion, Thread, Turns};
use crate::system::alternate::fitted;
use crate::system::proc::{self, Call, Doing, monotonic_ns};
use crate::system::signals;
use crate::writing::outcomes::{Dropped, Refused};
use genba_format::proto;
use genba_format::state::{State, WaitedOn};
use genba_python::memory::Address;
use genba_python::waits::locks::owner_of_rlock;
use genba_signal::handler::{self, SHARED};
use genba_signal::memory::{Blocks, ByKernel, Guarded};
use genba_signal::request::{Answer, POOL, Phase, Question, Reading};
use genba_signal::rows::Registers;
use genba_signal::unwind::NativeEnd;

mod beside;
mod own_stack;

/// What was read of a thread that does not run.
struct OutsideSeen {
    node: u32,
    context_version: u64,
    /// Where no table told the caller of a frame in C.
    is_cut: bool,
}

/// A signal without an answer is sent again after this time.
const SENT_AGAIN_NS: u64 = 2_000_000;
/// A question older than this is looked into: the thread may block the signal.
const UNANSWERED_NS: u64 = 10_000_000;
/// A thread that blocks the signal is asked again after this time.
const MASKED_NS: u64 = 50_000_000;
/// No handler of genba's takes so much CPU, also none that counts frames (`COUNTED_MAX` in crates/python). A thread that
/// lost its CPU in one blocks the signal meanwhile, and will answer.
const IN_HANDLER_NS_MAX: u64 = 1_000_000;

impl Sampler {
    /// A sleeping thread that is due, and whose clock stands still: its look may wait. False: not for longer.
    pub(super) fn put_off(&mut self, index: usize, now_ns: u64) -> bool {
        let glances = self.schedule.glances_until_look();
        let thread = &mut self.threads[index];
        thread.looks.put_off(now_ns, glances, thread.ledger.still().map(|still| still.end_ns))
    }

    /// Who holds a GIL runs Python: its clock is read on every tick, however long it slept before.
    pub(super) fn look_out_for_holders(&mut self) {
        let holders: Vec<u32> = match self.reading() {
            Reading::Guarded => self.states.holders(&Guarded, &self.python, self.pid).collect(),
            Reading::ByKernel => {
                self.states.holders(&ByKernel::new(self.pid, &Blocks::zeroed()), &self.python, self.pid).collect()
            }
        };
        for holder in holders {
            if let Some(thread) = self.threads.iter_mut().find(|thread| thread.tid == holder) {
                thread.looks.glance_soon();
            }
        }
    }

    /// Whether a thread that is not due yet ran since its last look. A glance that finds its clock standing still counts nowhere
    /// and credits nothing, so that a look still stands for all of the time since the look before it.
    pub(super) fn moved_since_glance(&mut self, index: usize, now_ns: u64) -> bool {
        let thread = &mut self.threads[index];
        if !thread.looks.is_glance_due(now_ns) {
            return false;
        }
        if proc::thread_cpu_ns(thread.tid) == Some(thread.ledger.cpu_ns()) {
            thread.looks.glanced(now_ns);
            return false;
        }
        self.settle_glances(index);
        true
    }

    /// Up to its last glance, or as long as it stood still since, the thread waited as before: that moment becomes a look.
    pub(super) fn settle_glances(&mut self, index: usize) {
        let thread = &mut self.threads[index];
        let waited_ns = thread.ledger.still().map(|still| still.end_ns);
        let Some(end_ns) = thread.looks.settle(&self.schedule.others, waited_ns) else { return };
        thread.ledger.waits_until(end_ns);
        self.recorder.look(1);
    }

    /// One look at one thread, already counted. Each path ends it, or leaves it with an open question.
    pub(super) fn look(&mut self, index: usize) {
        let read_ns = monotonic_ns();
        let Some(cpu_ns) = proc::thread_cpu_ns(self.threads[index].tid) else {
            return self.thread_ended(index, 1);
        };
        let thread = &mut self.threads[index];
        let is_itself = thread.end.is_none_or(|end| cpu_ns >= end.cpu_ns);
        let ran_ns = is_itself.then(|| thread.ledger.advance(cpu_ns)).flatten().unwrap_or_else(|| {
            // Another thread with the number of one that ended.
            self.thread_ended(index, 0);
            let Thread { tid, number, .. } = self.threads[index];
            self.threads[index] = Thread::new(tid, number, 0, monotonic_ns());
            self.threads[index].ledger.advance(cpu_ns).unwrap_or(0)
        });
        let moved = ran_ns > 0;
        self.take_answer(index);
        let Some(tasks) = &self.tasks else {
            return self.refuse(index, Refused::Unreadable, 1);
        };
        // A clock that goes on at this moment tells it as well, and a thread that lives for a moment needs no file of its own.
        let is_running =
            moved && !self.threads[index].has_file() && proc::thread_cpu_ns(self.threads[index].tid) > Some(cpu_ns);
        let doing = if is_running { Ok(Doing::Runnable) } else { self.threads[index].doing(tasks.folder()) };
        let doing = match doing {
            Ok(doing) => doing,
            Err(NotTold::Gone) => return self.thread_ended(index, 1),
            Err(NotTold::Unknown) => return self.refuse(index, Refused::Unreadable, 1),
        };
        let glances = self.schedule.glances_until_look();
        let back_off_ns_max = back_off_ns_max(self.threads.len());
        // One that was woken and has no CPU yet slept before.
        let woken = doing == Doing::Runnable
            && self.threads[index].ledger.still().is_some_and(|still| still.state != State::WaitingForCpu);
        if moved || woken {
            self.settle_glances(index);
        }
        if moved || doing == Doing::Runnable {
            self.schedule.stirs(read_ns);
        }
        if moved && self.schedule.rested() && doing == Doing::Runnable {
            self.waited_until(index, read_ns.saturating_sub(ran_ns));
        }
        let thread = &mut self.threads[index];
        thread.last_used = self.ticks;
        thread.looks.looked(read_ns);
        if moved {
            thread.looks.ran();
            self.write_still(index);
        } else {
            thread.looks.slept(monotonic_ns(), glances, back_off_ns_max);
        }
        let is_asked = self.threads[index].open.is_some();
        match action(moved, doing, is_asked, |address| self.states.is_gil(&self.python, address)) {
            Action::Ask => self.ask(index, cpu_ns),
            Action::AskOn => {
                if let Some(open) = &mut self.threads[index].open {
                    open.ticks += 1;
                }
                self.look_into_silence(index);
            }
            Action::Queued => self.wait_seen(index, State::WaitingForCpu, None, None),
            Action::Asleep { state, call, registers } => {
                self.take_back_one(index, Refused::Asleep);
                self.wait_seen(index, state, call, registers);
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
        if !fitted::bears_signals(tid) {
            return self.refuse(index, Refused::NoSignalStack, 1);
        }
        let stands = proc::thread_cpu_ns(tid) == Some(cpu_ns);
        let queued = if stands { self.queued(index) } else { None };
        let counts_beyond = self.recorder.depths.is_due(asked_ns);
        let question = Question { counts_beyond, ..self.question(tid) };
        // The lowest one: few buffers are ever touched.
        let Some(free) = (0..self.session.questions_max).find(|&n| POOL.phase(n) == Phase::Free) else {
            let unsampled = self.threads[index].ledger.lose(Why::Dropped(Dropped::NoBuffer), 1, asked_ns);
            return self.write_unsampled(unsampled);
        };
        let Some(ticket) = POOL.ask(free, question) else {
            return self.refuse(index, Refused::Unanswered, 1);
        };
        self.threads[index].open = Some(OpenQuestion {
            ticket,
            asked_ns,
            sent_ns: asked_ns,
            cpu_ns,
            ticks: 1,
            files: self.stacks.loaded.generation(),
            queued,
            elsewhere: !stands,
            held_up: false,
        });
        if !stands {
            self.asked_elsewhere(index, asked_ns);
        }
        match signals::send(self.pid, tid, ticket.to_value()) {
            Ok(()) => {}
            Err(libc::ESRCH) => self.thread_ended(index, 0),
            Err(_) => self.take_back_one(index, Refused::Unanswered),
        }
    }

    /// For a thread that could run: its turns, when it is on no CPU at this moment. That may be since this thread took it, or
    /// since another did, long before the tick was due; once it has got one again the kernel tells.
    fn queued(&self, index: usize) -> Option<(Turns, u64)> {
        Some((self.threads[index].turns_now(self.tasks.as_ref()?.folder())?, self.schedule.due_ns()))
    }

    /// Whether the thread did not run when it was asked, but waited for a CPU, as far as the kernel tells. `began_tsc`: when it began to
    /// answer, and so got one.
    fn waited_for_cpu(&self, index: usize, open: &OpenQuestion, began_tsc: u64) -> bool {
        let waited = || {
            let (before, due_ns) = open.queued?;
            let began_ns = self.recorder.moment_ns(began_tsc)?;
            let now = self.threads[index].turns_now(self.tasks.as_ref()?.folder())?;
            Some(before.waited_since_ns(now, began_ns)? < due_ns)
        };
        waited().unwrap_or(false)
    }

    /// A question that stays without an answer. The kernel drops a signal while an older one of the same number is pending, which
    /// may carry a question that was taken back: it is sent again. Or the thread blocks the signal.
    fn look_into_silence(&mut self, index: usize) {
        let Some(open) = self.threads[index].open else { return };
        let now_ns = monotonic_ns();
        if now_ns - open.sent_ns < SENT_AGAIN_NS {
            return;
        }
        let ran =
            || proc::thread_cpu_ns(self.threads[index].tid).is_some_and(|now| now >= open.cpu_ns + IN_HANDLER_NS_MAX);
        if now_ns - open.asked_ns >= UNANSWERED_NS
            && ran()
            && self.tasks.as_ref().is_some_and(|tasks| self.threads[index].blocks_sample(tasks.folder()))
        {
            self.threads[index].masked_until_ns = now_ns + MASKED_NS;
            if !std::mem::replace(&mut self.threads[index].is_told_masked, true) {
                // Its row carries its clock, of which a reader sees what is in no sample.
                self.row(index);
                self.recorder.mark(proto::MarkKind::Masked, "", u64::from(self.threads[index].tid));
            }
            return self.take_back_one(index, Refused::Masked);
        }
        let tid = self.threads[index].tid;
        self.threads[index].open = Some(OpenQuestion { sent_ns: now_ns, ..open });
        if signals::send(self.pid, tid, open.ticket.to_value()).is_err() {
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
        let seen = self.node_of(answer, open.files);
        self.deep_seen(index, answer, seen);
        self.answered_from(index, &open, answer);
        let (python_end, in_gc, context_version) = (answer.python_end, answer.in_gc, answer.context_version);
        self.note_too_many(python_end);
        let waited = self.waited_for_cpu(index, &open, answer.began_tsc);
        POOL.done(open.ticket);
        match seen.node_or_refused(python_end) {
            Err(why) => self.refuse(index, why, u64::from(open.ticks)),
            Ok(node) if waited => {
                self.step_seen(index, context_version, open.cpu_ns, node);
                self.ran_until(index, open.cpu_ns);
                self.seen(index, &open, WAITS, node, State::WaitingForCpu);
            }
            Ok(node) => {
                self.step_seen(index, context_version, open.cpu_ns, node);
                let extension = self.threads[index].ledger.went_on(open.at());
                self.extend(extension);
                let state = if in_gc { State::InGc } else { State::Running };
                self.threads[index].ran = self.threads[index].ran.and(Met { node, state });
                let position = self.seen(index, &open, RUNS, node, state);
                self.threads[index].ledger.ran_at(position, open.at());
            }
        }
    }

    /// A stack of which the sample holds a part, and what is beyond was counted.
    fn deep_seen(&mut self, index: usize, answer: &Answer, seen: Seen) {
        let (Some(_), Seen::Leaf(node)) = (answer.beyond, seen) else { return };
        let depth = self.stacks.depth(answer);
        let thread = self.row(index);
        self.recorder.depths.counted(monotonic_ns(), thread, node, depth);
    }

    /// Writes the sample that an answer makes.
    fn seen(&mut self, index: usize, open: &OpenQuestion, clocks: &[Clock], node: u32, state: State) -> usize {
        let found = Found { thread: self.row(index), node, state, ticks: open.ticks };
        let sample = self.threads[index].ledger.sample(clocks, open.at(), found);
        self.recorder.sample(sample)
    }

    /// Seen running, then not.
    pub(super) fn ran_until(&mut self, index: usize, cpu_ns: u64) {
        let extension = self.threads[index].ledger.ran_until(cpu_ns);
        self.extend(extension);
    }

    pub(super) fn extend(&mut self, extension: Option<Extension>) {
        if let Some(Extension { position, more }) = extension {
            self.recorder.extend(position, more);
        }
    }

    pub(super) fn node_of(&mut self, answer: &Answer, files: u64) -> Seen {
        let python = (self.layout_trust == LayoutTrust::Checked).then_some(&*self.python);
        let (stacks, tables) = (&mut self.stacks, &mut self.tables);
        if self.held.faults {
            stacks.node(&Guarded, python, tables, self.ticks, files, answer)
        } else {
            stacks.node(&ByKernel::new(self.pid, &Blocks::zeroed()), python, tables, self.ticks, files, answer)
        }
    }

    /// A thread that does not run: extends its waiting sample, or reads it from outside.
    fn wait_seen(&mut self, index: usize, state: State, call: Option<Call>, registers: Option<Registers>) {
        let now_ns = monotonic_ns();
        self.ran_until(index, self.threads[index].ledger.cpu_ns());
        let files = self.stacks.loaded.generation();
        match self.threads[index].ledger.still() {
            Some(still) if still.state != state => self.write_still(index),
            Some(still) if still.cut_at.is_some_and(|then| then != files) => {
                self.wait_seen_whole(index, still, registers)
            }
            _ => {}
        }
        if self.threads[index].ledger.still().is_none() {
            // Before the clock is read again: what a thread waits on is believed as its stack is.
            let call = call.filter(|_| matches!(state, State::InSystemCall(..)));
            let on = call.and_then(|call| self.waited_on(index, call));
            let lock_owner = call.filter(|_| on == Some(WaitedOn::RLock)).and_then(|call| self.lock_owner(call));
            let OutsideSeen { node, context_version, is_cut } = match self.read_outside(index, registers) {
                Ok(seen) => seen,
                Err(why) => return self.refuse(index, why, 1),
            };
            self.step_seen(index, context_version, self.threads[index].ledger.cpu_ns(), node);
            let (began_ns, end_ns) = (now_ns, now_ns);
            let (ticks, wall_quanta) = (0, 0);
            let cut_at = is_cut.then_some(files);
            let still = WaitingSample {
                state,
                on,
                lock_owner,
                node,
                ticks,
                wall_quanta,
                end_ns,
                began_ns,
                context_version,
                cut_at,
            };
            self.threads[index].ledger.wait(still);
        }
        // When the wait is written, the thread may be gone, and its names with it.
        self.row(index);
        let wall_quanta = self.threads[index].ledger.waits_until(now_ns);
        self.was_held_up(index, wall_quanta);
    }

    /// The same wait goes on, and the callers can be told now.
    fn wait_seen_whole(&mut self, index: usize, still: WaitingSample, registers: Option<Registers>) {
        let Ok(OutsideSeen { node, context_version, is_cut }) = self.read_outside(index, registers) else { return };
        let cut_at = is_cut.then(|| self.stacks.loaded.generation());
        self.threads[index].ledger.wait(WaitingSample { node, context_version, cut_at, ..still });
    }

    fn waited_on(&self, index: usize, call: Call) -> Option<WaitedOn> {
        let tasks = self.tasks.as_ref()?;
        let kind = |descriptor| kind_in(tasks.folder(), self.threads[index].number, descriptor);
        match self.reading() {
            Reading::Guarded => waited_on(call, &Guarded, kind),
            Reading::ByKernel => waited_on(call, &ByKernel::new(self.pid, &Blocks::zeroed()), kind),
        }
    }

    fn lock_owner(&self, call: Call) -> Option<Address> {
        let [futex, _] = call.arguments;
        match self.reading() {
            Reading::Guarded => owner_of_rlock(futex, &Guarded),
            Reading::ByKernel => owner_of_rlock(futex, &ByKernel::new(self.pid, &Blocks::zeroed())),
        }
    }

    /// Reads a thread's stack while its clock stands still: a seqlock with the clock as its count.
    fn read_outside(&mut self, index: usize, registers: Option<Registers>) -> Result<OutsideSeen, Refused> {
        let (tid, cpu_ns) = (self.threads[index].tid, self.threads[index].ledger.cpu_ns());
        let mut question = self.question(tid);
        question.native &= registers.is_some();
        let registers = registers.unwrap_or(Registers { rip: 0, rsp: 0, rbp: None });
        let mut answer = self.outside.take().unwrap_or_else(|| Box::new(Answer::EMPTY));
        let mut result = Err(Refused::Moved);
        for _ in 0..2 {
            // SAFETY: this is the sampler.
            let tables = unsafe { SHARED.tables() };
            match self.reading() {
                Reading::Guarded => handler::look(&Guarded, tables, registers, &question, &mut answer),
                Reading::ByKernel => {
                    let blocks = Blocks::zeroed();
                    let memory = ByKernel::new(self.pid, &blocks);
                    handler::look(&memory, tables, registers, &question, &mut answer);
                }
            }
            match proc::thread_cpu_ns(tid) {
                Some(after_ns) if after_ns == cpu_ns => {
                    let seen = self.node_of(&answer, self.stacks.loaded.generation());
                    self.note_too_many(answer.python_end);
                    let context_version = answer.context_version;
                    let is_cut = matches!(answer.native_end, NativeEnd::NoRule | NativeEnd::NoModule);
                    let seen = seen.node_or_refused(answer.python_end);
                    result = seen.map(|node| OutsideSeen { node, context_version, is_cut });
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
