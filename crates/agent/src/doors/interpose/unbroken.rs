//! Calls of libc that every signal ends with `EINTR`, also one after whose handler other calls go on: genba's signal waits until they are over.
//! Owns: those with a time limit, System V's, those that give a file its room, and those of sockets once the program has given one a time limit.
//! Never: ends one for genba's signal, or keeps a signal of the program's from ending it, but for one that comes within the first look. Frames here
//! may be unwound by `pthread_cancel`: nothing in them needs a drop.
//! Source: signal(7), "Interruption of system calls and library functions by signal handlers".
//!
//! Genba asks running threads only. One that it has just found so may begin to wait before the signal comes, or may wait for a CPU on its way
//! out of the call. A library that takes `EINTR` for a failure would fail there.

use crate::system::errno;
use crate::system::real::next;
use crate::system::signals;
use std::ffi::{CStr, c_int, c_long, c_uint, c_void};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

type Time = *const libc::timespec;
type Left = *mut libc::timespec;
type Files = *mut libc::fd_set;
type Address = *mut libc::sockaddr;
type To = *const libc::sockaddr;
type Bytes = *mut libc::socklen_t;

/// The program has given a socket a time limit. Which one is not kept: copies of a descriptor and accepted sockets have it, too.
static A_SOCKET_IS_LIMITED: AtomicBool = AtomicBool::new(false);

fn a_socket_is_limited() -> bool {
    A_SOCKET_IS_LIMITED.load(SeqCst)
}

/// Whether a call with these flags may meet a socket with a limit, and may wait there.
fn may_be_limited(flags: c_int) -> bool {
    flags & libc::MSG_DONTWAIT == 0 && a_socket_is_limited()
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn setsockopt(
    socket: c_int,
    level: c_int,
    option: c_int,
    value: *const c_void,
    bytes: libc::socklen_t,
) -> c_int {
    type Set = unsafe extern "C-unwind" fn(c_int, c_int, c_int, *const c_void, libc::socklen_t) -> c_int;
    /// SO_RCVTIMEO and SO_SNDTIMEO, each with its older and its newer number (asm-generic/socket.h).
    const LIMITS: [c_int; 4] = [20, 21, 66, 67];
    let real = next!(c"setsockopt", Set, -1);
    // Before the call: another thread may begin to wait as soon as the socket has it.
    if level == libc::SOL_SOCKET && LIMITS.contains(&option) {
        A_SOCKET_IS_LIMITED.store(true, SeqCst);
    }
    // SAFETY: libc's function with the caller's arguments.
    unsafe { real(socket, level, option, value, bytes) }
}

/// Runs a call that waits while genba's signal is blocked.
pub(super) fn unbroken<T>(call: impl FnOnce() -> T) -> T {
    let unblock = signals::samples_are_ours() && !signals::block_sample();
    let result = call();
    if unblock {
        signals::unblock_sample();
    }
    result
}

/// The same for a call that may be over at once: `at_once` is that call with a time limit of zero. If something is ready by then it needs no wait,
/// and its CPU is asked for where it is used. A signal may end that first call, too: then it waits as if the signal had come just before.
pub(super) fn unbroken_unless_ready(at_once: impl FnOnce() -> c_int, call: impl FnOnce() -> c_int) -> c_int {
    if signals::are_installed() {
        let before = errno::get();
        match at_once() {
            0 => {}
            -1 if errno::get() == libc::EINTR => errno::set(before),
            found => return found,
        }
    }
    unbroken(call)
}

/// A look at so many descriptors takes about a microsecond: hardly ever a signal of the program's comes meanwhile. At none there is only the wait.
pub(super) const fn is_quickly_asked(descriptors: libc::nfds_t) -> bool {
    0 < descriptors && descriptors <= 16
}

/// Whether nothing of it can be had now.
fn is_taken(semaphore: *mut libc::sem_t) -> bool {
    let mut value = 0;
    // SAFETY: the caller's semaphore; the value is on this stack.
    unsafe { libc::sem_getvalue(semaphore, &raw mut value) };
    value <= 0
}

/// `$waits`: whether it may wait at all; a call that only asks is made as it is.
macro_rules! unbroken {
    ($($name:ident $text:literal ($($argument:ident: $type:ty),*) -> $result:ty, $missing:expr, $waits:expr;)*) => {$(
        /// # Safety
        /// As libc's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($argument: $type),*) -> $result {
            let real = next!($text, unsafe extern "C-unwind" fn($($type),*) -> $result, $missing);
            // SAFETY: libc's function with the caller's arguments.
            let call = || unsafe { real($($argument),*) };
            if $waits { unbroken(call) } else { call() }
        }
    )*};
}

