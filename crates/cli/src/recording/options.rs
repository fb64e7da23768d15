//! The options of whatever makes a recording.
//! Owns: their names, and what they mean for the agent. Never: what is about one verb alone.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::Args;

use super::budget;
use super::clock::monotonic_ns;
use super::heap_options::HeapOptions;
use super::output::{Holds, Output};
use super::session::Session;
use crate::finish::SourceText;
use crate::words::failure::{Failure, say};
use crate::words::{durations, tags};

const INTERVAL_NS_DEFAULT: u64 = 1_000_000;

#[derive(Args)]
pub struct RecordingOptions {
    /// Write the recording to FILE [default: app.genba, app-2.genba, …]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace the file named with -o if it is empty or a recording
    #[arg(long, requires = "output")]
    force: bool,

    /// Time between two ticks of a thread, 50us to 1s; kept exactly [default: as --budget allows, 1ms to 20ms]
    #[arg(long, value_name = "DURATION", value_parser = durations::interval_ns, conflicts_with = "rate_as_interval_ns")]
    interval: Option<u64>,

    /// The same as ticks per second, 1 to 20000
    #[arg(short, long = "rate", value_name = "N", value_parser = durations::rate_as_interval_ns)]
    rate_as_interval_ns: Option<u64>,

    /// Tick as often as this share of the program's own CPU pays for; 1 ms apart until a second of CPU was used [default: 2%, unless a rate is asked for]
    #[arg(long, value_name = "SHARE", value_parser = budget::per_mille, conflicts_with_all = ["interval", "rate_as_interval_ns"])]
    budget: Option<u32>,

    /// Stop recording after this time; the program goes on
    #[arg(long, value_name = "DURATION", value_parser = durations::recording_ns)]
    pub duration: Option<u64>,

    /// Python frames only, no C
    #[arg(long, overrides_with = "native")]
    no_native: bool,

    /// Takes a setting back
    #[arg(long, hide = true, overrides_with = "no_native")]
    native: bool,

    /// Record its child processes, too [default]
    #[arg(long, overrides_with = "no_children")]
    children: bool,

    /// Record the first Python process only
    #[arg(long, overrides_with = "children")]
    no_children: bool,

    /// Record the resident size, at most every 10 ms
    #[arg(long, overrides_with = "no_mem")]
    mem: bool,

    /// Takes a setting back
    #[arg(long, hide = true, overrides_with = "mem")]
    no_mem: bool,

    /// Record how many bytes memcpy and memmove copy, and where
    #[arg(long, overrides_with = "no_copies")]
    copies: bool,

    /// Takes a setting back
    #[arg(long, hide = true, overrides_with = "copies")]
    no_copies: bool,

    /// Record how many bytes are allocated, and where
    #[arg(long, overrides_with = "no_alloc")]
    alloc: bool,

    /// Takes a setting back
    #[arg(long, hide = true, overrides_with = "alloc")]
    no_alloc: bool,

    /// Record each garbage collection: when, how long, why, where it ran (genba gc FILE shows them)
    #[arg(long, overrides_with = "no_gc")]
    gc: bool,

    /// Takes a setting back
    #[arg(long, hide = true, overrides_with = "gc")]
    no_gc: bool,

    #[command(flatten)]
    pub heap: HeapOptions,

    /// Store KEY=VALUE in the recording; may be repeated
    #[arg(long = "tag", value_name = "KEY=VALUE", value_parser = tags::tag)]
    tags: Vec<String>,

    /// Source text to store: of your own files hit and the lines around each hit elsewhere, only those lines, or none
    #[arg(long, value_name = "WHAT", default_value = "all")]
    pub source: SourceText,

    /// Say nothing unless something went wrong
    #[arg(short, long, overrides_with = "no_quiet")]
    pub quiet: bool,

    /// Takes a setting back
    #[arg(long, hide = true, overrides_with = "quiet")]
    no_quiet: bool,
}

impl RecordingOptions {
    /// The file, which is made here. `stem`: its name, where none was asked for; `words`: the program's, which name no recording of another one.
    pub fn output(&self, stem: &str, words: &[&OsStr]) -> Result<Output, Failure> {
        let output = Output::create(Holds::Recording, self.output.as_deref(), self.force, stem, words)?;
        if let Some(moved) = &output.moved {
            say(&format!("note: {moved}"));
        }
        Ok(output)
    }

    pub const fn records_copies(&self) -> bool {
        self.copies
    }

    pub const fn records_allocations(&self) -> bool {
        self.alloc
    }

    pub const fn records_children(&self) -> bool {
        !self.no_children
    }

    /// What the agent is told that writes to `recording`; the time of `--duration` begins now.
    pub fn session(&self, recording: PathBuf) -> Session {
        let asked_interval_ns = self.interval.or(self.rate_as_interval_ns);
        let budget_per_mille = self.budget.unwrap_or(budget::DEFAULT_PER_MILLE);
        Session {
            recording,
            interval_ns: asked_interval_ns.unwrap_or(INTERVAL_NS_DEFAULT),
            budget_per_mille: asked_interval_ns.is_none().then_some(budget_per_mille),
            native: !self.no_native,
            children: self.records_children(),
            memory: self.mem,
            copies: self.copies,
            allocations: self.alloc,
            gc: self.gc || self.heap.needs_gc(),
            gc_threshold: Vec::new(),
            gc_freeze: false,
            heap: None,
            until_ns: self.duration.map(|duration_ns| monotonic_ns().saturating_add(duration_ns)),
            is_leased: false,
            tags: self.tags.clone(),
            trace: false,
            notes: None,
            bells: None,
            door: None,
        }
    }
}
