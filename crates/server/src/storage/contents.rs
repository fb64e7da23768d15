//! What is in the store under its hash, and how many recordings use it. Equal recordings are stored once.
//! Owns: that an object is never deleted while a recording uses it, whichever of several servers deletes or seals.
//! An object without uses is doomed first (`doomed`: when), in a statement that no new use can overtake. Then the server that doomed it
//! forgets its row and deletes the object in one transaction: the lock of the row keeps a new use waiting meanwhile. A recording that uses
//! a doomed one before that takes the doom away. Afterwards there is no row, and the object is put anew.

use std::collections::HashSet;

use sqlx::{Any, Transaction};

use crate::storage::database::{Database, Statement};
use crate::storage::recordings::{count, get, stored};
use crate::storage::tokens::commit;
use crate::words::moment::HOUR_MS;
use crate::words::problem::Problem;

/// A server that doomed an object and did not delete it since is dead.
const ABANDONED_MS: i64 = HOUR_MS;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    Absent,
    Present,
    /// Its object may be gone already.
    Doomed,
}

pub async fn presence(database: &Database, sha256: &str) -> Result<Presence, Problem> {
    let mut statement = Statement::new("SELECT doomed FROM contents WHERE sha256 = ");
    statement.value(sha256.to_owned());
    Ok(match statement.rows(database).await?.first().map(|row| get::<i64>(row, "doomed")).transpose()? {
        None => Presence::Absent,
        Some(0) => Presence::Present,
        Some(_) => Presence::Doomed,
    })
}

/// One more recording uses it, and until the transaction ends nobody deletes its object. A doomed one is doomed no more. False: it was
/// not put, and is gone. Whether the object is there the caller looks afterwards: it may have been deleted just before.
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
        statement.say(", 1, 0) ON CONFLICT (sha256) DO UPDATE SET uses = contents.uses + 1, doomed = 0");
        return Ok(statement.execute(transaction).await? == 1);
    }
    let mut statement = Statement::new("UPDATE contents SET uses = uses + 1, doomed = 0 WHERE sha256 = ");
    statement.value(sha256.to_owned());
    Ok(statement.execute(transaction).await? == 1)
}

pub async fn end_use(transaction: &mut Transaction<'static, Any>, sha256: &str) -> Result<(), Problem> {
    let mut statement = Statement::new("UPDATE contents SET uses = uses - 1 WHERE uses > 0 AND sha256 = ");
    statement.value(sha256.to_owned());
    statement.execute(transaction).await.map(drop)
}

/// All that nobody uses, for the caller alone to delete; those included that a server doomed which then died.
pub async fn doom_unused(database: &Database, now_ms: i64) -> Result<Vec<String>, Problem> {
    let mut transaction = database.begin().await?;
    let mut statement = Statement::new("UPDATE contents SET doomed = ");
    statement.value(now_ms);
    statement.say(" WHERE uses = 0 AND (doomed = 0 OR doomed < ");
    statement.value(now_ms - ABANDONED_MS);
    statement.say(") RETURNING sha256");
    let rows = statement.rows_within(&mut transaction).await?;
    commit(transaction).await?;
    rows.iter().map(|row| get(row, "sha256")).collect()
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
