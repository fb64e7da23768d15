//! The file format of speedscope (https://www.speedscope.app/file-format-schema.json): shared frames, one profile a thread.
//! Owns: that shape. Never: claims an order in time, which groups of samples do not have: stacks that begin alike stand
//! beside each other. Leaves out threads without weight, and stacks without it. Never: holds the frames of all stacks, which are
//! many times the recording where stacks begin alike.

use foldhash::HashMap;
use std::io;

use serde::{Serialize, Serializer};

use crate::rules::weight::{Totals, Weight};
use crate::tables::profile::{FrameKind, FunctionIndex, Home, LOST, Profile, SampleGroup, ThreadIndex};
use crate::tables::state::in_words;
use crate::tables::table::TableIndex;
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
    profiles: Vec<Sampled<'a>>,
}

#[derive(Serialize)]
struct Shared<'a> {
    frames: &'a [SharedFrame<'a>],
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
struct Sampled<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: String,
    unit: &'static str,
    #[serde(rename = "startValue")]
    start_value: u64,
    #[serde(rename = "endValue")]
    end_value: u64,
    samples: Stacks<'a>,
    weights: Vec<u64>,
}

struct Stacks<'a> {
    profile: &'a Profile,
    shared: &'a Frames<'a>,
    groups: Vec<&'a SampleGroup>,
}

impl Serialize for Stacks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.groups.iter().map(|group| self.shared.stack(self.profile, group)))
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Shown {
    Function(FunctionIndex, FrameKind),
    State(State),
    NoStack,
}

pub fn write(profile: &Profile, context: Context, out: impl io::Write) -> io::Result<()> {
    let mut shared = Frames { of_table: vec![0; profile.frames.len()], ..Frames::default() };
    let mut threads: HashMap<ThreadIndex, Vec<(&SampleGroup, u64)>> = HashMap::default();
    for group in &profile.samples {
        let weight = Totals::of_group(group).by(context.weight);
        if weight == 0 {
            continue;
        }
        shared.take_in(profile, group);
        threads.entry(group.thread).or_default().push((group, weight));
    }
    let mut profiles: Vec<(ThreadIndex, Sampled)> = threads
        .into_iter()
        .map(|(thread, groups)| (thread, sampled(profile, &shared, context.weight, thread, groups)))
        .collect();
    profiles.sort_by_key(|(thread, sampled)| (std::cmp::Reverse(sampled.end_value), *thread));
    let profiles: Vec<Sampled> = profiles.into_iter().map(|(_, sampled)| sampled).collect();
    let file = File {
        schema: "https://www.speedscope.app/file-format-schema.json",
        exporter: format!("genba@{}", context.genba_version),
        name: context.name,
        active_profile_index: (!profiles.is_empty()).then_some(0),
        shared: Shared { frames: &shared.rows },
        profiles,
    };
    genba_text::json::write(&file, out)
}

fn sampled<'a>(
    profile: &'a Profile,
    shared: &'a Frames<'a>,
    weight: Weight,
    thread: ThreadIndex,
    mut groups: Vec<(&'a SampleGroup, u64)>,
) -> Sampled<'a> {
    groups.sort_unstable_by(|(a, a_weighs), (b, b_weighs)| {
        shared.stack(profile, a).cmp(&shared.stack(profile, b)).then(a_weighs.cmp(b_weighs))
    });
    let row = &profile.threads[thread];
    let process = &profile.processes[row.process];
    let mut name = format!("thread {}", row.tid.map_or(LOST.to_string(), |tid| tid.to_string()));
    name += format!(" {}", row.names_in_words()).trim_end();
    name += &format!(" of process {}", process.number_in_words());
    name += &process.recording.as_ref().map_or(String::new(), |recording| format!(" of {recording}"));
    let (groups, weights): (Vec<_>, Vec<u64>) = groups.into_iter().unzip();
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
        samples: Stacks { profile, shared, groups },
        weights,
    }
}

#[derive(Default)]
struct Frames<'a> {
    rows: Vec<SharedFrame<'a>>,
    position_of: HashMap<Shown, usize>,
    /// For each frame of the profile that was taken in: its position.
    of_table: Vec<usize>,
}

impl<'a> Frames<'a> {
    /// The frames of a stack that are not here yet, leaf first.
    fn take_in(&mut self, profile: &'a Profile, group: &SampleGroup) {
        if group.state != State::Running {
            self.position(profile, Shown::State(group.state));
        }
        for index in profile.stack(group.node) {
            let frame = &profile.frames[index];
            self.of_table[index.position()] = self.position(profile, Shown::Function(frame.function, frame.kind));
        }
        if group.node.is_none() {
            self.position(profile, Shown::NoStack);
        }
    }

    /// Root first, as positions in the shared frames.
    fn stack(&self, profile: &Profile, group: &SampleGroup) -> Vec<usize> {
        let state = (group.state != State::Running).then_some(Shown::State(group.state));
        let no_stack = group.node.is_none().then_some(Shown::NoStack);
        let mut stack: Vec<usize> = state.iter().map(|state| self.position_of[state]).collect();
        stack.extend(profile.stack(group.node).map(|index| self.of_table[index.position()]));
        stack.extend(no_stack.iter().map(|no_stack| self.position_of[no_stack]));
        stack.reverse();
        stack
    }

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
