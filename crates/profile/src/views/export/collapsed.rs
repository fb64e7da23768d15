//! Collapsed stacks: `root;…;leaf weight`, one line a stack, sorted; what most flame graph tools read.
//! Owns: how a frame is written. Never: merges two stacks whose lines differ; writes a stack that weighs nothing; holds the lines, which
//! are many times the recording where stacks begin alike.

use std::cmp::Ordering;
use std::fmt;

use genba_text::harmless;

use crate::rules::weight::{Totals, Weight};
use crate::tables::profile::{Frame, FrameIndex, FrameKind, Home, LOST, Profile, SampleGroup, ThreadIndex};
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

/// All lines, as `Display` writes them.
#[derive(Debug)]
pub struct Stacks<'a> {
    profile: &'a Profile,
    options: Options,
    /// In their order: one of the groups of each line, and what all of them weigh.
    lines: Vec<(&'a SampleGroup, u64)>,
}

pub fn collapsed(profile: &Profile, options: Options) -> Stacks<'_> {
    let weighed = profile.samples.iter().map(|group| (group, Totals::of_group(group).by(options.weight)));
    let mut lines: Vec<(&SampleGroup, u64)> = weighed.filter(|(_, weight)| *weight > 0).collect();
    lines.sort_unstable_by(|a, b| order(profile, options, a.0, b.0));
    lines.dedup_by(|next, line| {
        let is_same = order(profile, options, next.0, line.0).is_eq();
        if is_same {
            line.1 = line.1.saturating_add(next.1);
        }
        is_same
    });
    Stacks { profile, options, lines }
}

impl Stacks<'_> {
    /// What the lines hold, for whoever asked: `1,968 samples in 12 stacks`.
    pub fn summary(&self) -> String {
        let whole = Totals::of_profile(self.profile);
        let amount = match self.options.weight {
            Weight::Samples => counted(whole.samples, "sample", "samples"),
            weight => whole.words_with_unit(weight),
        };
        format!("{amount} in {}", counted(self.lines.len() as u64, "stack", "stacks"))
    }
}

impl fmt::Display for Stacks<'_> {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (group, weight) in &self.lines {
            let mut separator = "";
            for part in parts(self.profile, self.options, group) {
                text.write_str(separator)?;
                text.write_str(&written(self.profile, part))?;
                separator = ";";
            }
            writeln!(text, " {weight}")?;
        }
        Ok(())
    }
}

/// Of a line, between two `;`. Equal parts are written alike.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// With its process before it: two of them.
    Thread(ThreadIndex),
    NoStack,
    Frame(FrameIndex),
    State(State),
}

/// Root first.
fn parts(profile: &Profile, options: Options, group: &SampleGroup) -> Vec<Part> {
    let mut parts = Vec::new();
    if group.state != State::Running {
        parts.push(Part::State(group.state));
    }
    parts.extend(profile.stack(group.node).map(Part::Frame));
    if group.node.is_none() {
        parts.push(Part::NoStack);
    }
    if options.threads {
        parts.push(Part::Thread(group.thread));
    }
    parts.reverse();
    parts
}

/// That of their lines, which are made no further than they are alike.
fn order(profile: &Profile, options: Options, a: &SampleGroup, b: &SampleGroup) -> Ordering {
    let (a, b) = (parts(profile, options, a), parts(profile, options, b));
    let alike = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    bytes(profile, &a[alike..]).cmp(bytes(profile, &b[alike..]))
}

/// The end of a line, from the `;` before these parts on.
fn bytes(profile: &Profile, parts: &[Part]) -> impl Iterator<Item = u8> {
    parts.iter().flat_map(move |part| format!(";{}", written(profile, *part)).into_bytes())
}

fn written(profile: &Profile, part: Part) -> String {
    match part {
        Part::Thread(index) => thread(profile, index),
        Part::NoStack => "(no stack)".to_string(),
        Part::Frame(index) => frame(profile, &profile.frames[index]),
        Part::State(state) => escaped(&in_words(state)),
    }
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

/// `process 7 (python3.13);thread 7 (main)`
fn thread(profile: &Profile, index: ThreadIndex) -> String {
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
    let process = named("process", process.number_in_words(), &name);
    format!("{process};{}", named("thread", tid, thread.name.as_deref().unwrap_or_default()))
}

/// A semicolon ends a frame and a line break a stack, so neither may stand in a name.
fn escaped(name: &str) -> String {
    harmless(&name.replace(';', "\\;"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use genba_format::NO_FILE;

    use super::*;
    use crate::tables::owner::Owner;
    use crate::tables::profile::{File, Function, NodeIndex};
    use crate::tables::stacks::Nodes;
    use crate::tables::table::TableIndex;

    /// A blank comes before `;`, and a `\` that ends a name looks like that of `\;`.
    const NAMES: [&str; 6] = ["a", "a b", "a;b", "a\\", "b", ""];

    /// All stacks of up to three frames, each running and in a collection, with the texts of their lines.
    fn groups(profile: &mut Profile) -> Vec<(String, SampleGroup)> {
        let file = profile.files.push(File { path: NO_FILE.to_owned(), owner: Owner::User, family: 0 });
        let mut frames = Vec::new();
        for name in NAMES {
            let home = Home::Python { file, first_line: 1, table_bytes: 0 };
            let function = profile.functions.push(Function { name: name.to_owned(), home });
            // Two places in it, which are written alike.
            for _ in 0..2 {
                let kind = FrameKind::Python;
                let frame = Frame { function, kind, location: None, expression: None, c_line: None };
                frames.push((name.replace(';', "\\;"), profile.frames.push(frame)));
            }
        }
        let mut nodes = Nodes::default();
        let mut callers: Vec<(Option<NodeIndex>, String)> = vec![(None, String::new())];
        let mut groups = Vec::new();
        for separator in ["", ";", ";"] {
            let mut callees = Vec::new();
            for (caller, line) in &callers {
                for (name, frame) in &frames {
                    let (node, line) = (Some(nodes.node(*caller, *frame)), format!("{line}{separator}{name}"));
                    for (state, end) in [(State::Running, ""), (State::InGc, ";in gc")] {
                        let group = SampleGroup::of(node, ThreadIndex::new(0), state, None, true);
                        groups.push((format!("{line}{end}"), group));
                    }
                    callees.push((node, line));
                }
            }
            callers = callees;
        }
        profile.nodes = nodes.table;
        groups
    }

    #[test]
    fn lines_are_in_the_order_of_their_texts_and_merged_where_these_are_equal() {
        let mut profile = Profile::default();
        let mut expected: BTreeMap<String, u64> = BTreeMap::new();
        for (number, (line, group)) in groups(&mut profile).into_iter().enumerate() {
            let wall_ns = number as u64 % 5;
            profile.samples.push(SampleGroup { wall_ns, ..group });
            if wall_ns > 0 {
                *expected.entry(line).or_default() += wall_ns;
            }
        }
        let stacks = collapsed(&profile, Options { weight: Weight::Wall, threads: false });
        let lines: String = expected.iter().map(|(line, wall_ns)| format!("{line} {wall_ns}\n")).collect();
        assert_eq!(stacks.to_string(), lines);
        assert!(stacks.summary().ends_with(&format!(" in {} stacks", expected.len())), "{}", stacks.summary());
        assert!(expected.len() * 3 < profile.samples.len());
    }
}
