//! The whole profile as JSON tables. docs/json.md is its description; the viewer's page is built from exactly this.
//! Owns: the shape of the tables. Keeps: what is absent is `null`; a change of meaning raises `VERSION`.

use std::collections::BTreeMap;
use std::io;

use serde::Serialize;

use crate::rules::pace::Pace;
use crate::rules::reading::Reading;
use crate::rules::verdict::not_followed;
use crate::tables::profile::{
    Accounting, Frame, FrameKind, Home, Mark, MarkKind, NodeIndex, NotFollowed, Process, ProcessIndex, Profile, Thread,
};
use crate::tables::source_text::{Lack, SourceText};
use crate::tables::state::in_words;
use crate::tables::table::TableIndex;
use crate::views::export::moments::MomentRows;
use crate::views::plumbing::passes_on;
use crate::views::report::json::{FiltersPage, filters_page};
use genba_format::state::State;

const VERSION: u32 = 1;

/// What the profile itself does not know.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    pub genba_version: &'a str,
    /// Name of the file.
    pub recording: Option<&'a str>,
    pub warnings: &'a [String],
}

pub fn json(reading: &Reading, context: Context) -> serde_json::Result<String> {
    let profile = &reading.profile;
    let accounting = profile.accounting();
    genba_text::json::compact(&page(reading, &accounting, context))
}

/// The same, never in memory as a whole.
pub fn write(reading: &Reading, context: Context, out: impl io::Write) -> io::Result<()> {
    let accounting = reading.profile.accounting();
    genba_text::json::write(&page(reading, &accounting, context), out)
}

#[derive(Serialize)]
struct Page<'a> {
    format: &'static str,
    version: u32,
    meta: Meta<'a>,
    filters: Option<FiltersPage<'a>>,
    accounting: Whole<'a>,
    not_followed: &'a [NotFollowed],
    not_followed_words: Option<String>,
    processes: Vec<ProcessRow<'a>>,
    threads: Vec<ThreadRow<'a>>,
    frames: Vec<FrameRow<'a>>,
    nodes: Nodes,
    states: Vec<String>,
    samples: Samples,
    moments: Option<MomentRows>,
    sources: Vec<SourceRow<'a>>,
    rss: Vec<RssRow>,
    marks: Vec<MarkRow<'a>>,
    warnings: &'a [String],
}

#[derive(Serialize)]
struct Meta<'a> {
    title: Option<String>,
    recording: Option<&'a str>,
    genba_version: &'a str,
    argv: Option<&'a [String]>,
    exit_code: Option<i32>,
    exit_signal: Option<i32>,
    wall_ns: u64,
    cpu_ns: u64,
    interval_ns: Option<u64>,
    interval_mostly_ns: Option<u64>,
    budget_per_mille: Option<u32>,
    start_realtime_ns: Option<u64>,
    native: Option<bool>,
    tags: &'a [String],
    default_weight: &'static str,
    default_weight_why: Option<&'a str>,
    rss_max_bytes: Option<u64>,
    rss_mean_bytes: Option<u64>,
}

#[derive(Serialize)]
struct Ticks<'a> {
    ticks: u64,
    sampled: u64,
    dropped: &'a BTreeMap<String, u64>,
    refused: &'a BTreeMap<String, u64>,
}

#[derive(Serialize)]
struct Whole<'a> {
    #[serde(flatten)]
    ticks: Ticks<'a>,
    cpu_ns: u64,
    cpu_sampled_ns: u64,
    /// Of the sampled: in lost blocks.
    cpu_lost_ns: u64,
    cpu_not_sampled_ns: u64,
    cpu_not_recorded_ns: u64,
    cpu_genba_ns: u64,
    cpu_before_ns: u64,
    wall_not_sampled_ns: u64,
}

#[derive(Serialize)]
struct ProcessRow<'a> {
    pid: Option<u32>,
    recording: Option<&'a str>,
    parent: Option<usize>,
    python: Option<&'a str>,
    executable: Option<&'a str>,
    argv: &'a [String],
    cwd: Option<&'a str>,
    interval_ns: Option<u64>,
    budget_per_mille: Option<u32>,
    native: Option<bool>,
    refused: Option<&'a str>,
    imported: Option<&'a str>,
    counts_calls: bool,
    ended: Option<&'a str>,
    start_ns: u64,
    wall_ns: u64,
    cpu_ns: u64,
    cpu_sampled_ns: u64,
    /// Of the sampled: in lost blocks.
    cpu_lost_ns: u64,
    cpu_not_sampled_ns: u64,
    cpu_not_recorded_ns: u64,
    cpu_genba_ns: u64,
    cpu_before_ns: u64,
    wall_not_sampled_ns: u64,
    handler_ns: u64,
    handler_runs: u64,
    threads: u64,
    rss_max_bytes: Option<u64>,
    rss_mean_bytes: Option<u64>,
    blocks: u64,
    blocks_lost: u64,
    accounting: Ticks<'a>,
}

