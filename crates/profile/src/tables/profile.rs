//! The tables of a profile: what every view is made from.
//! Owns: their shapes. Never: holds a number that belongs to one view. `build` fills them.
//! Over 500 lines: the shapes of one set of tables, which name each other's rows.
//! Keeps: a parent node stands before its children; no two nodes under one parent have the same frame.

use std::collections::BTreeMap;

use crate::tables::locations::Location;
use crate::tables::owner::Owner;
use crate::tables::source_text::{Expression, SourceText, Sources};
use crate::tables::table::{Table, table_index};
use crate::tables::window::Bins;
use genba_format::context::ContextKind;
use genba_format::measure::{Measure, Totals};
use genba_format::state::State;
use genba_format::{NO_FILE, NO_SINGLE_THREAD};
use serde::Serialize;

table_index!(/// Row of `Profile::processes`.
    ProcessIndex);
table_index!(/// Row of `Profile::threads`.
    ThreadIndex);
table_index!(/// Row of `Profile::files`.
    FileIndex);
table_index!(/// Row of `Profile::modules`.
    ModuleIndex);
table_index!(/// Row of `Profile::functions`.
    FunctionIndex);
table_index!(/// Row of `Profile::frames`.
    FrameIndex);
table_index!(/// Row of `Profile::nodes`.
    NodeIndex);
table_index!(/// Row of `Profile::contexts`.
    ContextIndex);

#[derive(Debug, Default)]
pub struct Profile {
    /// Several, where they were read as one; 0 where there is nothing to count.
    pub recordings: u64,
    /// None: the command had no chance to write its part (it was killed), or recording goes on.
    pub recorder: Option<Recorder>,
    /// CLOCK_REALTIME where the times named `at_ns` and `start_ns` begin; None without a start block.
    pub start_realtime_ns: Option<u64>,
    /// From the first process's start to the end of the last block.
    pub span_ns: u64,
    pub processes: Table<ProcessIndex, Process>,
    pub threads: Table<ThreadIndex, Thread>,
    pub files: Table<FileIndex, File>,
    pub modules: Table<ModuleIndex, Module>,
    pub functions: Table<FunctionIndex, Function>,
    pub frames: Table<FrameIndex, Frame>,
    pub nodes: Table<NodeIndex, Node>,
    pub contexts: Table<ContextIndex, Context>,
    pub samples: Vec<SampleGroup>,
    /// When the samples were, from the recording's beginning on; empty unless asked for.
    pub moments: Vec<Moment>,
    /// None: they were not asked for.
    pub moment_bins: Option<Bins>,
    /// Of each block that has an accounting; empty unless moments were asked for.
    pub unsampled: Vec<Unsampled>,
    /// What measures other than CPU and wall time gave.
    pub weights: Vec<WeightGroup>,
    pub steps: Vec<Step>,
    pub lock_waits: Vec<LockWait>,
    pub stack_depths: Vec<StackDepth>,
    /// Of each process in the order of their ends.
    pub collections: Vec<Collection>,
    pub collectors: Vec<Collector>,
    pub sources: Sources,
    /// Folders and modules that an installer put outside of `site-packages`.
    pub packages: Vec<String>,
    /// Those of a process stand together, in the order of processes and of time.
    pub rss: Vec<Rss>,
    pub marks: Vec<Mark>,
    /// In the order of their walks.
    pub heaps: Vec<Heap>,
    /// Those that the run started and genba was not in.
    pub not_followed: Vec<NotFollowed>,
    /// One sentence for each thing that is wrong with the file.
    pub faults: Vec<String>,
    /// Of all processes, whether or not they are known. At least so many.
    pub blocks_lost: u64,
}

/// What `genba run` wrote when the program had ended.
#[derive(Clone, Debug)]
pub struct Recorder {
    pub argv: Vec<String>,
    /// None: ended by a signal, or nobody knows.
    pub exit_code: Option<i32>,
    pub exit_signal: Option<i32>,
    pub wall_ns: u64,
}

/// A program of the run that is not in the recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotFollowed {
    /// Path of its file. Empty: of several programs for which there was no room.
    pub name: String,
    pub reason: String,
    /// How often it was started.
    pub count: u64,
    /// It is a CPython, which ran for so long, as far as that was seen.
    #[serde(rename = "python")]
    pub is_python: bool,
    pub wall_ns: u64,
    pub cpu_ns: u64,
    /// Of a CPython, secrets masked.
    pub command: String,
}

