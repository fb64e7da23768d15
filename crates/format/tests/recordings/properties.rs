//! For any content: what is written is read again. For any bytes: a value or faults that name a place, never a panic.

use genba_format::proto::{
    Accounting, Block, CName, CPlaces, Code, Collection, Collector, Context, Count, Mark, Measure, Module, Nodes,
    Samples, Tables, Thread, Weights,
};
use genba_format::{BlockHeader, HEADER_BYTES, MAGIC, VERSION, laws, read};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::small;

proptest! {
    #[test]
    fn blocks_are_read_as_they_were_written(blocks in recording()) {
        let read = read(&small::encode(&blocks)).expect("a recording");
        prop_assert_eq!(&read.faults, &[]);
        let found: Vec<_> = read.blocks.iter().map(|read| (read.header, read.whole())).collect();
        prop_assert_eq!(found, blocks);
    }

    #[test]
    fn any_bytes_give_blocks_or_faults(bytes in vec(any::<u8>(), 0..2_000)) {
        well_formed(&bytes)?;
    }

    #[test]
    fn any_header_and_payload_give_blocks_or_faults(
        header in vec(any::<u8>(), HEADER_BYTES - MAGIC.len() - 4),
        payload in vec(any::<u8>(), 0..200),
    ) {
        let mut bytes = [MAGIC.as_slice(), &header].concat();
        bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
        bytes.extend(payload);
        well_formed(&bytes)?;
    }

    #[test]
    fn pieces_of_a_recording_give_blocks_or_faults(
        pieces in vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..6)
    ) {
        let whole = small::encode(&small::blocks());
        let piece = |(from, length): (prop::sample::Index, prop::sample::Index)| {
            let from = from.index(whole.len());
            whole[from..from + length.index(whole.len() - from)].to_vec()
        };
        well_formed(&pieces.into_iter().flat_map(piece).collect::<Vec<u8>>())?;
    }
}

fn well_formed(bytes: &[u8]) -> Result<(), TestCaseError> {
    let Ok(recording) = read(bytes) else {
        return Ok(());
    };
    prop_assert!(!recording.blocks.is_empty() || !recording.faults.is_empty());
    for fault in &recording.faults {
        prop_assert!(fault.byte <= bytes.len() as u64, "{}", fault);
        prop_assert!(fault.block <= recording.blocks.len() as u64 + recording.faults.len() as u64, "{}", fault);
        prop_assert!(!fault.field.is_empty() && !fault.expected.is_empty() && !fault.found.is_empty(), "{}", fault);
    }
    laws::check(&recording);
    Ok(())
}

/// Blocks of one process whose indices are in range: random numbers, folded into what is known at each place.
fn recording() -> impl Strategy<Value = Vec<(BlockHeader, Block)>> {
    vec(rows(), 1..4).prop_map(|rows| {
        let mut sizes = Sizes::default();
        rows.into_iter().zip(0u64..).map(|(rows, sequence)| (header(sequence), block(rows, &mut sizes))).collect()
    })
}

fn header(sequence: u64) -> BlockHeader {
    let start_ns = 1 << 60;
    BlockHeader { version: VERSION, process_key: [9; 16], sequence, start_ns, end_ns: start_ns + sequence }
}

#[derive(Debug, Clone)]
struct Rows {
    strings: Vec<Vec<u8>>,
    modules: Vec<(u32, Vec<u8>, u64)>,
    codes: Vec<(u32, u32, u32, Vec<u8>)>,
    nodes: Vec<(u32, u32, u32, u64)>,
    threads: Vec<(u32, u32, u64)>,
    samples: Vec<(i32, u32, u32, u32, u32, u64, u64)>,
    counts: Vec<(String, u64)>,
    marks: Vec<(u64, u32, String)>,
    names: Vec<(String, u64, u64)>,
    places: Vec<(u64, u32, u32)>,
    contexts: Vec<(u32, u32, u32)>,
    weights: Vec<(u32, u32, u32, u64, u64)>,
}

fn rows() -> impl Strategy<Value = Rows> {
    let tables = (
        vec(vec(any::<u8>(), 0..20), 1..5),
        vec(any::<(u32, Vec<u8>, u64)>(), 1..3),
        vec(any::<(u32, u32, u32, Vec<u8>)>(), 1..4),
        vec(any::<(u32, u32, u32, u64)>(), 1..9),
        vec(any::<(u32, u32, u64)>(), 1..3),
    );
    let others = (
        vec(any::<(i32, u32, u32, u32, u32, u64, u64)>(), 0..20),
        vec(any::<(String, u64)>(), 0..3),
        vec(any::<(u64, u32, String)>(), 0..3),
        (vec(any::<(String, u64, u64)>(), 0..3), vec(any::<(u64, u32, u32)>(), 0..4)),
        (vec(any::<(u32, u32, u32)>(), 1..4), vec(any::<(u32, u32, u32, u64, u64)>(), 0..4)),
    );
    (tables, others).prop_map(
        |(
            (strings, modules, codes, nodes, threads),
            (samples, counts, marks, (names, places), (contexts, weights)),
        )| Rows {
            strings,
            modules,
            codes,
            nodes,
            threads,
            samples,
            counts,
            marks,
            names,
            places,
            contexts,
            weights,
        },
    )
}

