//! The kernel's words about this process: thread list, thread states, clocks, names.
//! Owns: everything read from /proc and the clocks, and the limits of memory above it. Never: opens what another part owns; errno is the caller's care.

use crate::system::descriptor::Descriptor;
pub use crate::system::own_ids::{own_pid, own_tid};
use genba_python::waits::restarted::begun_as;
use std::ffi::{CStr, CString};

/// A clock in nanoseconds.
#[must_use]
pub fn clock_ns(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one timespec on this stack.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } != 0 {
        return None;
    }
    Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

#[must_use]
pub fn monotonic_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC).unwrap_or(0)
}

/// The CPU clock of a thread of this process, exact also while it runs. `None`: the thread is gone.
#[must_use]
pub fn thread_cpu_ns(tid: u32) -> Option<u64> {
    const CPUCLOCK_PERTHREAD_SCHED: i32 = 4 | 2;
    clock_ns(!(tid as i32) << 3 | CPUCLOCK_PERTHREAD_SCHED)
}

/// Whether this thread's root has a /proc.
#[must_use]
pub fn is_mounted() -> bool {
    // SAFETY: the path ends in NUL; no other memory.
    unsafe { libc::access(c"/proc/self/task".as_ptr(), libc::F_OK) == 0 }
}

/// CLOCK_REALTIME when this process was forked, rounded up to the clock tick in which /proc counts it.
#[must_use]
pub fn began_realtime_ns() -> Option<u64> {
    let stat = read_whole(None, c"/proc/self/stat")?;
    // Some sandboxes say 0 for every process.
    let began_ticks = parse_began(&stat).filter(|&ticks| ticks > 0)?;
    // SAFETY: no memory.
    let tick_ns =
        1_000_000_000 / u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).ok().filter(|&hz| hz > 0)?;
    let age_ns = clock_ns(libc::CLOCK_BOOTTIME)?.saturating_sub(began_ticks.checked_add(1)?.checked_mul(tick_ns)?);
    clock_ns(libc::CLOCK_REALTIME)?.checked_sub(age_ns)
}

/// Field 22 of `stat`.
fn parse_began(stat: &[u8]) -> Option<u64> {
    field(stat, 22)?.parse().ok()
}

/// Where and how a thread is scheduled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scheduled {
    /// That it is on, or was on last.
    pub cpu: u32,
    pub policy: i32,
}

/// By a thread's `stat`. `None`: it is gone.
#[must_use]
pub fn scheduled(folder: &Descriptor, stat: &CStr) -> Option<Scheduled> {
    parse_scheduled(&read_whole(Some(folder), stat)?)
}

/// Fields 39 and 41 of `stat`.
fn parse_scheduled(stat: &[u8]) -> Option<Scheduled> {
    Some(Scheduled { cpu: field(stat, 39)?.parse().ok()?, policy: field(stat, 41)?.parse().ok()? })
}

/// A field of `stat` behind the second one, the name in parentheses.
fn field(stat: &[u8], number: usize) -> Option<&str> {
    let close = stat.iter().rposition(|&byte| byte == b')')?;
    std::str::from_utf8(stat.get(close + 2..)?).ok()?.split_ascii_whitespace().nth(number - 3)
}

/// A whole small file of /proc, as bytes.
#[must_use]
pub fn read_whole(folder: Option<&Descriptor>, path: &CStr) -> Option<Vec<u8>> {
    let file = Descriptor::open_at(folder, path, libc::O_RDONLY).ok()?;
    let mut bytes = Vec::new();
    let mut chunk = [0_u8; 4096];
    loop {
        match file.read(&mut chunk)? {
            [] => return Some(bytes),
            more => bytes.extend_from_slice(more),
        }
        if bytes.len() > 64 << 20 {
            return None;
        }
    }
}

/// How many threads the process has: the links of `/proc/self/task`, opened as `folder`, without `.` and `..`.
#[must_use]
pub fn thread_count(folder: &Descriptor) -> Option<u64> {
    let mut status = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the kernel fills the whole structure when it returns 0.
    let links =
        unsafe { (libc::fstat(folder.number(), status.as_mut_ptr()) == 0).then(|| status.assume_init().st_nlink) };
    links?.checked_sub(2)
}

/// The thread ids in `/proc/self/task`, opened as `folder`.
pub fn thread_ids(folder: &Descriptor, out: &mut Vec<u32>) {
    out.clear();
    each_thread_id(folder, |tid| out.push(tid));
}

