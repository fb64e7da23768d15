//! A child that C code forked past CPython: the thread states of its first thread bear the number of the thread that forked it.

use crate::layouts::{LAYOUTS, REGION};
use genba_python::find::Python;
use genba_python::layout::Layout;
use genba_python::lists::ThreadStates;
use genba_python::memory::{Address, Fault, Memory};
use genba_python::thread_states::{OwnStates, States, ThreadHints, find, ident_offset, of_thread, owner};
use std::cell::Cell;
use std::collections::HashMap;

/// glibc's descriptor of a thread has its number there.
const DESCRIPTOR_TID: u64 = 720;
/// The process, and its first thread.
const CHILD: u32 = 500;
/// A thread that the child made.
const LATER: u32 = 501;
/// Threads of the parent: the one that forked, and another one.
const FORKER: u32 = 400;
const OTHER: u32 = 401;
const INTERPRETER: Address = Address(REGION + 0x2000);
const GIL: Address = Address(REGION + 0x3000);
const FRAME: u64 = REGION + 0x4000;
/// Flag of a thread state: its thread activated it last.
const BOUND_GILSTATE: u64 = 1 << 3;

/// What was not written cannot be read.
struct Words(HashMap<u64, u64>);

impl Memory for Words {
    fn word(&self, address: Address) -> Result<u64, Fault> {
        self.0.get(&address.0).copied().ok_or(Fault)
    }
}

/// Counts reads of descriptors.
struct Counted<'a> {
    words: &'a Words,
    descriptors: Cell<u32>,
}

impl Memory for Counted<'_> {
    fn word(&self, address: Address) -> Result<u64, Fault> {
        if address >= descriptor(0) {
            self.descriptors.set(self.descriptors.get() + 1);
        }
        self.words.word(address)
    }
}

const fn state(index: u64) -> Address {
    Address(REGION + 0x1_0000 + index * 0x1000)
}

const fn descriptor(index: u64) -> Address {
    Address(REGION + 0x10_0000 + index * 0x1000)
}

/// A process with these thread states, each with frames: the number that it bears, and the one in its thread's descriptor, if that is mapped.
/// The GIL is that of the last one.
fn process(layout: &Layout, told: &[(u32, Option<u32>)]) -> Words {
    let heads = Address(layout.runtime.address).at(layout.runtime.interpreters_head);
    let gil = layout.gil.address.map_or(GIL, Address);
    let len = told.len() as u64;
    let mut words = HashMap::from([
        (heads.0, INTERPRETER.0),
        // The main interpreter.
        (heads.at(8).0, INTERPRETER.0),
        (INTERPRETER.at(layout.runtime.interpreter_next).0, 0),
        (INTERPRETER.at(layout.runtime.threads_head).0, state(0).0),
        (gil.at(layout.gil.last_holder).0, state(len - 1).0),
    ]);
    words.extend(layout.gil.pointer.map(|offset| (INTERPRETER.at(offset).0, GIL.0)));
    for (index, &(number, by_descriptor)) in (0..).zip(told) {
        let next = if index + 1 < len { state(index + 1) } else { Address::NULL };
        words.insert(state(index).at(layout.threads.next).0, next.0);
        words.insert(state(index).at(layout.threads.native_id).0, u64::from(number));
        words.insert(state(index).at(ident_offset(layout)).0, descriptor(index).0);
        // The newest run of the eval loop, or the frame itself.
        words.insert(state(index).at(56).0, FRAME);
        words.extend(layout.threads.status.map(|status| (state(index).at(status).0, BOUND_GILSTATE)));
        words.extend(by_descriptor.map(|tid| (descriptor(index).at(DESCRIPTOR_TID).0, u64::from(tid))));
    }
    Words(words)
}

fn listed(layout: &Layout, words: &Words) -> ThreadStates {
    let mut states = ThreadStates::default();
    states.refresh(words, &python(layout), CHILD);
    states
}

const fn python(layout: &Layout) -> Python {
    Python {
        runtime: Address(layout.runtime.address),
        layout: *layout,
        jit: 0,
        get_item: None,
        str_type: 0,
        bytes_type: 0,
        dict_type: None,
        int_type: None,
    }
}

/// Which thread states a look at this thread goes to: with the sampler's hints, and with those that the thread finds by itself.
fn own(layout: &Layout, words: &Words, tid: u32) -> Vec<Address> {
    let mut thread = ThreadHints { pid: CHILD, tid, states: States::EMPTY };
    let descriptor = (0..8).map(descriptor).find(|at| words.word(at.at(DESCRIPTOR_TID)) == Ok(u64::from(tid)));
    of_thread(words, layout, &mut thread, descriptor.map_or(0, |at| at.0));
    let by_itself = looked_at(layout, words, &thread);
    let hinted = ThreadHints { states: listed(layout, words).of(tid), ..thread };
    assert_eq!(looked_at(layout, words, &hinted), by_itself);
    by_itself
}

