//! One thread of the program, as the sampler remembers it between looks.
//! Owns: the open question, the files that tell what it does. Never: credits time to anything (ledger.rs).

use crate::sampling::ledger::ended::Met;
use crate::sampling::ledger::{Ledger, Moment};
use crate::sampling::roster::Ids;
use crate::sampling::schedule::beside::CallEnds;
use crate::sampling::schedule::looks::Looks;
use crate::sampling::steps::Step;
use crate::system::descriptor::Descriptor;
use crate::system::proc::{self, Doing};
use crate::system::tasks;
use crate::system::threads::ends::End;
use genba_format::proto;
use genba_signal::request::{Pool, REQUESTS, Ticket};
use std::ffi::CString;

/// A question that was asked and has not ended.
#[derive(Clone, Copy, Debug)]
pub struct OpenQuestion {
    pub ticket: Ticket,
    pub asked_ns: u64,
    /// When its signal was last sent.
    pub sent_ns: u64,
    /// The thread's clock just before the signal.
    pub cpu_ns: u64,
    pub ticks: u32,
    /// The list of loaded files at that moment.
    pub files: u64,
    /// It was on no CPU then, though it could have run; and when the tick was due that found it so.
    pub queued: Option<(Turns, u64)>,
    /// It ran on another CPU than the sampler.
    pub elsewhere: bool,
    /// Its handler has begun and was waited for in vain: nobody waits for it again.
    pub held_up: bool,
}

impl OpenQuestion {
    /// The moment of the question: a sample ends there.
    #[must_use]
    pub const fn at(&self) -> Moment {
        Moment::new(self.asked_ns, self.cpu_ns)
    }
}

/// Buffers of questions that are counted already and whose handlers are still at work: neither read nor used again until those are through.
#[derive(Default)]
pub struct LeftBehind(Vec<Ticket>);

impl LeftBehind {
    pub fn add(&mut self, ticket: Ticket) {
        self.0.push(ticket);
    }

    /// Frees the buffers whose handlers are through.
    pub fn free(&mut self, pool: &Pool<REQUESTS>) {
        self.0.retain(|&ticket| match pool.answered(ticket) {
            Some(_) => {
                pool.done(ticket);
                false
            }
            None => true,
        });
    }
}

/// How often a thread got a CPU, and how long it had waited for one in all: known when it gets one, not before.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Turns {
    pub count: u64,
    pub waited_ns: u64,
}

impl Turns {
    /// `CPU_NS WAITED_NS COUNT` (Documentation/scheduler/sched-stats.rst).
    pub fn parse(text: &[u8]) -> Option<Turns> {
        let mut words = std::str::from_utf8(text).ok()?.split_ascii_whitespace().skip(1).map(str::parse);
        let (waited_ns, count) = (words.next()?.ok()?, words.next()?.ok()?);
        Some(Turns { count, waited_ns })
    }

    const fn less(self, other: Turns) -> Turns {
        Turns {
            count: self.count.saturating_sub(other.count),
            waited_ns: self.waited_ns.saturating_sub(other.waited_ns),
        }
    }

    /// Since when the thread had waited that got a CPU at `began_ns`, once since `self`. `None`: more than once, or not at all.
    #[must_use]
    pub fn waited_since_ns(self, now: Turns, began_ns: u64) -> Option<u64> {
        let waited_ns = now.waited_ns.checked_sub(self.waited_ns)?;
        began_ns.checked_sub(waited_ns).filter(|_| now.count == self.count + 1)
    }
}

/// What `threading` calls a thread, as far as that is known: a row of the recording's strings + 1, or 0.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Name {
    row: u32,
    told: u32,
    /// Samples of the thread without a name, and how many of them are the next occasion to look it up.
    samples: u32,
    due: u32,
}

