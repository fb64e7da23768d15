//! The file format of speedscope (https://www.speedscope.app/file-format-schema.json): shared frames, one profile a thread.
//! Owns: that shape. Never: claims an order in time, which groups of samples do not have: stacks that begin alike stand
//! beside each other. Leaves out threads without weight, and stacks without it.

use std::collections::HashMap;

use serde::Serialize;

use crate::rules::weight::{Totals, Weight};
use crate::tables::profile::{FrameKind, FunctionIndex, Home, Profile, ThreadIndex};
use crate::tables::state::in_words;
use genba_format::state::State;

#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    pub genba_version: &'a str,
    /// What the file is called in speedscope.
    pub name: &'a str,
    pub weight: Weight,
}

#[derive(Serialize)]
struct File<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    exporter: String,
    name: &'a str,
    #[serde(rename = "activeProfileIndex")]
    active_profile_index: Option<usize>,
    shared: Shared<'a>,
    profiles: Vec<Sampled>,
}

#[derive(Serialize)]
struct Shared<'a> {
    frames: Vec<SharedFrame<'a>>,
}

/// `line` is the first of the function: speedscope adds up by frame.
#[derive(Serialize)]
struct SharedFrame<'a> {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

#[derive(Serialize)]
struct Sampled {
    #[serde(rename = "type")]
    kind: &'static str,
    name: String,
    unit: &'static str,
    #[serde(rename = "startValue")]
    start_value: u64,
    #[serde(rename = "endValue")]
    end_value: u64,
    /// Root first, as positions in the shared frames.
    samples: Vec<Vec<usize>>,
    weights: Vec<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Shown {
    Function(FunctionIndex, FrameKind),
    State(State),
    NoStack,
}

pub fn speedscope(profile: &Profile, context: Context) -> serde_json::Result<String> {
    let mut shared = Frames::default();
    let mut threads: HashMap<ThreadIndex, Vec<(Vec<usize>, u64)>> = HashMap::new();
    for group in &profile.samples {
        let weight = Totals::of_group(group).by(context.weight);
        if weight == 0 {
            continue;
        }
        let mut stack = Vec::new();
        if group.state != State::Running {
            stack.push(shared.position(profile, Shown::State(group.state)));
        }
        for frame in profile.stack(group.node) {
            let frame = &profile.frames[frame];
            stack.push(shared.position(profile, Shown::Function(frame.function, frame.kind)));
        }
        if group.node.is_none() {
            stack.push(shared.position(profile, Shown::NoStack));
        }
        stack.reverse();
        threads.entry(group.thread).or_default().push((stack, weight));
    }
    let mut profiles: Vec<(ThreadIndex, Sampled)> = threads
        .into_iter()
        .map(|(thread, stacks)| (thread, sampled(profile, context.weight, thread, stacks)))
        .collect();
    profiles.sort_by_key(|(thread, sampled)| (std::cmp::Reverse(sampled.end_value), *thread));
    let profiles: Vec<Sampled> = profiles.into_iter().map(|(_, sampled)| sampled).collect();
    let file = File {
        schema: "https://www.speedscope.app/file-format-schema.json",
        exporter: format!("genba@{}", context.genba_version),
        name: context.name,
        active_profile_index: (!profiles.is_empty()).then_some(0),
        shared: Shared { frames: shared.rows },
        profiles,
    };
    genba_text::json::compact(&file)
}

fn sampled(profile: &Profile, weight: Weight, thread: ThreadIndex, mut stacks: Vec<(Vec<usize>, u64)>) -> Sampled {
    stacks.sort();
    let row = &profile.threads[thread];
    let process = &profile.processes[row.process];
    let number = |number: Option<u32>| number.map_or("of a lost block".to_string(), |number| number.to_string());
    let mut name = format!("thread {}", number(row.tid));
    name += format!(" {}", row.names_in_words()).trim_end();
    name += &format!(" of process {}", number(process.pid));
    name += &process.recording.as_ref().map_or(String::new(), |recording| format!(" of {recording}"));
    let (samples, weights): (Vec<_>, Vec<u64>) = stacks.into_iter().unzip();
    Sampled {
        kind: "sampled",
        name,
        unit: match weight {
            Weight::Cpu | Weight::Wall => "nanoseconds",
            Weight::Samples => "none",
            Weight::Copied | Weight::Allocated => "bytes",
        },
        start_value: 0,
        end_value: weights.iter().fold(0, |sum, weight| sum.saturating_add(*weight)),
        samples,
        weights,
    }
}

#[derive(Default)]
struct Frames<'a> {
    rows: Vec<SharedFrame<'a>>,
    position_of: HashMap<Shown, usize>,
}

impl<'a> Frames<'a> {
    fn position(&mut self, profile: &'a Profile, shown: Shown) -> usize {
        *self.position_of.entry(shown).or_insert_with(|| {
            self.rows.push(shared_frame(profile, shown));
            self.rows.len() - 1
        })
    }
}

fn shared_frame(profile: &Profile, shown: Shown) -> SharedFrame<'_> {
    let (function, kind) = match shown {
        Shown::State(state) => return SharedFrame { name: in_words(state), file: None, line: None },
        Shown::NoStack => return SharedFrame { name: "(no stack)".to_string(), file: None, line: None },
        Shown::Function(function, kind) => (&profile.functions[function], kind),
    };
    let name = function.name.clone();
    match &function.home {
        Home::Python { file, first_line, .. } => {
            SharedFrame { name, file: Some(&profile.files[*file].path), line: Some(*first_line) }
        }
        Home::C { module, .. } => {
            let name = match kind {
                FrameKind::Inferred => format!("{name} (inferred)"),
                FrameKind::Inlined => format!("{name} (inlined)"),
                FrameKind::Python | FrameKind::C | FrameKind::Mark => name,
            };
            SharedFrame { name, file: Some(&profile.modules[*module].path), line: None }
        }
        Home::Mark => SharedFrame { name: format!("({name})"), file: None, line: None },
    }
}
