//! Blocks that are whole but contradict themselves, and headers that lie: each is left out, and the field is named.

use genba_format::proto::{Block, CPlaces, Collection};
use genba_format::{HEADER_BYTES, ReadBlock, TooLarge, compress, encode_block, read};

use crate::small;

#[test]
fn a_column_of_another_length_is_named() {
    check(0, |block| samples(block).thread.truncate(1), "samples.thread: expected 3 rows, found 1");
    check(0, |block| samples(block).node.push(0), "samples.node: expected 3 rows, found 4");
    check(0, |block| samples(block).state.clear(), "samples.state: expected 3 rows, found 0");
    check(0, |block| samples(block).ticks.clear(), "samples.ticks: expected 3 rows, found 0");
    check(0, |block| samples(block).cpu_quanta.clear(), "samples.cpu_quanta: expected 3 rows, found 0");
    check(0, |block| samples(block).wall_quanta.clear(), "samples.wall_quanta: expected 3 rows, found 0");
    check(0, |block| nodes(block).kind.push(0), "tables.nodes.kind: expected 4 rows, found 5");
    check(0, |block| nodes(block).table.clear(), "tables.nodes.table: expected 4 rows, found 0");
    check(0, |block| nodes(block).address.clear(), "tables.nodes.address: expected 4 rows, found 0");
}

#[test]
fn a_mark_of_no_thread_and_no_stack_is_named() {
    check(0, |block| block.marks[0].thread = 9, "marks.thread[0]: expected an index below 2, found 8");
    check(0, |block| block.marks[0].other = 9, "marks.other[0]: expected an index below 2, found 8");
    check(0, |block| block.marks[0].node = 9, "marks.node[0]: expected an index below 4, found 8");
}

#[test]
fn places_that_do_not_hold_together_are_named() {
    let with = |break_it: fn(&mut CPlaces)| {
        move |block: &mut Block| {
            let texts = vec![0, 1];
            let mut places = CPlaces {
                strings: vec!["sort".to_owned()],
                address_delta: vec![0x1234],
                frames: vec![2],
                name: texts.clone(),
                full_name: texts.clone(),
                file: texts,
                line: vec![7, 9],
                ..CPlaces::default()
            };
            break_it(&mut places);
            block.c_places.push(places);
        }
    };
    check(0, with(|places| places.frames.clear()), "c_places[0].frames: expected 1 rows, found 0");
    check(0, with(|places| places.frames[0] = 3), "c_places[0].name: expected 3 rows, found 2");
    check(0, with(|places| places.line.push(1)), "c_places[0].line: expected 2 rows, found 3");
    check(0, with(|places| places.file[0] = 3), "c_places[0].file: expected an index below 1, found 2");
}

#[test]
fn an_index_beyond_its_table_is_named() {
    check(0, |block| samples(block).thread[2] = 2, "samples.thread[2]: expected an index below 2, found 2");
    check(1, |block| samples(block).node[1] = 9, "samples.node[1]: expected an index below 7, found 8");
    check(1, |block| nodes(block).table[0] = 9, "tables.nodes.table[0]: expected an index below 9, found 9");
    check(0, |block| nodes(block).table[0] = 1, "tables.nodes.table[0]: expected an index below 1, found 1");
    check(0, |block| nodes(block).table[3] = 70_011, "tables.nodes.table[3]: expected an index below 1, found 70011");
    check(0, |block| tables(block).modules[0].path = 6, "tables.modules.path[0]: expected an index below 6, found 6");
    check(
        0,
        |block| tables(block).codes[0].qualname = 6,
        "tables.codes.qualname[0]: expected an index below 6, found 6",
    );
    check(
        0,
        |block| tables(block).codes[0].filename = 7,
        "tables.codes.filename[0]: expected an index below 6, found 7",
    );
    check(0, |block| tables(block).threads[1].name = 6, "tables.threads.name[1]: expected an index below 6, found 6");
    check(
        1,
        |block| tables(block).code_parts[0].code = 1,
        "tables.code_parts.code[0]: expected an index below 1, found 1",
    );
    check(
        1,
        |block| tables(block).known_addresses[0].module = 2,
        "tables.known_addresses.module[0]: expected an index below 2, found 2",
    );
    check(
        1,
        |block| tables(block).known_addresses[0].name = 9,
        "tables.known_addresses.name[0]: expected an index below 9, found 9",
    );
    check(
        1,
        |block| block.accounting.as_mut().expect("accounting").thread_clocks[0].thread = 2,
        "accounting.thread_clocks.thread[0]: expected an index below 2, found 2",
    );
}

