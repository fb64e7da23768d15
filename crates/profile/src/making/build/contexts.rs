//! The contexts of a process, and what measures other than CPU and wall time gave in them.
//! Owns: stored rows into rows of the profile. Never: looks for what a lost block took away.

use std::collections::HashMap;

use genba_format::context::ContextKind;
use genba_format::measure::Measure;
use genba_format::proto;

use crate::making::build::stacks::Stacks;
use crate::tables::profile::{Context, ContextIndex, ProcessIndex, Profile, ThreadIndex, WeightGroup};
use crate::tables::stored::Stored;

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

/// Adds up what each measure gave.
pub fn weights(
    stored: &Stored,
    threads: &HashMap<u32, ThreadIndex>,
    contexts: &Contexts,
    stacks: &mut Stacks,
    profile: &mut Profile,
) {
    let mut position_of = HashMap::new();
    for weights in stored.blocks.iter().flat_map(|read| &read.block.weights) {
        let proto::Weights { kind, thread, node, context, count, weight } = weights;
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
