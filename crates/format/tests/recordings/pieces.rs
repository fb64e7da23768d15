//! A recording that is read as its bytes come: what is found never depends on the pieces, and what is not yet written is no fault.

use genba_format::{Event, FaultKind, ReadBlock, Reader, read};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::small;

#[test]
fn what_is_not_yet_written_is_no_fault() {
    let bytes = small::encode(&small::blocks());
    let whole = read(&bytes).expect("a recording");
    let mut reader = Reader::default();
    let mut found: Vec<ReadBlock> = Vec::new();
    for (length, byte) in (1..).zip(&bytes) {
        reader.feed(&[*byte]);
        found.extend(blocks_of(&events(&mut reader)));
        let complete = whole.blocks.iter().take_while(|block| block.offset + block.stored_bytes <= length).count();
        assert_eq!(found.len(), complete, "after byte {length}");
    }
    assert_eq!(found, whole.blocks);
    reader.end();
    assert_eq!(events(&mut reader), []);
}

#[test]
fn what_is_not_written_at_the_end_is_cut() {
    let bytes = small::encode(&small::blocks());
    for length in 1..bytes.len() {
        let mut reader = Reader::default();
        reader.feed(&bytes[..length]);
        let before = events(&mut reader);
        assert!(before.iter().all(|event| matches!(event, Event::Block(_))), "{before:?}");
        reader.end();
        let after: Vec<_> = events(&mut reader).into_iter().filter_map(fault_kind).collect();
        let is_complete = read(&bytes[..length]).expect("a recording").faults.is_empty();
        assert_eq!(after, if is_complete { vec![] } else { vec![FaultKind::Cut] }, "cut at {length}");
    }
}

#[test]
fn a_block_behind_one_that_was_never_finished_is_found() {
    let bytes = small::encode(&small::blocks());
    let first = read(&bytes).expect("a recording").blocks[0].stored_bytes as usize;
    let broken = [&bytes[..first - 5], &bytes].concat();
    let mut reader = Reader::default();
    reader.feed(&broken);
    let found = blocks_of(&events(&mut reader));
    assert_eq!(found.len(), small::blocks().len());
}

proptest! {
    #[test]
    fn pieces_do_not_matter(
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in any::<prop::sample::Index>(),
        sizes in vec(1_usize..400, 1..30),
    ) {
        let mut bytes = small::encode(&small::blocks());
        bytes.truncate(1 + cut.index(bytes.len()));
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        prop_assert_eq!(in_pieces(&bytes, &sizes), in_pieces(&bytes, &[bytes.len()]));
    }
}

fn in_pieces(bytes: &[u8], sizes: &[usize]) -> Vec<Event> {
    let mut reader = Reader::default();
    let mut found = Vec::new();
    let mut rest = bytes;
    for size in sizes.iter().cycle() {
        let (piece, behind) = rest.split_at((*size).min(rest.len()));
        reader.feed(piece);
        found.extend(events(&mut reader));
        rest = behind;
        if rest.is_empty() {
            break;
        }
    }
    reader.end();
    found.extend(events(&mut reader));
    found
}

/// Until it needs more.
fn events(reader: &mut Reader) -> Vec<Event> {
    std::iter::from_fn(|| Some(reader.event()).filter(|event| *event != Event::NeedMore)).collect()
}

fn blocks_of(events: &[Event]) -> Vec<ReadBlock> {
    let block = |event: &Event| match event {
        Event::Block(block) => Some((**block).clone()),
        _ => None,
    };
    events.iter().filter_map(block).collect()
}

fn fault_kind(event: Event) -> Option<FaultKind> {
    match event {
        Event::Fault(fault) => Some(fault.kind),
        _ => None,
    }
}
