//! Logs of vmprof, formats 0 to 7, as CPython on 64-bit Linux or macOS writes them.
//! Owns: what a sample stands for, and the words about it. Never: reads a log of PyPy, of Windows or of a 32-bit machine: those are
//! refused by name.
//! Source: vmprof 0.6.0, `vmprof/reader.py` and `vmprof/stats.py`; vmprof-python, `src/vmprof_common.h` and `src/vmp_stack.c`.

mod clock;
mod log;
mod names;

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use genba_format::{masking, proto};

use crate::builder::{Builder, Sample};
use crate::room::Room;
use crate::vmprof::clock::Clock;
use crate::vmprof::log::Log;
pub use crate::vmprof::log::is_log;
use crate::vmprof::names::Names;
use crate::{Imported, Refused};

pub fn read(bytes: &[u8], room: Room) -> Result<Imported, Refused> {
    let (mut room, of_builder) = room.halves();
    let log = log::read(bytes, &mut room)?;
    let mut names = Names::of(&log);
    let mut builder = Builder::within(of_builder);
    let mut threads: HashMap<u64, u32> = HashMap::new();
    let mut clock = Clock::of(&log);
    let length = Length::of(&log);
    // Most samples have a stack that came before.
    let mut leaves: HashMap<&[u8], Option<u32>> = HashMap::new();
    for stack in &log.stacks {
        let threads_known = threads.len() as u32;
        let thread = match threads.entry(stack.thread) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => *new.insert(match u32::try_from(stack.thread) {
                Ok(tid) if tid > 0 => builder.thread(tid, "")?,
                // An address, not a number of the system's.
                _ => builder.thread(threads_known + 1, &format!("{:#x}", stack.thread))?,
            }),
        };
        let leaf = match leaves.entry(stack.trace) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                // Innermost first in the file.
                let mut leaf = None;
                for entry in log.entries(stack).rev() {
                    leaf = Some(builder.node(leaf, &names.frame(entry, &mut room)?)?);
                }
                *new.insert(leaf)
            }
        };
        let time = clock.next(stack);
        let at_ns = length.within(time.at_ns);
        if let Some(resident_kb) = stack.resident_kb.and_then(|resident_kb| u64::try_from(resident_kb).ok()) {
            builder.resident(at_ns, resident_kb.saturating_mul(1024));
        }
        builder.not_sampled(time.cpu_over_ns, time.wall_over_ns);
        let (cpu_ns, wall_ns) = (time.cpu_ns, time.wall_ns);
        builder.sample(Sample { thread, leaf, ticks: 1, cpu_ns, wall_ns, at_ns })?;
    }
    let notes = log.notes.iter().cloned().chain(names.note()).collect();
    let start = proto::Start {
        interval_ns: log.period_us.saturating_mul(1_000),
        realtime_ns: log.start_us.map_or(0, |start_us| start_us.saturating_mul(1_000)),
        native: log.native,
        memory: log.memory,
        argv: masking::masked(log.argv.as_deref()),
        ..proto::Start::default()
    };
    Ok(Imported {
        words: words(&log, builder.samples() as u64),
        unknown: unknown(&log),
        recording: builder.finish(bytes, start, length.run_ns),
        faults: log.faults.clone(),
        notes,
        timeless: None,
        counts_calls: false,
    })
}

/// How long the program ran. The clock of its samples may be faster: that of the CPU is where the program used several cores.
struct Length {
    run_ns: u64,
    /// When the last sample was, by the clock of the samples.
    last_ns: u64,
}

impl Length {
    fn of(log: &Log) -> Length {
        let mut clock = Clock::of(log);
        let last_ns = log.stacks.iter().map(|stack| clock.next(stack).at_ns).max().unwrap_or(0);
        // The wall clock may have been set back while the program ran, and the log of a program that was killed has no end.
        let run_ns = log.run_us().map_or(last_ns, |run_us| run_us.saturating_mul(1_000));
        Length { run_ns, last_ns }
    }

    /// No sample is behind the end, and none of them is nearer to the others than in proportion.
    fn within(&self, at_ns: u64) -> u64 {
        if self.last_ns <= self.run_ns {
            return at_ns;
        }
        let shorter = u128::from(at_ns) * u128::from(self.run_ns) / u128::from(self.last_ns);
        u64::try_from(shorter).unwrap_or(self.run_ns)
    }
}

/// `imported from vmprof (log format 7): one sample is one tick of 4.99 ms of CPU time; ran 215 ms; no states, no accounting`
fn words(log: &Log, samples: u64) -> String {
    let (micros, rest) = (log.period_us / 1_000, log.period_us % 1_000);
    let period = match rest {
        0 => format!("{micros} ms"),
        rest => format!("{micros}.{}", format!("{rest:03}").trim_end_matches('0')) + " ms",
    };
    let tick = format!("one sample is one tick of {period} of {} time", if log.real_time { "wall" } else { "CPU" });
    let weight = match (log.has_sample_times(), log.real_time) {
        (false, _) => "no clocks: samples count".to_owned(),
        (true, false) => "CPU is the process's clock from one sample to the next".to_owned(),
        (true, true) => "wall is the time from a thread's sample to its next".to_owned(),
    };
    let ran = match log.run_us() {
        Some(run_us) => format!("ran {} ms", run_us / 1_000),
        None => "how long it ran is not told".to_owned(),
    };
    let samples = if samples == 0 { "; no samples" } else { "" };
    format!(
        "imported from vmprof (log format {}): {tick}; {weight}; {ran}; no states, no accounting{samples}",
        log.version
    )
}

fn unknown(log: &Log) -> String {
    let clocks = match log.has_sample_times() {
        false => "no clocks for law 2",
        true => "no clock of the whole process beside its samples for law 2",
    };
    format!("vmprof's log tells the ticks that gave a sample, not those that gave none (law 1), and {clocks}")
}
