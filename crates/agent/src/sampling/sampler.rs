//! The sampler thread: ticks, and the outcome of each for each thread.
//! Owns: the timer, questions in flight; what is decided from values stands beside it (table, ledger, schedule, roster). Never: runs while
//! the process forks, waits for a handler without end. Keeps: I-01, I-02, I-03, I-08. Partners: genba_signal::request (asks, takes),
//! recorder.rs (counts).

use crate::heap::pending_answers;
use crate::process::alarm::Alarm;
use crate::process::bells;
use crate::process::files_over_fork;
use crate::process::life::LIFE;
use crate::process::mailbox::{MAILBOX, Order, Posted};
use crate::process::process_key::random_key;
use crate::process::scheduling::Stay;
use crate::process::session::Session;
use crate::reading::modules::{self, nobody_walks};
use crate::reading::stacks::Stacks;
use crate::sampling::collections::Collections;
use crate::sampling::counted::Kept;
use crate::sampling::heaps::Heaps;
use crate::sampling::layout_trust::LayoutTrust;
use crate::sampling::lease::Lease;
use crate::sampling::ledger::ended::Ended;
use crate::sampling::roster::Roster;
use crate::sampling::schedule::Schedule;
use crate::sampling::schedule::others::Clocks;
use crate::sampling::schedule::pace::Pace;
use crate::sampling::threads::{LeftBehind, Thread};
use crate::system::descriptor::{self, Descriptor};
use crate::system::proc::{self, monotonic_ns};
use crate::system::sampler_stack::SAMPLER_TID;
use crate::system::signals::{self, HandlersHeld};
use crate::system::tasks::Tasks;
use crate::system::threads::ends;
use crate::writing::outcomes::{Dropped, Refused};
use crate::writing::recorder::Recorder;
use crate::writing::tables::Tables;
use genba_format::proto;
use genba_python::find::Python;
use genba_python::interpreter::thread_names::ThreadNames;
use genba_python::layout::Layout;
use genba_python::lists::ThreadStates;
use genba_signal::handler::SHARED;
use genba_signal::request::{Answer, Reading};
use std::sync::atomic::Ordering::SeqCst;

mod birth;
mod bookkeeping;
mod garbage;
mod interpreter;
mod lock_holders;
mod looks;
mod parking;
mod rests;
mod spending;
mod stepped;
mod stops;
mod successors;
pub use birth::Birth;

/// Up to so many threads each one is looked at on every tick; beyond, those that sleep back off.
const EVERY_TICK_MAX: usize = 16;
/// Open `syscall` files, where the program's limit of descriptors allows: at most half of it is used, in a table of our own.
const FILES_MAX: usize = 1024;
/// While it is paused, the sampler looks this often whether its time is over.
const STAND_BY_NS: u64 = 1_000_000_000;
/// While a signal handler changes, the sampler looks this often whether that is over; it is woken, too.
const HOLD_STILL_NS: u64 = 1_000_000_000;
/// A handler that has begun ends within this time, unless its thread is held up.
const WALKING_NS_MAX: u64 = 20_000_000;

pub struct Sampler {
    session: Session,
    start: proto::Start,
    python: Box<Python>,
    layout: Box<Layout>,
    layout_trust: LayoutTrust,
    recorder: Recorder,
    tables: Tables,
    stacks: Stacks,
    states: ThreadStates,
    names: ThreadNames,
    threads: Vec<Thread>,
    left_behind: LeftBehind,
    collections: Collections,
    heaps: Heaps,
    roster: Roster,
    ended: Ended,
    /// Threads found gone in this tick.
    gone_now: Vec<u32>,
    /// The folders /proc and /proc/self/task.
    proc: Option<Descriptor>,
    tasks: Option<Tasks>,
    pid: u32,
    schedule: Schedule,
    lease: Lease,
    ticks: u64,
    held: HandlersHeld,
    /// How long this thread had waited for a CPU in all, when it was last asked.
    delayed_ns: Option<u64>,
    /// Ends a rest when the program begins to run; made with the first one.
    alarm: Option<Alarm>,
    /// The kernel has no such timer here, or forbids it.
    no_alarm: bool,
    /// What a signal costs the thread that gets it, once it was measured.
    echo_ns: Option<u64>,
    stay: Stay,
    parked_at_ns: Option<u64>,
    /// It is parked for a system call that demands a single thread, not for a fork.
    aside: bool,
    is_child: bool,
    /// It has to begin anew, as a forked child's.
    birth: Option<Birth>,
    /// Begun by the program itself.
    is_within: bool,
    /// With `--copies` and with `--alloc`.
    counted: [Kept; 2],
    /// Own buffer for threads that do not run.
    outside: Option<Box<Answer>>,
}

