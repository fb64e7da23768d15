//! Collapsed stacks: `root;…;leaf weight`, one line a stack, sorted; what most flame graph tools read.
//! Owns: how a frame is written. Never: merges two stacks whose lines differ; writes a stack that weighs nothing.

use genba_text::harmless;
use std::collections::BTreeMap;

use crate::rules::weight::{Totals, Weight};
use crate::tables::profile::{Frame, FrameKind, Home, LOST, Profile, ThreadIndex};
use crate::tables::state::in_words;
use crate::words::figures::counted;
use genba_format::state::State;

#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// `Samples` counts observations of running threads; the others write nanoseconds.
    pub weight: Weight,
    /// Each stack begins with its process and its thread.
    pub threads: bool,
}

pub fn collapsed(profile: &Profile, options: Options) -> String {
    let mut stacks: BTreeMap<String, u64> = BTreeMap::new();
    for group in &profile.samples {
        let weight = Totals::of_group(group).by(options.weight);
        if weight == 0 {
            continue;
        }
        let mut frames: Vec<String> = Vec::new();
        if group.state != State::Running {
            frames.push(escaped(&in_words(group.state)));
        }
        frames.extend(profile.stack(group.node).map(|index| frame(profile, &profile.frames[index])));
        if group.node.is_none() {
            frames.push("(no stack)".to_string());
        }
        if options.threads {
            frames.extend(thread(profile, group.thread));
        }
        frames.reverse();
        let stack = stacks.entry(frames.join(";")).or_default();
        *stack = stack.saturating_add(weight);
    }
    let mut text = String::new();
    for (stack, weight) in stacks {
        text += &format!("{stack} {weight}\n");
    }
    text
}

/// What the lines hold, for whoever asked: `1,968 samples in 12 stacks`.
pub fn summary(profile: &Profile, options: Options, text: &str) -> String {
    let whole = Totals::of_profile(profile);
    let amount = match options.weight {
        Weight::Samples => counted(whole.samples, "sample", "samples"),
        weight => whole.words_with_unit(weight),
    };
    format!("{amount} in {}", counted(text.lines().count() as u64, "stack", "stacks"))
}

/// A Python frame is `qualname (file:line)` with the line being executed, a C frame `name [module]`.
fn frame(profile: &Profile, frame: &Frame) -> String {
    let function = &profile.functions[frame.function];
    let name = &function.name;
    escaped(&match &function.home {
        Home::Python { file, .. } => {
            let path = &profile.files[*file].path;
            match frame.location {
                _ if profile.files[*file].is_unknown() => name.clone(),
                Some(location) => format!("{name} ({path}:{})", location.line),
                None => format!("{name} ({path})"),
            }
        }
        Home::C { module, .. } => {
            let module = profile.modules[*module].base_name();
            match frame.kind {
                FrameKind::Inferred => format!("{name} (inferred) [{module}]"),
                FrameKind::Inlined => format!("{name} (inlined) [{module}]"),
                FrameKind::Python | FrameKind::C | FrameKind::Mark => format!("{name} [{module}]"),
            }
        }
        Home::Mark => format!("({name})"),
    })
}

/// Thread first, then process: the frames are turned round once they are complete.
fn thread(profile: &Profile, index: ThreadIndex) -> [String; 2] {
    let thread = &profile.threads[index];
    let process = &profile.processes[thread.process];
    let named = |what: &str, number: String, name: &str| match name {
        "" => escaped(&format!("{what} {number}")),
        name => escaped(&format!("{what} {number} ({name})")),
    };
    let executable = process.executable.as_deref().unwrap_or_default();
    let executable = executable.rsplit('/').next().unwrap_or_default();
    let name = match &process.recording {
        Some(recording) => format!("{executable} of {recording}").trim_start().to_string(),
        None => executable.to_string(),
    };
    let tid = thread.tid.map_or(LOST.to_string(), |tid| tid.to_string());
    [
        named("thread", tid, thread.name.as_deref().unwrap_or_default()),
        named("process", process.number_in_words(), &name),
    ]
}

/// A semicolon ends a frame and a line break a stack, so neither may stand in a name.
fn escaped(name: &str) -> String {
    harmless(&name.replace(';', "\\;"))
}
