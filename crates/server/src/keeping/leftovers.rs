//! What nobody needs any more: recordings that are older than they are kept, uploads that nobody went on with, objects without a row,
//! files of a server that was killed.
//! Owns: how long each may lie. Never: deletes an object that a row names.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use object_store::path::Path as Key;
use sqlx::{Any, Transaction};

use crate::keeping::keeper::Keeper;
use crate::storage::database::{Database, roll_back};
use crate::storage::recordings::{self, Recording, State};
use crate::storage::store::{CONTENT, Listed, Store, UPLOADS};
use crate::storage::tokens::commit;
use crate::storage::{chunks, contents, scratch, settings};
use crate::words::moment::{DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, now_ms};
use crate::words::problem::Problem;

/// A live recording that did not grow since is sealed as it is: the one who sent it is gone, or has no network.
const LIVE_QUIET_MS: i64 = 15 * MINUTE_MS;
/// An upload can be gone on with for so long.
const UPLOAD_KEPT_MS: i64 = 7 * DAY_MS;
/// A part that is being put has no row yet.
const PART_KEPT_MS: i64 = 6 * HOUR_MS;
/// A content that is being sealed has none, either.
const CONTENT_KEPT_MS: i64 = DAY_MS;
/// How many objects that the database names are looked for before the store is taken for another server's.
const NAMED_MAX: usize = 16;
/// From the doom to the delete. The rest of the time for which a doom holds is the store's.
const DELETED_WITHIN_MS: i64 = 30 * SECOND_MS;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Cleared {
    pub recordings: u64,
    pub uploads: u64,
    pub contents: u64,
    pub parts: u64,
    pub files: u64,
}

impl Keeper {
    /// Once now, as a server does each hour.
    pub async fn clear(&self) -> Result<Cleared, Problem> {
        self.grown.forget_unread(Instant::now());
        let mut cleared = Cleared { files: self.clear_files().await?, ..Cleared::default() };
        if let Some(days) = settings::keep_days(&self.database).await? {
            cleared.recordings = self.prune(now_ms() - i64::from(days) * DAY_MS).await?;
        }
        for quiet in recordings::untouched(&self.database, State::Open, Some(true), now_ms() - LIVE_QUIET_MS).await? {
            // One that can never be read is an upload like any other, until it is deleted. Every other failure says nothing against it.
            let sealed = self.seal_quiet(&quiet).await;
            if sealed.is_err_and(|problem| problem.is_lasting) && quiet.touched_ms < now_ms() - UPLOAD_KEPT_MS {
                cleared.uploads += u64::from(self.delete_if_untouched(&quiet).await?);
            }
        }
        for left in recordings::untouched(&self.database, State::Open, Some(false), now_ms() - UPLOAD_KEPT_MS).await? {
            cleared.uploads += u64::from(self.delete_if_untouched(&left).await?);
        }
        for settled in recordings::sealed_with_parts(&self.database, now_ms() - UPLOAD_KEPT_MS).await? {
            self.end_reopening(&settled).await?;
        }
        cleared.contents = self.clear_contents().await?;
        cleared.parts = self.clear_parts().await?;
        Ok(cleared)
    }

    /// Recordings that were sealed before.
    pub async fn prune(&self, before_ms: i64) -> Result<u64, Problem> {
        let old = recordings::untouched(&self.database, State::Sealed, None, before_ms).await?;
        let is_old = |recording: &&Recording| recording.sealed_ms.is_some_and(|sealed_ms| sealed_ms < before_ms);
        let mut pruned = 0;
        for recording in old.iter().filter(is_old) {
            // Another server may be first, or its program may have gone on with it.
            pruned += u64::from(self.delete_if_untouched(recording).await?);
        }
        Ok(pruned)
    }

