//! Which threads fought for the GIL, and what they got of it.
//! Owns: who has work of its own beside others, and whether somebody keeps the GIL while it waits. Never: decides how much waiting is much.

use foldhash::HashMap;

use super::facts::{Facts, ThreadAtWork};
use super::thresholds::GIL_OTHERS_MIN;
use crate::tables::profile::{ProcessIndex, Profile};
use crate::words::figures::share;

/// Threads that had work beside others: how many, their CPU, their waits for the GIL, and all time in which they had work.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fight {
    pub threads: u64,
    pub cpu_ns: u64,
    pub waited_ns: u64,
    pub wanting_ns: u64,
}

impl Facts {
    /// Of processes with more than one busy thread. Threads that only wait for the busy one are no fight: without them it is no faster. Where
    /// somebody keeps the GIL while it waits, one busy thread is enough.
    pub fn fight(&self, profile: &Profile) -> Fight {
        let mut processes: HashMap<ProcessIndex, Vec<ThreadAtWork>> = HashMap::default();
        for (thread, at_work) in self.threads.iter().filter(|(_, at_work)| at_work.has_python) {
            processes.entry(profile.threads[*thread].process).or_default().push(*at_work);
        }
        let is_kept = self.gil_threads() > 1 && self.is_gil_kept_in_waits();
        let mut fight = Fight::default();
        for threads in processes.into_values() {
            let all_ns = sum(&threads, |thread| thread.cpu_ns);
            let busiest_ns = threads.iter().map(|thread| thread.cpu_ns).max().unwrap_or(0);
            if is_kept || share(all_ns.saturating_sub(busiest_ns), all_ns) >= GIL_OTHERS_MIN {
                fight.add(&threads);
            }
        }
        fight
    }

    /// One thread waited for the GIL for clearly longer than all threads ran or waited for a CPU: meanwhile somebody held it and did neither.
    pub fn is_gil_kept_in_waits(&self) -> bool {
        let longest_ns = self.threads.values().map(|thread| thread.gil_wait_ns).max().unwrap_or(0);
        let at_work_ns = self.wanting_ns.saturating_sub(self.gil_wait_ns);
        at_work_ns <= longest_ns / 4 * 3
    }

    /// One thread waited for the GIL for most of the time, while nobody worked.
    pub fn waits_for_gil(&self, wall_ns: u64) -> bool {
        let longest_ns = self.threads.values().map(|thread| thread.gil_wait_ns).max().unwrap_or(0);
        self.is_gil_kept_in_waits() && longest_ns > wall_ns / 2
    }

    /// Threads that waited for the GIL for a hundredth of all that waiting, or more.
    fn gil_threads(&self) -> usize {
        let waited = self.threads.values().map(|thread| thread.gil_wait_ns).filter(|wait_ns| *wait_ns > 0);
        waited.filter(|wait_ns| *wait_ns >= self.gil_wait_ns / 100).count()
    }
}

impl Fight {
    /// A thread that had work for less than a tenth of an equal part is no fighter.
    fn add(&mut self, threads: &[ThreadAtWork]) {
        let all_ns = u128::from(sum(threads, |thread| thread.wanting_ns));
        let is_fighter = |thread: &&ThreadAtWork| {
            thread.wanting_ns > 0 && u128::from(thread.wanting_ns) * 10 * threads.len() as u128 >= all_ns
        };
        let fighters: Vec<ThreadAtWork> = threads.iter().filter(is_fighter).copied().collect();
        self.threads = self.threads.saturating_add(fighters.len() as u64);
        self.cpu_ns = self.cpu_ns.saturating_add(sum(&fighters, |thread| thread.cpu_ns));
        self.waited_ns = self.waited_ns.saturating_add(sum(&fighters, |thread| thread.gil_wait_ns));
        self.wanting_ns = self.wanting_ns.saturating_add(sum(&fighters, |thread| thread.wanting_ns));
    }
}

/// A damaged recording may hold any number.
fn sum(threads: &[ThreadAtWork], part_ns: impl Fn(&ThreadAtWork) -> u64) -> u64 {
    threads.iter().map(part_ns).fold(0, u64::saturating_add)
}
