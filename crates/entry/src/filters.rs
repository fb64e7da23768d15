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
use std::fs;

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

/// Why the filters of a program forbid the entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Filtered {
    /// The strict mode: a thread may only read, write and exit.
    Strict,
    /// The filters cannot be read: the kernel's reason.
    Unread(Errno),
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
    /// The threads that were checked, and how many filters each had then.
    seen: BTreeMap<i32, Mode>,
    /// Distinct lists, and what they say.
    judged: Vec<(List, Answer)>,
    may_restart: bool,
}

impl Filters {
    /// What can be known before the threads are stopped.
    ///
    /// # Errors
    /// `Strict`.
    pub fn look(pid: u32, door: Door) -> Result<Filters, Filtered> {
        let mut filters = Filters::unasked(pid, door);
        let modes = thread_ids(pid).into_iter().map(|tid| Mode::of_thread(pid, tid));
        filters.must_be_read = must_be_read(filters.own, modes)?;
        Ok(filters)
    }

    /// Of no thread yet.
    #[must_use]
    pub fn unasked(pid: u32, door: Door) -> Filters {
        let text = |status: &str| fs::read_to_string(status).unwrap_or_default();
        let own = match is_beside(pid) {
            true => Some(Mode::of("/proc/self/status")),
            false if is_in_same_namespaces(pid) => of_container(&text("/proc/self/status"), &text("/proc/1/status")),
            false => None,
        };
        let (seen, judged) = (BTreeMap::new(), Vec::new());
        Filters { pid, door, own, must_be_read: false, seen, judged, may_restart: true }
    }

    /// Whether the program has filters of its own, and none was read yet.
    #[must_use]
    pub fn are_unread(&self) -> bool {
        self.must_be_read && self.seen.is_empty()
    }

    /// Asks the filters of a thread that the calling thread has stopped: until then it may have set another. One that has as many as when it was
    /// checked has the same ones, for a thread only adds to them.
    ///
    /// # Errors
    /// `Strict`, `Unread`, `Call`.
    pub fn check(&mut self, tid: i32) -> Result<(), Filtered> {
        let mode = Mode::of_thread(self.pid, tid);
        if mode != Mode::Filter(None) && self.seen.get(&tid) == Some(&mode) {
            return Ok(());
        }
        let said = self.ask_thread(tid, mode);
        self.may_restart &= said.may_restart;
        said.calls?;
        self.seen.insert(tid, mode);
        Ok(())
    }

    /// What the filters of a thread say that the calling thread has stopped, whatever was known of one with its number. As many as another thread
    /// has may be others, so they are read; each distinct list is judged once.
    pub fn ask(&mut self, tid: i32) -> Answer {
        self.ask_thread(tid, Mode::of_thread(self.pid, tid))
    }

    fn ask_thread(&mut self, tid: i32, mode: Mode) -> Answer {
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
    fn of_thread(pid: u32, tid: i32) -> Mode {
        Mode::of(&format!("/proc/{pid}/task/{tid}/status"))
    }

    fn of(status: &str) -> Mode {
        Mode::parse(&fs::read_to_string(status).unwrap_or_default())
    }

    fn parse(status: &str) -> Mode {
        let number = |name: &str| -> Option<u32> {
            status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?.trim().parse().ok()
        };
        match number("Seccomp") {
            // A kernel without seccomp, or a thread that has ended.
            None | Some(0) => Mode::Off,
            Some(1) => Mode::Strict,
            Some(_) => Mode::Filter(number("Seccomp_filters").filter(|&count| count > 0)),
        }
    }
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
mod oracle;
#[cfg(test)]
mod tests;