/// The same without a list of them.
pub fn each_thread_id(folder: &Descriptor, mut found: impl FnMut(u32)) {
    let mut buffer = [0_u64; 1024];
    // SAFETY: a seek on our own descriptor.
    unsafe { libc::lseek(folder.number(), 0, libc::SEEK_SET) };
    loop {
        // SAFETY: the kernel writes at most the buffer's bytes: records of linux_dirent64.
        let bytes = unsafe {
            libc::syscall(libc::SYS_getdents64, folder.number(), buffer.as_mut_ptr(), std::mem::size_of_val(&buffer))
        };
        let Some(bytes) = usize::try_from(bytes).ok().filter(|&bytes| bytes > 0) else {
            return;
        };
        // SAFETY: the kernel wrote `bytes` bytes.
        let records = unsafe { std::slice::from_raw_parts(buffer.as_ptr().cast::<u8>(), bytes) };
        let mut at = 0;
        while let Some(record) = records.get(at..).filter(|record| record.len() > 19) {
            let record_bytes = usize::from(u16::from_le_bytes([record[16], record[17]]));
            let name = record[19..record_bytes.clamp(19, record.len())].split(|&byte| byte == 0).next().unwrap_or(&[]);
            if let Some(tid) = std::str::from_utf8(name).ok().and_then(|name| name.parse().ok()) {
                found(tid);
            }
            if record_bytes == 0 {
                break;
            }
            at += record_bytes;
        }
    }
}

/// A system call that a thread is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    pub number: u32,
    /// The first two.
    pub arguments: [u64; 2],
}

/// What a thread is doing, as `/proc/self/task/T/syscall` tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Doing {
    /// On a CPU, or waiting for one.
    Runnable,
    Asleep {
        call: Option<Call>,
        rsp: u64,
        rip: u64,
    },
    /// Asleep, seen in `stat` only: the `syscall` file may not be read.
    AsleepUnseen,
}

impl Doing {
    /// `running`, `-1 SP PC`, or `N A1 … A6 SP PC`.
    #[must_use]
    pub fn parse_syscall(text: &[u8]) -> Option<Doing> {
        let text = std::str::from_utf8(text).ok()?.trim_end();
        if text == "running" {
            return Some(Doing::Runnable);
        }
        let mut words = text.split(' ');
        let number: i64 = words.next()?.parse().ok()?;
        let hex = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
        let rest: Vec<u64> = words.map_while(hex).collect();
        let (&[rsp, rip], arguments) = (rest.last_chunk::<2>()?, rest.get(..rest.len().checked_sub(2)?)?);
        let arguments: [u64; 6] = std::array::from_fn(|position| arguments.get(position).copied().unwrap_or(0));
        let call = u32::try_from(number)
            .ok()
            .map(|number| Call { number: begun_as(number, arguments), arguments: [arguments[0], arguments[1]] });
        Some(Doing::Asleep { call, rsp, rip })
    }

    /// The state letter of `stat`, behind the name in parentheses.
    #[must_use]
    pub fn parse_stat(text: &[u8]) -> Option<Doing> {
        let close = text.iter().rposition(|&byte| byte == b')')?;
        match text.get(close + 2)? {
            b'R' => Some(Doing::Runnable),
            b'Z' | b'X' => None,
            _ => Some(Doing::AsleepUnseen),
        }
    }
}

/// Resident bytes.
pub fn resident_bytes(proc: Option<&Descriptor>) -> Option<u64> {
    resident(proc).map(|(bytes, _)| bytes)
}

/// Those of no file and of no shared memory, and those that are swapped out, which a walk brings back: what a copy of the process may double.
pub fn own_bytes(proc: Option<&Descriptor>) -> Option<u64> {
    let (bytes, shared_bytes) = resident(proc)?;
    let swapped = swapped_bytes(&read_whole(proc, c"self/status").unwrap_or_default());
    Some(bytes.saturating_sub(shared_bytes).saturating_add(swapped))
}

/// Of `status`; 0: a kernel without swap does not say.
fn swapped_bytes(status: &[u8]) -> u64 {
    let text = String::from_utf8_lossy(status);
    let line = text.lines().find_map(|line| line.strip_prefix("VmSwap:")).unwrap_or_default();
    let kilobytes = line.split_whitespace().next().and_then(|number| number.parse::<u64>().ok());
    kilobytes.unwrap_or(0).saturating_mul(1024)
}

