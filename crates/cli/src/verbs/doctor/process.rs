//! Facts about one process, and what genba may do to it, instrument by instrument.
//! Owns: the words for both. Never: stops a thread of it, writes into it.

use std::path::Path;

use genba_process::facts::{Facts as ProcessFacts, Seccomp};
use genba_process::interpreter::Interpreter;
use genba_process::refusal::Refusal;
use genba_process::rights;
use genba_process::tree::Tree;

use super::fact::{Fact, Facts};
use super::machine;
use crate::verbs::attach::permission::{Permission, permissions};

/// What differs from genba's own. `tree` has the /proc in which it is looked for.
pub fn facts(tree: &Tree, own: &ProcessFacts, its: &ProcessFacts) -> Vec<Fact> {
    let mut found = Facts::of("the process");
    let program = its.executable.as_ref().map(|path| path.display().to_string());
    found.fact("process", format!("{}, {}", its.pid, its.name), "what the lines below are about");
    found.fact("program", program.unwrap_or_else(|| "cannot be read".to_owned()), "its Python is searched for there");
    found.fact("user", its.users[1].to_string(), "the kernel lets a user look at processes of the same user");
    found.fact("state", state(its.state), "a process that is stopped runs no thread that genba could ask");
    found.fact("threads", its.threads.to_string(), "each of them has stacks of its own");
    let tracer = if its.tracer == 0 { "nobody".to_owned() } else { format!("process {}", its.tracer) };
    found.fact("traced by", tracer, "the kernel allows one tracer a thread");
    let seccomp = match its.seccomp {
        Seccomp::Off => "no filter",
        Seccomp::Strict => "strict: it may read, write and exit only; reading it from outside is not concerned",
        Seccomp::Filter => "a filter; reading it from outside is not concerned",
    };
    found.fact("seccomp", seccomp, "genba's library in the process may not do what a filter forbids");
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
    found.fact("namespaces", words, "files and numbers of processes are others in there");
    if let Some(root) = its.root.as_ref().filter(|root| *root != Path::new("/")) {
        found.fact("root", root.display().to_string(), "the paths of its files begin there");
    }
    machine::shares(&mut found, tree, its.pid);
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
    let (attach, heap) = permissions(interpreter);
    let why = "a thread of it makes one more, which samples the others";
    let value = format!("allowed: genba attach {pid} and genba top {pid} record it");
    match attach {
        Permission::Allowed(note) => found.ok("attach, top", format!("{value}{note}"), why),
        Permission::Open(unknown) => found.unknown("attach, top", unknown, why),
        Permission::Refused(words, remedy) => {
            found.hinders("attach, top", format!("not allowed: {words}"), why, remedy.clone())
        }
    }
    let why = "its objects are walked over, in a copy of it or in place";
    match heap {
        Permission::Allowed(_) => found.ok("heap", format!("allowed: genba heap {pid} counts its objects"), why),
        Permission::Open(unknown) => found.unknown("heap", unknown, why),
        Permission::Refused(words, remedy) => found.hinders("heap", format!("not allowed: {words}"), why, remedy),
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
