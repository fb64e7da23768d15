//! A dump as JSON; docs/json.md describes it.
//! Owns: the keys. A frame has those of a recording's frame (docs/json.md). Keeps: what is absent is `null`.

use genba_format::state::State as Stored;
use genba_process::look::Local;
use genba_process::snapshot::{Certainty, Lock, State, Thread, Unverified};
use genba_profile::state::in_words;
use serde::Serialize;

use super::dumped::{CFrame, Dumped, Frame, PythonFrame};
use super::states;
use super::text::end_key;

const VERSION: u32 = 1;

#[derive(Serialize)]
struct Page<'a> {
    format: &'static str,
    version: u32,
    genba_version: &'static str,
    processes: Vec<Process<'a>>,
    warnings: &'a [String],
}

#[derive(Serialize)]
struct Process<'a> {
    pid: u32,
    parent: u32,
    python: &'a str,
    executable: Option<String>,
    argv: &'a [String],
    cwd: Option<String>,
    /// Files whose source is not that of what runs.
    changed_sources: &'a [String],
    threads: Vec<ThreadRow<'a>>,
}

#[derive(Serialize)]
struct ThreadRow<'a> {
    tid: u32,
    own_tid: u32,
    name: Option<&'a str>,
    comm: &'a str,
    state: String,
    holds_gil: bool,
    held_by: Option<u32>,
    system_call: Option<Call>,
    certainty: &'static str,
    stopped_ns: Option<u64>,
    end: &'static str,
    is_cut_by_time: bool,
    frames: Vec<FrameRow<'a>>,
}

#[derive(Serialize)]
struct Call {
    number: u32,
    name: Option<String>,
    descriptors: Vec<Descriptor>,
    lock: Option<&'static str>,
}

#[derive(Serialize)]
struct Descriptor {
    number: u32,
    target: String,
}

#[derive(Default, Serialize)]
struct FrameRow<'a> {
    kind: &'static str,
    name: Option<&'a str>,
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
    locals: Option<Vec<LocalRow<'a>>>,
    locals_left_out: u64,
}

#[derive(Serialize)]
struct LocalRow<'a> {
    name: &'a str,
    r#type: Option<&'a str>,
    bytes: Option<u64>,
    length: Option<u64>,
    value: Option<&'a str>,
    cut: Option<u64>,
}

pub fn json(processes: &[Dumped], warnings: &[String]) -> serde_json::Result<String> {
    let page = Page {
        format: "genba-dump",
        version: VERSION,
        genba_version: env!("CARGO_PKG_VERSION"),
        processes: processes.iter().map(process).collect(),
        warnings,
    };
    genba_text::json::pretty(&page)
}

fn process(dumped: &Dumped) -> Process<'_> {
    let facts = &dumped.facts;
    let path = |path: &std::path::PathBuf| path.to_string_lossy().into_owned();
    Process {
        pid: facts.pid,
        parent: facts.parent,
        python: &dumped.version,
        executable: facts.executable.as_ref().map(path),
        argv: &facts.command_line,
        cwd: facts.working_directory.as_ref().map(path),
        changed_sources: &dumped.changed,
        threads: dumped.threads.iter().map(|(thread, frames)| row(thread, frames)).collect(),
    }
}

fn row<'a>(thread: &'a Thread, frames: &'a [Frame]) -> ThreadRow<'a> {
    let (held_by, system_call) = match &thread.state {
        State::WaitingForGil { holder } => (*holder, None),
        State::InCall(waiting) => {
            let descriptors = waiting.descriptors.iter();
            let descriptors = descriptors
                .map(|(number, link)| Descriptor { number: *number, target: link.to_string_lossy().into_owned() })
                .collect();
            let lock = waiting.lock.map(|lock| match lock {
                Lock::Plain => "threading.Lock",
                Lock::RLock => "threading.RLock",
                Lock::SimpleQueue => "queue.SimpleQueue",
            });
            let number = waiting.call.number;
            (waiting.holder, Some(Call { number, name: call_name(number), descriptors, lock }))
        }
        _ => (None, None),
    };
    let certainty = match thread.certainty {
        Certainty::Slept => "slept",
        Certainty::InCore => "core file",
        Certainty::Stopped => "stopped",
        Certainty::Unverified(Unverified::Equal) => "unverified, two reads were equal",
        Certainty::Unverified(Unverified::Changing) => "unverified, it ran during each read",
    };
    ThreadRow {
        tid: thread.task.tid,
        own_tid: thread.task.own_tid,
        name: thread.name.as_deref(),
        comm: &thread.task.name,
        state: states::state(&thread.state),
        holds_gil: thread.look.holds_gil,
        held_by,
        system_call,
        certainty,
        stopped_ns: (thread.stopped_ns > 0).then_some(thread.stopped_ns),
        end: end_key(thread.look.end),
        is_cut_by_time: thread.look.is_late,
        frames: frames.iter().map(frame).collect(),
    }
}

fn frame(frame: &Frame) -> FrameRow<'_> {
    match frame {
        Frame::Python(frame) => python(frame),
        Frame::C(CFrame { name, module, origin, full_name }) => FrameRow {
            kind: "c",
            name: Some(name),
            module: Some(module),
            origin: origin.as_deref(),
            full_name: full_name.as_deref(),
            ..FrameRow::default()
        },
        Frame::Mark(words) => FrameRow { kind: "mark", name: Some(words), ..FrameRow::default() },
    }
}

fn python(frame: &PythonFrame) -> FrameRow<'_> {
    let columns = frame.location.and_then(|location| location.byte_columns).filter(|_| frame.expression.is_none());
    FrameRow {
        kind: "python",
        name: frame.name.as_deref(),
        file: frame.file.as_deref(),
        first_line: frame.first_line,
        line: frame.location.map(|location| location.line),
        end_line: frame.location.map(|location| location.end_line),
        column: frame.expression.as_ref().map(|expression| expression.column),
        end_column: frame.expression.as_ref().map(|expression| expression.end_column),
        byte_column: columns.map(|columns| columns.start),
        byte_end_column: columns.map(|columns| columns.end),
        expression: frame.expression.as_ref().map(|expression| expression.text.as_str()),
        locals: frame.locals.as_ref().map(|locals| locals.found.iter().map(local).collect()),
        locals_left_out: frame.locals.as_ref().map_or(0, |locals| locals.left_out),
        ..FrameRow::default()
    }
}

fn local(local: &Local) -> LocalRow<'_> {
    let value = local.value.as_ref();
    LocalRow {
        name: &local.name,
        r#type: value.map(|value| value.type_name.as_str()),
        bytes: value.and_then(|value| value.bytes),
        length: value.and_then(|value| value.length),
        value: value.and_then(|value| value.text.as_deref()),
        cut: value.map(|value| value.cut),
    }
}

/// `poll`: the words of a recording without `in` and `(2)`. `None`: a call without a name.
fn call_name(number: u32) -> Option<String> {
    let words = in_words(Stored::InSystemCall(number, None));
    Some(words.strip_prefix("in ")?.strip_suffix("(2)")?.to_owned())
}
