//! Whether the seccomp filters of a program let the entry and the agent make their system calls.
//! Owns: reading the filters, and the answer for all calls together. Never: changes a filter, lets a thread go on.
//!
//! A filter that answers with an error is no obstacle: the agent does without that call. One that ends the program, raises SIGSYS or asks
//! another process is. The strict mode and filters that genba has itself, in its own container, are told from `status`; all others are read from
//! the stopped threads.
//! Sources: ptrace(2) (`PTRACE_SECCOMP_GET_FILTER`), seccomp(2), Linux kernel/seccomp.c (`seccomp_run_filters`, `get_nth_filter`).

mod bpf;
mod calls;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::time::{Duration, Instant};

use genba_process::facts::{is_beside, is_in_same_namespaces};
use nix::errno::Errno;
use nix::libc;

use bpf::{Instruction, Value};
use calls::Call;

use crate::Door;
use crate::stop::thread_ids;

const PTRACE_SECCOMP_GET_FILTER: libc::c_uint = 0x420c;
/// The kernel's limit of one filter, and more filters than its limit of all together allows.
const INSTRUCTIONS_MAX: usize = 4096;
const FILTERS_MAX: usize = 32768;
/// So many distinct lists are kept, of 256 kB at most each.
const LISTS_MAX: usize = 16;
/// More than `status` of a thread has, as long as its user is in few groups: then it is read by one call.
const STATUS_BYTES: usize = 4096;

/// Why the filters of a program forbid the entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Filtered {
    /// The strict mode: a thread may only read, write and exit.
    Strict,
    /// The filters cannot be read: the kernel's reason.
    Unread(Errno),
    /// Whether there are any cannot be told: the kernel's reason.
    Untold(Errno),
    /// There was no time to ask all threads, or none has stopped.
    Unasked,
    /// What happens at a system call of the agent's.
    Call { number: i64, name: &'static str, action: Action },
}

/// What a filter does at a call, other than to let it through or to answer with an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    EndsProcess,
    EndsThread,
    RaisesSigsys,
    AsksSupervisor,
    AsksTracer,
}

impl Action {
    /// `None`: the call is made, or fails. Like the kernel, this takes what it does not know for the end of the process.
    const fn of(value: Value) -> Option<Action> {
        match value.cast_unsigned() {
            libc::SECCOMP_RET_ALLOW | libc::SECCOMP_RET_LOG | libc::SECCOMP_RET_ERRNO => None,
            libc::SECCOMP_RET_KILL_THREAD => Some(Action::EndsThread),
            libc::SECCOMP_RET_TRAP => Some(Action::RaisesSigsys),
            libc::SECCOMP_RET_USER_NOTIF => Some(Action::AsksSupervisor),
            libc::SECCOMP_RET_TRACE => Some(Action::AsksTracer),
            _ => Some(Action::EndsProcess),
        }
    }
}

/// One thread's filters.
type List = Vec<Vec<Instruction>>;

/// What filters say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer {
    /// To genba's calls.
    pub calls: Result<(), Filtered>,
    /// Whether a wait that the stop has cut short may go on by `restart_syscall`.
    pub may_restart: bool,
}

impl Answer {
    const FINE: Answer = Answer { calls: Ok(()), may_restart: true };

    const fn none(why: Filtered) -> Answer {
        Answer { calls: Err(why), may_restart: false }
    }
}

/// The filters of one program, as far as they are known.
pub struct Filters {
    pid: u32,
    door: Door,
    /// genba's own, if the program has those, too.
    own: Option<Mode>,
    /// A thread has filters that genba does not have itself.
    must_be_read: bool,
    /// The threads just before the stop, and how many filters each had.
    before: BTreeMap<i32, Mode>,
    /// The threads that were checked, and how many filters each had then.
    seen: BTreeMap<i32, Mode>,
    /// Of the last stop: there was no time for threads that nobody had asked before.
    has_unasked: bool,
    /// Distinct lists, and what they say.
    judged: Vec<(List, Answer)>,
    may_restart: bool,
}

