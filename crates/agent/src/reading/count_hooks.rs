//! The libraries that count what the program copies (crates/copies) and allocates (crates/allocations), as far as the process knows them; and
//! for copies, where no library was preloaded, hooks of this library's, to which the program's calls are led while it is recorded.
//! Owns: their functions, once they were found. Never: loads them: `genba run --copies` and `--alloc` had them preloaded.

mod calls;
mod own;
mod relocations;

use crate::system::proc::own_tid;
use crate::system::symbols;
use calls::Calls;
use genba_signal::deposits::counts::{self, ALLOCATIONS, COPIES, Counts, Slot};
use genba_signal::request::Counted;
use std::ffi::{CStr, c_int};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

type Begin = extern "C" fn(u64) -> c_int;
type BeginPython = unsafe extern "C" fn(u64, u64) -> c_int;
type Word = extern "C" fn() -> *mut *const Slot;

/// `genba_copies_word` and `genba_allocations_word`, or this library's own; 0: the library is not there, or nobody began.
static WORDS: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
/// 1: small objects are counted, or will not be.
static PYTHON: AtomicU64 = AtomicU64::new(0);

fn library(of: Counted) -> (&'static CStr, &'static CStr) {
    match of {
        Counted::Copies => (c"genba_copies_begin", c"genba_copies_word"),
        Counted::Allocations => (c"genba_allocations_begin", c"genba_allocations_word"),
    }
}

#[must_use]
pub fn counts(of: Counted) -> &'static Counts {
    match of {
        Counted::Copies => &COPIES,
        Counted::Allocations => &ALLOCATIONS,
    }
}

fn word_of(of: Counted) -> &'static AtomicU64 {
    &WORDS[of as usize]
}

/// Threads are asked from here on. False: the library is not there, or is not the one that the program's names lead to.
pub fn begin(of: Counted) -> bool {
    let (begin, word) = library(of);
    let (Some(begin), Some(word)) = (symbols::address(begin), symbols::address(word)) else {
        return false;
    };
    let sample = match of {
        Counted::Copies => counts::genba_on_copy as *const () as u64,
        // A program with a malloc of its own: nobody calls the library's.
        Counted::Allocations if !symbols::is_defined_beside(c"malloc", begin) => return false,
        Counted::Allocations => counts::genba_on_allocation as *const () as u64,
    };
    // SAFETY: both libraries define it with this type.
    let has_begun = unsafe { core::mem::transmute::<u64, Begin>(begin) }(sample) != 0;
    if has_begun {
        word_of(of).store(word, SeqCst);
    }
    has_begun
}

/// What is led to this library's hooks; a forked child has the same.
static CALLS: Mutex<Option<Calls>> = Mutex::new(None);

/// Copies are counted from here on by hooks of this library's: the calls of each file are led to them. False: libc has no memmove.
pub fn begin_led() -> bool {
    let (Some(memmove), Some(checked)) = (symbols::of_libc(c"memmove"), symbols::of_libc(c"__memmove_chk")) else {
        return false;
    };
    // Held: this is a forked child, whose parent's sampler was at it.
    if let Ok(mut calls) = CALLS.try_lock() {
        calls.get_or_insert_with(|| Calls::of(memmove, checked)).lead();
    }
    word_of(Counted::Copies).store(own_word_at as *const () as u64, SeqCst);
    true
}

/// At each tick: the calls of files that came since.
pub fn lead_new() {
    if let Ok(mut calls) = CALLS.try_lock()
        && let Some(calls) = calls.as_mut()
    {
        calls.lead();
    }
}

/// The end of a recording in a program that goes on.
pub fn lead_back() {
    if let Ok(mut calls) = CALLS.try_lock()
        && let Some(mut calls) = calls.take()
    {
        calls.lead_back();
    }
}

/// The function that begins there is one of this library's hooks.
pub fn is_own(function: u64) -> bool {
    [own::copy as *const () as u64, own::copy_checked as *const () as u64].contains(&function)
}

/// Whether the function that begins there is one of this library's hooks, or the part of them that calls others.
#[must_use]
pub fn is_way(function: u64) -> bool {
    is_own(function) || function == own::slow as *const () as u64
}

/// One of this library's hooks, and the function that they go on to. None: nothing was ever led to them.
pub fn way() -> Option<(u64, u64)> {
    let real = own::REAL.load(SeqCst);
    (real != 0).then_some((own::copy as *const () as u64, real))
}

extern "C" fn own_word_at() -> *mut *const Slot {
    own::word()
}

/// CPython's small objects are counted from here on, where that can be. Once, of an interpreter whose allocators are set. False: the
/// program's own functions are in place, and small objects are not counted.
pub fn begin_python() -> bool {
    if PYTHON.swap(1, SeqCst) != 0 {
        return true;
    }
    let find = symbols::address;
    let (Some(begin), Some(get), Some(set)) =
        (find(c"genba_allocations_begin_python"), find(c"PyMem_GetAllocator"), find(c"PyMem_SetAllocator"))
    else {
        return false;
    };
    // What crates/allocations calls it when others' functions are there.
    const FOREIGN: c_int = 2;
    // SAFETY: crates/allocations defines it with this type, and the other two are CPython's.
    unsafe { core::mem::transmute::<u64, BeginPython>(begin)(get, set) != FOREIGN }
}

/// The library of `--copies` is in this process: the names of memmove and memcpy lead to it.
pub fn copies_are_loaded() -> bool {
    symbols::address(c"genba_copies_begin").is_some()
}

fn own_word(of: Counted) -> Option<*mut *const Slot> {
    let word = word_of(of).load(SeqCst);
    // SAFETY: the libraries define it with this type.
    (word != 0).then(|| unsafe { core::mem::transmute::<u64, Word>(word) }())
}

/// For a thread of genba's: what it does is not the program's.
pub fn exclude_this_thread(of: Counted) {
    if let Some(word) = own_word(of) {
        // SAFETY: this thread's word.
        unsafe { counts(of).exclude(word) };
    }
}

/// In a forked child.
pub fn forked() {
    for of in [Counted::Copies, Counted::Allocations] {
        if let Some(word) = own_word(of) {
            // SAFETY: this thread's word.
            unsafe { counts(of).forked(word, own_tid()) };
        }
    }
}