impl Name {
    /// Whether a thread without a name is asked for it again: at its first eight looks for it, the sixteenth and so on. A thread has its name a
    /// little after its first instruction, or never.
    pub const fn is_due(&mut self) -> bool {
        const EACH: u32 = 8;
        if self.row > 0 {
            return false;
        }
        self.samples = self.samples.saturating_add(1);
        let is_due = self.samples > self.due;
        if is_due {
            self.due =
                if self.samples < EACH { self.samples } else { self.samples.saturating_mul(2).saturating_sub(1) };
        }
        is_due
    }

    #[must_use]
    pub const fn is_known(&self) -> bool {
        self.row > 0
    }

    pub const fn is(&mut self, string: u32) {
        self.row = string + 1;
    }

    #[must_use]
    pub const fn is_news(&self) -> bool {
        self.row != self.told
    }

    /// For a block: 0 where the blocks before have told it.
    const fn tell(&mut self) -> u32 {
        let news = if self.is_news() { self.row } else { 0 };
        self.told = self.row;
        news
    }
}

/// Why a thread's state is not known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotTold {
    Gone,
    Unknown,
}

/// How often a tick met the thread running, and where it did so last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ran {
    Never,
    Once(Met),
    Twice([Met; 2]),
    Often(Met),
}

impl Ran {
    #[must_use]
    pub const fn and(self, met: Met) -> Ran {
        match self {
            Ran::Never => Ran::Once(met),
            Ran::Once(before) => Ran::Twice([before, met]),
            Ran::Twice(_) | Ran::Often(_) => Ran::Often(met),
        }
    }

    /// Where a tick met it last.
    #[must_use]
    pub const fn last(self) -> Option<Met> {
        match self {
            Ran::Never => None,
            Ran::Once(met) | Ran::Twice([_, met]) | Ran::Often(met) => Some(met),
        }
    }
}

pub struct Thread {
    pub tid: u32,
    /// Its number in the folder of threads: the same, unless that is another pid namespace's (tasks.rs).
    pub number: u32,
    pub row: Option<u32>,
    /// Its clock, and what of it is in no sample, as the last block told them.
    pub clock_told: Option<(u64, u64)>,
    pub name: Name,
    /// The kernel's name for it is not in its row yet: most threads with a name of Python's have the process's.
    pub is_kernel_name_due: bool,
    /// When its clock was told last, less those that are none of this recording's.
    pub turns: Option<Turns>,
    /// Before it was first seen, and in pauses.
    turns_elsewhere: Turns,
    turns_at_pause: Option<Turns>,
    pub first_seen_ns: u64,
    pub ledger: Ledger,
    pub looks: Looks,
    pub open: Option<OpenQuestion>,
    pub call_ends: CallEnds,
    /// The callback that it was last seen in.
    pub step: Option<Step>,
    /// It blocks the sample signal: not asked before this moment.
    pub masked_until_ns: u64,
    /// The recording says that it did.
    pub is_told_masked: bool,
    pub gone: bool,
    /// It has nothing more to do, as it said itself.
    pub end: Option<End>,
    pub ran: Ran,
    syscall_file: Option<Descriptor>,
    syscall_file_refused: bool,
    pub last_used: u64,
}

impl Thread {
    #[must_use]
    pub fn new(tid: u32, number: u32, cpu_ns: u64, now_ns: u64) -> Thread {
        Thread {
            tid,
            number,
            row: None,
            clock_told: None,
            name: Name::default(),
            is_kernel_name_due: false,
            turns: None,
            turns_elsewhere: Turns::default(),
            turns_at_pause: None,
            first_seen_ns: now_ns,
            ledger: Ledger::new(now_ns, cpu_ns),
            looks: Looks::new(now_ns),
            open: None,
            call_ends: CallEnds::default(),
            step: None,
            masked_until_ns: 0,
            is_told_masked: false,
            gone: false,
            end: None,
            ran: Ran::Never,
            syscall_file: None,
            syscall_file_refused: false,
            last_used: 0,
        }
    }

    #[must_use]
    pub const fn ids(&self) -> Ids {
        Ids { tid: self.tid, number: self.number }
    }