/// What the heap of a process held at one moment, by class. The largest classes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heap {
    /// None: it is not in this recording.
    pub process: Option<ProcessIndex>,
    pub at_ns: u64,
    /// `signal`, `interval`, `rss`, `before_gc`, `after_gc` or `exit`.
    pub moment: String,
    /// A full collection ran just before.
    pub is_collected: bool,
    /// Of all classes.
    pub objects: u64,
    pub bytes: u64,
    /// The GIL was held for so long.
    pub pause_ns: u64,
    /// Name of the file that has all classes.
    pub file: String,
    pub classes: Vec<HeapClass>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeapClass {
    /// With its module.
    pub name: String,
    pub objects: u64,
    pub bytes: u64,
}

/// One process image: a fork or an exec begins another. Fields that only a start block tells are `None` or empty
/// where that block was lost.
#[derive(Clone, Debug, Default)]
pub struct Process {
    pub pid: Option<u32>,
    pub parent: Option<ProcessIndex>,
    /// It began as a copy of its parent, which is in the recording.
    pub is_forked: bool,
    pub python: Option<String>,
    pub executable: Option<String>,
    pub argv: Vec<String>,
    pub cwd: Option<String>,
    pub tags: Vec<String>,
    pub interval_ns: Option<u64>,
    /// What sampling may take of the program's CPU; `None`: the interval is kept.
    pub budget_per_mille: Option<u32>,
    pub native: Option<bool>,
    /// What it starts is not recorded.
    pub without_children: bool,
    /// Why it was not sampled.
    pub refused: Option<String>,
    /// Why it ended; None: no end block.
    pub ended: Option<String>,
    /// Of another profiler's file: where it is from, and what a sample stands for. What such a file does not tell is 0 or `None`.
    pub imported: Option<String>,
    /// A sample is one call, and each call was counted.
    pub counts_calls: bool,
    /// Of which recording, where several were read as one.
    pub recording: Option<String>,
    pub start_ns: u64,
    /// CLOCK_REALTIME at some moment after it began, as the process itself read it. None: not told.
    pub start_realtime_ns: Option<u64>,
    pub wall_ns: u64,
    /// When `genba run` saw the program end.
    pub run_ended_ns: Option<u64>,
    pub clocks: Clocks,
    pub accounting: Accounting,
    /// Of all measures but CPU, which `clocks` tells.
    pub measures: BTreeMap<Measure, Totals>,
    pub blocks: u64,
    pub blocks_lost: u64,
    /// The same process before an `exec`: its CPU is contained in this one's `cpu_before_ns`.
    pub exec_of: Option<ProcessIndex>,
}

/// Law 2: `cpu_ns` = `cpu_sampled_ns` + `cpu_not_sampled_ns` + `cpu_genba_ns`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clocks {
    pub cpu_ns: u64,
    pub cpu_sampled_ns: u64,
    /// Part of `cpu_sampled_ns`: of samples in blocks that are lost, as far as a later block tells.
    pub cpu_lost_ns: u64,
    pub cpu_not_sampled_ns: u64,
    pub cpu_genba_ns: u64,
    /// Part of `cpu_not_sampled_ns`: what had passed when the agent started.
    pub cpu_before_ns: u64,
    pub wall_not_sampled_ns: u64,
    pub handler_ns: u64,
    pub handler_runs: u64,
    /// Not part of `cpu_ns`: what the process used after its last block, as the kernel told whoever waited for its end.
    pub cpu_not_recorded_ns: u64,
}

/// Law 1: `ticks` = `sampled` + sum of `dropped` + sum of `refused`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accounting {
    pub ticks: u64,
    pub sampled: u64,
    pub dropped: BTreeMap<String, u64>,
    pub refused: BTreeMap<String, u64>,
}

