//! The one function of the thread that `genba heap` makes in a running program.
//! Owns: the C signature. Never: keeps its caller waiting (all other threads are held meanwhile), panics into the
//! program, walks twice at once. Partner: crates/cli/src/verbs/heap.rs writes the words and reads the answer.
//!
//! The answer goes into a file that the command has made. Once it is gone, the command has, too, and nothing is done.

use super::api::{Outcome, Text, answer_in_place, done, refused};
use crate::heap::plan::Known;
use crate::heap::request::Request;
use crate::heap::thread::{Started, start};
use std::ffi::{c_char, c_int};

/// Begins a walk, and returns an `Outcome` at once. Where that is `Refused`, the reason takes the place of the words.
///
/// # Safety
/// `words` is a C string that nobody else reads or writes meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn genba_heap(words: *mut c_char) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { answer_in_place(words, begin) }
}

fn begin(text: &str) -> (Outcome, Text) {
    let Some(request) = Request::parse(text) else { return refused("genba's request is not understood") };
    let Some(known) = Known::find() else { return refused("no interpreter that genba knows is found in this process") };
    match start(request, known) {
        Started::Yes => done(),
        Started::Busy => (Outcome::Already, "".into()),
        Started::NoThread => refused("no thread could be made (a limit such as RLIMIT_NPROC)"),
    }
}
