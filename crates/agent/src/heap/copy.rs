//! A copy of the process, with the calling thread alone: to look at memory that stands still while the program goes on.
//! Owns: how it is made, waited for and ended. Never: runs the program's at-fork handlers, tells the program of a child (`waitpid(-1)` does not
//! see it, no SIGCHLD comes), lets it outlive the thread that made it, keeps a file open that the program closes meanwhile.

use crate::system::errno;
use crate::system::proc::{monotonic_ns, own_pid};
use std::ffi::c_int;

const BETWEEN_LOOKS_NS: libc::c_long = 1_000_000;
/// Where descriptors have to be closed one by one, as many as that take some milliseconds.
const DESCRIPTORS_MAX: u64 = 1 << 16;

/// The exit code of a copy whose maker is gone: nobody waits for it.
const ORPHANED: u8 = 255;

/// How a copy ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    Exited(u8),
    /// By a signal.
    Died(u32),
    /// It took longer than it may.
    Killed,
}

/// In the process: the copy's number, or errno. In the copy `work` runs, and its result is the exit code.
///
/// # Safety
/// All signals are blocked on the calling thread. `work` uses no lock and no allocator, and does not panic.
pub unsafe fn make(work: impl FnOnce() -> u8) -> Result<i32, i32> {
    let maker = own_pid();
    // SAFETY: a process with a copy of the memory, without a signal at its end. The calling thread goes on in both on the same stack.
    let made = unsafe { libc::syscall(libc::SYS_clone, 0_u64, 0_u64, 0_u64, 0_u64, 0_u64) };
    match made {
        0 => {
            tie_to(maker);
            let goes_first = go_first();
            leave_files();
            if !goes_first {
                // The program had all descriptors open that it may.
                go_first();
            }
            leave_no_core();
            exit(work())
        }
        pid if pid > 0 => Ok(pid as i32),
        _ => Err(errno::get()),
    }
}

fn exit(code: u8) -> ! {
    loop {
        // SAFETY: ends this copy.
        unsafe { libc::syscall(libc::SYS_exit_group, c_int::from(code)) };
    }
}

/// It goes with its maker: with the thread, which no other takes the place of, and so with the process `maker`.
fn tie_to(maker: u32) {
    // SAFETY: plain system calls.
    let parent = unsafe {
        libc::syscall(libc::SYS_prctl, libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
        libc::syscall(libc::SYS_getppid)
    };
    // No signal comes for an end before that. Where a filter or a namespace hides the number, nobody knows.
    if parent > 0 && parent != i64::from(maker) {
        exit(ORPHANED);
    }
}

/// A connection that the program closes meanwhile ends, and a lock (flock) or a port that it gives up is free. The table of descriptors is
/// this copy's own, so the program's stays as it is. All of it: what the copy writes to, it opens itself.
fn leave_files() {
    // SAFETY: plain system calls, on numbers of this copy's own table; the kernel writes one record.
    unsafe {
        if libc::syscall(libc::SYS_close_range, 0_u32, u32::MAX, 0_u32) == 0 {
            return;
        }
        // Linux before 5.9, or a filter. A number above the limit, which was higher once, stays open until the copy ends.
        let mut limit = libc::rlimit64 { rlim_cur: DESCRIPTORS_MAX, rlim_max: 0 };
        let unchanged = core::ptr::null::<libc::rlimit64>();
        // A filter may forbid that, too: the limit stays as it is here.
        libc::syscall(libc::SYS_prlimit64, 0, libc::RLIMIT_NOFILE, unchanged, &raw mut limit);
        for number in 0..limit.rlim_cur.min(DESCRIPTORS_MAX) {
            libc::syscall(libc::SYS_close, number);
        }
    }
}

/// Where memory is short. False: the file cannot be opened.
fn go_first() -> bool {
    // SAFETY: plain system calls, on memory of this copy.
    unsafe {
        let path = c"/proc/self/oom_score_adj".as_ptr();
        let file = libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path, libc::O_WRONLY | libc::O_CLOEXEC, 0);
        if file >= 0 {
            let text = b"1000";
            libc::syscall(libc::SYS_write, file, text.as_ptr(), text.len());
            libc::syscall(libc::SYS_close, file);
        }
        file >= 0
    }
}

