//! A dump as text: a paragraph a thread, innermost frame first; threads that do the same share one.
//! Owns: the layout. Never: leaves out a frame in silence.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use genba_process::look::{Local, PythonEnd};
use genba_process::objects::Value;
use genba_process::snapshot::{Certainty, State, Thread};
use genba_profile::paint::Paint;
use genba_profile::report::{printable, source_cut};

use super::dumped::{Dumped, Frame, PythonFrame};
use super::states;

/// So many threads that do the same have a line each.
const ALIKE_MAX: usize = 3;
/// Of more, so many are named.
const OTHERS_MAX: usize = 8;
/// An expression is one line, and so long at most.
const EXPRESSION_CELLS_MAX: usize = 80;

pub fn text(processes: &[Dumped], paint: Paint) -> String {
    let pages: Vec<String> = processes.iter().map(|process| page(process, paint)).collect();
    pages.join("\n")
}

fn page(process: &Dumped, paint: Paint) -> String {
    let facts = &process.facts;
    let command = printable(&facts.command_line.join(" "));
    let mut page =
        format!("{} · CPython {} · {command}\n", paint.strong(&format!("process {}", facts.pid)), process.version);
    page += &format!("{}\n", head(process));
    for (threads, frames) in paragraphs(process, paint) {
        page.push('\n');
        let is_list = threads.len() > ALIKE_MAX;
        for thread in threads.iter().take(if is_list { 1 } else { ALIKE_MAX }) {
            page += &format!("{}\n", thread_line(thread, facts.pid, paint));
        }
        if is_list {
            page += &format!("{}\n", others_line(&threads[1..], paint));
        }
        page += &frames;
    }
    for path in &process.changed {
        page += &format!("\n{} was changed after the process began: its expressions are not shown\n", printable(path));
    }
    page
}

/// Threads in the same state with the same frames, each with their lines, in the order of their first threads.
fn paragraphs(process: &Dumped, paint: Paint) -> Vec<(Vec<&Thread>, String)> {
    let mut found: Vec<(Vec<&Thread>, String)> = Vec::new();
    let mut place_of: HashMap<(String, String), usize> = HashMap::new();
    for (thread, frames) in &process.threads {
        let mut lines = frame_lines(process, frames, paint);
        if let Some(end) = end(thread, frames) {
            lines += &format!("  {}\n", paint.quiet(end));
        }
        match place_of.entry((states::on_screen(&thread.state), lines)) {
            Entry::Occupied(place) => found[*place.get()].0.push(thread),
            Entry::Vacant(place) => {
                let lines = place.key().1.clone();
                place.insert(found.len());
                found.push((vec![thread], lines));
            }
        }
    }
    found
}

/// `and 12 more threads like it: 4712 pool_1, 4713 pool_2, …`.
fn others_line(threads: &[&Thread], paint: Paint) -> String {
    let named = threads.iter().take(OTHERS_MAX).map(|thread| {
        let name = thread.name.as_ref().filter(|name| !name.is_empty()).map(|name| format!(" {}", printable(name)));
        format!("{}{}", thread.task.tid, name.unwrap_or_default())
    });
    let mut named = named.collect::<Vec<_>>().join(", ");
    if threads.len() > OTHERS_MAX {
        named += ", …";
    }
    format!("{} {named}", paint.strong(&format!("and {} more threads like it:", threads.len())))
}

/// `3 threads, 1 of them stopped, for 0.21 ms at most`.
fn head(process: &Dumped) -> String {
    let count = process.threads.len();
    let threads = if count == 1 { "1 thread".to_owned() } else { format!("{count} threads") };
    let stops: Vec<u64> =
        process.threads.iter().map(|(thread, _)| thread.stopped_ns).filter(|&stopped_ns| stopped_ns > 0).collect();
    if process.threads.iter().all(|(thread, _)| thread.certainty == Certainty::InCore) {
        return format!("{threads}, as they were when the core file was written");
    }
    // Lines below say of such a thread that it is stopped.
    let by = if process.threads.iter().any(|(thread, _)| thread.state == State::Stopped) { " by genba" } else { "" };
    match stops.iter().max() {
        None if count == 1 => format!("{threads}, not stopped{by}"),
        None => format!("{threads}, none of them was stopped{by}"),
        Some(&longest) if count == 1 => format!("{threads}, stopped for {}", states::milliseconds(longest)),
        Some(&longest) if stops.len() == 1 => {
            format!("{threads}, 1 of them was stopped, for {}", states::milliseconds(longest))
        }
        Some(&longest) => format!(
            "{threads}, {} of them were stopped, one after the other, for at most {} each",
            stops.len(),
            states::milliseconds(longest)
        ),
    }
}

fn thread_line(thread: &Thread, pid: u32, paint: Paint) -> String {
    let mut words = vec![paint.strong(&format!("thread {}", thread.task.tid))];
    // Without `threading` it has no name.
    let name = thread.name.clone().filter(|name| !name.is_empty());
    match name.or_else(|| (thread.task.tid == pid).then(|| "main thread".to_owned())) {
        // A core file does not keep the kernel's names.
        Some(name) if thread.task.name.is_empty() => words.push(printable(&name)),
        None if thread.task.name.is_empty() => {}
        Some(name) => words.push(format!("{} ({})", printable(&name), printable(&thread.task.name))),
        None => words.push(format!("({})", printable(&thread.task.name))),
    }
    words.push(states::on_screen(&thread.state));
    words.extend(states::details(&thread.state).iter().map(|detail| printable(detail)));
    if thread.look.holds_gil {
        words.push("holds the GIL".to_owned());
    }
    words.extend(states::certainty(thread).map(|words| paint.quiet(&words)));
    words.join(" · ")
}

