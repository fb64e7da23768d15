//! The report: which piece of the user's own code the time goes to, and what happens underneath.
//! Owns: the rows. Each sample counts for the deepest piece of the user's own code in its stack, once.
//! Never: makes text (`text`, `markdown`, `json` do); rounds.

mod callers;
mod chain;
pub(super) mod chain_text;
mod groups;
pub mod json;
pub mod markdown;
pub mod text;

pub use crate::views::plumbing::passes_on;
pub use crate::words::excerpt::{middle_cut, printable, source_cut};

use foldhash::{HashMap, HashSet};

use crate::rules::phase::Phase;
use crate::rules::reading::Reading;
use crate::rules::show::Show;
use crate::rules::test_function::{Tested, tested};
use crate::rules::verdict::Verdict;
use crate::rules::waits::for_work::ForWork;
use crate::rules::waits::short::ShortWaits;
use crate::rules::weight::{Choice, Totals, Weight};
use crate::tables::locations::ByteColumns;
use crate::tables::own_code::event_loop::EventLoop;
use crate::tables::own_code::twins::Twins;
use crate::tables::own_code::{OwnCode, code_of, own_code_and};
use crate::tables::profile::{
    FileIndex, FrameIndex, FrameKind, FunctionIndex, Home, ProcessIndex, Profile, SampleGroup, ThreadIndex,
};
use crate::tables::source_text::Expression;
use crate::tables::table::TableIndex;
use crate::views::report::callers::{Caller, Callers};
pub use crate::views::report::chain::Link;
use crate::views::report::chain::{Chain, Chains};
use crate::words::figures::share;
use genba_format::state::State;

/// What a row stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    #[default]
    Expression,
    Line,
    Function,
    /// The user's source file.
    Module,
    Thread,
    Process,
    /// The test that pytest or unittest ran.
    Test,
}

impl By {
    /// Of code; else of what ran it.
    pub(super) const fn is_a_place(self) -> bool {
        matches!(self, By::Expression | By::Line | By::Function | By::Module)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// By the samples that have this piece as the deepest of the user's own code.
    #[default]
    Own,
    /// By the samples that have it anywhere in their stack.
    Total,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    pub by: By,
    /// None: genba chooses.
    pub weight: Option<Weight>,
    pub show: Show,
    pub sort: Sort,
    /// 0 to 1; rows below it are folded.
    pub share_min: f64,
    /// None: all rows.
    pub rows_max: Option<usize>,
}

#[derive(Debug)]
pub struct Report {
    pub choice: Choice,
    pub verdict: Verdict,
    pub by: By,
    pub sort: Sort,
    /// Of all samples: what a share of 1 is.
    pub whole: Totals,
    pub rows: Vec<Row>,
    pub folded: Folded,
}

/// Rows that are not shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Folded {
    pub rows: u64,
    pub own: Totals,
}

#[derive(Debug)]
pub struct Row {
    pub subject: Subject,
    pub own: Totals,
    pub total: Totals,
    pub chain: Chain,
    /// The callers, if several places call the code and the row is not small.
    pub callers: Vec<Caller>,
}

/// What a row is about, as far as `By` says it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    pub file: Option<FileIndex>,
    pub line: Option<u32>,
    pub end_line: Option<u32>,
    pub function: Option<FunctionIndex>,
    pub expression: Option<Expression>,
    /// Of an expression whose text is not known.
    pub byte_columns: Option<ByteColumns>,
    pub thread: Option<ThreadIndex>,
    pub process: Option<ProcessIndex>,
    /// The interpreter's own work, on stacks without the user's code.
    pub phase: Option<Phase>,
}

/// What samples are added up by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    Frame(FrameIndex),
    Line(FunctionIndex, Option<u32>),
    Function(FunctionIndex),
    File(FileIndex),
    Thread(ThreadIndex),
    Process(ProcessIndex),
    Phase(Phase),
    /// No Python frame at all.
    NoPython,
}

#[derive(Default)]
struct Sum {
    own: Totals,
    total: Totals,
    chains: Chains,
    callers: Callers,
}

pub fn report(reading: &Reading, options: &Options) -> Report {
    let choice = reading.choice(options.weight);
    // As the whole recording has it, whatever a filter left.
    let waited = reading.verdict().waited_for_work.as_ref();
    let for_work = waited
        .filter(|_| choice.weight == Weight::Wall && options.by.is_a_place())
        .map(|waited| ForWork::of(reading, &ShortWaits::of(reading), waited.is_server));
    let Rows { whole, rows, folded } = rows(reading, options, choice.weight, &|_| false, for_work.as_ref());
    Report { choice, verdict: reading.verdict().clone(), by: options.by, sort: options.sort, whole, rows, folded }
}

/// A smaller row does not name its callers: it has too few samples.
const CALLED_SHARE_MIN: f64 = 0.02;

/// What a report and other views of the user's own code are made from.
pub struct Rows {
    pub whole: Totals,
    pub rows: Vec<Row>,
    pub folded: Folded,
}