impl Filters {
    /// What can be known before the threads are stopped.
    ///
    /// # Errors
    /// As of `look_again`.
    pub fn look(pid: u32, door: Door) -> Result<Filters, Filtered> {
        let mut filters = Filters::unasked(pid, door);
        filters.look_again()?;
        Ok(filters)
    }

    /// The same before another stop.
    ///
    /// # Errors
    /// `Strict`, `Untold`.
    pub fn look_again(&mut self) -> Result<(), Filtered> {
        self.before.clear();
        for tid in thread_ids(self.pid) {
            if let Some(mode) = Mode::of_thread(self.pid, tid)? {
                self.must_be_read |= must_be_read(self.own, std::iter::once(mode))?;
                self.before.insert(tid, mode);
            }
        }
        // The number of one that has ended may be another's.
        self.seen.retain(|tid, _| self.before.contains_key(tid));
        Ok(())
    }

    /// Of no thread yet.
    #[must_use]
    pub fn unasked(pid: u32, door: Door) -> Filters {
        let own = match is_beside(pid) {
            true => Mode::of("/proc/self/status").ok(),
            false if is_in_same_namespaces(pid) => {
                let text = |status: &str| status_text(status).unwrap_or_default();
                of_container(&text("/proc/self/status"), &text("/proc/1/status"))
            }
            false => None,
        };
        Filters {
            pid,
            door,
            own,
            must_be_read: false,
            before: BTreeMap::new(),
            seen: BTreeMap::new(),
            has_unasked: false,
            judged: Vec::new(),
            may_restart: true,
        }
    }

    /// Whether the program has filters of its own that nobody has read.
    #[must_use]
    pub fn are_unread(&self) -> bool {
        self.must_be_read && (self.seen.is_empty() || self.has_unasked)
    }

    /// How many of the threads that were there just before the stop have filters that nobody has read.
    #[must_use]
    pub fn count_unasked(&self) -> usize {
        self.before.keys().filter(|&&tid| !self.is_known(tid)).count()
    }

    /// Asks the filters of threads that the calling thread has stopped, in this order and for at most so long, the first one in any case. Of a
    /// thread whose filters were known just before the stop that counts where the time is over: a filter that it has set since then is as one that
    /// it sets just after the stop. False: of some nothing was known, or others are not as they were. They are asked in another stop.
    ///
    /// # Errors
    /// As of `check`.
    pub fn check_all(&mut self, stopped: &[i32], at_most: Duration) -> Result<bool, Filtered> {
        let deadline = Instant::now() + at_most;
        let (known, unknown): (Vec<i32>, Vec<i32>) = stopped.iter().copied().partition(|&tid| self.is_known(tid));
        let (mut asked, mut is_changed) = (0, false);
        for &tid in unknown.iter().chain(&known) {
            if asked > 0 && Instant::now() >= deadline {
                break;
            }
            self.check(tid)?;
            asked += 1;
            is_changed |= self.before.get(&tid).is_some_and(|before| self.seen.get(&tid) != Some(before));
        }
        // What one thread has set may be in all of them.
        self.has_unasked = asked < unknown.len() || (is_changed && asked < stopped.len());
        Ok(!self.has_unasked)
    }

    /// Whether its filters need not be read as long as it has as many as before the stop. Linux before 5.9 does not tell how many: there those count
    /// that were read in an earlier stop, or a program with more threads than one stop asks could never be entered.
    fn is_known(&self, tid: i32) -> bool {
        self.before.get(&tid).is_some_and(|&mode| {
            self.seen.get(&tid) == Some(&mode) || must_be_read(self.own, std::iter::once(mode)) == Ok(false)
        })
    }

