//! "The user's own code": where a process ran next to none, libraries take its place, and where there are next to none of those, the standard
//! library.
//! Owns: how much is next to none. Never: asks one sample; what was seen once may not be seen in the next run.

use std::collections::HashMap;

use crate::event_loop::EventLoop;
use crate::own_code::own_code;
use crate::owner::Owner;
use crate::profile::{
    File, FileIndex, Frame, FrameIndex, Function, FunctionIndex, Home, Node, NodeIndex, ProcessIndex, Profile,
};

/// Of the time in which Python was on the stack.
const NEXT_TO_NONE: f64 = 0.1;

/// To be called once, when all recordings are together: a line of a program has one owner.
#[must_use]
pub fn promoted(mut profile: Profile) -> Profile {
    let decisions = decisions(&profile);
    let mut different = decisions.values();
    let first = different.next().copied().flatten();
    if different.any(|other| *other != first) {
        apart(&mut profile, &decisions);
    } else if let Some(owner) = first {
        for file in profile.files.iter_mut().filter(|file| is_promoted(file, owner)) {
            file.owner = Owner::User;
        }
    }
    profile
}

fn is_promoted(file: &File, owner: Owner) -> bool {
    file.owner == owner && !file.path.starts_with("<frozen ")
}

#[derive(Default)]
struct Sums {
    python: f64,
    own: f64,
    library: f64,
}

/// Whose code takes the place of the user's own, for each process with Python.
fn decisions(profile: &Profile) -> HashMap<ProcessIndex, Option<Owner>> {
    let event_loop = EventLoop::of(profile);
    let mut stacks: HashMap<Option<NodeIndex>, Option<(bool, bool)>> = HashMap::new();
    // By CPU; a process that only waited by its wall time.
    let mut sums: HashMap<ProcessIndex, [Sums; 2]> = HashMap::new();
    for group in &profile.samples {
        let seen = stacks.entry(group.node).or_insert_with(|| {
            let own = own_code(profile, &event_loop, group.node);
            own.deepest?;
            Some((!own.frames.is_empty(), has_library(profile, group.node)))
        });
        let Some((has_own, has_library)) = *seen else { continue };
        let of_process = sums.entry(profile.threads[group.thread].process).or_default();
        for (sums, weight) in of_process.iter_mut().zip([group.cpu_ns, group.wall_ns]) {
            let weight = weight as f64;
            sums.python += weight;
            sums.own += if has_own { weight } else { 0.0 };
            sums.library += if has_library { weight } else { 0.0 };
        }
    }
    let decision = |[cpu, wall]: [Sums; 2]| {
        let sums = if cpu.python > 0.0 { cpu } else { wall };
        let has = |part: f64| part >= NEXT_TO_NONE * sums.python;
        match () {
            () if has(sums.own) => None,
            () if has(sums.library) => Some(Owner::Library),
            () => Some(Owner::Stdlib),
        }
    };
    sums.into_iter().map(|(process, sums)| (process, decision(sums))).collect()
}

fn has_library(profile: &Profile, leaf: Option<NodeIndex>) -> bool {
    profile.stack(leaf).any(|frame| match profile.function_of(frame).home {
        Home::Python { file, .. } => profile.files[file].owner == Owner::Library,
        Home::C { .. } | Home::Mark => false,
    })
}

/// Gives the processes whose libraries count as own code rows of their own for these.
fn apart(profile: &mut Profile, decisions: &HashMap<ProcessIndex, Option<Owner>>) {
    let mut copies: HashMap<Owner, Copies> = HashMap::new();
    for position in 0..profile.samples.len() {
        let group = &profile.samples[position];
        let process = profile.threads[group.thread].process;
        let (Some(leaf), Some(Some(owner))) = (group.node, decisions.get(&process)) else { continue };
        let leaf = copies.entry(*owner).or_default().node(leaf, *owner, profile);
        profile.samples[position].node = Some(leaf);
    }
}

/// What stands for a row in processes with one decision.
#[derive(Default)]
struct Copies {
    files: HashMap<FileIndex, FileIndex>,
    functions: HashMap<FunctionIndex, FunctionIndex>,
    frames: HashMap<FrameIndex, FrameIndex>,
    nodes: HashMap<NodeIndex, NodeIndex>,
    children: HashMap<(Option<NodeIndex>, FrameIndex), NodeIndex>,
}

impl Copies {
    fn node(&mut self, leaf: NodeIndex, owner: Owner, profile: &mut Profile) -> NodeIndex {
        let mut unknown = Vec::new();
        let mut next = Some(leaf);
        while let Some(node) = next.filter(|node| !self.nodes.contains_key(node)) {
            unknown.push(node);
            next = profile.nodes[node].parent;
        }
        for node in unknown.into_iter().rev() {
            let Node { parent, frame } = profile.nodes[node];
            let copied = (parent.map(|parent| self.nodes[&parent]), self.frame(frame, owner, profile));
            let found = match copied == (parent, frame) {
                true => node,
                false => *self.children.entry(copied).or_insert_with(|| {
                    profile.nodes.push(Node { parent: copied.0, frame: copied.1 })
                }),
            };
            self.nodes.insert(node, found);
        }
        self.nodes[&leaf]
    }

    fn frame(&mut self, frame: FrameIndex, owner: Owner, profile: &mut Profile) -> FrameIndex {
        if let Some(known) = self.frames.get(&frame) {
            return *known;
        }
        let row = profile.frames[frame].clone();
        let function = self.function(row.function, owner, profile);
        let copied = match function == row.function {
            true => frame,
            false => profile.frames.push(Frame { function, ..row }),
        };
        *self.frames.entry(frame).or_insert(copied)
    }

    fn function(&mut self, function: FunctionIndex, owner: Owner, profile: &mut Profile) -> FunctionIndex {
        if let Some(known) = self.functions.get(&function) {
            return *known;
        }
        let row = profile.functions[function].clone();
        let copied = match row.home {
            Home::Python { file, first_line, table_bytes } if is_promoted(&profile.files[file], owner) => {
                let file = *self.files.entry(file).or_insert_with(|| {
                    let row = profile.files[file].clone();
                    profile.files.push(File { owner: Owner::User, ..row })
                });
                profile.functions.push(Function { home: Home::Python { file, first_line, table_bytes }, ..row })
            }
            _ => function,
        };
        *self.functions.entry(function).or_insert(copied)
    }
}
