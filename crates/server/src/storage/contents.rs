//! What is in the store under its hash, and how many recordings use it. Equal recordings are stored once.
//! Owns: that an object is never deleted while a recording uses it, whichever of several servers deletes or seals.
//! An object without uses is doomed first (`doomed`: when), in a transaction of its own. Then the server that doomed it forgets its row and
//! deletes the object in one more: the lock of the row keeps a new use waiting meanwhile. Afterwards there is no row, and the object is put
//! anew. Where that transaction is lost, the row is there again while the store may still delete: the doom holds until that is over, and a
//! recording that uses the content afterwards takes the doom away.

use std::collections::HashSet;

use sqlx::{Any, Transaction};

use crate::storage::database::{Database, Statement, roll_back};
use crate::storage::recordings::{count, get, stored};
use crate::storage::settings;
use crate::storage::tokens::commit;
use crate::words::moment::{HOUR_MS, MINUTE_MS, now_ms};
use crate::words::problem::Problem;

/// A server that doomed an object and did not delete it since is dead.
const ABANDONED_MS: i64 = HOUR_MS;
/// Longer than a delete may be on its way to the store: the wait for the row, the store's tries (`storage/store.rs`) and its last request.
const DOOM_HOLDS_MS: i64 = 2 * MINUTE_MS;
/// As if a server had doomed it long ago.
const LONG_AGO_MS: i64 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    Absent,
    Present,
    /// Its object may go at any moment: nobody may use it.
    Doomed,
    /// Its object may be gone, and nobody deletes it any more.
    Abandoned,
}

pub async fn presence(database: &Database, sha256: &str) -> Result<Presence, Problem> {
    let mut statement = Statement::new("SELECT doomed FROM contents WHERE sha256 = ");
    statement.value(sha256.to_owned());
    Ok(match statement.rows(database).await?.first().map(|row| get::<i64>(row, "doomed")).transpose()? {
        None => Presence::Absent,
        Some(0) => Presence::Present,
        Some(doomed_ms) if doomed_ms >= now_ms() - DOOM_HOLDS_MS => Presence::Doomed,
        Some(_) => Presence::Abandoned,
    })
}

/// One more recording uses it, and until the transaction ends nobody deletes its object. An abandoned one is doomed no more. False: it is
/// doomed, or was not put and is gone. Whether the object is there the caller looks afterwards: it may have been deleted just before.
pub async fn begin_use(
    transaction: &mut Transaction<'static, Any>,
    sha256: &str,
    bytes: u64,
    was_put: bool,
) -> Result<bool, Problem> {
    if was_put {
        let mut statement = Statement::new("INSERT INTO contents (sha256, bytes, uses, doomed) VALUES (");
        statement.value(sha256.to_owned());
        statement.say(", ");
        statement.value(stored(bytes));
        statement.say(
            ", 1, 0) ON CONFLICT (sha256) DO UPDATE SET uses = contents.uses + 1, doomed = 0 WHERE contents.doomed < ",
        );
        statement.value(now_ms() - DOOM_HOLDS_MS);
        return Ok(statement.execute(transaction).await? == 1);
    }
    let mut statement = Statement::new("UPDATE contents SET uses = uses + 1, doomed = 0 WHERE sha256 = ");
    statement.value(sha256.to_owned());
    statement.say(" AND doomed < ");
    statement.value(now_ms() - DOOM_HOLDS_MS);
    Ok(statement.execute(transaction).await? == 1)
}

pub async fn end_use(transaction: &mut Transaction<'static, Any>, sha256: &str) -> Result<(), Problem> {
    let mut statement = Statement::new("UPDATE contents SET uses = uses - 1 WHERE uses > 0 AND sha256 = ");
    statement.value(sha256.to_owned());
    statement.execute(transaction).await.map(drop)
}

/// All that nobody uses; those included that a server doomed which then died.
pub async fn unused(database: &Database) -> Result<Vec<String>, Problem> {
    let mut statement = Statement::new("SELECT sha256 FROM contents WHERE uses = 0 AND (doomed = 0 OR doomed < ");
    statement.value(now_ms() - ABANDONED_MS);
    statement.say(")");
    let rows = statement.rows(database).await?;
    rows.iter().map(|row| get(row, "sha256")).collect()
}

/// For the caller alone to delete. False: a recording uses it by now, another server has doomed it, or a backup holds deletions.
pub async fn doom(database: &Database, sha256: &str, now_ms: i64) -> Result<bool, Problem> {
    let mut transaction = database.begin().await?;
    // Looked for here and not before: a backup copies all that is not doomed when it begins.
    if settings::are_deletions_held_within(&mut transaction).await? {
        roll_back(transaction).await?;
        return Ok(false);
    }
    let mut statement = Statement::new("UPDATE contents SET doomed = ");
    statement.value(now_ms);
    statement.say(" WHERE sha256 = ");
    statement.value(sha256.to_owned());
    statement.say(" AND uses = 0 AND (doomed = 0 OR doomed < ");
    statement.value(now_ms - ABANDONED_MS);
    statement.say(")");
    let is_doomed = statement.execute(&mut transaction).await? == 1;
    commit(transaction).await?;
    Ok(is_doomed)
}

/// For whoever doomed it and sent nothing to the store: it may be used again at once. Whether its object is there nobody knows, where a dead
/// server had doomed it before.
pub async fn spare(database: &Database, sha256: &str, doomed_ms: i64) -> Result<(), Problem> {
    let mut transaction = database.begin().await?;
    let mut statement = Statement::new("UPDATE contents SET doomed = ");
    statement.value(LONG_AGO_MS);
    statement.say(" WHERE sha256 = ");
    statement.value(sha256.to_owned());
    statement.say(" AND doomed = ");
    statement.value(doomed_ms);
    statement.execute(&mut transaction).await?;
    commit(transaction).await
}

/// Its object may be deleted until the transaction ends. False: a recording uses it anew, or another server doomed it since.
pub async fn forget(
    transaction: &mut Transaction<'static, Any>,
    sha256: &str,
    doomed_ms: i64,
) -> Result<bool, Problem> {
    let mut statement = Statement::new("DELETE FROM contents WHERE sha256 = ");
    statement.value(sha256.to_owned());
    statement.say(" AND doomed = ");
    statement.value(doomed_ms);
    Ok(statement.execute(transaction).await? == 1)
}

/// Of an object without a row: one that no recording uses, so that it is deleted as every other is.
pub async fn adopt(database: &Database, sha256: &str, bytes: u64) -> Result<(), Problem> {
    let mut transaction = database.begin().await?;
    let mut statement = Statement::new("INSERT INTO contents (sha256, bytes, uses, doomed) VALUES (");
    statement.value(sha256.to_owned());
    statement.say(", ");
    statement.value(stored(bytes));
    // A recording may have begun to use it.
    statement.say(", 0, 0) ON CONFLICT (sha256) DO NOTHING");
    statement.execute(&mut transaction).await?;
    commit(transaction).await
}

/// Of all rows, the doomed ones included.
pub async fn hashes(database: &Database) -> Result<HashSet<String>, Problem> {
    let rows = Statement::new("SELECT sha256 FROM contents").rows(database).await?;
    rows.iter().map(|row| get(row, "sha256")).collect()
}

/// Hash and size of each, in the order of their hashes.
pub async fn all(database: &Database) -> Result<Vec<(String, u64)>, Problem> {
    let rows =
        Statement::new("SELECT sha256, bytes FROM contents WHERE doomed = 0 ORDER BY sha256").rows(database).await?;
    rows.iter().map(|row| Ok((get(row, "sha256")?, count(row, "bytes")?))).collect()
}
