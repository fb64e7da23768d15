//! Calls of libc that every signal ends with `EINTR`, also one after whose handler other calls go on: genba's signal waits until they are over.
//! Owns: those with a time limit, System V's, those that give a file its room, and those of sockets once the program has given one a time limit.
//! Never: ends one for genba's signal, or keeps a signal of the program's from ending it. Frames here may be unwound by `pthread_cancel`: nothing
//! in them needs a drop.
//! Source: signal(7), "Interruption of system calls and library functions by signal handlers".
//!
//! Genba asks running threads only. One that it has just found so may begin to wait before the signal comes, or may wait for a CPU on its way
//! out of the call. A library that takes `EINTR` for a failure would fail there.

use crate::system::real::next;
use crate::system::signals;
use std::ffi::{c_int, c_long, c_uint, c_void};
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

unbroken! {
    poll c"poll" (files: *mut libc::pollfd, count: libc::nfds_t, wait_ms: c_int) -> c_int, -1, wait_ms != 0;
    __poll_chk c"__poll_chk" (files: *mut libc::pollfd, count: libc::nfds_t, wait_ms: c_int, bytes: usize) -> c_int, -1, wait_ms != 0;
    select c"select" (count: c_int, reading: Files, writing: Files, failing: Files, wait: *mut libc::timeval) -> c_int, -1,
        // SAFETY: null or valid, as the caller promises.
        unsafe { wait.as_ref() }.is_none_or(|wait| wait.tv_sec != 0 || wait.tv_usec != 0);
    epoll_wait c"epoll_wait" (poll: c_int, events: *mut libc::epoll_event, count: c_int, wait_ms: c_int) -> c_int, -1, wait_ms != 0;
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
