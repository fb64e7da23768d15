//! Starts the processes that read recordings, and takes their answers.
//! Owns: how many there are at once and how many wait, how long they may take, and what the end of one means. Never: believes an answer
//! that is longer than it may be; lets the end of one disturb another.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use rustix::process::Signal;
use std::os::unix::process::ExitStatusExt;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::{AcquireError, Semaphore, SemaphorePermit};

use super::ask::{Ask, Order, Reply};
use super::unread::{Refusal, Unread};

/// Of the first line of an answer.
const LINE_BYTES_MAX: u64 = 64 << 10;
/// Of what it says on stderr.
const WORDS_BYTES_MAX: u64 = 4 << 10;
/// A seal that waits, for a turn of readers that became free.
const LOOKS_EVERY: Duration = Duration::from_millis(100);

#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Processes that read at the same time.
    pub at_once: usize,
    /// Address space of each: the command itself takes some of it.
    pub memory_bytes: u64,
    pub cpu_s: u64,
    /// Of each, waiting for its turn not included.
    pub wall: Duration,
    pub answer_bytes_max: u64,
    /// Questions that wait for their turn.
    pub queue_max: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub content_type: &'static str,
    pub body: Bytes,
}

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    /// Somebody who looks at a recording, or the list, which shows what a live one holds so far.
    Reader,
    /// A seal: an upload ends with it, however many look at other recordings.
    Seal,
}

#[derive(Clone, Debug)]
pub struct Workers {
    program: PathBuf,
    arguments: Vec<OsString>,
    limits: Limits,
    /// One for each process that runs.
    turns: Arc<Semaphore>,
    /// One for each question that is asked, waiting ones included.
    places: Arc<Semaphore>,
    /// The same for seals: one process more, which no reader takes.
    seal_turns: Arc<Semaphore>,
    seal_places: Arc<Semaphore>,
}

/// Of one question, until it is answered.
pub struct Turn<'w> {
    _place: SemaphorePermit<'w>,
    _turn: SemaphorePermit<'w>,
}

impl Workers {
    /// `program` with `arguments` calls `work`. Of this very program: `/proc/self/exe`, which is the same file after an upgrade, too.
    #[must_use]
    pub fn new(program: PathBuf, arguments: Vec<OsString>, limits: Limits) -> Workers {
        let at_once = limits.at_once.clamp(1, Semaphore::MAX_PERMITS);
        let places = at_once.saturating_add(limits.queue_max).min(Semaphore::MAX_PERMITS);
        let many = |permits| Arc::new(Semaphore::new(permits));
        let (turns, seal_turns) = (many(at_once), many(1));
        Workers { program, arguments, limits, turns, places: many(places), seal_turns, seal_places: many(places) }
    }

    /// How long fetching what is read may take, and reading it once more.
    pub(super) fn wall(&self) -> Duration {
        self.limits.wall
    }

