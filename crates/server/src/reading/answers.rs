//! Remembers answers, so that many readers of one page cost one process.
//! Owns: under which key an answer is remembered, and how many bytes all of them may take. Never: remembers that a machine was busy.

use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use genba_profile::figures;
use moka::future::Cache;

use super::ask::Ask;
use super::facts::Facts;
use super::unread::Unread;
use super::workers::{Answer, Asker, Workers};
use crate::words::problem::Problem;

/// What an answer takes beside its bytes.
const ENTRY_BYTES: usize = 256;

/// A clone shares what is remembered.
#[derive(Clone, Debug)]
pub struct Answers {
    workers: Workers,
    /// By contents and question. A recording that is refused is refused again.
    known: Cache<Arc<str>, Result<Answer, Unread>>,
}

impl Answers {
    #[must_use]
    pub fn new(workers: Workers, bytes_max: u64) -> Answers {
        let weigher = |key: &Arc<str>, answer: &Result<Answer, Unread>| {
            let body = answer.as_ref().map_or(0, |answer| answer.body.len());
            u32::try_from(key.len() + body + ENTRY_BYTES).unwrap_or(u32::MAX)
        };
        Answers { workers, known: Cache::builder().max_capacity(bytes_max).weigher(weigher).build() }
    }

    /// `contents`: what tells the content of each file from all others, as its hash does, or an id and a length while it grows. `files` is
    /// only awaited where the answer is not known, and what it gives lives until the answer is there. It may be a copy that takes room on
    /// the disk, so it is awaited when it is this question's turn: those that wait have none.
    pub async fn answer<File: AsRef<Path>>(
        &self,
        asker: Asker,
        ask: &Ask,
        contents: &[&str],
        files: impl Future<Output = Result<Vec<File>, Unread>>,
    ) -> Result<Answer, Unread> {
        let key = serde_json::to_string(&(contents, ask))
            .map_err(|error| Unread::broken(format!("cannot write a question: {error}")))?;
        let worked = async {
            let turn = self.workers.turn(asker).await?;
            // The turn is kept meanwhile: a store that does not answer must not hold it for good.
            let files = match tokio::time::timeout(self.workers.wall(), files).await {
                Ok(files) => files?,
                Err(_) => return Err(not_fetched_in(self.workers.wall())),
            };
            match self.workers.answer_in(&turn, ask, &files).await {
                Err(unread) if !unread.is_lasting() => Err(unread),
                lasting => Ok(lasting),
            }
        };
        match self.known.try_get_with(Arc::from(key), worked).await {
            Ok(answer) => answer,
            Err(unread) => Err(Unread::clone(&unread)),
        }
    }

    /// The facts of one recording. `name`: of its file.
    pub async fn facts<File: AsRef<Path>>(
        &self,
        asker: Asker,
        name: &str,
        content: &str,
        file: impl Future<Output = Result<File, Unread>>,
    ) -> Result<Facts, Unread> {
        let files = async { Ok(vec![file.await?]) };
        let answer = self.answer(asker, &Ask::Facts { name: name.to_owned() }, &[content], files).await?;
        serde_json::from_slice(&answer.body)
            .map_err(|error| Unread::broken(format!("the process that reads gave facts of an unknown form: {error}")))
    }
}

fn not_fetched_in(wall: Duration) -> Unread {
    let most = figures::setting(u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX));
    let problem = Problem::new(503, "the store of recordings is slow");
    Unread::NotFetched(problem.detail(format!("the recording was not there after {most}")).hint("ask again later"))
}
