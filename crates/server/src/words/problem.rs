//! Why a request, or a chore of the server, ended without doing what was asked.
//! Owns: the status codes and their usual words. Never: tells a stranger what only the server's log may hold.

use std::fmt;

use genba_text::harmless;

/// Insufficient Storage.
const FULL: u16 = 507;
const SERVER_FAILED: &str = "the server failed: ";

/// One line on stderr, which is a terminal or a journal.
pub fn log(line: &str) {
    eprintln!("{}", harmless(line));
}

/// A reason may hold words of a recording: they neither steer a terminal nor begin a line.
fn failure(what: &str, reason: &dyn fmt::Display) -> String {
    harmless(&format!("error: {what}: {reason}"))
}

/// An answer of `application/problem+json`, and a failure of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub status: u16,
    pub title: String,
    pub detail: Option<String>,
    pub hint: Option<String>,
    /// Seconds, for `Retry-After`.
    pub retry_after_s: Option<u32>,
    /// Where an upload stands, for `Upload-Offset`.
    pub upload_offset: Option<u64>,
    /// Of a recording: refused, more than this server reads, or proved lost or damaged. It is so tomorrow, too.
    pub is_lasting: bool,
}

impl Problem {
    pub fn new(status: u16, title: impl Into<String>) -> Problem {
        let title = title.into();
        Problem { status, title, detail: None, hint: None, retry_after_s: None, upload_offset: None, is_lasting: false }
    }

    pub fn lasting(mut self) -> Problem {
        self.is_lasting = true;
        self
    }

    pub fn detail(mut self, detail: impl Into<String>) -> Problem {
        self.detail = Some(detail.into());
        self
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Problem {
        self.hint = Some(hint.into());
        self
    }

    pub fn bad_request(title: impl Into<String>) -> Problem {
        Problem::new(400, title)
    }

    pub fn not_found(what: &str) -> Problem {
        Problem::new(404, format!("there is no such {what}"))
    }

    pub fn forbidden(title: impl Into<String>) -> Problem {
        Problem::new(403, title)
    }

    pub fn conflict(title: impl Into<String>) -> Problem {
        Problem::new(409, title)
    }

    pub fn unauthorized() -> Problem {
        Problem::new(401, "a token is needed").hint("send `Authorization: Bearer TOKEN`, or log in at /login")
    }

    /// The server's own fault. The reason goes to its log and not to the reader.
    pub fn internal(what: &str, reason: &dyn fmt::Display) -> Problem {
        log(&failure(what, reason));
        Problem::new(500, format!("{SERVER_FAILED}{what}")).detail("the server's log has the reason")
    }

    pub fn disk_full() -> Problem {
        Problem::new(FULL, "the server has no room left on its disk")
            .detail("nothing of this upload's last part was kept; what was acknowledged before is safe")
            .hint("make room there, such as by `genba serve prune --older 30d`, and push again: the upload goes on")
    }

    /// The same problem for somebody who ran a command: there is no log of a server, and nobody uploads anything.
    pub fn for_command(self) -> Problem {
        if self.status == FULL {
            let problem = Problem::new(FULL, "no room is left where this command writes");
            return problem.hint("make room there, and run it again");
        }
        let what = self.title.strip_prefix(SERVER_FAILED).map(|what| format!("the command failed: {what}"));
        match what {
            Some(title) => Problem { title, detail: Some("the error above has the reason".to_owned()), ..self },
            None => self,
        }
    }

    /// Of what is noted beside a read: a full disk keeps nobody from reading.
    pub fn unless_full(noted: Result<(), Problem>) -> Result<(), Problem> {
        match noted {
            Err(problem) if problem.status == FULL => Ok(()),
            noted => noted,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, words: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(words, "{}", self.title)?;
        self.detail.iter().try_for_each(|detail| write!(words, ": {detail}"))
    }
}

impl std::error::Error for Problem {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_sends_nobody_to_the_log_of_a_server() {
        let problem = Problem::internal("a statement of the database", &"no such table").for_command();
        let words = "the command failed: a statement of the database: the error above has the reason";
        assert_eq!(problem.to_string(), words);
        let full = Problem::disk_full().for_command();
        assert_eq!((full.status, full.to_string()), (FULL, "no room is left where this command writes".to_owned()));
        let other = Problem::conflict("the database is not empty").hint("take another one");
        assert_eq!(other.clone().for_command(), other);
    }

    #[test]
    fn words_of_a_recording_are_only_words_in_the_log() {
        let words = "panicked at \u{1b}[2J\nerror: nothing was wrong \u{202e}";
        let line = "error: reading the recording: panicked at \u{fffd}[2J\u{fffd}error: nothing was wrong \u{fffd}";
        assert_eq!(failure("reading the recording", &words), line);
    }

    #[test]
    fn only_a_full_disk_is_no_reason() {
        assert_eq!(Problem::unless_full(Err(Problem::disk_full())), Ok(()));
        assert_eq!(Problem::unless_full(Ok(())), Ok(()));
        let busy = Problem::new(503, "the database is busy");
        assert_eq!(Problem::unless_full(Err(busy.clone())), Err(busy));
    }
}
