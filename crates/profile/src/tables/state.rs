//! What a thread was doing at a tick: the states of genba.proto as an enum, and their words.
//! Owns: the names of the states, of x86-64 system calls and of what they wait on. Never: decides what a state weighs.

use std::fmt;

use syscalls::x86_64::Sysno;

/// Column `state` of `Samples` in genba.proto.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum State {
    Running,
    InGc,
    WaitingForGil,
    WaitingForCpu,
    /// In no system call that is known.
    Asleep,
    InSystemCall(u32, Option<WaitedOn>),
    /// A state that a newer genba wrote.
    Other(u32),
}

/// What a system call waits on: what its descriptor is, or which of CPython's locks its futex belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WaitedOn {
    Socket,
    Pipe,
    File,
    Terminal,
    Device,
    Lock,
    RLock,
    SimpleQueue,
}

/// `16 + system call`, and as often this as the number of the kind, of which there is room for so many.
const STATES_PER_KIND: u32 = 4096;
const KINDS_MAX: u32 = 16;

impl State {
    pub fn from_stored(stored: u32) -> State {
        match stored {
            0 => State::Running,
            1 => State::InGc,
            2 => State::WaitingForGil,
            3 => State::WaitingForCpu,
            4 => State::Asleep,
            5..16 => State::Other(stored),
            _ => State::in_system_call(stored - 16),
        }
    }

    fn in_system_call(stored: u32) -> State {
        let on = match stored / STATES_PER_KIND {
            1 => Some(WaitedOn::Socket),
            2 => Some(WaitedOn::Pipe),
            3 => Some(WaitedOn::File),
            4 => Some(WaitedOn::Terminal),
            5 => Some(WaitedOn::Device),
            6 => Some(WaitedOn::Lock),
            7 => Some(WaitedOn::RLock),
            8 => Some(WaitedOn::SimpleQueue),
            // No call has such a number; those of the x32 interface are far above.
            KINDS_MAX.. => return State::InSystemCall(stored, None),
            // None, or one of a newer genba.
            _ => None,
        };
        State::InSystemCall(stored % STATES_PER_KIND, on)
    }

    /// The thread's CPU clock moved.
    pub fn is_running(self) -> bool {
        matches!(self, State::Running | State::InGc)
    }

    /// For something outside of the interpreter: a file, a socket, a lock, a clock.
    pub fn is_waiting(self) -> bool {
        matches!(self, State::Asleep | State::InSystemCall(..))
    }

    /// What a thread waits for, if its call tells: `waiting for a lock (futex)`; else the state as it is displayed.
    pub fn wait_in_words(self) -> String {
        let State::InSystemCall(number, on) = self else { return self.to_string() };
        let Some(call) = Sysno::new(number as usize) else { return self.to_string() };
        let what = match (call, on) {
            // The lock says what is waited for.
            (Sysno::futex, Some(lock)) => return format!("waiting for a {} ({})", lock.name(), call.name()),
            (Sysno::futex, None) => "waiting for a lock",
            (Sysno::nanosleep | Sysno::clock_nanosleep, _) => "sleeping",
            (Sysno::wait4 | Sysno::waitid, _) => "waiting for a process",
            (Sysno::fsync | Sysno::fdatasync | Sysno::msync | Sysno::sync_file_range, _) => "writing to disk",
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
            (Sysno::read | Sysno::readv | Sysno::pread64 | Sysno::preadv, Some(WaitedOn::Terminal)) => {
                "waiting for input"
            }
            (Sysno::read | Sysno::readv | Sysno::pread64 | Sysno::preadv, Some(WaitedOn::File)) => "reading a file",
            (
                Sysno::write | Sysno::writev | Sysno::pwrite64 | Sysno::pwritev,
                Some(WaitedOn::Socket | WaitedOn::Pipe),
            ) => "waiting to send",
            (Sysno::write | Sysno::writev | Sysno::pwrite64 | Sysno::pwritev, Some(WaitedOn::File)) => "writing a file",
            _ => return self.to_string(),
        };
        let on = on.map_or(String::new(), |on| format!(" on a {}", on.name()));
        format!("{what} ({}{on})", call.name())
    }

    /// The thread had work to do, whether or not it was given a CPU or the GIL.
    pub fn wants_cpu(self) -> bool {
        self.is_running() || matches!(self, State::WaitingForCpu | State::WaitingForGil)
    }
}

impl WaitedOn {
    const fn name(self) -> &'static str {
        match self {
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
}

impl fmt::Display for State {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            State::Running => text.write_str("running"),
            State::InGc => text.write_str("in gc"),
            State::WaitingForGil => text.write_str("waiting for GIL"),
            State::WaitingForCpu => text.write_str("waiting for CPU"),
            State::Asleep => text.write_str("asleep"),
            State::InSystemCall(number, on) => {
                match Sysno::new(*number as usize) {
                    Some(call) => write!(text, "in {}(2)", call.name())?,
                    None => write!(text, "in system call {number}")?,
                }
                on.map_or(Ok(()), |on| write!(text, " on a {}", on.name()))
            }
            State::Other(stored) => write!(text, "in state {stored} (of a newer genba)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_states_have_words() {
        let words = |stored| State::from_stored(stored).to_string();
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
        let words = |stored| State::from_stored(stored).wait_in_words();
        assert_eq!(words(16 + 202), "waiting for a lock (futex)");
        assert_eq!(words(16 + 202 + 6 * 4096), "waiting for a threading.Lock (futex)");
        assert_eq!(words(16 + 202 + 7 * 4096), "waiting for a threading.RLock (futex)");
        assert_eq!(words(16 + 202 + 8 * 4096), "waiting for a queue.SimpleQueue (futex)");
        assert_eq!(words(16 + 202 + 9 * 4096), "waiting for a lock (futex)", "a kind of a newer genba");
        assert_eq!(words(16 + 230), "sleeping (clock_nanosleep)");
        assert_eq!(words(16 + 45 + 4096), "waiting for data (recvfrom on a socket)");
        assert_eq!(words(16 + 75 + 3 * 4096), "writing to disk (fdatasync on a file)");
        assert_eq!(words(16 + 2 * 4096), "waiting for data (read on a pipe)");
        assert_eq!(words(16 + 3 * 4096), "reading a file (read on a file)");
        assert_eq!(words(16 + 1), "in write(2)", "on nobody knows what");
        assert_eq!(words(16 + 16 + 5 * 4096), "in ioctl(2) on a device");
        assert_eq!(words(16 + 99_999), "in system call 99999");
        assert_eq!(words(4), "asleep");
    }

    #[test]
    fn what_is_waited_on_stands_behind_the_call() {
        let words = |stored| State::from_stored(stored).to_string();
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