#[test]
fn a_parent_stands_before_its_node() {
    check(0, |block| nodes(block).parent[2] = 3, "tables.nodes.parent[2]: expected a node before 2, found 2");
    check(1, |block| nodes(block).parent[0] = 7, "tables.nodes.parent[0]: expected a node before 4, found 6");
}

#[test]
fn a_context_that_does_not_hold_together_is_named() {
    check_3(
        |block| tables(block).contexts[1].parent = 2,
        "tables.contexts.parent[1]: expected a context before 1, found 1",
    );
    check_3(|block| tables(block).contexts[1].name = 9, "tables.contexts.name[1]: expected an index below 7, found 9");
    check_3(|block| tables(block).contexts_first = 1, "tables.contexts_first: expected 0, found 1");
    check_3(|block| samples(block).context[1] = 3, "samples.context[1]: expected an index below 2, found 2");
    // Only the older form of samples can tell columns of another length.
    check_3(|block| truncate(&mut samples(block).context), "samples.context: expected 3 rows, found 2");
}

#[test]
fn weights_that_do_not_hold_together_are_named() {
    check_3(|block| block.weights[0].thread[0] = 9, "weights[0].thread[0]: expected an index below 2, found 9");
    check_3(|block| block.weights[0].node[0] = 9, "weights[0].node[0]: expected an index below 4, found 8");
    check_3(|block| block.weights[0].context[0] = 9, "weights[0].context[0]: expected an index below 2, found 8");
    check_3(|block| block.weights[0].count.clear(), "weights[0].count: expected 2 rows, found 0");
    check_3(|block| block.weights[0].weight.push(1), "weights[0].weight: expected 2 rows, found 3");
    check_3(|block| truncate(&mut block.weights[0].context), "weights[0].context: expected 2 rows, found 1");
}

#[test]
fn a_collection_that_does_not_hold_together_is_named() {
    let collection = |thread, node| Collection { thread, node, ..Collection::default() };
    check_3(
        |block| block.collections.push(collection(9, 0)),
        "collections.thread[0]: expected an index below 2, found 8",
    );
    check_3(
        |block| block.collections.push(collection(0, 9)),
        "collections.node[0]: expected an index below 4, found 8",
    );
}

/// Without its last row.
fn truncate(column: &mut Vec<u32>) {
    column.truncate(column.len() - 1);
}

/// Breaks the first block of the recording that has all of version 3.
fn check_3(break_it: impl FnOnce(&mut Block), expected: &str) {
    let mut blocks = small::version_3();
    break_it(&mut blocks[0].1);
    assert_eq!(first_fault(&small::encode(&blocks)), expected);
}

#[test]
fn a_table_goes_on_where_it_stopped() {
    check(1, |block| tables(block).strings_first = 5, "tables.strings_first: expected 6, found 5");
    check(1, |block| tables(block).nodes_first = 5, "tables.nodes_first: expected 4, found 5");
    check(0, |block| tables(block).threads_first = 1, "tables.threads_first: expected 0, found 1");
}

#[test]
fn a_location_table_ends_where_it_says() {
    check(
        0,
        |block| tables(block).codes[0].linetable_bytes = 2,
        "tables.codes.linetable[0]: expected at most 2 bytes, found 3",
    );
    check(
        1,
        |block| tables(block).code_parts[0].offset = u32::MAX,
        "tables.code_parts.linetable[0]: expected at most 6 bytes, found 4294967298",
    );
}

#[test]
fn a_sample_ends_within_time() {
    check(
        0,
        |block| samples(block).end_delta_quanta[1] = -70_000,
        "samples.end_delta_quanta[1]: expected an end between 0 and 2^64 ns, found -118400000",
    );
}

