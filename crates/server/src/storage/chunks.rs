//! The parts of recordings that may still grow: which object holds which bytes.
//! Owns: their order. Never: has a row whose object is not on the disk.

use sqlx::{Any, Transaction};

use crate::storage::database::{Database, Statement};
use crate::storage::recordings::{count, get, stored};
use crate::words::problem::Problem;

#[derive(Clone, Debug)]
pub struct Chunk {
    pub starts_at: u64,
    pub bytes: u64,
    pub object: String,
}

pub async fn insert(
    transaction: &mut Transaction<'static, Any>,
    recording: &str,
    chunk: &Chunk,
) -> Result<(), Problem> {
    let mut statement = Statement::new("INSERT INTO chunks (recording, starts_at, bytes, object) VALUES (");
    statement.value(recording.to_owned());
    statement.say(", ");
    statement.value(stored(chunk.starts_at));
    statement.say(", ");
    statement.value(stored(chunk.bytes));
    statement.say(", ");
    statement.value(chunk.object.clone());
    statement.say(")");
    statement.execute(transaction).await.map(drop)
}

/// From the recording's beginning on.
pub async fn of_recording(database: &Database, recording: &str) -> Result<Vec<Chunk>, Problem> {
    of_recording_behind(database, recording, 0).await
}

/// Those that begin behind its first `from` bytes.
pub async fn of_recording_behind(database: &Database, recording: &str, from: u64) -> Result<Vec<Chunk>, Problem> {
    let mut statement = Statement::new("SELECT starts_at, bytes, object FROM chunks WHERE recording = ");
    statement.value(recording.to_owned());
    statement.say(" AND starts_at >= ");
    statement.value(stored(from));
    statement.say(" ORDER BY starts_at");
    let rows = statement.rows(database).await?;
    rows.iter()
        .map(|row| {
            Ok(Chunk { starts_at: count(row, "starts_at")?, bytes: count(row, "bytes")?, object: get(row, "object")? })
        })
        .collect()
}

/// Whether there is one, as the transaction sees it.
pub async fn are_any(transaction: &mut Transaction<'static, Any>, recording: &str) -> Result<bool, Problem> {
    let mut statement = Statement::new("SELECT starts_at FROM chunks WHERE recording = ");
    statement.value(recording.to_owned());
    statement.say(" LIMIT 1");
    Ok(!statement.rows_within(transaction).await?.is_empty())
}

/// Of all uploads.
pub async fn objects(database: &Database) -> Result<Vec<(String, u64)>, Problem> {
    let rows = Statement::new("SELECT object, bytes FROM chunks").rows(database).await?;
    rows.iter().map(|row| Ok((get(row, "object")?, count(row, "bytes")?))).collect()
}

pub async fn delete(transaction: &mut Transaction<'static, Any>, recording: &str) -> Result<(), Problem> {
    let mut statement = Statement::new("DELETE FROM chunks WHERE recording = ");
    statement.value(recording.to_owned());
    statement.execute(transaction).await.map(drop)
}
