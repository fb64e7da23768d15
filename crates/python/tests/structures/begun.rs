//! The newest run of the eval loop before 3.13, whose C local is found before it is filled in, and which has more frames than are looked at.

use crate::layouts::{CODE_TYPE, LAYOUTS, REGION};
use crate::walking::{self, CODE, STATE};
use crate::words::Words;
use genba_python::layout::Layout;
use genba_python::memory::Address;
use genba_python::stack::frames::Rest;
use genba_python::stack::walked::{PYTHON_MAX, PythonEnd};
use std::collections::HashMap;

const RUN: Address = Address(REGION + 0x4000);
const RUN_BEFORE: Address = Address(REGION + 0x4800);
const CHUNKS: Address = Address(REGION + 0x10_0000);
const CHUNK_BYTES: u64 = 0x4000;
const HEAD_BYTES: u64 = 24;
const FRAME_BYTES: u64 = 128;
const FRAMES_OF_A_CHUNK: u64 = (CHUNK_BYTES - HEAD_BYTES) / FRAME_BYTES;
/// More than are looked at, in several chunks of the data stack.
const FRAMES: u64 = 2 * PYTHON_MAX as u64;

const fn chunk(number: u64) -> Address {
    CHUNKS.at(number * CHUNK_BYTES)
}

/// The first frame's number is 0.
const fn frame(number: u64) -> Address {
    chunk(number / FRAMES_OF_A_CHUNK).at(HEAD_BYTES + number % FRAMES_OF_A_CHUNK * FRAME_BYTES)
}

/// Walks a stack on which the newest run names one frame and the run before it another. Where the walk would go on.
fn walked(layout: &Layout, named: u64, before: u64) -> (PythonEnd, usize, Option<Rest>) {
    let last_chunk = (FRAMES - 1) / FRAMES_OF_A_CHUNK;
    let datastack = STATE.at(232);
    let mut words = HashMap::from([
        (STATE.at(56).0, RUN.0),
        (RUN.0, frame(named).0),
        (RUN.at(8).0, RUN_BEFORE.0),
        (RUN_BEFORE.0, frame(before).0),
        (datastack.0, chunk(last_chunk).0),
        (datastack.at(8).0, frame(FRAMES - 1).at(FRAME_BYTES).0),
        (datastack.at(16).0, chunk(last_chunk + 1).0),
        (CODE.at(8).0, CODE_TYPE),
        (CODE.at(16).0, 10),
    ]);
    for number in 0..=last_chunk {
        words.insert(chunk(number).0, number.checked_sub(1).map_or(0, |before| chunk(before).0));
        words.insert(chunk(number).at(8).0, CHUNK_BYTES);
    }
    for number in 0..FRAMES {
        words.insert(frame(number).at(layout.frames.code).0, CODE.0);
        words.insert(frame(number).at(layout.frames.instruction).0, CODE.at(layout.codes.instructions).0);
        words.insert(
            frame(number).at(layout.frames.previous).0,
            number.checked_sub(1).map_or(0, |before| frame(before).0),
        );
    }
    walking::walked(&Words(words), layout, None)
}

#[test]
fn a_run_of_more_frames_than_are_looked_at_has_begun() {
    for layout in &LAYOUTS[..2] {
        for before in [0, 1, FRAMES - PYTHON_MAX as u64 - 2] {
            let rest = Rest { frame: frame(FRAMES - 1 - PYTHON_MAX as u64), codes: [CODE, Address::NULL] };
            assert_eq!(walked(layout, FRAMES - 1, before), (PythonEnd::TooDeep, PYTHON_MAX, Some(rest)), "{before}");
        }
    }
}

#[test]
fn one_that_names_an_older_frame_has_not() {
    for layout in &LAYOUTS[..2] {
        // The older one, and the same.
        for named in [FRAMES - 400, FRAMES - 2, FRAMES - 1] {
            let rest = Rest { frame: frame(FRAMES - 1 - PYTHON_MAX as u64), codes: [CODE, Address::NULL] };
            assert_eq!(walked(layout, named, FRAMES - 1), (PythonEnd::TooDeep, PYTHON_MAX, Some(rest)), "{named}");
        }
        // One that leads into the run before.
        let rest = Rest { frame: frame(1000), codes: [CODE, Address::NULL] };
        assert_eq!(walked(layout, FRAMES - 1, 1000 + PYTHON_MAX as u64), (PythonEnd::TooDeep, PYTHON_MAX, Some(rest)));
    }
}
