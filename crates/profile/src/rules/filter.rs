//! Filters: which samples a view is made from, and which frames.
//! Owns: what each filter keeps, and the facts when one keeps nothing. Never: touches the accounting (it speaks of the
//! whole recording), or the choice of the weight and the verdict, which are made before anything is left out.

use std::fmt;

use regex::Regex;

use crate::tables::profile::{Frame, Home, Moment, NodeIndex, Profile, Thread, ThreadIndex};
use crate::tables::stacks::{Nodes, mark, regroup};
use crate::tables::table::TableIndex;
use crate::tables::window::Window;
use crate::words::figures::duration;
use crate::words::glob::Glob;
use crate::words::shell;

/// All that are given must hold for a sample to be kept; of several threads or processes, any.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Names, or numbers of the operating system.
    pub threads: Vec<Glob>,
    /// Numbers of the operating system, or words of the command line.
    pub processes: Vec<Glob>,
    /// The samples must have been told apart by it when the profile was built.
    pub window: Option<Window>,
    /// Some frame of the stack matches, by its name or its file.
    pub focus: Option<Regex>,
    /// Frames that match are taken out; their time goes to their callers. Looked at after `focus`.
    pub hide: Option<Regex>,
}

/// Why no sample is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NothingKept {
    /// `found`: the names there are.
    NoThread {
        asked: String,
        found: Vec<String>,
    },
    NoProcess {
        asked: String,
        found: Vec<String>,
    },
    /// No sample was taken within the window.
    EmptyWindow {
        window: Window,
        span_ns: u64,
    },
    /// No frame of the recording matches.
    NoFrame {
        flag: String,
    },
    /// Each of them keeps something, all of them together nothing.
    Together {
        flags: Vec<String>,
    },
}

impl fmt::Display for NothingKept {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NothingKept::NoThread { asked, .. } => write!(text, "no thread is called `{asked}` or has that number"),
            NothingKept::NoProcess { asked, .. } => write!(text, "no process is called `{asked}` or has that number"),
            NothingKept::EmptyWindow { window, span_ns } => {
                write!(text, "no sample was taken in {window}: the recording goes on for {}", duration(*span_ns))
            }
            NothingKept::NoFrame { flag } => write!(text, "{flag}: no frame of this recording has such a name or file"),
            NothingKept::Together { flags } if flags.len() == 1 => write!(text, "{} keeps no sample", flags[0]),
            NothingKept::Together { flags } => write!(text, "no sample is left by {} together", flags.join(" ")),
        }
    }
}

impl Filter {
    pub fn is_empty(&self) -> bool {
        self.flags().is_empty()
    }

    /// As on the command line, in one order.
    pub fn flags(&self) -> Vec<String> {
        let mut flags = Vec::new();
        flags.extend(self.processes.iter().map(|process| flag("process", process.as_str())));
        flags.extend(self.threads.iter().map(|thread| flag("thread", thread.as_str())));
        flags.extend(self.window.iter().map(|window| flag("time", &window.to_string())));
        flags.extend(self.focus.iter().map(|focus| flag("focus", focus.as_str())));
        flags.extend(self.hide.iter().map(|hide| flag("hide", hide.as_str())));
        flags
    }
}

/// `--focus render`, `--focus 'a b'`
fn flag(name: &str, value: &str) -> String {
    format!("--{name} {}", shell::word(value))
}

/// The profile with what the filter keeps, and the moments that it leaves out. Without a filter it comes back as it is.
pub fn apply(mut profile: Profile, filter: &Filter) -> Result<(Profile, Vec<Moment>), NothingKept> {
    if filter.is_empty() || profile.samples.is_empty() {
        return Ok((profile, Vec::new()));
    }
    let threads = threads(&profile, filter)?;
    let in_focus = filter.focus.as_ref().map(|focus| nodes_below_matches(&profile, focus)).transpose()?;
    if let Some(window) = filter.window
        && !profile.samples.iter().any(|group| group.in_window)
    {
        return Err(NothingKept::EmptyWindow { window, span_ns: profile.span_ns });
    }
    let is_kept = |node: Option<NodeIndex>, thread: ThreadIndex, in_window: bool| {
        let in_focus = in_focus.as_ref().is_none_or(|below| node.is_some_and(|node| below[node.position()]));
        threads[thread.position()] && in_window && in_focus
    };
    profile.samples.retain(|group| is_kept(group.node, group.thread, group.in_window));
    let all = std::mem::take(&mut profile.moments);
    let (kept, left_out) = all.into_iter().partition(|moment| is_kept(moment.node, moment.thread, moment.in_window));
    profile.moments = kept;
    if profile.samples.is_empty() {
        return Err(NothingKept::Together { flags: filter.flags() });
    }
    if let Some(hide) = &filter.hide {
        take_out(&mut profile, hide)?;
    }
    Ok((profile, left_out))
}

