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
    rule_between(&own, facts, ptrace_scope())
}

/// Of two processes whose system calls are allowed, by their facts.
fn rule_between(own: &Facts, facts: &Facts, scope: Option<u8>) -> NotPermitted {
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
    match scope {
        Some(scope @ 1..=2) if !has_right => NotPermitted::PtraceScope(scope),
        Some(scope @ 3..) => NotPermitted::PtraceScope(scope),
        _ if has_right => NotPermitted::EvenWithRights,
        _ => NotPermitted::NotDumpable,
    }
}

#[cfg(test)]
mod tests {
    use super::rule_between;
    use crate::kernel::facts::{Facts, Namespaces, SYS_PTRACE};
    use crate::kernel::refusal::NotPermitted;

    const SETUID: u64 = 1 << 7;

    fn process(user: u32, group: u32, capabilities: u64) -> Facts {
        let namespaces = Namespaces { user: Some(1), ..Namespaces::default() };
        let facts = Facts { capabilities, permitted: capabilities, namespaces, ..Facts::parse(1, "") };
        Facts { users: [user; 4], groups: [group; 4], ..facts }
    }

    /// In the order of the kernel: what an earlier rule forbids no later one explains.
    #[test]
    fn the_first_rule_that_forbids_it_is_named() {
        let (plain, root) = (process(1000, 100, 0), process(0, 0, 1 << SYS_PTRACE));
        let effective = Facts { users: [1000, 0, 0, 0], ..process(1000, 100, 0) };
        let in_container = Facts { namespaces: Namespaces { user: Some(2), ..plain.namespaces }, ..plain.clone() };
        let other_user = NotPermitted::OtherUser { owner: 33, own: 1000 };
        let table = [
            (&plain, process(33, 33, 0), None, other_user),
            (&plain, process(33, 33, SETUID), Some(1), other_user),
            (&plain, effective, Some(1), NotPermitted::OtherUser { owner: 0, own: 1000 }),
            (&plain, process(1000, 33, 0), Some(1), NotPermitted::NotDumpable),
            (&plain, process(1000, 100, SETUID), Some(1), NotPermitted::MoreRights),
            (&plain, process(1000, 100, 0), Some(1), NotPermitted::PtraceScope(1)),
            (&plain, process(1000, 100, 0), Some(2), NotPermitted::PtraceScope(2)),
            (&plain, process(1000, 100, 0), Some(3), NotPermitted::PtraceScope(3)),
            (&plain, process(1000, 100, 0), Some(0), NotPermitted::NotDumpable),
            (&plain, process(1000, 100, 0), None, NotPermitted::NotDumpable),
            (&plain, in_container.clone(), Some(1), NotPermitted::OtherUserNamespace),
            (&root, in_container, Some(3), NotPermitted::OtherUserNamespace),
            (&root, process(33, 33, SETUID), Some(1), NotPermitted::EvenWithRights),
            (&root, process(33, 33, 0), Some(2), NotPermitted::EvenWithRights),
            (&root, process(33, 33, 0), Some(3), NotPermitted::PtraceScope(3)),
            (&root, process(33, 33, 0), None, NotPermitted::EvenWithRights),
        ];
        for (own, other, scope, expected) in table {
            assert_eq!(rule_between(own, &other, scope), expected, "{:?} {:?} {scope:?}", own.users, other.users);
        }
    }
}
