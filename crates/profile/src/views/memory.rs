//! Resident memory in windows of equal length, and the stacks of that time: what the page's memory view says (web/model/time/memory.ts),
//! for who asks without a page. testdata/page/memory.json holds both to the same numbers.
//! Owns: the windows, and which stack is common and which most frequent. Never: makes text.

use foldhash::HashMap;
use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::rules::reading::Reading;
use crate::rules::weight::{Totals, Weight};
use crate::tables::locations::Location;
use crate::tables::owner::Owner;
use crate::tables::profile::{FrameIndex, FrameKind, Home, NodeIndex, ProcessIndex, Profile, Rss, ThreadIndex};
use crate::tables::state::in_words;
use crate::tables::table::TableIndex;
use crate::words::figures::count;
use genba_format::state::State;

const WINDOWS_MAX: u32 = 1_000;

/// Half open, from the recording's beginning. None: from its beginning, to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    pub from_ns: Option<u64>,
    pub to_ns: Option<u64>,
}

#[derive(Debug, Serialize)]
pub struct Memory<'p> {
    version: u32,
    /// Whose memory and stacks these are. None: of no process is the memory known, and the stacks are of all.
    process: Option<usize>,
    weight: &'static str,
    from_ns: u64,
    to_ns: u64,
    windows: Vec<MemoryWindow>,
    /// Outermost first: the calls on every stack.
    common: Vec<CallPage<'p>>,
    most_frequent: StackPage<'p>,
}

/// None: nothing was noted in it.
#[derive(Debug, Serialize)]
struct MemoryWindow {
    from_ns: u64,
    to_ns: u64,
    /// Of the sizes that were noted.
    mean_bytes: Option<u64>,
    max_bytes: Option<u64>,
}

/// The stack with the most time of its own, and that time.
#[derive(Debug, Serialize)]
struct StackPage<'p> {
    frames: Vec<CallPage<'p>>,
    cpu_ns: u64,
    wall_ns: u64,
    samples: u64,
}

#[derive(Debug, Serialize)]
struct CallPage<'p> {
    /// `function`, `expression`, `foreign` or `state`, as in the page.
    kind: &'static str,
    name: String,
    file: Option<&'p str>,
    line: Option<u32>,
    module: Option<&'p str>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoMemory {
    NoProcess { asked: usize, processes: usize },
    EmptyRange { from_ns: u64, to_ns: u64 },
}

impl fmt::Display for NoMemory {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoMemory::NoProcess { asked, processes } => {
                write!(text, "there is no process {asked}: the recording has {processes}, counted from 0")
            }
            NoMemory::EmptyRange { from_ns, to_ns } => {
                write!(text, "nothing lies between {} ns and {} ns", count(*from_ns), count(*to_ns))
            }
        }
    }
}

/// `windows`: how many; from 1 to 1,000. Without a process: of the one that was largest. The stacks are those of the reading's moments, so
/// their time begins and ends with a bin.
pub fn memory(reading: &Reading, range: Range, windows: u32, process: Option<usize>) -> Result<Memory<'_>, NoMemory> {
    let profile = &reading.profile;
    let processes = profile.processes.len();
    if let Some(asked) = process.filter(|asked| *asked >= processes) {
        return Err(NoMemory::NoProcess { asked, processes });
    }
    let process = process.map(ProcessIndex::new).or_else(|| largest(profile));
    let noted: Vec<Rss> = profile.rss.iter().filter(|rss| Some(rss.process) == process).copied().collect();
    let last_ns = noted.iter().map(|rss| rss.at_ns.saturating_add(1)).max().unwrap_or(0);
    let from_ns = range.from_ns.unwrap_or(0);
    let end_ns = profile.span_ns.max(last_ns).max(from_ns.saturating_add(1));
    let to_ns = range.to_ns.unwrap_or(end_ns);
    if to_ns <= from_ns {
        return Err(NoMemory::EmptyRange { from_ns, to_ns });
    }
    let weight = reading.choice.weight;
    let calls = Calls::of(profile, range, process);
    let (frequent, own) = calls.most_frequent(weight);
    Ok(Memory {
        version: 1,
        process: process.map(TableIndex::position),
        weight: weight.key(),
        from_ns,
        to_ns,
        windows: windowed(&noted, from_ns, to_ns, windows),
        common: calls.common(weight),
        most_frequent: StackPage { frames: frequent, cpu_ns: own.cpu_ns, wall_ns: own.wall_ns, samples: own.samples },
    })
}

