//! All threads of a process, each as it was at one moment: what it did, its Python frames, and how sure that is.
//! Owns: when a look is believed. Never: stops a thread that sleeps, stops one for longer than `STOPPED_MAX` plans, calls a look verified during
//! which the thread may have run.
//! A sleeping thread is verified when before and after the look it was in the same system call, at the same place, with the same counts of
//! switches: a thread cannot run and sleep again without another switch. A running one is stopped. Where that is forbidden two
//! equal looks are shown, marked as unverified: nothing proves that they did not both meet the same moment of change.

use std::ffi::OsString;

use genba_python::memory::{Address, Fault, Memory};
pub use genba_python::waits::locks::Lock;
use genba_python::waits::locks::{lock_at, owner_of_rlock};
use nix::libc;

use crate::kernel::refusal::Refusal;
use crate::kernel::registers::Registers;
use crate::kernel::stopped::{NotStopped, Stop, with_stopped};
use crate::kernel::threads::{self, Call, Doing, Task};
pub use crate::python::look::Wanted;
use crate::python::look::{Look, Looker, Merged};

/// Looks at one thread until one is believed.
const TRIES: usize = 12;
/// Stops of one thread until its frames were read in time: each copies more of the names.
const STOPS_MAX: usize = 3;
/// `poll` or `select` on more descriptors than these is shown without them.
const POLLED_MAX: u64 = 8;
/// `FD_SETSIZE`: a program that goes beyond it has sets of its own length.
const SELECTED_MAX: u64 = 1024;
const POLL_ENTRY_BYTES: u64 = 8;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    pub task: Task,
    /// As `threading` has it.
    pub name: Option<String>,
    pub state: State,
    pub certainty: Certainty,
    /// For so long it was stopped in all, whichever look is shown. 0: it never was.
    pub stopped_ns: u64,
    pub look: Look,
    /// `None`: C frames were not asked for, or the registers are not known.
    pub merged: Option<Merged>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    Running,
    InGc,
    WaitingForCpu,
    /// `holder`: the thread that has it, by its number here.
    WaitingForGil {
        holder: Option<u32>,
    },
    InCall(Waiting),
    /// In the kernel, but in no system call: a page fault.
    Asleep,
    /// By a signal, or by a debugger.
    Stopped,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub call: Call,
    /// What it waits on, as the kernel names it.
    pub descriptors: Vec<(u32, OsString)>,
    pub lock: Option<Lock>,
    /// The thread that holds the lock, where CPython keeps it.
    pub holder: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// It slept during the whole look.
    Slept,
    Stopped,
    Unverified(Unverified),
    /// In a core file nothing moves.
    InCore,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unverified {
    /// Two looks, one after the other, saw the same.
    Equal,
    /// It ran at each look and is shown as it was at the last one.
    Changing,
}

/// The threads that a core file tells of, in its order: the one that ended the process comes first.
///
/// # Errors
/// `Misfit` as `snapshot`.
pub fn snapshot_of_core(looker: &mut Looker, wanted: Wanted) -> Result<Vec<Thread>, Refusal> {
    let pid = looker.interpreter.facts.pid;
    let cores = looker.interpreter.core.as_ref().map(|core| core.threads.clone()).unwrap_or_default();
    let own_tids: Vec<u32> = cores.iter().map(|thread| thread.task.own_tid).collect();
    looker.refresh(&own_tids)?;
    let names = looker.thread_names();
    let numbers: Vec<(u32, u32)> = own_tids.iter().map(|&tid| (tid, tid)).collect();
    let found = cores.into_iter().map(|core| {
        let look = looker.look(&core.task, core.registers, wanted);
        let doing = Doing::Asleep { call: core.call, stack_pointer: core.registers.stack_pointer(), instruction: 0 };
        let state = match core.call {
            Some(_) => asleep(looker, pid, &core.task, doing, &look, &numbers),
            None => running(&look),
        };
        let is_own = |ident: u64| looker.tid_of(ident) == Some(core.task.own_tid);
        let name = names.iter().find_map(|(ident, name)| is_own(*ident).then(|| name.clone()));
        let merged = looker.merged(&look);
        Thread { task: core.task, name, state, certainty: Certainty::InCore, stopped_ns: 0, look, merged }
    });
    Ok(found.collect())
}

/// The threads of the process, the first one first. Threads that end meanwhile are left out. The value of `hold` is kept as long as one is held.
///
/// # Errors
/// `Ended`, or `Misfit` when this CPython is not as its version says.
pub fn snapshot<H>(looker: &mut Looker, wanted: Wanted, hold: &impl Fn() -> H) -> Result<Vec<Thread>, Refusal> {
    let pid = looker.interpreter.facts.pid;
    let tids = threads::tids(pid);
    let tasks: Vec<Task> = tids.iter().filter_map(|&tid| threads::task(pid, tid)).collect();
    let own_tids: Vec<u32> = tasks.iter().map(|task| task.own_tid).collect();
    looker.refresh(&own_tids)?;
    let names = looker.thread_names();
    let numbers: Vec<(u32, u32)> = tasks.iter().map(|task| (task.own_tid, task.tid)).collect();
    let mut found = Vec::new();
    for task in tasks {
        let Some(mut thread) = thread(looker, pid, &task, &numbers, wanted, hold) else { continue };
        thread.name = names
            .iter()
            .find_map(|(ident, name)| (looker.tid_of(*ident) == Some(thread.task.own_tid)).then(|| name.clone()));
        thread.merged = looker.merged(&thread.look);
        found.push(thread);
    }
    if found.is_empty() { Err(Refusal::Ended { pid }) } else { Ok(found) }
}

