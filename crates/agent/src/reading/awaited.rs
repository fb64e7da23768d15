//! The kinds of things that a thread waits for in a system call.
//! Owns: their numbers, and their place in a sample's state. Never: finds out which one it is.

use genba_python::locks::Lock;

/// genba.proto, Samples.state: a kind takes this much, more than there are system calls.
pub const STATES_PER_KIND: u32 = 4096;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Socket = 1,
    Pipe = 2,
    File = 3,
    Terminal = 4,
    Device = 5,
    /// These three: of CPython.
    Lock = 6,
    RLock = 7,
    SimpleQueue = 8,
}

impl From<Lock> for Kind {
    fn from(lock: Lock) -> Kind {
        match lock {
            Lock::Plain => Kind::Lock,
            Lock::RLock => Kind::RLock,
            Lock::SimpleQueue => Kind::SimpleQueue,
        }
    }
}

impl Kind {
    /// What is added to the state of its system call.
    #[must_use]
    pub const fn in_state(self) -> u32 {
        self as u32 * STATES_PER_KIND
    }
}
