//! From a recording to a profile.
//! Owns: the order of the work: names and sources first, then each process with its threads, stacks and samples.
//! Never: fails; what a damaged file took away is absent, and `Profile::faults` says so.

mod c_functions;
mod c_places;
mod clocks;
mod contexts;
/// What a recording tells about memory.
mod memory {
    pub(super) mod collections;
    pub(super) mod heaps;
}
mod moments;
mod overlaps;
mod paths;
mod programs;
mod promotion;
mod reaped;
pub(super) mod samples;
mod stacks;
mod threads;

use foldhash::HashMap;

use genba_format::{ProcessKey, Recording, UNKNOWN_EXIT_CODE, proto};

use crate::making::build::c_functions::CFunctions;
pub use crate::making::build::c_functions::{NO_NAME, REPLACED};
use crate::making::build::c_places::CPlaces;
use crate::making::build::contexts::Contexts;
pub use crate::making::build::promotion::promoted;
use crate::making::build::samples::Sums;
use crate::making::build::stacks::{Interned, Stacks};
use crate::tables::profile::{
    LockWait, Mark, MarkKind, NotFollowed, Process, ProcessIndex, Profile, Recorder, Rss, StackDepth, Step, ThreadIndex,
};
use crate::tables::stored::{self, Stored};
use crate::tables::window::{Bins, Window};

/// What somebody knows beside the recording: what is not stored in it.
#[derive(Clone, Debug, Default)]
pub struct Additions {
    pub c_names: Vec<proto::CName>,
    pub c_places: Vec<proto::CPlaces>,
    pub sources: Vec<proto::Source>,
    /// Folders and modules that an installer put outside of `site-packages`, absolute.
    pub packages: Vec<String>,
    /// The recording was made of another profiler's file.
    pub import: Option<Import>,
}

/// What the file of another profiler tells about itself.
#[derive(Clone, Debug, Default)]
pub struct Import {
    /// Where it is from, and what a sample stands for.
    pub words: String,
    /// One sentence for each thing that is wrong with it, or missing in it.
    pub faults: Vec<String>,
    /// A sample is one call, and each call was counted.
    pub counts_calls: bool,
}

/// What the recording stores stands before what was found beside it.
pub fn profile(recording: &Recording, additions: &Additions) -> Profile {
    promoted(profile_in_window(recording, additions, None))
}

/// The same without a decision which code is the user's own (`promoted`); its groups of samples tell apart what was taken within the window. All samples are there either way.
pub fn profile_in_window(recording: &Recording, additions: &Additions, window: Option<Window>) -> Profile {
    build(recording, additions, Depth::Samples { window, bins: None })
}

/// The same with the `moments` of the samples.
pub fn profile_over_time(recording: &Recording, additions: &Additions, window: Option<Window>, bins: Bins) -> Profile {
    build(recording, additions, Depth::Samples { window, bins: Some(bins) })
}

/// As `profile_in_window` without a window, of samples that were added up block by block.
pub(super) fn profile_of_sums(
    recording: &Recording,
    additions: &Additions,
    sums: &mut HashMap<ProcessKey, Sums>,
) -> Profile {
    build(recording, additions, Depth::Summed(sums))
}

/// Processes, threads, their accounting, marks: a profile without samples, for who only asks what was counted.
pub fn accounts(recording: &Recording, additions: &Additions) -> Profile {
    build(recording, additions, Depth::Accounts)
}

enum Depth<'a> {
    Accounts,
    Samples {
        window: Option<Window>,
        bins: Option<Bins>,
    },
    /// The samples of each process key are added up already.
    Summed(&'a mut HashMap<ProcessKey, Sums>),
}

