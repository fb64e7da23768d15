//! A small recording that uses every message and field: two processes, a fork, a refused child, the command's block.
//! Owns: its content, on which both laws hold. Never: random; the golden file holds exactly these blocks.

use genba_format::context::ContextKind;
use genba_format::proto::{
    Accounting, Block, CName, Code, CodePart, Context, Count, End, KnownAddress, Mark, MarkKind, Measure, Module,
    NodeKind, Nodes, Recorder, Samples, Source, SourceChunk, Start, Tables, Thread, ThreadClock, Weights,
};
use genba_format::{BlockHeader, ProcessKey, VERSION, compress, encode_block};

pub const PARENT: ProcessKey = *b"parent-----01234";
pub const CHILD: ProcessKey = *b"child------56789";
pub const SEGMENT: ProcessKey = *b"segment----fghij";
pub const COMMAND: ProcessKey = *b"command----abcde";

const SECOND_NS: u64 = 1_000_000_000;
/// One that no genba knows.
const MEASURE: u32 = 77;

const QUARTER_NS: u64 = 250_000_000;

/// The blocks in the order of the file.
pub fn blocks() -> Vec<(BlockHeader, Block)> {
    vec![
        (header(PARENT, 0, SECOND_NS), parent_first()),
        (header(PARENT, 1, SECOND_NS + QUARTER_NS), parent_second()),
        (header(CHILD, 0, SECOND_NS + QUARTER_NS), child()),
        (header(PARENT, 2, SECOND_NS + 2 * QUARTER_NS), parent_last()),
        (header(COMMAND, 0, SECOND_NS + 3 * QUARTER_NS), command()),
    ]
}

/// The same and what came with version 3: contexts, a measure, a process that goes on under another key.
pub fn version_3() -> Vec<(BlockHeader, Block)> {
    let mut blocks = blocks();
    if let Some((_, first)) = blocks.first_mut() {
        let tables = first.tables.get_or_insert_default();
        tables.strings.push(b"crawl".to_vec());
        tables.contexts.push(Context { kind: ContextKind::Interpreter.stored(), name: 0, parent: 0 });
        tables.contexts.push(Context { kind: ContextKind::Task.stored(), name: 6, parent: 1 });
        first.samples.get_or_insert_default().context = vec![2, 2, 0];
        let weights = Weights { kind: MEASURE, thread: vec![0, 1], node: vec![4, 0], ..Weights::default() };
        first.weights = vec![Weights { context: vec![2, 0], count: vec![3, 1], weight: vec![4_096, 4], ..weights }];
        first.accounting.get_or_insert_default().measures = vec![measured(5_000, 4_100)];
    }
    for (_, block) in blocks.iter_mut().skip(1) {
        if let Some(tables) = &mut block.tables {
            tables.strings_first += 1;
            tables.modules.iter_mut().for_each(|module| module.path += 1);
            tables.known_addresses.iter_mut().for_each(|known| known.name += 1);
            tables.nodes.iter_mut().for_each(|nodes| nodes.table[0] += 1);
        }
        if let Some(accounting) = &mut block.accounting {
            accounting.measures = vec![measured(6_000, 4_100)];
        }
        if let Some(end) = &mut block.end {
            end.why = "segment".to_owned();
        }
    }
    let last = blocks.len() - 1;
    blocks.insert(last, (header(SEGMENT, 0, SECOND_NS + 3 * QUARTER_NS), segment()));
    blocks
}

fn measured(exact: u64, sampled: u64) -> Measure {
    Measure { kind: MEASURE, exact, genba: 100, sampled, not_sampled: exact - 100 - sampled }
}

/// Of the parent, which went on.
fn segment() -> Block {
    Block {
        start: Some(Start {
            pid: 4127,
            continues_key: PARENT.to_vec(),
            within: true,
            cpu_before_ns: 29_500_000,
            ..Start::default()
        }),
        accounting: Some(Accounting {
            cpu_process_ns: 30_000_000,
            cpu_not_sampled_ns: 30_000_000,
            ..Accounting::default()
        }),
        end: Some(End { why: "exit".to_owned() }),
        ..Block::default()
    }
}

