//! Recordings written as text, so that a test reads as what it is about. One statement a line:
//!
//!   process 4127 3.15.2 key=value…     begins a process; keys: executable, cwd, argv (with + for blanks),
//!                                      refused, parent (a pid), cpu_before_ms, key (a byte; else of the pid), without_children
//!   thread 4128 worker                 begins a thread; without one there is a thread of the process's pid
//!   dropped late 3, refused moved 2    ticks without a sample
//!   unsampled 16ms                     CPU that no sample holds; of all of it, with until=400ms, what of it was before that time
//!   masked 4128 500ms 300ms            a thread blocks signals; its CPU, and how much of that is in no sample
//!   turns 4128 500 20ms                how often a thread got a CPU, and how long it was ready to run and had none; `… ended`: it has ended since
//!   reaped 4128 90ms 120ms             the end of a child, noticed after 90 ms, and the CPU it used in all; `children 30ms`: of all waited for
//!   rss 32ms 12000000                  resident bytes at a time after the start
//!   step 120ms                         the last sample's thread was at least so long in one callback, with that stack
//!   deep 4000 or more                  the function of the outermost frame in the last sample's stack is in it so often; without `or more`: no more
//!   held 4130 120ms                    the last sample's thread waited so long, with that stack, for a lock which that thread held
//!   note TEXT, no end, lost block      a mark; no end block; one block fewer than was written; `end duration`: why it ended, else `exit`
//!   source PATH, then lines with |     text of a file; `source PATH changed`: it was written after the program had begun
//!   FRAME > FRAME … x12 STATE ticks=5  12 samples of a stack, root first; each 1.6 ms; STATE: a name from `STATES`;
//!                                      with at=48: the first of them begins 48 ms after the process;
//!                                      with every=20: a tick of 20 times the length, as ticks, CPU and wall time of each;
//!                                      with wall=30: 0.48 ms of wall time each, in hundredths of a sample's
//!
//! Frames: `name@file.py:6[4-9]` (`name^5@…`: the function that begins in line 5, else the first of its name, in line 1) or `:6[4-7:1]` (to line 7) or `:6`, `name[module]`, `?name[module]` (inferred),
//! `*name[module]` (it runs), `+0x1234[module]` (without a name), `!words` (a mark). Blanks in names are written `·`.
//!
//! Over 500 lines: each statement of the notation is read here, and nowhere else.
use std::collections::{BTreeMap, HashMap};

use genba_format::{BlockHeader, ProcessKey, Recording, VERSION, compress, encode_block, proto, read};

/// One sample: 100 quanta.
pub const SAMPLE_QUANTA: u64 = 100;
const SAMPLE_NS: u64 = SAMPLE_QUANTA * genba_format::QUANTUM_NS;
pub const BEGIN_NS: u64 = 5_000_000_000;
const REALTIME_NS: u64 = 1_767_225_600_000_000_000;

const STATES: [(&str, u32); 10] = [
    ("running", 0),
    ("gc", 1),
    ("gil", 2),
    ("cpu", 3),
    ("asleep", 4),
    ("poll", 16 + 7),
    ("futex", 16 + 202),
    ("socket", 16 + 7 + 4096),
    ("rlock", 16 + 202 + 7 * 4096),
    ("pipe", 16 + 2 * 4096),
];

/// The recording that the notation says, written and read again.
pub fn recording(notation: &str) -> Recording {
    read(&bytes(notation)).expect("the notation makes a recording")
}

pub fn bytes(notation: &str) -> Vec<u8> {
    let mut writer = Writer::default();
    for line in notation.lines().map(str::trim).filter(|line| !line.is_empty()) {
        writer.statement(line);
    }
    writer.finish()
}

#[derive(Default)]
struct Writer {
    processes: Vec<Process>,
    c_names: Vec<proto::CName>,
    sources: Vec<proto::Source>,
}