/// `None`: it has ended.
fn thread<H>(
    looker: &mut Looker,
    pid: u32,
    task: &Task,
    numbers: &[(u32, u32)],
    wanted: Wanted,
    hold: &impl Fn() -> H,
) -> Option<Thread> {
    let tid = task.tid;
    let mut is_forbidden = false;
    let mut last: Option<Thread> = None;
    let mut stopped_ns = 0;
    for _ in 0..TRIES {
        let before = threads::task(pid, tid).filter(|task| !task.has_ended())?;
        let doing = threads::doing(pid, tid);
        let runs = before.is_runnable() || doing == Doing::Runnable;
        if runs && !is_forbidden {
            match stopped(looker, pid, &before, wanted, &mut stopped_ns, hold) {
                Ok(thread) => return Some(thread),
                Err(NotStopped::Gone) => return None,
                Err(NotStopped::Forbidden) => is_forbidden = true,
                Err(NotStopped::Asleep | NotStopped::Late) => {}
            }
            continue;
        }
        let registers = match doing {
            Doing::Asleep { stack_pointer, instruction, .. } => Registers::of_sleeping(stack_pointer, instruction),
            _ => Registers::default(),
        };
        looker.interpreter.memory.forget();
        let look = looker.look(&before, registers, wanted);
        let state = if runs { running(&look) } else { asleep(looker, pid, &before, doing, &look, numbers) };
        let after = threads::task(pid, tid)?;
        let stood = !runs && before == after && doing == threads::doing(pid, tid);
        let certainty = match &last {
            _ if stood => Certainty::Slept,
            Some(last) if last.look == look => Certainty::Unverified(Unverified::Equal),
            _ => Certainty::Unverified(Unverified::Changing),
        };
        let thread = Thread { task: before, name: None, state, certainty, stopped_ns, look, merged: None };
        // Threads that run and may not be stopped are believed a little after two equal looks.
        if stood || (runs && certainty == Certainty::Unverified(Unverified::Equal)) {
            return Some(thread);
        }
        last = Some(thread);
    }
    last.map(|last| Thread { stopped_ns, ..last }).or_else(|| {
        // It could neither be stopped nor was it seen asleep.
        looker.interpreter.memory.forget();
        let look = looker.look(task, Registers::default(), wanted);
        let certainty = Certainty::Unverified(Unverified::Changing);
        let state = running(&look);
        Some(Thread { task: task.clone(), name: None, state, certainty, stopped_ns, look, merged: None })
    })
}

/// Stops the thread, again when the time was too short for all names. `stopped_ns` grows with each stop.
fn stopped<H>(
    looker: &mut Looker,
    pid: u32,
    task: &Task,
    wanted: Wanted,
    stopped_ns: &mut u64,
    hold: &impl Fn() -> H,
) -> Result<Thread, NotStopped> {
    let stop = || {
        let _held = hold();
        with_stopped(pid, task.tid, |deadline, registers| {
            looker.interpreter.memory.forget();
            looker.interpreter.memory.set_deadline(Some(deadline));
            let look = looker.look(task, registers, wanted);
            looker.interpreter.memory.set_deadline(None);
            look
        })
    };
    let (look, waited) = in_stops(stop, |look| look.is_late, stopped_ns)?;
    let state = if waited && !look.in_gc { State::WaitingForCpu } else { running(&look) };
    let (task, certainty, stopped_ns) = (task.clone(), Certainty::Stopped, *stopped_ns);
    Ok(Thread { task, name: None, state, certainty, stopped_ns, look, merged: None })
}

/// What the last of the stops found, and whether the thread waited for a CPU when the first one came. A stop that is followed by none still
/// counts.
fn in_stops<T>(
    mut stop: impl FnMut() -> Result<Stop<T>, NotStopped>,
    is_late: impl Fn(&T) -> bool,
    stopped_ns: &mut u64,
) -> Result<(T, bool), NotStopped> {
    let mut stops = 0;
    let mut waited_at_first = None;
    loop {
        let stop = stop()?;
        stops += 1;
        *stopped_ns = stopped_ns.saturating_add(stop.stopped_ns);
        let waited = *waited_at_first.get_or_insert(stop.waited_for_cpu);
        if !is_late(&stop.found) || stops >= STOPS_MAX {
            return Ok((stop.found, waited));
        }
    }
}

const fn running(look: &Look) -> State {
    if look.in_gc { State::InGc } else { State::Running }
}

