//! How long threads were ready to run and had no CPU, by the kernel's count.
//! Owns: which part of that falls into the time that is compared. Never: counts by samples alone: they only share out what the kernel counted.

use std::collections::HashMap;

use genba_format::state::State;

use crate::rules::reading::Reading;
use crate::tables::profile::{Moment, ThreadIndex};

/// What a thread has of its time in the time that is compared.
#[derive(Clone, Copy, Default)]
struct Part {
    queue: f64,
    cpu: f64,
}

impl Part {
    const ALL: Part = Part { queue: 1.0, cpu: 1.0 };

    fn of(all: Seen, within: Seen) -> Part {
        let part = |within: u64, all: u64| (all > 0).then(|| within as f64 / all as f64);
        let cpu = part(within.cpu_ns, all.cpu_ns).unwrap_or(0.0);
        // Where the samples did not see it wait, it waited as it ran.
        let queue = part(within.idle_ns(), all.idle_ns()).unwrap_or(cpu);
        Part { queue, cpu }
    }
}

/// What samples saw of a thread that had work to do.
#[derive(Clone, Copy, Default)]
struct Seen {
    wall_ns: u64,
    cpu_ns: u64,
}

impl Seen {
    fn add(&mut self, moment: &Moment) {
        if moment.state.is_running() || moment.state == State::WaitingForCpu {
            self.wall_ns = self.wall_ns.saturating_add(moment.wall_ns);
            self.cpu_ns = self.cpu_ns.saturating_add(moment.cpu_ns);
        }
    }

    fn idle_ns(self) -> u64 {
        self.wall_ns.saturating_sub(self.cpu_ns)
    }
}

/// Of each thread that was seen. None: all of the run is compared.
fn parts(reading: &Reading) -> Option<HashMap<ThreadIndex, Part>> {
    let kept = reading.kept.as_ref().filter(|kept| kept.window.is_some())?;
    let mut seen: HashMap<ThreadIndex, (Seen, Seen)> = HashMap::new();
    for moment in reading.moments.iter().chain(&kept.left_out) {
        let (all, within) = seen.entry(moment.thread).or_default();
        all.add(moment);
        if moment.in_window {
            within.add(moment);
        }
    }
    Some(seen.into_iter().map(|(thread, (all, within))| (thread, Part::of(all, within))).collect())
}

/// Of all threads, each with what the kernel told: the wait, and the CPU.
fn told(reading: &Reading) -> Vec<(f64, Option<f64>)> {
    let parts = parts(reading);
    let threads = reading.threads.enumerate().filter_map(|(index, thread)| {
        let part = parts.as_ref().map_or(Part::ALL, |parts| parts.get(&index).copied().unwrap_or_default());
        let cpu_ns = thread.cpu_ns.map(|cpu_ns| cpu_ns as f64 * part.cpu);
        Some((thread.cpu_queue_ns? as f64 * part.queue, cpu_ns))
    });
    threads.collect()
}

/// Nanoseconds, of all threads together.
#[must_use]
pub fn queue_ns(reading: &Reading) -> f64 {
    told(reading).into_iter().map(|(queue_ns, _)| queue_ns).sum()
}

/// The part of its time that a run was ready and had no CPU. None: the kernel did not tell.
#[must_use]
pub fn waited_for_cpu(reading: &Reading) -> Option<f64> {
    let threads = told(reading).into_iter().filter_map(|(queue_ns, cpu_ns)| Some((queue_ns, cpu_ns?)));
    let (queue_ns, cpu_ns) = threads.reduce(|sum, one| (sum.0 + one.0, sum.1 + one.1))?;
    Some(if queue_ns > 0.0 { queue_ns / (queue_ns + cpu_ns) } else { 0.0 })
}
