//! What helps against what a file, or the part of genba in a program, says of a recording or of a lost tick in words of its own.
//! Owns: a remedy for each of these words, and one for words that it does not know. Never: changes the words.

use crate::rules::waits::unasked::SIGNAL_TAKEN;

/// A part of the words, and the remedy. The first that fits.
type Remedies = [(&'static str, &'static str)];

const OF_NEWER: (&str, &str) = ("newer than this genba", "install the newest genba");
/// What follows it in the file came after the write that failed, so that no copy has more.
const OF_UNFINISHED: (&str, &str) = ("unfinished at", OF_NO_ROOM);
const OF_FAULTS: &Remedies =
    &[OF_NEWER, OF_UNFINISHED, ("is shown as another file", "record both with the same source")];
const OF_ANY_FAULT: &str = "copy the file again, or record again";
pub(super) const UNBLOCK: &str = "unblock SIGURG there (signal.pthread_sigmask)";

const OF_REFUSALS: &Remedies =
    &[("the kernel forbids", "allow these calls in its seccomp filter"), ("/proc", "mount /proc there")];
const OF_ANY_REFUSAL: &str = "use another interpreter there: genba doctor --python PATH checks it";

const MORE_MEMORY: &str = "raise the limit (ulimit -v)";

/// A process that could not write has no word of its own: its recording stops without an end.
const OF_STOPS: &Remedies = &[
    ("--duration", "a longer --duration records more"),
    ("no memory", MORE_MEMORY),
    ("its first thread has ended", "let the first thread wait for the others"),
    ("the kernel forbids", "allow these calls in its seccomp filter"),
    ("/proc", "mount /proc there"),
];

const OF_NOTES: &Remedies = &[
    ("a seccomp filter", "allow clock_gettime in that filter"),
    ("the kernel shows none", "mount /proc there"),
    ("in the dynamic linker at the fork", "record again: few forks meet such a moment"),
    ("the main thread did not come back", "record again, for longer"),
    ("gc.callbacks is not the list", "leave gc.callbacks in its place"),
    ("the interpreter had no memory", MORE_MEMORY),
    ("the module atexit takes no function", "leave the module atexit as it is"),
    ("the threshold was not set", "leave the module gc as it is"),
    ("genba failed there", "record again; if it happens again, report it with the recording"),
    ("are not recorded: ", OF_ANY_REFUSAL),
    ("is not walked: ", OF_ANY_REFUSAL),
    ("memmove was not found", "use a C library there that exports memmove, as glibc does"),
    ("was not loaded, or the program has a malloc", "record again without a malloc of its own (LD_PRELOAD)"),
    ("allocators are not its usual ones", "record again without -X dev (PYTHONDEVMODE), tracemalloc and PYTHONMALLOC"),
    ("beside too many others", "begin fewer threads at a time"),
    ("did not wait any longer", "record again on a quieter machine"),
    ("was held up at the fork", "record again on a quieter machine"),
    ("can make no more threads", "raise the limit (ulimit -u, pids.max)"),
    ("are not where its version says", OF_ANY_REFUSAL),
    ("reads the clock of", "record again without that library"),
    ("interpreters", "make fewer of them at a time"),
    ("thread states", "make fewer threads at a time"),
    ("ended so fast one after another", "start fewer of them at a time"),
    ("SIGURG", "leave SIGURG to genba"),
];

/// Against what keeps a process from writing, and tells it no more than that.
pub const OF_NO_ROOM: &str = "compare df and ulimit -a, and record again";

/// As for what a newer genba, or another profiler, has to say.
pub const OF_ANYTHING: &str = "genba doctor says what hinders genba here";

/// Of a file that is damaged, or not of one piece with another.
pub fn of_fault(words: &str) -> &'static str {
    first(OF_FAULTS, words).unwrap_or(OF_ANY_FAULT)
}

/// Of blocks that are not here: a copy brings none that is too new.
pub fn of_lost(faults: &[String]) -> &'static str {
    faults.iter().find_map(|fault| first(&[OF_NEWER, OF_UNFINISHED], fault)).unwrap_or(OF_ANY_FAULT)
}

/// Of a process that was not recorded.
pub fn of_refusal(why: &str) -> &'static str {
    first(OF_REFUSALS, why).unwrap_or(OF_ANY_REFUSAL)
}

/// Of a recording that ends before its process.
pub fn of_stop(why: &str) -> &'static str {
    first(OF_STOPS, why).unwrap_or(OF_ANYTHING)
}

pub fn of_note(words: &str) -> &'static str {
    first(OF_NOTES, words).unwrap_or(OF_ANYTHING)
}

/// What the reason means and whether shares still hold (None: it says it all), and what helps. A recording does not say what ran at such a
/// tick, so a warning cannot promise that shares are fair.
pub(super) fn of_lost_ticks(reason: &str) -> (Option<&'static str>, &'static str) {
    match reason {
        "late" => (
            Some("genba's thread got no CPU in time; a thread's next sample counts the CPU time that passed"),
            "fewer are lost on a quieter machine or at a lower --rate",
        ),
        "moved" => (
            Some(
                "the stack changed while genba read it; a thread's next sample counts the CPU time that passed; shares of \
                 short calls may be too small",
            ),
            "genba trace counts calls",
        ),
        "no buffer" => (
            Some("every buffer was in use; a thread's next sample counts the CPU time that passed"),
            "fewer are lost at a lower --rate",
        ),
        "masked" => (None, UNBLOCK),
        SIGNAL_TAKEN => (None, "leave SIGURG to genba: take the program's handler for it out"),
        "no signal stack" => (None, "use a CPython that was not made by BOLT"),
        "fork" | "aside" => (None, "fork less often"),
        _ => (None, "fewer are lost on a quieter machine or at a lower --rate"),
    }
}

fn first(remedies: &Remedies, words: &str) -> Option<&'static str> {
    remedies.iter().find(|(part, _)| words.contains(*part)).map(|(_, remedy)| *remedy)
}
