//! Blocks from several files, twice, out of order, with rubbish and holes between them.

use genba_format::{FaultKind, NotARecording, read};

use crate::small;

#[test]
fn two_recordings_in_a_row_are_one() {
    let mut others = small::blocks();
    for (header, _) in &mut others {
        header.process_key[0] ^= 0xff;
    }
    let bytes = [small::encode(&small::blocks()), small::encode(&others)].concat();
    check(&bytes, "p0 p1 c0 p2 k0 ?0 ?1 ?0 ?2 ?0", &[]);
}

#[test]
fn the_same_block_twice_counts_once() {
    let once = small::encode(&small::blocks()[..2]);
    let twice = [once.as_slice(), &once].concat();
    check(
        &twice,
        "p0 p1",
        &[
            "Duplicate block 1 sequence: expected each block once, found 0 again",
            "Duplicate block 3 sequence: expected each block once, found 1 again",
        ],
    );
}

#[test]
fn parts_in_the_wrong_order_are_put_right() {
    let mut blocks = small::blocks();
    blocks.reverse();
    check(&small::encode(&blocks), "k0 p0 c0 p1 p2", &[]);
}

#[test]
fn lost_blocks_are_counted_and_their_rows_are_absent() {
    let mut blocks = small::blocks();
    blocks.remove(0);
    check(&small::encode(&blocks), "p1 c0 p2 k0", &["Lost block 0 sequence: expected 0, found 1 (1 lost)"]);
    let read = read(&small::encode(&blocks)).expect("a recording");
    assert_eq!(read.lost.len(), 1);
    assert_eq!(read.blocks[0].whole().samples.expect("samples").node, [7, 6]);
}

#[test]
fn rubbish_before_between_and_behind_is_skipped() {
    let blocks = small::blocks();
    let mut bytes = b"rubbish".to_vec();
    bytes.extend(small::encode(&blocks[..1]));
    bytes.extend(b"more \x89genba\r\n of it, with \x89genba\r\n within");
    bytes.extend(small::encode(&blocks[1..]));
    bytes.extend(b"end");
    check(
        &bytes,
        "p0 p1 c0 p2 k0",
        &[
            r#"Damaged block 0 magic: expected "\x89genba\r\n", found "rubbish\x89""#,
            r#"Damaged block 1 magic: expected "\x89genba\r\n", found "more \x89ge""#,
            r#"Damaged block 5 magic: expected "\x89genba\r\n", found "end""#,
        ],
    );
}

/// A full disk ends one process's block early; another process, whose file system has room again, goes on behind it.
#[test]
fn a_short_write_within_the_file_costs_one_block() {
    let blocks = small::blocks();
    let mut bytes = small::encode(&blocks[..1]);
    let second = small::encode(&blocks[1..2]);
    bytes.extend(&second[..second.len() / 2]);
    bytes.extend(small::encode(&blocks[2..]));
    let recording = read(&bytes).expect("a recording");
    assert_eq!(names(&recording), "p0 c0 p2 k0");
    let fault = &recording.faults[0];
    assert_eq!((fault.kind, fault.field.as_str()), (FaultKind::Damaged, "payload"));
    assert_eq!(recording.lost.len(), 1);
}

/// A process that is killed while it writes: the kernel leaves what the page before holds.
#[test]
fn a_block_that_its_process_did_not_live_to_finish_is_unfinished() {
    let blocks = small::blocks();
    let child = blocks.iter().position(|(header, _)| header.process_key == small::CHILD).expect("a child");
    let whole = |from: &[_]| small::encode(from);
    let torn = whole(&blocks[child..=child]);
    let written = torn.len() * 3 / 4;
    let bytes = [whole(&blocks[..child]), torn[..written].to_vec(), whole(&blocks[child + 1..])].concat();
    let recording = read(&bytes).expect("a recording");
    assert_eq!(names(&recording), "p0 p1 p2 k0");
    let [fault] = &recording.faults[..] else { panic!("{:?}", recording.faults) };
    assert_eq!(fault.kind, FaultKind::Unfinished, "{fault}");
    assert_eq!(fault.byte, (whole(&blocks[..child]).len() + written) as u64);
    assert_eq!(recording.lost.len(), 1, "it is counted as lost all the same");
    // Nothing behind it: whether the file was cut nobody can tell.
    let cut = read(&bytes[..fault.byte as usize]).expect("a recording");
    assert_eq!(cut.faults[0].kind, FaultKind::Cut);
    // Two of one process: it went on after the first.
    let mut twice = blocks[child].clone();
    twice.0.sequence += 1;
    let later = small::encode(&[twice]);
    let bytes = [&bytes[..fault.byte as usize], &later[..later.len() * 3 / 4], &whole(&blocks[child + 1..])].concat();
    let kinds: Vec<_> = read(&bytes).expect("a recording").faults.iter().map(|fault| fault.kind).collect();
    assert_eq!(kinds, [FaultKind::Damaged, FaultKind::Unfinished]);
}

#[test]
fn what_is_no_recording_says_so() {
    assert_eq!(read(b""), Err(NotARecording::Empty));
    let error = read(b"\x7fELF\x02\x01\x01\x00\x00").expect_err("an ELF file");
    assert_eq!(
        error.to_string(),
        r#"not a recording at byte 0 (block 0, field `magic`): expected "\x89genba\r\n", found "\x7fELF\x02\x01\x01\x00""#
    );
}

fn check(bytes: &[u8], blocks: &str, faults: &[&str]) {
    let recording = read(bytes).expect("a recording");
    assert_eq!(names(&recording), blocks);
    let found: Vec<_> = recording
        .faults
        .iter()
        .map(|fault| {
            let genba_format::Fault { kind, block, field, expected, found, .. } = fault;
            format!("{kind:?} block {block} {field}: expected {expected}, found {found}")
        })
        .collect();
    assert_eq!(found, faults);
}

/// `p1` is the second block of the parent, `c` of the child, `k` of the command, `?` of anybody else.
fn names(recording: &genba_format::Recording) -> String {
    let name = |block: &genba_format::ReadBlock| {
        let key = match block.header.process_key {
            small::PARENT => 'p',
            small::CHILD => 'c',
            small::COMMAND => 'k',
            _ => '?',
        };
        format!("{key}{}", block.header.sequence)
    };
    recording.blocks.iter().map(name).collect::<Vec<_>>().join(" ")
}