#[derive(Clone, Debug)]
pub struct Thread {
    pub process: ProcessIndex,
    /// None: the block that named it was lost.
    pub tid: Option<u32>,
    /// What `threading` called it last; else the kernel's name.
    pub name: Option<String>,
    /// Where it tells more than the name and the process's own.
    pub kernel_name: Option<String>,
    /// What `threading` called it before, in the order of time.
    pub former_names: Vec<String>,
    pub start_ns: Option<u64>,
    pub cpu_ns: Option<u64>,
    pub cpu_not_sampled_ns: Option<u64>,
    /// How often it got a CPU. None: the kernel did not tell, or not at the thread's end.
    pub turns: Option<u64>,
    /// How long it was ready to run without a CPU, as far as the kernel told.
    pub cpu_queue_ns: Option<u64>,
    pub ended: bool,
}

impl Thread {
    /// `encoder (worker/3), before loader`
    #[must_use]
    pub fn names_in_words(&self) -> String {
        const FORMER_MAX: usize = 3;
        let mut words = self.name.clone().unwrap_or_default();
        if let Some(name) = &self.kernel_name {
            words += &format!(" ({name})");
        }
        let more = self.former_names.len().saturating_sub(FORMER_MAX);
        if let [_, ..] = self.former_names.as_slice() {
            words += &format!(", before {}", self.former_names[more..].join(", "));
        }
        if more > 0 {
            words += &format!(" and {more} more");
        }
        words
    }

    /// All that it is or was called.
    pub fn all_names(&self) -> impl Iterator<Item = &str> {
        self.name.iter().chain(&self.kernel_name).chain(&self.former_names).map(String::as_str)
    }

    /// It walks the heap for genba: its CPU is genba's own.
    #[must_use]
    pub fn is_genba_s(&self) -> bool {
        let clocks = self.cpu_ns.zip(self.cpu_not_sampled_ns);
        clocks.is_some_and(|(cpu_ns, not_sampled_ns)| {
            self.all_names().any(|name| is_of_genba(name, cpu_ns, not_sampled_ns))
        })
    }

    /// Of all that ended before a tick met them: it has a name, and no number.
    #[must_use]
    pub fn is_of_many(&self) -> bool {
        self.tid == Some(NO_SINGLE_THREAD)
    }

    /// `thread 4130 (worker)`
    #[must_use]
    pub fn in_words(&self) -> String {
        let tid = self.tid.unwrap_or(0);
        match &self.name {
            Some(name) if self.is_of_many() => name.clone(),
            Some(name) => format!("thread {tid} ({name})"),
            None => format!("thread {tid}"),
        }
    }
}

/// Whether a thread of that name is genba's, which is in no sample on a CPU. It may have been met before it had given itself the second one.
#[must_use]
pub fn is_of_genba(name: &str, cpu_ns: u64, not_sampled_ns: u64) -> bool {
    ["genba", "genba-heap"].contains(&name) && not_sampled_ns >= cpu_ns
}

/// Stands where a lost block took the rest of a stack away.
pub const LOST_REST: &str = "the rest was lost with a damaged block";
/// Stands for a frame whose code object, module or text a lost block took away.
pub const LOST_FRAME: &str = "a frame lost with a damaged block";
/// Stands for a number that a damaged block took away.
pub const LOST: &str = "of a lost block";

/// A Python source file; a relative path was made absolute with the folder its process started in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct File {
    pub path: String,
    pub owner: Owner,
    /// Of code without a file (`<stdin>`), which has one name in many programs: which program's. Else 0.
    pub family: u64,
}

/// A loaded file with machine code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Module {
    pub path: String,
    pub owner: Owner,
    /// By the time its functions were to be named another file was there.
    pub is_replaced: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Function {
    /// Qualified name in Python.
    pub name: String,
    pub home: Home,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Home {
    Python {
        file: FileIndex,
        first_line: u32,
        /// Length of the code's location table, which tells texts apart where they are in no file. Else 0.
        table_bytes: u32,
    },
    C {
        module: ModuleIndex,
        origin: Option<String>,
        /// With argument types or hash, where the name leaves something out.
        full_name: Option<String>,
    },
    /// Not a function: why a stack ends here or what is missing in it.
    Mark,
}

/// One place in a function that was being executed.
#[derive(Clone, Debug)]
pub struct Frame {
    pub function: FunctionIndex,
    pub kind: FrameKind,
    /// Of Python frames, where the location table says one.
    pub location: Option<Location>,
    /// None: the source is not known, or the instruction has no columns.
    pub expression: Option<Expression>,
    /// Of C frames, where debug information tells it.
    pub c_line: Option<CLine>,
}

/// Where in the source of a C function the program was.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CLine {
    pub file: String,
    pub line: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameKind {
    Python,
    C,
    /// A C function that a tail call took off the stack and that was found again.
    Inferred,
    /// A C function that the compiler put into the one above it.
    Inlined,
    Mark,
}

/// A stack is its leaf node; parents lead to the root.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    pub parent: Option<NodeIndex>,
    pub frame: FrameIndex,
}

