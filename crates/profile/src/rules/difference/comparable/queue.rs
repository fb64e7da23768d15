//! How long threads were ready to run and had no CPU, by the kernel's count.
//! Owns: which part of that falls into the time that is compared. Never: counts by samples alone: they only share out what the kernel counted.

use foldhash::HashMap;

use genba_format::state::State;

use crate::rules::difference::comparable::covered::is_before;
use crate::rules::reading::Reading;
use crate::tables::profile::{Moment, ThreadIndex};

/// What a thread has of its time in the time that is compared, and before it.
#[derive(Clone, Copy, Default)]
struct Part {
    queue: f64,
    queue_before: f64,
    cpu: f64,
}

impl Part {
    const ALL: Part = Part { queue: 1.0, queue_before: 0.0, cpu: 1.0 };

    fn of(times: Times) -> Part {
        let cpu = |of: Seen| times.part(of, |seen| seen.cpu_ns).unwrap_or(0.0);
        // Where the samples did not see it wait, it waited as it ran.
        let queue = |of: Seen| times.part(of, Seen::idle_ns).unwrap_or_else(|| cpu(of));
        Part { queue: queue(times.within), queue_before: queue(times.before), cpu: cpu(times.within) }
    }
}

/// The time that is compared, and what is on both sides of it.
#[derive(Clone, Copy, Default)]
struct Times {
    before: Seen,
    within: Seen,
    after: Seen,
}

impl Times {
    /// Parts of a whole: one of them may have more CPU than wall time, and takes nothing from the others. None: there is nothing of it.
    fn part(self, of: Seen, ns: fn(Seen) -> u64) -> Option<f64> {
        let all_ns = [self.before, self.within, self.after].into_iter().map(ns).fold(0, u64::saturating_add);
        (all_ns > 0).then(|| ns(of) as f64 / all_ns as f64)
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
    let kept = reading.kept.as_ref()?;
    let window = kept.window?;
    let mut seen: HashMap<ThreadIndex, Times> = HashMap::default();
    for moment in reading.moments.iter().chain(&kept.left_out) {
        let times = seen.entry(moment.thread).or_default();
        if moment.in_window {
            times.within.add(moment);
        } else if is_before(reading, window, moment) {
            times.before.add(moment);
        } else {
            times.after.add(moment);
        }
    }
    Some(seen.into_iter().map(|(thread, times)| (thread, Part::of(times))).collect())
}

/// Of a thread, by the kernel.
struct Told {
    queue_ns: f64,
    queue_before_ns: f64,
    cpu_ns: Option<f64>,
}

/// Of all threads of which it told the wait.
fn told(reading: &Reading) -> Vec<Told> {
    let parts = parts(reading);
    let threads = reading.threads.enumerate().filter_map(|(index, thread)| {
        let part = parts.as_ref().map_or(Part::ALL, |parts| parts.get(&index).copied().unwrap_or_default());
        let queue_ns = thread.cpu_queue_ns? as f64;
        Some(Told {
            queue_ns: queue_ns * part.queue,
            queue_before_ns: queue_ns * part.queue_before,
            cpu_ns: thread.cpu_ns.map(|cpu_ns| cpu_ns as f64 * part.cpu),
        })
    });
    threads.collect()
}

/// How long all threads together waited for a CPU.
#[derive(Clone, Copy, Default)]
pub struct Queue {
    /// Within the time that is compared.
    pub within_ns: f64,
    pub before_ns: f64,
}

#[must_use]
pub fn queue(reading: &Reading) -> Queue {
    told(reading).into_iter().fold(Queue::default(), |sum, one| Queue {
        within_ns: sum.within_ns + one.queue_ns,
        before_ns: sum.before_ns + one.queue_before_ns,
    })
}

/// The part of its time that a run was ready and had no CPU. None: the kernel did not tell.
#[must_use]
pub fn waited_for_cpu(reading: &Reading) -> Option<f64> {
    let threads = told(reading).into_iter().filter_map(|one| Some((one.queue_ns, one.cpu_ns?)));
    let (queue_ns, cpu_ns) = threads.reduce(|sum, one| (sum.0 + one.0, sum.1 + one.1))?;
    Some(if queue_ns > 0.0 { queue_ns / (queue_ns + cpu_ns) } else { 0.0 })
}