fn frame_lines(process: &Dumped, frames: &[Frame], paint: Paint) -> String {
    let name = |frame: &Frame| match frame {
        Frame::Python(frame) => frame.name.as_deref().map_or("?".to_owned(), printable),
        Frame::C(frame) => printable(&frame.name),
        Frame::Mark(words) => (*words).to_owned(),
    };
    let width = frames
        .iter()
        .filter(|frame| !matches!(frame, Frame::Mark(_)))
        .map(|frame| name(frame).chars().count())
        .filter(|&width| width <= 40)
        .max()
        .unwrap_or(0);
    let mut page = String::new();
    for frame in frames {
        let name = name(frame);
        let blanks = " ".repeat(width.saturating_sub(name.chars().count()));
        let frame = match frame {
            Frame::Python(frame) => frame,
            Frame::C(frame) => {
                let file = frame.module.rsplit('/').next().unwrap_or_default();
                page += &format!("  {name}{blanks}  {}\n", paint.quiet(&printable(file)));
                continue;
            }
            Frame::Mark(words) => {
                page += &format!("  {}\n", paint.quiet(words));
                continue;
            }
        };
        page += &format!("  {}{blanks}  {}", paint.strong(&name), place(process, frame));
        if let Some(expression) = &frame.expression {
            page += &format!("  {}", source_cut(&expression.text, EXPRESSION_CELLS_MAX));
        }
        page.push('\n');
        if let Some(locals) = &frame.locals {
            for local in &locals.found {
                page += &format!("      {}\n", paint.quiet(&local_words(local)));
            }
            if locals.left_out > 0 {
                page += &format!("      {}\n", paint.quiet(&format!("{} more variables not shown", locals.left_out)));
            }
        }
    }
    page
}

/// Relative to the process's working directory, where it lies below that.
fn place(process: &Dumped, frame: &PythonFrame) -> String {
    let Some(file) = &frame.file else { return "its code object could not be read".to_owned() };
    let directory = process.facts.working_directory.as_ref().and_then(|directory| directory.to_str());
    let below = directory.and_then(|directory| file.strip_prefix(directory)?.strip_prefix('/'));
    let shown = printable(below.unwrap_or(file));
    match frame.location {
        Some(location) => format!("{shown}:{}", location.line),
        None => shown,
    }
}

fn local_words(local: &Local) -> String {
    let name = printable(&local.name);
    match &local.value {
        None => format!("{name}: could not be read"),
        Some(value) => match &value.text {
            Some(text) => format!("{name} = {}{}  ({})", printable(text), cut(value), sizes(value)),
            None => format!("{name}: {}", sizes(value)),
        },
    }
}

fn cut(value: &Value) -> &'static str {
    if value.cut > 0 { "…" } else { "" }
}

/// `str, 1200 characters, 1140 of them not shown`, `list, 3 items, 64 bytes`.
fn sizes(value: &Value) -> String {
    let mut words = vec![printable(&value.type_name)];
    let unit = match value.type_name.as_str() {
        "str" => Some("character"),
        "bytes" | "bytearray" => Some("byte"),
        "int" => Some("bit"),
        _ => Some("item"),
    };
    if let (Some(length), Some(unit)) = (value.length, unit) {
        words.push(format!("{length} {unit}{}", if length == 1 { "" } else { "s" }));
    }
    if value.cut > 0 {
        words.push(format!("{} not shown", value.cut));
    }
    if let Some(bytes) = value.bytes {
        words.push(format!("{bytes} bytes of memory"));
    }
    words.join(", ")
}

/// Why the frames end where they end, when that is not the first frame.
fn end(thread: &Thread, frames: &[Frame]) -> Option<&'static str> {
    match thread.look.end {
        _ if thread.look.is_late => Some("cut: the time for which the thread may be stopped was over"),
        PythonEnd::Complete if !frames.iter().any(|frame| matches!(frame, Frame::Python(_))) => {
            Some("in no Python code")
        }
        PythonEnd::Complete => None,
        PythonEnd::NoThreadState => Some("not a thread of Python's"),
        PythonEnd::Fault => Some("cut: a frame could not be read"),
        PythonEnd::TooDeep => Some("cut: more frames than genba reads"),
        PythonEnd::Ambiguous => Some("it has several thread states, and which of them it is in cannot be told"),
        PythonEnd::TooMany => Some("it is in more interpreters than genba reads"),
        PythonEnd::Popped => Some("its frames were changing places"),
    }
}

/// The same in one word, for a script.
pub fn end_key(end: PythonEnd) -> &'static str {
    match end {
        PythonEnd::Complete => "complete",
        PythonEnd::NoThreadState => "no_thread_state",
        PythonEnd::Fault => "unreadable",
        PythonEnd::TooDeep => "too_deep",
        PythonEnd::Ambiguous => "ambiguous",
        PythonEnd::TooMany => "too_many_interpreters",
        PythonEnd::Popped => "changing",
    }
}
