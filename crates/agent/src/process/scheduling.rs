//! The sampler's thread begins when its tick is due, not when the program pauses.
//!
//! By default the kernel makes the thread wait for the program in two ways, and the program would decide which moments are sampled:
//! - *Slack*: timers may be late by 50 µs, so that they expire together with others. A tick that waits for the timer that wakes the program
//!   misses the first 50 µs of its work.
//! - *Slices*: where no CPU is idle, a thread that wakes may wait until the running one has used up its slice, some milliseconds, or sleeps.
//!   The sampler then misses nearly all of a program that works in short bursts (460 of 500 bursts of a millisecond on one CPU).
//!
//! Since Linux 6.12 a thread may ask for a slice of its own. A thread whose slice is shorter than the running thread's begins at once; its
//! part of the CPU stays the same.
//! Owns: asking for less slack and a short slice. Never: changes another thread, or the slice of one that is not under the fair scheduler.
//! Source: Linux 6.12, kernel/sched/fair.c (`do_preempt_short`), kernel/sched/syscalls.c (`__setparam_fair`); prctl(2).

use std::mem::size_of;

/// The shortest that the kernel grants.
const SLICE_NS: u64 = 100_000;
/// 0 would mean the default.
const TIMER_SLACK_NS: libc::c_ulong = 1;

/// For the calling thread. What the kernel does not know, or a seccomp filter forbids, stays as it is.
pub fn ask() {
    // SAFETY: a number, for the calling thread.
    unsafe { libc::syscall(libc::SYS_prctl, libc::PR_SET_TIMERSLACK, TIMER_SLACK_NS, 0, 0, 0) };
    // SAFETY: all fields are numbers.
    let mut attributes: libc::sched_attr = unsafe { std::mem::zeroed() };
    let bytes = size_of::<libc::sched_attr>() as libc::c_uint;
    // SAFETY: the kernel writes at most `bytes` of the structure.
    if unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, bytes, 0) } != 0 {
        return;
    }
    let is_fair = [libc::SCHED_OTHER, libc::SCHED_BATCH].contains(&(attributes.sched_policy as i32));
    if is_fair {
        attributes.sched_runtime = SLICE_NS;
        // SAFETY: the kernel reads the structure, whose size stands in it.
        unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    }
}