#[derive(Default)]
struct Process {
    block: proto::Block,
    key: ProcessKey,
    strings: Vec<String>,
    codes: Vec<(String, Vec<Place>)>,
    /// By text, and by `name@file`.
    string_rows: HashMap<String, u32>,
    code_rows: HashMap<String, usize>,
    nodes: proto::Nodes,
    samples: proto::Samples,
    /// Ends of earlier blocks, each with the CPU that is in no sample until then.
    earlier: Vec<(u64, u64)>,
    end: Option<String>,
    no_end: bool,
    lost_block: bool,
}

#[derive(Clone, Copy, PartialEq)]
struct Place {
    line: u32,
    end_line: u32,
    columns: Option<(u32, u32)>,
}

impl Writer {
    fn statement(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["process", pid, version, options @ ..] => self.process(pid.parse().unwrap(), version, options),
            ["source", path] => self.sources.push(proto::Source {
                path: path.to_string(),
                chunks: vec![proto::SourceChunk { first_line: 1, text: String::new() }],
                ..Default::default()
            }),
            ["source", path, "changed"] => self.sources.push(proto::Source {
                path: path.to_string(),
                lack: proto::SourceLack::WrittenLater as i32,
                ..Default::default()
            }),
            [bar, ..] if bar.starts_with('|') => {
                let source = self.sources.last_mut().unwrap();
                source.chunks[0].text += &format!("{}\n", &line[1..]);
                source.lines += 1;
            }
            _ => self.in_process(line, &words),
        }
    }

    fn process(&mut self, pid: u32, version: &str, options: &[&str]) {
        let options: BTreeMap<&str, &str> = options.iter().map(|option| option.split_once('=').unwrap()).collect();
        let text = |key| options.get(key).map(|text: &&str| text.replace('+', " ")).unwrap_or_default();
        let mut process = Process { key: [text("key").parse().unwrap_or(pid as u8); 16], ..Process::default() };
        process.block.start = Some(proto::Start {
            pid,
            parent_pid: text("parent").parse().unwrap_or(1),
            executable: text("executable"),
            argv: text("argv").split_whitespace().map(str::to_string).collect(),
            python_version: version.to_string(),
            interval_ns: SAMPLE_NS,
            realtime_ns: REALTIME_NS,
            monotonic_ns: BEGIN_NS,
            cpu_before_ns: text("cpu_before_ms").parse().unwrap_or(0) * 1_000_000,
            native: true,
            within: options.contains_key("within"),
            without_children: options.contains_key("without_children"),
            refused: text("refused"),
            cwd: text("cwd"),
            ..Default::default()
        });
        process.block.tables = Some(proto::Tables::default());
        let accounting = proto::Accounting {
            cpu_not_sampled_ns: text("cpu_before_ms").parse().unwrap_or(0) * 1_000_000,
            ..Default::default()
        };
        process.block.accounting = Some(accounting);
        self.processes.push(process);
    }

    fn in_process(&mut self, line: &str, words: &[&str]) {
        let process = self.processes.last_mut().expect("a process comes first");
        let accounting = process.block.accounting.as_mut().unwrap();
        let lost = |reason: &str, ticks: &str| proto::Count {
            reason: reason.replace('·', " "),
            ticks: ticks.parse().unwrap(),
        };
        match words {
            ["thread", tid, name] => process.thread(tid.parse().unwrap(), name),
            ["dropped", reason, ticks] => accounting.dropped.push(lost(reason, ticks)),
            ["refused", reason, ticks] => accounting.refused.push(lost(reason, ticks)),
            ["unsampled", time] => accounting.cpu_not_sampled_ns += milliseconds(time),
            ["unsampled", time, until] => {
                let until = until.strip_prefix("until=").expect("until=");
                process.earlier.push((BEGIN_NS + milliseconds(until), milliseconds(time)));
            }
            ["reaped", pid, at, cpu] => process.block.reaped.push(proto::Reaped {
                pid: pid.parse().unwrap(),
                at_ns: BEGIN_NS + milliseconds(at),
                cpu_ns: milliseconds(cpu),
            }),
            ["children", cpu] => accounting.cpu_reaped_ns = milliseconds(cpu),
            ["exec", at] => process.block.marks.push(proto::Mark {
                at_ns: BEGIN_NS + milliseconds(at),
                kind: proto::MarkKind::Exec as u32,
                ..Default::default()
            }),
            ["rss", at, size] => process.block.marks.push(proto::Mark {
                at_ns: BEGIN_NS + milliseconds(at),
                kind: proto::MarkKind::Rss as u32,
                value: size.parse().unwrap(),
                ..proto::Mark::default()
            }),
            ["halt", at, length] => process.block.marks.push(proto::Mark {
                at_ns: BEGIN_NS + milliseconds(at),
                kind: proto::MarkKind::Halt as u32,
                value: milliseconds(length),
                ..proto::Mark::default()
            }),
            [word @ ("pause" | "resume"), at] => process.block.marks.push(proto::Mark {
                at_ns: BEGIN_NS + milliseconds(at),
                kind: proto::MarkKind::Pause as u32,
                value: u64::from(*word == "resume"),
                ..proto::Mark::default()
            }),
            ["named", tid, name] => {
                let thread = thread_of(process.block.tables.as_ref(), tid);
                let clock = proto::ThreadClock { thread, name: process.string(name) + 1, ..Default::default() };
                process.block.accounting.as_mut().unwrap().thread_clocks.push(clock);
            }
            ["turns", tid, turns, queue, rest @ ..] => accounting.thread_clocks.push(proto::ThreadClock {
                thread: thread_of(process.block.tables.as_ref(), tid),
                turns: turns.parse().unwrap(),
                cpu_queue_ns: milliseconds(queue),
                ended: *rest == ["ended"],
                ..Default::default()
            }),
            [word @ ("masked" | "ended"), tid, all, unseen] => {
                accounting.thread_clocks.push(proto::ThreadClock {
                    thread: thread_of(process.block.tables.as_ref(), tid),
                    cpu_ns: milliseconds(all),
                    cpu_not_sampled_ns: milliseconds(unseen),
                    ended: true,
                    ..Default::default()
                });
                process.block.marks.extend((*word == "masked").then(|| proto::Mark {
                    at_ns: BEGIN_NS + 1,
                    kind: proto::MarkKind::Masked as u32,
                    value: tid.parse().unwrap(),
                    ..proto::Mark::default()
                }));
            }
            ["step", length] => process.block.marks.push(proto::Mark {
                at_ns: BEGIN_NS,
                kind: proto::MarkKind::Step as u32,
                value: milliseconds(length),
                thread: process.samples.thread.last().unwrap() + 1,
                node: *process.samples.node.last().unwrap(),
                ..proto::Mark::default()
            }),
            ["deep", frames, text @ ..] => process.block.marks.push(proto::Mark {
                at_ns: BEGIN_NS,
                kind: proto::MarkKind::Deep as u32,
                text: text.join(" "),
                value: frames.parse().unwrap(),
                thread: process.samples.thread.last().unwrap() + 1,
                node: *process.samples.node.last().unwrap(),
                ..proto::Mark::default()
            }),
            ["held", tid, length] => {
                let other = thread_of(process.block.tables.as_ref(), tid) + 1;
                process.block.marks.push(proto::Mark {
                    at_ns: BEGIN_NS,
                    kind: proto::MarkKind::Held as u32,
                    value: milliseconds(length),
                    thread: process.samples.thread.last().unwrap() + 1,
                    node: *process.samples.node.last().unwrap(),
                    other,
                    ..proto::Mark::default()
                });
            }
            ["note", ..] => process.block.marks.push(proto::Mark {
                at_ns: BEGIN_NS,
                text: line.strip_prefix("note ").unwrap().to_string(),
                ..Default::default()
            }),
            ["no", "end"] => process.no_end = true,
            ["end", why] => process.end = Some((*why).to_string()),
            ["lost", "block"] => process.lost_block = true,
            _ => process.samples(line, &mut self.c_names),
        }
    }

    fn finish(self) -> Vec<u8> {
        let mut file = Vec::new();
        for process in self.processes {
            process.write(&mut file);
        }
        let block = proto::Block { c_names: self.c_names, sources: self.sources, ..Default::default() };
        write([255; 16], 0, BEGIN_NS, block, &mut file);
        file
    }
}

