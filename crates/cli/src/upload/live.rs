//! The upload of a recording while its program runs: a thread of genba's sends what the file has grown by, and seals it at the end.
//! Owns: that thread. Never: waits for anything while the program runs, prints, touches the file.
//!
//! | from | to | by | when |
//! |---|---|---|---|
//! | Growing | Ended | genba | the program ended, and the recording is complete |
//! | Growing | Abandoned | genba | nothing was recorded: what the server has of it is deleted |
//! | Ended | Stopped | the user | Ctrl-C or another signal while genba waits for the rest of the upload |

use std::fs::File;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::address::Server;
use super::client::{Client, New, SMALL_REQUEST_OF_LIVE, Sent};
use super::content::{Content, piece};
use super::progress::Progress;
use super::refusal::Refusal;
use super::remembered::Remembered;
use super::sending::{Pieces, Pushed, Sending};
use super::token::Token;
use super::waits::Waits;

/// How often the file is asked for its size.
const EVERY: Duration = Duration::from_secs(1);
/// The end of an upload that takes longer is told.
const A_WHILE: Duration = Duration::from_secs(3);
/// For the server to take back what it has.
const ABANDONED: Duration = Duration::from_secs(2);

/// An upload that goes on beside the program.
pub struct Live {
    shared: Arc<Shared>,
    server: Server,
}

/// Addresses of a pushed recording.
pub struct Pages {
    pub whole: String,
    /// Of the part that somebody sealed while the program ran.
    pub sealed_early: Option<String>,
}

/// Lets Ctrl-C end the wait for the rest of an upload.
#[derive(Clone)]
pub struct Interrupt(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    progress: Progress,
}

#[derive(Default)]
struct State {
    phase: Phase,
    outcome: Option<Result<Pushed, Refusal>>,
    /// The signal, in the phase Stopped.
    stopped_by: i32,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
enum Phase {
    #[default]
    Growing,
    Ended,
    Abandoned,
    Stopped,
}

struct Plan {
    server: Server,
    token: Option<Token>,
    path: PathBuf,
    new: New,
}

impl Live {
    /// `path`: the recording, which exists.
    pub fn start(server: Server, token: Option<Token>, path: PathBuf, new: New) -> Live {
        let shared = Arc::new(Shared::default());
        let (worker, plan) = (Ending(shared.clone()), Plan { server: server.clone(), token, path, new });
        let started = std::thread::Builder::new().name("genba push".to_owned()).spawn(move || {
            let outcome = push(&worker.0, &plan);
            worker.0.end(outcome);
        });
        if let Err(error) = started {
            shared.end(Err(Refusal::Broken(error.to_string())));
        }
        Live { shared, server }
    }

    pub fn interrupt(&self) -> Interrupt {
        Interrupt(self.shared.clone())
    }

    pub fn progress(&self) -> Progress {
        self.shared.progress.clone()
    }

    pub fn server(&self) -> &Server {
        &self.server
    }