/// Rows of each table so far.
#[derive(Default)]
struct Sizes {
    strings: u32,
    modules: u32,
    codes: u32,
    nodes: u32,
    threads: u32,
    contexts: u32,
}

fn block(rows: Rows, sizes: &mut Sizes) -> Block {
    let mut tables = Tables {
        strings_first: grow(&mut sizes.strings, rows.strings.len()),
        modules_first: grow(&mut sizes.modules, rows.modules.len()),
        codes_first: grow(&mut sizes.codes, rows.codes.len()),
        nodes_first: sizes.nodes,
        threads_first: grow(&mut sizes.threads, rows.threads.len()),
        strings: rows.strings,
        ..Tables::default()
    };
    for (path, build_id, tick_first) in rows.modules {
        tables.modules.push(Module { path: path % sizes.strings, build_id, kind: 0, tick_first });
    }
    for (qualname, filename, first_line, linetable) in rows.codes {
        tables.codes.push(Code {
            qualname: qualname % sizes.strings,
            filename: filename % sizes.strings,
            first_line,
            linetable_bytes: linetable.len() as u32 + first_line % 3,
            linetable,
        });
    }
    let mut nodes = Nodes::default();
    for (parent, kind, table, address) in rows.nodes {
        let kind = kind % 6;
        let table_rows = [sizes.codes, sizes.modules, sizes.modules, sizes.modules, sizes.modules, sizes.strings];
        nodes.parent.push(parent % (sizes.nodes + 1));
        nodes.kind.push(kind);
        nodes.table.push(table % table_rows[kind as usize]);
        nodes.address.push(address);
        sizes.nodes += 1;
    }
    tables.nodes = Some(nodes);
    for (tid, name, start_ns) in rows.threads {
        tables.threads.push(Thread { tid, name: name % sizes.strings, start_ns });
    }
    tables.contexts_first = sizes.contexts;
    for (kind, name, parent) in rows.contexts {
        tables.contexts.push(Context { kind, name: name % sizes.strings, parent: parent % (sizes.contexts + 1) });
        sizes.contexts += 1;
    }
    let mut weights = Weights { kind: 1 + sizes.strings, ..Weights::default() };
    for (thread, node, context, count, weight) in rows.weights {
        weights.thread.push(thread % sizes.threads);
        weights.node.push(node % (sizes.nodes + 1));
        weights.context.push(context % (sizes.contexts + 1));
        weights.count.push(count);
        weights.weight.push(weight);
        weights.variance_kib2.push(weight ^ count);
    }
    let mut samples = Samples::default();
    for (end_delta_quanta, thread, node, state, ticks, cpu_quanta, wall_quanta) in rows.samples {
        samples.end_delta_quanta.push(end_delta_quanta.into());
        samples.thread.push(thread % sizes.threads);
        samples.node.push(node % (sizes.nodes + 1));
        samples.context.push(1 + (node ^ thread) % sizes.contexts);
        samples.state.push(state);
        samples.ticks.push(ticks);
        samples.cpu_quanta.push(cpu_quanta);
        samples.wall_quanta.push(wall_quanta);
    }
    let mark = |(at_ns, kind, text)| Mark { at_ns, kind, text, value: 1, ..Mark::default() };
    let name = |(name, start, end)| CName { name, start, end, ..CName::default() };
    Block {
        tables: Some(tables),
        samples: Some(samples),
        accounting: Some(Accounting {
            measures: vec![Measure { kind: weights.kind, exact: 1, ..Measure::default() }],
            dropped: rows.counts.into_iter().map(|(reason, ticks)| Count { reason, ticks }).collect(),
            ..Accounting::default()
        }),
        marks: rows.marks.into_iter().map(mark).collect(),
        c_names: rows.names.into_iter().map(name).collect(),
        c_places: vec![places(rows.places)],
        collections: vec![Collection { thread: 1, pause_ns: 7, ..Collection::default() }],
        collector: Some(Collector { before: vec![3, 2, 1], ..Collector::default() }),
        weights: vec![weights],
        packages: vec!["/app/deps/six.py".to_owned()],
        ..Block::default()
    }
}

fn places(rows: Vec<(u64, u32, u32)>) -> CPlaces {
    let mut places = CPlaces { strings: vec!["sort".to_owned(), "list.c".to_owned()], ..CPlaces::default() };
    for (address, text, line) in rows {
        let frames = 1 + line % 3;
        places.address_delta.push(address);
        places.frames.push(frames);
        for depth in 0..frames {
            places.name.push((text ^ depth) % 3);
            places.full_name.push(text % 3);
            places.file.push(text % 2);
            places.line.push(line.wrapping_add(depth));
        }
    }
    places
}

fn grow(size: &mut u32, rows: usize) -> u32 {
    let first = *size;
    *size += rows as u32;
    first
}
