//! The folder /proc/self/task, and whose numbers stand in it: a sandbox may leave a process the /proc of another pid namespace.
//! Owns: the way from a number there to a thread id of this process's own. Never: takes one for the other.

use crate::system::descriptor::Descriptor;
use crate::system::proc;
use std::ffi::{CStr, CString};

pub const NO_PROC: &str =
    "there is no /proc here, and without it no thread of the program can be seen (mount one: mount -t proc proc /proc)";
pub const FOREIGN_PROC: &str = "this /proc belongs to another pid namespace, and does not tell which of its numbers are this process's threads \
     (mount one of its own: mount -t proc proc /proc, or unshare --mount-proc)";

#[derive(Debug)]
pub struct Tasks {
    folder: Descriptor,
    numbers: Numbers,
    /// The calling thread and the process's first one, as they are numbered there.
    own: u32,
    first: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Numbers {
    /// They are thread ids, as this process knows them.
    Own,
    /// They are those of an outer pid namespace.
    Outer,
}

impl Tasks {
    /// Below the folder /proc, for the calling thread.
    ///
    /// # Errors
    /// In words, why its numbers cannot be told.
    pub fn of(proc: Option<&Descriptor>) -> Result<Tasks, &'static str> {
        let proc = proc.ok_or(NO_PROC)?;
        // `self` leads nowhere in the /proc of a namespace that does not hold this process.
        let folder =
            Descriptor::open_at(Some(proc), c"self/task", libc::O_RDONLY | libc::O_DIRECTORY).or(Err(FOREIGN_PROC))?;
        let (tid, pid) = (proc::own_tid(), proc::own_pid());
        match levels(proc, c"thread-self/status").map(|levels| levels.len()) {
            Some(1) => Ok(Tasks { folder, numbers: Numbers::Own, own: tid, first: pid }),
            Some(_) => {
                let (first, own) = own_link(proc).ok_or(FOREIGN_PROC)?;
                Ok(Tasks { folder, numbers: Numbers::Outer, own, first })
            }
            // Linux before 4.1 does not say it.
            None => {
                let mut numbers = Vec::new();
                proc::thread_ids(&folder, &mut numbers);
                let is_own = numbers.contains(&tid) && numbers.contains(&pid);
                is_own.then_some(Tasks { folder, numbers: Numbers::Own, own: tid, first: pid }).ok_or(FOREIGN_PROC)
            }
        }
    }

    /// Of this process, by the path.
    #[must_use]
    pub fn open() -> Option<Tasks> {
        let proc = Descriptor::open_at(None, c"/proc", libc::O_RDONLY | libc::O_DIRECTORY).ok();
        Tasks::of(proc.as_ref()).ok()
    }

    /// The threads' own folders lie in it.
    #[must_use]
    pub const fn folder(&self) -> &Descriptor {
        &self.folder
    }

    /// How many threads there are.
    #[must_use]
    pub fn count(&self) -> Option<u64> {
        proc::thread_count(&self.folder)
    }

    /// The numbers that stand there.
    pub fn numbers(&self, out: &mut Vec<u32>) {
        proc::thread_ids(&self.folder, out);
    }

    /// Whether its numbers are this process's thread ids.
    #[must_use]
    pub fn are_tids(&self) -> bool {
        self.numbers == Numbers::Own
    }

    /// The thread id behind a number. `None`: the thread is gone.
    #[must_use]
    pub fn tid(&self, number: u32) -> Option<u32> {
        match self.numbers {
            Numbers::Own => Some(number),
            Numbers::Outer => levels(&self.folder, &path(number, "status"))?.last().copied(),
        }
    }

    #[must_use]
    pub const fn own(&self) -> u32 {
        self.own
    }

    #[must_use]
    pub const fn first(&self) -> u32 {
        self.first
    }
}

/// A file of the thread with that number.
#[must_use]
pub fn path(number: u32, name: &str) -> CString {
    CString::new(format!("{number}/{name}")).unwrap_or_default()
}

/// A thread's number in each pid namespace that it is in, from that of this /proc inwards (proc(5), `NSpid`).
fn levels(folder: &Descriptor, path: &CStr) -> Option<Vec<u32>> {
    parse_levels(&proc::read_whole(Some(folder), path)?)
}

fn parse_levels(status: &[u8]) -> Option<Vec<u32>> {
    let line = status.split(|&byte| byte == b'\n').find_map(|line| line.strip_prefix(b"NSpid:"))?;
    let numbers =
        std::str::from_utf8(line).ok()?.split_ascii_whitespace().map(str::parse).collect::<Result<Vec<_>, _>>();
    numbers.ok().filter(|numbers| !numbers.is_empty())
}

/// `PID/task/TID`, as `thread-self` says.
fn own_link(proc: &Descriptor) -> Option<(u32, u32)> {
    let mut buffer = [0_u8; 64];
    let link = std::str::from_utf8(proc.link_at(c"thread-self", &mut buffer)?).ok()?;
    let (first, own) = link.split_once("/task/")?;
    Some((first.parse().ok()?, own.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::{Tasks, parse_levels};

    #[test]
    fn the_numbers_of_each_namespace() {
        assert_eq!(parse_levels(b"Name:\tx\nNSpid:\t4711\t12\t3\nNSpgid:\t1\n"), Some(vec![4711, 12, 3]));
        assert_eq!(parse_levels(b"Name:\tx\nNSpid:\t7\n"), Some(vec![7]));
        assert_eq!(parse_levels(b"Name:\tx\nNSpid:\t\n"), None);
        assert_eq!(parse_levels(b"Name:\tx\nPid:\t7\n"), None);
    }

    #[test]
    fn this_process_finds_itself() {
        let tasks = Tasks::open().unwrap();
        let mut numbers = Vec::new();
        tasks.numbers(&mut numbers);
        assert!(numbers.contains(&tasks.own()) && numbers.contains(&tasks.first()));
        assert_eq!(tasks.tid(tasks.own()), Some(crate::system::proc::own_tid()));
        assert_eq!(tasks.tid(tasks.first()), Some(crate::system::proc::own_pid()));
    }
}
