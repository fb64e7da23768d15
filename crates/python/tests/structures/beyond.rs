//! Stacks of more frames than there are words: the innermost ones have one, and what is beyond is counted.

use crate::layouts::{LAYOUTS, REGION};
use crate::walking::{self, CODE, STATE};
use crate::words::Words;
use genba_python::layout::Layout;
use genba_python::memory::{Address, Fault, Memory};
use genba_python::stack::frames::{Rest, count};
use genba_python::stack::walked::{Beyond, COUNTED_MAX, PYTHON_MAX, PYTHON_WORDS, PythonEnd};
use std::collections::HashMap;

const LAYOUT: &Layout = &LAYOUTS[2];
const OTHER_CODE: Address = Address(REGION + 0x3000);
const STACK: Address = Address(REGION + 0x10_0000);
const FRAME_BYTES: u64 = 128;
/// FRAME_OWNED_BY_CSTACK.
const SHIM: u64 = 3;

/// From the first frame on nothing can be read but frames that were written.
struct Stack(Words);

impl Memory for Stack {
    fn word(&self, address: Address) -> Result<u64, Fault> {
        let is_frame = self.0.0.contains_key(&(address.0 / FRAME_BYTES * FRAME_BYTES));
        if address.0 < STACK.0 || is_frame { self.0.word(address) } else { Err(Fault) }
    }
}

const fn frame(number: u64) -> Address {
    STACK.at(number * FRAME_BYTES)
}

/// A stack of so many frames, the first one's number is 0. `code_of`: of each of them.
fn stack(frames: u64, code_of: impl Fn(u64) -> Address) -> Stack {
    let mut words = HashMap::from([(STATE.at(56).0, frame(frames - 1).0)]);
    for number in 0..frames {
        let previous = number.checked_sub(1).map_or(Address::NULL, frame);
        words.insert(frame(number).at(LAYOUT.frames.code).0, code_of(number).0);
        words.insert(frame(number).at(LAYOUT.frames.previous).0, previous.0);
    }
    Stack(Words(words))
}

fn walked(words: &Stack) -> (PythonEnd, usize, Option<Rest>) {
    walking::walked(words, LAYOUT, None)
}

#[test]
fn a_stack_that_just_fits_is_whole() {
    let words = stack(PYTHON_MAX as u64, |_| CODE);
    assert_eq!(walked(&words), (PythonEnd::Complete, PYTHON_MAX, None));
}

#[test]
fn the_shim_that_a_stack_begins_with_cuts_none() {
    for (frames, words, end) in [(0, PYTHON_WORDS, PythonEnd::Complete), (1, PYTHON_MAX, PythonEnd::TooDeep)] {
        let mut stack = stack(PYTHON_MAX as u64 + 1 + frames, |_| CODE);
        stack.0.0.insert(frame(0).at(LAYOUT.frames.owner).0 & !7, SHIM << (LAYOUT.frames.owner % 8 * 8));
        let (ended, len, rest) = walked(&stack);
        assert_eq!((ended, len, rest.is_some()), (end, words, frames > 0), "{frames} more");
    }
    // A shim between frames is none of these.
    let mut stack = stack(PYTHON_MAX as u64 + 2, |_| CODE);
    stack.0.0.insert(frame(1).at(LAYOUT.frames.owner).0 & !7, SHIM << (LAYOUT.frames.owner % 8 * 8));
    assert_eq!(
        walked(&stack),
        (PythonEnd::TooDeep, PYTHON_MAX, Some(Rest { frame: frame(1), codes: [CODE, Address::NULL] }))
    );
    // But where 3.15's base frame lies before it.
    stack.0.0.insert(STATE.at(200).0, frame(0).0);
    assert_eq!(walked(&stack), (PythonEnd::Complete, PYTHON_WORDS, None));
}

/// 3.11 has a flag at the first frame of a run in place of a shim.
#[test]
fn the_first_run_of_a_stack_of_3_11_cuts_none() {
    const RUN: Address = Address(REGION + 0x4000);
    let entered = |frames: u64, entry: u64| {
        let mut stack = stack(frames, |_| CODE);
        let is_entry = frame(entry).at(LAYOUTS[0].frames.is_entry.unwrap()).0;
        stack.0.0.insert(STATE.at(56).0, RUN.0);
        stack.0.0.insert(RUN.0, frame(frames - 1).0);
        stack.0.0.insert(is_entry & !7, 1 << (is_entry % 8 * 8));
        walking::walked(&stack, &LAYOUTS[0], None)
    };
    assert_eq!(entered(PYTHON_MAX as u64, 0), (PythonEnd::Complete, PYTHON_WORDS, None));
    let rest = Rest { frame: frame(0), codes: [CODE, Address::NULL] };
    assert_eq!(entered(PYTHON_MAX as u64 + 1, 1), (PythonEnd::TooDeep, PYTHON_MAX, Some(rest)));
}

#[test]
fn what_is_beyond_is_counted() {
    for more in [1, 2, 1000] {
        let words = stack(PYTHON_MAX as u64 + more, |_| CODE);
        let rest = Rest { frame: frame(more - 1), codes: [CODE, Address::NULL] };
        assert_eq!(walked(&words), (PythonEnd::TooDeep, PYTHON_MAX, Some(rest)));
        assert_eq!(count(&words, LAYOUT, rest), Beyond { alike: [more as u32, 0], frames: more as u32 });
    }
}

#[test]
fn of_two_functions_each_is_counted() {
    let words = stack(PYTHON_MAX as u64 + 1000, |number| if number & 3 == 0 { OTHER_CODE } else { CODE });
    let rest = Rest { frame: frame(999), codes: [OTHER_CODE, CODE] };
    assert_eq!(count(&words, LAYOUT, rest), Beyond { alike: [250, 750], frames: 1000 });
    let rest = Rest { codes: [OTHER_CODE, STATE], ..rest };
    assert_eq!(count(&words, LAYOUT, rest), Beyond { alike: [250, 0], frames: 1000 });
}

#[test]
fn the_count_ends_at_its_bound() {
    let words = stack(u64::from(COUNTED_MAX) + 2, |_| CODE);
    let from = |number| Rest { frame: frame(number), codes: [CODE, OTHER_CODE] };
    let all = u64::from(COUNTED_MAX);
    let counted = |frames| Beyond { alike: [frames, 0], frames };
    assert_eq!(count(&words, LAYOUT, from(all - 2)), counted(COUNTED_MAX - 1));
    assert_eq!(count(&words, LAYOUT, from(all)), counted(COUNTED_MAX));
    assert_eq!([COUNTED_MAX - 1, COUNTED_MAX].map(|frames| counted(frames).is_whole()), [true, false]);
    // Frames that lead back to themselves, too.
    let mut circle = stack(2, |_| CODE);
    circle.0.0.insert(frame(0).at(LAYOUT.frames.previous).0, frame(1).0);
    assert_eq!(count(&circle, LAYOUT, from(1)), counted(COUNTED_MAX));
}

#[test]
fn behind_a_frame_that_cannot_be_read_there_may_be_more() {
    let mut words = stack(100, |_| CODE);
    words.0.0.insert(frame(50).at(LAYOUT.frames.previous).0, frame(1000).0);
    let counted = count(&words, LAYOUT, Rest { frame: frame(99), codes: [CODE, OTHER_CODE] });
    assert_eq!((counted.alike, counted.is_whole()), ([50, 0], false));
}
