//! What a look ends as when it is no sample.
//! Owns: the reasons and their words in a recording. Never: counts.

/// What a look ended as, when not as a sample.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Dropped {
    Late,
    /// The whole process was stopped.
    Stopped,
    NoBuffer,
    Fork,
    /// For a system call that demands a single thread.
    Aside,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Refused {
    Moved,
    Masked,
    Asleep,
    Unanswered,
    Ended,
    SignalTaken,
    /// Its build does not bear signals on a thread's own stack, and it has no other one yet.
    NoSignalStack,
    Ambiguous,
    Unreadable,
    Exited,
}

impl Dropped {
    /// As it is written, and shown.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Dropped::Late => "late",
            Dropped::Stopped => "stopped",
            Dropped::NoBuffer => "no buffer",
            Dropped::Fork => "fork",
            Dropped::Aside => "aside",
        }
    }
}

impl Refused {
    /// As it is written, and shown.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Refused::Moved => "moved",
            Refused::Masked => "masked",
            Refused::Asleep => "fell asleep",
            Refused::Unanswered => "unanswered",
            Refused::Ended => "thread ended",
            Refused::SignalTaken => "signal taken",
            Refused::NoSignalStack => "no signal stack",
            Refused::Ambiguous => "ambiguous",
            Refused::Unreadable => "unreadable",
            Refused::Exited => "exited",
        }
    }
}
