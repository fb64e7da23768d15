//! `genba doctor`: what the system allows genba to do with other processes, and the smallest change that would allow the rest.
//! Owns: the order of the facts. Never: changes a setting.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use genba_process::facts::{Facts, SYS_PTRACE, Seccomp};
use genba_process::interpreter::{Search, find_in};
use genba_process::{rights, rules};
use genba_profile::report::printable;

use crate::read;
use crate::words::failure::Failure;
use crate::words::refused::refused;

#[derive(Args)]
pub struct Arguments {
    /// Judge one process too
    #[arg(value_name = "PID")]
    pid: Option<u32>,
}

pub fn doctor(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let own = Facts::own().map_err(|_| {
        Failure::no("this process finds no /proc")
            .hint("mount it: mount -t proc proc /proc; all of genba's looks begin there")
    })?;
    read::print(&machine(&own))?;
    let Some(pid) = arguments.pid else { return Ok(ExitCode::SUCCESS) };
    let facts = Facts::of(pid).map_err(|refusal| refused(&refusal))?;
    read::print(&process(&own, &facts))?;
    let found = find_in(facts.clone(), Search::All);
    let may_stop = rights::check_stop(&facts);
    match (found, may_stop) {
        (Ok(interpreter), Ok(())) => {
            read::print(&format!(
                "\nCPython {} at {}: genba knows it\nallowed: genba dump {pid} reads it and stops running threads for at most 1 ms each\n",
                interpreter.version,
                printable(&interpreter.file.display().to_string())
            ))?;
            Ok(ExitCode::SUCCESS)
        }
        (Ok(interpreter), Err(traced)) => {
            read::print(&format!(
                "\nCPython {}: genba knows it\nallowed: genba dump {pid} reads it; running threads cannot be stopped and are unverified\nnot allowed: {traced}\nhint: {}\n",
                interpreter.version,
                traced.hint()
            ))?;
            Ok(ExitCode::SUCCESS)
        }
        (Err(refusal), _) => Err(refused(&refusal)),
    }
}

/// What holds for all processes.
fn machine(own: &Facts) -> String {
    let [_, user, ..] = own.users;
    let mut rows = vec![("user", if user == 0 { "0 (root)".to_owned() } else { user.to_string() })];
    rows.push((
        "CAP_SYS_PTRACE",
        if own.has_capability(SYS_PTRACE) {
            "yes: processes of all users in this user namespace".to_owned()
        } else {
            "no: processes of the same user only".to_owned()
        },
    ));
    rows.push((
        "ptrace_scope",
        match rules::ptrace_scope() {
            None => "this kernel has no such rule".to_owned(),
            Some(0) => "0: every process of the same user".to_owned(),
            Some(1) if own.has_capability(SYS_PTRACE) => {
                "1: only processes that genba started, but CAP_SYS_PTRACE lifts it".to_owned()
            }
            Some(1) => "1: only processes that genba started".to_owned(),
            Some(2) => "2: only with CAP_SYS_PTRACE".to_owned(),
            Some(scope) => format!("{scope}: no process at all, until the next boot"),
        },
    ));
    let seccomp = match own.seccomp {
        Seccomp::Off => "no filter around genba",
        _ if rules::may_read_itself() => "a filter around genba; it lets process_vm_readv pass",
        _ => "a filter around genba; it forbids process_vm_readv",
    };
    rows.push(("seccomp", seccomp.to_owned()));
    rows.push(("container", container(own).to_owned()));
    rows.push(("perf events", "not needed".to_owned()));
    let mut page = String::from("this machine\n");
    for (name, value) in rows {
        page += &format!("  {name:<15} {value}\n");
    }
    let hint = match rules::ptrace_scope() {
        _ if !rules::may_read_itself() => {
            Some("start the container with --cap-add SYS_PTRACE, or run genba outside of it")
        }
        Some(1) if !own.has_capability(SYS_PTRACE) => {
            Some("run genba as root (sudo), or: sysctl kernel.yama.ptrace_scope=0")
        }
        Some(2) if !own.has_capability(SYS_PTRACE) => Some("run genba as root (sudo)"),
        Some(3..) => Some("genba run starts a program and records it without any of these rights"),
        _ if !own.has_capability(SYS_PTRACE) => Some("for processes of other users run genba as root (sudo)"),
        _ => None,
    };
    page + &hint.map_or(String::new(), |hint| format!("hint: {hint}\n"))
}

/// A guess by what the usual ones leave behind.
fn container(own: &Facts) -> &'static str {
    if Path::new("/.dockerenv").exists() || Path::new("/run/.containerenv").exists() {
        "genba runs in one"
    } else if own.pids.len() > 1 {
        "genba runs in a PID namespace of its own"
    } else {
        "none that can be seen from here"
    }
}

/// What differs from genba's own.
fn process(own: &Facts, facts: &Facts) -> String {
    let mut rows = vec![("name", printable(&facts.name))];
    let program = facts.executable.as_ref().map(|path| printable(&path.display().to_string()));
    rows.push(("program", program.unwrap_or_else(|| "cannot be read".to_owned())));
    rows.push(("user", facts.users[1].to_string()));
    let state = match facts.state {
        'R' => "running",
        'S' => "sleeping",
        'D' => "in an uninterruptible wait: a running thread of it cannot be stopped until that ends",
        'T' => "stopped by a signal",
        't' => "stopped by a debugger",
        'Z' | 'X' => "ended",
        _ => "another state",
    };
    rows.push(("state", state.to_owned()));
    rows.push(("threads", facts.threads.to_string()));
    rows.push(("traced by", if facts.tracer == 0 { "nobody".to_owned() } else { format!("process {}", facts.tracer) }));
    let seccomp = match facts.seccomp {
        Seccomp::Off => "no filter",
        Seccomp::Strict => "strict: it may read, write and exit only; reading it from outside is not concerned",
        Seccomp::Filter => "a filter; reading it from outside is not concerned",
    };
    rows.push(("seccomp", seccomp.to_owned()));
    let (mine, its) = (own.namespaces, facts.namespaces);
    let pairs = [
        ("mount", mine.mount, its.mount),
        ("PID", mine.pid, its.pid),
        ("user", mine.user, its.user),
        ("network", mine.network, its.network),
    ];
    let others: Vec<&str> =
        pairs.iter().filter(|(_, mine, its)| its.is_some() && mine != its).map(|(name, ..)| *name).collect();
    let words = match (its.mount, others.as_slice()) {
        (None, _) => "cannot be read".to_owned(),
        (_, []) => "the same as genba's".to_owned(),
        (_, others) => format!("of its own: {}", others.join(", ")),
    };
    rows.push(("namespaces", words));
    if facts.root.as_ref().is_some_and(|root| root != Path::new("/")) {
        rows.push(("root", facts.root.as_ref().map(|root| printable(&root.display().to_string())).unwrap_or_default()));
    }
    let mut page = format!("\nprocess {}\n", facts.pid);
    for (name, value) in rows {
        page += &format!("  {name:<15} {value}\n");
    }
    page
}
