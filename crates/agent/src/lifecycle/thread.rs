//! The sampler's thread: it is made, parked, started again, joined.
//! Owns: the one sampler of the process, and its thread. Never: runs two; waits without end. Partner: life.rs has the states.

use crate::process::bells;
use crate::process::files_over_fork;
use crate::process::life::{LIFE, State};
use crate::process::mailbox::{MAILBOX, Order, Turn};
use crate::process::scheduling;
use crate::sampling::sampler::{Sampler, ThreadEnd};
use crate::system::descriptor::Descriptor;
use crate::system::proc::{self, monotonic_ns};
use crate::system::real::direct::of_libc;
use crate::system::sampler_stack::{SAMPLER_TID, STACK_BYTES, as_sampler, no_sampler};
use crate::system::signals::mask;
use crate::system::threads::starts;
use genba_signal::handler::SHARED;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::SeqCst};

/// A fork waits so long for another thread's order to be done, as long for the sampler to park, and as long for its thread to end.
pub const PARK_NS_MAX: u64 = 2_000_000_000;
/// A thread that has ended is gone in microseconds, later where it waits for a CPU.
const GONE_NS_MAX: u64 = 100_000_000;

/// The sampler of a recording that ended: what it compiled serves the next one.
pub static ENDED: AtomicPtr<Sampler> = AtomicPtr::new(core::ptr::null_mut());
/// The sampler that was given to a thread last: while it is parked, whoever has the turn may use it.
pub static SAMPLER: AtomicPtr<Sampler> = AtomicPtr::new(core::ptr::null_mut());
type TimedJoin = unsafe extern "C" fn(libc::pthread_t, *mut *mut c_void, *const libc::timespec) -> c_int;
type Detach = unsafe extern "C" fn(libc::pthread_t) -> c_int;

/// pthread_t of the sampler's thread, until it is joined; 0: none.
pub static THREAD: AtomicU64 = AtomicU64::new(0);

/// A thread is joined a moment before the kernel has taken it out of the process: until then whoever counts threads counts it.
pub fn await_gone(tid: u32) {
    let deadline_ns = monotonic_ns() + GONE_NS_MAX;
    while proc::thread_cpu_ns(tid).is_some() && monotonic_ns() < deadline_ns {
        // SAFETY: no arguments, no memory.
        unsafe { libc::sched_yield() };
    }
}

/// The sampler's thread as far as it is known here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SamplerThread {
    None,
    /// Made, but it has hardly had a CPU yet: one of the process's threads, of unknown number.
    NotRunYet,
    Known(u32),
}

#[must_use]
pub fn sampler_thread() -> SamplerThread {
    match SAMPLER_TID.load(SeqCst) {
        0 if THREAD.load(SeqCst) == 0 => SamplerThread::None,
        0 => SamplerThread::NotRunYet,
        tid => SamplerThread::Known(tid),
    }
}

/// No one else may use the sampler. Afterwards it runs, or stays parked if no thread could be created.
pub fn start_thread(sampler: *mut Sampler) {
    MAILBOX.empty();
    if LIFE.step_if_any(State::Running) {
        SAMPLER.store(sampler, SeqCst);
        files_over_fork::through(|| start_thread_now(sampler));
    }
}

/// False: no thread is to be had now.
fn start_thread_now(sampler: *mut Sampler) -> bool {
    extern "C" fn body(sampler: *mut c_void) -> *mut c_void {
        let address = sampler.cast::<Sampler>();
        // SAFETY: the address comes from `Box::into_raw`, for this thread alone until it has parked or ended. Never freed: a handler that
        // was held up in the middle of its walk may still read the tables, however the sampler ended.
        let sampler: &'static mut Sampler = unsafe { &mut *address };
        // SAFETY: names the calling thread.
        unsafe { libc::syscall(libc::SYS_prctl, libc::PR_SET_NAME, c"genba".as_ptr(), 0, 0, 0) };
        scheduling::ask();
        let life = || as_sampler(|| sampler.run());
        match std::panic::catch_unwind(std::panic::AssertUnwindSafe(life)) {
            // Somebody else may run it by now.
            Ok(ThreadEnd::Parked) => {}
            Ok(ThreadEnd::Ended) => ENDED.store(address, SeqCst),
            // Whatever went wrong, nobody is asked any more and the program does not wait for a report.
            Err(_) => {
                no_sampler();
                bells::leave_place();
                files_over_fork::nobody_waits();
                SHARED.pid.store(0, SeqCst);
                MAILBOX.nobody_listens();
            }
        }
        core::ptr::null_mut()
    }
    // The number of the sampler before, in a forked child of another process.
    SAMPLER_TID.store(0, SeqCst);
    // SAFETY: plain pthread calls; all memory is on this stack or passed by `into_raw`. Signals are blocked while the
    // thread is made, so that it inherits the mask.
    unsafe {
        let before = mask::in_kernel(libc::SIG_SETMASK, mask::of_own_thread());
        files_over_fork::opens();
        let mut attributes: libc::pthread_attr_t = core::mem::zeroed();
        libc::pthread_attr_init(&raw mut attributes);
        libc::pthread_attr_setstacksize(&raw mut attributes, STACK_BYTES);
        let mut thread: libc::pthread_t = 0;
        let failed = starts::create_thread(&raw mut thread, &raw const attributes, body, sampler.cast());
        libc::pthread_attr_destroy(&raw mut attributes);
        if failed != 0 {
            files_over_fork::nobody_waits();
        }
        mask::in_kernel(libc::SIG_SETMASK, before);
        if failed == 0 {
            THREAD.store(thread, SeqCst);
        } else {
            // No thread to be had now: the next fork or the end tries again.
            LIFE.step_if_any(State::Parked);
            THREAD.store(0, SeqCst);
        }
        failed == 0
    }
}

