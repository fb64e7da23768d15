//! The end of the recording, ready to be written when there is no memory left.
//! Owns: the block and the descriptor for it. Never: allocates when they are needed.

use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering::SeqCst};

/// The end of the recording, ready to be written without any memory, and the sampler's descriptor for it; null: none.
/// Only the sampler's thread sets them, frees them and writes them.
static LAST_WORDS: AtomicPtr<LastWords> = AtomicPtr::new(core::ptr::null_mut());
static LAST_FILE: AtomicI32 = AtomicI32::new(-1);

/// A whole block.
#[derive(Default)]
pub struct LastWords(pub Vec<u8>);

/// What is written when no memory is left. Allocates nothing.
pub fn set_last_words(words: Option<Box<LastWords>>) {
    let before = LAST_WORDS.swap(words.map_or(core::ptr::null_mut(), Box::into_raw), SeqCst);
    if !before.is_null() {
        // SAFETY: made by `into_raw` above; the swap gave it to us alone.
        drop(unsafe { Box::from_raw(before) });
    }
}

/// Where they are written to; `None`: nowhere, for now.
pub fn set_last_file(file: Option<i32>) {
    LAST_FILE.store(file.unwrap_or(-1), SeqCst);
}

pub fn say_last_words() {
    let file = LAST_FILE.swap(-1, SeqCst);
    // SAFETY: this is the only thread that frees it.
    if let Some(words) = unsafe { LAST_WORDS.load(SeqCst).as_ref() }
        && file >= 0
    {
        // SAFETY: reads the words' bytes. If it fails, the recording has no end.
        unsafe { libc::write(file, words.0.as_ptr().cast(), words.0.len()) };
    }
}
