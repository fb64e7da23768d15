//! Adds up the samples of a process: one group for each (stack, thread, state).
//! Owns: quanta into nanoseconds. Never: allocates per sample (most only find their
//! group and add to it); overflows on numbers that no program can have spent.

use std::collections::HashMap;

use genba_format::{QUANTUM_NS, proto};

use crate::build::stacks::Stacks;
use crate::profile::{NodeIndex, Profile, SampleGroup, Thread, ThreadIndex};
use crate::state::State;
use crate::stored::Stored;

/// Stored numbers; the node is index + 1, 0 for none.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    node: u32,
    thread: u32,
    state: u32,
}

#[derive(Clone, Copy, Default)]
struct Sum {
    samples: u64,
    ticks: u64,
    cpu_quanta: u64,
    wall_quanta: u64,
}

pub fn add(stored: &Stored, threads: &HashMap<u32, ThreadIndex>, stacks: &mut Stacks, profile: &mut Profile) {
    let mut position_of: HashMap<Key, usize> = HashMap::new();
    let mut sums: Vec<(Key, Sum)> = Vec::new();
    for samples in stored.blocks.iter().filter_map(|read| read.block.samples.as_ref()) {
        add_up(samples, &mut position_of, &mut sums);
    }

    let process = crate::table::TableIndex::new(profile.processes.len() - 1);
    let mut nameless: HashMap<u32, ThreadIndex> = HashMap::new();
    // Two stored stacks may be one here (other instructions of the same expression): add those up too.
    let mut group_of: HashMap<(Option<NodeIndex>, ThreadIndex, State), usize> = HashMap::new();
    for (key, sum) in sums {
        let node = key.node.checked_sub(1).map(|leaf| stacks.node(leaf, profile));
        let thread = threads.get(&key.thread).copied().unwrap_or_else(|| {
            *nameless.entry(key.thread).or_insert_with(|| {
                profile.threads.push(Thread {
                    process,
                    tid: None,
                    name: None,
                    start_ns: None,
                    cpu_ns: None,
                    cpu_not_sampled_ns: None,
                    ended: false,
                })
            })
        });
        let state = State::from_stored(key.state);
        let group = *group_of.entry((node, thread, state)).or_insert_with(|| {
            profile.samples.push(SampleGroup { node, thread, state, samples: 0, ticks: 0, cpu_ns: 0, wall_ns: 0 });
            profile.samples.len() - 1
        });
        let group = &mut profile.samples[group];
        group.samples = group.samples.saturating_add(sum.samples);
        group.ticks = group.ticks.saturating_add(sum.ticks);
        group.cpu_ns = group.cpu_ns.saturating_add(sum.cpu_quanta.saturating_mul(QUANTUM_NS));
        group.wall_ns = group.wall_ns.saturating_add(sum.wall_quanta.saturating_mul(QUANTUM_NS));
    }
}

fn add_up(samples: &proto::Samples, position_of: &mut HashMap<Key, usize>, sums: &mut Vec<(Key, Sum)>) {
    // The same stack often comes many times in a row.
    let mut last: Option<usize> = None;
    let keys = samples.node.iter().zip(&samples.thread).zip(&samples.state);
    let weights = samples.ticks.iter().zip(&samples.cpu_quanta).zip(&samples.wall_quanta);
    for (((node, thread), state), ((ticks, cpu_quanta), wall_quanta)) in keys.zip(weights) {
        let key = Key { node: *node, thread: *thread, state: *state };
        let position = match last {
            Some(position) if sums[position].0 == key => position,
            _ => *position_of.entry(key).or_insert_with(|| {
                sums.push((key, Sum::default()));
                sums.len() - 1
            }),
        };
        last = Some(position);
        let sum = &mut sums[position].1;
        sum.samples += 1;
        sum.ticks += u64::from(*ticks);
        sum.cpu_quanta = sum.cpu_quanta.saturating_add(*cpu_quanta);
        sum.wall_quanta = sum.wall_quanta.saturating_add(*wall_quanta);
    }
}
