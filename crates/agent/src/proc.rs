//! The kernel's words about this process: thread list, thread states, clocks, names.
//! Owns: everything read from /proc and the clocks. Never: touches the program's descriptors, its errno is the caller's care.

use std::ffi::CStr;

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

#[must_use]
pub fn own_tid() -> u32 {
    // SAFETY: no arguments, no memory.
    unsafe { libc::syscall(libc::SYS_gettid) as u32 }
}

#[must_use]
pub fn own_pid() -> u32 {
    // SAFETY: no arguments, no memory. The system call itself: after vfork a cached value would be the parent's.
    unsafe { libc::syscall(libc::SYS_getpid) as u32 }
}

/// A descriptor of the sampler's own table.
#[derive(Debug)]
pub struct Descriptor(i32);

impl Descriptor {
    /// # Errors
    /// The `errno` of `openat`.
    pub fn open_at(folder: Option<&Descriptor>, path: &CStr, flags: i32) -> Result<Descriptor, i32> {
        let folder = folder.map_or(libc::AT_FDCWD, |folder| folder.0);
        // SAFETY: the path ends in NUL; no other memory.
        let descriptor = unsafe { libc::openat(folder, path.as_ptr(), flags | libc::O_CLOEXEC) };
        if descriptor < 0 { Err(errno()) } else { Ok(Descriptor(descriptor)) }
    }

    /// Reads from the beginning into `buffer`.
    #[must_use]
    pub fn read_at_start<'a>(&self, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
        // SAFETY: writes at most `buffer.len()` bytes into it.
        let read = unsafe { libc::pread(self.0, buffer.as_mut_ptr().cast(), buffer.len(), 0) };
        buffer.get(..usize::try_from(read).ok()?)
    }

    /// One write.
    ///
    /// # Errors
    /// The `errno`, or 0 with fewer bytes written than asked.
    pub fn write(&self, bytes: &[u8]) -> Result<(), i32> {
        // SAFETY: reads `bytes.len()` bytes from it.
        let written = unsafe { libc::write(self.0, bytes.as_ptr().cast(), bytes.len()) };
        match usize::try_from(written) {
            Ok(written) if written == bytes.len() => Ok(()),
            Ok(_) => Err(0),
            Err(_) => Err(errno()),
        }
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: ours, closed once.
        unsafe { libc::close(self.0) };
    }
}

#[must_use]
pub fn errno() -> i32 {
    // SAFETY: the address of this thread's errno is always valid.
    unsafe { *libc::__errno_location() }
}

/// Gives this thread its own table of descriptors, empty: the program's numbers, locks and pipes stay untouched.
pub fn own_descriptor_table() {
    const CLOSE_RANGE: i64 = 436;
    const CLOSE_RANGE_UNSHARE: u32 = 1 << 1;
    // SAFETY: the kernel copies the table for this thread before it closes anything.
    unsafe {
        if libc::syscall(CLOSE_RANGE, 0_u32, u32::MAX, CLOSE_RANGE_UNSHARE) == 0 {
            return;
        }
        // Linux before 5.9.
        if libc::unshare(libc::CLONE_FILES) == 0 {
            let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit);
            for descriptor in 0..limit.rlim_cur.min(1 << 16) as i32 {
                libc::close(descriptor);
            }
        }
    }
}

/// The soft limit of descriptors.
#[must_use]
pub fn descriptor_limit() -> usize {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: writes one rlimit on this stack.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    limit.rlim_cur.min(1 << 16) as usize
}

/// A whole small file of /proc, as bytes.
#[must_use]
pub fn read_whole(folder: Option<&Descriptor>, path: &CStr) -> Option<Vec<u8>> {
    let file = Descriptor::open_at(folder, path, libc::O_RDONLY).ok()?;
    let mut bytes = Vec::new();
    let mut chunk = [0_u8; 4096];
    loop {
        // SAFETY: writes at most `chunk.len()` bytes into it.
        let read = unsafe { libc::read(file.0, chunk.as_mut_ptr().cast(), chunk.len()) };
        match usize::try_from(read).ok()? {
            0 => return Some(bytes),
            read => bytes.extend_from_slice(chunk.get(..read)?),
        }
        if bytes.len() > 64 << 20 {
            return None;
        }
    }
}

/// The thread ids in `/proc/self/task`, opened as `folder`.
pub fn thread_ids(folder: &Descriptor, out: &mut Vec<u32>) {
    out.clear();
    let mut buffer = [0_u64; 1024];
    // SAFETY: a seek on our own descriptor.
    unsafe { libc::lseek(folder.0, 0, libc::SEEK_SET) };
    loop {
        // SAFETY: the kernel writes at most the buffer's bytes: records of linux_dirent64.
        let bytes = unsafe {
            libc::syscall(libc::SYS_getdents64, folder.0, buffer.as_mut_ptr(), std::mem::size_of_val(&buffer))
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
                out.push(tid);
            }
            if record_bytes == 0 {
                break;
            }
            at += record_bytes;
        }
    }
}

/// What a thread is doing, as `/proc/self/task/T/syscall` tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Doing {
    /// On a CPU, or waiting for one.
    Runnable,
    /// Asleep. `call`: the system call and its first argument.
    Asleep { call: Option<(u32, u64)>, rsp: u64, rip: u64 },
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
        let call = u32::try_from(number).ok().map(|number| (number, arguments.first().copied().unwrap_or(0)));
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

#[cfg(test)]
mod tests {
    use super::Doing;

    #[test]
    fn reads_the_syscall_file() {
        assert_eq!(Doing::parse_syscall(b"running\n"), Some(Doing::Runnable));
        assert_eq!(
            Doing::parse_syscall(b"7 0x7ffc 0x1 0x2 0x0 0x0 0x0 0x7ffd 0x7f00\n"),
            Some(Doing::Asleep { call: Some((7, 0x7ffc)), rsp: 0x7ffd, rip: 0x7f00 })
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
}