    /// The recording is complete: waits until it is sealed. `when_long` is called once, if that takes a while.
    pub fn finish(&self, when_long: impl FnOnce()) -> Result<Pages, Refusal> {
        self.shared.go_to(Phase::Ended);
        let goes_on = |state: &mut State| state.outcome.is_none() && state.phase != Phase::Stopped;
        let state = self.shared.lock();
        let (state, waited) =
            self.shared.changed.wait_timeout_while(state, A_WHILE, goes_on).unwrap_or_else(PoisonError::into_inner);
        drop(state);
        if waited.timed_out() {
            when_long();
        }
        let mut state = self.shared.lock();
        loop {
            if let Some(outcome) = state.outcome.take() {
                return outcome.map(|pushed| Pages {
                    whole: self.server.page(&pushed.id),
                    sealed_early: pushed.sealed_early.map(|id| self.server.page(&id)),
                });
            }
            if state.phase == Phase::Stopped {
                return Err(Refusal::StoppedBy(state.stopped_by));
            }
            state = self.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Nothing was recorded.
    pub fn abandon(&self) {
        self.shared.go_to(Phase::Abandoned);
        let end = Instant::now() + ABANDONED;
        let mut state = self.shared.lock();
        while state.outcome.is_none() && Instant::now() < end {
            let left = end.saturating_duration_since(Instant::now());
            state = self.shared.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Interrupt {
    /// `signal` came. False: nothing waits for the upload.
    pub fn leave(&self, signal: i32) -> bool {
        let mut state = self.0.lock();
        let is_waiting = state.phase == Phase::Ended && state.outcome.is_none();
        if is_waiting {
            (state.phase, state.stopped_by) = (Phase::Stopped, signal);
            self.0.changed.notify_all();
        }
        is_waiting
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn go_to(&self, phase: Phase) {
        self.lock().phase = phase;
        self.changed.notify_all();
    }

    fn end(&self, outcome: Result<Pushed, Refusal>) {
        self.lock().outcome.get_or_insert(outcome);
        self.changed.notify_all();
    }

    /// Waits so long, or until the phase is another one than `phase`. Gives the phase.
    fn pause(&self, phase: Phase, wait: Option<Duration>) -> Phase {
        let is_same = |state: &mut State| state.phase == phase;
        let state = self.lock();
        match wait {
            Some(wait) => {
                self.changed.wait_timeout_while(state, wait, is_same).unwrap_or_else(PoisonError::into_inner).0.phase
            }
            None => self.changed.wait_while(state, is_same).unwrap_or_else(PoisonError::into_inner).phase,
        }
    }
}

/// The thread ended, in whatever way: nobody waits for it in vain.
struct Ending(Arc<Shared>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.end(Err(Refusal::Broken("genba's own thread ended".to_owned())));
    }
}

fn push(shared: &Shared, plan: &Plan) -> Result<Pushed, Refusal> {
    let client = Client::new(&plan.server, plan.token.as_ref(), SMALL_REQUEST_OF_LIVE)?;
    let mut course = Course::default();
    let followed = course.follow(shared, plan, &client);
    if shared.pause(Phase::Growing, None) == Phase::Abandoned {
        if let Some(id) = course.id {
            client.delete(&id)?;
        }
        return Err(Refusal::Stopped);
    }
    let content = Content::open(&plan.path, &shared.progress).map_err(|error| Refusal::File(error.to_string()))?;
    let remembered = Remembered::of(&plan.server, &content.sha256, &plan.new);
    if let Some(id) = &course.id {
        remembered.store(id);
    }
    followed?;
    let sending = Sending {
        client: &client,
        new: &plan.new,
        content: &content,
        remembered: &remembered,
        progress: &shared.progress,
        begun: course.id.clone(),
        is_known: course.id.is_some() || course.sealed_early.is_some(),
        pause: &|wait| shared.pause(Phase::Ended, Some(wait)) == Phase::Ended,
        waits: if course.is_silent { Waits::after_silence } else { Waits::at_the_end },
    };
    let pushed = sending.run()?;
    Ok(Pushed { sealed_early: course.sealed_early.or(pushed.sealed_early), ..pushed })
}

/// How far the upload has come while the program runs.
#[derive(Default)]
struct Course {
    /// None before the file's first bytes: a command without Python leaves nothing on the server.
    id: Option<String>,
    pieces: Option<Pieces>,
    kept_bytes: u64,
    /// What the server has is not known since a request failed.
    is_unsure: bool,
    /// The last request got no answer in its time.
    is_silent: bool,
    /// A recording that somebody sealed while it grew: the upload began anew.
    sealed_early: Option<String>,
}

impl Course {
    /// Until the phase is another one. Err: going on is no use.
    fn follow(&mut self, shared: &Shared, plan: &Plan, client: &Client) -> Result<(), Refusal> {
        let of_file = |error: std::io::Error| Refusal::File(error.to_string());
        let file = File::open(&plan.path).map_err(of_file)?;
        let mut waits = Waits::endless();
        let mut wait = Duration::ZERO;
        while shared.pause(Phase::Growing, Some(wait)) == Phase::Growing {
            let bytes = file.metadata().map_err(of_file)?.len();
            wait = EVERY;
            if bytes <= self.kept_bytes {
                continue;
            }
            match self.advance(client, &plan.new, &file, bytes) {
                Ok(()) => {
                    self.is_silent = false;
                    waits.begin_again();
                    if self.kept_bytes < bytes {
                        wait = Duration::ZERO;
                    }
                    shared.progress.set_kept(self.kept_bytes);
                }
                Err(refusal) if refusal.is_passing() => {
                    self.is_unsure = self.id.is_some();
                    self.is_silent = matches!(refusal, Refusal::TooSlow);
                    wait = waits.next(refusal.retry_after()).unwrap_or(EVERY * 60).max(EVERY);
                }
                Err(refusal) => {
                    if matches!(refusal.status(), Some(404 | 410)) {
                        self.id = None;
                    }
                    return Err(refusal);
                }
            }
        }
        Ok(())
    }

    /// One request or two.
    fn advance(&mut self, client: &Client, new: &New, file: &File, bytes: u64) -> Result<(), Refusal> {
        let pieces = match &mut self.pieces {
            Some(pieces) => pieces,
            none => none.insert(Pieces::new(client.limits()?)),
        };
        let id = match &self.id {
            Some(id) => id.clone(),
            None => self.id.insert(client.create(new)?).clone(),
        };
        if self.is_unsure {
            self.kept_bytes = client.kept(&id)?.bytes;
            self.is_unsure = false;
        }
        let wanted = pieces.bytes.min(bytes.saturating_sub(self.kept_bytes));
        if wanted == 0 {
            return Ok(());
        }
        let piece = piece(file, self.kept_bytes, usize::try_from(wanted).unwrap_or(usize::MAX));
        let begun = Instant::now();
        let sent = client.send(&id, self.kept_bytes, piece.map_err(|error| Refusal::File(error.to_string()))?);
        self.kept_bytes = match sent {
            Ok(Sent::Kept(kept)) => {
                pieces.took(begun.elapsed());
                kept
            }
            Ok(Sent::EndsAt(kept)) if kept > self.kept_bytes => kept,
            Ok(Sent::EndsAt(kept)) => {
                if client.kept(&id)?.is_sealed {
                    return self.begin_anew(id);
                }
                // Without progress, as after a failure.
                self.kept_bytes = kept;
                return Err(Refusal::Broken("the server lost what it had".to_owned()));
            }
            Err(refusal) => {
                if refusal.may_be_of_the_size() && pieces.halve() && refusal.status() == Some(413) {
                    return Ok(());
                }
                return Err(refusal);
            }
        };
        Ok(())
    }

    /// The file has every byte, so the sealed part is no loss; its page stays as it is.
    fn begin_anew(&mut self, sealed: String) -> Result<(), Refusal> {
        if self.sealed_early.is_some() {
            return Err(Refusal::SealedEarly);
        }
        self.sealed_early = Some(sealed);
        (self.id, self.kept_bytes) = (None, 0);
        Ok(())
    }
}
