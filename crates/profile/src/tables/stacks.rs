//! Stacks made anew: nodes that are told apart by their parent and frame, and groups of samples that lie on the new nodes.
//! Keeps: no two nodes under one parent have the same frame; the groups add up to what they added up to before.

use foldhash::HashMap;

use genba_format::state::State;

use crate::tables::profile::{
    ContextIndex, Frame, FrameIndex, FrameKind, Function, Home, Node, NodeIndex, Profile, SampleGroup, ThreadIndex,
};
use crate::tables::table::Table;

#[derive(Default)]
pub struct Nodes {
    pub table: Table<NodeIndex, Node>,
    known: HashMap<(Option<NodeIndex>, FrameIndex), NodeIndex>,
}

impl Nodes {
    pub fn node(&mut self, parent: Option<NodeIndex>, frame: FrameIndex) -> NodeIndex {
        *self.known.entry((parent, frame)).or_insert_with(|| self.table.push(Node { parent, frame }))
    }
}

/// A frame that is none: words about the stack.
pub fn mark(profile: &mut Profile, words: &str) -> FrameIndex {
    let function = profile.functions.push(Function { name: words.to_owned(), home: Home::Mark });
    profile.frames.push(Frame { function, kind: FrameKind::Mark, location: None, expression: None, c_line: None })
}

impl SampleGroup {
    /// Without samples yet.
    #[must_use]
    pub const fn of(
        node: Option<NodeIndex>,
        thread: ThreadIndex,
        state: State,
        context: Option<ContextIndex>,
        in_window: bool,
    ) -> SampleGroup {
        SampleGroup {
            node,
            thread,
            state,
            context,
            in_window,
            samples: 0,
            ticks: 0,
            cpu_ns: 0,
            cpu_us2: 0,
            wall_ns: 0,
            copied_bytes: 0,
            copied_kib2: 0,
            copies: 0,
            allocated_bytes: 0,
            allocated_kib2: 0,
            allocations: 0,
            waits: 0,
            beside_native_ns: 0,
        }
    }
}

/// Puts the samples and their moments on new nodes, and adds up the groups that are one then.
pub fn regroup(profile: &mut Profile, mut node_of: impl FnMut(&mut Profile, NodeIndex) -> NodeIndex) {
    for position in 0..profile.moments.len() {
        let node = profile.moments[position].node.map(|node| node_of(profile, node));
        profile.moments[position].node = node;
    }
    let mut position_of = HashMap::default();
    let mut groups: Vec<SampleGroup> = Vec::new();
    for group in std::mem::take(&mut profile.samples) {
        let node = group.node.map(|node| node_of(profile, node));
        let key = (node, group.thread, group.state, group.context, group.in_window);
        let position = *position_of.entry(key).or_insert(groups.len());
        match groups.get_mut(position) {
            None => groups.push(SampleGroup { node, ..group }),
            Some(sum) => {
                sum.samples = sum.samples.saturating_add(group.samples);
                sum.ticks = sum.ticks.saturating_add(group.ticks);
                sum.cpu_ns = sum.cpu_ns.saturating_add(group.cpu_ns);
                sum.cpu_us2 = sum.cpu_us2.saturating_add(group.cpu_us2);
                sum.wall_ns = sum.wall_ns.saturating_add(group.wall_ns);
                sum.copied_bytes = sum.copied_bytes.saturating_add(group.copied_bytes);
                sum.copied_kib2 = sum.copied_kib2.saturating_add(group.copied_kib2);
                sum.copies = sum.copies.saturating_add(group.copies);
                sum.allocated_bytes = sum.allocated_bytes.saturating_add(group.allocated_bytes);
                sum.allocated_kib2 = sum.allocated_kib2.saturating_add(group.allocated_kib2);
                sum.allocations = sum.allocations.saturating_add(group.allocations);
                sum.waits = sum.waits.saturating_add(group.waits);
                sum.beside_native_ns = sum.beside_native_ns.saturating_add(group.beside_native_ns);
            }
        }
    }
    profile.samples = groups;
}
