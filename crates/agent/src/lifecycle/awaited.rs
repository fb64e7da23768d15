//! A process that was told to record and holds no interpreter yet.
//! Owns: what it was told, until one is there. Never: begins anything (doors/late.rs).

use crate::system::symbols;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering::SeqCst};

/// What `GENBA_SESSION` says. Never freed: a thread may read it.
static TEXT: AtomicPtr<String> = AtomicPtr::new(core::ptr::null_mut());
static IS_AWAITED: AtomicBool = AtomicBool::new(false);
/// So many files had been loaded at the last look.
static LOADED: AtomicU64 = AtomicU64::new(0);

/// Before `main`.
pub fn begin(text: &str) {
    // The program may fork while the thread that begins takes memory. SAFETY: the library is never unloaded.
    unsafe { dlmalloc::enable_alloc_after_fork() };
    TEXT.store(Box::into_raw(Box::new(text.to_owned())), SeqCst);
    LOADED.store(symbols::loaded_count(), SeqCst);
    IS_AWAITED.store(true, SeqCst);
}

/// Whether files were loaded since the last answer, while an interpreter is awaited.
pub fn is_to_look() -> bool {
    IS_AWAITED.load(SeqCst) && {
        let loaded = symbols::loaded_count();
        LOADED.swap(loaded, SeqCst) != loaded
    }
}

/// The interpreter is there. Its finder alone gets the text, once.
pub fn take() -> Option<&'static str> {
    // SAFETY: made by `into_raw` and never freed.
    let text = unsafe { TEXT.load(SeqCst).as_ref() };
    text.filter(|_| IS_AWAITED.swap(false, SeqCst)).map(String::as_str)
}