fn build(recording: &Recording, additions: &Additions, mut depth: Depth) -> Profile {
    let mut profile = Profile {
        faults: recording.faults.iter().map(ToString::to_string).collect(),
        blocks_lost: recording.blocks_lost(),
        ..Profile::default()
    };
    if let Some(import) = &additions.import {
        profile.faults.extend_from_slice(&import.faults);
    }
    let mut c_functions = CFunctions::default();
    let mut run_ended_ns = None;
    let mut c_places = CPlaces::default();
    let mut packages = additions.packages.clone();
    for read in &recording.blocks {
        for source in &read.block.sources {
            profile.sources.add(source);
        }
        c_functions.add(&read.block.c_names);
        c_places.add(&read.block.c_places);
        packages.extend_from_slice(&read.block.packages);
        profile.not_followed.extend(read.block.not_followed.iter().map(not_followed));
        if let Some(recorder) = &read.block.recorder {
            profile.recorder = Some(recorded_by(recorder));
            run_ended_ns = Some(read.header.end_ns);
        }
    }
    let bins = match depth {
        Depth::Samples { bins, .. } => bins,
        Depth::Accounts | Depth::Summed(_) => None,
    };
    profile.moment_bins = bins;
    let mut ends = reaped::Ends::default();
    for source in &additions.sources {
        profile.sources.add(source);
    }
    c_functions.add(&additions.c_names);
    c_places.add(&additions.c_places);
    c_functions.sort();

    let processes = stored::processes(recording);
    let clock = Clock::of(&processes);
    profile.start_realtime_ns = clock.start_realtime_ns();
    let mut index_of: HashMap<ProcessKey, ProcessIndex> = HashMap::default();
    let mut interned = Interned::default();
    for (key, stored) in &processes {
        let mut row = process_row(stored, &clock);
        if let Some(import) = &additions.import {
            row.imported = Some(import.words.clone());
            row.counts_calls = import.counts_calls;
            row.pid = row.pid.filter(|pid| *pid > 0);
        }
        row.run_ended_ns = run_ended_ns.map(|ended_ns| clock.at(ended_ns));
        row.blocks_lost = recording.lost.iter().filter(|lost| lost.process_key == *key).map(|lost| lost.count).sum();
        profile.span_ns = profile.span_ns.max(row.start_ns.saturating_add(row.wall_ns));
        let process = match segment_of(stored, &index_of) {
            Some(process) => {
                profile.processes[process].goes_on(row);
                process
            }
            None => {
                let forked_of = forked_of(stored, &index_of);
                row.is_forked = forked_of.is_some();
                row.parent = forked_of.or_else(|| parent_of(stored, &profile));
                row.exec_of = exec_of(&row, &profile);
                profile.processes.push(row)
            }
        };
        index_of.insert(*key, process);

        let threads = threads::rows(stored, process, &clock, &mut profile);
        let mut summed_here;
        let window = match &depth {
            Depth::Samples { window, .. } => window.map(|window| window.shifted_by(clock.begin_ns)),
            _ => None,
        };
        let summed = match &mut depth {
            Depth::Accounts => None,
            Depth::Samples { .. } => {
                summed_here = Sums::of(&stored.blocks, window, additions.import.is_some());
                Some(&mut summed_here)
            }
            Depth::Summed(sums) => Some(sums.entry(*key).or_default()),
        };
        if let Some(sums) = summed {
            let family = programs::program_of(process, &profile.processes);
            let mut stacks = Stacks::new(stored, &c_functions, &c_places, &packages, family, &mut interned);
            let contexts = Contexts::add(stored, process, &mut profile);
            let group_of_row = samples::add(stored, sums, process, &threads, &contexts, &mut stacks, &mut profile);
            if let Some(bins) = bins {
                moments::add(stored, sums, &group_of_row, bins, clock.begin_ns, &mut profile);
                profile.unsampled.extend(clocks::over_time(stored, |at_ns| clock.at(at_ns)));
            }
            contexts::counted(stored, &threads, &contexts, window, &mut stacks, &mut profile);
            contexts::weights(stored, &threads, &contexts, &mut stacks, &mut profile);
            marks_of_threads(stored, &threads, window, &mut stacks, &mut profile);
            memory::collections::add(stored, process, &threads, &clock, &mut stacks, &mut profile);
        }
        marks(stored, process, &clock, &mut profile);
        ends.add(stored, process, &clock);
    }
    let of_command = recording.blocks.iter().filter(|read| !index_of.contains_key(&read.header.process_key));
    of_command.for_each(|read| ends.add_told(None, &read.block, &clock));
    memory::heaps::add(recording, &mut profile);
    ends.settle(&mut profile);
    threads::settle_kernel_names(&mut profile);
    profile.packages = packages;
    profile
}

fn recorded_by(recorder: &proto::Recorder) -> Recorder {
    let by_signal = recorder.exit_signal != 0;
    Recorder {
        argv: recorder.argv.clone(),
        exit_code: (!by_signal && recorder.exit_code != UNKNOWN_EXIT_CODE).then_some(recorder.exit_code),
        exit_signal: by_signal.then_some(recorder.exit_signal),
        wall_ns: recorder.wall_ns,
    }
}

