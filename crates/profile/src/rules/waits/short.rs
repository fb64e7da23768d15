//! Waits shorter than a tick: a chatty socket, a pipe, a commit for each row. The thread's clock moved between two ticks, so its samples say
//! *running*, although the thread waited for most of that time.
//! Owns: how much of the wall time of running samples was such waits, and in which calls. Never: counts as a wait the time that the run queue
//! explains, or time that may be a wait for the GIL.
//!
//! The kernel tells how long a thread was ready to run and had no CPU. That time is neither work nor a wait: a busy machine must not change the
//! answer. It is divided among the thread's running and waiting samples by their time without CPU. The rest of the running samples'
//! time is waits; they belong to the samples that found the thread in a call that blocks. The part of a lock, which may be the GIL, is left
//! out, and so is time that exceeds the time of such samples.

use foldhash::HashMap;
use std::str::FromStr;

use syscalls::x86_64::Sysno;

use crate::tables::owner::Owner;
use crate::tables::profile::{Home, NodeIndex, ProcessIndex, Profile, SampleGroup, ThreadIndex};
use genba_format::state::State;

/// Threads wait for a GIL whose holder sleeps if all of them work for less than this part of the wait.
const WORK_IN_WAITS_ONE_IN: u64 = 10;

#[derive(Debug, Default)]
pub struct ShortWaits {
    /// By the group's place in `Profile::samples`.
    groups: HashMap<usize, ShortWait>,
    threads: HashMap<ThreadIndex, Sums>,
    working_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortWait {
    pub wall_ns: u64,
    pub state: State,
}

/// Wall time of one thread.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    all_ns: u64,
    running_ns: u64,
    running_cpu_ns: u64,
    waiting_ns: u64,
    gil_ns: u64,
    /// In the run queue: as samples saw it, and all of it as the kernel counts it. None: the kernel gave no count.
    seen_in_queue_ns: u64,
    in_queue_ns: Option<u64>,
    /// Wall time of running samples in calls that block.
    blocking_ns: u64,
    /// Time without CPU in those samples and in waits for locks.
    blocking_idle_ns: u64,
    lock_idle_ns: u64,
}

impl ShortWaits {
    pub fn of(profile: &Profile) -> ShortWaits {
        let mut calls: HashMap<Option<NodeIndex>, Option<Sysno>> = HashMap::default();
        let mut threads: HashMap<ThreadIndex, Sums> = HashMap::default();
        let mut blocking: Vec<(usize, &SampleGroup, Sysno)> = Vec::new();
        for (index, group) in profile.samples.iter().enumerate() {
            let sums = threads.entry(group.thread).or_default();
            let add = |sum: &mut u64, part: u64| *sum = sum.saturating_add(part);
            sums.in_queue_ns = profile.threads[group.thread].cpu_queue_ns;
            add(&mut sums.all_ns, group.wall_ns);
            match group.state {
                State::WaitingForGil => add(&mut sums.gil_ns, group.wall_ns),
                State::WaitingForCpu => add(&mut sums.seen_in_queue_ns, group.wall_ns),
                state if state.is_waiting() => add(&mut sums.waiting_ns, group.wall_ns),
                state if state.is_running() => {
                    add(&mut sums.running_ns, group.wall_ns);
                    add(&mut sums.running_cpu_ns, group.cpu_ns);
                    match *calls.entry(group.node).or_insert_with(|| call_of(profile, group.node)) {
                        Some(Sysno::futex) => add(&mut sums.lock_idle_ns, idle_ns(group)),
                        Some(call) => {
                            add(&mut sums.blocking_ns, group.wall_ns);
                            add(&mut sums.blocking_idle_ns, idle_ns(group));
                            blocking.push((index, group, call));
                        }
                        None => {}
                    }
                }
                _ => {}
            }
        }
        let groups = blocking.into_iter().filter_map(|(index, group, call)| {
            let sums = threads.get(&group.thread)?;
            let wall_ns = part(sums.short_waits_ns(), idle_ns(group), sums.blocking_idle_ns);
            let state = State::InSystemCall(call.id() as u32, None);
            (wall_ns > 0).then_some((index, ShortWait { wall_ns, state }))
        });
        ShortWaits { groups: groups.collect(), working_ns: working_ns(profile, &threads), threads }
    }

    /// Of the group at this place in `Profile::samples`.
    pub fn of_group(&self, index: usize) -> Option<ShortWait> {
        self.groups.get(&index).copied()
    }

    /// How long the processes had work to do, added up, as if there had always been a CPU for it.
    pub fn working_ns(&self) -> u64 {
        self.working_ns
    }

    /// How long threads were ready to run and had no CPU.
    pub fn in_queue_ns(&self) -> u64 {
        self.threads.values().filter_map(Sums::in_queue_ns).fold(0, u64::saturating_add)
    }
}

/// While a thread waits for the GIL another one holds it and works, so that these waits are not added up. A process works for as long as any of its
/// threads, though, which may have waited for one that held the GIL and slept, or had no CPU. Where nobody works for a tenth of that time, all of them
/// wait for the one that sleeps.
fn working_ns(profile: &Profile, threads: &HashMap<ThreadIndex, Sums>) -> u64 {
    let mut processes: HashMap<ProcessIndex, (u64, u64)> = HashMap::default();
    for (thread, sums) in threads {
        let (together_ns, longest_ns) = processes.entry(profile.threads[*thread].process).or_default();
        *together_ns = together_ns.saturating_add(sums.working_ns(0));
        *longest_ns = (*longest_ns).max(sums.working_ns(sums.gil_ns));
    }
    let longer = processes.into_values().map(|(together_ns, longest_ns)| {
        if together_ns >= longest_ns / WORK_IN_WAITS_ONE_IN { longest_ns.max(together_ns) } else { together_ns }
    });
    longer.fold(0, u64::saturating_add)
}