/// `also_own`: files that count as the user's own code beside those that are. `for_work`: such waits are one row, behind all others.
pub fn rows(
    profile: &Profile,
    options: &Options,
    weight: Weight,
    also_own: &dyn Fn(FileIndex) -> bool,
    for_work: Option<&ForWork>,
) -> Rows {
    let mut sums: HashMap<Key, Sum> = HashMap::default();
    let mut whole = Totals::default();
    let (event_loop, twins) = (EventLoop::of(profile), Twins::of(profile));
    for group in &profile.samples {
        let totals = Totals::of_group(group);
        whole.add(totals);
        let own = own_code_and(profile, &event_loop, group.node, also_own);
        let is_for_work = for_work.is_some_and(|for_work| for_work.is(profile, group, group.state));
        let tables = (profile, &event_loop, &twins);
        add(tables, options, (group, own, is_for_work), totals, totals.by(weight), &mut sums);
    }
    let for_work = sums.remove(&Key::Phase(Phase::ForWork)).unwrap_or_default();

    let measure = |sum: &Sum| match options.sort {
        Sort::Own => sum.own.by(weight),
        Sort::Total => sum.total.by(weight),
    };
    let mut sums: Vec<(Key, Sum)> = sums.into_iter().filter(|(_, sum)| measure(sum) > 0).collect();
    sums.sort_by_cached_key(|(key, sum)| (std::cmp::Reverse(measure(sum)), place(profile, *key)));
    let smallest = options.share_min * whole.by(weight).saturating_sub(for_work.own.by(weight)) as f64;
    let shown = sums.partition_point(|(_, sum)| measure(sum) as f64 >= smallest);
    let folded = sums.split_off(shown.min(options.rows_max.unwrap_or(usize::MAX)));
    // However long: it is what the program did when it had nothing to do.
    sums.extend((for_work.own.by(weight) > 0).then_some((Key::Phase(Phase::ForWork), for_work)));
    let mut folded_own = Totals::default();
    for (_, sum) in &folded {
        folded_own.add(sum.own);
    }
    let mut rows: Vec<Row> = sums
        .into_iter()
        .map(|(key, sum)| Row {
            subject: subject(profile, key),
            own: sum.own,
            total: sum.total,
            chain: sum.chains.descent(|link| link.is_mark(profile)),
            callers: if share(sum.own.by(weight), whole.by(weight)) < CALLED_SHARE_MIN {
                Vec::new()
            } else {
                sum.callers.named()
            },
        })
        .collect();
    tell_namesakes_apart(profile, &mut rows);
    Rows { whole, rows, folded: Folded { rows: folded.len() as u64, own: folded_own } }
}

fn add(
    (profile, event_loop, twins): (&Profile, &EventLoop, &Twins),
    options: &Options,
    (group, own, is_for_work): (&SampleGroup, OwnCode, bool),
    totals: Totals,
    weight: u64,
    sums: &mut HashMap<Key, Sum>,
) {
    let mut below: Vec<Link> = Vec::new();
    if group.state != State::Running {
        below.push(Link::State(group.state));
    }
    let OwnCode { deepest, frames: own, given } = own;
    let by_place = options.by.is_a_place();
    let phase_of = || Phase::of(profile, event_loop, group.node, &own, group.state.is_waiting());
    let phase = by_place.then(phase_of).flatten();
    let above = phase.map_or(deepest, |(_, frame)| Some(frame));
    for frame in profile.stack(group.node) {
        if Some(frame) == above {
            break;
        }
        let kind = profile.frames[frame].kind;
        // What was inlined belongs to the function above it: a chain of names that all can be found on the stack reads
        // better, and is the same with and without debug information.
        // Nor does one that only passes a call on say anything between two others.
        if options.show.shows(kind) && kind != FrameKind::Inlined && !passes_on(profile, profile.frames[frame].function)
        {
            below.push(Link::Function(twins.function(profile.frames[frame].function)));
        }
    }
    let phase = if is_for_work { Some(Phase::ForWork) } else { phase.map(|(phase, _)| phase) };
    let own_key = phase.map_or_else(|| key((profile, twins), options.by, deepest, group), Key::Phase);
    let sum = sums.entry(own_key).or_default();
    sum.own.add(totals);
    if !is_for_work {
        sum.chains.add(below.iter().rev().copied(), weight);
    }
    let is_called = matches!(options.by, By::Expression | By::Line | By::Function) && !is_for_work;
    if is_called && tells_callers(profile, group, deepest) {
        let given: Vec<FrameIndex> = own[..given].iter().map(|frame| twins.frame(*frame)).collect();
        sum.callers.add(profile, &given, deepest.map(|frame| twins.frame(frame)), weight);
    }

    // A recursive piece of code stands many times in a stack and counts once.
    let mut counted = HashSet::from_iter([own_key]);
    sum.total.add(totals);
    for frame in own {
        let key = key((profile, twins), options.by, Some(frame), group);
        if counted.insert(key) {
            sums.entry(key).or_default().total.add(totals);
        }
    }
}