#[must_use]
pub fn not_followed(row: &proto::NotFollowed) -> NotFollowed {
    let proto::NotFollowed { name, reason, count, python, wall_ns, cpu_ns, command } = row.clone();
    NotFollowed { name, reason, count, is_python: python, wall_ns, cpu_ns, command }
}

fn process_row(stored: &Stored, clock: &Clock) -> Process {
    let start = stored.start();
    let begin_ns = begin_ns(stored);
    let end_ns = stored.blocks.iter().map(|read| read.header.end_ns).max();
    let text = |text: &str| (!text.is_empty()).then(|| text.to_string());
    let (accounting, clocks, measures) = clocks::of(stored);
    Process {
        pid: start.map(|start| start.pid),
        python: start.and_then(|start| text(&start.python_version)),
        executable: start.and_then(|start| text(&start.executable)),
        argv: start.map(|start| start.argv.clone()).unwrap_or_default(),
        cwd: start.and_then(|start| text(&start.cwd)),
        tags: start.map(|start| start.tags.clone()).unwrap_or_default(),
        budget_per_mille: start.map(|start| start.budget_per_mille).filter(|per_mille| *per_mille > 0),
        interval_ns: start.map(|start| start.interval_ns).filter(|interval_ns| *interval_ns > 0),
        native: start.map(|start| start.native),
        without_children: start.is_some_and(|start| start.without_children),
        refused: start.and_then(|start| text(&start.refused)),
        ended: stored.blocks.iter().find_map(|read| read.block.end.as_ref()).map(|end| end.why.clone()),
        start_ns: clock.at(begin_ns),
        start_realtime_ns: start.map(|start| start.realtime_ns).filter(|realtime_ns| *realtime_ns > 0),
        wall_ns: end_ns.unwrap_or(begin_ns).saturating_sub(begin_ns),
        clocks,
        accounting,
        measures,
        blocks: stored.blocks.len() as u64,
        ..Process::default()
    }
}

/// The process whose earlier segments are known.
fn segment_of(stored: &Stored, index_of: &HashMap<ProcessKey, ProcessIndex>) -> Option<ProcessIndex> {
    let key = ProcessKey::try_from(stored.start()?.continues_key.as_slice()).ok()?;
    index_of.get(&key).copied()
}

/// By the key of the parent, which only a forked child knows.
fn forked_of(stored: &Stored, index_of: &HashMap<ProcessKey, ProcessIndex>) -> Option<ProcessIndex> {
    let key = ProcessKey::try_from(stored.start()?.parent_key.as_slice()).ok()?;
    index_of.get(&key).copied()
}

/// By the pid of the parent.
fn parent_of(stored: &Stored, profile: &Profile) -> Option<ProcessIndex> {
    let parent_pid = stored.start()?.parent_pid;
    let mut processes = profile.processes.enumerate().rev();
    let (index, _) = processes.find(|(_, process)| process.pid == Some(parent_pid))?;
    Some(index)
}

/// An earlier image of the same pid whose CPU this one's clock goes on from.
fn exec_of(process: &Process, profile: &Profile) -> Option<ProcessIndex> {
    let mut earlier = profile.processes.enumerate().rev();
    let (index, _) = earlier.find(|(_, earlier)| {
        earlier.pid.is_some()
            && earlier.pid == process.pid
            && earlier.start_ns.saturating_add(earlier.wall_ns) <= process.start_ns
            && earlier.clocks.cpu_ns <= process.clocks.cpu_before_ns
    })?;
    Some(index)
}