    /// The kernel's counts so far do not belong to this recording.
    pub fn forget_turns(&mut self, tasks: &Descriptor) {
        self.turns_elsewhere = self.turns_now(tasks).unwrap_or_default();
    }

    /// Before a block tells them.
    pub fn read_turns(&mut self, tasks: &Descriptor) {
        if let Some(now) = self.turns_now(tasks) {
            self.turns = Some(now.less(self.turns_elsewhere));
        }
    }

    /// Neither are its counts between these two calls.
    pub fn pause_turns(&mut self, tasks: &Descriptor) {
        self.turns_at_pause = self.turns_now(tasks);
    }

    pub fn resume_turns(&mut self, tasks: &Descriptor) {
        let Some((before, now)) = self.turns_at_pause.take().zip(self.turns_now(tasks)) else { return };
        let paused = now.less(before);
        self.turns_elsewhere.count += paused.count;
        self.turns_elsewhere.waited_ns += paused.waited_ns;
    }

    /// Its clocks, and its name where that is news, as a block tells them.
    pub fn clock(&mut self, row: u32, ended: bool) -> proto::ThreadClock {
        let name = self.name.tell();
        let (cpu_ns, cpu_not_sampled_ns) = (self.ledger.cpu_ns(), self.ledger.cpu_not_sampled_ns());
        let (turns, cpu_queue_ns) = self.turns.map_or((0, 0), |turns| (turns.count, turns.waited_ns));
        proto::ThreadClock { thread: row, cpu_ns, cpu_not_sampled_ns, ended, turns, cpu_queue_ns, name }
    }

    /// What the thread is doing.
    ///
    /// # Errors
    /// That it is gone, or that the kernel does not tell (no descriptor left).
    pub fn doing(&mut self, tasks: &Descriptor) -> Result<Doing, NotTold> {
        let mut buffer = [0_u8; 256];
        if !self.syscall_file_refused {
            if self.syscall_file.is_none() {
                match Descriptor::open_at(Some(tasks), &self.path("syscall"), libc::O_RDONLY) {
                    Ok(file) => self.syscall_file = Some(file),
                    Err(libc::ENOENT | libc::ESRCH) => return Err(self.not_listed()),
                    Err(libc::EMFILE | libc::ENFILE | libc::ENOMEM) => return Err(NotTold::Unknown),
                    // After dropped privileges, or without this file in the kernel.
                    Err(_) => self.syscall_file_refused = true,
                }
            }
            if let Some(text) = self.syscall_file.as_ref().and_then(|file| file.read_at_start(&mut buffer)) {
                return Doing::parse_syscall(text).ok_or(NotTold::Gone);
            }
            if self.syscall_file.take().is_some() {
                self.syscall_file_refused = true;
            }
        }
        let file = match Descriptor::open_at(Some(tasks), &self.path("stat"), libc::O_RDONLY) {
            Ok(file) => file,
            Err(libc::ENOENT | libc::ESRCH) => return Err(self.not_listed()),
            Err(_) => return Err(NotTold::Unknown),
        };
        let text = file.read_at_start(&mut buffer).ok_or(NotTold::Gone)?;
        Doing::parse_stat(text).ok_or(NotTold::Gone)
    }

    /// Why it has no file: a sandbox may answer so for one whose clock goes on.
    fn not_listed(&self) -> NotTold {
        if proc::thread_cpu_ns(self.tid).is_some() { NotTold::Unknown } else { NotTold::Gone }
    }

    /// `None`: the kernel does not tell (without CONFIG_SCHED_INFO).
    #[must_use]
    pub fn turns_now(&self, tasks: &Descriptor) -> Option<Turns> {
        let file = Descriptor::open_at(Some(tasks), &self.path("schedstat"), libc::O_RDONLY).ok()?;
        Turns::parse(file.read_at_start(&mut [0_u8; 96])?)
    }

    /// A file of this thread, below `/proc/self/task`.
    fn path(&self, name: &str) -> CString {
        tasks::path(self.number, name)
    }