    /// Deletes the contents of `unnamed_contents`; their number, and their bytes. Only when an admin wants it: a server that was started with
    /// an older database finds all that is younger unnamed.
    pub async fn clear_unnamed(&self) -> Result<(u64, u64), Problem> {
        if settings::are_deletions_held(&self.database).await? {
            return Ok((0, 0));
        }
        let (mut cleared, mut cleared_bytes) = (0, 0);
        for (sha256, bytes) in unnamed_contents(&self.database, &self.store).await? {
            contents::adopt(&self.database, &sha256, bytes).await?;
            cleared += 1;
            cleared_bytes += bytes;
        }
        self.clear_contents().await?;
        Ok((cleared, cleared_bytes))
    }

    pub async fn clear_contents(&self) -> Result<u64, Problem> {
        if settings::are_deletions_held(&self.database).await? {
            return Ok(0);
        }
        let (database, store, clearing) = (self.database.clone(), self.store.clone(), Arc::clone(&self.clearing));
        // A task of its own: a client that goes ends its handler, and with it the transaction, but not the delete that is on its way.
        let deleting = tokio::spawn(async move {
            // One after the other: many who delete at once would take all connections of the database.
            let _turn = clearing.lock().await;
            delete_unused(&database, &store).await
        });
        deleting.await.map_err(|error| Problem::internal("deleting contents", &error))?
    }

    /// Scratch files, and objects that were being written.
    async fn clear_files(&self) -> Result<u64, Problem> {
        let (folder, objects) = (self.scratch.clone(), self.store.folders());
        let clear =
            move || scratch::clear(&folder) + objects.iter().map(|folder| scratch::clear_staged(folder)).sum::<u64>();
        tokio::task::spawn_blocking(clear).await.map_err(|error| Problem::internal("clearing scratch files", &error))
    }

    /// Parts whose row never came, or is gone.
    async fn clear_parts(&self) -> Result<u64, Problem> {
        if settings::are_deletions_held(&self.database).await? {
            return Ok(0);
        }
        let listed = self.store.list(UPLOADS).await?;
        let rows = chunks::objects(&self.database).await?;
        let known: HashSet<&str> = rows.iter().map(|(object, _)| object.as_str()).collect();
        let is_left = |part: &Listed| part.age_ms > PART_KEPT_MS && !known.contains(part.key.as_ref());
        let left: Vec<Listed> = listed.into_iter().filter(is_left).collect();
        if left.is_empty() || !self.has_named_objects().await? {
            return Ok(0);
        }
        let cleared = left.len() as u64;
        self.store.delete_all(left.into_iter().map(|part| part.key).collect()).await?;
        Ok(cleared)
    }

    /// The store has others that the database names, and not this one.
    pub(super) async fn is_lost(&self, key: &Key) -> Result<bool, Problem> {
        Ok(self.store.bytes_of(key).await?.is_none() && self.has_named_objects().await?)
    }