impl Process {
    fn thread(&mut self, tid: u32, name: &str) {
        let name = self.string(name);
        let thread = proto::Thread { tid, name, start_ns: BEGIN_NS };
        self.block.tables.as_mut().unwrap().threads.push(thread);
    }

    fn samples(&mut self, line: &str, c_names: &mut Vec<proto::CName>) {
        if self.block.tables.as_ref().unwrap().threads.is_empty() {
            let pid = self.block.start.as_ref().unwrap().pid;
            self.thread(pid, "main");
        }
        let (stack, weights) = line.rsplit_once(" x").expect("a stack ends with ` x<count>`");
        let mut weights = weights.split_whitespace();
        let count: u64 = weights.next().unwrap().parse().unwrap();
        let mut state = 0;
        let (mut ticks, mut quanta) = (1, SAMPLE_QUANTA);
        let mut wall_quanta = None;
        let mut jump = 0;
        for word in weights {
            match word.strip_prefix("ticks=") {
                Some(number) => ticks = number.parse().unwrap(),
                None if word.starts_with("every=") => {
                    ticks = word[6..].parse().unwrap();
                    quanta = SAMPLE_QUANTA * u64::from(ticks);
                }
                None if word.starts_with("wall=") => wall_quanta = word[5..].parse().ok(),
                None if word.starts_with("at=") => {
                    let at_ms: u64 = word[3..].parse().unwrap();
                    let (to, from) = (at_ms * 1_000_000 / genba_format::QUANTUM_NS, self.end_quanta());
                    jump = to as i64 - from;
                }
                None => state = STATES.iter().find(|(name, _)| *name == word).expect("a state").1,
            }
        }
        let mut parent = 0;
        if stack.trim() != "(none)" {
            for frame in stack.split(" > ") {
                parent = self.frame(frame.trim(), parent, c_names);
            }
        }
        let thread = self.block.tables.as_ref().unwrap().threads.len() as u32 - 1;
        let samples = &mut self.samples;
        for _ in 0..count {
            samples.end_delta_quanta.push(quanta as i64 + std::mem::take(&mut jump));
            samples.thread.push(thread);
            samples.node.push(parent);
            samples.state.push(state);
            samples.ticks.push(ticks);
            samples.cpu_quanta.push(if state <= 1 { quanta } else { 0 });
            samples.wall_quanta.push(wall_quanta.unwrap_or(SAMPLE_QUANTA * u64::from(ticks)));
        }
    }