pub fn encode(blocks: &[(BlockHeader, Block)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (header, block) in blocks {
        encode_block(header, block.clone(), &mut compress, &mut bytes).expect("a small block");
    }
    bytes
}

pub fn header(process_key: ProcessKey, sequence: u64, start_ns: u64) -> BlockHeader {
    BlockHeader { version: VERSION, process_key, sequence, start_ns, end_ns: start_ns + QUARTER_NS }
}

fn parent_first() -> Block {
    Block {
        start: Some(Start {
            pid: 4127,
            parent_pid: 4120,
            parent_key: Vec::new(),
            executable: "/usr/bin/python3.15".to_owned(),
            argv: texts(&["python3.15", "slices.py", "--api-token", "***"]),
            python_version: "3.15.2".to_owned(),
            agent_version: "0.1.0".to_owned(),
            interval_ns: 1_000_000,
            realtime_ns: 1_795_000_000 * SECOND_NS,
            monotonic_ns: SECOND_NS,
            cpu_before_ns: 20_000_000,
            tags: texts(&["commit=3f2a"]),
            native: true,
            refused: String::new(),
            cwd: "/home/u".to_owned(),
            memory: true,
            within: false,
            budget_per_mille: 0,
            began_realtime_ns: 0,
            continues_key: Vec::new(),
            without_children: false,
        }),
        tables: Some(first_tables()),
        samples: Some(Samples {
            end_delta_quanta: vec![100, 62, 63],
            thread: vec![0, 0, 1],
            node: vec![4, 4, 0],
            state: vec![0, 1, 3],
            ticks: vec![2, 1, 1],
            cpu_quanta: vec![125, 60, 0],
            wall_quanta: vec![125, 62, 63],
            context: Vec::new(),
        }),
        accounting: Some(Accounting {
            ticks: 7,
            sampled: 4,
            dropped: counts(&[("late", 1)]),
            refused: counts(&[("moved", 1), ("masked", 1)]),
            cpu_process_ns: 25_000_000,
            cpu_genba_ns: 40_000,
            cpu_sampled_ns: 185 * 16_000,
            cpu_not_sampled_ns: 25_000_000 - 40_000 - 185 * 16_000,
            wall_not_sampled_ns: 3_000_000,
            thread_clocks: vec![
                ThreadClock {
                    thread: 0,
                    cpu_ns: 23_000_000,
                    cpu_not_sampled_ns: 20_040_000,
                    ended: false,
                    ..ThreadClock::default()
                },
                ThreadClock {
                    thread: 1,
                    cpu_ns: 9_000,
                    cpu_not_sampled_ns: 9_000,
                    ended: false,
                    ..ThreadClock::default()
                },
            ],
            rss_bytes: 31_000_000,
            handler_ns: 12_000,
            handler_runs: 3,
            cpu_reaped_ns: 0,
            measures: Vec::new(),
        }),
        marks: vec![mark(SECOND_NS + 5, MarkKind::Rss, "", 31_000_000)],
        ..Block::default()
    }
}

fn first_tables() -> Tables {
    Tables {
        strings_first: 0,
        strings: ["", "before", "slices.py", "/usr/bin/python3.15", "python3.15", "pool-1"]
            .map(|text| text.as_bytes().to_vec())
            .to_vec(),
        modules_first: 0,
        modules: vec![Module { path: 3, build_id: vec![0xab, 0xcd, 0xef, 0x01], kind: 0, tick_first: 0 }],
        codes_first: 0,
        codes: vec![Code { qualname: 1, filename: 2, first_line: 5, linetable_bytes: 6, linetable: vec![0xf0, 3, 1] }],
        nodes_first: 0,
        nodes: Some(Nodes {
            parent: vec![0, 1, 2, 3],
            kind: kinds(&[NodeKind::Python, NodeKind::CInferredOperands, NodeKind::CReturn, NodeKind::CLeaf]),
            table: vec![0, 0, 0, 0],
            address: vec![12, 0x1_2340, 0x1_2399, 0x7_0010],
        }),
        threads_first: 0,
        threads: vec![
            Thread { tid: 4127, name: 4, start_ns: SECOND_NS },
            Thread { tid: 4128, name: 5, start_ns: SECOND_NS + 1 },
        ],
        ..Tables::default()
    }
}

fn parent_second() -> Block {
    Block {
        tables: Some(Tables {
            strings_first: 6,
            strings: vec![b"truncated".to_vec(), b"/usr/lib/libc.so.6".to_vec(), b"memmove".to_vec()],
            modules_first: 1,
            modules: vec![Module { path: 7, build_id: vec![1, 2], kind: 0, tick_first: 7 }],
            nodes_first: 4,
            nodes: Some(Nodes {
                parent: vec![0, 5, 3],
                kind: kinds(&[NodeKind::Mark, NodeKind::CReturn, NodeKind::CInferredCall]),
                table: vec![6, 1, 1],
                address: vec![0, 0x9_0000, 0x9_1000],
            }),
            code_parts: vec![CodePart { code: 0, offset: 3, linetable: vec![0x80, 7, 8] }],
            known_addresses: vec![KnownAddress { module: 1, address: 0x9_1000, name: 8 }],
            ..Tables::default()
        }),
        samples: Some(Samples {
            end_delta_quanta: vec![200, -3],
            thread: vec![0, 1],
            node: vec![7, 6],
            state: vec![0, 16 + 7],
            ticks: vec![1, 3],
            cpu_quanta: vec![190, 0],
            wall_quanta: vec![190, 15_000],
            context: Vec::new(),
        }),
        accounting: Some(Accounting {
            ticks: 5,
            sampled: 4,
            dropped: counts(&[("fork", 1)]),
            refused: Vec::new(),
            cpu_process_ns: 29_000_000,
            cpu_genba_ns: 80_000,
            cpu_sampled_ns: 375 * 16_000,
            cpu_not_sampled_ns: 29_000_000 - 80_000 - 375 * 16_000,
            wall_not_sampled_ns: 3_500_000,
            thread_clocks: vec![ThreadClock {
                thread: 1,
                cpu_ns: 9_500,
                cpu_not_sampled_ns: 9_500,
                ended: true,
                ..ThreadClock::default()
            }],
            rss_bytes: 31_500_000,
            handler_ns: 15_000,
            handler_runs: 4,
            cpu_reaped_ns: 0,
            measures: Vec::new(),
        }),
        marks: vec![
            mark(SECOND_NS + QUARTER_NS + 10, MarkKind::Fork, "", 4130),
            mark(SECOND_NS + QUARTER_NS + 20, MarkKind::Rate, "5 % of a core", 2_000_000),
        ],
        ..Block::default()
    }
}

fn child() -> Block {
    Block {
        start: Some(Start {
            pid: 4130,
            parent_pid: 4127,
            parent_key: PARENT.to_vec(),
            executable: "/usr/bin/pypy3".to_owned(),
            argv: texts(&["pypy3", "-c", "pass"]),
            refused: "PyPy 7.3; genba knows CPython 3.11 to 3.15".to_owned(),
            ..Start::default()
        }),
        ..Block::default()
    }
}

fn parent_last() -> Block {
    Block {
        accounting: Some(Accounting {
            cpu_process_ns: 29_500_000,
            cpu_genba_ns: 90_000,
            cpu_sampled_ns: 375 * 16_000,
            cpu_not_sampled_ns: 29_500_000 - 90_000 - 375 * 16_000,
            wall_not_sampled_ns: 3_500_000,
            handler_ns: 15_000,
            handler_runs: 4,
            cpu_reaped_ns: 0,
            ..Accounting::default()
        }),
        marks: vec![
            mark(SECOND_NS + 2 * QUARTER_NS, MarkKind::Note, "the program installed its own SIGURG handler", 0),
            mark(SECOND_NS + 2 * QUARTER_NS + 1, MarkKind::Exec, "", 0),
            mark(SECOND_NS + 2 * QUARTER_NS + 2, MarkKind::Stopped, "--duration reached", 0),
        ],
        end: Some(End { why: "duration".to_owned() }),
        ..Block::default()
    }
}

fn command() -> Block {
    Block {
        c_names: vec![CName {
            module: "/usr/lib/libc.so.6".to_owned(),
            build_id: vec![1, 2],
            start: 0x9_1000,
            end: 0x9_1400,
            name: "memmove".to_owned(),
            origin: "IFUNC".to_owned(),
            full_name: String::new(),
        }],
        sources: vec![Source {
            path: "slices.py".to_owned(),
            sha256: vec![0x5a; 32],
            lines: 12,
            chunks: vec![SourceChunk { first_line: 5, text: "def before(b):\n    n += len(b[i:])\n".to_owned() }],
            lack: 0,
        }],
        recorder: Some(Recorder {
            genba_version: "0.1.0".to_owned(),
            argv: texts(&["genba", "run", "slices.py"]),
            exit_code: 0,
            exit_signal: 15,
            wall_ns: 750_000_000,
        }),
        ..Block::default()
    }
}

fn mark(at_ns: u64, kind: MarkKind, text: &str, value: u64) -> Mark {
    Mark { at_ns, kind: kind as u32, text: text.to_owned(), value, ..Mark::default() }
}

fn kinds(kinds: &[NodeKind]) -> Vec<u32> {
    kinds.iter().map(|kind| *kind as u32).collect()
}

fn counts(counts: &[(&str, u64)]) -> Vec<Count> {
    let count = |(reason, ticks): &(&str, u64)| Count { reason: (*reason).to_owned(), ticks: *ticks };
    counts.iter().map(count).collect()
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}
