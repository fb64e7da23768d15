//! The one function of the thread that `genba attach` makes in a running program.
//! Owns: its C signature. Never: returns with signals open (the thread was made with all of them blocked), panics into the program.
//! Partner: crates/process/src/entry, whose code calls it.

use super::api::{Beginner, answer_in_place, start};
use std::ffi::{c_char, c_int};

/// Begins a recording, and returns an `Outcome`. `session`: as `GENBA_SESSION`; the file is there. Where the outcome is `Refused`, the reason
/// takes the place of that text, as far as it has room there.
///
/// # Safety
/// `session` is a C string that nobody else reads or writes meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn genba_attached(session: *mut c_char) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { answer_in_place(session, |text| start(text, Beginner::Command)) }
}
