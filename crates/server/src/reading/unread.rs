//! Why there is no answer.
//! Owns: the reasons, and their words where the server's limits are the reason. Never: makes an HTTP answer of one; routes do.

use std::fmt;
use std::time::Duration;

use genba_profile::figures;

use crate::words::problem::Problem;

/// What was refused, and what the reader can do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub title: String,
    pub detail: Option<String>,
    pub hint: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unread {
    /// It is no recording, it is damaged from its first byte on, or there is no such answer about it. Asked again, the answer is the same.
    Refused(Refusal),
    /// The recording has no such part, as a process of that number. Asked again, the answer is the same.
    Absent { words: String },
    /// Reading it takes more memory than this server gives, or its answer is larger than this server sends.
    TooLarge { words: String },
    /// Reading it takes longer than this server waits.
    TooLong { words: String },
    /// As many readers as this server allows are waiting already.
    Busy,
    /// Its bytes could not be had from where they are stored.
    NotFetched(Problem),
    /// The process that read it ended without an answer: how.
    Broken { words: String },
}

impl Refusal {
    pub(super) fn new(title: impl Into<String>) -> Refusal {
        Refusal { title: title.into(), detail: None, hint: None }
    }

    pub(super) fn detail(self, words: impl Into<String>) -> Refusal {
        Refusal { detail: Some(words.into()), ..self }
    }

    pub(super) fn hint(self, words: impl Into<String>) -> Refusal {
        Refusal { hint: Some(words.into()), ..self }
    }
}

impl Unread {
    pub(super) fn too_much_memory(memory_bytes: u64) -> Unread {
        let most = figures::size(memory_bytes);
        Unread::TooLarge { words: format!("reading it takes more than {most} of memory, which is this server's limit") }
    }

    pub(super) fn too_large_answer(answer_bytes_max: u64) -> Unread {
        let most = figures::size(answer_bytes_max);
        Unread::TooLarge { words: format!("the answer is larger than {most}, which is this server's limit") }
    }

    pub(super) fn too_much_cpu(cpu_s: u64) -> Unread {
        let most = figures::setting(cpu_s.saturating_mul(1_000_000_000));
        Unread::TooLong { words: format!("reading it takes more than {most} of CPU, which is this server's limit") }
    }

    pub(super) fn too_long(wall: Duration) -> Unread {
        let most = figures::setting(u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX));
        Unread::TooLong { words: format!("reading it takes longer than {most}, which is this server's limit") }
    }

    pub(super) fn broken(words: impl Into<String>) -> Unread {
        Unread::Broken { words: words.into() }
    }

    /// The same question about the same recording ends in the same way.
    pub(super) fn is_lasting(&self) -> bool {
        match self {
            Unread::Refused(_) | Unread::Absent { .. } | Unread::TooLarge { .. } => true,
            // A machine that is busy now is idle later.
            Unread::TooLong { .. } | Unread::Busy | Unread::NotFetched(_) | Unread::Broken { .. } => false,
        }
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unread::Refused(Refusal { title, detail: Some(detail), .. }) => write!(text, "{title}: {detail}"),
            Unread::Refused(Refusal { title, detail: None, .. }) => text.write_str(title),
            Unread::Absent { words }
            | Unread::TooLarge { words }
            | Unread::TooLong { words }
            | Unread::Broken { words } => text.write_str(words),
            Unread::NotFetched(problem) => write!(text, "{problem}"),
            Unread::Busy => text.write_str("too many recordings are being read at this moment"),
        }
    }
}

impl std::error::Error for Unread {}
