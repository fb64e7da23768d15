//! The threads of a process, as the kernel tells about them.
//! Owns: reading `/proc/PID/task`. Never: stops a thread, believes one read alone of a thread that may run (look.rs compares two).

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::kernel::facts::field;
use genba_python::waits::restarted::begun_as;

/// Longer than `strace` needs for what it writes about one system call, on a busy machine.
const STOPS_FOR_A_MOMENT_MAX: Duration = Duration::from_millis(200);
const LOOKED_EVERY: Duration = Duration::from_millis(2);

/// A thread at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    pub tid: u32,
    /// Its number in the innermost PID namespace: what Python knows it by.
    pub own_tid: u32,
    /// `comm`: at most 15 bytes.
    pub name: String,
    /// The state's letter: `R` runs or could run.
    pub state: char,
    /// How often it left a CPU, by itself and because another was due.
    pub switches: (u64, u64),
}

/// A system call that a thread is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    pub number: u32,
    pub arguments: [u64; 6],
}

impl Call {
    /// As the kernel tells it: `restart_syscall` is the wait that it goes on with.
    #[must_use]
    pub const fn of(number: u32, arguments: [u64; 6]) -> Call {
        Call { number: begun_as(number, arguments), arguments }
    }
}

/// What `/proc/PID/task/TID/syscall` tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Doing {
    /// On a CPU, or waiting for one.
    Runnable,
    Asleep {
        call: Option<Call>,
        stack_pointer: u64,
        instruction: u64,
    },
    /// The file may not be read, or this kernel has none.
    Unseen,
}

/// Whether the process may be the child of a vfork (`posix_spawn`, `subprocess`), which has its parent's memory until it starts a program: a
/// thread of the parent waits for that. The parent may wait for another child: two programs
/// have their vdso at different places, one memory has one that does not move.
#[must_use]
pub fn is_in_memory_of(pid: u32, parent: u32) -> bool {
    if !waits_for_child(parent) {
        return false;
    }
    let vdso = |pid: u32| {
        let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
        maps.lines().find(|line| line.ends_with("[vdso]")).map(str::to_owned)
    };
    // Where that cannot be read it may be this child.
    vdso(pid).zip(vdso(parent)).is_none_or(|(its, of_parent)| its == of_parent)
}

fn waits_for_child(parent: u32) -> bool {
    const MAKING: [i64; 3] = [nix::libc::SYS_vfork, nix::libc::SYS_clone, nix::libc::SYS_clone3];
    tids(parent).into_iter().any(|tid| {
        let waits = task(parent, tid).is_some_and(|task| task.state == 'D');
        let call = match doing(parent, tid) {
            Doing::Asleep { call: Some(call), .. } => i64::from(call.number),
            _ => -1,
        };
        waits && MAKING.contains(&call)
    })
}

/// The threads that there are now, the first one first.
#[must_use]
pub fn tids(pid: u32) -> Vec<u32> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let mut tids: Vec<u32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    tids.sort_unstable_by_key(|&tid| (tid != pid, tid));
    tids
}

/// The first of its threads' tracers.
#[must_use]
pub fn tracer(pid: u32) -> Option<u32> {
    let of = |tid: u32| {
        let status = fs::read(format!("/proc/{pid}/task/{tid}/status")).ok()?;
        field(&String::from_utf8_lossy(&status), "TracerPid")?.parse().ok()
    };
    tids(pid).into_iter().filter_map(of).find(|&tracer| tracer != 0)
}

/// `None`: it has ended.
#[must_use]
pub fn task(pid: u32, tid: u32) -> Option<Task> {
    let status = fs::read(format!("/proc/{pid}/task/{tid}/status")).ok()?;
    parse_task(tid, &String::from_utf8_lossy(&status))
}

/// Whether a process in its tracer's stop (`t`) stays there. `strace` stops what it traces at each system call, for a moment only.
#[must_use]
pub fn stays_stopped(pid: u32) -> bool {
    let Some(before) = task(pid, pid) else { return false };
    let deadline = Instant::now() + STOPS_FOR_A_MOMENT_MAX;
    while Instant::now() < deadline {
        std::thread::sleep(LOOKED_EVERY);
        if task(pid, pid).is_none_or(|now| now.state != 't' || now.switches != before.switches) {
            return false;
        }
    }
    true
}