/// The second and third number of `/proc/self/statm`, which are pages.
fn resident(proc: Option<&Descriptor>) -> Option<(u64, u64)> {
    const PAGE_BYTES: u64 = 4096;
    let text = read_whole(Some(proc?), c"self/statm")?;
    let mut numbers = std::str::from_utf8(&text).ok()?.split(' ').skip(1).map(|number| number.parse::<u64>().ok());
    Some((numbers.next()?? * PAGE_BYTES, numbers.next()?? * PAGE_BYTES))
}

/// What the container may still take: the least of what each group above this process has left (cgroup v2). `None`: no limit is known.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct ContainerLeft {
    pub bytes: Option<u64>,
    /// The same of groups that run out of memory as one: the kernel kills all processes in place of the largest (`memory.oom.group`).
    pub killed_as_one_bytes: Option<u64>,
}

/// Partner: crates/process/src/machine/memory_left.rs.
#[must_use]
pub fn container_left(proc: Option<&Descriptor>) -> ContainerLeft {
    let groups = proc.and_then(|proc| read_whole(Some(proc), c"self/cgroup")).unwrap_or_default();
    left_of_groups(&String::from_utf8_lossy(&groups), |file| {
        let path = CString::new(format!("/sys/fs/cgroup/{file}")).ok()?;
        String::from_utf8(read_whole(None, &path)?).ok()
    })
}

/// `text`: of a file below the root of all groups.
fn left_of_groups(groups: &str, text: impl Fn(&str) -> Option<String>) -> ContainerLeft {
    let mut least = ContainerLeft::default();
    let Some(mut folder) = groups.lines().find_map(|line| line.strip_prefix("0::/")) else { return least };
    let mut is_one = false;
    loop {
        let of = |name: &str| if folder.is_empty() { text(name) } else { text(&format!("{folder}/{name}")) };
        // `max` is no number.
        let number = |name: &str| of(name)?.trim().parse::<u64>().ok();
        let left = number("memory.max").zip(number("memory.current")).map(|(limit, taken)| {
            // The kernel gives up pages of files before it refuses memory.
            limit.saturating_sub(taken.saturating_sub(file_bytes(&of("memory.stat").unwrap_or_default())))
        });
        // Below the group that runs out, the kernel takes the highest one that asks for it.
        is_one |= number("memory.oom.group") == Some(1);
        least.bytes = [least.bytes, left].into_iter().flatten().min();
        let left_as_one = left.filter(|_| is_one);
        least.killed_as_one_bytes = [least.killed_as_one_bytes, left_as_one].into_iter().flatten().min();
        if folder.is_empty() {
            return least;
        }
        folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
    }
}

