//! The kernel's rules about who may look at whom, and which of them says no.
//! Owns: the order in which causes are looked for. Never: changes a setting.
//! Source: Linux, kernel/ptrace.c (`__ptrace_may_access`), security/yama/yama_lsm.c.

use std::fs;
use std::io::{Error, ErrorKind};

use crate::kernel::facts::{Facts, SYS_PTRACE, Seccomp};
use crate::kernel::memory::Remote;
use crate::kernel::refusal::{NotPermitted, Refusal};

/// Of a file of `/proc/PID` that could not be read.
#[must_use]
pub fn refused_read(pid: u32, error: &Error) -> Refusal {
    match error.kind() {
        ErrorKind::PermissionDenied => match Facts::of(pid) {
            Ok(facts) => Refusal::NotPermitted { pid, why: why_not(&facts) },
            Err(refusal) => refusal,
        },
        // ESRCH has no kind of its own.
        _ => Refusal::Ended { pid },
    }
}

/// `kernel.yama.ptrace_scope`. `None`: this kernel has no such rule.
#[must_use]
pub fn ptrace_scope() -> Option<u8> {
    fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").ok()?.trim().parse().ok()
}

/// Whether the system calls themselves are allowed here: on this process, of which no other rule forbids anything.
#[must_use]
pub fn may_read_itself() -> bool {
    let here = [7_u8];
    Remote::new(std::process::id()).try_read(here.as_ptr() as u64, &mut [0]).is_ok()
}

/// The likeliest rule that says no.
#[must_use]
pub fn why_not(facts: &Facts) -> NotPermitted {
    let Ok(own) = Facts::own() else { return NotPermitted::NotDumpable };
    if own.seccomp != Seccomp::Off && !may_read_itself() {
        return NotPermitted::OwnSeccomp;
    }
    // The kernel compares the real user and group with all three of the other process.
    let [user, ..] = own.users;
    let [group, ..] = own.groups;
    let has_right = own.has_capability(SYS_PTRACE);
    let is_elsewhere = |one: Option<u64>, other: Option<u64>| one.zip(other).is_some_and(|(one, other)| one != other);
    if is_elsewhere(own.namespaces.user, facts.namespaces.user) {
        return NotPermitted::OtherUserNamespace;
    }
    if !has_right {
        if let Some(&owner) = facts.users[..3].iter().find(|&&owner| owner != user) {
            return NotPermitted::OtherUser { owner, own: user };
        }
        if facts.groups[..3].iter().any(|&owner| owner != group) {
            return NotPermitted::NotDumpable;
        }
        if facts.permitted & !own.permitted != 0 {
            return NotPermitted::MoreRights;
        }
    }
    match ptrace_scope() {
        Some(scope @ 1..=2) if !has_right => NotPermitted::PtraceScope(scope),
        Some(scope @ 3..) => NotPermitted::PtraceScope(scope),
        _ if has_right => NotPermitted::EvenWithRights,
        _ => NotPermitted::NotDumpable,
    }
}
