//! A process that ends because its last thread ends (pthread_exit in main, a thread's function that returns in a forked child): the sampler's
//! thread must not keep it alive.
//! Owns: the search for other threads when the first one ends. Never: ends a sampler while two threads of the program live.

use super::ending::end_before_exit;
use super::thread::{SamplerThread, sampler_thread};
use crate::process::life::LIFE;
use crate::process::room;
use crate::system::proc::{self, Doing};
use crate::system::tasks::{self, Tasks};
use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

/// The key whose destructor runs when the first thread ends, plus one; 0: none yet.
static KEY: AtomicU32 = AtomicU32::new(0);

/// Called by the thread a process begins with: its main thread, or the one that forked.
pub fn watch() {
    extern "C" fn first_ends(_: *mut c_void) {
        let _ = std::panic::catch_unwind(|| {
            if room::within(others_live).unwrap_or(true) {
                LIFE.set_first_thread_ended(true);
            } else {
                end_before_exit();
            }
        });
    }
    LIFE.set_first_thread_ended(false);
    // SAFETY: plain pthread calls; the destructor lives as long as the process. Any value but null makes it run.
    unsafe {
        if KEY.load(SeqCst) == 0 {
            let mut key: libc::pthread_key_t = 0;
            if libc::pthread_key_create(&raw mut key, Some(first_ends)) != 0 {
                return;
            }
            KEY.store(key + 1, SeqCst);
        }
        libc::pthread_setspecific(KEY.load(SeqCst) - 1, (&raw const KEY).cast());
    }
}

/// Whether the program has a living thread beside the calling one. True also where that cannot be seen.
fn others_live() -> bool {
    // Asked before the threads are listed: one that has not run yet is in the list then.
    let sampler = sampler_thread();
    let Some(tasks) = Tasks::open() else { return true };
    let mut numbers = Vec::new();
    tasks.numbers(&mut numbers);
    let is_sampler = |number| tasks.tid(number).is_some_and(|tid| sampler == SamplerThread::Known(tid));
    let living = numbers.iter().filter(|&&number| number != tasks.own() && !is_sampler(number)).filter(|&&number| {
        let text = proc::read_whole(Some(tasks.folder()), &tasks::path(number, "stat"));
        text.is_some_and(|text| Doing::parse_stat(&text).is_some())
    });
    living.count() > usize::from(sampler == SamplerThread::NotRunYet)
}
