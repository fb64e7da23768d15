//! A current frame that is none of the thread's: what an old C local of the eval loop names while greenlets change places.

use genba_python::memory::Address;
use genba_python::stack::walked::PythonEnd;

use crate::layouts::{CODE_TYPE, LAYOUTS, REGION};
use crate::walking::{self, CODE, STATE};
use crate::words::Words;
use std::collections::HashMap;

/// The C local of the eval loop, and the native frames above it.
const RUN: Address = Address(REGION + 0x1000);
const RUN_BEFORE: Address = Address(REGION + 0x1800);
const CHUNK: Address = Address(REGION + 0x10000);
const CHUNK_BEFORE: Address = Address(REGION + 0x20000);
const CHUNK_BYTES: u64 = 0x4000;
const ELSEWHERE: Address = Address(REGION + 0x30000);
/// The first frame of a chunk lies behind its head.
const HEAD_BYTES: u64 = 24;

/// Walks frames whose innermost one is at `frame`, under a run that has called something. How many there were, and the end.
fn walked(frame: Address, top: Address) -> (usize, PythonEnd) {
    walked_below(frame, top, CHUNK.at(CHUNK_BYTES))
}

fn walked_below(frame: Address, top: Address, limit: Address) -> (usize, PythonEnd) {
    let layout = &LAYOUTS[0];
    let datastack = STATE.at(232).0;
    let words = Words(HashMap::from([
        (STATE.at(56).0, RUN.0),
        (RUN.0, frame.0),
        (RUN.at(8).0, RUN_BEFORE.0),
        (datastack, CHUNK.0),
        (datastack + 8, top.0),
        (datastack + 16, limit.0),
        (CHUNK.0, CHUNK_BEFORE.0),
        (CHUNK.at(8).0, CHUNK_BYTES),
        (CHUNK_BEFORE.at(8).0, CHUNK_BYTES),
        (CODE.at(8).0, CODE_TYPE),
        (frame.at(layout.frames.code).0, CODE.0),
        (frame.at(layout.frames.instruction).0, CODE.at(layout.codes.instructions).0),
    ]));
    let (end, frames, _) = walking::walked(&words, layout, Some(RUN.0 - 0x100));
    (frames, end)
}

#[test]
fn a_frame_that_was_popped_is_not_the_current_one() {
    let first = CHUNK.at(HEAD_BYTES);
    let second = first.at(0x100);
    assert_eq!(walked(first, second), (1, PythonEnd::Complete));
    assert_eq!(walked(second, second), (0, PythonEnd::Popped));
}

#[test]
fn nor_is_one_of_another_greenlets_data_stack() {
    let top = CHUNK.at(HEAD_BYTES + 0x100);
    assert_eq!(walked(ELSEWHERE, top), (0, PythonEnd::Popped));
    // A new chunk is the thread's before the frame that it was made for is the current one.
    assert_eq!(walked(CHUNK_BEFORE.at(HEAD_BYTES), top), (1, PythonEnd::Complete));
}

/// CPython 3.12 names the chunk below before it gives one back, and sets the limit afterwards. The kernel gives memory from above to below.
#[test]
fn a_chunk_that_is_given_back_leaves_the_frame_below_it_the_current_one() {
    let frame = CHUNK.at(HEAD_BYTES);
    let limit_of_the_one_given_back = Address(CHUNK.0 - CHUNK_BYTES);
    assert_eq!(walked_below(frame, frame.at(0x100), limit_of_the_one_given_back), (1, PythonEnd::Complete));
}
