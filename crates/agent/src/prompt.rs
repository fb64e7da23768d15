//! That the sampler's thread begins when its tick is due, and not when it suits the program.
//!
//! Two things would make it wait until the program does something, and would so decide what it sees. *Slack*: the kernel lets a thread's
//! timers be late by 50 µs, to let them expire together with others: with the one that wakes the program, say, of whose
//! work the first 50 µs would then be in no sample. *Slices*: where no CPU is idle, a thread that wakes may have to wait until the running
//! one has used up its slice, some milliseconds, or goes to sleep. Of a program that works in short bursts nearly all would be missed
//! (of 500 bursts of a millisecond on one CPU, 460). Since Linux 6.12 a thread may ask for a slice of its own; one with a shorter
//! slice than the running one's begins at once. It gets no more of the CPU by that.
//! Owns: asking for both. Never: changes another thread, or the slice of one that is not under the fair scheduler.
//! Source: Linux 6.12, kernel/sched/fair.c (`do_preempt_short`), kernel/sched/syscalls.c (`__setparam_fair`); prctl(2).

use std::mem::size_of;

/// The shortest that the kernel grants.
const SLICE_NS: u64 = 100_000;
/// 0 would mean the default.
const TIMER_SLACK_NS: libc::c_ulong = 1;

/// For the calling thread. What the kernel does not know, or a seccomp filter forbids, stays as it is.
pub fn ask() {
    // SAFETY: a number, for the calling thread.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, TIMER_SLACK_NS) };
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
