//! The options of whatever makes a recording that have the heap walked meanwhile.
//! Owns: their names, their values, and what they mean for the agent. Never: reads an answer (verbs/heap/keeping.rs).

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::words::durations;
use crate::words::failure::Failure;

/// Around a collection of all generations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Around {
    Before,
    After,
    Both,
}

#[derive(Args)]
pub struct HeapOptions {
    /// Keep the heap by class when genba gets this signal, USR1 or USR2; the program does not get it then
    #[arg(long, value_name = "SIGNAL", value_parser = signal)]
    heap_on: Option<i32>,

    /// Keep the heap by class each time that this has passed, 100ms or more
    #[arg(long, value_name = "INTERVAL", value_parser = interval_ns)]
    heap_every: Option<u64>,

    /// Run a full collection before, finalizers of the program too
    #[arg(long)]
    heap_collect: bool,

    /// Keep the heap by class before or after each full collection; the collection waits for that. With all that --gc records
    #[arg(long, value_name = "WHEN")]
    heap_around_gc: Option<Around>,

    /// Keep which garbage in cycles full collections are about to free: they wait for that, 1 % of the time in the long run. With all that --gc records
    #[arg(long)]
    gc_cycles: bool,

    /// Keep the heap by class when the interpreter ends, among the program's atexit functions
    #[arg(long)]
    heap_at_exit: bool,

    /// Keep the heap by class once a process has grown to this resident size, such as 2GiB or 500MB
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    heap_at_rss: Option<u64>,
}

/// What the agent is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeapWishes {
    /// Where the answers go.
    pub out: Option<PathBuf>,
    /// The device and the inode of that file.
    pub file: Option<(u64, u64)>,
    pub every_ns: Option<u64>,
    pub resident_bytes: Option<u64>,
    pub on_demand: bool,
    pub before_gc: bool,
    pub after_gc: bool,
    pub at_exit: bool,
    pub cycles: bool,
    pub collects: bool,
}

impl HeapOptions {
    /// The signal by which the user asks.
    pub const fn signal(&self) -> Option<i32> {
        self.heap_on
    }

    /// Collections are recorded, too.
    pub const fn needs_gc(&self) -> bool {
        self.heap_around_gc.is_some() || self.gc_cycles
    }

    /// `None`: the heap is never walked.
    ///
    /// # Errors
    /// A full collection is asked for, and no moment that it could come before.
    pub fn wishes(&self) -> Result<Option<HeapWishes>, Failure> {
        let is_collected =
            self.heap_on.is_some() || self.heap_every.is_some() || self.heap_at_exit || self.heap_at_rss.is_some();
        if self.heap_collect && !is_collected {
            return Err(Failure::usage("--heap-collect says nothing about when the heap is walked")
                .hint("genba run --heap-every 10s --heap-collect app.py"));
        }
        let around = |when: Around| self.heap_around_gc == Some(when) || self.heap_around_gc == Some(Around::Both);
        let wishes = HeapWishes {
            out: None,
            file: None,
            every_ns: self.heap_every,
            resident_bytes: self.heap_at_rss,
            on_demand: self.heap_on.is_some(),
            before_gc: around(Around::Before),
            after_gc: around(Around::After),
            at_exit: self.heap_at_exit,
            cycles: self.gc_cycles,
            collects: self.heap_collect,
        };
        Ok((is_collected || self.needs_gc()).then_some(wishes))
    }
}

impl HeapWishes {
    /// Fields of a session.
    pub fn fields(&self) -> Vec<(&'static str, String)> {
        let flags = [
            ("heap_on_demand", self.on_demand),
            ("heap_before_gc", self.before_gc),
            ("heap_after_gc", self.after_gc),
            ("heap_at_exit", self.at_exit),
            ("heap_cycles", self.cycles),
            ("heap_collect", self.collects),
        ];
        let numbers = [("heap_every_ns", self.every_ns), ("heap_rss_bytes", self.resident_bytes)];
        let numbers = numbers.into_iter().filter_map(|(key, number)| Some((key, number?.to_string())));
        let flags = flags.into_iter().filter(|(_, is_on)| *is_on).map(|(key, _)| (key, "1".to_owned()));
        let file = self.file.map(|(device, inode)| ("heap_file", format!("{device},{inode}")));
        file.into_iter().chain(numbers).chain(flags).collect()
    }
}

/// A walk of a large heap takes some tenths of a second.
const INTERVAL_NS_MIN: u64 = 100_000_000;

fn interval_ns(text: &str) -> Result<u64, String> {
    match durations::duration_ns(text)? {
        short if short < INTERVAL_NS_MIN => Err("expected 100ms or more".to_owned()),
        interval_ns => Ok(interval_ns),
    }
}

/// genba gets it; so it may be none that has another meaning for genba, or that no program can have a handler for.
fn signal(text: &str) -> Result<i32, String> {
    use signal_hook::consts::{SIGUSR1, SIGUSR2};
    let upper = text.to_ascii_uppercase();
    match upper.strip_prefix("SIG").unwrap_or(&upper) {
        "USR1" => Ok(SIGUSR1),
        "USR2" => Ok(SIGUSR2),
        "KILL" | "STOP" => Err("the kernel lets no program catch it; expected USR1 or USR2".to_owned()),
        "SEGV" | "BUS" | "FPE" | "ILL" | "TRAP" | "SYS" | "ABRT" => {
            Err("it tells of a fault; expected USR1 or USR2".to_owned())
        }
        "INT" | "TERM" | "HUP" | "QUIT" | "ALRM" | "TSTP" | "CHLD" | "URG" | "XFSZ" | "CONT" | "PIPE" | "WINCH" => {
            Err("it has another meaning for genba or the program; expected USR1 or USR2".to_owned())
        }
        _ => Err("expected USR1 or USR2".to_owned()),
    }
}

const UNITS: [(&str, u64); 7] = [
    ("B", 1),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];

fn bytes(text: &str) -> Result<u64, String> {
    let unit_at = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let unit = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).map(|(_, bytes)| *bytes);
    let bytes = number.parse::<u64>().ok().zip(unit).and_then(|(number, unit)| number.checked_mul(unit));
    bytes
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| "expected a whole number and a unit, such as 500MB or 2GiB".to_owned())
}

#[cfg(test)]
mod tests {
    use super::{bytes, interval_ns, signal};

    #[test]
    fn sizes_have_a_unit() {
        assert_eq!(bytes("2GiB"), Ok(2 << 30));
        assert_eq!(bytes("500MB"), Ok(500_000_000));
        for refused in ["", "0MB", "2", "GiB", "1.5GiB", "-1MB", "2 GiB", "99999999999GiB"] {
            assert!(bytes(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn only_signals_that_mean_nothing_else_are_taken() {
        assert_eq!(signal("USR2"), signal("sigusr2"));
        assert_eq!(signal("SIGUSR1"), Ok(signal_hook::consts::SIGUSR1));
        for refused in ["KILL", "URG", "INT", "SEGV", "12", "USR3", ""] {
            assert!(signal(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn an_interval_leaves_time_for_the_walk() {
        assert_eq!(interval_ns("100ms"), Ok(100_000_000));
        for refused in ["0", "0s", "99ms", "10"] {
            assert!(interval_ns(refused).is_err(), "{refused}");
        }
    }
}
