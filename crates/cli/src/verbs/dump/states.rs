//! Words for what a thread does, the same as those of a recording, and what a dump knows beyond them.
//! Owns: from a state of genba-process to words. Never: guesses who holds what.

use std::os::unix::ffi::OsStrExt;

use genba_format::state::{State as Stored, WaitedOn};
use genba_process::snapshot::{Certainty, Lock, State, Thread, Unverified, Waiting};
use genba_profile::state::{in_words, wait_in_words};

/// The state in the words of a recording: `running`, `waiting for GIL`, `in poll(2) on a socket`.
pub fn state(state: &State) -> String {
    match state {
        State::Running => in_words(Stored::Running),
        State::InGc => in_words(Stored::InGc),
        State::WaitingForCpu => in_words(Stored::WaitingForCpu),
        State::WaitingForGil { .. } => in_words(Stored::WaitingForGil),
        State::InCall(waiting) => in_words(Stored::InSystemCall(waiting.call.number, waited_on(waiting))),
        State::Asleep => in_words(Stored::Asleep),
        State::Stopped => "stopped by a signal or a debugger".to_owned(),
    }
}

/// For a screen, which says what a call waits for: `waiting for data (read on a pipe)`.
pub fn on_screen(state: &State) -> String {
    match state {
        State::InCall(waiting) => wait_in_words(Stored::InSystemCall(waiting.call.number, waited_on(waiting))),
        other => self::state(other),
    }
}

/// What is waited on, and who has it: `descriptor 4: socket:[4711]`, `held by thread 12`.
pub fn details(state: &State) -> Vec<String> {
    match state {
        State::WaitingForGil { holder: Some(holder) } => vec![format!("held by thread {holder}")],
        State::InCall(waiting) => {
            let mut named: Vec<String> = Vec::new();
            for (number, link) in &waiting.descriptors {
                let words = format!("descriptor {number}: {}", link.to_string_lossy());
                // ZeroMQ polls one descriptor for each socket that uses it.
                if !named.contains(&words) {
                    named.push(words);
                }
            }
            named.extend(waiting.holder.map(|holder| format!("held by thread {holder}")));
            named
        }
        _ => Vec::new(),
    }
}

/// How sure the look is, and what it cost: a thread may have been stopped, and be seen asleep afterwards.
pub fn certainty(thread: &Thread) -> impl Iterator<Item = String> {
    let unverified = match thread.certainty {
        Certainty::Slept | Certainty::InCore | Certainty::Stopped => None,
        Certainty::Unverified(Unverified::Equal) => Some("unverified: two reads saw the same".to_owned()),
        Certainty::Unverified(Unverified::Changing) => Some("unverified: it ran during each read".to_owned()),
    };
    let stopped = (thread.stopped_ns > 0).then(|| format!("stopped for {}", milliseconds(thread.stopped_ns)));
    unverified.into_iter().chain(stopped)
}

pub fn milliseconds(ns: u64) -> String {
    format!("{:.2} ms", ns as f64 / 1e6)
}

/// The kind that a recording would name: one for all of them.
fn waited_on(waiting: &Waiting) -> Option<WaitedOn> {
    match waiting.lock {
        Some(Lock::Plain) => return Some(WaitedOn::Lock),
        Some(Lock::RLock) => return Some(WaitedOn::RLock),
        Some(Lock::SimpleQueue) => return Some(WaitedOn::SimpleQueue),
        None => {}
    }
    let mut kinds = waiting.descriptors.iter().map(|(_, link)| kind(link.as_bytes()));
    let first = kinds.next()??;
    kinds.all(|kind| kind == Some(first)).then_some(first)
}

/// By the kernel's name for it.
fn kind(link: &[u8]) -> Option<WaitedOn> {
    let begins = |names: &[&str]| names.iter().any(|name| link.starts_with(name.as_bytes()));
    if begins(&["socket:["]) {
        Some(WaitedOn::Socket)
    } else if begins(&["pipe:["]) {
        Some(WaitedOn::Pipe)
    } else if begins(&["/dev/pts/", "/dev/tty", "/dev/ptmx", "/dev/console"]) {
        Some(WaitedOn::Terminal)
    } else if begins(&["/dev/"]) && !begins(&["/dev/shm/", "/dev/mqueue/", "/dev/hugepages/"]) {
        Some(WaitedOn::Device)
    } else {
        begins(&["/"]).then_some(WaitedOn::File)
    }
}
