//! Whether this process may look at another one.
//! Owns: the one try that decides. Never: says why not by itself (rules.rs does).

use nix::errno::Errno;

use crate::kernel::facts::Facts;
use crate::kernel::maps;
use crate::kernel::memory::Remote;
use crate::kernel::refusal::Refusal;
use crate::kernel::rules::why_not;

/// Whether its memory can be read: by reading a byte of it.
///
/// # Errors
/// The reason why not.
pub fn check(facts: &Facts) -> Result<(), Refusal> {
    let pid = facts.pid;
    if facts.is_zombie() {
        return Err(Refusal::Zombie { pid, name: facts.name.clone(), parent: facts.parent });
    }
    if facts.is_kernel_thread() && maps::read(pid).is_ok_and(|maps| maps.is_empty()) {
        return Err(Refusal::KernelThread { pid, name: facts.name.clone() });
    }
    let maps = maps::read(pid)?;
    let readable = maps.iter().find(|mapping| mapping.permissions.read && mapping.inode != 0);
    let Some(readable) = readable.or(maps.first()) else { return Err(Refusal::Ended { pid }) };
    match Remote::new(pid).try_read(readable.start, &mut [0]) {
        Ok(()) | Err(Errno::EFAULT) => Ok(()),
        Err(Errno::ESRCH) => Err(Refusal::Ended { pid }),
        Err(_) => Err(Refusal::NotPermitted { pid, why: why_not(facts) }),
    }
}

/// Whether its threads may be stopped, given that its memory may be read.
///
/// # Errors
/// `Traced`: the kernel allows one tracer a thread.
pub const fn check_stop(facts: &Facts) -> Result<(), Refusal> {
    match facts.tracer {
        0 => Ok(()),
        tracer => Err(Refusal::Traced { pid: facts.pid, tracer }),
    }
}
