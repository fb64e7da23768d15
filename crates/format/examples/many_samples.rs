//! `cargo run -p genba-format --features read --example many_samples -- FILE SAMPLES STACKS [KEY]`: a recording as a long run makes
//! it, with as many samples and distinct stacks as asked for. The bench measures size and reading with it.
//! Owns: a made-up program of one thread at 10 kHz. Both laws hold in it; the same arguments give the same bytes.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::process::ExitCode;

use genba_format::{BlockHeader, QUANTUM_NS, VERSION, compress, encode_block, proto};

/// As the agent does: a block every 250 ms.
const SAMPLES_PER_BLOCK: u64 = 2_500;
const INTERVAL_NS: u64 = 100_000;
const CODES: u32 = 2_000;
const DEPTH_MAX: u8 = 40;
/// Each stack's leaf, and two nodes of the stems that stacks share.
const NODES_PER_STACK: u32 = 3;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (path, samples, stacks, key) = match arguments.as_slice() {
        [path, samples, stacks] => (path, samples, stacks, "7"),
        // Of the process: two recordings with one key are copies of each other.
        [path, samples, stacks, key] => (path, samples, stacks, key.as_str()),
        _ => {
            eprintln!("error: expected FILE SAMPLES STACKS [KEY], found {} arguments", arguments.len());
            return ExitCode::from(2);
        }
    };
    let (Ok(samples), Ok(stacks), Ok(key)) = (samples.parse(), stacks.parse(), key.parse()) else {
        eprintln!("error: expected numbers, found {samples}, {stacks} and {key}");
        return ExitCode::from(2);
    };
    match File::create(path).and_then(|file| Program::new(stacks, key).record(samples, BufWriter::new(file))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: cannot write {path}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What the made-up program has done so far.
struct Program {
    key: u8,
    chance: u64,
    stacks: u32,
    nodes: u32,
    /// Of each node.
    depths: Vec<u8>,
    at_ns: u64,
    cpu_quanta: u64,
}

impl Program {
    fn new(stacks: u32, key: u8) -> Self {
        Program {
            key,
            chance: 0x9e37_79b9_7f4a_7c15,
            stacks: stacks.max(1),
            nodes: 0,
            depths: Vec::new(),
            at_ns: 1_000_000_000,
            cpu_quanta: 0,
        }
    }

    fn record(mut self, samples: u64, mut file: impl Write) -> std::io::Result<()> {
        let mut bytes = Vec::new();
        let mut sampled = 0;
        for sequence in 0.. {
            let count = SAMPLES_PER_BLOCK.min(samples - sampled);
            if count == 0 {
                break;
            }
            let start_ns = self.at_ns;
            let is_last = sampled + count == samples;
            let block = self.block(sequence, sampled..sampled + count, samples, is_last);
            sampled += count;
            let header =
                BlockHeader { version: VERSION, process_key: [self.key; 16], sequence, start_ns, end_ns: self.at_ns };
            bytes.clear();
            encode_block(&header, block, &mut compress, &mut bytes).map_err(std::io::Error::other)?;
            file.write_all(&bytes)?;
        }
        file.flush()
    }

    fn block(&mut self, sequence: u64, rows: std::ops::Range<u64>, samples: u64, is_last: bool) -> proto::Block {
        let mut tables = if sequence == 0 { first_tables() } else { proto::Tables::default() };
        tables.nodes_first = self.nodes;
        let mut nodes = proto::Nodes::default();
        let mut columns = proto::Samples::default();
        for row in rows {
            // Stacks are met at an even pace until the last tenth of the run.
            let known = u64::from(self.stacks) * 10 * (row + 1) / (samples * 9).max(1);
            let known = u32::try_from(known).unwrap_or(self.stacks).clamp(1, self.stacks);
            let meets_a_new_one = self.nodes < known * NODES_PER_STACK;
            while self.nodes < known * NODES_PER_STACK {
                self.grow(&mut nodes);
            }
            // Every other sample stays where the one before was, as loops do. A few stacks are hot and most are rare: of
            // the n met so far the k-th is chosen about 1 / k times as often as the first.
            let stack = match columns.node.last() {
                _ if meets_a_new_one => self.nodes,
                Some(&last) if self.below(2) == 0 => last,
                _ => {
                    let hottest = self.below(known.ilog2() + 1);
                    (self.below(1 << hottest) + 1).min(known) * NODES_PER_STACK
                }
            };
            let quanta = 5 + u64::from(self.below(3));
            columns.end_delta_quanta.push(quanta as i64);
            columns.thread.push(0);
            columns.node.push(stack);
            columns.state.push(0);
            columns.ticks.push(1);
            columns.cpu_quanta.push(quanta);
            columns.wall_quanta.push(quanta);
            self.at_ns += quanta * QUANTUM_NS;
            self.cpu_quanta += quanta;
        }
        tables.nodes = Some(nodes);
        let ticks = columns.ticks.len() as u64;
        let cpu_ns = self.cpu_quanta * QUANTUM_NS;
        proto::Block {
            start: (sequence == 0).then(start),
            tables: Some(tables),
            samples: Some(columns),
            accounting: Some(proto::Accounting {
                ticks,
                sampled: ticks,
                cpu_process_ns: cpu_ns,
                cpu_sampled_ns: cpu_ns,
                thread_clocks: vec![proto::ThreadClock {
                    thread: 0,
                    cpu_ns,
                    cpu_not_sampled_ns: 0,
                    ended: is_last,
                    ..Default::default()
                }],
                handler_ns: 1_000 * ticks,
                handler_runs: ticks,
                cpu_reaped_ns: 0,
                ..Default::default()
            }),
            end: is_last.then(|| proto::End { why: "exit".to_owned() }),
            ..Default::default()
        }
    }

    /// One more node, above one of the newest, or above one of the first where stacks have grown too deep.
    fn grow(&mut self, nodes: &mut proto::Nodes) {
        let newest = if self.nodes == 0 { 0 } else { self.nodes - self.below(self.nodes.min(64)) };
        let parent = if self.depth(newest) < DEPTH_MAX { newest } else { 1 + self.below(64) };
        self.depths.push(self.depth(parent) + 1);
        let is_c = self.below(3) == 0;
        nodes.parent.push(parent);
        nodes.kind.push(if is_c { proto::NodeKind::CReturn as u32 } else { proto::NodeKind::Python as u32 });
        nodes.table.push(if is_c { 0 } else { self.below(CODES) });
        let address = if is_c { 0x1000 + 16 * self.below(20_000) } else { self.below(400) };
        nodes.address.push(u64::from(address));
        self.nodes += 1;
    }

    /// `node` as in the recording: index + 1, 0 for no node.
    fn depth(&self, node: u32) -> u8 {
        node.checked_sub(1).and_then(|at| self.depths.get(at as usize)).copied().unwrap_or(0)
    }

    /// A number from 0 to `count` - 1. Source: Marsaglia, Xorshift RNGs, 2003.
    fn below(&mut self, count: u32) -> u32 {
        self.chance ^= self.chance << 13;
        self.chance ^= self.chance >> 7;
        self.chance ^= self.chance << 17;
        (((self.chance >> 32) * u64::from(count)) >> 32) as u32
    }
}

fn start() -> proto::Start {
    proto::Start {
        pid: 1,
        executable: "/usr/bin/python3".to_owned(),
        argv: vec!["python3".to_owned(), "app.py".to_owned()],
        python_version: "3.13.0".to_owned(),
        interval_ns: INTERVAL_NS,
        monotonic_ns: 1_000_000_000,
        native: true,
        ..Default::default()
    }
}

/// Codes in a hundred files, one C library without a name that could be looked up, one thread.
fn first_tables() -> proto::Tables {
    let mut strings: Vec<Vec<u8>> = vec![b"MainThread".to_vec(), b"/nowhere/libmade.so".to_vec()];
    let files_first = strings.len() as u32;
    strings.extend((0..100).map(|file| format!("/nowhere/app/part_{file}.py").into_bytes()));
    let names_first = strings.len() as u32;
    strings.extend((0..CODES).map(|code| format!("Part{}.function_{code}", code % 100).into_bytes()));
    // 400 code units in entries of eight, each a line below the one before, without columns (kind 13).
    let linetable: Vec<u8> = (0..50).flat_map(|_| [0x80 | 13 << 3 | 7, 2]).collect();
    let codes = (0..CODES).map(|code| proto::Code {
        qualname: names_first + code,
        filename: files_first + code % 100,
        first_line: 1 + 60 * (code / 100),
        linetable_bytes: linetable.len() as u32,
        linetable: linetable.clone(),
    });
    proto::Tables {
        codes: codes.collect(),
        strings,
        modules: vec![proto::Module { path: 1, build_id: b"made".to_vec(), ..Default::default() }],
        threads: vec![proto::Thread { tid: 1, name: 0, start_ns: 1_000_000_000 }],
        ..Default::default()
    }
}