    /// A place in the line, and then a turn.
    pub async fn turn(&self, asker: Asker) -> Result<Turn<'_>, Unread> {
        let places = if asker == Asker::Seal { &self.seal_places } else { &self.places };
        let place = places.try_acquire().map_err(|_| Unread::Busy)?;
        let turn = match asker {
            Asker::Reader => self.turns.acquire().await,
            Asker::Seal => self.seal_turn().await,
        };
        Ok(Turn { _place: place, _turn: turn.map_err(|_| Unread::Busy)? })
    }

    /// One of readers as well where it is free, now or later; no reader waits for it then.
    async fn seal_turn(&self) -> Result<SemaphorePermit<'_>, AcquireError> {
        if let Ok(turn) = self.seal_turns.try_acquire() {
            return Ok(turn);
        }
        // It keeps its place in the line of seals while it looks at the readers' turns.
        let mut next = std::pin::pin!(self.seal_turns.acquire());
        loop {
            if let Ok(turn) = self.turns.try_acquire() {
                return Ok(turn);
            }
            if let Ok(turn) = tokio::time::timeout(LOOKS_EVERY, next.as_mut()).await {
                return turn;
            }
        }
    }

    /// Of these files, in the order that the question has them. Whoever drops the future ends the process.
    pub async fn answer<File: AsRef<Path>>(&self, ask: &Ask, files: &[File]) -> Result<Answer, Unread> {
        let turn = self.turn(Asker::Reader).await?;
        self.answer_in(&turn, ask, files).await
    }

    /// The same for whoever has a turn already.
    pub async fn answer_in<File: AsRef<Path>>(
        &self,
        _turn: &Turn<'_>,
        ask: &Ask,
        files: &[File],
    ) -> Result<Answer, Unread> {
        let order = Order {
            ask: ask.clone(),
            files: files.iter().map(|file| file.as_ref().to_owned()).collect(),
            memory_bytes: self.limits.memory_bytes,
            cpu_s: self.limits.cpu_s,
        };
        let line = serde_json::to_string(&order)
            .map_err(|error| Unread::broken(format!("cannot write the order of the process that reads: {error}")))?;
        match tokio::time::timeout(self.limits.wall, self.worked(line + "\n")).await {
            Ok(answer) => answer,
            // The process was killed as its handle was dropped.
            Err(_) => Err(Unread::too_long(self.limits.wall)),
        }
    }

    async fn worked(&self, order: String) -> Result<Answer, Unread> {
        let mut child = self.start()?;
        let cannot =
            |error: std::io::Error| Unread::broken(format!("cannot speak with the process that reads: {error}"));
        let (Some(mut stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(Unread::broken("cannot speak with the process that reads: it has no pipes"));
        };
        let asked = async move {
            // It may end before it has read the order; how it ended is told below.
            let _ = stdin.write_all(order.as_bytes()).await;
        };
        let ((), answer, words) = tokio::join!(asked, answered(stdout, &self.limits), said(stderr));
        match answer {
            // What it may say after its answer does not matter; dropping it kills it.
            Ok(Some(answer)) => answer,
            Ok(None) => Err(self.ended(child.wait().await.map_err(cannot)?, &words)),
            Err(error) => Err(cannot(error)),
        }
    }

    fn start(&self) -> Result<Child, Unread> {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C is for the server, which ends after its answers.
            .process_group(0)
            .kill_on_drop(true);
        command.spawn().map_err(|error| {
            let program = self.program.display();
            Unread::broken(format!("cannot start the process that reads recordings ({program}): {error}"))
        })
    }

    /// What it means that it ended without an answer.
    fn ended(&self, status: ExitStatus, words: &str) -> Unread {
        let signal = status.signal().and_then(Signal::from_named_raw);
        // The runtime says so before it aborts.
        let out_of_memory = words.contains("memory allocation of ");
        match signal {
            Some(Signal::XCPU) => Unread::too_much_cpu(self.limits.cpu_s),
            _ if out_of_memory => Unread::too_much_memory(self.limits.memory_bytes),
            _ => {
                let first = words.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
                let how = match (status.code(), status.signal()) {
                    (Some(code), _) => format!("with exit code {code}"),
                    (None, Some(number)) => format!("by signal {number}"),
                    (None, None) => "in an unknown way".to_owned(),
                };
                let colon = if first.is_empty() { "" } else { ": " };
                Unread::broken(format!("the process that read the recording ended {how}{colon}{first}"))
            }
        }
    }
}

/// None: it ended before it had written all of an answer.
async fn answered(stdout: impl AsyncRead + Unpin, limits: &Limits) -> std::io::Result<Option<Result<Answer, Unread>>> {
    let mut stdout = BufReader::new(stdout);
    let mut line = Vec::new();
    (&mut stdout).take(LINE_BYTES_MAX).read_until(b'\n', &mut line).await?;
    if line.is_empty() {
        return Ok(None);
    }
    let reply = match serde_json::from_slice::<Reply>(&line) {
        Ok(reply) => reply,
        Err(_) => return Ok(Some(Err(Unread::broken("the process that reads gave an answer of an unknown form")))),
    };
    let (content_type, bytes) = match reply {
        Reply::Json { bytes } => ("application/json", bytes),
        Reply::Html { bytes } => ("text/html; charset=utf-8", bytes),
        Reply::Refused { title, detail, hint } => {
            return Ok(Some(Err(Unread::Refused(Refusal { title, detail, hint }))));
        }
        Reply::OutOfMemory => return Ok(Some(Err(Unread::too_much_memory(limits.memory_bytes)))),
        Reply::Absent { words } => return Ok(Some(Err(Unread::Absent { words }))),
    };
    if bytes > limits.answer_bytes_max {
        return Ok(Some(Err(Unread::too_large_answer(limits.answer_bytes_max))));
    }
    let mut body = Vec::new();
    stdout.take(bytes).read_to_end(&mut body).await?;
    let is_whole = body.len() as u64 == bytes;
    Ok(is_whole.then(|| Ok(Answer { content_type, body: Bytes::from(body) })))
}

/// The first of its words; it must not wait until somebody takes the others.
async fn said(mut stderr: impl AsyncRead + Unpin) -> String {
    let mut words = Vec::new();
    // Words are for a failure: without them its exit code is told alone.
    let _ = (&mut stderr).take(WORDS_BYTES_MAX).read_to_end(&mut words).await;
    let _ = tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await;
    String::from_utf8_lossy(&words).into_owned()
}