    fn end_quanta(&self) -> i64 {
        self.samples.end_delta_quanta.iter().sum()
    }

    /// Gives the stored number of the node: index + 1.
    fn frame(&mut self, frame: &str, parent: u32, c_names: &mut Vec<proto::CName>) -> u32 {
        let (kind, table, address) = if let Some(words) = frame.strip_prefix('!') {
            (proto::NodeKind::Mark, self.string(&words.replace('·', " ")), 0)
        } else if let Some((name, place)) = frame.split_once('@') {
            let (code, unit) = self.python(name, place);
            (proto::NodeKind::Python, code, unit)
        } else {
            let (name, module) = frame.strip_suffix(']').and_then(|frame| frame.split_once('[')).expect(frame);
            let (inferred, leaf) = (name.strip_prefix('?'), name.strip_prefix('*'));
            let address = c_address(inferred.or(leaf).unwrap_or(name), module, c_names);
            let module = self.module(module);
            match (inferred, leaf) {
                (Some(_), _) => (proto::NodeKind::CInferredCall, module, address),
                (_, Some(_)) => (proto::NodeKind::CLeaf, module, address),
                // A return address may be the byte after the function's last.
                _ => (proto::NodeKind::CReturn, module, address + 0x100),
            }
        };
        let nodes = &mut self.nodes;
        nodes.parent.push(parent);
        nodes.kind.push(kind as u32);
        nodes.table.push(table);
        nodes.address.push(address);
        nodes.parent.len() as u32
    }

