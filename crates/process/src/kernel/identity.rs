//! Which program a process runs: its number may go to another process, and the process may become another program by exec.
//! Owns: what tells them apart. Never: stops a thread, so what it says is as old as the look, unless all threads are stopped.
//! Sources: proc_pid_stat(5) (field 22), getauxval(3) (AT_RANDOM), Linux fs/binfmt_elf.c (`create_elf_tables`).

use std::fs;

use crate::kernel::facts::began_ticks;
use crate::kernel::memory::Remote;

const AT_RANDOM: u64 = 25;
const RANDOM_BYTES: usize = 16;

/// A process and the program in it, as long as both stay what they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    pid: u32,
    began_ticks: Option<u64>,
    /// What the kernel drew when it loaded the program: a forked child has its parent's. A runtime may clear it after use. `None`: not readable.
    random: Option<[u8; RANDOM_BYTES]>,
}

impl Identity {
    #[must_use]
    pub fn of(pid: u32) -> Identity {
        Identity { pid, began_ticks: began_ticks(pid), random: random(pid) }
    }

    /// Whether this is still the same process and the same program.
    #[must_use]
    pub fn is_still(&self) -> bool {
        *self == Identity::of(self.pid)
    }

    /// Whether this is still the same process, whatever it runs.
    #[must_use]
    pub fn is_same_process(&self) -> bool {
        self.began_ticks.is_some() && self.began_ticks == began_ticks(self.pid)
    }

    /// Whether programs are told apart, too.
    #[must_use]
    pub const fn tells_programs(&self) -> bool {
        self.random.is_some()
    }
}

fn random(pid: u32) -> Option<[u8; RANDOM_BYTES]> {
    let vector = fs::read(format!("/proc/{pid}/auxv")).ok()?;
    let word = |bytes: &[u8]| bytes.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    let mut entries = vector.chunks_exact(16).map(|entry| (word(entry), word(&entry[8..])));
    let at = entries.find_map(|(kind, value)| if kind == Some(AT_RANDOM) { value } else { None })?;
    let mut bytes = [0; RANDOM_BYTES];
    Remote::new(pid).read(at, &mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::Identity;
    use std::io::Write;
    use std::process::{Command, Stdio};

    #[test]
    fn a_program_that_becomes_another_one_is_another_one() {
        let own = Identity::of(std::process::id());
        assert!(own.is_still() && own.is_same_process() && own.tells_programs(), "{own:?}");
        let mut child = Command::new("sh")
            .args(["-c", "read line; exec cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("a shell");
        let pid = child.id();
        let name = || std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        while name() != "sh\n" {
            std::thread::yield_now();
        }
        let shell = Identity::of(pid);
        assert!(shell.is_still());
        child.stdin.as_mut().expect("a pipe").write_all(b"go on\n").expect("it reads");
        while name() != "cat\n" {
            std::thread::yield_now();
        }
        assert!(!shell.is_still() && shell.is_same_process(), "{shell:?}");
        drop(child.stdin.take());
        child.wait().expect("it ends");
        assert!(!shell.is_same_process(), "its number is free again");
        assert!(!Identity::of(pid).is_same_process(), "nobody is not a process");
    }
}
