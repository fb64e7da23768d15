//! The garbage collections of a process, and what is known of its collector.
//! Owns: the reasons as they are stored. Never: judges one.

use foldhash::HashMap;

use genba_format::proto;

use crate::making::build::Clock;
use crate::making::build::stacks::Stacks;
use crate::tables::profile::{Collection, Collector, ProcessIndex, Profile, Reason, ThreadIndex};
use crate::tables::stored::Stored;

pub fn add(
    stored: &Stored,
    process: ProcessIndex,
    threads: &HashMap<u32, ThreadIndex>,
    clock: &Clock,
    stacks: &mut Stacks,
    profile: &mut Profile,
) {
    for row in stored.blocks.iter().flat_map(|read| &read.block.collections) {
        let node = row.node.checked_sub(1).map(|leaf| stacks.node(leaf, profile));
        profile.collections.push(Collection {
            process,
            thread: row.thread.checked_sub(1).and_then(|thread| threads.get(&thread)).copied(),
            node,
            at_ns: clock.at(row.start_ns),
            pause_ns: row.pause_ns,
            generation: row.generation,
            reason: reason(row.reason),
            examined: row.examined.checked_sub(1),
            collected: row.collected,
            uncollectable: row.uncollectable,
            young: row.young,
            threshold: row.threshold,
        });
    }
    for told in stored.blocks.iter().filter_map(|read| read.block.collector.as_ref()) {
        match profile.collectors.iter_mut().find(|collector| collector.process == process) {
            Some(known) => {
                known.lost = known.lost.saturating_add(told.lost);
                known.is_incremental |= told.incremental;
                if known.before.is_empty() {
                    known.before.clone_from(&told.before);
                }
            }
            None => profile.collectors.push(Collector {
                process,
                before: told.before.clone(),
                lost: told.lost,
                is_incremental: told.incremental,
            }),
        }
    }
}

fn reason(stored: i32) -> Reason {
    match proto::CollectionReason::try_from(stored) {
        Ok(proto::CollectionReason::Threshold) => Reason::Threshold,
        Ok(proto::CollectionReason::Explicit) => Reason::Explicit,
        Ok(proto::CollectionReason::CCall) => Reason::CCall,
        Ok(proto::CollectionReason::Shutdown) => Reason::Shutdown,
        Ok(proto::CollectionReason::Unknown) | Err(_) => Reason::Unknown,
    }
}