/// Why the thread's function returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ThreadEnd {
    /// For a fork: the sampler goes on later.
    Parked,
    Ended,
}

impl Sampler {
    #[must_use]
    pub fn new(session: Session, python: Box<Python>, start: proto::Start, stacks: Stacks) -> Sampler {
        let layout = Box::new(python.layout);
        let recorder = Recorder::new(random_key(), start.clone());
        Sampler::with(session, python, layout, start, stacks, recorder)
    }

    fn with(
        session: Session,
        python: Box<Python>,
        layout: Box<Layout>,
        start: proto::Start,
        stacks: Stacks,
        recorder: Recorder,
    ) -> Sampler {
        let pace = Pace::new(session.interval_ns, session.budget_per_mille);
        let pid = proc::own_pid();
        let is_within = start.within;
        let collections = Collections::new(&session);
        let heaps = Heaps::new(&session.heap, monotonic_ns());
        let lease = Lease::new(session.is_leased, monotonic_ns());
        Sampler {
            session,
            start,
            python,
            layout,
            layout_trust: LayoutTrust::default(),
            recorder,
            tables: Tables::default(),
            stacks,
            states: ThreadStates::default(),
            names: ThreadNames::default(),
            threads: Vec::new(),
            left_behind: LeftBehind::default(),
            collections,
            heaps,
            roster: Roster::default(),
            ended: Ended::default(),
            gone_now: Vec::new(),
            proc: None,
            tasks: None,
            pid,
            schedule: Schedule::new(pace, monotonic_ns() | 1),
            lease,
            ticks: 0,
            held: HandlersHeld { sample: false, faults: false },
            delayed_ns: None,
            alarm: None,
            no_alarm: false,
            echo_ns: None,
            stay: Stay::default(),
            parked_at_ns: None,
            aside: false,
            is_child: false,
            birth: None,
            is_within,
            counted: Default::default(),
            outside: None,
        }
    }

    /// The thread's whole life, or one piece of it between two forks.
    pub fn run(&mut self) -> ThreadEnd {
        self.begin_if_born();
        self.begin_anywhere();
        self.remember_origin();
        let carried = files_over_fork::numbers();
        if !descriptor::own_table(carried) {
            return self.end_without_table();
        }
        SAMPLER_TID.store(proc::own_tid(), SeqCst);
        if let Err(why) = self.take_files(carried.map_or_else(files_over_fork::Files::open, files_over_fork::files)) {
            return self.end_unsampled(why);
        }
        // Before the first look at the linker's list.
        modules::learn();
        let now_ns = monotonic_ns();
        self.resume(now_ns);
        SHARED.pid.store(self.pid, SeqCst);
        self.begin_counts(now_ns);
        bells::take_place();
        ends::want(true);
        if LIFE.stands_by() {
            self.keep_away();
            self.flush(None);
        }
        let mut due_ns = now_ns + self.random_interval_ns();
        loop {
            if LIFE.stands_by() {
                self.stand_by();
                due_ns = monotonic_ns() + self.random_interval_ns();
            }
            let slept_ns = monotonic_ns();
            due_ns = self.sleep_until(due_ns);
            self.note_forks_without();
            self.answer_killer();
            if let Some(posted) = MAILBOX.order() {
                if let Some(left) = self.obey(posted, slept_ns, due_ns) {
                    return left;
                }
                if posted.order() == Order::Park {
                    due_ns = monotonic_ns() + self.random_interval_ns();
                }
                continue;
            }
            let now_ns = monotonic_ns();
            if now_ns < due_ns {
                // Woken for those that wait.
                self.take_collections();
                continue;
            }
            let late = self.schedule.ticks_in(now_ns - due_ns);
            let stopped = self.was_stopped(slept_ns, due_ns, now_ns);
            self.schedule.tick_was_due(due_ns + late * self.schedule.interval_ns());
            self.tick(now_ns, if stopped { 0 } else { late });
            self.go_beside(now_ns, if stopped || slept_ns >= due_ns { 0 } else { now_ns - due_ns });
            if self.tables.has_rows(self.session.rows_max) {
                self.begin_segment();
            }
            due_ns = self.next_due_ns();
            if let Some(why) = self.must_end(now_ns) {
                self.end(why);
                return ThreadEnd::Ended;
            }
        }
    }

