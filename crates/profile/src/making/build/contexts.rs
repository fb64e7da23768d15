//! The contexts of a process, and what measures other than CPU and wall time gave in them.
//! Owns: stored rows into rows of the profile. Never: looks for what a lost block took away.

use foldhash::HashMap;

use genba_format::context::ContextKind;
use genba_format::measure::Measure;
use genba_format::proto;
use genba_format::state::State;

use crate::making::build::stacks::Stacks;
use crate::tables::profile::{Context, ContextIndex, ProcessIndex, Profile, SampleGroup, ThreadIndex, WeightGroup};
use crate::tables::stored::Stored;
use crate::tables::window::Window;

/// Which row each stored context is. The same one is written again under another index when the writer forgot it.
#[derive(Default)]
pub struct Contexts {
    index_of: HashMap<u32, ContextIndex>,
}

impl Contexts {
    pub fn add(stored: &Stored, process: ProcessIndex, profile: &mut Profile) -> Contexts {
        let known = profile.contexts.enumerate().filter(|(_, context)| context.process == process);
        let mut row_of: HashMap<Context, ContextIndex> =
            known.map(|(index, context)| (context.clone(), index)).collect();
        let mut contexts = Contexts::default();
        for (index, row) in stored.contexts.iter() {
            let context = Context {
                process,
                kind: ContextKind::from_stored(row.kind),
                name: stored.string(row.name).unwrap_or_default(),
                // It stands before its children.
                parent: contexts.get(row.parent),
            };
            let known = row_of.entry(context.clone()).or_insert_with(|| profile.contexts.push(context));
            contexts.index_of.insert(index, *known);
        }
        contexts
    }

    /// Of a stored index + 1; 0: none.
    pub fn get(&self, stored: u32) -> Option<ContextIndex> {
        self.index_of.get(&stored.checked_sub(1)?).copied()
    }
}

/// Puts copied and allocated bytes into the groups of samples, so that each view has them: with the running ones of the same stack.
/// `window`: in the processes' clock. A block's bytes lie where the block ends.
pub fn counted(
    stored: &Stored,
    threads: &HashMap<u32, ThreadIndex>,
    contexts: &Contexts,
    window: Option<Window>,
    stacks: &mut Stacks,
    profile: &mut Profile,
) {
    let mut group_of: HashMap<_, usize> = HashMap::default();
    for read in &stored.blocks {
        let in_window = window.is_none_or(|window| window.holds(read.header.end_ns));
        for weights in &read.block.weights {
            let measure = Measure::from_stored(weights.kind);
            if !matches!(measure, Measure::Copied | Measure::Allocated) {
                continue;
            }
            for (row, thread) in weights.thread.iter().enumerate() {
                let Some(&thread) = threads.get(thread).filter(|_| weights.weight[row] > 0) else { continue };
                let node = weights.node[row].checked_sub(1).map(|leaf| stacks.node(leaf, profile));
                let context = weights.context.get(row).and_then(|&context| contexts.get(context));
                let key = (thread, node, context, in_window);
                let position = *group_of.entry(key).or_insert_with(|| {
                    let group = |group: &SampleGroup| {
                        (group.thread, group.node, group.context, group.in_window) == key
                            && group.state == State::Running
                    };
                    profile.samples.iter().position(group).unwrap_or_else(|| {
                        profile.samples.push(SampleGroup::of(node, thread, State::Running, context, in_window));
                        profile.samples.len() - 1
                    })
                });
                let group = &mut profile.samples[position];
                let variance_kib2 = weights.variance_kib2.get(row).copied().unwrap_or(0);
                if measure == Measure::Copied {
                    group.copied_kib2 = group.copied_kib2.saturating_add(variance_kib2);
                    group.copied_bytes = group.copied_bytes.saturating_add(weights.weight[row]);
                    group.copies = group.copies.saturating_add(weights.count[row]);
                } else {
                    group.allocated_bytes = group.allocated_bytes.saturating_add(weights.weight[row]);
                    group.allocated_kib2 = group.allocated_kib2.saturating_add(variance_kib2);
                    group.allocations = group.allocations.saturating_add(weights.count[row]);
                }
            }
        }
    }
}

/// Adds up what each measure gave.
pub fn weights(
    stored: &Stored,
    threads: &HashMap<u32, ThreadIndex>,
    contexts: &Contexts,
    stacks: &mut Stacks,
    profile: &mut Profile,
) {
    let mut position_of = HashMap::default();
    for weights in stored.blocks.iter().flat_map(|read| &read.block.weights) {
        let proto::Weights { kind, thread, node, context, count, weight, variance_kib2: _ } = weights;
        for (row, thread) in thread.iter().enumerate() {
            let Some(&thread) = threads.get(thread) else { continue };
            let measure = Measure::from_stored(*kind);
            let node = node[row].checked_sub(1).map(|leaf| stacks.node(leaf, profile));
            let context = context.get(row).and_then(|&context| contexts.get(context));
            let position = *position_of.entry((measure, thread, node, context)).or_insert_with(|| {
                profile.weights.push(WeightGroup { measure, thread, node, context, count: 0, weight: 0 });
                profile.weights.len() - 1
            });
            let sum = &mut profile.weights[position];
            sum.count = sum.count.saturating_add(count[row]);
            sum.weight = sum.weight.saturating_add(weight[row]);
        }
    }
}