    fn python(&mut self, name: &str, place: &str) -> (u32, u64) {
        // `<string>` and its like have no `.py`.
        let (file, at) = match place.rsplit_once(".py:") {
            Some((stem, at)) => (format!("{stem}.py"), at),
            None => place.split_once(">:").map(|(name, at)| (format!("{name}>").replace('·', " "), at)).expect(place),
        };
        let (line, columns) = match at.split_once('[') {
            None => (at, None),
            Some((line, columns)) => (line, columns.strip_suffix(']')),
        };
        let line: u32 = line.parse().unwrap();
        let mut end_line = line;
        let columns = columns.map(|columns| {
            let (start, end) = columns.split_once('-').unwrap();
            let end = match end.split_once(':') {
                None => end,
                Some((last, end)) => {
                    end_line = last.parse().unwrap();
                    end
                }
            };
            (start.parse().unwrap(), end.parse().unwrap())
        });
        let place = Place { line, end_line, columns };
        let (name, given) = match name.split_once('^') {
            Some((name, first_line)) => (name, Some(first_line.parse().unwrap())),
            None => (name, None),
        };
        // Several functions of one name differ by their first lines; without one it is the first of them.
        let any = format!("{name}@{file}");
        let key = given.map_or_else(|| any.clone(), |first_line: u32| format!("{any}^{first_line}"));
        let position = match self.code_rows.get(&key) {
            Some(&position) => position,
            None => {
                let qualname = self.string(&name.replace('·', " "));
                let filename = self.string(&file);
                let first_line = given.unwrap_or(1);
                let code = proto::Code { qualname, filename, first_line, ..Default::default() };
                self.block.tables.as_mut().unwrap().codes.push(code);
                self.code_rows.entry(any).or_insert(self.codes.len());
                self.code_rows.insert(key.clone(), self.codes.len());
                self.codes.push((key, Vec::new()));
                self.codes.len() - 1
            }
        };
        let places = &mut self.codes[position].1;
        let unit = places.iter().position(|known| *known == place).unwrap_or_else(|| {
            places.push(place);
            places.len() - 1
        });
        (position as u32, unit as u64)
    }

    fn module(&mut self, name: &str) -> u32 {
        let path = self.string(&module_path(name));
        let modules = &mut self.block.tables.as_mut().unwrap().modules;
        if let Some(position) = modules.iter().position(|module| module.path == path) {
            return position as u32;
        }
        let kind = if name == "anonymous" { 2 } else { 0 };
        modules.push(proto::Module { path, kind, ..Default::default() });
        modules.len() as u32 - 1
    }

    fn string(&mut self, text: &str) -> u32 {
        if let Some(&position) = self.string_rows.get(text) {
            return position;
        }
        let position = self.strings.len() as u32;
        self.strings.push(text.to_owned());
        self.string_rows.insert(text.to_owned(), position);
        position
    }