    /// Does one order and answers it. `Some`: the thread's function returns. It slept from `slept_ns` on, for a tick at `due_ns`.
    fn obey(&mut self, posted: Posted, slept_ns: u64, due_ns: u64) -> Option<ThreadEnd> {
        match posted.order() {
            Order::Greet => {}
            Order::HoldStill => {
                self.forbid_counts();
                self.take_back(Refused::Unanswered);
                // A handler that was held up would fault into the program's own handler.
                while !nobody_walks() && MAILBOX.stands(posted) {
                    MAILBOX.sleep_while(monotonic_ns() + WALKING_NS_MAX / 100, || MAILBOX.stands(posted));
                }
            }
            Order::Flush | Order::OwnStack => {
                // Nobody does it where another program follows.
                pending_answers::write();
                let (from, mark) = MAILBOX.open(posted)?;
                if posted.order() == Order::OwnStack {
                    self.look_at_asker(from, posted);
                }
                // A forked child that did nothing and becomes another program leaves no trace but that program's.
                let is_exec = mark.as_ref().is_some_and(|mark| mark.kind == proto::MarkKind::Exec);
                if !(is_exec && self.is_child && !self.recorder.has_looked()) {
                    if let Some(mark) = mark {
                        self.recorder.mark(mark.kind, &mark.text, 0);
                    }
                    if is_exec {
                        self.settle_counts(true);
                    }
                    self.flush(None);
                }
                if self.recorder.has_stopped {
                    // What was to be written is not there, and is not told as done.
                    self.end("stopped");
                    return Some(ThreadEnd::Ended);
                }
                if LIFE.stands_by() {
                    self.keep_away();
                }
            }
            Order::StandBy | Order::ComeBack => {
                let wanted = posted.order() == Order::StandBy;
                let changes = LIFE.stands_by() != wanted;
                self.set_away(wanted);
                // A call that fails changes nothing.
                if !MAILBOX.answer(posted) && changes {
                    self.set_away(!wanted);
                }
                return None;
            }
            Order::Park => {
                self.count_missed(slept_ns, due_ns);
                return self.park(posted).then_some(ThreadEnd::Parked);
            }
            Order::End => {
                self.count_missed(slept_ns, due_ns);
                self.set_away(false);
                self.end(if self.is_within { "stop" } else { "exit" });
                return Some(ThreadEnd::Ended);
            }
        }
        MAILBOX.answer(posted);
        while posted.order() == Order::HoldStill && MAILBOX.is_held(posted) {
            MAILBOX.sleep_while(monotonic_ns() + HOLD_STILL_NS, || MAILBOX.is_held(posted));
        }
        None
    }

    fn set_away(&mut self, away: bool) {
        match (LIFE.stands_by(), away) {
            (false, true) => self.go_away(),
            (true, false) => self.come_back(),
            _ => {}
        }
    }

    /// The parked sampler: not for a fork.
    pub fn stands_aside(&mut self) {
        self.aside = true;
    }

