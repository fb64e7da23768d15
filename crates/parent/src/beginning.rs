//! How this process was started, and a program started in the same way.
//! Owns: what is noted before `main`. Rust's runtime opens /dev/null in place of standard descriptors that are closed and ignores SIGPIPE, and
//! nobody can tell afterwards. Never: changes anything before `main`.

use std::ffi::c_int;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use crate::signals::Mask;

/// Standard input, output and error: whether it was closed.
static CLOSED: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];
/// Bit n - 1 is signal n, of those that are not real-time signals.
static IGNORED: AtomicU32 = AtomicU32::new(0);
const SIGNALS: std::ops::RangeInclusive<c_int> = 1..=31;

// SAFETY: libc calls the functions of this section before `main`, with arguments that this one does not take. It needs nothing that is set up later.
#[used]
#[unsafe(link_section = ".init_array")]
static NOTE: extern "C" fn() = note;

extern "C" fn note() {
    for (number, closed) in (0..).zip(&CLOSED) {
        // SAFETY: plain numbers.
        closed.store(unsafe { libc::fcntl(number, libc::F_GETFD) } == -1, Relaxed);
    }
    for signal in SIGNALS {
        // SAFETY: asks only, and writes one action on this stack.
        let is_ignored = unsafe {
            let mut action: libc::sigaction = core::mem::zeroed();
            libc::sigaction(signal, core::ptr::null(), &raw mut action) == 0 && action.sa_sigaction == libc::SIG_IGN
        };
        if is_ignored {
            IGNORED.fetch_or(1 << (signal - 1), Relaxed);
        }
    }
}

/// Whether this process was started with `signal` ignored (`nohup`).
#[must_use]
pub fn was_ignored(signal: c_int) -> bool {
    SIGNALS.contains(&signal) && IGNORED.load(Relaxed) & 1 << (signal - 1) != 0
}

/// The signal that this process gets when its parent ends; 0: none. It stays over an exec, and a fork does not hand it on.
fn at_parents_end() -> c_int {
    let mut signal: c_int = 0;
    // SAFETY: the kernel writes one number on this stack.
    let is_told = unsafe { libc::prctl(libc::PR_GET_PDEATHSIG, &raw mut signal) } == 0;
    if is_told { signal } else { 0 }
}

/// Starts `command` as this process was started: with the signals blocked that `mask` blocks, with SIGPIPE, SIGCHLD and SIGXFSZ ignored if they were,
/// without the standard descriptors that were closed, and with the signal for the end of the parent, which is this process now.
///
/// # Errors
/// The kernel's.
pub fn start(command: &mut Command, mask: Mask) -> io::Result<Child> {
    for (number, closed) in (0..).zip(&CLOSED) {
        if closed.load(Relaxed) {
            // SAFETY: plain numbers. It is the runtime's /dev/null, which stays open here.
            unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
    }
    // Where SIGCHLD is ignored the kernel tells nobody how a child ended.
    // SAFETY: nothing here handles it.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
    let ignored = [libc::SIGPIPE, libc::SIGCHLD, libc::SIGXFSZ].map(|signal| was_ignored(signal).then_some(signal));
    let (own, at_parents_end) = (std::process::id(), at_parents_end());
    let as_here = move || {
        if at_parents_end != 0 {
            // SAFETY: plain numbers. If the kernel refuses, the program is started all the same.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::c_ulong::from(at_parents_end.cast_unsigned())) };
            // SAFETY: as above. An end before that call makes no signal.
            if unsafe { libc::getppid() }.cast_unsigned() != own {
                // SAFETY: as above.
                unsafe { libc::kill(libc::getpid(), at_parents_end) };
            }
        }
        for signal in ignored.into_iter().flatten() {
            // SAFETY: a signal without a handler.
            if unsafe { libc::signal(signal, libc::SIG_IGN) } == libc::SIG_ERR {
                return Err(io::Error::last_os_error());
            }
        }
        mask.set()
    };
    // SAFETY: it runs in the child between fork and exec, and makes system calls only.
    unsafe { command.pre_exec(as_here) };
    command.spawn()
}
