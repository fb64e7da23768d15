//! "The user's own code": where a process ran next to none, libraries take its place, and where there are next to none of those, the standard
//! library. Where it ran some that is in files, texts (`python -c`, `exec`) are no part of it.
//! Owns: how much is next to none. Never: asks one sample; what was seen once may not be seen in the next run.

use foldhash::HashMap;

use crate::tables::own_code::event_loop::EventLoop;
use crate::tables::own_code::own_code;
use crate::tables::owner::{self, Owner};
use crate::tables::profile::{
    File, FileIndex, Frame, FrameIndex, Function, FunctionIndex, Home, LockWait, Moment, Node, NodeIndex, ProcessIndex,
    Profile, SampleGroup, StackDepth, Step, ThreadIndex, WeightGroup,
};

/// Of the time in which Python was on the stack.
const NEXT_TO_NONE: f64 = 0.1;

/// Which files of a process change their owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Decision {
    /// The user's own code is in files.
    Files,
    /// It is in texts alone.
    Texts,
    /// There is next to none: this takes its place.
    Of(Owner),
}

impl Decision {
    /// None: it stays.
    fn new_owner(self, file: &File) -> Option<Owner> {
        match self {
            Decision::Files => {
                (file.owner == Owner::User && owner::is_program_text(&file.path)).then_some(Owner::Library)
            }
            Decision::Texts => None,
            Decision::Of(owner) => (file.owner == owner && !file.path.starts_with("<frozen ")).then_some(Owner::User),
        }
    }
}

/// To be called once, when all recordings are together: a line of a program has one owner.
#[must_use]
pub fn promoted(mut profile: Profile) -> Profile {
    let decisions = decisions(&profile);
    let mut different = decisions.values();
    let Some(first) = different.next().copied() else { return profile };
    if different.any(|other| *other != first) {
        apart(&mut profile, &decisions);
    } else {
        for file in profile.files.iter_mut() {
            file.owner = first.new_owner(file).unwrap_or(file.owner);
        }
    }
    profile
}

#[derive(Default)]
struct Sums {
    python: f64,
    own: f64,
    own_in_files: f64,
    library: f64,
}

/// For each process with Python.
fn decisions(profile: &Profile) -> HashMap<ProcessIndex, Decision> {
    let event_loop = EventLoop::of(profile);
    let mut stacks: HashMap<Option<NodeIndex>, Option<Has>> = HashMap::default();
    // By CPU; a process that only waited by its wall time.
    let mut sums: HashMap<ProcessIndex, [Sums; 2]> = HashMap::default();
    for group in &profile.samples {
        let seen = stacks.entry(group.node).or_insert_with(|| {
            let own = own_code(profile, &event_loop, group.node);
            own.deepest?;
            Some(Has {
                own: !own.frames.is_empty(),
                own_in_files: own.frames.iter().any(|frame| !is_program_text(profile, *frame)),
                library: has_library(profile, group.node),
            })
        });
        let Some(has) = *seen else { continue };
        let of_process = sums.entry(profile.threads[group.thread].process).or_default();
        for (sums, weight) in of_process.iter_mut().zip([group.cpu_ns, group.wall_ns]) {
            let weight = weight as f64;
            sums.python += weight;
            sums.own += if has.own { weight } else { 0.0 };
            sums.own_in_files += if has.own_in_files { weight } else { 0.0 };
            sums.library += if has.library { weight } else { 0.0 };
        }
    }
    let decision = |[cpu, wall]: [Sums; 2]| {
        let sums = if cpu.python > 0.0 { cpu } else { wall };
        let has = |part: f64| part >= NEXT_TO_NONE * sums.python;
        match () {
            () if has(sums.own_in_files) => Decision::Files,
            () if has(sums.own) => Decision::Texts,
            () if has(sums.library) => Decision::Of(Owner::Library),
            () => Decision::Of(Owner::Stdlib),
        }
    };
    sums.into_iter().map(|(process, sums)| (process, decision(sums))).collect()
}

/// What is on a stack.
#[derive(Clone, Copy)]
struct Has {
    own: bool,
    own_in_files: bool,
    library: bool,
}

fn is_program_text(profile: &Profile, frame: FrameIndex) -> bool {
    let Home::Python { file, .. } = profile.function_of(frame).home else { return false };
    owner::is_program_text(&profile.files[file].path)
}

