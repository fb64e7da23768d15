//! Facts about one process, and what genba may do to it, instrument by instrument.
//! Owns: the words for both. Never: stops a thread of it, writes into it.

use std::path::Path;

use genba_entry::Door;
use genba_entry::filters::Filters;
use genba_process::facts::{Facts as ProcessFacts, Seccomp};
use genba_process::interpreter::Interpreter;
use genba_process::refusal::Refusal;
use genba_process::rights;

use super::fact::{Fact, Facts};
use crate::verbs::attach::{entering, remote_exec};

/// CAP_SYS_ADMIN: Linux, include/uapi/linux/capability.h.
const SYS_ADMIN: u32 = 21;

/// What differs from genba's own.
pub fn facts(own: &ProcessFacts, its: &ProcessFacts) -> Vec<Fact> {
    let mut found = Facts::of("the process");
    let program = its.executable.as_ref().map(|path| path.display().to_string());
    found.fact("process", format!("{}, {}", its.pid, its.name), "");
    found.fact("program", program.unwrap_or_else(|| "cannot be read".to_owned()), "");
    found.fact("user", its.users[1].to_string(), "");
    found.fact("state", state(its.state), "");
    found.fact("threads", its.threads.to_string(), "");
    let tracer = if its.tracer == 0 { "nobody".to_owned() } else { format!("process {}", its.tracer) };
    found.fact("traced by", tracer, "the kernel allows one tracer a thread");
    let seccomp = match its.seccomp {
        Seccomp::Off => "no filter",
        Seccomp::Strict => "strict: it may read, write and exit only; reading it from outside is not concerned",
        Seccomp::Filter => "a filter; reading it from outside is not concerned",
    };
    found.fact("seccomp", seccomp, "");
    let (mine, theirs) = (own.namespaces, its.namespaces);
    let pairs = [
        ("mount", mine.mount, theirs.mount),
        ("PID", mine.pid, theirs.pid),
        ("user", mine.user, theirs.user),
        ("network", mine.network, theirs.network),
    ];
    let others: Vec<&str> =
        pairs.iter().filter(|(_, mine, its)| its.is_some() && mine != its).map(|(name, ..)| *name).collect();
    let words = match (theirs.mount, others.as_slice()) {
        (None, _) => "cannot be read".to_owned(),
        (_, []) => "the same as genba's".to_owned(),
        (_, others) => format!("of its own: {}", others.join(", ")),
    };
    found.fact("namespaces", words, "");
    if let Some(root) = its.root.as_ref().filter(|root| *root != Path::new("/")) {
        found.fact("root", root.display().to_string(), "");
    }
    found.rows
}

fn state(letter: char) -> &'static str {
    match letter {
        'R' => "running",
        'S' => "sleeping",
        'D' => "in an uninterruptible wait: a running thread of it cannot be stopped until that ends",
        'T' => "stopped by a signal",
        't' => "stopped by a debugger",
        'Z' | 'X' => "ended",
        _ => "another state",
    }
}

/// Of a process whose Python genba knows.
pub fn allowed(interpreter: &Interpreter) -> Vec<Fact> {
    let mut found = Facts::of("what genba may do to it");
    let pid = interpreter.facts.pid;
    dump(&mut found, pid, rights::check_stop(&interpreter.facts));
    let entry = entry(interpreter, Door::Attached);
    let why = "a thread of it makes one more, which samples the others";
    let value = format!("allowed: genba attach {pid} and genba top {pid} record it");
    match &entry {
        Entry::Allowed(note) => found.ok("attach, top", format!("{value}{note}"), why),
        Entry::Open(unknown) => found.unknown("attach, top", *unknown, why),
        Entry::Refused(words, remedy) => {
            found.hinders("attach, top", format!("not allowed: {words}"), why, remedy.clone())
        }
    }
    let why = "a copy of it walks over all objects";
    match entry_to_heap(interpreter, entry) {
        Entry::Allowed(_) => found.ok("heap", format!("allowed: genba heap {pid} counts its objects"), why),
        Entry::Open(unknown) => found.unknown("heap", unknown, why),
        Entry::Refused(words, remedy) => found.hinders("heap", format!("not allowed: {words}"), why, remedy),
    }
    found.rows
}

/// Of one that genba refuses.
pub fn refused(refusal: &Refusal) -> Vec<Fact> {
    let mut found = Facts::of("what genba may do to it");
    let why = "all of them read its memory and know its Python";
    let words = [vec![refusal.to_string()], refusal.details()].concat().join(": ");
    found.hinders("dump, attach, heap", format!("not allowed: {words}"), why, refusal.hint());
    found.rows
}

fn dump(found: &mut Facts, pid: u32, may_stop: Result<(), Refusal>) {
    let why = "it puts nothing into the process";
    match may_stop {
        Ok(()) => found.ok(
            "dump",
            format!("allowed: genba dump {pid} reads it and stops running threads for at most 1 ms each"),
            why,
        ),
        Err(traced) => found.hinders(
            "dump",
            format!(
                "allowed: genba dump {pid} reads it; running threads cannot be stopped and are unverified: {traced}"
            ),
            why,
            traced.hint(),
        ),
    }
}

enum Entry {
    /// With more words.
    Allowed(&'static str),
    /// It is seen when it is tried.
    Open(&'static str),
    /// Why, and what helps.
    Refused(String, String),
}

/// What can be known without a stop.
fn entry(interpreter: &Interpreter, door: Door) -> Entry {
    if let Err(failure) = entering::check(interpreter) {
        let (words, remedy) = failure.in_two();
        return Entry::Refused(words, remedy);
    }
    let facts = &interpreter.facts;
    let by_script = remote_exec::is_possible(interpreter);
    if facts.tracer != 0 && door == Door::Attached && interpreter.is_bolted() {
        return Entry::Refused(
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
        Err(_) => Entry::Refused(
            "seccomp's strict mode ends a thread that does more than read, write and exit".to_owned(),
            format!("genba dump {} makes no call in the process", facts.pid),
        ),
        Ok(filters) if filters.are_unread() => match may_read_filters && facts.tracer == 0 {
            true => Entry::Open(
                "its seccomp filters are read when it is tried: genba leaves a process alone whose filters forbid a call that it needs",
            ),
            false => Entry::Refused(
                "it has seccomp filters, which only root reads, outside of containers and where nobody else traces it"
                    .to_owned(),
                format!("run genba as root; genba dump {} makes no call in the process", facts.pid),
            ),
        },
        Ok(_) if own.is_none_or(|own| own.seccomp != Seccomp::Off) => {
            Entry::Open("whether the filter around genba lets ptrace pass is seen when it is tried")
        }
        Ok(_) if facts.tracer != 0 => Entry::Allowed(", asked by sys.remote_exec, since ptrace is taken"),
        Ok(_) if interpreter.is_bolted() => {
            Entry::Allowed("; BOLT made its Python, so each thread is held once more, to get a stack for signals")
        }
        Ok(_) if by_script => Entry::Allowed(", by ptrace, else by sys.remote_exec"),
        Ok(_) => Entry::Allowed(""),
    }
}

/// No signal is sent for it, so BOLT does not matter.
fn entry_to_heap(interpreter: &Interpreter, attached: Entry) -> Entry {
    if interpreter.is_bolted() { entry(interpreter, Door::Heap) } else { attached }
}
