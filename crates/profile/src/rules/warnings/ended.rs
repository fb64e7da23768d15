//! The warning about processes that wrote no end.
//! Owns: its sentence, the names of signals in it. Never: decides which processes these are.

use super::warning::Warning;
use crate::tables::profile::{Process, Profile};

/// The numbers of Linux on x86-64.
const SIGNALS: [(i32, &str); 12] = [
    (1, "SIGHUP"),
    (2, "SIGINT"),
    (3, "SIGQUIT"),
    (4, "SIGILL"),
    (6, "SIGABRT"),
    (7, "SIGBUS"),
    (9, "SIGKILL"),
    (10, "SIGUSR1"),
    (11, "SIGSEGV"),
    (12, "SIGUSR2"),
    (14, "SIGALRM"),
    (15, "SIGTERM"),
];

/// One sentence for all of them. `who`: their names.
pub fn without_end(profile: &Profile, missing: &[&Process], who: &str) -> Warning {
    let (has, remedy) = match missing.len() {
        1 => ("has", "let it end by itself to have that"),
        _ => ("have", "let them end by themselves to have that"),
    };
    let first = profile.processes.iter().next();
    let is_first = matches!(*missing, [one] if first.is_some_and(|first| std::ptr::eq(one, first)));
    let why = match signal(profile).filter(|_| is_first) {
        Some(signal) => format!("the program was ended by {signal}"),
        None => "killed, or still running".to_owned(),
    };
    let what = format!("{who} {has} no end in this recording: {why}; the last quarter of a second may be missing");
    Warning::new(what, remedy)
}

/// That ended what `genba run` started.
fn signal(profile: &Profile) -> Option<String> {
    let signal = profile.recorder.as_ref()?.exit_signal?;
    let known = SIGNALS.iter().find(|(number, _)| *number == signal);
    Some(known.map_or_else(|| format!("signal {signal}"), |(_, name)| (*name).to_owned()))
}
