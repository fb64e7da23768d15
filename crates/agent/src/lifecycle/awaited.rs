//! A process that was told to record and holds no interpreter yet.
//! Owns: what it was told, until one is there, and the way to its recording. Never: begins anything (doors/late.rs), asks the linker where a fork
//! has left its lock.

use super::last_thread;
use super::thread::SAMPLER;
use crate::process::files_over_fork;
use crate::process::life::{LIFE, State};
use crate::process::mailbox::MAILBOX;
use crate::process::room;
use crate::reading::modules;
use crate::system::symbols;
use crate::system::threads::ends;
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering::SeqCst};

/// What `GENBA_SESSION` says. Never freed: a thread may read it.
static TEXT: AtomicPtr<String> = AtomicPtr::new(core::ptr::null_mut());
static IS_AWAITED: AtomicBool = AtomicBool::new(false);
/// So many files had been loaded when none of them was an interpreter.
static LOADED: AtomicU64 = AtomicU64::new(0);

/// Before `main`. `out`: the recording's path.
pub fn begin(text: &str, out: &str) {
    modules::learn();
    last_thread::watch();
    // SAFETY: the functions live as long as the process: the library is never unloaded. The program may fork while the thread that begins
    // takes memory.
    unsafe {
        dlmalloc::enable_alloc_after_fork();
        libc::pthread_atfork(None, None, Some(forked));
    }
    files_over_fork::remember(CString::new(out.as_bytes()).unwrap_or_default());
    files_over_fork::awaits();
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
        files_over_fork::awaits();
        IS_AWAITED.store(true, SeqCst);
    }
}

/// Before a call that may take the way to the recording from this process: where a libpython is loaded that has run nothing yet, the recording is
/// opened now. It may be called in a signal handler, or in the child of a process with threads: no memory is taken, and `errno` stays as it is. The
/// one lock, that of the linker's list, is none that a fork has lost, and its holder may take it once more. A seccomp filter of the program's own
/// may kill for a system call that the program does not make: then nothing is done.
pub fn keep_way() {
    if ends::is_filtered() || !files_over_fork::is_awaited() {
        return;
    }
    if modules::sees_linker_lock() && symbols::has_libpython() {
        files_over_fork::carry();
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