    fn must_end(&mut self, now_ns: u64) -> Option<&'static str> {
        if self.session.until_ns.is_some_and(|until_ns| now_ns >= until_ns) {
            self.recorder.mark(proto::MarkKind::Stopped, "--duration is over", 0);
            return Some("duration");
        }
        if self.lease_is_over(now_ns) {
            return Some("detached");
        }
        if (LIFE.has_first_thread_ended() || self.leader_ended(now_ns)) && self.program_threads() < 2 {
            let words = "its first thread has ended, and with the last one the process must be able to end";
            self.recorder.mark(proto::MarkKind::Stopped, words, 0);
            return Some("last thread");
        }
        self.recorder.has_stopped.then_some("stopped")
    }

    fn resume(&mut self, now_ns: u64) {
        self.schedule.resume(now_ns, self.spent_in_all(now_ns));
        self.held = signals::held();
        self.delayed_ns = self.own_delay_ns();
        match self.parked_at_ns.take() {
            Some(parked_at_ns) => {
                for thread in &mut self.threads {
                    thread.forget_files();
                }
                self.number_threads();
                let aside = std::mem::take(&mut self.aside);
                if !aside {
                    self.recorder.mark(proto::MarkKind::Fork, "", 0);
                }
                self.count_gap(now_ns - parked_at_ns, if aside { Dropped::Aside } else { Dropped::Fork });
            }
            None => {
                self.schedule.begin(now_ns);
                self.list_threads(now_ns);
                self.forget_turns_from(0);
                self.note_other_clock();
                if self.threads.is_empty() {
                    let words = "the kernel shows none of the program's threads: nothing can be sampled";
                    self.recorder.mark(proto::MarkKind::Note, words, 0);
                }
                // What these threads used before is not genba's to tell. The first thread of a process that is recorded from its start
                // has run on since then, for as long as this thread waited for a CPU.
                let from_start_ns = if self.is_within { u64::MAX } else { self.start.cpu_before_ns };
                for thread in &mut self.threads {
                    let from_ns = if thread.tid == self.pid { from_start_ns } else { u64::MAX };
                    thread.ledger.begin_at(from_ns);
                }
                if self.stacks.loaded.is_stuck() {
                    let words = if self.stacks.loaded.modules.is_empty() {
                        "another thread was in the dynamic linker at the fork: C stacks are missing"
                    } else {
                        "another thread was in the dynamic linker at the fork: some C functions have no names"
                    };
                    self.recorder.mark(proto::MarkKind::Note, words, 0);
                }
                self.follow_others();
                // Where the program had a handler of its own before the recording began.
                if self.is_within && !self.held.sample {
                    let words = "SIGURG is the program's: running threads are not asked";
                    self.recorder.mark(proto::MarkKind::Handler, words, 0);
                }
                // A forked child may be about to become another program: its first block waits until there is news.
                if !self.is_child {
                    self.flush(None);
                }
            }
        }
    }

    fn random_interval_ns(&mut self) -> u64 {
        self.schedule.random_interval_ns()
    }

    fn reading(&self) -> Reading {
        if self.held.faults { Reading::Guarded } else { Reading::ByKernel }
    }

    fn tick(&mut self, now_ns: u64, late: u64) {
        self.ticks += 1;
        self.gone_now.clear();
        self.note_handlers(signals::held());
        self.allow_counts();
        self.take_counts();
        let all = self.threads.len() <= EVERY_TICK_MAX;
        let ran = all || self.schedule.others.anyone_ran(read_clocks);
        self.schedule.others.tick(now_ns, ran);
        if ran && !all {
            self.schedule.stirs(now_ns);
        }
        // Only a thread that runs begins another: who began last may sleep before the list was due again.
        let began = self.roster.was_counted_by(self.schedule.others.ran_ns())
            && self.list_is_due(now_ns)
            && self.list_began(now_ns);
        let due = self.schedule.states_are_due(now_ns) && self.threads.len() > 1;
        if began || ran && (due || self.states_are_outdated()) {
            self.schedule.states_are_read(now_ns);
            self.refresh_states();
        }
        self.take_ends();
        self.refresh_files(now_ns);
        self.tend_collections(now_ns);
        self.heaps.go_on(now_ns, self.proc.as_ref());
        let all = self.threads.len() <= EVERY_TICK_MAX;
        if !all && self.schedule.others.ran_ns() == now_ns {
            self.look_out_for_holders();
        }
        self.look_from(0, now_ns, late, all);
        let before = self.threads.len();
        self.threads.retain(|thread| !thread.gone);
        if self.threads.len() < before {
            self.roster.one_ended();
            // One that began in its place is looked at in this tick, too: by the next one it may have ended, and in a chain of threads that
            // would be so for each that is shorter than a tick.
            let known = self.threads.len();
            if self.list_is_due(now_ns) && self.list_began(now_ns) {
                self.refresh_states();
                self.look_from(known, now_ns, late, true);
            }
        }
        if self.session.memory
            && self.schedule.memory_is_due(now_ns)
            && let Some(rss_bytes) = proc::resident_bytes(self.proc.as_ref())
        {
            self.recorder.mark(proto::MarkKind::Rss, "", rss_bytes);
        }
        if self.schedule.block_is_due(now_ns) {
            self.flush_in_time(now_ns);
            if self.schedule.judgement_is_due(now_ns) {
                self.judge_rate(now_ns);
                self.delayed_ns = self.own_delay_ns();
            }
        }
    }

    /// Of the threads from that one on, those that are due.
    fn look_from(&mut self, first: usize, now_ns: u64, late: u64, all: bool) {
        for index in first..self.threads.len() {
            let still = self.threads[index].looks.stands_still(&self.schedule.others);
            let due = self.threads[index].looks.is_look_due(now_ns) && !(still && self.put_off(index, now_ns));
            if all || due || self.threads[index].open.is_some() || (!still && self.moved_since_glance(index, now_ns)) {
                self.recorder.look(1 + late);
                if late > 0 {
                    self.recorder.dropped(Dropped::Late, late);
                }
                self.look(index);
                if self.recorder.is_block_full(&self.tables) {
                    self.flush(None);
                }
            }
        }
    }
}

/// `None`: a seccomp filter forbids it.
fn read_clocks() -> Option<Clocks> {
    let own = || proc::clock_ns(libc::CLOCK_THREAD_CPUTIME_ID);
    let (before_ns, all_ns, after_ns) = (own(), proc::clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID), own());
    Some(Clocks { own_before_ns: before_ns?, all_ns: all_ns?, own_after_ns: after_ns? })
}
