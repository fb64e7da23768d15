//! A process that was told to record and holds no interpreter yet.
//! Owns: what it was told, until one is there. Never: begins anything (doors/late.rs), asks the linker where a fork has left its lock.

use super::last_thread;
use super::thread::SAMPLER;
use crate::process::life::{LIFE, State};
use crate::process::mailbox::MAILBOX;
use crate::process::room;
use crate::reading::modules;
use crate::system::symbols;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering::SeqCst};

/// What `GENBA_SESSION` says. Never freed: a thread may read it.
static TEXT: AtomicPtr<String> = AtomicPtr::new(core::ptr::null_mut());
static IS_AWAITED: AtomicBool = AtomicBool::new(false);
/// So many files had been loaded when none of them was an interpreter.
static LOADED: AtomicU64 = AtomicU64::new(0);

/// Before `main`.
pub fn begin(text: &str) {
    modules::learn();
    last_thread::watch();
    // SAFETY: the functions live as long as the process: the library is never unloaded. The program may fork while the thread that begins
    // takes memory.
    unsafe {
        dlmalloc::enable_alloc_after_fork();
        libc::pthread_atfork(None, None, Some(forked));
    }
    TEXT.store(Box::into_raw(Box::new(text.to_owned())), SeqCst);
    LOADED.store(symbols::loaded_count(), SeqCst);
    IS_AWAITED.store(true, SeqCst);
}

/// In the child, before the handlers of forks.rs. Once there was a sampler these see to the rest, also where it has ended; before, the thread that was about to
/// begin is not here.
extern "C" fn forked() {
    if LIFE.state() == State::Absent && SAMPLER.load(SeqCst).is_null() {
        // That thread may have had these.
        MAILBOX.forked();
        room::forked();
        modules::forked();
        last_thread::watch();
        IS_AWAITED.store(true, SeqCst);
    }
}

/// How many files are loaded, if that is news while an interpreter is awaited.
pub fn news() -> Option<u64> {
    let may_ask = IS_AWAITED.load(SeqCst) && modules::may_ask_linker();
    may_ask.then(symbols::loaded_count).filter(|loaded| *loaded != LOADED.load(SeqCst))
}

/// None of so many is an interpreter.
pub fn none_in(loaded: u64) {
    LOADED.store(loaded, SeqCst);
}

/// The interpreter is there. Its finder alone gets the text, once.
pub fn take() -> Option<&'static String> {
    // SAFETY: made by `into_raw` and never freed.
    let text = unsafe { TEXT.load(SeqCst).as_ref() };
    text.filter(|_| IS_AWAITED.swap(false, SeqCst))
}

/// Nothing has begun: the next one may try.
pub fn give_back() {
    IS_AWAITED.store(true, SeqCst);
}
