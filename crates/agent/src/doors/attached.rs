//! The one function of the thread that `genba attach` makes in a running program.
//! Owns: its C signature. Never: returns with signals open (the thread was made with all of them blocked), panics into the program.
//! Partner: crates/process/src/entry, whose code calls it.

use super::api::{Beginner, Outcome, start};
use crate::process::room;
use std::ffi::{CStr, c_char, c_int};

/// Begins a recording, and returns an `Outcome`. `session`: as `GENBA_SESSION`; the file is there.
///
/// # Safety
/// `session` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn genba_attached(session: *const c_char) -> c_int {
    // SAFETY: as the caller promises.
    let text = unsafe { CStr::from_ptr(session) };
    let begin = || room::within(|| start(&text.to_string_lossy(), Beginner::Command));
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(begin)).ok().flatten();
    outcome.map_or(Outcome::Refused, |(outcome, _)| outcome) as c_int
}
