//! A process seen from outside: its memory, its mappings, the state of a thread.
//! Owns: `process_vm_readv` and /proc. Never: writes to the process.

use std::fs;

#[derive(Clone, Copy)]
pub struct Process {
    pub pid: i32,
}

#[derive(Clone, Debug)]
pub struct Mapping {
    pub start: u64,
    pub end: u64,
    pub offset: u64,
    pub path: String,
}

/// Bytes of the process as they were while it stood.
pub struct Copied {
    pub start: u64,
    pub bytes: Vec<u8>,
}

impl Copied {
    pub fn word(&self, address: u64) -> Option<u64> {
        let at = usize::try_from(address.checked_sub(self.start)?).ok()?;
        Some(u64::from_le_bytes(*self.bytes.get(at..)?.first_chunk::<8>()?))
    }
}

impl Process {
    /// `bytes` bytes at `address`, all or nothing.
    pub fn read(self, address: u64, bytes: usize) -> Option<Copied> {
        let mut out = vec![0_u8; bytes];
        let local = libc::iovec { iov_base: out.as_mut_ptr().cast(), iov_len: bytes };
        let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: bytes };
        // SAFETY: the kernel writes at most `bytes` bytes into `out`; a bad remote address is an error.
        let done = unsafe { libc::process_vm_readv(self.pid, &raw const local, 1, &raw const remote, 1, 0) };
        (done == bytes as isize).then_some(Copied { start: address, bytes: out })
    }

    pub fn word(self, address: u64) -> Option<u64> {
        self.read(address, 8)?.word(address)
    }

    pub fn mappings(self) -> Result<Vec<Mapping>, String> {
        let path = format!("/proc/{}/maps", self.pid);
        let text = fs::read_to_string(&path).map_err(|error| format!("cannot read {path}: {error}"))?;
        let mapping = |line: &str| {
            let mut words = line.split_whitespace();
            let (start, end) = words.next()?.split_once('-')?;
            let offset = words.nth(1)?;
            let path = words.nth(2).unwrap_or_default();
            let hex = |text| u64::from_str_radix(text, 16).ok();
            Some(Mapping { start: hex(start)?, end: hex(end)?, offset: hex(offset)?, path: path.to_owned() })
        };
        Ok(text.lines().filter_map(mapping).collect())
    }

    /// The letter that `/proc/PID/task/TID/stat` has for the thread: R runs or waits for a CPU.
    pub fn state(self, tid: i32) -> Result<char, String> {
        let path = format!("/proc/{}/task/{tid}/stat", self.pid);
        let text = fs::read_to_string(&path).map_err(|error| format!("cannot read {path}: {error}"))?;
        let after_name = text.rsplit_once(") ").map(|(_, rest)| rest);
        after_name.and_then(|rest| rest.chars().next()).ok_or_else(|| format!("{path} is not as expected: {text}"))
    }

    /// CPU time of a stopped thread: the first number of `/proc/PID/task/TID/schedstat`, which lags while a thread runs.
    pub fn cpu_ns(self, tid: i32) -> Result<u64, String> {
        let path = format!("/proc/{}/task/{tid}/schedstat", self.pid);
        let text = fs::read_to_string(&path).map_err(|error| format!("cannot read {path}: {error}"))?;
        let first = text.split_whitespace().next().and_then(|number| number.parse().ok());
        first.ok_or_else(|| format!("{path} is not as expected: {text}"))
    }
}