/// Of a group's `memory.stat`: pages of files, which it has read or written.
fn file_bytes(stat: &str) -> u64 {
    let lines = stat.lines().filter_map(|line| line.split_once(' '));
    let bytes = lines.filter(|(name, _)| matches!(*name, "inactive_file" | "active_file"));
    bytes.filter_map(|(_, bytes)| bytes.parse::<u64>().ok()).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::{
        Call, ContainerLeft, Doing, Scheduled, began_realtime_ns, clock_ns, left_of_groups, parse_began,
        parse_scheduled, swapped_bytes,
    };

    #[test]
    fn the_nearest_limit_of_all_groups_counts() {
        let files = [
            ("pods/one/memory.max", "900\n"),
            ("pods/one/memory.current", "100\n"),
            ("pods/memory.max", "1000\n"),
            ("pods/memory.current", "990\n"),
            ("without/memory.max", "max\n"),
            ("without/memory.current", "7\n"),
            ("memory.current", "5000\n"),
        ];
        let text = of_files(&files);
        assert_eq!(left_of_groups("1:name=systemd:/x\n0::/pods/one\n", &text).bytes, Some(10));
        assert_eq!(left_of_groups("0::/pods\n", &text).bytes, Some(10));
        assert_eq!(left_of_groups("0::/without\n", &text).bytes, None);
        assert_eq!(left_of_groups("0::/\n", &text).bytes, None);
        assert_eq!(left_of_groups("4:memory:/docker/8\n", &text), ContainerLeft::default());
        // A container sees its own group as the root.
        let root = [("memory.max", "70\n"), ("memory.current", "80\n")];
        assert_eq!(left_of_groups("0::/\n", of_files(&root)).bytes, Some(0));
    }

    #[test]
    fn a_group_that_is_killed_as_one_counts_from_itself_upwards() {
        let files = [
            ("pods/one/memory.max", "900\n"),
            ("pods/one/memory.current", "890\n"),
            ("pods/one/memory.oom.group", "0\n"),
            ("pods/memory.max", "1000\n"),
            ("pods/memory.current", "950\n"),
            ("pods/memory.oom.group", "1\n"),
            ("memory.max", "2000\n"),
            ("memory.current", "1000\n"),
        ];
        let of = |groups: &str, files: &[(&str, &str)]| left_of_groups(groups, of_files(files));
        // Where `pods/one` itself has none left, one process of it is killed.
        assert_eq!(of("0::/pods/one\n", &files), ContainerLeft { bytes: Some(10), killed_as_one_bytes: Some(50) });
        assert_eq!(of("0::/\n", &files), ContainerLeft { bytes: Some(1000), killed_as_one_bytes: None });
        // Without a limit of its own it is taken as one by the limit above it.
        assert_eq!(of("0::/pods/one\n", &files[5..]).killed_as_one_bytes, Some(1000));
    }

    #[test]
    fn pages_of_files_can_be_given_up() {
        let stat = "anon 300\nfile 690\nshmem 90\ninactive_anon 390\ninactive_file 500\nactive_file 100\n";
        let files = [("a/memory.max", "1000\n"), ("a/memory.current", "990\n"), ("a/memory.stat", stat)];
        assert_eq!(left_of_groups("0::/a\n", of_files(&files)).bytes, Some(610));
        // The two files are not read in the same moment.
        let files = [("memory.max", "1000\n"), ("memory.current", "400\n"), ("memory.stat", stat)];
        assert_eq!(left_of_groups("0::/\n", of_files(&files)).bytes, Some(1000));
    }

    fn of_files(files: &[(&str, &str)]) -> impl Fn(&str) -> Option<String> {
        |file| files.iter().find(|(name, _)| *name == file).map(|(_, text)| (*text).to_owned())
    }

    #[test]
    fn reads_what_is_swapped_out() {
        assert_eq!(
            swapped_bytes(b"Name:\tpython3\nRssAnon:\t    6000 kB\nVmSwap:\t   70000 kB\nThreads:\t1\n"),
            70_000 * 1024
        );
        assert_eq!(swapped_bytes(b"Name:\tVmSwap: 7\nThreads:\t1\n"), 0);
    }

    #[test]
    fn reads_the_syscall_file() {
        assert_eq!(Doing::parse_syscall(b"running\n"), Some(Doing::Runnable));
        assert_eq!(
            Doing::parse_syscall(b"7 0x7ffc 0x1 0x2 0x0 0x0 0x0 0x7ffd 0x7f00\n"),
            Some(Doing::Asleep { call: Some(Call { number: 7, arguments: [0x7ffc, 1] }), rsp: 0x7ffd, rip: 0x7f00 })
        );
        assert_eq!(
            Doing::parse_syscall(b"-1 0x7ffd 0x7f00\n"),
            Some(Doing::Asleep { call: None, rsp: 0x7ffd, rip: 0x7f00 })
        );
        assert_eq!(Doing::parse_syscall(b""), None);
    }

    #[test]
    fn reads_the_state_behind_an_odd_name() {
        assert_eq!(Doing::parse_stat(b"12 (a) R) S 1"), Some(Doing::AsleepUnseen));
        assert_eq!(Doing::parse_stat(b"12 (x) R 1"), Some(Doing::Runnable));
    }

    #[test]
    fn reads_where_and_how_a_thread_is_scheduled() {
        let stat = b"1 (a) 3) R 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 7 0 3 0\n";
        assert_eq!(parse_scheduled(stat), Some(Scheduled { cpu: 7, policy: 3 }));
        assert_eq!(parse_scheduled(b"12 (x) R 1"), None);
    }

    #[test]
    fn reads_when_a_process_began() {
        let stat = b"12 (a) 3 4) S 1 12 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 77123 9 10\n";
        assert_eq!(parse_began(stat), Some(77_123));
        assert_eq!(parse_began(b"12 (x) R 1"), None);
        let now_ns = clock_ns(libc::CLOCK_REALTIME).unwrap();
        assert!(began_realtime_ns().unwrap() <= now_ns + 10_000_000);
    }
}