fn parse_task(tid: u32, status: &str) -> Option<Task> {
    let count = |name| field(status, name).and_then(|text| text.parse().ok());
    Some(Task {
        tid,
        own_tid: field(status, "NSpid").and_then(|ids| ids.split_whitespace().last()?.parse().ok()).unwrap_or(tid),
        name: field(status, "Name")?.to_owned(),
        state: field(status, "State")?.chars().next()?,
        switches: (count("voluntary_ctxt_switches")?, count("nonvoluntary_ctxt_switches")?),
    })
}

impl Task {
    #[must_use]
    pub const fn is_runnable(&self) -> bool {
        self.state == 'R'
    }

    #[must_use]
    pub const fn has_ended(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }
}

#[must_use]
pub fn doing(pid: u32, tid: u32) -> Doing {
    match fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall")) {
        Ok(text) => parse_doing(&text).unwrap_or(Doing::Unseen),
        Err(_) => Doing::Unseen,
    }
}

/// `running`, `-1 SP PC`, or `N A1 … A6 SP PC`.
fn parse_doing(text: &str) -> Option<Doing> {
    let text = text.trim_end();
    if text == "running" {
        return Some(Doing::Runnable);
    }
    let mut words = text.split(' ');
    let number: i64 = words.next()?.parse().ok()?;
    let rest: Vec<u64> = words.map_while(|word| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok()).collect();
    let &[stack_pointer, instruction] = rest.last_chunk::<2>()?;
    let arguments = std::array::from_fn(|index| rest.get(index).copied().filter(|_| rest.len() == 8).unwrap_or(0));
    let call = u32::try_from(number).ok().map(|number| Call::of(number, arguments));
    Some(Doing::Asleep { call, stack_pointer, instruction })
}

/// How often the thread came onto a CPU. `None`: this kernel does not count it.
#[must_use]
pub fn arrivals(pid: u32, tid: u32) -> Option<u64> {
    fs::read_to_string(format!("/proc/{pid}/task/{tid}/schedstat")).ok()?.split_whitespace().nth(2)?.parse().ok()
}

/// What a descriptor of the thread leads to, as the kernel names it: `socket:[4711]`, `pipe:[12]`, `/var/log/app`. Nothing is opened.
#[must_use]
pub fn descriptor(pid: u32, tid: u32, number: u32) -> Option<OsString> {
    fs::read_link(format!("/proc/{pid}/task/{tid}/fd/{number}")).ok().map(PathBuf::into_os_string)
}

/// The processes that a process's threads started and that have not ended.
#[must_use]
pub fn children(pid: u32) -> Vec<u32> {
    let of = |tid: u32| fs::read_to_string(format!("/proc/{pid}/task/{tid}/children")).unwrap_or_default();
    let mut found: Vec<u32> = tids(pid)
        .into_iter()
        .flat_map(|tid| of(tid).split_whitespace().flat_map(str::parse).collect::<Vec<_>>())
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::{Call, Doing, parse_doing, parse_task};

    #[test]
    fn the_syscall_file_is_read() {
        assert_eq!(parse_doing("running\n"), Some(Doing::Runnable));
        let call = Some(Call { number: 7, arguments: [0x7ffc, 1, 2, 3, 4, 5] });
        assert_eq!(
            parse_doing("7 0x7ffc 0x1 0x2 0x3 0x4 0x5 0x7ffd 0x7f00\n"),
            Some(Doing::Asleep { call, stack_pointer: 0x7ffd, instruction: 0x7f00 })
        );
        assert_eq!(
            parse_doing("-1 0x7ffd 0x7f00\n"),
            Some(Doing::Asleep { call: None, stack_pointer: 0x7ffd, instruction: 0x7f00 })
        );
        assert_eq!(parse_doing(""), None);
    }

    #[test]
    fn a_task_is_known_by_its_innermost_number() {
        let status = "Name:\tworker 1\nState:\tS (sleeping)\nNSpid:\t90\t4\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t6\n";
        let task = parse_task(90, status).expect("a task");
        assert_eq!((task.own_tid, task.name.as_str(), task.state, task.switches), (4, "worker 1", 'S', (5, 6)));
        assert_eq!(parse_task(90, "Name:\tx\n"), None);
    }
}
