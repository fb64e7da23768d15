//! The end of a recording: the last block, for which the program waits a bounded time.
//! Owns: that time. Never: leaves a recording without its last block while there is somebody to write it.

use super::thread::{SAMPLER, join, unpark};
use crate::process::life::{LIFE, State, is_owner};
use crate::process::mailbox::{Answer, MAILBOX, Order};
use crate::process::room;
use crate::sampling::sampler::Sampler;
use crate::system::signals::mask;
use crate::tracing;
use std::sync::atomic::Ordering::SeqCst;

/// The program waits at most so long for the last block.
pub const END_NS_MAX: u64 = 500_000_000;

/// Runs when the process ends in order.
pub fn on_unload() {
    end(END_NS_MAX);
}

/// Ends the sampler with its last block; the program waits for that at most `wait_ns_max`.
pub fn end(wait_ns_max: u64) {
    end_trace();
    if !is_owner() {
        return;
    }
    let Some(turn) = MAILBOX.turn(wait_ns_max) else { return };
    unpark();
    if LIFE.step(State::Parked, State::Ended) {
        // No thread is to be had any more, e.g. after `unshare(CLONE_NEWPID)`: the last block is written here.
        // SAFETY: made by `into_raw`; it was parked, and the step gave it to us alone. Never freed, as in `start_thread`.
        let sampler: &'static mut Sampler = unsafe { &mut *SAMPLER.load(SeqCst) };
        room::within(|| without_file_size_signal(|| sampler.end_where_it_stands()));
        return;
    }
    if LIFE.is_recording() && turn.ask(Order::End, None, wait_ns_max) == Answer::Ended {
        join(wait_ns_max);
    }
}

/// The counts of a process that is traced go into their file.
pub(super) fn end_trace() {
    if tracing::is_on() {
        without_file_size_signal(tracing::end);
    }
}

/// Before `_exit`: the destructors will not run.
pub fn end_before_exit() {
    end(END_NS_MAX);
}

/// A write beyond the file-size limit sends SIGXFSZ to the thread that writes: it must not end the program.
pub fn without_file_size_signal(write: impl FnOnce()) {
    // SAFETY: masks on this stack; the signal is taken back before it is unblocked.
    unsafe {
        let mut limit: libc::sigset_t = core::mem::zeroed();
        libc::sigaddset(&raw mut limit, libc::SIGXFSZ);
        let before = mask::in_kernel(libc::SIG_BLOCK, mask::word(&limit));
        write();
        let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        libc::sigtimedwait(&raw const limit, core::ptr::null_mut(), &raw const at_once);
        mask::in_kernel(libc::SIG_SETMASK, before);
    }
}