    /// Asks the filters of a thread that the calling thread has stopped: until then it may have set another. One that has as many as when it was
    /// checked has the same ones, for a thread only adds to them.
    ///
    /// # Errors
    /// `Strict`, `Unread`, `Untold`, `Call`.
    pub fn check(&mut self, tid: i32) -> Result<(), Filtered> {
        let told = Mode::of_thread(self.pid, tid);
        if let Ok(Some(mode)) = told
            && mode != Mode::Filter(None)
            && self.seen.get(&tid) == Some(&mode)
        {
            return Ok(());
        }
        let said = self.ask_thread(tid, told);
        self.may_restart &= said.may_restart;
        said.calls?;
        if let Ok(Some(mode)) = told {
            self.seen.insert(tid, mode);
        }
        Ok(())
    }

    /// What the filters of a thread say that the calling thread has stopped, whatever was known of one with its number. As many as another thread
    /// has may be others, so they are read; each distinct list is judged once.
    pub fn ask(&mut self, tid: i32) -> Answer {
        self.ask_thread(tid, Mode::of_thread(self.pid, tid))
    }

    /// `told`: by its `status`. Where that cannot be read the thread may have any filter.
    fn ask_thread(&mut self, tid: i32, told: Result<Option<Mode>, Filtered>) -> Answer {
        let mode = match told {
            Ok(Some(mode)) => mode,
            // It was killed.
            Ok(None) => return Answer::FINE,
            Err(why) => return Answer::none(why),
        };
        match must_be_read(self.own, std::iter::once(mode)) {
            Ok(true) => self.must_be_read = true,
            Ok(false) => return Answer::FINE,
            Err(why) => return Answer::none(why),
        }
        match read(tid) {
            Ok(list) => self.judge_once(list),
            // It was killed.
            Err(Errno::ESRCH) => Answer::FINE,
            Err(error) => Answer::none(Filtered::Unread(error)),
        }
    }

    fn judge_once(&mut self, list: List) -> Answer {
        if let Some((_, said)) = self.judged.iter().find(|(known, _)| *known == list) {
            return *said;
        }
        let heap: &[Call] = if self.door == Door::Heap { calls::HEAP } else { &[] };
        let calls = judge(&list).and_then(|()| judge_calls(&list, heap.iter()));
        let said = Answer { calls, may_restart: answer(&list, libc::SYS_restart_syscall).is_none() };
        if self.judged.len() >= LISTS_MAX {
            self.judged.remove(0);
        }
        self.judged.push((list, said));
        said
    }

    /// Whether a wait that the stop has cut short may go on by `restart_syscall`, as far as filters were read.
    #[must_use]
    pub const fn may_restart(&self) -> bool {
        self.may_restart
    }
}

/// `Seccomp` and `Seccomp_filters` of a thread's `status`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Off,
    Strict,
    /// How many. `None`: Linux before 5.9 does not tell.
    Filter(Option<u32>),
}

impl Mode {
    /// `None`: it has ended.
    fn of_thread(pid: u32, tid: i32) -> Result<Option<Mode>, Filtered> {
        match Mode::of(&format!("/proc/{pid}/task/{tid}/status")) {
            Ok(mode) => Ok(Some(mode)),
            Err(Errno::ENOENT | Errno::ESRCH) => Ok(None),
            Err(errno) => Err(Filtered::Untold(errno)),
        }
    }

    fn of(status: &str) -> Result<Mode, Errno> {
        status_text(status).map(|text| Mode::parse(&text))
    }

    fn parse(status: &str) -> Mode {
        let number = |name: &str| -> Option<u32> {
            status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?.trim().parse().ok()
        };
        match number("Seccomp") {
            // None: a kernel without seccomp.
            None | Some(0) => Mode::Off,
            Some(1) => Mode::Strict,
            Some(_) => Mode::Filter(number("Seccomp_filters").filter(|&count| count > 0)),
        }
    }
}