    pub const fn has_file(&self) -> bool {
        self.syscall_file.is_some()
    }

    pub fn close_file(&mut self) {
        self.syscall_file = None;
    }

    /// Files belong to the sampler's descriptor table: a new sampler thread opens its own.
    pub fn forget_files(&mut self) {
        // The number means nothing in another table: it must not be closed there.
        if let Some(file) = self.syscall_file.take() {
            std::mem::forget(file);
        }
        self.syscall_file_refused = false;
    }

    /// Whether the thread blocks the sample signal (`SigBlk` in its status).
    #[must_use]
    pub fn blocks_sample(&self, tasks: &Descriptor) -> bool {
        let Some(status) = crate::system::proc::read_whole(Some(tasks), &self.path("status")) else { return false };
        let mask = status
            .split(|&byte| byte == b'\n')
            .find_map(|line| line.strip_prefix(b"SigBlk:\t"))
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .and_then(|hex| u64::from_str_radix(hex, 16).ok())
            .unwrap_or(0);
        mask >> (crate::system::signals::SAMPLE - 1) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::{LeftBehind, Name, Turns};
    use genba_python::thread_states::{States, ThreadHints};
    use genba_signal::handler::{self, Arrival, SAMPLE_CODE, SHARED};
    use genba_signal::request::{POOL, Phase, Question, REQUESTS, Reading};
    use genba_signal::rows::Registers;
    use std::sync::atomic::Ordering::SeqCst;

    #[test]
    fn a_buffer_left_behind_is_free_when_its_handler_is_through() {
        const PID: u32 = 7;
        let question = Question {
            thread: ThreadHints { pid: PID, tid: PID, states: States::EMPTY },
            native: false,
            counts_beyond: false,
            reading: Reading::Guarded,
        };
        let ticket = POOL.ask(REQUESTS - 1, question).unwrap();
        let mut left = LeftBehind::default();
        left.add(ticket);
        left.free(&POOL);
        assert_eq!((POOL.phase(ticket.index), left.0.len()), (Phase::Asked, 1), "a handler may still come");
        SHARED.pid.store(PID, SeqCst);
        let registers = Registers { rip: 0, rsp: 0, rbp: None };
        let value = ticket.to_value();
        assert!(handler::answer(&Arrival { code: SAMPLE_CODE, pid: PID, value, registers, faults_welcome: true }));
        SHARED.pid.store(0, SeqCst);
        assert_eq!(POOL.phase(ticket.index), Phase::Answered);
        left.free(&POOL);
        assert_eq!((POOL.phase(ticket.index), left.0.len()), (Phase::Free, 0));
    }

    #[test]
    fn a_thread_without_a_name_is_asked_ever_more_rarely() {
        let mut name = Name::default();
        let asked: Vec<u32> = (1..=20).filter(|_| name.is_due()).collect();
        assert_eq!(asked, [1, 2, 3, 4, 5, 6, 7, 8, 16]);
        name.is(6);
        assert_eq!((name.is_due(), name.tell(), name.tell()), (false, 7, 0));
        name.is(6);
        assert!(!name.is_news());
        name.is(8);
        assert_eq!(name.tell(), 9);
    }

    #[test]
    fn a_thread_that_got_a_cpu_tells_since_when_it_had_waited() {
        let before = Turns::parse(b"76000000 1000 12\n").unwrap();
        assert_eq!(before, Turns { count: 12, waited_ns: 1000 });
        let once = Turns { count: 13, waited_ns: 501_000 };
        assert_eq!(before.waited_since_ns(once, 9_500_000), Some(9_000_000));
        assert_eq!(before.waited_since_ns(Turns { count: 14, ..once }, 9_500_000), None);
        assert_eq!(before.waited_since_ns(before, 9_500_000), None);
        assert_eq!(Turns::parse(b"1 2"), None);
        assert_eq!(Turns::parse(b""), None);
    }
}