/// Waits until the sampler's thread is gone, at most `wait_ns_max`. False: it hangs in the kernel, and no other one may run beside it.
pub fn join(wait_ns_max: u64) -> bool {
    let thread = THREAD.swap(0, SeqCst);
    if thread == 0 {
        return true;
    }
    // A seccomp filter may forbid the clock; then an end far away must do.
    let at_ns = proc::clock_ns(libc::CLOCK_REALTIME).map_or(i64::MAX as u64, |now_ns| now_ns + wait_ns_max);
    let at = libc::timespec { tv_sec: (at_ns / 1_000_000_000) as i64, tv_nsec: (at_ns % 1_000_000_000) as i64 };
    let join = of_libc!(c"pthread_timedjoin_np", TimedJoin, false);
    // SAFETY: made by `start_thread`, joined once: the swap gave it to us alone.
    if unsafe { join(thread, core::ptr::null_mut(), &raw const at) } == 0 {
        return true;
    }
    if LIFE.state() == State::Parked {
        // It has nothing more to do but to end, and gets no CPU for that: nobody needs to wait.
        let detach = of_libc!(c"pthread_detach", Detach, false);
        // SAFETY: as above; it was not joined.
        unsafe { detach(thread) };
        return true;
    }
    THREAD.store(thread, SeqCst);
    false
}

/// Starts a parked sampler's thread again. The caller has the turn, or is alone.
pub fn unpark() {
    if LIFE.state() == State::Parked {
        start_thread(SAMPLER.load(SeqCst));
    }
}

/// Ends the sampler's thread. `receiver`: for its descriptors, if they are to be kept. `None`: it was not this thread's turn.
pub fn park(receiver: impl FnOnce() -> Option<files_over_fork::Receiver>) -> Option<Turn<'static>> {
    // Without it another thread's order is being done, or the one that this thread was interrupted in. None of ours may replace it.
    let turn = MAILBOX.turn(PARK_NS_MAX)?;
    if !LIFE.step(State::Running, State::Parking) {
        return Some(turn);
    }
    let mut receiver = receiver();
    // The step tells, whatever the answer: it is the sampler's last act, and comes before that.
    let until_ns = monotonic_ns() + PARK_NS_MAX;
    let _ = turn.ask(Order::Park, None, PARK_NS_MAX);
    if receiver.is_none() && LIFE.state() == State::Parking && files_over_fork::is_missed() {
        // Without a socket the sampler parks all the same, and the recording of this process ends with the fork.
        receiver = files_over_fork::Receiver::new();
        let _ = turn.ask(Order::Park, None, until_ns.saturating_sub(monotonic_ns()));
    }
    if LIFE.step(State::Parking, State::HeldUp) {
        // It hangs in the kernel (a dead file server), or gets no CPU.
        return Some(turn);
    }
    join(PARK_NS_MAX);
    if let Some(receiver) = receiver {
        receiver.take();
    }
    Some(turn)
}

/// How many threads the process has, the sampler's too.
pub fn threads() -> Option<usize> {
    let tasks = Descriptor::open_at(None, c"/proc/self/task", libc::O_RDONLY | libc::O_DIRECTORY).ok()?;
    let mut threads = 0;
    proc::each_thread_id(&tasks, |_| threads += 1);
    Some(threads)
}
