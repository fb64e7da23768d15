//! An upload: parts that are acknowledged one by one, then a seal.
//! Owns: that an acknowledged part is on the disk, in the store and in the database, and that a sealed recording is what its hash says.
//! Never: acknowledges before both are done; lists what is half written.

use std::time::Duration;

use bytes::Bytes;
use object_store::path::Path as Key;
use sha2::{Digest, Sha256};
use sqlx::{Any, Transaction};

use crate::keeping::keeper::{CLEARED_WITHIN, Keeper, known};
use crate::reading::{Asker, Unread};
use crate::storage::chunks::{self, Chunk};
use crate::storage::contents::{self, Presence};
use crate::storage::database::roll_back;
use crate::storage::recordings::{self, Recording, State};
use crate::storage::settings;
use crate::storage::terms::{self, Kind};
use crate::storage::tokens::commit;
use crate::words::moment::now_ms;
use crate::words::problem::Problem;
use crate::words::random;

/// Of one part. What comes in one request is kept in memory until it is whole.
pub const CHUNK_BYTES_MAX: usize = 4 << 20;
/// A part is a file and a row. A recording may have this many of any size, one more for each `SMALL_BYTES` of it, and one for each second since
/// its upload began: `genba run --push` sends once a second what the file has grown by, and beside that only parts that are not small.
const PARTS: u64 = 1_000;
/// Whoever has more may send a small one so long after the last one: a server's clock that was set knows no age.
const PART_EVERY_MS: u64 = 1_000;
/// The smallest that `genba push` cuts a longer rest into (crates/cli/src/upload/sending.rs).
const SMALL_BYTES: u64 = 64 << 10;
/// For a client that has sent too many parts: the server takes one more by then.
const PART_RETRY_S: u32 = 1;
/// How often somebody else may delete the same content while it is put.
const TRIES: u32 = 50;
/// Between two tries, for whoever deletes it.
const DELETED_WAIT: Duration = Duration::from_millis(100);
/// For whoever uploads, where a server ended in the middle of deleting it: then the doom holds for longer.
const DELETED_RETRY_S: u32 = 30;

/// What the one who uploads says it must be.
pub struct Expected {
    pub bytes: u64,
    pub sha256: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SealedBy {
    Client,
    /// Whoever uploads may go on.
    Server,
}

impl Keeper {
    /// The bytes behind `at`, which must be the upload's end. Returns where it ends then.
    pub async fn append(&self, recording: &Recording, at: u64, bytes: Bytes) -> Result<u64, Problem> {
        let length = bytes.len() as u64;
        // One that this server sealed because it was quiet goes on: its parts are still there.
        if recording.state == State::Sealed && chunks::of_recording(&self.database, &recording.id).await?.is_empty() {
            return Err(stands_at(recording.bytes, "the recording is sealed: nothing may be added"));
        }
        if at != recording.bytes {
            return Err(stands_at(recording.bytes, "the upload does not end there"));
        }
        let end = at.saturating_add(length);
        if end > self.recording_bytes_max {
            return Err(self.too_large());
        }
        if length == 0 {
            return Ok(end);
        }
        check_parts(recording, length, end)?;
        self.check_room(length)?;
        let key = self.store.new_part(&recording.id)?;
        self.store.put(&key, bytes).await?;
        let chunk = Chunk { starts_at: at, bytes: length, object: key.to_string() };
        let mut noted = self.note_chunk(recording, &chunk).await;
        if matches!(noted, Ok(None)) && recording.state == State::Open {
            // A server may have sealed it since it was read, because it was quiet: then it goes on with this part.
            noted = match self.find(&recording.id).await {
                Ok(now) if now.state == State::Sealed => self.note_chunk(&now, &chunk).await,
                found => found.map(|_| None),
            };
        }
        if !matches!(noted, Ok(Some(_))) {
            // It may be left behind: then it is deleted later (`keeping/leftovers.rs`).
            let _ = self.store.delete(&key).await;
        }
        match noted? {
            // The part stays when this fails: the row may be there all the same. A part without one is deleted later.
            Some(transaction) => commit(transaction).await.map(|()| end),
            None => {
                let now = self.find(&recording.id).await?;
                Err(stands_at(now.bytes, "the upload does not end there"))
            }
        }
    }

