//! The news of every child, whoever started it: the processes that a shell left to this one when it became it, and as pid 1 all that lost their parent.
//! Owns: the waiting. Never: reaps one that it was not told to.

use std::ffi::c_int;
use std::io;

/// What became of a child, by its pid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum News {
    /// It stays a zombie until it is reaped, so that its pid is not another's.
    Ended(u32),
    /// Told again until it is taken.
    Stopped(u32),
}

/// Waits for news of any child.
///
/// # Errors
/// The kernel's: there is no child.
pub fn next_news() -> io::Result<News> {
    loop {
        match waitid(libc::P_ALL, 0, libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT) {
            Ok(news) => {
                // SAFETY: the kernel wrote the siginfo of a child, which has a pid.
                let pid = unsafe { news.si_pid() }.cast_unsigned();
                let has_ended = matches!(news.si_code, libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED);
                return Ok(if has_ended { News::Ended(pid) } else { News::Stopped(pid) });
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Throws away how a child ended.
pub fn reap(pid: u32) {
    // There is nothing to do where it is gone.
    let _ = waitid(libc::P_PID, pid, libc::WEXITED | libc::WNOHANG);
}

/// Takes the news that a child was stopped, so that they are told once.
pub fn take_stop(pid: u32) {
    // It may go on already.
    let _ = waitid(libc::P_PID, pid, libc::WSTOPPED | libc::WNOHANG);
}

fn waitid(which: libc::idtype_t, pid: u32, options: c_int) -> io::Result<libc::siginfo_t> {
    // SAFETY: writes one siginfo on this stack.
    unsafe {
        let mut news: libc::siginfo_t = core::mem::zeroed();
        match libc::waitid(which, pid, &raw mut news, options) {
            0 => Ok(news),
            _ => Err(io::Error::last_os_error()),
        }
    }
}
