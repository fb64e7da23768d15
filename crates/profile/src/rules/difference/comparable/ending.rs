//! How a recording ended.
//! Owns: which ends can be those of equal work, and their words. Never: compares two sides.

use std::collections::BTreeSet;

use crate::tables::profile::{Profile, Recorder};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    ExitCode(i32),
    /// The program ended, and `genba attach` had come to it: its recording lacks what the program did before.
    Attached,
    Signal(i32),
    /// The program went on.
    Recorded,
    /// The program itself ended its recording: what it recorded is a piece of work.
    Part,
    /// No process wrote its end.
    Cut,
}

impl End {
    /// Ends of one kind can be those of equal work: exit codes tell too little about that.
    #[must_use]
    pub const fn kind(self) -> u8 {
        match self {
            End::ExitCode(_) => 0,
            End::Signal(_) => 1,
            End::Recorded => 2,
            End::Cut => 3,
            End::Part => 4,
            End::Attached => 5,
        }
    }

    /// Before the program's work was done: what it waits, it does not do in its recording.
    #[must_use]
    pub const fn is_early(self) -> bool {
        matches!(self, End::Recorded | End::Signal(_) | End::Cut)
    }

    /// The recording is not as long as the program's work: its end or its beginning is missing.
    #[must_use]
    pub const fn is_open(self) -> bool {
        self.is_early() || matches!(self, End::Attached)
    }

    #[must_use]
    pub fn words(self) -> String {
        match self {
            End::ExitCode(code) => format!("ended with exit code {code}"),
            End::Attached => "ended while genba was attached to it".to_owned(),
            End::Signal(signal) => format!("was ended by signal {signal}"),
            End::Part => "recorded a part of itself".to_owned(),
            End::Recorded => "went on when its recording ended".to_owned(),
            End::Cut => "was killed, or still runs".to_owned(),
        }
    }
}

/// Of the process that was started first.
#[must_use]
pub fn end_of(profile: &Profile) -> Option<End> {
    let first = profile.processes.iter().next()?;
    if first.imported.is_some() {
        return None;
    }
    let recorder = profile.recorder.as_ref();
    match first.ended.as_deref() {
        Some("duration" | "detached") => return Some(End::Recorded),
        Some("stop") if !recorder.is_some_and(has_attached) => return Some(End::Part),
        // The end of a program that genba is attached to is a stop from within, too.
        Some("exit" | "last thread" | "stop") | None => {}
        // The disk was full, or another reason of a newer genba.
        Some(_) => return Some(End::Cut),
    }
    let Some(recorder) = recorder else {
        // A recording that the program began itself has no recorder.
        return Some(if first.ended.is_some() { End::ExitCode(0) } else { End::Cut });
    };
    Some(match (recorder.exit_code, recorder.exit_signal) {
        (_, Some(signal)) => End::Signal(signal),
        (Some(code), None) => End::ExitCode(code),
        (None, None) => End::Attached,
    })
}

/// `genba run` waits for its program, and knows how it ended.
const fn has_attached(recorder: &Recorder) -> bool {
    recorder.exit_code.is_none() && recorder.exit_signal.is_none()
}

#[must_use]
pub fn ends_in_words(ends: &BTreeSet<End>) -> String {
    ends.iter().map(|end| end.words()).collect::<Vec<_>>().join(" or ")
}