/// For each thread, whether it and its process are asked for.
fn threads(profile: &Profile, filter: &Filter) -> Result<Vec<bool>, NothingKept> {
    for asked in &filter.processes {
        if !profile.processes.iter().any(|process| process_matches(process, asked)) {
            let found = profile.processes.iter().map(process_name).collect();
            return Err(NothingKept::NoProcess { asked: asked.as_str().to_string(), found });
        }
    }
    let any = |asked: &[Glob], matches: &dyn Fn(&Glob) -> bool| asked.is_empty() || asked.iter().any(matches);
    let in_process =
        |thread: &Thread| any(&filter.processes, &|asked| process_matches(&profile.processes[thread.process], asked));
    for asked in &filter.threads {
        let mut candidates = profile.threads.iter().filter(|thread| in_process(thread));
        if !candidates.any(|thread| thread_matches(thread, asked)) {
            let found = profile.threads.iter().filter(|thread| in_process(thread)).map(thread_name).collect();
            return Err(NothingKept::NoThread { asked: asked.as_str().to_string(), found });
        }
    }
    let kept = |thread: &Thread| in_process(thread) && any(&filter.threads, &|asked| thread_matches(thread, asked));
    Ok(profile.threads.iter().map(kept).collect())
}

fn thread_matches(thread: &Thread, asked: &Glob) -> bool {
    thread.all_names().any(|name| asked.matches(name)) || thread.tid.is_some_and(|tid| asked.matches(&tid.to_string()))
}

/// Words of the command line match with and without their folder.
fn process_matches(process: &crate::tables::profile::Process, asked: &Glob) -> bool {
    let words = process.argv.iter().chain(&process.executable);
    let mut names = words.flat_map(|word| [word.as_str(), word.rsplit('/').next().unwrap_or(word)]);
    names.any(|name| asked.matches(name)) || process.pid.is_some_and(|pid| asked.matches(&pid.to_string()))
}

/// `worker (4128)`
fn thread_name(thread: &Thread) -> String {
    let name = if thread.name.is_some() { thread.names_in_words() } else { "without a name".to_string() };
    thread.tid.map_or(name.clone(), |tid| format!("{name} ({tid})"))
}

/// `4127 python3 app.py`
fn process_name(process: &crate::tables::profile::Process) -> String {
    let command = match process.argv.as_slice() {
        [] => process.executable.clone().unwrap_or_default(),
        argv => argv.join(" "),
    };
    let pid = process.pid.map(|pid| format!("{pid} ")).unwrap_or_default();
    format!("{pid}{command}").trim_end().to_string()
}

/// Whether each frame's name or file matches. Err: none does.
fn frames_matching(profile: &Profile, pattern: &Regex, flag_name: &str) -> Result<Vec<bool>, NothingKept> {
    let matches = |frame: &Frame| {
        let function = &profile.functions[frame.function];
        let place = match &function.home {
            Home::Python { file, .. } => &profile.files[*file].path,
            Home::C { module, .. } => &profile.modules[*module].path,
            Home::Mark => return false,
        };
        let c_file = frame.c_line.as_ref().is_some_and(|place| pattern.is_match(&place.file));
        pattern.is_match(&function.name) || pattern.is_match(place) || c_file
    };
    let matching: Vec<bool> = profile.frames.iter().map(matches).collect();
    match matching.contains(&true) {
        true => Ok(matching),
        false => Err(NothingKept::NoFrame { flag: flag(flag_name, pattern.as_str()) }),
    }
}

/// For each node, whether its stack has a frame that matches.
fn nodes_below_matches(profile: &Profile, focus: &Regex) -> Result<Vec<bool>, NothingKept> {
    let matching = frames_matching(profile, focus, "focus")?;
    let mut below: Vec<bool> = Vec::with_capacity(profile.nodes.len());
    for node in profile.nodes.iter() {
        let parent_below = node.parent.is_some_and(|parent| below[parent.position()]);
        below.push(parent_below || matching[node.frame.position()]);
    }
    Ok(below)
}

/// Rebuilds the nodes without the frames that match, and the groups of samples with them.
fn take_out(profile: &mut Profile, hide: &Regex) -> Result<(), NothingKept> {
    let matching = frames_matching(profile, hide, "hide")?;
    let mut nodes = Nodes::default();
    let mut new_of: Vec<Option<NodeIndex>> = Vec::with_capacity(profile.nodes.len());
    for node in profile.nodes.iter() {
        let parent = node.parent.and_then(|parent| new_of[parent.position()]);
        new_of.push(match matching[node.frame.position()] {
            true => parent,
            false => Some(nodes.node(parent, node.frame)),
        });
    }
    let mut mark_node: Option<NodeIndex> = None;
    regroup(profile, |profile, node| match new_of[node.position()] {
        Some(left) => left,
        // All of its frames were hidden, which is not the same as a sample without a stack.
        None => *mark_node.get_or_insert_with(|| nodes.node(None, mark(profile, "hidden"))),
    });
    profile.nodes = nodes.table;
    Ok(())
}