    /// False: a folder that is not mounted, a mistyped bucket, another server's store; or the database knows nothing yet.
    async fn has_named_objects(&self) -> Result<bool, Problem> {
        let contents = contents::all(&self.database).await?.into_iter().take(NAMED_MAX);
        let parts = chunks::objects(&self.database).await?.into_iter().take(NAMED_MAX);
        let parts = parts.map(|(object, _)| Key::from(object));
        for named in contents.map(|(sha256, _)| self.store.content(&sha256)).chain(parts) {
            if self.store.bytes_of(&named).await?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

async fn delete_unused(database: &Database, store: &Store) -> Result<u64, Problem> {
    let mut cleared = 0;
    for sha256 in contents::unused(database).await? {
        let doomed_ms = now_ms();
        if !contents::doom(database, &sha256, doomed_ms).await? {
            // A backup began meanwhile.
            if settings::are_deletions_held(database).await? {
                break;
            }
            continue;
        }
        cleared += u64::from(delete_doomed(database, store, &sha256, doomed_ms).await?);
    }
    Ok(cleared)
}

/// False: somebody may use it by now.
async fn delete_doomed(database: &Database, store: &Store, sha256: &str, doomed_ms: i64) -> Result<bool, Problem> {
    match forgotten(database, sha256, doomed_ms).await {
        Ok(Some(transaction)) => {
            // Before the commit: whoever wants the same content waits for it, and then puts it anew.
            store.delete(&store.content(sha256)).await?;
            commit(transaction).await?;
            Ok(true)
        }
        not_forgotten => {
            // Nothing is on its way to the store: nobody needs to wait until the doom is over.
            let _ = contents::spare(database, sha256, doomed_ms).await;
            not_forgotten.map(|_| false)
        }
    }
}

/// The transaction in which its object may be deleted.
async fn forgotten(
    database: &Database,
    sha256: &str,
    doomed_ms: i64,
) -> Result<Option<Transaction<'static, Any>>, Problem> {
    // While it waits for the store, only the lock of the row keeps others away: the doom may be over by then.
    let mut transaction = database.begin_patient().await?;
    let is_forgotten = contents::forget(&mut transaction, sha256, doomed_ms).await?;
    // A process that was stopped for a while must not delete what somebody may use by now.
    if is_forgotten && now_ms() - doomed_ms < DELETED_WITHIN_MS {
        return Ok(Some(transaction));
    }
    roll_back(transaction).await?;
    Ok(None)
}

/// Contents that the store has and no row names, and that nobody wrote for a day: a seal failed after it had put them. Hash and size of each.
pub async fn unnamed_contents(database: &Database, store: &Store) -> Result<Vec<(String, u64)>, Problem> {
    // The rows come second: what was sealed meanwhile is among them.
    let listed = store.list(CONTENT).await?;
    let known = contents::hashes(database).await?;
    // A store of which the database knows nothing is rather another server's.
    if !listed.iter().any(|object| object.key.filename().is_some_and(|sha256| known.contains(sha256))) {
        return Ok(Vec::new());
    }
    let unnamed = listed.into_iter().filter(|object| object.age_ms > CONTENT_KEPT_MS).filter_map(|object| {
        let sha256 = object.key.filename()?;
        let is_unnamed = !known.contains(sha256) && store.content(sha256) == object.key;
        is_unnamed.then(|| (sha256.to_owned(), object.bytes))
    });
    Ok(unnamed.collect())
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use crate::keeping::uploading::unread_problem;
    use crate::reading::{Refusal, Unread};
    use crate::storage::contents::Presence;

    use super::*;

    #[test]
    fn what_another_server_deleted_first_ends_no_chore() {
        Keeper::in_new_folder(async |keeper| {
            let recording = keeper.begun().await;
            assert_eq!(keeper.delete_if_untouched(&recording).await, Ok(true));
            assert_eq!(keeper.delete_if_untouched(&recording).await, Ok(false));
        });
    }

    #[test]
    fn nothing_is_doomed_while_any_backup_holds_deletions() {
        Keeper::in_new_folder(async |Keeper { database, store, .. }| {
            let sha256 = "ab".repeat(32);
            contents::adopt(&database, &sha256, 10).await.expect("a row");
            let held = settings::hold_deletions(&database).await.expect("a setting");
            let by_another = settings::hold_deletions(&database).await.expect("a setting");
            // As for whoever looked just before, and waited for its turn.
            assert_eq!(delete_unused(&database, &store).await, Ok(0));
            assert_eq!(contents::presence(&database, &sha256).await, Ok(Presence::Present));
            // The other backup is still under way.
            held.release().await.expect("no setting");
            assert_eq!(delete_unused(&database, &store).await, Ok(0));
            by_another.release().await.expect("no setting");
            assert_eq!(delete_unused(&database, &store).await, Ok(1));
            assert_eq!(contents::presence(&database, &sha256).await, Ok(Presence::Absent));
        });
    }

    #[test]
    fn what_was_doomed_and_not_deleted_may_be_used_at_once() {
        Keeper::in_new_folder(async |Keeper { database, store, .. }| {
            let sha256 = "ab".repeat(32);
            contents::adopt(&database, &sha256, 10).await.expect("a row");
            let object = store.content(&sha256);
            store.put(&object, Bytes::from_static(b"some bytes")).await.expect("it is put");
            // As by a process that was stopped since.
            let doomed_ms = now_ms() - DELETED_WITHIN_MS - SECOND_MS;
            assert_eq!(contents::doom(&database, &sha256, doomed_ms).await, Ok(true));
            assert_eq!(contents::presence(&database, &sha256).await, Ok(Presence::Doomed));
            assert_eq!(delete_doomed(&database, &store, &sha256, doomed_ms).await, Ok(false));
            assert_eq!(contents::presence(&database, &sha256).await, Ok(Presence::Abandoned));
            assert_eq!(store.bytes_of(&object).await, Ok(Some(10)));
            // And deleted with the next chore.
            assert_eq!(delete_unused(&database, &store).await, Ok(1));
            assert_eq!(store.bytes_of(&object).await, Ok(None));
        });
    }

    #[test]
    fn only_what_is_said_of_the_recording_itself_deletes_it() {
        let words = || "words".to_owned();
        let refusal = Refusal { title: words(), detail: None, hint: None };
        for lasting in [Unread::Refused(refusal), Unread::TooLarge { words: words() }] {
            assert!(unread_problem(&lasting).is_lasting, "{lasting:?}");
        }
        let passing = [
            Unread::TooLong { words: words() },
            Unread::Broken { words: words() },
            Unread::Busy,
            Unread::NotFetched(Problem::internal("the store", &"has no folder")),
            Unread::NotFetched(Problem::disk_full()),
        ];
        for passing in passing {
            assert!(!unread_problem(&passing).is_lasting, "{passing:?}");
        }
        assert!(!Problem::conflict("it grew").is_lasting && !Problem::not_found("recording").is_lasting);
    }

    #[test]
    fn parts_without_a_row_stay_in_a_store_of_which_the_database_knows_nothing() {
        Keeper::in_new_folder(async |keeper| {
            let key = keeper.store.new_part("another").expect("a key");
            keeper.store.put(&key, Bytes::from_static(b"some bytes")).await.expect("it is put");
            let path = keeper.store.file(&key).expect("a file");
            let file = std::fs::File::options().write(true).open(path).expect("it is there");
            let long = std::time::Duration::from_secs(7 * 3_600);
            file.set_modified(std::time::SystemTime::now() - long).expect("a time");
            assert_eq!(keeper.clear_parts().await, Ok(0));
            keeper.append(&keeper.begun().await, 0, Bytes::from_static(b"some bytes")).await.expect("a part");
            assert_eq!(keeper.clear_parts().await, Ok(1));
        });
    }

    #[test]
    fn a_part_is_lost_where_the_store_has_others_and_not_where_it_has_none() {
        Keeper::in_new_folder(async |keeper| {
            let (lost, other) = (keeper.begun().await, keeper.begun().await);
            for recording in [&lost, &other] {
                keeper.append(recording, 0, Bytes::from_static(b"some bytes")).await.expect("a part");
            }
            let object = async |id: &str| {
                let parts = chunks::of_recording(&keeper.database, id).await.expect("parts");
                Key::from(parts.first().expect("one part").object.as_str())
            };
            let lost = keeper.find(&lost.id).await.expect("it is there");
            keeper.store.delete(&object(&lost.id).await).await.expect("it is deleted");
            assert!(keeper.seal_quiet(&lost).await.expect_err("a part is lost").is_lasting);
            // As where the folder is not mounted.
            keeper.store.delete(&object(&other.id).await).await.expect("it is deleted");
            assert!(!keeper.seal_quiet(&lost).await.expect_err("nothing is there").is_lasting);
        });
    }
}
