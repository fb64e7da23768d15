//! Where stacks of Python alone belong among those with C. A thread that waits for a CPU tells its Python frames only: its registers are not to be had.
//! The same calls were mostly seen with their C functions, in other samples of the process. The stack is put there: one path of calls is one path in the tree.
//! Owns: which node with C a stack of Python alone continues. Never: says which C function such a sample was in; chooses between several paths of C.

use foldhash::HashMap;

use crate::making::build::stacks::Stacks;
use crate::tables::profile::{FrameIndex, FrameKind, FunctionIndex, NodeIndex, Profile};

/// A path of Python frames from the root, without the C functions between them; 0: the root.
type Path = u32;

const ROOT: Path = 0;
/// Nothing was seen below.
const UNSEEN: Path = u32::MAX;

/// As far as the samples tell: nothing yet, one thing, or several.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen<T> {
    One(T),
    Several,
}

impl<T: Copy + PartialEq> Seen<T> {
    fn and(&mut self, other: T) {
        if *self != Seen::One(other) {
            *self = Seen::Several;
        }
    }

    const fn only(self) -> Option<T> {
        match self {
            Seen::One(one) => Some(one),
            Seen::Several => None,
        }
    }
}

/// The paths of the stacks with C.
#[derive(Default)]
pub struct Paths {
    path_of: HashMap<NodeIndex, Path>,
    below: HashMap<(Path, FrameIndex), Path>,
    /// By path, from 1 on.
    nodes: Vec<Seen<NodeIndex>>,
    /// Below which node a function's frames are.
    parents: HashMap<(Path, FunctionIndex), Seen<Option<NodeIndex>>>,
}

impl Paths {
    /// Takes in a stack and those that it goes through.
    pub fn add(&mut self, leaf: NodeIndex, profile: &Profile) {
        let mut unknown = Vec::new();
        let mut next = Some(leaf);
        while let Some(node) = next.filter(|node| !self.path_of.contains_key(node)) {
            unknown.push(node);
            next = profile.nodes[node].parent;
        }
        let mut path = next.map_or(ROOT, |known| self.path_of[&known]);
        for node in unknown.into_iter().rev() {
            let frame = profile.nodes[node].frame;
            if profile.frames[frame].kind == FrameKind::Python {
                path = self.step(path, frame, node, profile);
            }
            self.path_of.insert(node, path);
        }
    }

    fn step(&mut self, path: Path, frame: FrameIndex, node: NodeIndex, profile: &Profile) -> Path {
        let parent = profile.nodes[node].parent;
        let parents = self.parents.entry((path, profile.frames[frame].function)).or_insert(Seen::One(parent));
        parents.and(parent);
        let nodes = &mut self.nodes;
        let step = *self.below.entry((path, frame)).or_insert_with(|| {
            nodes.push(Seen::One(node));
            nodes.len() as Path
        });
        self.nodes[step as usize - 1].and(node);
        step
    }

    /// The node of a stack of Python alone, outermost frame first.
    pub fn joined(&self, frames: &[FrameIndex], stacks: &mut Stacks, profile: &mut Profile) -> Option<NodeIndex> {
        let mut path = ROOT;
        let mut node = None;
        for &frame in frames {
            let known = self.below.get(&(path, frame)).copied();
            let seen = known.and_then(|step| self.nodes[step as usize - 1].only());
            node = Some(match seen {
                Some(seen) => seen,
                None => {
                    let function = profile.frames[frame].function;
                    let parents = self.parents.get(&(path, function)).copied();
                    stacks.child(parents.and_then(Seen::only).unwrap_or(node), frame, profile)
                }
            });
            path = known.filter(|_| seen.is_some()).unwrap_or(UNSEEN);
        }
        node
    }
}