#[derive(Serialize)]
struct ThreadRow<'a> {
    process: usize,
    tid: Option<u32>,
    name: Option<&'a str>,
    kernel_name: Option<&'a str>,
    former_names: &'a [String],
    start_ns: Option<u64>,
    cpu_ns: Option<u64>,
    cpu_not_sampled_ns: Option<u64>,
    ended: bool,
}

#[derive(Serialize)]
struct FrameRow<'a> {
    kind: &'static str,
    name: &'a str,
    owner: Option<String>,
    file: Option<&'a str>,
    first_line: Option<u32>,
    line: Option<u32>,
    end_line: Option<u32>,
    column: Option<u32>,
    end_column: Option<u32>,
    byte_column: Option<u32>,
    byte_end_column: Option<u32>,
    expression: Option<&'a str>,
    module: Option<&'a str>,
    origin: Option<&'a str>,
    full_name: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    passes_on: bool,
}

#[derive(Serialize)]
struct Nodes {
    parent: Vec<Option<usize>>,
    frame: Vec<usize>,
}

#[derive(Default, Serialize)]
struct Samples {
    node: Vec<Option<usize>>,
    thread: Vec<usize>,
    state: Vec<usize>,
    samples: Vec<u64>,
    ticks: Vec<u64>,
    cpu_ns: Vec<u64>,
    cpu_us2: Vec<u64>,
    wall_ns: Vec<u64>,
    /// Of a recording with `--copies`, as the next.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    copied_bytes: Vec<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    copies: Vec<u64>,
    /// Of one with `--alloc`, as the next.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    allocated_bytes: Vec<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    allocations: Vec<u64>,
}

#[derive(Serialize)]
struct SourceRow<'a> {
    path: &'a str,
    lines: u32,
    sha256: Option<String>,
    lack: Option<&'static str>,
    chunks: Vec<ChunkRow<'a>>,
}

#[derive(Serialize)]
struct ChunkRow<'a> {
    first_line: u32,
    text: &'a str,
}

#[derive(Serialize)]
struct RssRow {
    process: usize,
    at_ns: u64,
    bytes: u64,
}

#[derive(Serialize)]
struct MarkRow<'a> {
    process: usize,
    at_ns: u64,
    kind: String,
    text: Option<&'a str>,
    value: Option<u64>,
}

fn page<'a>(reading: &'a Reading, accounting: &'a Accounting, context: Context<'a>) -> Page<'a> {
    let profile = &reading.profile;
    let mut states: Vec<State> = profile.samples.iter().map(|group| group.state).collect();
    states.sort();
    states.dedup();
    let clocks = profile.clocks();
    Page {
        format: "genba-profile",
        version: VERSION,
        meta: meta(reading, context),
        filters: filters_page(reading, reading.choice.weight),
        accounting: Whole {
            ticks: ticks(accounting),
            cpu_ns: clocks.cpu_ns,
            cpu_sampled_ns: clocks.cpu_sampled_ns,
            cpu_lost_ns: clocks.cpu_lost_ns,
            cpu_not_sampled_ns: clocks.cpu_not_sampled_ns,
            cpu_not_recorded_ns: clocks.cpu_not_recorded_ns,
            cpu_genba_ns: clocks.cpu_genba_ns,
            cpu_before_ns: clocks.cpu_before_ns,
            wall_not_sampled_ns: clocks.wall_not_sampled_ns,
        },
        not_followed: &profile.not_followed,
        not_followed_words: not_followed::words(&profile.not_followed),
        processes: profile.processes.enumerate().map(|(index, row)| process(profile, index, row)).collect(),
        threads: profile.threads.iter().map(thread).collect(),
        frames: profile.frames.iter().map(|row| frame(profile, row)).collect(),
        nodes: Nodes {
            parent: profile.nodes.iter().map(|node| node.parent.map(TableIndex::position)).collect(),
            frame: profile.nodes.iter().map(|node| node.frame.position()).collect(),
        },
        samples: samples(profile, &states),
        moments: MomentRows::of(profile),
        states: states.iter().copied().map(in_words).collect(),
        sources: profile.sources.iter().map(source).collect(),
        rss: profile
            .rss
            .iter()
            .map(|rss| RssRow { process: rss.process.position(), at_ns: rss.at_ns, bytes: rss.bytes })
            .collect(),
        marks: profile.marks.iter().map(mark).collect(),
        warnings: context.warnings,
    }
}

