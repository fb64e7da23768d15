//! The upload of one content: created, sent piece by piece, sealed; resumed where a connection broke or an earlier push stopped.
//! Owns: the steps, and what follows each failure. Never: waits on its own (`pause` does), reads a byte beyond the content.
//!
//! | step | what it does | then |
//! |---|---|---|
//! | Create | a new recording on the server, remembered | Send |
//! | Ask | how many bytes does the server have? | Send, Verify when all of them are sealed, Create when it is gone or has more than there is |
//! | Send | the next piece | Send, Seal after the last one, Verify when the server takes no more |
//! | Seal | bytes and hash; the server reads the recording | Done, Create when an older upload had other bytes |
//! | Verify | is it the sealed recording? | Done, Create |
//!
//! A failure that may pass leads, after a wait, to Ask, or to Create while there is no recording.

use std::time::{Duration, Instant};

use genba_profile::figures;

use super::client::{Client, Limits, New, Sent};
use super::content::Content;
use super::progress::Progress;
use super::refusal::{Answer, Refusal};
use super::remembered::Remembered;
use super::waits::Waits;

pub struct Sending<'a> {
    pub client: &'a Client,
    pub new: &'a New,
    pub content: &'a Content,
    pub remembered: &'a Remembered,
    pub progress: &'a Progress,
    /// The recording on the server, if an earlier push or this run has begun it.
    pub begun: Option<String>,
    /// The server has answered before: a refused connection is a pause of its, and no mistake in the address.
    pub is_known: bool,
    /// Waits so long. False: the upload is to end.
    pub pause: &'a dyn Fn(Duration) -> bool,
    pub waits: fn() -> Waits,
}

/// A recording that is complete on the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pushed {
    pub id: String,
    /// An earlier recording of the same upload, which somebody sealed before the upload's end.
    pub sealed_early: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Create,
    Ask,
    Send(u64),
    Seal,
    Verify,
    Done,
}

/// Where an upload is.
struct Course {
    step: Step,
    id: Option<String>,
    /// Begun by an earlier push.
    is_resumed: bool,
    /// It was begun anew once: not again.
    has_begun_anew: bool,
    sealed_early: Option<String>,
    pieces: Pieces,
    waits: Waits,
}

impl Sending<'_> {
    pub fn run(&self) -> Result<Pushed, Refusal> {
        let mut waits = (self.waits)();
        self.progress.set_whole(self.content.bytes);
        let limits = self.first_contact(&mut waits)?;
        if limits.recording_bytes_max.is_some_and(|bytes_max| self.content.bytes > bytes_max) {
            let bytes_max = limits.recording_bytes_max.unwrap_or(0);
            let (has, takes) = (figures::size(self.content.bytes), figures::size(bytes_max));
            let detail = Some(format!("it has {has}, the server takes {takes}"));
            return Err(Refusal::Answered(Answer { status: 413, detail, ..Answer::default() }));
        }
        let id = self.begun.clone();
        let mut course = Course {
            step: if id.is_some() { Step::Ask } else { Step::Create },
            is_resumed: id.is_some(),
            id,
            has_begun_anew: false,
            sealed_early: None,
            pieces: Pieces::new(limits),
            waits,
        };
        while course.step != Step::Done {
            course.step = match self.perform(&mut course) {
                Ok(next) => next,
                Err(refusal) => self.after(refusal, &mut course)?,
            };
        }
        self.remembered.forget();
        let sealed_early = course.sealed_early;
        course.id.map(|id| Pushed { id, sealed_early }).ok_or(Refusal::Stopped)
    }

    fn first_contact(&self, waits: &mut Waits) -> Result<Limits, Refusal> {
        loop {
            let refusal = match self.client.limits() {
                Ok(limits) => return Ok(limits),
                Err(refusal) => refusal,
            };
            let is_nobody = matches!(refusal, Refusal::NobodyListens | Refusal::NoName | Refusal::Unreachable(_));
            if !refusal.is_passing() || (is_nobody && !self.is_known) {
                return Err(refusal);
            }
            self.wait(refusal, waits, true)?;
        }
    }

    fn perform(&self, course: &mut Course) -> Result<Step, Refusal> {
        let whole = self.content.bytes;
        let Some(id) = course.id.clone().filter(|_| course.step != Step::Create) else {
            let id = self.client.create(self.new)?;
            self.remembered.store(&id);
            course.id = Some(id);
            return Ok(self.step_at(0));
        };
        match course.step {
            Step::Ask => {
                let kept = self.client.kept(&id)?;
                Ok(match kept.bytes {
                    // A server that sealed a quiet upload by itself takes the rest.
                    bytes if kept.is_sealed && bytes >= whole => Step::Verify,
                    bytes if bytes > whole => self.anew(course, Some(&id)),
                    bytes => self.step_at(bytes),
                })
            }
            Step::Send(at) => {
                let piece =
                    self.content.piece(at, course.pieces.bytes).map_err(|error| Refusal::File(error.to_string()))?;
                let begun = Instant::now();
                match self.client.send(&id, at, piece)? {
                    Sent::Kept(bytes) => {
                        course.waits.begin_again();
                        course.pieces.took(begun.elapsed());
                        Ok(self.step_at(bytes))
                    }
                    Sent::EndsAt(bytes) if bytes > whole => Ok(self.anew(course, Some(&id))),
                    Sent::EndsAt(bytes) => {
                        if bytes == at && self.client.kept(&id)?.is_sealed {
                            return Ok(Step::Verify);
                        }
                        // Another push sends the same; or the server lost a piece, and must not go on doing so.
                        if bytes <= at {
                            let lost = Refusal::Broken("the server lost what it had".to_owned());
                            self.wait(lost, &mut course.waits, false)?;
                        }
                        Ok(self.step_at(bytes))
                    }
                }
            }
            Step::Seal => {
                self.client.seal(&id, whole, &self.content.sha256)?;
                Ok(Step::Done)
            }
            Step::Verify => Ok(match self.client.sha256(&id)? {
                Some(sha256) if sha256 == self.content.sha256 => Step::Done,
                None if self.client.kept(&id)?.bytes == whole => Step::Done,
                // Begun anew, and sealed early once more.
                _ if course.sealed_early.is_some() => return Err(Refusal::SealedEarly),
                _ => {
                    course.sealed_early = Some(id);
                    self.anew(course, None)
                }
            }),
            Step::Create | Step::Done => Ok(Step::Done),
        }
    }

    /// What follows a failure.
    fn after(&self, refusal: Refusal, course: &mut Course) -> Result<Step, Refusal> {
        if let Step::Send(at) = course.step {
            // A proxy may take less than the server; a slow line needs smaller pieces to get one through at all.
            let is_smaller = refusal.may_be_of_the_size() && course.pieces.halve();
            if is_smaller && refusal.status() == Some(413) {
                return Ok(Step::Send(at));
            }
        }
        if refusal.is_passing() {
            let is_small = !matches!(course.step, Step::Send(_));
            self.wait(refusal, &mut course.waits, is_small)?;
            return Ok(if course.id.is_some() { Step::Ask } else { Step::Create });
        }
        let is_gone = match refusal.status() {
            Some(404 | 410) => course.step != Step::Create,
            // Of somebody else's token.
            Some(403) => course.is_resumed && course.step == Step::Ask,
            _ => false,
        };
        if is_gone && !course.has_begun_anew {
            return Ok(self.anew(course, None));
        }
        if let (Step::Seal, Some(409), Some(id)) = (course.step, refusal.status(), course.id.clone()) {
            // The answer to an earlier try may have been lost.
            if self.client.kept(&id).is_ok_and(|kept| kept.is_sealed) {
                return Ok(Step::Verify);
            }
            if course.is_resumed && !course.has_begun_anew {
                return Ok(self.anew(course, Some(&id)));
            }
        }
        Err(refusal)
    }

    /// `left`: an upload of ours that is of no use.
    fn anew(&self, course: &mut Course, left: Option<&str>) -> Step {
        if let Some(id) = left {
            // It would stay unfinished; the server forgets it in time.
            let _ = self.client.delete(id);
        }
        self.remembered.forget();
        course.id = None;
        course.is_resumed = false;
        course.has_begun_anew = true;
        Step::Create
    }

    fn step_at(&self, bytes: u64) -> Step {
        self.progress.set_kept(bytes);
        if bytes < self.content.bytes { Step::Send(bytes) } else { Step::Seal }
    }

    /// Err: it was waited for long enough. `is_small`: a slow line alone does not make this request so slow.
    fn wait(&self, refusal: Refusal, waits: &mut Waits, is_small: bool) -> Result<(), Refusal> {
        let wait = match refusal {
            Refusal::TooSlow if is_small => waits.next_after_silence(),
            _ => waits.next(refusal.retry_after()),
        };
        match wait {
            None => Err(refusal),
            Some(wait) if (self.pause)(wait) => Ok(()),
            Some(_) => Err(Refusal::Stopped),
        }
    }
}