#[test]
fn a_header_that_lies_is_named() {
    check_header(8, &4u16.to_le_bytes(), "version: expected 1 to 3, found 4");
    check_header(8, &0u16.to_le_bytes(), "version: expected 1 to 3, found 0");
    check_header(42, &7u64.to_le_bytes(), "end_ns: expected at least start_ns 1000000000, found 7");
    check_header(50, &u32::MAX.to_le_bytes(), "payload_bytes: expected at most 8519680, found 4294967295");
    check_header(54, &u32::MAX.to_le_bytes(), "plain_bytes: expected at most 8388608, found 4294967295");
    check_header(54, &10u32.to_le_bytes(), "plain_bytes: expected 10, found more");
    check_header(54, &7_000_000u32.to_le_bytes(), "plain_bytes: expected 7000000, found 444");
    // Versions 1 and 2 had larger blocks.
    let of_version_2 = |at: usize, bytes: u32| [(8, 2u16.to_le_bytes().to_vec()), (at, bytes.to_le_bytes().to_vec())];
    check_fields(&of_version_2(50, u32::MAX), "payload_bytes: expected at most 68157440, found 4294967295");
    check_fields(&of_version_2(54, u32::MAX), "plain_bytes: expected at most 67108864, found 4294967295");
    check_fields(&of_version_2(54, 60_000_000), "plain_bytes: expected 60000000, found 444");
}

/// 64 MiB of zeros in a few kB: read no further than the header allows.
#[test]
fn a_payload_longer_than_it_says_is_not_unpacked() {
    let zeros = compress(&[&vec![0; 64 << 20]]);
    let (header, block) = &small::blocks()[0];
    let mut bytes = Vec::new();
    encode_block(header, block.clone(), &mut |_| zeros.clone(), &mut bytes).expect("a small block");
    assert_eq!(first_fault(&bytes), "plain_bytes: expected 444, found more");
}

#[test]
fn a_payload_that_is_no_zstd_frame_is_named() {
    let (header, block) = &small::blocks()[0];
    let mut bytes = Vec::new();
    encode_block(header, block.clone(), &mut |pieces| pieces.concat(), &mut bytes).expect("a small block");
    assert_eq!(first_fault(&bytes), "payload: expected a zstd frame, found Unknown frame descriptor");
}

/// 4 MiB before compression, a few hundred bytes in the file, would be 272 MiB in memory.
#[test]
fn a_block_that_grows_in_memory_is_not_decoded() {
    let bytes = with_empty_names(0, 2 << 20);
    assert!(bytes.len() < 1000, "{}", bytes.len());
    let names = ((2 << 20) * 2 + 10) / 2;
    let found = names * (size_of::<genba_format::proto::CName>() + 2);
    assert_eq!(first_fault(&bytes), format!("decoded bytes: expected at most 268435456, found {found}"));
}

/// Many blocks that are small enough each.
#[test]
fn all_blocks_together_have_a_budget() {
    let bytes: Vec<u8> = (0..20).flat_map(|sequence| with_empty_names(sequence, 100_000)).collect();
    let recording = read(&bytes).expect("a recording");
    assert_eq!(recording.blocks.len(), 4);
    assert_eq!(recording.faults.len(), 16);
    assert!(recording.faults.iter().all(|fault| fault.owner.is_some()));
    // Smaller ones behind them are read.
    let (header, block) = &small::blocks()[0];
    let behind = [bytes, small::encode(&[(*header, block.clone())])].concat();
    assert_eq!(read(&behind).expect("a recording").blocks.len(), 5);
}

/// One fault for the damage, one for the gap; and of the last block, whose header is broken, nobody knows whose it was.
#[test]
fn each_lost_block_counts_once() {
    let lost = |break_it: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = small::encode(&small::blocks());
        break_it(&mut bytes);
        let recording = read(&bytes).expect("a recording");
        (recording.blocks_lost(), recording.lost.len(), recording.faults.len())
    };
    let sizes: Vec<usize> =
        small::blocks().iter().map(|block| small::encode(std::slice::from_ref(block)).len()).collect();
    assert_eq!(lost(&|_| ()), (0, 0, 0));
    assert_eq!(lost(&|bytes| bytes[HEADER_BYTES] ^= 1), (1, 1, 2));
    assert_eq!(lost(&|bytes| bytes.truncate(sizes.iter().sum::<usize>() - 1)), (1, 1, 1));
    let last: usize = sizes[..sizes.len() - 1].iter().sum();
    assert_eq!(lost(&|bytes| bytes[last] ^= 1), (1, 0, 1));
}

