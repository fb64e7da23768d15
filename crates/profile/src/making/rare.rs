//! A call tree that a page has room for: calls that are rarer than a share become one mark below their caller.
//! Owns: which calls are rare. Keeps: what each call that stays weighs in total; what all weigh together; a caller's own time.

use crate::tables::profile::{FrameIndex, NodeIndex, Profile, SampleGroup};
use crate::tables::stacks::{Nodes, mark, regroup};
use crate::tables::table::{Table, TableIndex};

/// Calls of which anything is kept: a filter leaves the tables as they are.
pub fn kept_calls(profile: &Profile) -> usize {
    is_kept(profile).into_iter().filter(|is_kept| *is_kept).count()
}

/// Of each node: whether it or a node below it has a sample.
fn is_kept(profile: &Profile) -> Vec<bool> {
    let mut is_kept = vec![false; profile.nodes.len()];
    for node in profile.samples.iter().filter_map(|group| group.node) {
        is_kept[node.position()] = true;
    }
    for (index, node) in profile.nodes.enumerate().rev() {
        if let Some(parent) = node.parent {
            is_kept[parent.position()] |= is_kept[index.position()];
        }
    }
    is_kept
}

/// What became marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rare {
    pub nodes: usize,
    /// Of running threads.
    pub samples: u64,
    pub cpu_ns: u64,
    pub wall_ns: u64,
}

/// A call is rare if its part of the samples, of the CPU time and of the wall time is below `share` each. `name`: of the marks.
/// For whoever only writes the tables out afterwards: what else refers to nodes (weights, steps, waits for locks) is taken away.
pub fn join_rare(profile: &mut Profile, share: f64, name: &str) -> Rare {
    let (totals, is_kept_at_all) = (totals(profile), is_kept(profile));
    let whole = profile.samples.iter().fold([0_u64; 3], |sum, group| added(sum, of_group(group)));
    let is_kept = |total: &[u64; 3]| {
        total.iter().zip(whole).any(|(part, whole)| *part as f64 >= share * whole as f64 && *part > 0)
    };
    let mut rare = Rare::default();
    let rare_frame = mark(profile, name);
    let mut nodes = Nodes::default();
    // Of a rare node: the mark below its nearest caller that is kept.
    let mut new_of: Vec<(NodeIndex, bool)> = Vec::with_capacity(profile.nodes.len());
    for (index, node) in profile.nodes.enumerate() {
        let parent = node.parent.map(|parent| new_of[parent.position()]);
        new_of.push(match parent {
            Some((above, false)) => (above, false),
            parent if is_kept(&totals[index.position()]) => {
                (nodes.node(parent.map(|(above, _)| above), node.frame), true)
            }
            parent => (nodes.node(parent.map(|(above, _)| above), rare_frame), false),
        });
    }
    rare.nodes = new_of.iter().zip(is_kept_at_all).filter(|((_, is_kept), is_there)| !is_kept && *is_there).count();
    for group in &profile.samples {
        if group.node.is_some_and(|node| !new_of[node.position()].1) {
            let [samples, cpu_ns, wall_ns] = added([rare.samples, rare.cpu_ns, rare.wall_ns], of_group(group));
            rare = Rare { samples, cpu_ns, wall_ns, ..rare };
        }
    }
    regroup(profile, |_, node| new_of[node.position()].0);
    profile.nodes = nodes.table;
    (profile.weights, profile.steps, profile.lock_waits, profile.stack_depths) = Default::default();
    drop_unused_frames(profile);
    rare
}

/// Samples of running threads, CPU and wall time of each node and all below it.
fn totals(profile: &Profile) -> Vec<[u64; 3]> {
    let mut totals = vec![[0; 3]; profile.nodes.len()];
    for group in &profile.samples {
        if let Some(node) = group.node {
            let total = &mut totals[node.position()];
            *total = added(*total, of_group(group));
        }
    }
    for (index, node) in profile.nodes.enumerate().rev() {
        if let Some(parent) = node.parent {
            totals[parent.position()] = added(totals[parent.position()], totals[index.position()]);
        }
    }
    totals
}

fn of_group(group: &SampleGroup) -> [u64; 3] {
    let samples = if group.state.is_running() { group.samples } else { 0 };
    [samples, group.cpu_ns, group.wall_ns]
}

fn added(one: [u64; 3], other: [u64; 3]) -> [u64; 3] {
    std::array::from_fn(|at| one[at].saturating_add(other[at]))
}

fn drop_unused_frames(profile: &mut Profile) {
    let mut new_of: Vec<Option<FrameIndex>> = vec![None; profile.frames.len()];
    let mut frames = Table::default();
    for node in profile.nodes.iter_mut() {
        let at = node.frame.position();
        node.frame = *new_of[at].get_or_insert_with(|| frames.push(profile.frames[node.frame].clone()));
    }
    profile.frames = frames;
}