pub fn json(memory: &Memory) -> serde_json::Result<String> {
    genba_text::json::compact(memory)
}

fn largest(profile: &Profile) -> Option<ProcessIndex> {
    profile.rss.iter().max_by_key(|rss| rss.bytes).map(|rss| rss.process)
}

fn windowed(noted: &[Rss], from_ns: u64, to_ns: u64, windows: u32) -> Vec<MemoryWindow> {
    let length_ns = to_ns - from_ns;
    let windows = u64::from(windows.clamp(1, WINDOWS_MAX)).min(length_ns);
    let edge = |window: u64| from_ns + (u128::from(length_ns) * u128::from(window) / u128::from(windows)) as u64;
    let edges: Vec<u64> = (0..=windows).map(edge).collect();
    let mut sums = vec![(0_u128, 0_u64, 0_u64); windows as usize];
    for rss in noted.iter().filter(|rss| (from_ns..to_ns).contains(&rss.at_ns)) {
        let window = edges.partition_point(|edge| *edge <= rss.at_ns);
        if let Some((sum, values, max)) = window.checked_sub(1).and_then(|window| sums.get_mut(window)) {
            (*sum, *values, *max) = (*sum + u128::from(rss.bytes), *values + 1, rss.bytes.max(*max));
        }
    }
    let windows = edges.windows(2).zip(sums);
    let page = |(edges, (sum, values, max)): (&[u64], (u128, u64, u64))| MemoryWindow {
        from_ns: edges[0],
        to_ns: edges[1],
        mean_bytes: (sum + u128::from(values / 2)).checked_div(u128::from(values)).map(|mean| mean as u64),
        max_bytes: Some(max).filter(|_| values > 0),
    };
    windows.map(page).collect()
}

/// A box of the page's call tree (web/model/tree/tree.ts): what makes two of them one.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Call<'p> {
    Function {
        name: &'p str,
        file: &'p str,
        first_line: u32,
    },
    /// Of the user's own code, where it hands over to foreign code or runs itself.
    Expression {
        file: &'p str,
        location: Location,
    },
    Foreign {
        kind: FrameKind,
        name: &'p str,
        full_name: Option<&'p str>,
        module: Option<&'p str>,
    },
    State(State),
}

/// A call, and a frame that is there.
type Framed<'p> = (Call<'p>, Option<FrameIndex>);

/// The page's call tree of some time. Row 0 is the root.
struct Calls<'p> {
    profile: &'p Profile,
    /// Each with its parent, which stands before its children.
    rows: Vec<(usize, Option<Framed<'p>>)>,
    own: Vec<Totals>,
    total: Vec<Totals>,
}

impl<'p> Calls<'p> {
    fn of(profile: &'p Profile, range: Range, process: Option<ProcessIndex>) -> Calls<'p> {
        let mut calls = Calls { profile, rows: vec![(0, None)], own: vec![Totals::default()], total: Vec::new() };
        let mut known = HashMap::default();
        for ((leaf, state), totals) in sums(profile, range, process) {
            let mut row = 0;
            for (call, frame) in path(profile, leaf, state) {
                row = *known.entry((row, call)).or_insert_with(|| {
                    calls.rows.push((row, Some((call, frame))));
                    calls.own.push(Totals::default());
                    calls.rows.len() - 1
                });
            }
            calls.own[row].add(totals);
        }
        calls.total = calls.own.clone();
        for row in (1..calls.rows.len()).rev() {
            let total = calls.total[row];
            calls.total[calls.rows[row].0].add(total);
        }
        calls
    }

    fn common(&self, weight: Weight) -> Vec<CallPage<'p>> {
        let whole = self.total[0].by(weight);
        let mut last = 0;
        if whole > 0 {
            // A child comes after its parent, and no two children can have all of it.
            for (row, (parent, _)) in self.rows.iter().enumerate().skip(1) {
                if *parent == last && self.total[row].by(weight) == whole {
                    last = row;
                }
            }
        }
        self.pages(last)
    }

