//! A small recording cut at every byte, and damaged at every byte: what is intact is kept, the rest is named.

use genba_format::{FaultKind, NotARecording, ReadBlock, Recording, read};

use crate::small;

#[test]
fn every_cut_is_named_or_gives_a_complete_prefix() {
    let (bytes, whole) = small_recording();
    for length in 0..bytes.len() {
        let kept = whole.blocks.iter().take_while(|block| end(block) <= length).count();
        let complete = kept > 0 && end(&whole.blocks[kept - 1]) == length;
        let found = read(&bytes[..length]);
        if length == 0 {
            assert_eq!(found, Err(NotARecording::Empty));
            continue;
        }
        let found = found.expect("a cut recording is one");
        assert_eq!(found.blocks, whole.blocks[..kept], "cut at {length}");
        let faults: Vec<_> = found.faults.iter().map(|fault| (fault.kind, fault.byte, fault.block)).collect();
        match complete {
            true => assert_eq!(faults, [], "cut at {length}"),
            false => assert_eq!(faults, [(FaultKind::Cut, length as u64, kept as u64)], "cut at {length}"),
        }
    }
}

#[test]
fn every_damaged_byte_costs_its_block_and_no_other() {
    let (bytes, whole) = small_recording();
    for position in 0..bytes.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[position] ^= flip;
            let found = read(&damaged).expect("other blocks are intact");
            let hit = whole.blocks.iter().position(|block| position < end(block)).expect("a block");
            let mut expected = whole.blocks.clone();
            let owner = expected.remove(hit);
            assert_eq!(found.blocks, expected, "byte {position} ^ {flip:#x}");
            let fault = &found.faults[0];
            let place = owner.offset..owner.offset + owner.stored_bytes;
            assert!(place.contains(&fault.byte) || fault.kind == FaultKind::Cut, "{fault}");
            assert_eq!(fault.block, hit as u64, "{fault}");
            assert_lost(&found, &owner);
        }
    }
}

/// The block is counted as lost wherever anything still tells of it: its own header, or a later block of its process.
fn assert_lost(found: &Recording, owner: &ReadBlock) {
    let key = owner.header.process_key;
    let named = found.faults.iter().any(|fault| fault.owner.is_some());
    let later = found.blocks.iter().any(|block| block.header.process_key == key && block.offset > owner.offset);
    let lost: Vec<_> = found.lost.iter().map(|lost| (lost.process_key, lost.sequence_first, lost.count)).collect();
    match named || later {
        true => assert_eq!(lost, [(key, owner.header.sequence, 1)]),
        false => assert_eq!(lost, []),
    }
}

fn small_recording() -> (Vec<u8>, Recording) {
    let bytes = small::encode(&small::blocks());
    let whole = read(&bytes).expect("a recording");
    assert_eq!(whole.faults, []);
    (bytes, whole)
}

fn end(block: &ReadBlock) -> usize {
    (block.offset + block.stored_bytes) as usize
}
