//! What a thread was doing at a tick, as the column `state` of `Samples` has it.
//! Owns: the numbers of the states, both ways, and which of them are the thread's own work. Never: words for a reader.

/// Column `state` of `Samples` in genba.proto.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum State {
    Running,
    InGc,
    WaitingForGil,
    WaitingForCpu,
    /// In no system call that is known.
    Asleep,
    /// Its number on x86-64, and what it waits on, where that is known.
    InSystemCall(u32, Option<WaitedOn>),
    /// A state that a newer genba wrote.
    Other(u32),
}

/// What a system call waits on: what its descriptor is, or which of CPython's locks its futex belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WaitedOn {
    Socket = 1,
    Pipe = 2,
    File = 3,
    Terminal = 4,
    Device = 5,
    Lock = 6,
    RLock = 7,
    SimpleQueue = 8,
}

const KINDS: [WaitedOn; 8] = [
    WaitedOn::Socket,
    WaitedOn::Pipe,
    WaitedOn::File,
    WaitedOn::Terminal,
    WaitedOn::Device,
    WaitedOn::Lock,
    WaitedOn::RLock,
    WaitedOn::SimpleQueue,
];

/// Smallest state of a sample whose thread did not run.
pub(crate) const WAITING_MIN: u64 = 2;
/// The state of system call 0 on nothing that is known.
const IN_SYSTEM_CALL: u32 = 16;
/// A kind takes this much, more than there are system calls.
pub const STATES_PER_KIND: u32 = 4096;
const KINDS_MAX: u32 = 16;

impl State {
    pub const fn from_stored(stored: u32) -> State {
        match stored {
            0 => State::Running,
            1 => State::InGc,
            2 => State::WaitingForGil,
            3 => State::WaitingForCpu,
            4 => State::Asleep,
            5..IN_SYSTEM_CALL => State::Other(stored),
            _ => State::in_system_call(stored - IN_SYSTEM_CALL),
        }
    }

    const fn in_system_call(stored: u32) -> State {
        let kind = stored / STATES_PER_KIND;
        if kind >= KINDS_MAX {
            // No call has such a number; those of the x32 interface are far above.
            return State::InSystemCall(stored, None);
        }
        // 0: none. Beyond the known ones: of a newer genba.
        let on = if kind == 0 || kind as usize > KINDS.len() { None } else { Some(KINDS[kind as usize - 1]) };
        State::InSystemCall(stored % STATES_PER_KIND, on)
    }

    /// The number that stands for it.
    #[must_use]
    pub const fn stored(self) -> u32 {
        match self {
            State::Running => 0,
            State::InGc => 1,
            State::WaitingForGil => 2,
            State::WaitingForCpu => 3,
            State::Asleep => 4,
            State::InSystemCall(number, None) => IN_SYSTEM_CALL + number,
            State::InSystemCall(number, Some(on)) => IN_SYSTEM_CALL + number + on as u32 * STATES_PER_KIND,
            State::Other(stored) => stored,
        }
    }

    /// The thread's CPU clock moved.
    #[must_use]
    pub const fn is_running(self) -> bool {
        matches!(self, State::Running | State::InGc)
    }

    /// For something outside of the interpreter: a file, a socket, a lock, a clock.
    #[must_use]
    pub const fn is_waiting(self) -> bool {
        matches!(self, State::Asleep | State::InSystemCall(..))
    }

    /// The thread had work to do, whether or not it was given a CPU or the GIL.
    #[must_use]
    pub const fn wants_cpu(self) -> bool {
        self.is_running() || matches!(self, State::WaitingForCpu | State::WaitingForGil)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_read_as_it_was_stored() {
        let calls = [0, 7, 202, STATES_PER_KIND - 1];
        let mut states = vec![
            State::Running,
            State::InGc,
            State::WaitingForGil,
            State::WaitingForCpu,
            State::Asleep,
            State::Other(9),
            State::InSystemCall(0x4000_0000 + 45, None),
        ];
        for number in calls {
            states.push(State::InSystemCall(number, None));
            states.extend(KINDS.map(|on| State::InSystemCall(number, Some(on))));
        }
        for state in states {
            assert_eq!(State::from_stored(state.stored()), state);
        }
    }

    #[test]
    fn the_numbers_are_those_of_the_format() {
        assert_eq!(State::InSystemCall(7, None).stored(), 23);
        assert_eq!(State::InSystemCall(0, Some(WaitedOn::Socket)).stored(), 16 + 4096);
        assert_eq!(State::InSystemCall(202, Some(WaitedOn::SimpleQueue)).stored(), 16 + 202 + 8 * 4096);
        assert_eq!(State::from_stored(16 + 202 + 9 * 4096), State::InSystemCall(202, None), "a kind of a newer genba");
        for stored in 0..WAITING_MIN as u32 {
            assert!(State::from_stored(stored).is_running());
        }
        assert!(!State::from_stored(WAITING_MIN as u32).is_running());
    }
}