    fn most_frequent(&self, weight: Weight) -> (Vec<CallPage<'p>>, Totals) {
        let most = (0..self.rows.len()).rev().max_by_key(|row| self.own[*row].by(weight)).unwrap_or(0);
        (self.pages(most), self.own[most])
    }

    /// From the root down to that row.
    fn pages(&self, mut row: usize) -> Vec<CallPage<'p>> {
        let mut pages = Vec::new();
        while let (parent, Some((call, frame))) = self.rows[row] {
            pages.push(self.page(call, frame));
            row = parent;
        }
        pages.reverse();
        pages
    }

    fn page(&self, call: Call<'p>, frame: Option<FrameIndex>) -> CallPage<'p> {
        let absent = CallPage { kind: "state", name: String::new(), file: None, line: None, module: None };
        match call {
            Call::Function { name, file, first_line } => {
                CallPage { kind: "function", name: name.to_owned(), file: Some(file), line: Some(first_line), ..absent }
            }
            Call::Expression { file, location } => {
                let text = frame.and_then(|frame| self.profile.frames[frame].expression.as_ref());
                let name = text.map(|expression| expression.text.clone()).unwrap_or_default();
                CallPage { kind: "expression", name, file: Some(file), line: Some(location.line), ..absent }
            }
            Call::Foreign { name, module, .. } => CallPage { kind: "foreign", name: name.to_owned(), module, ..absent },
            Call::State(state) => CallPage { name: in_words(state), ..absent },
        }
    }
}

/// Of each stack and state in that time.
fn sums(
    profile: &Profile,
    range: Range,
    process: Option<ProcessIndex>,
) -> BTreeMap<(Option<NodeIndex>, State), Totals> {
    let mut sums: BTreeMap<(Option<NodeIndex>, State), Totals> = BTreeMap::new();
    let is_of = |thread: ThreadIndex| process.is_none_or(|process| profile.threads[thread].process == process);
    match profile.moment_bins {
        Some(bins) => {
            let first = bins.at(range.from_ns.unwrap_or(0));
            let last = range.to_ns.map_or(u32::MAX, |to_ns| bins.at(to_ns.saturating_sub(1)));
            let moments = profile.moments.iter().filter(|moment| (first..=last).contains(&moment.bin));
            for moment in moments.filter(|moment| is_of(moment.thread)) {
                let samples = if moment.state.is_running() { u64::from(moment.samples) } else { 0 };
                let more = Totals { samples, cpu_ns: moment.cpu_ns, wall_ns: moment.wall_ns, ..Totals::default() };
                sums.entry((moment.node, moment.state)).or_default().add(more);
            }
        }
        None => {
            for group in profile.samples.iter().filter(|group| is_of(group.thread)) {
                sums.entry((group.node, group.state)).or_default().add(Totals::of_group(group));
            }
        }
    }
    sums
}

/// Outermost first.
fn path(profile: &Profile, leaf: Option<NodeIndex>, state: State) -> Vec<Framed<'_>> {
    let mut frames: Vec<FrameIndex> = profile.stack(leaf).collect();
    frames.reverse();
    let mut calls = Vec::with_capacity(frames.len() + 2);
    let mut handing_over = None;
    for index in frames {
        let frame = &profile.frames[index];
        let function = &profile.functions[frame.function];
        let is_own = frame.kind == FrameKind::Python && profile.owner_of(frame.function) == Some(Owner::User);
        calls.extend(handing_over.take().filter(|_| !is_own));
        calls.push(match &function.home {
            Home::Python { file, first_line, .. } => {
                let file = profile.files[*file].path.as_str();
                let expression = frame.location.map(|location| (Call::Expression { file, location }, Some(index)));
                handing_over = expression.filter(|_| is_own);
                (Call::Function { name: &function.name, file, first_line: *first_line }, Some(index))
            }
            Home::C { module, full_name, .. } => {
                let (full_name, module) = (full_name.as_deref(), Some(profile.modules[*module].path.as_str()));
                (Call::Foreign { kind: frame.kind, name: &function.name, full_name, module }, Some(index))
            }
            Home::Mark => {
                (Call::Foreign { kind: frame.kind, name: &function.name, full_name: None, module: None }, Some(index))
            }
        });
    }
    calls.extend(handing_over);
    if state != State::Running {
        calls.push((Call::State(state), None));
    }
    calls
}
