//! Memory as CPython has it, for tests. Owns: making it. Never: frees it.

use crate::layout::{TYPE_BASIC_SIZE, TYPE_FLAGS};

/// Memory of an object, as words. It lives as long as the test.
pub fn made(words: usize, fields: &[(u64, u64)]) -> u64 {
    let memory = Box::leak(vec![0_u64; words].into_boxed_slice());
    for (at, value) in fields {
        memory[(at / 8) as usize] |= value << (at % 8 * 8);
    }
    memory.as_ptr().expose_provenance() as u64
}

pub fn class(basic_bytes: u64, flags: u64) -> u64 {
    made(24, &[(TYPE_BASIC_SIZE, basic_bytes), (TYPE_FLAGS, flags)])
}
