//! The accounting of one process: ticks added up over its blocks, clocks as its last block says them, and block by block what no sample holds.
//! Never: repairs a number; what does not add up is for `genba check` to say.

use foldhash::HashMap;
use std::collections::BTreeMap;

use genba_format::measure::{self, Measure, Totals};
use genba_format::{QUANTUM_NS, proto};

use crate::tables::profile::{Accounting, Clocks, Unsampled, is_of_genba};
use crate::tables::stored::Stored;

pub fn of(stored: &Stored) -> (Accounting, Clocks, BTreeMap<Measure, Totals>) {
    let mut accounting = Accounting::default();
    let mut measures = BTreeMap::new();
    let mut clocks = Clocks::default();
    // A process that is not sampled has no clocks, so nothing passed before them.
    let cpu_before_ns = stored.start().map_or(0, |start| start.cpu_before_ns);
    // What a program did before it began the recording itself is not part of it.
    let is_within = stored.start().is_some_and(|start| start.within);
    let (left_out_ns, cpu_before_ns) = if is_within { (cpu_before_ns, 0) } else { (0, cpu_before_ns) };
    let mut own_threads = OwnThreads::default();
    for block in stored.blocks.iter().filter_map(|read| read.block.accounting.as_ref()) {
        let own_ns = own_threads.until(stored, block).min(block.cpu_not_sampled_ns.saturating_sub(left_out_ns));
        accounting.ticks = accounting.ticks.saturating_add(block.ticks);
        accounting.sampled = accounting.sampled.saturating_add(block.sampled);
        for count in &block.dropped {
            add(&mut accounting.dropped, count);
        }
        for count in &block.refused {
            add(&mut accounting.refused, count);
        }
        clocks = Clocks {
            cpu_ns: block.cpu_process_ns.saturating_sub(left_out_ns),
            cpu_sampled_ns: block.cpu_sampled_ns,
            cpu_lost_ns: 0,
            cpu_not_sampled_ns: block.cpu_not_sampled_ns.saturating_sub(left_out_ns) - own_ns,
            cpu_genba_ns: block.cpu_genba_ns.saturating_add(own_ns),
            cpu_before_ns,
            wall_not_sampled_ns: block.wall_not_sampled_ns,
            handler_ns: block.handler_ns,
            handler_runs: block.handler_runs,
            cpu_not_recorded_ns: 0,
        };
        measures.extend(measure::totals(block).filter(|(measure, _)| *measure != Measure::Cpu));
    }
    clocks.cpu_lost_ns = lost_ns(stored);
    (accounting, clocks, measures)
}

/// Of the sampled CPU, what no sample of the blocks that are here has: over each gap, as the clocks at its two sides tell.
fn lost_ns(stored: &Stored) -> u64 {
    let (mut lost_ns, mut held_ns, mut told_ns, mut expected) = (0_u64, 0_u64, 0, 0);
    let mut is_gap = false;
    for read in &stored.blocks {
        is_gap |= read.header.sequence != expected;
        expected = read.header.sequence.saturating_add(1);
        if is_gap && let Some(samples) = &read.samples {
            let ns = samples.cpu_quanta.sum().saturating_mul(u128::from(QUANTUM_NS));
            held_ns = held_ns.saturating_add(u64::try_from(ns).unwrap_or(u64::MAX));
        }
        let Some(accounting) = &read.block.accounting else { continue };
        let sampled_ns = accounting.cpu_sampled_ns.saturating_sub(told_ns);
        told_ns = accounting.cpu_sampled_ns;
        if std::mem::take(&mut is_gap) {
            lost_ns = lost_ns.saturating_add(sampled_ns.saturating_sub(std::mem::take(&mut held_ns)));
        }
    }
    lost_ns
}

/// The CPU of the threads that genba makes beside the one that samples: genba's own, although the blocks tell it with the program's.
#[derive(Default)]
struct OwnThreads {
    cpu_ns: HashMap<u32, u64>,
}

impl OwnThreads {
    /// Up to the end of the next block.
    fn until(&mut self, stored: &Stored, block: &proto::Accounting) -> u64 {
        for clock in &block.thread_clocks {
            let name = stored.threads.get(clock.thread).and_then(|thread| stored.string(thread.name));
            if name.is_some_and(|name| is_of_genba(&name, clock.cpu_ns, clock.cpu_not_sampled_ns)) {
                self.cpu_ns.insert(clock.thread, clock.cpu_ns);
            } else {
                self.cpu_ns.remove(&clock.thread);
            }
        }
        self.cpu_ns.values().fold(0, |sum, cpu_ns| sum.saturating_add(*cpu_ns))
    }
}

/// `at`: turns CLOCK_MONOTONIC into the time since the recording began.
pub fn over_time(stored: &Stored, at: impl Fn(u64) -> u64) -> Vec<Unsampled> {
    let signed = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
    // What passed before is no time of the recording.
    let mut known_ns = stored.start().map_or(0, |start| start.cpu_before_ns);
    // Of a block that was lost, the next one tells.
    let mut told_ns = None;
    let mut own_threads = OwnThreads::default();
    let told = stored.blocks.iter().filter_map(|read| Some((&read.header, read.block.accounting.as_ref()?)));
    let unsampled = told.map(|(header, accounting)| {
        let lost = accounting.dropped.iter().chain(&accounting.refused);
        let start_ns = told_ns.replace(header.end_ns).unwrap_or(header.start_ns);
        let own_ns = own_threads.until(stored, accounting);
        let not_sampled_ns = accounting.cpu_not_sampled_ns.saturating_sub(own_ns);
        let before_ns = std::mem::replace(&mut known_ns, not_sampled_ns);
        Unsampled {
            start_ns: at(start_ns),
            end_ns: at(header.end_ns),
            cpu_ns: signed(not_sampled_ns) - signed(before_ns),
            ticks: accounting.ticks,
            lost_ticks: lost.fold(0, |sum: u64, count| sum.saturating_add(count.ticks)),
        }
    });
    unsampled.collect()
}

fn add(reasons: &mut BTreeMap<String, u64>, count: &proto::Count) {
    let ticks = reasons.entry(count.reason.clone()).or_default();
    *ticks = ticks.saturating_add(count.ticks);
}