/// What a sample belongs to beside its thread and stack: parents are the contexts around it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Context {
    pub process: ProcessIndex,
    pub kind: ContextKind,
    pub name: String,
    pub parent: Option<ContextIndex>,
}

/// All samples of one thread that have the same stack, state and context, and lie on the same side of the window that was asked for.
#[derive(Clone, Copy, Debug)]
pub struct SampleGroup {
    /// None: no stack.
    pub node: Option<NodeIndex>,
    pub thread: ThreadIndex,
    pub state: State,
    /// The innermost. None: in none that is known.
    pub context: Option<ContextIndex>,
    /// Taken within the window; true without one.
    pub in_window: bool,
    pub samples: u64,
    pub ticks: u64,
    pub cpu_ns: u64,
    /// Sum of the squares of the samples' CPU, in microseconds: with `cpu_ns` it tells how many equal samples these are worth.
    pub cpu_us2: u64,
    pub wall_ns: u64,
    /// Bytes copied, the variance of that estimate in squares of 1,024 bytes (0: not told), and in how many copies. Apart from samples: a
    /// group may have these alone.
    pub copied_bytes: u64,
    pub copied_kib2: u64,
    pub copies: u64,
    /// The same of allocations.
    pub allocated_bytes: u64,
    pub allocated_kib2: u64,
    pub allocations: u64,
    /// How often the thread was seen to begin such a wait; 0 for running ones. Samples of one thread in a row are one wait, even
    /// if it ran in between for less than a tick.
    pub waits: u64,
    /// Of `wall_ns`: while a thread of this process ran, or waited for a CPU, on which no Python was ever seen. 0 on such a thread.
    pub beside_native_ns: u64,
}

/// Samples of one thread, stack and state whose time lies in one bin. There may be several of the same bin.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Counted from 0.
    pub bin: u32,
    /// None: no stack.
    pub node: Option<NodeIndex>,
    pub thread: ThreadIndex,
    pub state: State,
    /// As of the group of samples.
    pub in_window: bool,
    /// Those that were taken in the bin.
    pub samples: u32,
    /// Of those samples: a wait is one sample, however many ticks it lasts.
    pub ticks: u32,
    /// The part of the samples' time that lies in the bin.
    pub cpu_ns: u64,
    pub wall_ns: u64,
}

/// What no sample holds of the time of one block of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unsampled {
    pub start_ns: u64,
    pub end_ns: u64,
    /// Negative where samples of this block hold CPU that was still in none when the block before ended.
    pub cpu_ns: i64,
    pub ticks: u64,
    /// Those of them that gave no sample.
    pub lost_ticks: u64,
}

/// What one measure gave for one thread, stack and context.
#[derive(Clone, Copy, Debug)]
pub struct WeightGroup {
    pub measure: Measure,
    pub thread: ThreadIndex,
    pub node: Option<NodeIndex>,
    pub context: Option<ContextIndex>,
    /// How often it was measured.
    pub count: u64,
    /// In the measure's unit.
    pub weight: u64,
}

/// A callback of an event loop that took long, or whatever else a thread did in one context (`contextvars`).
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub thread: ThreadIndex,
    /// A stack of it.
    pub node: Option<NodeIndex>,
    /// CPU time, and time in calls that block: at least.
    pub length_ns: u64,
}

/// A thread waited for a lock, and which thread held it.
#[derive(Clone, Copy, Debug)]
pub struct LockWait {
    pub thread: ThreadIndex,
    pub node: Option<NodeIndex>,
    pub holder: ThreadIndex,
    pub wall_ns: u64,
}

/// A stack of which a sample holds the innermost frames alone.
#[derive(Clone, Copy, Debug)]
pub struct StackDepth {
    pub thread: ThreadIndex,
    pub node: Option<NodeIndex>,
    /// How often the function of its outermost frame here is in all of it.
    pub frames: u64,
    /// It may be there more often.
    pub is_cut: bool,
}