    fn write(mut self, file: &mut Vec<u8>) {
        let quanta: u64 = self.samples.cpu_quanta.iter().sum();
        let sampled: u64 = self.samples.ticks.iter().map(|ticks| u64::from(*ticks)).sum();
        let accounting = self.block.accounting.as_mut().unwrap();
        let lost: u64 = accounting.dropped.iter().chain(&accounting.refused).map(|count| count.ticks).sum();
        accounting.sampled = sampled;
        accounting.ticks = sampled + lost;
        accounting.cpu_sampled_ns = quanta * genba_format::QUANTUM_NS;
        accounting.cpu_process_ns = accounting.cpu_sampled_ns + accounting.cpu_not_sampled_ns;
        let wall_quanta: u64 = self.samples.wall_quanta.iter().sum();
        let last_mark_ns = self.block.marks.iter().map(|mark| mark.at_ns).max().unwrap_or(0);
        let end_ns = last_mark_ns.max(BEGIN_NS + wall_quanta * genba_format::QUANTUM_NS);
        let tables = self.block.tables.as_mut().unwrap();
        tables.strings = self.strings.into_iter().map(String::into_bytes).collect();
        for (code, (_, places)) in tables.codes.iter_mut().zip(&self.codes) {
            code.linetable = linetable(code.first_line, places);
            code.linetable_bytes = code.linetable.len() as u32;
        }
        tables.nodes = Some(self.nodes);
        self.block.samples = Some(self.samples);
        let count = self.earlier.len() as u64;
        for (sequence, (end_ns, cpu_not_sampled_ns)) in (0..).zip(self.earlier) {
            let accounting = proto::Accounting { cpu_not_sampled_ns, ..Default::default() };
            let block = proto::Block { accounting: Some(accounting), ..Default::default() };
            write(self.key, sequence, end_ns, block, file);
        }
        write(self.key, count, end_ns, self.block.clone(), file);
        if !self.no_end {
            let accounting = self.block.accounting.take().unwrap();
            let block = proto::Block {
                end: Some(proto::End { why: self.end.unwrap_or_else(|| "exit".to_string()) }),
                accounting: Some(proto::Accounting {
                    ticks: 0,
                    sampled: 0,
                    dropped: Vec::new(),
                    refused: Vec::new(),
                    ..accounting
                }),
                ..Default::default()
            };
            write(self.key, count + 1 + u64::from(self.lost_block), end_ns, block, file);
        }
    }
}

fn write(process_key: ProcessKey, sequence: u64, end_ns: u64, block: proto::Block, file: &mut Vec<u8>) {
    let header = BlockHeader { version: VERSION, process_key, sequence, start_ns: BEGIN_NS, end_ns };
    encode_block(&header, block, &mut compress, file).expect("a small block");
}

fn thread_of(tables: Option<&proto::Tables>, tid: &str) -> u32 {
    let threads = &tables.unwrap().threads;
    threads.iter().position(|thread| Ok(thread.tid) == tid.parse()).unwrap() as u32
}

fn milliseconds(text: &str) -> u64 {
    let number: u64 = text.strip_suffix("ms").unwrap().parse().unwrap();
    number * 1_000_000
}

fn module_path(name: &str) -> String {
    if name.starts_with("python") { format!("/usr/bin/{name}") } else { format!("/usr/lib/{name}") }
}

/// Each name of a module gets 0x100 bytes of its own; `+0x…` is an address without a name.
fn c_address(name: &str, module: &str, c_names: &mut Vec<proto::CName>) -> u64 {
    if let Some(address) = name.strip_prefix("+0x") {
        return u64::from_str_radix(address, 16).unwrap() - 0x100;
    }
    let name = name.replace('·', " ");
    let path = module_path(module);
    if let Some(known) = c_names.iter().find(|known| known.name == name && known.module == path) {
        return known.start;
    }
    let start = 0x1000 + 0x100 * c_names.len() as u64;
    c_names.push(proto::CName {
        module: path,
        start,
        end: start + 0x100,
        name,
        origin: "symbol table".to_string(),
        ..Default::default()
    });
    start
}

/// One code unit a place. Source: CPython 3.13 Objects/locations.md.
fn linetable(first_line: u32, places: &[Place]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut line = i64::from(first_line);
    for place in places {
        let delta = i64::from(place.line) - line;
        line = i64::from(place.line);
        let signed = (delta.unsigned_abs() << 1) | u64::from(delta < 0);
        match place.columns {
            None => {
                bytes.push(0x80 | 13 << 3);
                varint(signed, &mut bytes);
            }
            Some((start, end)) => {
                bytes.push(0x80 | 14 << 3);
                varint(signed, &mut bytes);
                varint(u64::from(place.end_line - place.line), &mut bytes);
                varint(u64::from(start) + 1, &mut bytes);
                varint(u64::from(end) + 1, &mut bytes);
            }
        }
    }
    bytes
}

fn varint(mut number: u64, bytes: &mut Vec<u8>) {
    while number >= 64 {
        bytes.push(64 | (number & 63) as u8);
        number >>= 6;
    }
    bytes.push(number as u8);
}