fn has_library(profile: &Profile, leaf: Option<NodeIndex>) -> bool {
    profile.stack(leaf).any(|frame| match profile.function_of(frame).home {
        Home::Python { file, .. } => profile.files[file].owner == Owner::Library,
        Home::C { .. } | Home::Mark => false,
    })
}

/// Gives processes rows of their own for the files whose owner changes.
fn apart(profile: &mut Profile, decisions: &HashMap<ProcessIndex, Decision>) {
    let mut copies: HashMap<Decision, Copies> = HashMap::default();
    let mut copied = |profile: &mut Profile, leaf: Option<NodeIndex>, thread: ThreadIndex| {
        let decision = decisions.get(&profile.threads[thread].process);
        let copied = leaf
            .zip(decision)
            .map(|(leaf, &decision)| copies.entry(decision).or_default().node(leaf, decision, profile));
        copied.or(leaf)
    };
    for position in 0..profile.samples.len() {
        let SampleGroup { node, thread, .. } = profile.samples[position];
        profile.samples[position].node = copied(profile, node, thread);
    }
    for position in 0..profile.moments.len() {
        let Moment { node, thread, .. } = profile.moments[position];
        profile.moments[position].node = copied(profile, node, thread);
    }
    for position in 0..profile.weights.len() {
        let WeightGroup { node, thread, .. } = profile.weights[position];
        profile.weights[position].node = copied(profile, node, thread);
    }
    for position in 0..profile.steps.len() {
        let Step { node, thread, .. } = profile.steps[position];
        profile.steps[position].node = copied(profile, node, thread);
    }
    for position in 0..profile.lock_waits.len() {
        let LockWait { node, thread, .. } = profile.lock_waits[position];
        profile.lock_waits[position].node = copied(profile, node, thread);
    }
    for position in 0..profile.stack_depths.len() {
        let StackDepth { node, thread, .. } = profile.stack_depths[position];
        profile.stack_depths[position].node = copied(profile, node, thread);
    }
}

/// Which row takes the place of another in processes with one decision.
#[derive(Default)]
struct Copies {
    files: HashMap<FileIndex, FileIndex>,
    functions: HashMap<FunctionIndex, FunctionIndex>,
    frames: HashMap<FrameIndex, FrameIndex>,
    nodes: HashMap<NodeIndex, NodeIndex>,
    children: HashMap<(Option<NodeIndex>, FrameIndex), NodeIndex>,
}

impl Copies {
    fn node(&mut self, leaf: NodeIndex, decision: Decision, profile: &mut Profile) -> NodeIndex {
        let mut unknown = Vec::new();
        let mut next = Some(leaf);
        while let Some(node) = next.filter(|node| !self.nodes.contains_key(node)) {
            unknown.push(node);
            next = profile.nodes[node].parent;
        }
        for node in unknown.into_iter().rev() {
            let Node { parent, frame } = profile.nodes[node];
            let copied = (parent.map(|parent| self.nodes[&parent]), self.frame(frame, decision, profile));
            let found = match copied == (parent, frame) {
                true => node,
                false => *self
                    .children
                    .entry(copied)
                    .or_insert_with(|| profile.nodes.push(Node { parent: copied.0, frame: copied.1 })),
            };
            self.nodes.insert(node, found);
        }
        self.nodes[&leaf]
    }

    fn frame(&mut self, frame: FrameIndex, decision: Decision, profile: &mut Profile) -> FrameIndex {
        if let Some(known) = self.frames.get(&frame) {
            return *known;
        }
        let row = profile.frames[frame].clone();
        let function = self.function(row.function, decision, profile);
        let copied = match function == row.function {
            true => frame,
            false => profile.frames.push(Frame { function, ..row }),
        };
        *self.frames.entry(frame).or_insert(copied)
    }

    fn function(&mut self, function: FunctionIndex, decision: Decision, profile: &mut Profile) -> FunctionIndex {
        if let Some(known) = self.functions.get(&function) {
            return *known;
        }
        let row = profile.functions[function].clone();
        let new_owner = |file: FileIndex| decision.new_owner(&profile.files[file]);
        let copied = match row.home {
            Home::Python { file, first_line, table_bytes } if let Some(owner) = new_owner(file) => {
                let file = *self.files.entry(file).or_insert_with(|| {
                    let row = profile.files[file].clone();
                    profile.files.push(File { owner, ..row })
                });
                profile.functions.push(Function { home: Home::Python { file, first_line, table_bytes }, ..row })
            }
            _ => function,
        };
        *self.functions.entry(function).or_insert(copied)
    }
}