fn marks(stored: &Stored, process: ProcessIndex, clock: &Clock, profile: &mut Profile) {
    for mark in stored.blocks.iter().flat_map(|read| &read.block.marks) {
        let at_ns = clock.at(mark.at_ns);
        let kind = match proto::MarkKind::try_from(mark.kind as i32) {
            Ok(proto::MarkKind::Rss) => {
                let bytes = mark.value;
                profile.rss.push(Rss { process, at_ns, bytes });
                continue;
            }
            Ok(proto::MarkKind::Step | proto::MarkKind::Held | proto::MarkKind::Deep) => continue,
            Ok(proto::MarkKind::Note) => MarkKind::Note,
            Ok(proto::MarkKind::Fork) => MarkKind::Fork,
            Ok(proto::MarkKind::Exec) => MarkKind::Exec,
            Ok(proto::MarkKind::Rate) => MarkKind::Rate,
            Ok(proto::MarkKind::Stopped) => MarkKind::Stopped,
            Ok(proto::MarkKind::Handler) => MarkKind::Handler,
            Ok(proto::MarkKind::Pause) => MarkKind::Pause,
            Ok(proto::MarkKind::Program) => MarkKind::Program,
            Ok(proto::MarkKind::Halt) => MarkKind::Halt,
            Ok(proto::MarkKind::Masked) => MarkKind::Masked,
            Ok(proto::MarkKind::Loaded) => MarkKind::Loaded,
            Err(_) => MarkKind::Other(mark.kind),
        };
        let text = match (kind, mark.value.saturating_sub(1)) {
            (MarkKind::Loaded, 1) => Some(format!("{} and another file", mark.text)),
            (MarkKind::Loaded, more @ 2..) => Some(format!("{} and {more} more files", mark.text)),
            _ => (!mark.text.is_empty()).then(|| mark.text.clone()),
        };
        let without_value = matches!(
            kind,
            MarkKind::Note
                | MarkKind::Fork
                | MarkKind::Exec
                | MarkKind::Stopped
                | MarkKind::Handler
                | MarkKind::Program
        );
        let value = (!without_value).then_some(mark.value);
        profile.marks.push(Mark { process, at_ns, kind, text, value });
    }
}

/// Those that say where in its program a thread was.
fn marks_of_threads(
    stored: &Stored,
    threads: &HashMap<u32, ThreadIndex>,
    window: Option<Window>,
    stacks: &mut Stacks,
    profile: &mut Profile,
) {
    let known = |thread: u32| thread.checked_sub(1).and_then(|thread| threads.get(&thread)).copied();
    for mark in stored.blocks.iter().flat_map(|read| &read.block.marks) {
        let Some(thread) = known(mark.thread) else { continue };
        let mut node = || mark.node.checked_sub(1).map(|leaf| stacks.node(leaf, profile));
        match (proto::MarkKind::try_from(mark.kind as i32), known(mark.other)) {
            (Ok(proto::MarkKind::Step), _) => {
                let node = node();
                profile.steps.push(Step { thread, node, length_ns: mark.value });
            }
            (Ok(proto::MarkKind::Held), Some(holder)) => {
                let node = node();
                profile.lock_waits.push(LockWait { thread, node, holder, wall_ns: mark.value });
            }
            (Ok(proto::MarkKind::Deep), _) if window.is_none_or(|window| window.holds(mark.at_ns)) => {
                let node = node();
                let is_cut = !mark.text.is_empty();
                profile.stack_depths.push(StackDepth { thread, node, frames: mark.value, is_cut });
            }
            _ => {}
        }
    }
}

/// CLOCK_MONOTONIC when a process was first heard of.
fn begin_ns(stored: &Stored) -> u64 {
    let start = stored.start().map(|start| start.monotonic_ns);
    let blocks = stored.blocks.iter().map(|read| read.header.start_ns);
    start.filter(|begin_ns| *begin_ns > 0).into_iter().chain(blocks).min().unwrap_or(0)
}

/// Turns CLOCK_MONOTONIC into nanoseconds since the beginning of the recording.
struct Clock {
    begin_ns: u64,
    /// CLOCK_REALTIME and CLOCK_MONOTONIC at one moment.
    known: Option<(u64, u64)>,
}

impl Clock {
    fn of(processes: &[(ProcessKey, Stored)]) -> Clock {
        Clock {
            begin_ns: processes.iter().map(|(_, stored)| begin_ns(stored)).min().unwrap_or(0),
            known: processes
                .iter()
                .filter_map(|(_, stored)| stored.start())
                .filter(|start| start.realtime_ns > 0)
                .map(|start| (start.realtime_ns, start.monotonic_ns))
                .next(),
        }
    }

    fn at(&self, monotonic_ns: u64) -> u64 {
        monotonic_ns.saturating_sub(self.begin_ns)
    }

    fn start_realtime_ns(&self) -> Option<u64> {
        let (realtime_ns, monotonic_ns) = self.known?;
        realtime_ns.checked_add(self.begin_ns)?.checked_sub(monotonic_ns)
    }
}
