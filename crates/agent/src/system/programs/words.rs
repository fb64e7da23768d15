//! The words of an environment, and genba's own in it.
//! Owns: the names that `genba run` gives. Never: allocates, or knows a program.

use std::ffi::{CStr, c_char};

/// `NAME=VALUE` each, and a null pointer behind the last one.
pub type Words = *const *const c_char;

/// As `genba run` names its libraries.
const LIBRARIES: [&[u8]; 3] = [b"genba-agent-", b"genba-copies-", b"genba-allocations-"];
/// AddressSanitizer's runtime, of GCC and of Clang: it ends a program in which another library comes before it.
/// Partner: crates/cli/src/recording/session.rs.
const FIRST: [&[u8]; 2] = [b"libasan.so", b"libclang_rt.asan"];
pub(super) const PRELOAD: &[u8] = b"LD_PRELOAD=";
pub(super) const SESSION: &[u8] = b"GENBA_SESSION=";

unsafe extern "C" {
    static environ: Words;
}

/// This process's own, for calls that name none.
#[must_use]
pub fn own_environment() -> Words {
    // SAFETY: libc's pointer. Reading it beside a thread that calls `setenv` is what `execv` does itself.
    unsafe { environ }
}

/// # Safety
/// An environment, or null.
pub(super) unsafe fn words<'a>(environment: Words) -> impl Iterator<Item = &'a [u8]> {
    let is_there = !environment.is_null();
    (0..).take_while(move |_| is_there).map_while(move |position| {
        // SAFETY: the caller's promise; the null pointer behind the last one ends it.
        unsafe {
            let word = *environment.add(position);
            (!word.is_null()).then(|| CStr::from_ptr(word).to_bytes())
        }
    })
}

pub(super) fn items(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|&byte| byte == b':' || byte == b' ').filter(|item| !item.is_empty())
}

/// What must stay in front of all other libraries, which is empty mostly, and what comes behind it in `list`.
pub(super) fn first_of(list: &[u8]) -> (&[u8], &[u8]) {
    let is_between = |byte: &u8| matches!(byte, b':' | b' ');
    let begin = list.iter().position(|byte| !is_between(byte)).unwrap_or(list.len());
    let bytes = list[begin..].iter().position(is_between).unwrap_or(list.len() - begin);
    let first = &list[begin..begin + bytes];
    if FIRST.iter().any(|name| base_name(first).starts_with(name)) {
        (first, list.get(begin + bytes + 1..).unwrap_or_default())
    } else {
        (b"", list)
    }
}

#[must_use]
pub(super) fn is_own(path: &[u8]) -> bool {
    LIBRARIES.iter().any(|name| base_name(path).starts_with(name))
}

pub(super) fn base_name(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
}