/// How much is sent at once: as much as goes through in about a second.
pub struct Pieces {
    pub bytes: u64,
    bytes_max: u64,
}

impl Pieces {
    const FIRST: u64 = 1 << 20;
    const LARGEST: u64 = 16 << 20;
    const SMALLEST: u64 = 64 << 10;
    const QUICK: Duration = Duration::from_millis(500);

    pub fn new(limits: Limits) -> Pieces {
        let bytes_max = limits.chunk_bytes_max.min(Pieces::LARGEST);
        Pieces { bytes: Pieces::FIRST.min(bytes_max), bytes_max }
    }

    pub fn took(&mut self, time: Duration) {
        if time < Pieces::QUICK {
            self.bytes = (self.bytes * 2).min(self.bytes_max);
        }
    }

    /// False: it is small already.
    pub fn halve(&mut self) -> bool {
        let is_small = self.bytes <= Pieces::SMALLEST;
        if !is_small {
            self.bytes = (self.bytes / 2).max(Pieces::SMALLEST);
        }
        !is_small
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_line_is_no_other_failure() {
        let answered = |status| Refusal::Answered(Answer { status, ..Answer::default() });
        for refusal in [answered(408), answered(413), Refusal::TooSlow, Refusal::Broken(String::new())] {
            assert!(refusal.may_be_of_the_size(), "{refusal:?}");
        }
        for refusal in [answered(429), answered(503), answered(507), Refusal::NobodyListens] {
            assert!(!refusal.may_be_of_the_size(), "{refusal:?}");
        }
    }

    #[test]
    fn pieces_fit_the_server_and_the_line() {
        let mut pieces = Pieces::new(Limits { chunk_bytes_max: 4 << 20, recording_bytes_max: None });
        let mut quick = || {
            pieces.took(Duration::from_millis(10));
            pieces.bytes >> 20
        };
        assert_eq!([quick(), quick(), quick()], [2, 4, 4]);
        pieces.took(Duration::from_secs(5));
        assert_eq!(pieces.bytes, 4 << 20);
        let halves = std::iter::from_fn(|| pieces.halve().then_some(pieces.bytes >> 10)).collect::<Vec<_>>();
        assert_eq!(halves, [2048, 1024, 512, 256, 128, 64]);
        assert_eq!(Pieces::new(Limits { chunk_bytes_max: 1000, recording_bytes_max: None }).bytes, 1000);
    }
}
