//! The beginning of a recording in this process.
//! Owns: what the process does once for that. Never: begins beside a sampler that still has a thread.

use super::forks::{self, FOLLOW_CHILDREN};
use super::thread::{ENDED, PARK_NS_MAX, SAMPLER, join, start_thread};
use crate::process::files_over_fork;
use crate::process::life::{LIFE, State};
use crate::process::process_key::random_key;
use crate::process::session::Session;
use crate::reading::modules::Loaded;
use crate::reading::stacks::Stacks;
use crate::sampling::sampler::Sampler;
use crate::system::signals;
use crate::system::symbols;
use genba_format::proto;
use genba_python::find::Python;
use genba_signal::handler::SHARED;
use genba_signal::request::POOL;
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

static PREPARED: AtomicBool = AtomicBool::new(false);

/// Starts a sampler, where none is. The caller has the turn, or is alone. False: there is no thread to be had, or an earlier
/// sampler's still hangs.
pub fn begin(session: Session, python: Box<Python>, start: proto::Start) -> bool {
    prepare();
    if !signals::are_installed() {
        // The recording before this one took them out.
        signals::install();
    }
    if !join(PARK_NS_MAX) {
        return false;
    }
    let _ = LIFE.take_without();
    FOLLOW_CHILDREN.store(session.children, SeqCst);
    LIFE.take_over();
    files_over_fork::remember(CString::new(session.out.as_bytes()).unwrap_or_default());
    let ended = ENDED.swap(core::ptr::null_mut(), SeqCst);
    let sampler = if ended.is_null() {
        Sampler::new(session, python, start, Stacks::new(Loaded::new()))
    } else {
        // SAFETY: put there by `into_raw`; the swap gave it to us alone, and its thread was joined.
        unsafe { Box::from_raw(ended) }.into_next(session, start)
    };
    start_thread(Box::into_raw(Box::new(sampler)));
    if LIFE.step(State::Parked, State::Ended) {
        // No thread: a later fork must not start it, since nobody was told that there is a recording.
        ENDED.store(SAMPLER.load(SeqCst), SeqCst);
        LIFE.disown();
        return false;
    }
    true
}

/// What a process does once, before its first sampler.
pub fn prepare() {
    if PREPARED.swap(true, SeqCst) {
        return;
    }
    let seed = random_key();
    POOL.begin_at(seed.iter().fold(0, |seed, &byte| seed << 8 | u64::from(byte)));
    signals::install();
    if let Some((begin, end)) = symbols::extent(c"write") {
        SHARED.write_begin.store(begin, SeqCst);
        SHARED.write_end.store(end, SeqCst);
    }
    // SAFETY: the functions live as long as the process: the library is never unloaded. The heap's are registered first, so that it is
    // locked last, after `forks::before` has used it, and unlocked before the others do.
    unsafe {
        dlmalloc::enable_alloc_after_fork();
        libc::pthread_atfork(Some(forks::before), Some(forks::after_in_parent), Some(forks::after_in_child));
    }
}
