//! Whether genba may enter a process, as far as that can be known without touching it.
//! Owns: the words for that. Never: stops a thread, promises what only a try shows.

use genba_entry::Door;
use genba_entry::filters::{Filtered, Filters};
use genba_process::facts::{Facts as ProcessFacts, Seccomp};
use genba_process::interpreter::Interpreter;

use super::placed::Place;
use super::{entering, remote_exec};

/// CAP_SYS_ADMIN: Linux, include/uapi/linux/capability.h.
const SYS_ADMIN: u32 = 21;

pub enum Permission {
    /// With more words.
    Allowed(&'static str),
    /// It is seen when it is tried.
    Open(&'static str),
    /// Why, and what helps.
    Refused(String, String),
}

/// What can be known without a stop.
fn permission(interpreter: &Interpreter, door: Door) -> Permission {
    if let Err(failure) = entering::check(interpreter) {
        let (words, remedy) = failure.in_two();
        return Permission::Refused(words, remedy);
    }
    let facts = &interpreter.facts;
    if let Err(failure) = Place::check(facts) {
        let (words, remedy) = failure.in_two();
        return Permission::Refused(words, remedy);
    }
    let by_script = remote_exec::is_possible(interpreter);
    if facts.tracer != 0 && door == Door::Attached && interpreter.is_bolted() {
        return Permission::Refused(
            format!(
                "process {} traces it, and BOLT made its Python: its threads need a stack for signals, which only ptrace gives them",
                facts.tracer
            ),
            "end that debugger or strace; genba run app.py needs no ptrace".to_owned(),
        );
    }
    let own = ProcessFacts::own().ok();
    // Linux, kernel/seccomp.c (`seccomp_get_filter`).
    let may_read_filters = own.as_ref().is_some_and(|own| own.has_capability(SYS_ADMIN) && own.seccomp == Seccomp::Off);
    match Filters::look(facts.pid, door) {
        Err(Filtered::Untold(errno)) => Permission::Refused(
            format!("genba cannot tell whether it has seccomp filters: {errno}"),
            format!("genba has to read /proc/{}/task/*/status", facts.pid),
        ),
        Err(_) => Permission::Refused(
            "seccomp's strict mode ends a thread that does more than read, write and exit".to_owned(),
            format!("genba dump {} makes no call in the process", facts.pid),
        ),
        Ok(filters) if filters.are_unread() => match may_read_filters && facts.tracer == 0 {
            true => Permission::Open(
                "its seccomp filters are read when it is tried: genba leaves a process alone whose filters forbid a call that it needs",
            ),
            false => Permission::Refused(
                "it has seccomp filters, which only root reads, outside of containers and where nobody else traces it"
                    .to_owned(),
                format!("run genba as root; genba dump {} makes no call in the process", facts.pid),
            ),
        },
        Ok(_) if own.is_none_or(|own| own.seccomp != Seccomp::Off) => {
            Permission::Open("whether the filter around genba lets ptrace pass is seen when it is tried")
        }
        Ok(_) if facts.tracer != 0 => Permission::Allowed(", asked by sys.remote_exec, since ptrace is taken"),
        Ok(_) if interpreter.is_bolted() => {
            Permission::Allowed("; BOLT made its Python, so each thread is held once more, to get a stack for signals")
        }
        Ok(_) if by_script => Permission::Allowed(", by ptrace, else by sys.remote_exec"),
        Ok(_) => Permission::Allowed(""),
    }
}

/// For `attach` and `top`, and for `heap`, which sends no signal, so that BOLT does not matter.
pub fn permissions(interpreter: &Interpreter) -> (Permission, Permission) {
    (permission(interpreter, Door::Attached), permission(interpreter, Door::Heap))
}