fn meta<'a>(reading: &'a Reading, context: Context<'a>) -> Meta<'a> {
    let profile = &reading.profile;
    let recorder = profile.recorder.as_ref();
    let first = profile.processes.iter().next();
    let argv = recorder.map(|recorder| recorder.argv.as_slice());
    let of_first = first.map(|process| process.argv.as_slice()).filter(|argv| !argv.is_empty());
    let title = of_first.or(argv).map(|argv| argv.join(" "));
    let choice = &reading.choice;
    let pace = Pace::of(profile);
    let resident = profile.resident_max();
    Meta {
        title: title.filter(|title| !title.is_empty()),
        recording: context.recording,
        genba_version: context.genba_version,
        argv,
        exit_code: recorder.and_then(|recorder| recorder.exit_code),
        exit_signal: recorder.and_then(|recorder| recorder.exit_signal),
        wall_ns: profile.wall_ns(),
        cpu_ns: profile.clocks().cpu_ns,
        interval_ns: profile.processes.iter().find_map(|process| process.interval_ns),
        interval_mostly_ns: pace.mostly_ns,
        budget_per_mille: pace.budget_per_mille,
        start_realtime_ns: profile.start_realtime_ns,
        native: profile.processes.iter().find_map(|process| process.native),
        tags: first.map(|process| process.tags.as_slice()).unwrap_or_default(),
        default_weight: choice.weight.key(),
        default_weight_why: choice.why.as_deref(),
        rss_max_bytes: resident.map(|resident| resident.max_bytes),
        rss_mean_bytes: resident.map(|resident| resident.mean_bytes),
    }
}

fn ticks(accounting: &Accounting) -> Ticks<'_> {
    Ticks {
        ticks: accounting.ticks,
        sampled: accounting.sampled,
        dropped: &accounting.dropped,
        refused: &accounting.refused,
    }
}

fn process<'a>(profile: &'a Profile, index: ProcessIndex, row: &'a Process) -> ProcessRow<'a> {
    let resident = profile.resident(index);
    let clocks = profile.clocks_of(index);
    ProcessRow {
        pid: row.pid,
        recording: row.recording.as_deref(),
        parent: row.parent.map(TableIndex::position),
        python: row.python.as_deref(),
        executable: row.executable.as_deref(),
        argv: &row.argv,
        cwd: row.cwd.as_deref(),
        interval_ns: row.interval_ns,
        budget_per_mille: row.budget_per_mille,
        native: row.native,
        refused: row.refused.as_deref(),
        imported: row.imported.as_deref(),
        counts_calls: row.counts_calls,
        ended: row.ended.as_deref(),
        start_ns: row.start_ns,
        wall_ns: row.wall_ns,
        cpu_ns: clocks.cpu_ns,
        cpu_sampled_ns: clocks.cpu_sampled_ns,
        cpu_lost_ns: clocks.cpu_lost_ns,
        cpu_not_sampled_ns: clocks.cpu_not_sampled_ns,
        cpu_not_recorded_ns: clocks.cpu_not_recorded_ns,
        cpu_genba_ns: clocks.cpu_genba_ns,
        cpu_before_ns: clocks.cpu_before_ns,
        wall_not_sampled_ns: clocks.wall_not_sampled_ns,
        handler_ns: clocks.handler_ns,
        handler_runs: clocks.handler_runs,
        threads: profile.thread_count(index),
        rss_max_bytes: resident.map(|resident| resident.max_bytes),
        rss_mean_bytes: resident.map(|resident| resident.mean_bytes),
        blocks: row.blocks,
        blocks_lost: row.blocks_lost,
        accounting: ticks(&row.accounting),
    }
}

/// The frames of one stack alone, outermost first: `{"frames": [...]}` with frames as in the whole profile.
pub fn stack(profile: &Profile, leaf: Option<NodeIndex>) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct Page<'a> {
        frames: Vec<FrameRow<'a>>,
    }
    let mut frames: Vec<FrameRow> = profile.stack(leaf).map(|at| frame(profile, &profile.frames[at])).collect();
    frames.reverse();
    serde_json::to_string(&Page { frames })
}

