//! The system calls that a process makes between marks of its own.
//! Owns: PTRACE_SEIZE of a child of this process's, and its stops at each call. Never: changes a call, traces a process that this one did not start.
//! Source: ptrace(2).

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::ptrace::{self, Options};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// Linux, include/uapi/linux/ptrace.h.
const PTRACE_SYSCALL_INFO_ENTRY: u8 = 1;
const NAP: Duration = Duration::from_micros(20);

/// How often each system call was made, by its number.
pub type Calls = BTreeMap<u64, u64>;

/// Why nothing was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotCounted {
    /// The kernel's reason: ptrace is forbidden here, or too old.
    Kernel(Errno),
    /// It did not end in time.
    Late,
}

/// The calls between each two marks (a system call that the process makes for nothing else), until it ends. `go` is done once the process is
/// watched. The process must be a child of this one, and have one thread.
///
/// # Errors
/// As `NotCounted` says. The process may go on then.
pub fn between_marks(pid: u32, mark: u64, patience: Duration, go: impl FnOnce()) -> Result<Vec<Calls>, NotCounted> {
    let child = Pid::from_raw(pid.cast_signed());
    ptrace::seize(child, Options::PTRACE_O_TRACESYSGOOD | Options::PTRACE_O_EXITKILL).map_err(NotCounted::Kernel)?;
    ptrace::interrupt(child).map_err(NotCounted::Kernel)?;
    let until = Instant::now() + patience;
    let (mut counted, mut go): (Vec<Calls>, _) = (Vec::new(), Some(go));
    loop {
        let signal = match waitpid(child, Some(WaitPidFlag::WNOHANG | WaitPidFlag::__WALL)) {
            Ok(WaitStatus::StillAlive) => {
                if Instant::now() > until {
                    return Err(NotCounted::Late);
                }
                std::thread::sleep(NAP);
                continue;
            }
            Ok(WaitStatus::Exited(..) | WaitStatus::Signaled(..)) | Err(Errno::ECHILD) => return Ok(counted),
            Ok(WaitStatus::PtraceSyscall(_)) => {
                let number = entered(child).map_err(NotCounted::Kernel)?;
                match number {
                    Some(number) if number == mark => counted.push(Calls::new()),
                    Some(number) => {
                        if let Some(calls) = counted.last_mut() {
                            *calls.entry(number).or_default() += 1;
                        }
                    }
                    None => {}
                }
                None
            }
            Ok(WaitStatus::Stopped(_, signal)) => Some(signal),
            Ok(_) => None,
            Err(error) => return Err(NotCounted::Kernel(error)),
        };
        if Instant::now() > until {
            return Err(NotCounted::Late);
        }
        match ptrace::syscall(child, signal) {
            // It was killed meanwhile: the next wait tells.
            Ok(()) | Err(Errno::ESRCH) => {}
            Err(error) => return Err(NotCounted::Kernel(error)),
        }
        if let Some(go) = go.take() {
            go();
        }
    }
}

/// The number of the call that is about to be made. `None`: it stands at a call's end.
fn entered(child: Pid) -> Result<Option<u64>, Errno> {
    if ptrace::syscall_info(child)?.op != PTRACE_SYSCALL_INFO_ENTRY {
        return Ok(None);
    }
    Ok(Some(ptrace::getregs(child)?.orig_rax))
}

#[cfg(test)]
mod tests {
    use super::between_marks;
    use std::io::Write;
    use std::process::{Command, Stdio};
    use std::time::Duration;

    const CHDIR: u64 = 80;
    const UMASK: u64 = 95;

    #[test]
    fn a_shell_s_calls_are_counted() {
        let mut shell = Command::new("sh");
        shell.args(["-c", "read go; umask 022; cd /; cd /; cd /; umask 022; cd /; umask 022"]);
        let mut child = shell.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        // `umask 022` makes the call once; what lies between is told by the calls of chdir.
        let counted = between_marks(child.id(), UMASK, Duration::from_secs(10), || input.write_all(b"go\n").unwrap());
        let counted = counted.unwrap();
        let chdirs: Vec<u64> = counted.iter().map(|calls| calls.get(&CHDIR).copied().unwrap_or(0)).collect();
        assert_eq!(chdirs.into_iter().filter(|&count| count > 0).collect::<Vec<_>>(), [3, 1]);
        let _ = child.wait();
    }
}
