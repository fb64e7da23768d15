//! The one function of the thread that `genba heap` makes in a running program.
//! Owns: the C signature. Never: keeps its caller waiting (all other threads are held meanwhile), panics into the
//! program, walks twice at once. Partner: crates/cli/src/verbs/heap.rs writes the words and reads the answer.
//!
//! The answer goes into a file that the command has made. Once it is gone, the command has, too, and nothing is done.

use super::api::Outcome;
use crate::heap::plan::Known;
use crate::heap::request::Request;
use crate::heap::thread::{Started, start};
use crate::process::room;
use std::ffi::{CStr, c_char, c_int};

/// Begins a walk, and returns an `Outcome` at once.
///
/// # Safety
/// `words` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn genba_heap(words: *const c_char) -> c_int {
    // SAFETY: as the caller promises.
    let text = unsafe { CStr::from_ptr(words) };
    let begin = || room::within(|| begin(&text.to_string_lossy()));
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(begin)).ok().flatten();
    outcome.unwrap_or(Outcome::Refused) as c_int
}

fn begin(text: &str) -> Outcome {
    let (Some(request), Some(known)) = (Request::parse(text), Known::find()) else { return Outcome::Refused };
    match start(request, known) {
        Started::Yes => Outcome::Done,
        Started::Busy => Outcome::Already,
        Started::NoThread => Outcome::Refused,
    }
}