    /// Its row, not committed. None: the upload does not end there any more.
    async fn note_chunk(
        &self,
        recording: &Recording,
        chunk: &Chunk,
    ) -> Result<Option<Transaction<'static, Any>>, Problem> {
        let id = &recording.id;
        let mut transaction = self.database.begin().await?;
        if let Some(sha256) = &recording.sha256
            && !self.reopen(&mut transaction, recording, sha256).await?
        {
            return Ok(None);
        }
        if !recordings::grow(&mut transaction, id, chunk.starts_at, chunk.bytes, now_ms()).await? {
            return Ok(None);
        }
        chunks::insert(&mut transaction, id, chunk).await?;
        Ok(Some(transaction))
    }

    /// Of a recording that the server sealed. False: it is open again already, or its parts are gone.
    async fn reopen(
        &self,
        transaction: &mut Transaction<'static, Any>,
        recording: &Recording,
        sha256: &str,
    ) -> Result<bool, Problem> {
        // The row is locked first: nobody deletes the parts in between.
        if !recordings::reopen(transaction, &recording.id, recording.bytes, sha256).await?
            || !chunks::are_any(transaction, &recording.id).await?
        {
            return Ok(false);
        }
        contents::end_use(transaction, sha256).await?;
        Ok(true)
    }

    pub fn too_large(&self) -> Problem {
        Problem::new(413, "the recording is too large for this server")
            .detail(format!("it takes {} bytes at most", self.recording_bytes_max))
            .hint("genba serve --max-recording SIZE sets how large recordings may be")
    }

    /// Nothing is added any more. Sealed before with the same content: that recording.
    pub async fn seal(&self, recording: &Recording, expected: Option<&Expected>) -> Result<Recording, Problem> {
        if recording.state == State::Sealed {
            let is_same = expected.is_none_or(|expected| {
                expected.bytes == recording.bytes && Some(&expected.sha256) == recording.sha256.as_ref()
            });
            return match is_same {
                true => {
                    self.end_reopening(recording).await?;
                    self.sealed_by_another(recording, recording.sha256.as_deref().unwrap_or_default()).await
                }
                false => Err(Problem::conflict("the recording is sealed with another content")),
            };
        }
        if let Some(expected) = expected.filter(|expected| expected.bytes != recording.bytes) {
            return Err(stands_at(recording.bytes, "the upload is not as long as that")
                .detail(format!("{} bytes are here, {} were named", recording.bytes, expected.bytes)));
        }
        self.grown.forget(&recording.id);
        // Once as a scratch file, once as the content.
        self.check_room(recording.bytes.saturating_mul(2))?;
        let mut hash = Sha256::new();
        let scratch = self.scratch_of_chunks(recording, |piece| hash.update(piece)).await?;
        let sha256 = random::hex(&hash.finalize());
        if let Some(expected) = expected.filter(|expected| expected.sha256 != sha256) {
            return Err(stands_at(recording.bytes, "the upload has another hash")
                .detail(format!("{sha256} is here, {} was named", expected.sha256))
                .hint("delete it and upload the file again"));
        }
        self.keep(recording, &sha256, scratch.path(), SealedBy::Client).await
    }

    /// A live recording that nobody went on with. Its parts stay: whoever sent it may go on after all.
    pub async fn seal_quiet(&self, recording: &Recording) -> Result<Recording, Problem> {
        self.grown.forget(&recording.id);
        self.check_room(recording.bytes.saturating_mul(2))?;
        let mut hash = Sha256::new();
        let scratch = self.scratch_of_chunks(recording, |piece| hash.update(piece)).await?;
        self.keep(recording, &random::hex(&hash.finalize()), scratch.path(), SealedBy::Server).await
    }

    /// Nothing is added to a sealed recording any more: the parts go that a seal of the server's own left.
    pub(super) async fn end_reopening(&self, recording: &Recording) -> Result<(), Problem> {
        let parts = chunks::of_recording(&self.database, &recording.id).await?;
        if parts.is_empty() {
            return Ok(());
        }
        let mut transaction = self.database.begin().await?;
        if recordings::lock_sealed(&mut transaction, &recording.id, recording.bytes).await? {
            chunks::delete(&mut transaction, &recording.id).await?;
            commit(transaction).await?;
            self.delete_parts(parts).await;
        }
        Ok(())
    }