/// One garbage collection.
#[derive(Clone, Copy, Debug)]
pub struct Collection {
    pub process: ProcessIndex,
    pub thread: Option<ThreadIndex>,
    /// The Python stack in which it ran. None: not known.
    pub node: Option<NodeIndex>,
    pub at_ns: u64,
    pub pause_ns: u64,
    pub generation: u32,
    pub reason: Reason,
    /// Objects; None: the collector does not tell.
    pub examined: Option<u64>,
    pub collected: u64,
    pub uncollectable: u64,
    /// What the youngest generation's counter had reached, and its threshold.
    pub young: u64,
    pub threshold: u64,
}

/// Who asked for a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    Threshold,
    Explicit,
    CCall,
    Shutdown,
    Unknown,
}

/// What is known of a process's collector beside its collections.
#[derive(Clone, Debug)]
pub struct Collector {
    pub process: ProcessIndex,
    /// Collections of each generation before the first that could be recorded.
    pub before: Vec<u64>,
    /// Collections for which there was no room.
    pub lost: u64,
    /// A collection of generation 1 is one increment (CPython 3.14.0 to 3.14.4).
    pub is_incremental: bool,
}

impl Reason {
    /// As `genba gc` writes it, in text and in JSON.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Reason::Threshold => "threshold",
            Reason::Explicit => "gc.collect",
            Reason::CCall => "PyGC_Collect",
            Reason::Shutdown => "shutdown",
            Reason::Unknown => "unknown",
        }
    }
}

/// Resident size at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Rss {
    pub process: ProcessIndex,
    pub at_ns: u64,
    pub bytes: u64,
}

#[derive(Clone, Debug)]
pub struct Mark {
    pub process: ProcessIndex,
    pub at_ns: u64,
    pub kind: MarkKind,
    pub text: Option<String>,
    pub value: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkKind {
    Note,
    Fork,
    Exec,
    Rate,
    Stopped,
    /// A signal handler changed hands.
    Handler,
    /// The program paused the sampling (value 0) or let it go on (1).
    Pause,
    /// The program's own words.
    Program,
    /// The process had been stopped until then, for `value` ns.
    Halt,
    /// A thread blocks the signal that asks it; value: its tid.
    Masked,
    /// The program loaded so many files with code (value).
    Loaded,
    /// Of a newer genba.
    Other(u32),
}

impl Clocks {
    pub const fn add(&mut self, other: &Clocks) {
        self.cpu_ns = self.cpu_ns.saturating_add(other.cpu_ns);
        self.cpu_sampled_ns = self.cpu_sampled_ns.saturating_add(other.cpu_sampled_ns);
        self.cpu_lost_ns = self.cpu_lost_ns.saturating_add(other.cpu_lost_ns);
        self.cpu_not_sampled_ns = self.cpu_not_sampled_ns.saturating_add(other.cpu_not_sampled_ns);
        self.cpu_genba_ns = self.cpu_genba_ns.saturating_add(other.cpu_genba_ns);
        self.cpu_before_ns = self.cpu_before_ns.saturating_add(other.cpu_before_ns);
        self.wall_not_sampled_ns = self.wall_not_sampled_ns.saturating_add(other.wall_not_sampled_ns);
        self.handler_ns = self.handler_ns.saturating_add(other.handler_ns);
        self.handler_runs = self.handler_runs.saturating_add(other.handler_runs);
        self.cpu_not_recorded_ns = self.cpu_not_recorded_ns.saturating_add(other.cpu_not_recorded_ns);
    }
}

impl Accounting {
    pub fn add(&mut self, other: &Accounting) {
        self.ticks = self.ticks.saturating_add(other.ticks);
        self.sampled = self.sampled.saturating_add(other.sampled);
        for (sums, reasons) in [(&mut self.dropped, &other.dropped), (&mut self.refused, &other.refused)] {
            for (reason, ticks) in reasons {
                let sum = sums.entry(reason.clone()).or_default();
                *sum = sum.saturating_add(*ticks);
            }
        }
    }
}

impl File {
    /// The recording tells functions by their name alone.
    pub fn is_unknown(&self) -> bool {
        self.path.starts_with(NO_FILE)
    }
}

impl Function {
    /// Stands where a damaged block took a frame away, or the rest of a stack.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.home == Home::Mark && [LOST_REST, LOST_FRAME].contains(&&*self.name)
    }
}

