//! Calls that wait for signals: genba's signal does not end such a wait.
//! Owns: the `sigwait` family, `pause`, and the calls that set a mask while they wait. Never: takes a signal from the program:
//! only those with genba's own code are dropped. Frames here may be unwound by `pthread_cancel`: nothing in them needs a drop.

use super::unbroken::{is_quickly_asked, unbroken, unbroken_unless_ready};
use crate::lifecycle;
use crate::system::errno;
use crate::system::proc::monotonic_ns;
use crate::system::real::next;
use crate::system::signals::{self, SAMPLE, mask};
use genba_signal::foreign::GIVEN_BACK;
use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering::SeqCst;

type Mask = *const libc::sigset_t;
type Time = *const libc::timespec;
type TimedWait = unsafe extern "C-unwind" fn(Mask, *mut libc::siginfo_t, Time) -> c_int;

/// A wait was interrupted, perhaps because another thread took a SIGURG of the program's, which it gives back: so long it may take to begin with that.
const TAKEN_WITHIN_NS: u64 = 1_000_000;
/// And so long to end it: a busy machine lets a thread wait for some turns.
const GIVEN_BACK_WITHIN_NS: u64 = 100_000_000;

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sigtimedwait(set: Mask, info: *mut libc::siginfo_t, timeout: Time) -> c_int {
    let real = next!(c"sigtimedwait", TimedWait, -1);
    // SAFETY: null or valid, as the caller promises; what genba passes on is on this stack.
    unsafe {
        let Some(&set) = set.as_ref().filter(|_| signals::samples_are_ours()) else {
            return real(set, info, timeout);
        };
        let was_blocked = signals::block_sample();
        let mut wanted = set;
        if !was_blocked && !mask::is_wished() {
            // A signal that is ignored and not blocked cannot be waited for.
            libc::sigdelset(&raw mut wanted, SAMPLE);
        }
        let asked_ns = timeout.as_ref().map(|timeout| {
            let wait_ns = (timeout.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(timeout.tv_nsec as u64);
            monotonic_ns().saturating_add(wait_ns)
        });
        let mut deadline_ns = asked_ns;
        let mut came: libc::siginfo_t = core::mem::zeroed();
        let given_back = || GIVEN_BACK.load(SeqCst);
        let before = given_back();
        let mut result = real(&raw const wanted, &raw mut came, timeout);
        let may_be_sample = libc::sigismember(&raw const wanted, SAMPLE) == 1;
        let (mut was_interrupted, mut is_awaited) = (false, false);
        loop {
            // Where the program's SIGURG woke this thread, and genba's handler in another one had it first, it comes back. What else interrupts
            // a wait ends it, as without genba.
            let is_interrupted = result < 0 && errno::get() == libc::EINTR && may_be_sample && !was_interrupted;
            let is_over = result < 0 && was_interrupted && !is_awaited;
            if is_interrupted || (is_over && given_back() != before) {
                was_interrupted = true;
                is_awaited = given_back() != before;
                let within_ns = if is_awaited { GIVEN_BACK_WITHIN_NS } else { TAKEN_WITHIN_NS };
                let until_ns = monotonic_ns() + within_ns;
                deadline_ns = Some(asked_ns.map_or(until_ns, |asked_ns: u64| asked_ns.min(until_ns)));
            } else if result != SAMPLE || !signals::is_sample(&came) {
                break;
            }
            let left = deadline_ns.map(|deadline_ns| {
                let left_ns = deadline_ns.saturating_sub(monotonic_ns());
                libc::timespec { tv_sec: (left_ns / 1_000_000_000) as i64, tv_nsec: (left_ns % 1_000_000_000) as i64 }
            });
            let left = left.as_ref().map_or(core::ptr::null(), core::ptr::from_ref);
            result = real(&raw const wanted, &raw mut came, left);
        }
        if result < 0 && was_interrupted {
            errno::set(libc::EINTR);
        }
        if !was_blocked {
            signals::unblock_sample();
        }
        if let Some(info) = info.as_mut().filter(|_| result > 0) {
            *info = came;
        }
        result
    }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sigwaitinfo(set: Mask, info: *mut libc::siginfo_t) -> c_int {
    // SAFETY: the caller's promises; without a time it waits without end.
    unsafe { sigtimedwait(set, info, core::ptr::null()) }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sigwait(set: Mask, signal: *mut c_int) -> c_int {
    let before = errno::get();
    loop {
        // SAFETY: the caller's promises.
        let result = unsafe { sigtimedwait(set, core::ptr::null_mut(), core::ptr::null()) };
        let failed = errno::get();
        // This one tells by its result what failed.
        errno::set(before);
        if result > 0 {
            // SAFETY: the caller's place for the answer.
            unsafe { *signal = result };
            return 0;
        }
        if failed != libc::EINTR {
            return failed;
        }
    }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pause() -> c_int {
    let real = next!(c"pause", unsafe extern "C-unwind" fn() -> c_int, -1);
    let unblock = signals::samples_are_ours() && !signals::block_sample();
    // SAFETY: libc's function.
    let result = unsafe { real() };
    if unblock {
        signals::unblock_sample();
    }
    result
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sigsuspend(mask: Mask) -> c_int {
    let real = next!(c"sigsuspend", unsafe extern "C-unwind" fn(Mask) -> c_int, -1);
    // SAFETY: libc's function; the caller's mask, or one on this stack.
    unsafe {
        match with_sample(mask) {
            Some(mask) => real(&raw const mask),
            None => real(mask),
        }
    }
}

static NO_WAIT: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 0 };

type Poll = unsafe extern "C-unwind" fn(*mut libc::pollfd, libc::nfds_t, Time, Mask) -> c_int;

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ppoll(files: *mut libc::pollfd, count: libc::nfds_t, time: Time, mask: Mask) -> c_int {
    let real = next!(c"ppoll", Poll, -1);
    // SAFETY: as above.
    unsafe {
        if mask.is_null() && may_wait(time) && is_valid(time) && is_quickly_asked(count) {
            return unbroken_unless_ready(
                || real(files, count, &raw const NO_WAIT, mask),
                || real(files, count, time, mask),
            );
        }
        waiting(mask, may_wait(time), |mask| real(files, count, time, mask))
    }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __ppoll_chk(
    files: *mut libc::pollfd,
    count: libc::nfds_t,
    time: Time,
    mask: Mask,
    bytes: usize,
) -> c_int {
    type Checked = unsafe extern "C-unwind" fn(*mut libc::pollfd, libc::nfds_t, Time, Mask, usize) -> c_int;
    let real = next!(c"__ppoll_chk", Checked, -1);
    // SAFETY: as above.
    unsafe { waiting(mask, may_wait(time), |mask| real(files, count, time, mask, bytes)) }
}

type Files = *mut libc::fd_set;

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pselect(
    count: c_int,
    reading: Files,
    writing: Files,
    failing: Files,
    time: Time,
    mask: Mask,
) -> c_int {
    type Select = unsafe extern "C-unwind" fn(c_int, Files, Files, Files, Time, Mask) -> c_int;
    let real = next!(c"pselect", Select, -1);
    // SAFETY: as above.
    unsafe { waiting(mask, may_wait(time), |mask| real(count, reading, writing, failing, time, mask)) }
}

type Events = *mut libc::epoll_event;

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn epoll_pwait(
    poll: c_int,
    events: Events,
    count: c_int,
    wait_ms: c_int,
    mask: Mask,
) -> c_int {
    let real = next!(c"epoll_pwait", unsafe extern "C-unwind" fn(c_int, Events, c_int, c_int, Mask) -> c_int, -1);
    // SAFETY: as above.
    unsafe { waiting(mask, wait_ms != 0, |mask| real(poll, events, count, wait_ms, mask)) }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn epoll_pwait2(
    poll: c_int,
    events: Events,
    count: c_int,
    time: Time,
    mask: Mask,
) -> c_int {
    let real = next!(c"epoll_pwait2", unsafe extern "C-unwind" fn(c_int, Events, c_int, Time, Mask) -> c_int, -1);
    // SAFETY: as above.
    unsafe { waiting(mask, may_wait(time), |mask| real(poll, events, count, time, mask)) }
}

/// A descriptor that tells of SIGURG would tell of genba's: from then on no thread is asked by it.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn signalfd(descriptor: c_int, mask: Mask, flags: c_int) -> c_int {
    let real = next!(c"signalfd", unsafe extern "C" fn(c_int, Mask, c_int) -> c_int, -1);
    // SAFETY: null or valid, as the caller promises.
    unsafe {
        if !mask.is_null() && libc::sigismember(mask, SAMPLE) == 1 {
            signals::taken_by_descriptor(lifecycle::paused);
        }
        real(descriptor, mask, flags)
    }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigpending(set: *mut libc::sigset_t) -> c_int {
    let real = next!(c"sigpending", unsafe extern "C" fn(*mut c_void) -> c_int, -1);
    // SAFETY: libc's function; then the set is valid and filled.
    unsafe {
        let result = real(set.cast());
        if result == 0 && signals::samples_are_ours() {
            libc::sigdelset(set, SAMPLE);
        }
        result
    }
}

/// Without a time it waits without end.
///
/// # Safety
/// Null or a valid time.
unsafe fn may_wait(time: Time) -> bool {
    // SAFETY: as the caller of libc's function promises.
    unsafe { time.as_ref() }.is_none_or(|time| time.tv_sec != 0 || time.tv_nsec != 0)
}

/// Whether libc takes it.
///
/// # Safety
/// Null or a valid place.
unsafe fn is_valid(time: Time) -> bool {
    // SAFETY: as the caller of libc's function promises.
    unsafe { time.as_ref() }.is_none_or(|time| time.tv_sec >= 0 && (0..1_000_000_000).contains(&time.tv_nsec))
}

/// Runs a call that waits under `mask`, or under the thread's own where that is null: genba's signal waits in either until the call is over. `waits`:
/// whether it may wait at all.
///
/// # Safety
/// Null or a valid mask.
unsafe fn waiting(mask: Mask, waits: bool, call: impl FnOnce(Mask) -> c_int) -> c_int {
    // SAFETY: the caller's promise.
    match unsafe { with_sample(mask) } {
        Some(mask) => call(&raw const mask),
        None if mask.is_null() && waits => unbroken(|| call(mask)),
        None => call(mask),
    }
}

/// The mask with the sample signal in it, while that is genba's: it waits until the call is over.
///
/// # Safety
/// Null or a valid mask.
unsafe fn with_sample(mask: Mask) -> Option<libc::sigset_t> {
    if mask.is_null() || !signals::samples_are_ours() {
        return None;
    }
    // SAFETY: valid, as the caller of libc's function promises.
    unsafe {
        let mut mask = *mask;
        libc::sigaddset(&raw mut mask, SAMPLE);
        Some(mask)
    }
}