impl Sums {
    fn idle_ns(&self) -> u64 {
        self.running_ns.saturating_sub(self.running_cpu_ns)
    }

    /// CPU whose wall time is that of samples in the run queue: a tick that finds the thread there takes the wall time since the last tick, and
    /// the CPU of that time goes to the next tick that finds the thread running.
    fn cpu_in_queue_ns(&self) -> u64 {
        self.running_cpu_ns.saturating_sub(self.running_ns).min(self.seen_in_queue_ns)
    }

    /// At most the wall time of the samples that is not CPU. Time of dropped ticks counts here as well.
    fn in_queue_ns(&self) -> Option<u64> {
        let room_ns = self.all_ns.saturating_sub(self.running_cpu_ns).saturating_sub(self.gil_ns);
        Some(self.in_queue_ns?.min(room_ns))
    }

    /// Of the running samples.
    fn in_queue_while_running_ns(&self) -> u64 {
        let seen_ns = self.seen_in_queue_ns.saturating_sub(self.cpu_in_queue_ns());
        let rest_ns = self.in_queue_ns().unwrap_or(0).saturating_sub(seen_ns);
        part(rest_ns, self.idle_ns(), self.idle_ns().saturating_add(self.waiting_ns)).min(self.idle_ns())
    }

    fn short_waits_ns(&self) -> u64 {
        if self.in_queue_ns.is_none() {
            return 0;
        }
        let left_ns = self.idle_ns().saturating_sub(self.in_queue_while_running_ns());
        let idle_ns = self.blocking_idle_ns.saturating_add(self.lock_idle_ns);
        part(left_ns, self.blocking_idle_ns, idle_ns).min(self.blocking_ns)
    }

    /// `gil_ns`: what of its waits for the GIL counts as work.
    fn working_ns(&self, gil_ns: u64) -> u64 {
        let Some(in_queue_ns) = self.in_queue_ns() else {
            return self.running_ns.saturating_add(gil_ns).saturating_add(self.seen_in_queue_ns);
        };
        let running_ns =
            self.running_ns.saturating_sub(self.in_queue_while_running_ns()).saturating_sub(self.short_waits_ns());
        let with_cpu_ns = self.all_ns.saturating_sub(in_queue_ns);
        let work_ns = running_ns.saturating_add(self.cpu_in_queue_ns()).saturating_add(gil_ns);
        part(self.all_ns, work_ns, with_cpu_ns).min(self.all_ns)
    }
}

fn idle_ns(group: &SampleGroup) -> u64 {
    group.wall_ns.saturating_sub(group.cpu_ns)
}

/// `whole * share / of`; 0 if `of` is 0.
fn part(whole: u64, share: u64, of: u64) -> u64 {
    let part = (u128::from(whole) * u128::from(share)).checked_div(u128::from(of)).unwrap_or(0);
    u64::try_from(part).unwrap_or(u64::MAX)
}

/// The blocking system call whose libc function is the innermost one. What that calls inside of libc has no name, or is how newer versions
/// let a thread be cancelled. Every lock function is `futex`.
fn call_of(profile: &Profile, leaf: Option<NodeIndex>) -> Option<Sysno> {
    let mut function = None;
    for frame in profile.stack(leaf) {
        let inner = profile.function_of(frame);
        match &inner.home {
            Home::C { module, .. } if profile.modules[*module].owner != Owner::Libc => return None,
            Home::C { origin: None, .. } => {}
            Home::C { .. } if inner.name.contains("syscall_cancel") => {}
            Home::C { .. } => {
                function = Some(inner);
                break;
            }
            Home::Python { .. } | Home::Mark => return None,
        }
    }
    let name = function?.name.trim_start_matches("__GI_").trim_start_matches('_').trim_start_matches("libc_");
    let is_lock = ["pthread_", "sem_", "new_sem_", "lll_lock", "futex_", "do_futex"].iter();
    if is_lock.into_iter().any(|begin| name.starts_with(begin)) {
        return Some(Sysno::futex);
    }
    let call = match name {
        "recv" => Sysno::recvfrom,
        "send" => Sysno::sendto,
        "pread" => Sysno::pread64,
        "pwrite" => Sysno::pwrite64,
        "waitpid" | "wait" => Sysno::wait4,
        name => Sysno::from_str(name.trim_end_matches("_nocancel")).ok()?,
    };
    BLOCKING.contains(&call).then_some(call)
}

const BLOCKING: [Sysno; 36] = [
    Sysno::accept,
    Sysno::accept4,
    Sysno::clock_nanosleep,
    Sysno::connect,
    Sysno::epoll_pwait,
    Sysno::epoll_pwait2,
    Sysno::epoll_wait,
    Sysno::fallocate,
    Sysno::fdatasync,
    Sysno::flock,
    Sysno::fsync,
    Sysno::ftruncate,
    Sysno::msync,
    Sysno::nanosleep,
    Sysno::poll,
    Sysno::ppoll,
    Sysno::pread64,
    Sysno::preadv,
    Sysno::pselect6,
    Sysno::pwrite64,
    Sysno::pwritev,
    Sysno::read,
    Sysno::readv,
    Sysno::recvfrom,
    Sysno::recvmsg,
    Sysno::rename,
    Sysno::select,
    Sysno::sendfile,
    Sysno::sendmsg,
    Sysno::sendto,
    Sysno::sync_file_range,
    Sysno::unlink,
    Sysno::wait4,
    Sysno::waitid,
    Sysno::write,
    Sysno::writev,
];