/// A stack of counted calls is a function below its caller. One that ends below the row, or in the row called by itself, does not tell
/// what led to the row: other stacks do.
fn tells_callers(profile: &Profile, group: &SampleGroup, row: Option<FrameIndex>) -> bool {
    if !profile.processes[profile.threads[group.thread].process].counts_calls {
        return true;
    }
    let mut stack = profile.stack(group.node);
    let Some(function) = stack.next() else { return false };
    let is_recursion = stack.next().is_some_and(|caller| code_of(profile, caller) == code_of(profile, function));
    Some(function) == row && !is_recursion
}

/// What several processes ran is one row, whosever code it is in each of them.
fn key((profile, twins): (&Profile, &Twins), by: By, frame: Option<FrameIndex>, group: &SampleGroup) -> Key {
    let process = profile.threads[group.thread].process;
    let of_test = || match tested(profile, group.node) {
        Tested::By(test) => Key::Function(twins.function(test)),
        Tested::InTask => Key::Phase(Phase::AsyncTests),
        Tested::Nothing => Key::NoPython,
    };
    let Some(frame) = frame else {
        return match by {
            By::Thread => Key::Thread(group.thread),
            By::Process => Key::Process(process),
            By::Test => of_test(),
            By::Expression | By::Line | By::Function | By::Module => Key::NoPython,
        };
    };
    let row = &profile.frames[frame];
    match (by, &profile.functions[row.function].home) {
        (By::Expression, _) => Key::Frame(twins.frame(frame)),
        (By::Line, _) => Key::Line(twins.function(row.function), row.location.map(|location| location.line)),
        (By::Function, _) => Key::Function(twins.function(row.function)),
        (By::Module, Home::Python { file, .. }) => Key::File(twins.file(*file)),
        (By::Module, Home::C { .. } | Home::Mark) => Key::NoPython,
        (By::Thread, _) => Key::Thread(group.thread),
        (By::Process, _) => Key::Process(process),
        (By::Test, _) => of_test(),
    }
}

fn subject(profile: &Profile, key: Key) -> Subject {
    let in_function = |function: FunctionIndex, line: Option<u32>| {
        let Home::Python { file, first_line, .. } = profile.functions[function].home else {
            return Subject::default();
        };
        Subject {
            file: Some(file),
            line: line.or(Some(first_line).filter(|_| matches!(key, Key::Function(_)))),
            function: Some(function),
            ..Subject::default()
        }
    };
    match key {
        Key::Frame(frame) => {
            let frame = &profile.frames[frame];
            Subject {
                expression: frame.expression.clone(),
                byte_columns: match frame.expression {
                    Some(_) => None,
                    None => frame.location.and_then(|location| location.byte_columns),
                },
                end_line: frame.location.map(|location| location.end_line),
                ..in_function(frame.function, frame.location.map(|location| location.line))
            }
        }
        Key::Line(function, line) => in_function(function, line),
        Key::Function(function) => in_function(function, None),
        Key::File(file) => Subject { file: Some(file), ..Subject::default() },
        Key::Thread(thread) => {
            Subject { thread: Some(thread), process: Some(profile.threads[thread].process), ..Subject::default() }
        }
        Key::Process(process) => Subject { process: Some(process), ..Subject::default() },
        Key::Phase(phase) => Subject { phase: Some(phase), ..Subject::default() },
        Key::NoPython => Subject::default(),
    }
}

/// By their first lines: methods in counts of calls, which name neither classes nor the lines that ran.
fn tell_namesakes_apart(profile: &Profile, rows: &mut [Row]) {
    let without_line = |row: &Row| {
        let function = row.subject.function.filter(|_| row.subject.line.is_none())?;
        Some((row.subject.file?, profile.functions[function].name.as_str()))
    };
    let mut namesakes: HashMap<(FileIndex, &str), usize> = HashMap::default();
    for named in rows.iter().filter_map(without_line) {
        *namesakes.entry(named).or_default() += 1;
    }
    for row in rows {
        if without_line(row).is_some_and(|named| namesakes[&named] > 1)
            && let Some(function) = row.subject.function
            && let Home::Python { first_line, .. } = profile.functions[function].home
        {
            row.subject.line = Some(first_line).filter(|line| *line > 0);
        }
    }
}

/// The order of rows that weigh the same: by where they are.
fn place(profile: &Profile, key: Key) -> impl Ord + use<> {
    let subject = subject(profile, key);
    let file = subject.file.map(|file| profile.files[file].path.clone());
    let columns = match (&subject.expression, subject.byte_columns) {
        (Some(expression), _) => Some((expression.column, subject.end_line, expression.end_column)),
        (None, Some(bytes)) => Some((bytes.start, subject.end_line, bytes.end)),
        (None, None) => None,
    };
    let function = subject.function.map(|function| profile.functions[function].name.clone());
    let thread = subject.thread.map(TableIndex::position);
    (file, subject.line, columns, subject.process.map(TableIndex::position), thread, function, subject.phase)
}
