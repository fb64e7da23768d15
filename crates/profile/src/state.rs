//! What a thread was doing when it was looked at: the states of genba.proto as an enum, and their words.
//! Owns: the names of the states and of x86-64 system calls. Never: decides what a state weighs.

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
    InSystemCall(u32),
    /// A state that a newer genba wrote.
    Other(u32),
}

impl State {
    pub fn from_stored(stored: u32) -> State {
        match stored {
            0 => State::Running,
            1 => State::InGc,
            2 => State::WaitingForGil,
            3 => State::WaitingForCpu,
            4 => State::Asleep,
            5..16 => State::Other(stored),
            _ => State::InSystemCall(stored - 16),
        }
    }

    /// The thread's CPU clock moved.
    pub fn is_running(self) -> bool {
        matches!(self, State::Running | State::InGc)
    }

    /// For something outside of the interpreter: a file, a socket, a lock, a clock.
    pub fn is_waiting(self) -> bool {
        matches!(self, State::Asleep | State::InSystemCall(_))
    }

    /// The thread had work to do, whether or not it was given a CPU or the GIL.
    pub fn wants_cpu(self) -> bool {
        self.is_running() || matches!(self, State::WaitingForCpu | State::WaitingForGil)
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
            State::InSystemCall(number) => match Sysno::new(*number as usize) {
                Some(call) => write!(text, "in {}(2)", call.name()),
                None => write!(text, "in system call {number}"),
            },
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
    }
}