/// Headers within another block's payload: where its checksum is right, they are not tried.
#[test]
fn a_block_within_a_damaged_one_is_not_read() {
    let inner = small::encode(&small::blocks()[..1]);
    let (header, block) = &small::blocks()[1];
    let mut bytes = Vec::new();
    encode_block(header, block.clone(), &mut |_| inner.clone(), &mut bytes).expect("a small block");
    let end = bytes.len();
    bytes.extend(small::encode(&small::blocks()[..1]));
    let recording = read(&bytes).expect("a recording");
    assert_eq!(recording.faults.iter().map(|fault| fault.field.as_str()).collect::<Vec<_>>(), ["payload"]);
    assert_eq!(recording.blocks.iter().map(|read| read.offset as usize).collect::<Vec<_>>(), [end]);
}

/// A block with so many names that say nothing, two bytes each.
fn with_empty_names(sequence: u64, names: usize) -> Vec<u8> {
    let header = genba_format::BlockHeader { process_key: [7; 16], sequence, ..small::blocks()[0].0 };
    // A message as long, in whose place the names are compressed: two million of them would fill the test's memory, too.
    let end = Some(genba_format::proto::End { why: "x".repeat(2 * names) });
    let mut empty_names = |pieces: &[&[u8]]| compress(&[&[0x3a, 0].repeat(pieces.concat().len() / 2)]);
    let mut bytes = Vec::new();
    encode_block(&header, Block { end, ..Block::default() }, &mut empty_names, &mut bytes).expect("a small block");
    bytes
}

#[test]
fn a_block_too_large_is_not_written() {
    let (header, mut block) = small::blocks().swap_remove(0);
    tables(&mut block).strings.push(vec![0; 64 << 20]);
    let mut bytes = b"before".to_vec();
    let refused = encode_block(&header, block, &mut compress, &mut bytes);
    assert!(matches!(refused, Err(TooLarge { limit_bytes: 8_388_608, .. })), "{refused:?}");
    assert_eq!(bytes, b"before");
}

/// Breaks block `number` of the small recording; `expected` is its first fault, and the block is left out.
fn check(number: usize, break_it: impl FnOnce(&mut Block), expected: &str) {
    let mut blocks = small::blocks();
    break_it(&mut blocks[number].1);
    let bytes = small::encode(&blocks);
    assert_eq!(first_fault(&bytes), expected);
    let found: Vec<_> = read(&bytes).expect("a recording").blocks.iter().map(ReadBlock::whole).collect();
    blocks.remove(number);
    let others: Vec<_> = blocks.into_iter().map(|(_, block)| block).collect();
    assert_eq!(found, others);
}

/// Puts `field` at `offset` of the first header and makes its checksum right again.
fn check_header(offset: usize, field: &[u8], expected: &str) {
    check_fields(&[(offset, field.to_vec())], expected);
}

fn check_fields(fields: &[(usize, Vec<u8>)], expected: &str) {
    let mut bytes = small::encode(&small::blocks());
    for (offset, field) in fields {
        bytes[*offset..offset + field.len()].copy_from_slice(field);
    }
    let checksum = crc32c::crc32c(&bytes[..HEADER_BYTES - 4]);
    bytes[HEADER_BYTES - 4..HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
    assert_eq!(first_fault(&bytes), expected);
}

fn first_fault(bytes: &[u8]) -> String {
    let recording = read(bytes).expect("a recording");
    let fault = recording.faults.first().expect("a fault");
    format!("{}: expected {}, found {}", fault.field, fault.expected, fault.found)
}

fn tables(block: &mut Block) -> &mut genba_format::proto::Tables {
    block.tables.as_mut().expect("tables")
}

fn nodes(block: &mut Block) -> &mut genba_format::proto::Nodes {
    tables(block).nodes.as_mut().expect("nodes")
}

fn samples(block: &mut Block) -> &mut genba_format::proto::Samples {
    block.samples.as_mut().expect("samples")
}
