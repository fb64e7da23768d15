//! Programs that the run started and genba was not in: their words, and whether the recording can still be judged.
//! Owns: those words and that limit. Never: counts a program's time as the recording's.

use crate::rules::warnings::warning::Warning;
use crate::tables::profile::{NotFollowed, Profile};
use crate::words::figures::{count, counted, duration};

/// So many programs are named.
const NAMED_MAX: usize = 5;
/// A recording with less CPU than this is no answer where a Python ran beside it for half of the time.
const LITTLE_CPU_NS: u64 = 100_000_000;

/// What Pythons that were not followed did together, as far as it was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pythons {
    pub count: u64,
    pub wall_ns: u64,
    pub cpu_ns: u64,
}

impl Pythons {
    pub fn of(rows: &[NotFollowed]) -> Pythons {
        pythons(rows).fold(Pythons::default(), |sum, row| Pythons {
            count: sum.count.saturating_add(row.count),
            wall_ns: sum.wall_ns.saturating_add(row.wall_ns),
            cpu_ns: sum.cpu_ns.saturating_add(row.cpu_ns),
        })
    }

    /// Whether most of the run's Python is not in the recording, which then says nothing about the run.
    pub fn are_most(self, profile: &Profile) -> bool {
        let recorded_ns = profile.clocks().cpu_ns;
        let ran_long = self.wall_ns.saturating_mul(2) >= profile.wall_ns();
        self.count > 0 && (self.cpu_ns > recorded_ns || ran_long && recorded_ns < LITTLE_CPU_NS)
    }
}

fn pythons(rows: &[NotFollowed]) -> impl Iterator<Item = &NotFollowed> {
    rows.iter().filter(|row| row.is_python)
}

/// `not followed: /bin/busybox (musl) × 3, /opt/tool (32-bit) and 2 more`. None: all were followed.
pub fn words(rows: &[NotFollowed]) -> Option<String> {
    let (named, others): (Vec<_>, Vec<_>) = rows.iter().partition(|row| !row.name.is_empty());
    let words = |row: &&NotFollowed| match row.count {
        0 | 1 => format!("{} ({})", row.name, row.reason),
        several => format!("{} ({}) × {}", row.name, row.reason, count(several)),
    };
    let shown: Vec<String> = named.iter().take(NAMED_MAX).map(words).collect();
    // Of some only the number of their starts is known.
    let starts = others.iter().fold(0_u64, |sum, row| sum.saturating_add(row.count));
    let more = starts.saturating_add(named.len().saturating_sub(NAMED_MAX) as u64);
    match (shown.is_empty(), more) {
        (true, 0) => None,
        (true, more) => Some(format!("not followed: {}", counted(more, "program", "programs"))),
        (false, 0) => Some(format!("not followed: {}", shown.join(", "))),
        (false, more) => Some(format!("not followed: {} and {} more", shown.join(", "), count(more))),
    }
}

/// A Python that ran and is not in the recording: which, for how long, why, and what helps.
pub fn warning(rows: &[NotFollowed]) -> Option<Warning> {
    let Pythons { count, wall_ns, cpu_ns } = Pythons::of(rows);
    let first = pythons(rows).max_by_key(|row| (row.cpu_ns, row.wall_ns))?;
    let (wall, cpu) = (duration(wall_ns), duration(cpu_ns));
    let command = if first.command.is_empty() { &first.name } else { &first.command };
    let (who, ran) = match count {
        0 | 1 => {
            ("a Python of this run was not followed".to_owned(), format!("`{command}` ran for {wall} ({cpu} CPU)"))
        }
        several => (
            format!("{} Pythons of this run were not followed", crate::words::figures::count(several)),
            format!("they ran for {wall} together ({cpu} CPU), most of it `{command}`"),
        ),
    };
    let (why, remedy) = match first.reason.as_str() {
        reason @ (FILTERED | REPLACED | DROPPED) => {
            (reason.to_owned(), "hand LD_PRELOAD and GENBA_SESSION on to it, or start genba there: genba run COMMAND")
        }
        "setuid" | RIGHTS => {
            ("it runs with other rights".to_owned(), "start genba there, as that user: genba run COMMAND")
        }
        reason @ ("library out of reach" | "recording out of reach") => {
            (reason.to_owned(), "start genba there, as that user: genba run COMMAND")
        }
        reason => (format!("the reason: {reason}"), "use CPython on glibc for x86-64 there, which genba records"),
    };
    Some(Warning::new(format!("{who}: {ran}; {why}"), remedy))
}

/// Reasons that the command finds, by its look from outside.
pub const FILTERED: &str = "environment emptied or filtered";
pub const REPLACED: &str = "LD_PRELOAD replaced";
pub const DROPPED: &str = "GENBA_SESSION dropped";
pub const RIGHTS: &str = "other rights";
pub const NOT_LOADED: &str = "library not loaded";