    /// Under its hash, once it is known to be a recording.
    async fn keep(
        &self,
        recording: &Recording,
        sha256: &str,
        file: &std::path::Path,
        by: SealedBy,
    ) -> Result<Recording, Problem> {
        let path = async { Ok::<_, Unread>(file.to_path_buf()) };
        let facts = self.answers.facts(Asker::Seal, &recording.name, sha256, path).await;
        let facts = facts.map_err(|unread| unread_problem(&unread))?;
        let parts = chunks::of_recording(&self.database, &recording.id).await?;
        let key = self.store.content(sha256);
        for _ in 0..TRIES {
            let presence = contents::presence(&self.database, sha256).await?;
            if presence == Presence::Doomed {
                tokio::time::sleep(DELETED_WAIT).await;
                continue;
            }
            let is_known = presence != Presence::Absent;
            // One that the store has lost, or half of it, is put again: these bytes heal it for all that use it.
            let is_put = !is_known || self.store.bytes_of(&key).await? != Some(recording.bytes);
            if is_put {
                self.store.put_file(&key, file).await?;
            }
            let mut transaction = self.database.begin().await?;
            // The recording's row before the content's, as whoever deletes it.
            let Some(now) = recordings::locked(&self.database, &mut transaction, &recording.id).await? else {
                return Err(Problem::not_found("recording"));
            };
            if !contents::begin_use(&mut transaction, sha256, recording.bytes, is_put).await?
                // Whoever used the same content may have deleted it since it was put. From here on nobody does.
                || self.store.bytes_of(&key).await? != Some(recording.bytes)
            {
                roll_back(transaction).await?;
                continue;
            }
            let (known, words) = known(&now, facts.clone());
            if !recordings::seal(&mut transaction, &recording.id, recording.bytes, sha256, &known, now_ms()).await? {
                drop(transaction);
                return self.sealed_by_another(recording, sha256).await;
            }
            terms::replace(&mut transaction, &now, &Kind::ALL, words).await?;
            if by == SealedBy::Server {
                commit(transaction).await?;
                return self.find(&recording.id).await;
            }
            chunks::delete(&mut transaction, &recording.id).await?;
            commit(transaction).await?;
            self.delete_parts(parts).await;
            return self.find(&recording.id).await;
        }
        let problem = Problem::new(503, "the server is deleting the same content").hint("push again in two minutes");
        Err(Problem { retry_after_s: Some(DELETED_RETRY_S), ..problem })
    }

    /// What is not deleted now is deleted later (`keeping/leftovers.rs`).
    pub(super) async fn delete_parts(&self, parts: Vec<Chunk>) {
        if !matches!(settings::are_deletions_held(&self.database).await, Ok(false)) {
            return;
        }
        let store = self.store.clone();
        let keys: Vec<Key> = parts.into_iter().map(|part| Key::from(part.object)).collect();
        // A task of its own: it goes on when the client has gone, and when nobody waits any more.
        let deleting = tokio::spawn(async move { store.delete_all(keys).await });
        let _ = tokio::time::timeout(CLEARED_WITHIN, deleting).await;
    }

    async fn sealed_by_another(&self, recording: &Recording, sha256: &str) -> Result<Recording, Problem> {
        let now = self.find(&recording.id).await?;
        match now.state == State::Sealed && now.sha256.as_deref() == Some(sha256) {
            true => Ok(now),
            false => Err(stands_at(now.bytes, "the upload grew while it was sealed")),
        }
    }

    /// Of a live recording: what is there so far, for the list.
    pub async fn learn(&self, recording: &Recording) -> Result<(), Problem> {
        let file = self.file_to_read(recording);
        let content = Keeper::content_name(recording);
        let facts = self.answers.facts(Asker::Reader, &recording.name, &content, file).await;
        let facts = facts.map_err(|unread| unread_problem(&unread))?;
        let mut transaction = self.database.begin().await?;
        // As it is called by now: reading took a while.
        if let Some(now) = recordings::locked(&self.database, &mut transaction, &recording.id).await? {
            let (known, words) = known(&now, facts);
            if recordings::learn(&mut transaction, &recording.id, &known).await? {
                terms::replace(&mut transaction, &now, &Kind::ALL, words).await?;
            }
        }
        commit(transaction).await
    }
}