fn thread(thread: &Thread) -> ThreadRow<'_> {
    ThreadRow {
        process: thread.process.position(),
        tid: thread.tid,
        name: thread.name.as_deref(),
        kernel_name: thread.kernel_name.as_deref(),
        former_names: &thread.former_names,
        start_ns: thread.start_ns,
        cpu_ns: thread.cpu_ns,
        cpu_not_sampled_ns: thread.cpu_not_sampled_ns,
        ended: thread.ended,
    }
}

fn frame<'a>(profile: &'a Profile, frame: &'a Frame) -> FrameRow<'a> {
    let function = &profile.functions[frame.function];
    let owner = profile.owner_of(frame.function).map(|owner| owner.to_string());
    let bytes = frame.location.and_then(|location| location.byte_columns).filter(|_| frame.expression.is_none());
    let row = FrameRow {
        kind: match frame.kind {
            FrameKind::Python => "python",
            FrameKind::C => "c",
            FrameKind::Inferred => "inferred",
            FrameKind::Inlined => "inlined",
            FrameKind::Mark => "mark",
        },
        name: &function.name,
        owner,
        file: None,
        first_line: None,
        line: frame.location.map(|location| location.line),
        end_line: frame.location.map(|location| location.end_line),
        column: frame.expression.as_ref().map(|expression| expression.column),
        end_column: frame.expression.as_ref().map(|expression| expression.end_column),
        byte_column: bytes.map(|bytes| bytes.start),
        byte_end_column: bytes.map(|bytes| bytes.end),
        expression: frame.expression.as_ref().map(|expression| expression.text.as_str()),
        module: None,
        origin: None,
        full_name: None,
        passes_on: passes_on(profile, frame.function),
    };
    match &function.home {
        Home::Python { file, first_line, .. } => {
            FrameRow { file: Some(&profile.files[*file].path), first_line: Some(*first_line), ..row }
        }
        Home::C { module, origin, full_name } => FrameRow {
            file: frame.c_line.as_ref().map(|place| place.file.as_str()),
            line: frame.c_line.as_ref().and_then(|place| place.line),
            module: Some(&profile.modules[*module].path),
            origin: origin.as_deref(),
            full_name: full_name.as_deref(),
            ..row
        },
        Home::Mark => row,
    }
}

fn samples(profile: &Profile, states: &[State]) -> Samples {
    let mut columns = Samples::default();
    let (counts_copies, counts_allocations) = (profile.counts_copies(), profile.counts_allocations());
    for group in &profile.samples {
        columns.node.push(group.node.map(TableIndex::position));
        columns.thread.push(group.thread.position());
        columns.state.push(states.partition_point(|state| *state < group.state));
        columns.samples.push(group.samples);
        columns.ticks.push(group.ticks);
        columns.cpu_ns.push(group.cpu_ns);
        columns.cpu_us2.push(group.cpu_us2);
        columns.wall_ns.push(group.wall_ns);
        if counts_copies {
            columns.copied_bytes.push(group.copied_bytes);
            columns.copies.push(group.copies);
        }
        if counts_allocations {
            columns.allocated_bytes.push(group.allocated_bytes);
            columns.allocations.push(group.allocations);
        }
    }
    columns
}

fn source(source: &SourceText) -> SourceRow<'_> {
    let hexadecimal = || source.sha256.iter().map(|byte| format!("{byte:02x}")).collect();
    SourceRow {
        path: &source.path,
        lines: source.line_count,
        sha256: (!source.sha256.is_empty()).then(hexadecimal),
        lack: source.lack.map(Lack::key),
        chunks: source
            .chunks
            .iter()
            .map(|chunk| ChunkRow { first_line: chunk.first_line, text: &chunk.text })
            .collect(),
    }
}

fn mark(mark: &Mark) -> MarkRow<'_> {
    MarkRow {
        process: mark.process.position(),
        at_ns: mark.at_ns,
        kind: match mark.kind {
            MarkKind::Note => "note".to_string(),
            MarkKind::Fork => "fork".to_string(),
            MarkKind::Exec => "exec".to_string(),
            MarkKind::Rate => "rate".to_string(),
            MarkKind::Stopped => "stopped".to_string(),
            MarkKind::Handler => "handler".to_string(),
            MarkKind::Pause => "pause".to_string(),
            MarkKind::Program => "program".to_string(),
            MarkKind::Halt => "halt".to_string(),
            MarkKind::Masked => "masked".to_string(),
            MarkKind::Loaded => "loaded".to_string(),
            MarkKind::Other(number) => format!("{number} (of a newer genba)"),
        },
        text: mark.text.as_deref(),
        value: mark.value,
    }
}