fn looked_at(layout: &Layout, words: &Words, thread: &ThreadHints) -> Vec<Address> {
    let mut found = OwnStates::EMPTY;
    let end = find(words, layout, thread, 0, &mut found);
    let found: Vec<Address> = found.iter().collect();
    assert_eq!(end.is_ok(), !found.is_empty());
    found
}

#[test]
fn the_first_thread_has_its_thread_state_whatever_number_that_bears() {
    for layout in &LAYOUTS {
        let words = process(layout, &[(LATER, Some(LATER)), (OTHER, Some(0)), (FORKER, Some(CHILD))]);
        assert_eq!(own(layout, &words, CHILD), [state(2)]);
        assert_eq!(own(layout, &words, LATER), [state(0)]);
        let owners = [0, 1, 2].map(|index| owner(&words, layout, CHILD, state(index)));
        assert_eq!(owners, [Ok(LATER), Ok(OTHER), Ok(CHILD)]);
        let lists = listed(layout, &words);
        assert_eq!(lists.of(FORKER).len, 0);
        assert_eq!(lists.holders(&words, &python(layout), CHILD).collect::<Vec<_>>(), [CHILD]);
        if layout.minor >= 13 {
            assert_eq!(lists.with_ident(descriptor(2).0), Some(CHILD));
        }
    }
}

#[test]
fn a_thread_that_gets_the_number_of_the_one_that_forked_has_its_own() {
    for layout in &LAYOUTS {
        let words = process(layout, &[(FORKER, Some(FORKER)), (FORKER, Some(CHILD))]);
        assert_eq!(own(layout, &words, FORKER), [state(0)]);
        assert_eq!(own(layout, &words, CHILD), [state(1)]);
    }
}

#[test]
fn nobody_has_the_thread_state_of_a_thread_that_is_gone() {
    for layout in &LAYOUTS {
        // A thread without a thread state forked: the descriptors of the others say 0, or are not mapped any more.
        let words = process(layout, &[(OTHER, Some(0)), (FORKER, None)]);
        assert!(own(layout, &words, CHILD).is_empty());
        assert_eq!(owner(&words, layout, CHILD, state(1)), Ok(FORKER));
    }
}

#[test]
fn one_that_no_thread_has_taken_yet_names_no_descriptor() {
    for layout in &LAYOUTS {
        let mut words = process(layout, &[(0, None), (CHILD, Some(CHILD))]);
        words.0.insert(state(0).at(ident_offset(layout)).0, 0);
        words.0.insert(DESCRIPTOR_TID, u64::from(CHILD));
        assert_eq!(own(layout, &words, CHILD), [state(1)]);
    }
}

#[test]
fn no_descriptor_is_read_once_the_first_thread_s_is_known() {
    for layout in &LAYOUTS {
        let words = process(layout, &[(LATER, Some(LATER)), (OTHER, Some(OTHER)), (CHILD, Some(CHILD))]);
        let memory = Counted { words: &words, descriptors: Cell::new(0) };
        let mut states = ThreadStates::default();
        states.refresh(&memory, &python(layout), CHILD);
        assert!(memory.descriptors.replace(0) > 0);
        states.refresh(&memory, &python(layout), CHILD);
        assert_eq!(memory.descriptors.get(), 0);
        assert_eq!([LATER, OTHER, CHILD].map(|tid| states.of(tid).len), [1, 1, 1]);
    }
}

#[test]
fn the_first_thread_finds_its_own_by_its_descriptor_and_reads_none() {
    for layout in &LAYOUTS {
        let words = process(layout, &[(LATER, Some(LATER)), (OTHER, Some(OTHER)), (FORKER, Some(CHILD))]);
        let memory = Counted { words: &words, descriptors: Cell::new(0) };
        let mut thread = ThreadHints { pid: CHILD, tid: CHILD, states: States::EMPTY };
        of_thread(&memory, layout, &mut thread, descriptor(2).0);
        assert_eq!((thread.states.len, thread.states.addresses[0], memory.descriptors.get()), (1, state(2), 0));
    }
}

#[test]
fn a_new_thread_on_the_stack_of_one_that_is_gone_is_the_one_with_its_ident() {
    for layout in LAYOUTS.iter().filter(|layout| layout.minor >= 13) {
        let mut words = process(layout, &[(LATER, Some(LATER)), (OTHER, None), (FORKER, Some(CHILD))]);
        words.0.insert(state(1).at(ident_offset(layout)).0, descriptor(0).0);
        assert_eq!(listed(layout, &words).with_ident(descriptor(0).0), Some(LATER));
        assert_eq!(own(layout, &words, CHILD), [state(2)]);
    }
}
