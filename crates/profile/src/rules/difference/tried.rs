//! What `genba gc try` measures: runs of a program as it is and with another threshold, in pairs.
//! Owns: what counts of a run, and the sums of each side. Never: judges a difference (paired.rs does); says why a program became faster.

use crate::rules::collections::{Sum, Summary};
use crate::rules::difference::paired::Paired;
use crate::tables::profile::{Profile, Reason};

/// One run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Run {
    pub wall_ns: u64,
    /// Of all processes, without genba's threads.
    pub cpu_ns: u64,
    /// Of the process that was largest; 0: not known.
    pub resident_bytes: u64,
    pub collections: Sum,
    /// Those that ran before they were recorded, and those for which there was no room.
    pub not_recorded: u64,
    pub processes: u64,
    /// Collections that the interpreter began at another threshold than the one that was asked for.
    pub at_other_threshold: u64,
}

impl Run {
    /// `threshold`: the first that was asked for.
    #[must_use]
    pub fn of(profile: &Profile, summary: &Summary, threshold: Option<u64>) -> Run {
        let clocks = profile.clocks();
        let is_other = |row: &&crate::tables::profile::Collection| {
            row.reason == Reason::Threshold && threshold.is_some_and(|asked| row.threshold != asked)
        };
        Run {
            wall_ns: profile.wall_ns(),
            cpu_ns: clocks.cpu_ns.saturating_sub(clocks.cpu_genba_ns).saturating_add(clocks.cpu_not_recorded_ns),
            resident_bytes: profile.resident_max().map_or(0, |resident| resident.max_bytes),
            collections: summary.all,
            not_recorded: summary.before.saturating_add(summary.lost),
            processes: profile.processes.len() as u64,
            at_other_threshold: profile.collections.iter().filter(is_other).count() as u64,
        }
    }
}

/// Per run of a side.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Side {
    pub collections: f64,
    pub pause_ns: f64,
    /// Of all runs.
    pub longest_ns: u64,
    pub collected: f64,
    pub not_recorded: f64,
    pub resident_bytes: f64,
}

impl Side {
    fn of<'r>(runs: impl Iterator<Item = &'r Run> + Clone) -> Side {
        let count = runs.clone().count().max(1) as f64;
        let mean = |value: &dyn Fn(&Run) -> u64| runs.clone().map(|run| value(run) as f64).sum::<f64>() / count;
        Side {
            collections: mean(&|run| run.collections.collections),
            pause_ns: mean(&|run| run.collections.pause_ns),
            longest_ns: runs.clone().map(|run| run.collections.longest_ns).max().unwrap_or(0),
            collected: mean(&|run| run.collections.collected),
            not_recorded: mean(&|run| run.not_recorded),
            resident_bytes: mean(&|run| run.resident_bytes),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Tried {
    /// As `gc.set_threshold` gets it; empty: unchanged.
    pub threshold: Vec<u32>,
    pub freeze: bool,
    /// Before and after.
    pub pairs: Vec<(Run, Run)>,
    pub wall: Paired,
    pub cpu: Paired,
    pub before: Side,
    pub after: Side,
}

impl Tried {
    /// None: too few pairs.
    #[must_use]
    pub fn of(threshold: Vec<u32>, freeze: bool, pairs: Vec<(Run, Run)>) -> Option<Tried> {
        const MEASURES: usize = 2;
        let paired = |value: &dyn Fn(&Run) -> u64| {
            let pairs: Vec<_> =
                pairs.iter().map(|(before, after)| (value(before) as f64, value(after) as f64)).collect();
            Paired::of(&pairs, MEASURES)
        };
        let (wall, cpu) = (paired(&|run| run.wall_ns)?, paired(&|run| run.cpu_ns)?);
        let before = Side::of(pairs.iter().map(|(before, _)| before));
        let after = Side::of(pairs.iter().map(|(_, after)| after));
        Some(Tried { threshold, freeze, pairs, wall, cpu, before, after })
    }

    /// `gc.set_threshold(10000)`, as the program would have it.
    #[must_use]
    pub fn calls(&self) -> Vec<String> {
        let numbers: Vec<String> = self.threshold.iter().map(u32::to_string).collect();
        let threshold = (!numbers.is_empty()).then(|| format!("gc.set_threshold({})", numbers.join(", ")));
        let freeze = self.freeze.then(|| "gc.freeze() before each fork".to_owned());
        threshold.into_iter().chain(freeze).collect()
    }

    /// Runs with the threshold in which the interpreter began collections at another one.
    #[must_use]
    pub fn runs_at_other_threshold(&self) -> u64 {
        self.pairs.iter().filter(|(_, after)| after.at_other_threshold > 0).count() as u64
    }

    #[must_use]
    pub fn has_forked(&self) -> bool {
        self.pairs.iter().any(|(_, after)| after.processes > 1)
    }
}