fn asleep(looker: &Looker, pid: u32, task: &Task, doing: Doing, look: &Look, numbers: &[(u32, u32)]) -> State {
    let here = |own: u32| numbers.iter().find(|(own_tid, _)| *own_tid == own).map(|&(_, tid)| tid);
    let memory = &looker.interpreter.memory;
    let call = match doing {
        _ if matches!(task.state, 'T' | 't') => return State::Stopped,
        Doing::Asleep { call: Some(call), .. } => call,
        _ if look.in_gc => return State::InGc,
        _ => return State::Asleep,
    };
    let [first, second, third, fourth, ..] = call.arguments;
    let number = i64::from(call.number);
    if number == libc::SYS_futex {
        if looker.states.is_gil(&looker.interpreter.python, first) {
            return State::WaitingForGil { holder: looker.holder_for(task).and_then(here) };
        }
        let parked = lock_at(first, memory).map(|lock| (lock, owner_of_rlock(first, memory)));
        let in_frame = || looker.lock_in_frame(task, first).map(|(lock, owner)| (lock, Some(owner)));
        let (lock, owner) = parked.or_else(in_frame).unzip();
        let owner = owner.flatten().filter(|_| lock == Some(Lock::RLock));
        let ident = owner.and_then(|owner| memory.word(owner).ok());
        let holder = ident.and_then(|ident| looker.tid_of(ident)).and_then(here);
        return State::InCall(Waiting { call, descriptors: Vec::new(), lock, holder });
    }
    // The process of a core file is gone, and its number may be another's.
    let is_alive = looker.interpreter.core.is_none();
    let named = |descriptor: u32| {
        let link = if is_alive { threads::descriptor(pid, task.tid, descriptor) } else { None };
        link.map(|link| (descriptor, link))
    };
    let descriptors = match number {
        // The kernel takes 32 bits of the register.
        number if ON_FIRST.contains(&number) => named(first as u32).into_iter().collect(),
        libc::SYS_poll | libc::SYS_ppoll if second <= POLLED_MAX => {
            let entries = (0..second).filter_map(|entry| memory.word(Address(first).at(entry * POLL_ENTRY_BYTES)).ok());
            entries
                .map(|entry| entry as u32)
                .filter(|&descriptor| descriptor.cast_signed() >= 0)
                .filter_map(named)
                .collect()
        }
        libc::SYS_select | libc::SYS_pselect6 if first <= SELECTED_MAX => {
            let selected = selected(memory, first, [second, third, fourth]).unwrap_or_default();
            let is_short = selected.len() as u64 <= POLLED_MAX;
            selected.into_iter().filter(|_| is_short).filter_map(named).collect()
        }
        _ => Vec::new(),
    };
    State::InCall(Waiting { call, descriptors, lock: None, holder: None })
}

/// The descriptors below `end` that are in one of the sets, which begin at these addresses. 0: no set.
fn selected(memory: &impl Memory, end: u64, sets: [u64; 3]) -> Result<Vec<u32>, Fault> {
    let mut found = Vec::new();
    for first in (0..end).step_by(64) {
        let mut bits = 0;
        for set in sets.into_iter().filter(|&set| set != 0) {
            bits |= memory.word(Address(set.wrapping_add(first / 8)))?;
        }
        found.extend((first..end.min(first + 64)).filter(|bit| bits >> (bit - first) & 1 == 1).map(|bit| bit as u32));
    }
    Ok(found)
}

/// Calls whose first argument is the descriptor that they wait on.
const ON_FIRST: [i64; 32] = [
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_preadv,
    libc::SYS_pwritev,
    libc::SYS_preadv2,
    libc::SYS_pwritev2,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_connect,
    libc::SYS_ioctl,
    libc::SYS_fcntl,
    libc::SYS_flock,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_sync_file_range,
    libc::SYS_syncfs,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_getdents64,
    libc::SYS_epoll_wait,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
];

#[cfg(test)]
mod tests {
    use super::{STOPS_MAX, in_stops};
    use crate::kernel::stopped::{NotStopped, Stop};

    #[test]
    fn all_stops_of_a_thread_are_added() {
        let mut stopped_ns = 7;
        let mut answers = [(true, 300), (true, 40), (true, 5)].into_iter();
        let stop = || {
            let (found, stopped_ns) = answers.next().ok_or(NotStopped::Gone)?;
            Ok(Stop { found, stopped_ns, waited_for_cpu: stopped_ns == 300 })
        };
        assert_eq!(in_stops(stop, |is_late| *is_late, &mut stopped_ns), Ok((true, true)));
        assert_eq!((stopped_ns, STOPS_MAX), (352, 3));

        let mut answers = [Ok(60), Err(NotStopped::Asleep)].into_iter();
        let stop = || {
            let stopped_ns = answers.next().unwrap_or(Err(NotStopped::Gone))?;
            Ok(Stop { found: true, stopped_ns, waited_for_cpu: false })
        };
        let mut stopped_ns = 0;
        assert_eq!(in_stops(stop, |is_late| *is_late, &mut stopped_ns), Err(NotStopped::Asleep));
        assert_eq!(stopped_ns, 60, "it fell asleep, and was stopped before");
    }
}