impl Process {
    /// As it follows the word `process`.
    pub fn number_in_words(&self) -> String {
        match self.pid {
            Some(pid) => pid.to_string(),
            None if self.imported.is_some() => "without a number".to_string(),
            None => LOST.to_string(),
        }
    }

    /// Another segment of the same process image: what both counted from their own beginning adds up.
    pub fn goes_on(&mut self, next: Process) {
        let end_ns = next.start_ns.saturating_add(next.wall_ns);
        self.wall_ns = end_ns.saturating_sub(self.start_ns);
        self.ended = next.ended;
        self.blocks = self.blocks.saturating_add(next.blocks);
        self.blocks_lost = self.blocks_lost.saturating_add(next.blocks_lost);
        self.clocks.add(&next.clocks);
        self.accounting.add(&next.accounting);
        for (measure, totals) in next.measures {
            let sum = self.measures.entry(measure).or_default();
            sum.exact = sum.exact.saturating_add(totals.exact);
            sum.genba = sum.genba.saturating_add(totals.genba);
            sum.sampled = sum.sampled.saturating_add(totals.sampled);
            sum.not_sampled = sum.not_sampled.saturating_add(totals.not_sampled);
        }
    }
}

impl Module {
    pub fn base_name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

impl Profile {
    pub fn function_of(&self, frame: FrameIndex) -> &Function {
        &self.functions[self.frames[frame].function]
    }

    /// The process's last block was written just before an `exec`, and none came after: it is another program now.
    pub fn became_another(&self, index: ProcessIndex) -> bool {
        const WRITTEN_WITHIN_NS: u64 = 50_000_000;
        let process = &self.processes[index];
        let last_ns = process.start_ns.saturating_add(process.wall_ns);
        self.marks.iter().any(|mark| {
            mark.process == index
                && mark.kind == MarkKind::Exec
                && last_ns.saturating_sub(mark.at_ns) < WRITTEN_WITHIN_NS
        })
    }

    /// Sampled processes that go on, or that were killed: none of their blocks is the last one.
    pub fn without_end(&self) -> impl Iterator<Item = &Process> {
        let is_without_end =
            |process: &Process| process.ended.is_none() && process.refused.is_none() && process.imported.is_none();
        let processes = self.processes.enumerate();
        processes
            .filter(move |(index, process)| is_without_end(process) && !self.became_another(*index))
            .map(|(_, process)| process)
    }

    /// Nothing more comes of its processes. False where one was killed: more may come of it, as far as the recording tells.
    pub fn have_all_ended(&self) -> bool {
        self.without_end().next().is_none()
    }

    /// The recording's end was not the program's: the first process went on after it.
    #[must_use]
    pub fn is_part_of_run(&self) -> bool {
        let ended = self.processes.iter().next().and_then(|process| process.ended.as_deref());
        matches!(ended, Some("duration" | "detached"))
    }

    /// Some of it is of another profiler's file.
    pub fn is_imported(&self) -> bool {
        self.processes.iter().any(|process| process.imported.is_some())
    }

    /// Its samples are all calls that there were, not a part of them: no share is uncertain.
    pub fn counts_calls(&self) -> bool {
        let mut processes = self.processes.iter().peekable();
        processes.peek().is_some() && processes.all(|process| process.counts_calls)
    }

    /// None: a mark.
    pub fn owner_of(&self, function: FunctionIndex) -> Option<Owner> {
        match self.functions[function].home {
            Home::Python { file, .. } => Some(self.files[file].owner),
            Home::C { module, .. } => Some(self.modules[module].owner),
            Home::Mark => None,
        }
    }

    /// The text of a Python function's file, where it is known.
    pub fn source_of(&self, function: FunctionIndex) -> Option<&SourceText> {
        match self.functions[function].home {
            Home::Python { file, .. } => self.sources.get(&self.files[file].path),
            Home::C { .. } | Home::Mark => None,
        }
    }

    /// The frames of a stack, innermost first.
    pub fn stack(&self, leaf: Option<NodeIndex>) -> impl Iterator<Item = FrameIndex> {
        let mut next = leaf;
        std::iter::from_fn(move || {
            let node = self.nodes[next?];
            next = node.parent;
            Some(node.frame)
        })
    }
}