/// `$is_quick`: whether it may be asked first. `$at_once`: its arguments for that.
macro_rules! unbroken_unless_ready {
    ($($name:ident $text:literal ($($argument:ident: $type:ty),*), $waits:expr, $is_quick:expr, ($($at_once:expr),*);)*) => {$(
        /// # Safety
        /// As libc's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($argument: $type),*) -> c_int {
            let real = next!($text, unsafe extern "C-unwind" fn($($type),*) -> c_int, -1);
            // SAFETY: libc's function with the caller's arguments.
            let call = || unsafe { real($($argument),*) };
            match $waits {
                // SAFETY: the same with a time limit of zero.
                true if $is_quick => unbroken_unless_ready(|| unsafe { real($($at_once),*) }, call),
                true => unbroken(call),
                false => call(),
            }
        }
    )*};
}

unbroken_unless_ready! {
    poll c"poll" (files: *mut libc::pollfd, count: libc::nfds_t, wait_ms: c_int), wait_ms != 0, is_quickly_asked(count), (files, count, 0);
    __poll_chk c"__poll_chk" (files: *mut libc::pollfd, count: libc::nfds_t, wait_ms: c_int, bytes: usize), wait_ms != 0, is_quickly_asked(count),
        (files, count, 0, bytes);
    epoll_wait c"epoll_wait" (poll: c_int, events: *mut libc::epoll_event, count: c_int, wait_ms: c_int), wait_ms != 0, true,
        (poll, events, count, 0);
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn select(
    count: c_int,
    reading: Files,
    writing: Files,
    failing: Files,
    wait: *mut libc::timeval,
) -> c_int {
    type Select = unsafe extern "C-unwind" fn(c_int, Files, Files, Files, *mut libc::timeval) -> c_int;
    let real = next!(c"select", Select, -1);
    // SAFETY: libc's function with the caller's arguments.
    let call = || unsafe { real(count, reading, writing, failing, wait) };
    // SAFETY: null or valid, as the caller promises.
    let limit = unsafe { wait.as_mut() };
    match limit.as_ref().map(|limit| (limit.tv_sec, limit.tv_usec)) {
        Some((0, 0)) => call(),
        // A wait that libc refuses.
        Some((wait_s, wait_us)) if wait_s < 0 || wait_us < 0 => call(),
        _ if !SELECTED_QUICKLY.contains(&count) => unbroken(call),
        _ => {
            let at_once = || {
                let sets = [reading, writing, failing].map(FirstWord::of);
                let mut no_wait = libc::timeval { tv_sec: 0, tv_usec: 0 };
                // SAFETY: the same with a time limit of zero.
                let found = unsafe { real(count, reading, writing, failing, &raw mut no_wait) };
                match (found, limit) {
                    (0, _) => sets.iter().for_each(FirstWord::restore),
                    // Before 2.34 the kernel alone writes there, to which a time in memory that is only read is no fault.
                    (1.., Some(limit)) if libc_minor() >= 34 => take_a_microsecond(limit),
                    _ => {}
                }
                found
            };
            unbroken_unless_ready(at_once, call)
        }
    }
}

/// Their bits lie in the first word of a set: the kernel reads and writes nothing else for them.
const SELECTED_QUICKLY: std::ops::RangeInclusive<c_int> = 1..=64;

/// The part of a set of descriptors that a look empties where nothing is ready.
struct FirstWord {
    set: *mut u64,
    word: u64,
}

impl FirstWord {
    fn of(set: Files) -> FirstWord {
        let set = set.cast::<u64>();
        // SAFETY: null or the caller's set, which has a whole number of words.
        FirstWord { set, word: unsafe { set.as_ref() }.copied().unwrap_or(0) }
    }

    fn restore(&self) {
        // SAFETY: as above.
        if let Some(set) = unsafe { self.set.as_mut() } {
            *set = self.word;
        }
    }
}

/// Of `2.36`: 36.
fn libc_minor() -> u32 {
    // SAFETY: a text that is there as long as the process.
    let version = unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) }.to_bytes();
    let digits = version.iter().skip_while(|byte| **byte != b'.').skip(1).take_while(|byte| byte.is_ascii_digit());
    digits.fold(0_u32, |number, digit| number.saturating_mul(10).saturating_add(u32::from(digit - b'0')))
}

/// As Linux tells the time that is left where something is ready at once. `left` is not zero.
const fn take_a_microsecond(left: &mut libc::timeval) {
    if left.tv_usec == 0 {
        left.tv_sec -= 1;
        left.tv_usec = 1_000_000;
    }
    left.tv_usec -= 1;
}

