//! `watch PID`: stops the main thread at random times and counts its stacks.
//! Owns: when to stop, and what counts: a thread that ran since the last stop and stands outside of genba's handler. Never: keeps the thread longer than it takes to
//! read it; everything else is done when it runs again.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::distribution::Distribution;
use crate::files::{self, Loaded};
use crate::merging::merge;
use crate::process::{Copied, Mapping, Process};
use crate::python::{Entry, Reader};
use crate::stopping::{self, Registers, Stop};
use crate::unwinding::{Comparison, FlatRows, Framehop};

pub struct Options {
    pub pid: i32,
    pub minor: u8,
    pub stops: u64,
    pub seed: u64,
    pub under: String,
    /// The interpreter's instructions are functions of their own, which call each other by tail calls.
    pub instructions_apart: bool,
    pub summary: Option<PathBuf>,
}

/// Below the stack pointer, left alone by signals: System V ABI for x86-64, section 3.2.2.
const RED_ZONE_BYTES: u64 = 128;
/// How genba's library is called where it is unpacked.
const AGENT: &str = "genba-agent-";
/// A thread that was stopped, let go, and had to wait for a CPU until the next stop stands where it stood.
const PROGRESS_NS_MIN: u64 = 50_000;
const GAP_MEAN_NS: f64 = 600_000.0;

/// One look, before it is understood.
struct Look {
    registers: Registers,
    stack: Copied,
    python: Option<Vec<Entry>>,
    /// The thread's CPU time when it stood.
    cpu_ns: u64,
}

pub fn run(options: &Options) -> Result<(), String> {
    let process = Process { pid: options.pid };
    let files = files::loaded(process)?;
    let mut python = Reader::new(process, options.pid, options.minor, &files)?;
    let mappings = process.mappings()?;
    let mut framehop = Framehop::new(&files);
    let mut rows = FlatRows::new(&files);
    let mut chance = Chance(options.seed | 1);
    let mut distribution = Distribution::default();
    let mut comparison = Comparison::default();
    let mut counts = BTreeMap::from([("counted", 0), ("no fit", 0)]);
    let from_ns = monotonic_ns();
    let mut stood_at_cpu_ns = 0;
    let mut due = Instant::now();
    while counts["counted"] < options.stops {
        due = due.max(Instant::now()) + Duration::from_nanos(chance.gap_ns());
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let mut count = |what| *counts.entry(what).or_default() += 1;
        if process.state(options.pid)? != 'R' {
            count("asleep");
            continue;
        }
        let Some(look) = look(process, &mut python, &mappings)? else {
            count("signalled");
            continue;
        };
        if look.cpu_ns < stood_at_cpu_ns + PROGRESS_NS_MIN {
            count("stood still");
            continue;
        }
        stood_at_cpu_ns = look.cpu_ns;
        let by_framehop = framehop.walk(&look.stack, look.registers);
        let by_rows = rows.walk(&look.stack, look.registers);
        let spell = |pc: u64| spell(&files, pc);
        comparison.add(look.registers, &by_framehop, &rows, &by_rows, spell);
        if rows.signal_frame(&by_rows.0).is_some() || by_rows.0.iter().any(|frame| spell(frame.pc).starts_with(AGENT)) {
            count("in genba's handler");
            continue;
        }
        let native = &by_framehop.0;
        let named = |position: usize| spell(native[position].pc - u64::from(position > 0));
        let merged = look.python.as_ref().and_then(|python| merge(native, python, options.instructions_apart, named));
        count(match merged {
            Some(frames) if distribution.add(&frames, &options.under, 1) => "counted",
            Some(_) => "elsewhere",
            None => "no fit",
        });
    }
    distribution.print();
    let summary = summary(&counts, &comparison, from_ns, monotonic_ns());
    match &options.summary {
        Some(path) => {
            std::fs::write(path, summary).map_err(|error| format!("cannot write {}: {error}", path.display()))
        }
        None => {
            eprintln!("{summary}");
            Ok(())
        }
    }
}

/// Stops, reads, lets go. `None`: a signal was about to be delivered.
fn look(process: Process, python: &mut Reader, mappings: &[Mapping]) -> Result<Option<Look>, String> {
    let Stop::At(stopped, registers) = stopping::stop(process.pid)? else { return Ok(None) };
    let cpu_ns = process.cpu_ns(process.pid)?;
    let stack = mappings.iter().find(|mapping| (mapping.start..mapping.end).contains(&registers.rsp));
    // A main thread's stack grows downwards: its mapping's end stays.
    let end = stack.or_else(|| mappings.iter().find(|mapping| mapping.path == "[stack]")).map_or(0, |one| one.end);
    // What a function has popped still counts: its rules go on naming it until it returns.
    let start = (registers.rsp & !7) - RED_ZONE_BYTES;
    let bytes = end.checked_sub(start).ok_or_else(|| format!("rsp {start:#x} lies on no stack"))?;
    let stack = process.read(start, bytes as usize).ok_or_else(|| format!("cannot read the stack at {start:#x}"))?;
    let python = python.read(process);
    drop(stopped);
    Ok(Some(Look { registers, stack, python, cpu_ns }))
}

fn spell(files: &[Loaded], pc: u64) -> String {
    match files.iter().find(|loaded| loaded.holds(pc)) {
        Some(loaded) => loaded.file.spell(pc.wrapping_sub(loaded.bias)),
        None => "[anonymous]".to_owned(),
    }
}

fn summary(counts: &BTreeMap<&str, u64>, comparison: &Comparison, from_ns: u64, to_ns: u64) -> String {
    let counted = |pairs: Vec<(&str, u64)>| {
        pairs.iter().map(|(name, count)| format!("{name:?}: {count}")).collect::<Vec<_>>().join(", ")
    };
    let stops = counted(counts.iter().map(|(&name, &count)| (name, count)).collect());
    let explained = counted(comparison.explained.iter().map(|(&name, &count)| (name, count)).collect());
    let unexplained: Vec<String> = comparison.unexplained.iter().take(20).map(|text| format!("{text:?}")).collect();
    format!(
        "{{\"from_ns\": {from_ns}, \"to_ns\": {to_ns}, \"stops\": {{{stops}}}, \"stacks\": {}, \"frames\": {}, \
         \"explained\": {{{explained}}}, \"unexplained_count\": {}, \"unexplained\": [{}]}}",
        comparison.stacks,
        comparison.frames,
        comparison.unexplained.len(),
        unexplained.join(", ")
    )
}

pub fn monotonic_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes `time`.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// xorshift64: Marsaglia, "Xorshift RNGs", 2003.
struct Chance(u64);

impl Chance {
    /// Exponential, so that a stop tells nothing about the next one; at most ten times the mean.
    fn gap_ns(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let uniform = (self.0 >> 11) as f64 / (1_u64 << 53) as f64;
        (-(1.0 - uniform).ln()).min(10.0).mul_add(GAP_MEAN_NS, 0.0) as u64
    }
}