fn leave_no_core() {
    // SAFETY: plain system calls, on memory of this copy.
    unsafe {
        let none = libc::rlimit64 { rlim_cur: 0, rlim_max: 0 };
        let nowhere = core::ptr::null_mut::<libc::rlimit64>();
        libc::syscall(libc::SYS_prlimit64, 0, libc::RLIMIT_CORE, &raw const none, nowhere);
        libc::syscall(libc::SYS_prctl, libc::PR_SET_DUMPABLE, 0, 0, 0, 0);
    }
}

/// Waits for a copy's end, and brings it about when that takes too long.
pub fn wait(pid: i32, at_most_ns: u64) -> End {
    let deadline_ns = monotonic_ns().saturating_add(at_most_ns);
    let mut is_killed = false;
    loop {
        let mut status: c_int = 0;
        let nowhere = core::ptr::null_mut::<libc::rusage>();
        // SAFETY: the kernel writes one int. Not libc's function, before which the agent's own may be.
        let ended =
            unsafe { libc::syscall(libc::SYS_wait4, pid, &raw mut status, libc::WNOHANG | libc::__WALL, nowhere) };
        if ended == i64::from(pid) {
            return match (libc::WIFSIGNALED(status), is_killed) {
                (true, true) => End::Killed,
                (true, false) => End::Died(libc::WTERMSIG(status) as u32),
                (false, _) => End::Exited(libc::WEXITSTATUS(status) as u8),
            };
        }
        if ended < 0 && errno::get() != libc::EINTR {
            // Nobody else may wait for it; so it is not there.
            return End::Died(0);
        }
        if !is_killed && monotonic_ns() > deadline_ns {
            is_killed = true;
            // SAFETY: a child of this process that was not waited for.
            unsafe { libc::syscall(libc::SYS_kill, pid, libc::SIGKILL) };
        }
        let rest = libc::timespec { tv_sec: 0, tv_nsec: BETWEEN_LOOKS_NS };
        // SAFETY: reads one timespec.
        unsafe { libc::syscall(libc::SYS_nanosleep, &raw const rest, core::ptr::null_mut::<libc::timespec>()) };
    }
}

#[cfg(test)]
mod tests {
    use super::{End, ORPHANED, make, tie_to, wait};
    use std::io::{PipeReader, Read, pipe};
    use std::os::fd::AsRawFd;

    const PATIENCE_NS: u64 = 30_000_000_000;

    fn is_open(number: i32) -> bool {
        // SAFETY: plain numbers.
        unsafe { libc::syscall(libc::SYS_fcntl, number, libc::F_GETFD) >= 0 }
    }

    #[test]
    fn a_copy_goes_with_its_maker_also_before_it_is_tied_to_it() {
        let tied = || {
            let mut signal = 0;
            // SAFETY: the kernel writes one int.
            unsafe { libc::syscall(libc::SYS_prctl, libc::PR_GET_PDEATHSIG, &raw mut signal, 0, 0, 0) };
            u8::from(signal == libc::SIGKILL)
        };
        // SAFETY: the copy makes system calls only.
        let pid = unsafe { make(tied) }.expect("a copy");
        assert_eq!(wait(pid, PATIENCE_NS), End::Exited(1));
        // As the copy of another process, which it has as its parent no more.
        let orphan = || {
            tie_to(u32::MAX);
            0
        };
        // SAFETY: as above.
        let pid = unsafe { make(orphan) }.expect("a copy");
        assert_eq!(wait(pid, PATIENCE_NS), End::Exited(ORPHANED));
    }

    #[test]
    fn a_copy_has_none_of_the_program_s_files_open() {
        let (mut reader, writer): (PipeReader, _) = pipe().expect("two descriptors");
        let numbers = [reader.as_raw_fd(), writer.as_raw_fd()];
        // SAFETY: the copy makes system calls only.
        let pid = unsafe { make(|| u8::from(numbers.into_iter().any(is_open))) }.expect("a copy");
        assert_eq!(wait(pid, PATIENCE_NS), End::Exited(0));
        // The program has them still.
        assert!(numbers.into_iter().all(is_open));
        drop(writer);
        assert_eq!(reader.read(&mut [0]).expect("the end"), 0);
    }
}
