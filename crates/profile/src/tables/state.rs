//! Words for what a thread was doing at a tick.
//! Owns: the names of the states, of x86-64 system calls and of what they wait on. Never: decides what a state weighs.

use genba_format::state::{State, WaitedOn};
use syscalls::x86_64::Sysno;

/// What a thread waits for, if its call tells: `waiting for a lock (futex)`; else the state as `in_words` has it.
pub fn wait_in_words(state: State) -> String {
    let State::InSystemCall(number, on) = state else { return in_words(state) };
    let Some(call) = Sysno::new(number as usize) else { return in_words(state) };
    let what = match (call, on) {
        // The lock says what is waited for.
        (Sysno::futex, Some(lock)) => return format!("waiting for a {} ({})", name(lock), call.name()),
        (Sysno::futex, None) => "waiting for a lock",
        (Sysno::nanosleep | Sysno::clock_nanosleep, _) => "sleeping",
        (Sysno::wait4 | Sysno::waitid, _) => "waiting for a process",
        (Sysno::fsync | Sysno::fdatasync | Sysno::msync | Sysno::sync_file_range, _)
        // They wait for the file system's journal.
        | (Sysno::ftruncate | Sysno::fallocate, _) => "writing to disk",
        (Sysno::flock, _) => "waiting for a file lock",
        (Sysno::accept | Sysno::accept4, _) => "waiting for a connection",
        (Sysno::connect, _) => "connecting",
        (Sysno::poll | Sysno::ppoll | Sysno::select | Sysno::pselect6, _)
        | (Sysno::epoll_wait | Sysno::epoll_pwait | Sysno::epoll_pwait2, _) => "waiting for an event",
        (Sysno::recvfrom | Sysno::recvmsg, _) => "waiting for data",
        (Sysno::sendto | Sysno::sendmsg, _) => "waiting to send",
        (Sysno::read | Sysno::readv | Sysno::pread64 | Sysno::preadv, Some(WaitedOn::Socket | WaitedOn::Pipe)) => {
            "waiting for data"
        }
        (Sysno::read | Sysno::readv | Sysno::pread64 | Sysno::preadv, Some(WaitedOn::Terminal)) => "waiting for input",
        (Sysno::read | Sysno::readv | Sysno::pread64 | Sysno::preadv, Some(WaitedOn::File)) => "reading a file",
        (Sysno::write | Sysno::writev | Sysno::pwrite64 | Sysno::pwritev, Some(WaitedOn::Socket | WaitedOn::Pipe)) => {
            "waiting to send"
        }
        (Sysno::write | Sysno::writev | Sysno::pwrite64 | Sysno::pwritev, Some(WaitedOn::File)) => "writing a file",
        _ => return in_words(state),
    };
    let on = on.map_or(String::new(), |on| format!(" on a {}", name(on)));
    format!("{what} ({}{on})", call.name())
}

const fn name(on: WaitedOn) -> &'static str {
    match on {
        WaitedOn::Socket => "socket",
        WaitedOn::Pipe => "pipe",
        WaitedOn::File => "file",
        WaitedOn::Terminal => "terminal",
        WaitedOn::Device => "device",
        WaitedOn::Lock => "threading.Lock",
        WaitedOn::RLock => "threading.RLock",
        WaitedOn::SimpleQueue => "queue.SimpleQueue",
    }
}

/// The state itself: `running`, `in poll(2) on a socket`.
pub fn in_words(state: State) -> String {
    match state {
        State::Running => "running".to_owned(),
        State::InGc => "in gc".to_owned(),
        State::WaitingForGil => "waiting for GIL".to_owned(),
        State::WaitingForCpu => "waiting for CPU".to_owned(),
        State::Asleep => "asleep".to_owned(),
        State::InSystemCall(number, on) => {
            let call = Sysno::new(number as usize);
            let call = call.map_or_else(|| format!("in system call {number}"), |call| format!("in {}(2)", call.name()));
            call + &on.map_or(String::new(), |on| format!(" on a {}", name(on)))
        }
        State::Other(stored) => format!("in state {stored} (of a newer genba)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_states_have_words() {
        let words = |stored| in_words(State::from_stored(stored));
        assert_eq!(words(0), "running");
        assert_eq!(words(2), "waiting for GIL");
        assert_eq!(words(7), "in state 7 (of a newer genba)");
        assert_eq!(words(16), "in read(2)");
        assert_eq!(words(16 + 7), "in poll(2)");
        assert_eq!(words(16 + 202), "in futex(2)");
        assert_eq!(words(16 + 99_999), "in system call 99999");
        assert_eq!(words(16 + 0x4000_0000 + 45), "in system call 1073741869");
    }

    #[test]
    fn a_wait_says_what_it_is_for() {
        let words = |stored| wait_in_words(State::from_stored(stored));
        assert_eq!(words(16 + 202), "waiting for a lock (futex)");
        assert_eq!(words(16 + 202 + 6 * 4096), "waiting for a threading.Lock (futex)");
        assert_eq!(words(16 + 202 + 7 * 4096), "waiting for a threading.RLock (futex)");
        assert_eq!(words(16 + 202 + 8 * 4096), "waiting for a queue.SimpleQueue (futex)");
        assert_eq!(words(16 + 202 + 9 * 4096), "waiting for a lock (futex)", "a kind of a newer genba");
        assert_eq!(words(16 + 230), "sleeping (clock_nanosleep)");
        assert_eq!(words(16 + 45 + 4096), "waiting for data (recvfrom on a socket)");
        assert_eq!(words(16 + 75 + 3 * 4096), "writing to disk (fdatasync on a file)");
        assert_eq!(words(16 + 77 + 3 * 4096), "writing to disk (ftruncate on a file)");
        assert_eq!(words(16 + 2 * 4096), "waiting for data (read on a pipe)");
        assert_eq!(words(16 + 3 * 4096), "reading a file (read on a file)");
        assert_eq!(words(16 + 1), "in write(2)", "on nobody knows what");
        assert_eq!(words(16 + 16 + 5 * 4096), "in ioctl(2) on a device");
        assert_eq!(words(16 + 99_999), "in system call 99999");
        assert_eq!(words(4), "asleep");
    }

    #[test]
    fn what_is_waited_on_stands_behind_the_call() {
        let words = |stored| in_words(State::from_stored(stored));
        assert_eq!(words(16 + 7 + 4096), "in poll(2) on a socket");
        assert_eq!(words(16 + 2 * 4096), "in read(2) on a pipe");
        assert_eq!(words(16 + 73 + 3 * 4096), "in flock(2) on a file");
        assert_eq!(words(16 + 4 * 4096), "in read(2) on a terminal");
        assert_eq!(words(16 + 16 + 5 * 4096), "in ioctl(2) on a device");
        assert_eq!(words(16 + 202 + 6 * 4096), "in futex(2) on a threading.Lock");
        assert_eq!(words(16 + 202 + 7 * 4096), "in futex(2) on a threading.RLock");
        assert_eq!(words(16 + 202 + 8 * 4096), "in futex(2) on a queue.SimpleQueue");
        assert_eq!(words(16 + 15 * 4096), "in read(2)", "a kind of a newer genba");
        assert_eq!(words(16 + 4095 + 4096), "in system call 4095 on a socket");
    }
}