/// A program may give its threads names that are no text, so the file need not be any either.
fn status_text(path: &str) -> Result<String, Errno> {
    let mut bytes = Vec::with_capacity(STATUS_BYTES);
    let read = File::open(path).and_then(|mut file| file.read_to_end(&mut bytes));
    read.map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or(0)))?;
    // The kernel writes it whole or not at all.
    if bytes.is_empty() { Err(Errno::ENODATA) } else { Ok(String::from_utf8_lossy(&bytes).into_owned()) }
}

/// genba's filters, if they are those of the first process of its PID namespace: a thread inherits filters and only adds to them, so whoever has
/// as many there has the same ones. In a container with systemd each service has control groups of its own. From both texts of `status`.
fn of_container(own: &str, first: &str) -> Option<Mode> {
    // One number: this /proc is that of genba's own PID namespace, and so is the process 1 in it.
    let numbers = own.lines().find_map(|line| line.strip_prefix("NSpid:"))?.split_whitespace().count();
    let mode = Mode::parse(own);
    (numbers == 1 && mode == Mode::parse(first)).then_some(mode)
}

/// `own`: genba's filters, if the program is beside it. As many there are those of the container that both are in: genba runs under them, too.
/// Elsewhere as many may be others.
fn must_be_read(own: Option<Mode>, threads: impl Iterator<Item = Mode>) -> Result<bool, Filtered> {
    let mut must = false;
    for thread in threads {
        match thread {
            Mode::Off => {}
            Mode::Strict => return Err(Filtered::Strict),
            Mode::Filter(count) => must |= count.is_none() || own != Some(thread),
        }
    }
    Ok(must)
}

/// All filters of a stopped thread, in the kernel's order.
fn read(tid: i32) -> Result<List, Errno> {
    let mut list = List::new();
    for index in 0..FILTERS_MAX {
        // SAFETY: without a buffer the kernel writes nothing.
        let count = match unsafe { get_filter(tid, index, core::ptr::null_mut()) } {
            Ok(count) => count,
            Err(Errno::ENOENT) if index > 0 => return Ok(list),
            Err(error) => return Err(error),
        };
        let mut instructions = vec![Instruction::default(); count.min(INSTRUCTIONS_MAX)];
        if count > INSTRUCTIONS_MAX {
            return Err(Errno::E2BIG);
        }
        // SAFETY: the filter of a stopped thread stays as it is, so the kernel writes as many as it said.
        unsafe { get_filter(tid, index, instructions.as_mut_ptr())? };
        list.push(instructions);
    }
    Err(Errno::E2BIG)
}

/// # Safety
/// `into` is null, or has room for all instructions of that filter.
unsafe fn get_filter(tid: i32, index: usize, into: *mut Instruction) -> Result<usize, Errno> {
    // SAFETY: as the caller promises.
    let count = unsafe { libc::ptrace(PTRACE_SECCOMP_GET_FILTER, tid, index, into) };
    Errno::result(count).map(|count| count as usize)
}

/// The first call of the table that these filters do not allow.
fn judge(list: &List) -> Result<(), Filtered> {
    judge_calls(list, calls::ALL.iter().copied().flatten())
}

fn judge_calls<'a>(list: &List, mut calls: impl Iterator<Item = &'a Call>) -> Result<(), Filtered> {
    let refused = calls.find_map(|&(number, name)| Some((number, name, answer(list, number)?)));
    refused.map_or(Ok(()), |(number, name, action)| Err(Filtered::Call { number, name, action }))
}

/// The worst that may happen at this call, if any. For each call the kernel asks all filters, and does what the least of their values says.
fn answer(list: &List, number: i64) -> Option<Action> {
    let answers: Vec<BTreeSet<Value>> = list.iter().map(|filter| bpf::values(filter, number as u32)).collect();
    // Some filter never says more than this.
    let most = answers.iter().filter_map(BTreeSet::last).min()?;
    let possible: BTreeSet<Value> = answers.iter().flatten().copied().filter(|value| value <= most).collect();
    possible.into_iter().find_map(Action::of)
}

#[cfg(test)]
mod asking;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;