/// 429 where the recording has as many parts as one of its length and age may have. One that is not small allows for itself, and one that
/// comes in time always may.
fn check_parts(recording: &Recording, length: u64, end: u64) -> Result<(), Problem> {
    let now_ms = now_ms();
    // In both directions: a clock may have been set back since.
    if length >= SMALL_BYTES || now_ms.abs_diff(recording.touched_ms) >= PART_EVERY_MS {
        return Ok(());
    }
    let parts = recording.parts;
    if parts < parts_max(end, now_ms.saturating_sub(recording.created_ms)) {
        return Ok(());
    }
    let problem = Problem::new(429, "the upload comes in too many small parts")
        .detail(format!("{parts} parts are here, with {} bytes", recording.bytes))
        .hint(format!("send parts of {SMALL_BYTES} bytes or more, or one a second"));
    Err(Problem { retry_after_s: Some(PART_RETRY_S), ..problem })
}

/// Of a recording of that length, so long after its upload began.
fn parts_max(bytes: u64, age_ms: i64) -> u64 {
    // Another server's clock may be ahead.
    let seconds = u64::try_from(age_ms).unwrap_or_default() / 1_000;
    PARTS.saturating_add(bytes / SMALL_BYTES).saturating_add(seconds)
}

fn stands_at(bytes: u64, title: &str) -> Problem {
    Problem { upload_offset: Some(bytes), ..Problem::conflict(title) }
}

/// Why the process that reads gave no answer, as an answer.
pub fn unread_problem(unread: &Unread) -> Problem {
    match unread {
        Unread::Refused(refusal) => {
            let problem = Problem::new(422, refusal.title.clone());
            Problem { detail: refusal.detail.clone(), hint: refusal.hint.clone(), ..problem }.lasting()
        }
        Unread::Absent { words } => Problem::new(404, words.clone()),
        Unread::TooLarge { words } | Unread::TooLong { words } => {
            let problem =
                Problem::new(422, "reading this recording takes more than this server gives").detail(words.clone());
            // A machine that is busy now is idle later.
            Problem { is_lasting: matches!(unread, Unread::TooLarge { .. }), ..problem }
        }
        Unread::Busy => {
            let problem =
                Problem::new(503, "the server reads as many recordings as it can").hint("ask again in a moment");
            Problem { retry_after_s: Some(2), ..problem }
        }
        // A store that does not answer and a full disk keep their status: whoever asked may come back.
        Unread::NotFetched(problem) => problem.clone(),
        Unread::Broken { words } => Problem::internal("reading the recording", words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &[u8] = b"x";
    /// As long as is not small.
    const LARGE: &[u8] = &[0; 64 << 10];

    #[test]
    fn small_parts_have_a_bound_that_grows_with_bytes_and_time() {
        Keeper::in_new_folder(async |keeper| {
            let begun = keeper.begun().await;
            let append = async |touched_ms: i64, bytes: u64, created_ms: i64, part: &'static [u8]| {
                // As if it had had many before.
                let parts = PARTS + keeper.find(&begun.id).await.expect("it is there").parts;
                let now = Recording { bytes, parts, created_ms, touched_ms, ..begun.clone() };
                keeper.append(&now, bytes, Bytes::from_static(part)).await
            };
            // However slow the test is, no second of it counts: neither as age, nor behind the last part.
            let at_once = || now_ms() + 900;
            let (later_ms, earlier_ms) = (now_ms() + 1_000_000, now_ms() - 1_000);
            let refused = append(at_once(), 0, later_ms, ONE).await.expect_err("it has too many");
            assert_eq!((refused.status, refused.retry_after_s), (429, Some(PART_RETRY_S)));
            assert_eq!(append(at_once(), 0, earlier_ms, ONE).await, Ok(1));
            let end = append(at_once(), 1, later_ms, LARGE).await.expect("it is not small");
            let refused = append(at_once(), end, later_ms, ONE).await.expect_err("it has too many");
            assert_eq!(refused.status, 429);
            // A second after the part before it, and where the clock was set back behind that.
            assert_eq!(append(earlier_ms, end, later_ms, ONE).await, Ok(end + 1));
            assert_eq!(append(later_ms, end + 1, later_ms, ONE).await, Ok(end + 2));
        });
    }

    #[test]
    fn a_program_that_writes_little_for_a_day_may_push_each_second_of_it() {
        let (day_s, bytes_a_second) = (86_400, 500);
        let parts = |seconds: u64| parts_max(seconds * bytes_a_second, i64::try_from(seconds * 1_000).expect("a day"));
        assert!((0..=day_s).all(|seconds| parts(seconds) > seconds));
        assert_eq!(parts_max(SMALL_BYTES * 7, -5), PARTS + 7);
    }
}