unbroken! {
    nanosleep c"nanosleep" (wait: Time, left: Left) -> c_int, -1, true;
    clock_nanosleep c"clock_nanosleep" (clock: libc::clockid_t, flags: c_int, wait: Time, left: Left) -> c_int, libc::ENOSYS, true;
    // By its result it tells an interruption (-1) from what else failed.
    thrd_sleep c"thrd_sleep" (wait: Time, left: Left) -> c_int, -2, true;
    usleep c"usleep" (wait_us: c_uint) -> c_int, -1, wait_us != 0;
    sleep c"sleep" (wait_s: c_uint) -> c_uint, wait_s, wait_s != 0;
    sem_timedwait c"sem_timedwait" (semaphore: *mut libc::sem_t, until: Time) -> c_int, -1, is_taken(semaphore);
    sem_clockwait c"sem_clockwait" (semaphore: *mut libc::sem_t, clock: libc::clockid_t, until: Time) -> c_int, -1, is_taken(semaphore);
    semop c"semop" (set: c_int, operations: *mut libc::sembuf, count: usize) -> c_int, -1, true;
    semtimedop c"semtimedop" (set: c_int, operations: *mut libc::sembuf, count: usize, wait: Time) -> c_int, -1, true;
    msgrcv c"msgrcv" (queue: c_int, message: *mut c_void, bytes: usize, kind: c_long, flags: c_int) -> isize, -1, true;
    msgsnd c"msgsnd" (queue: c_int, message: *const c_void, bytes: usize, flags: c_int) -> c_int, -1, true;

    // In memory they take long, and older kernels give all back at any signal: whoever tries again until it is done may never be.
    fallocate c"fallocate" (file: c_int, mode: c_int, begin: libc::off_t, bytes: libc::off_t) -> c_int, -1, true;
    fallocate64 c"fallocate64" (file: c_int, mode: c_int, begin: libc::off_t, bytes: libc::off_t) -> c_int, -1, true;
    posix_fallocate c"posix_fallocate" (file: c_int, begin: libc::off_t, bytes: libc::off_t) -> c_int, libc::ENOSYS, true;
    posix_fallocate64 c"posix_fallocate64" (file: c_int, begin: libc::off_t, bytes: libc::off_t) -> c_int, libc::ENOSYS, true;

    accept c"accept" (socket: c_int, from: Address, bytes: Bytes) -> c_int, -1, a_socket_is_limited();
    accept4 c"accept4" (socket: c_int, from: Address, bytes: Bytes, flags: c_int) -> c_int, -1, a_socket_is_limited();
    connect c"connect" (socket: c_int, to: To, bytes: libc::socklen_t) -> c_int, -1, a_socket_is_limited();
    recv c"recv" (socket: c_int, data: *mut c_void, bytes: usize, flags: c_int) -> isize, -1, may_be_limited(flags);
    __recv_chk c"__recv_chk" (socket: c_int, data: *mut c_void, bytes: usize, room: usize, flags: c_int) -> isize, -1, may_be_limited(flags);
    recvfrom c"recvfrom" (socket: c_int, data: *mut c_void, bytes: usize, flags: c_int, from: Address, from_bytes: Bytes) -> isize, -1,
        may_be_limited(flags);
    __recvfrom_chk c"__recvfrom_chk"
        (socket: c_int, data: *mut c_void, bytes: usize, room: usize, flags: c_int, from: Address, from_bytes: Bytes) -> isize, -1,
        may_be_limited(flags);
    recvmsg c"recvmsg" (socket: c_int, message: *mut libc::msghdr, flags: c_int) -> isize, -1, may_be_limited(flags);
    recvmmsg c"recvmmsg" (socket: c_int, messages: *mut libc::mmsghdr, count: c_uint, flags: c_int, wait: Left) -> c_int, -1,
        flags & libc::MSG_DONTWAIT == 0 && (a_socket_is_limited() || !wait.is_null());
    send c"send" (socket: c_int, data: *const c_void, bytes: usize, flags: c_int) -> isize, -1, may_be_limited(flags);
    sendto c"sendto" (socket: c_int, data: *const c_void, bytes: usize, flags: c_int, to: To, to_bytes: libc::socklen_t) -> isize, -1,
        may_be_limited(flags);
    sendmsg c"sendmsg" (socket: c_int, message: *const libc::msghdr, flags: c_int) -> isize, -1, may_be_limited(flags);
    sendmmsg c"sendmmsg" (socket: c_int, messages: *mut libc::mmsghdr, count: c_uint, flags: c_int) -> c_int, -1, may_be_limited(flags);
}
