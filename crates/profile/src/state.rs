//! What a thread was doing when it was looked at: the states of genba.proto as an enum, and their words.
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

/// What the descriptor of a system call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WaitedOn {
    Socket,
    Pipe,
    File,
    Terminal,
    Device,
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
    fn what_is_waited_on_stands_behind_the_call() {
        let words = |stored| State::from_stored(stored).to_string();
        assert_eq!(words(16 + 7 + 4096), "in poll(2) on a socket");
        assert_eq!(words(16 + 2 * 4096), "in read(2) on a pipe");
        assert_eq!(words(16 + 73 + 3 * 4096), "in flock(2) on a file");
        assert_eq!(words(16 + 4 * 4096), "in read(2) on a terminal");
        assert_eq!(words(16 + 16 + 5 * 4096), "in ioctl(2) on a device");
        assert_eq!(words(16 + 6 * 4096), "in read(2)", "a kind of a newer genba");
        assert_eq!(words(16 + 4095 + 4096), "in system call 4095 on a socket");
    }
}
