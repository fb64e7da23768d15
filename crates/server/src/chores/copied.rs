//! All rows of a data folder as they are at one moment; objects from one store to another, each compared with what the rows say.
//! Owns: what was copied. Never: copies an object without a row.

use std::path::Path;

use object_store::path::Path as Key;
use sha2::{Digest, Sha256};
use sqlx::Executor;
use tempfile::NamedTempFile;
use tokio::io::AsyncWriteExt;

use crate::storage::database::{Database, Kind, Older, failed};
use crate::storage::settings::{self, Hold};
use crate::storage::store::{Store, scratch_failed};
use crate::storage::{chunks, contents, scratch};
use crate::words::problem::Problem;
use crate::words::random::hex;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Copied {
    pub contents: u64,
    pub parts: u64,
    pub bytes: u64,
}

/// Into a file that is empty or not there yet, whose path is absolute. Deletions are not held in the copy: nobody copies it.
pub(super) async fn rows(database: &Database, file: &Path) -> Result<Database, Problem> {
    debug_assert_eq!(database.kind, Kind::Sqlite);
    let rows = sqlx::query("VACUUM INTO $1").bind(file.display().to_string());
    if let Err(error) = database.pool.execute(rows).await {
        // Else the place would be taken by nothing.
        let _ = std::fs::remove_file(file);
        return Err(failed(&error));
    }
    let copy = Database::in_file(file, Older::IsRefused).await?;
    settings::release_all_deletions(&copy).await?;
    Ok(copy)
}

/// All that the rows of `database` name, each by a file in `scratch`. `from` is a folder, which has no prefix.
pub(super) async fn objects(
    database: &Database,
    from: &Store,
    to: &Store,
    scratch: &Path,
    hold: &mut Hold,
) -> Result<Copied, Problem> {
    let mut copied = Copied::default();
    for (sha256, bytes) in contents::all(database).await? {
        hold.renew().await?;
        let file = scratch::make(scratch).map_err(|error| scratch_failed(&error))?;
        copy(from, &from.content(&sha256), to, &to.content(&sha256), &file, (bytes, Some(&sha256))).await?;
        copied.contents += 1;
        copied.bytes += bytes;
    }
    for (object, bytes) in chunks::objects(database).await? {
        hold.renew().await?;
        let key = Key::from(object.as_str());
        let file = scratch::make(scratch).map_err(|error| scratch_failed(&error))?;
        copy(from, &key, to, &to.below_prefix(&key), &file, (bytes, None)).await?;
        copied.parts += 1;
        copied.bytes += bytes;
    }
    Ok(copied)
}

/// What was copied is whole even if the hold stays: it ends by itself.
pub(super) async fn let_go(hold: Hold) {
    if let Err(problem) = hold.release().await {
        eprintln!("warning: the server deletes nothing for up to six hours: {}", problem.for_command().title);
    }
}

/// `expected`: its bytes, and their hash where the rows have one.
async fn copy(
    from: &Store,
    key: &Key,
    to: &Store,
    to_key: &Key,
    scratch: &NamedTempFile,
    expected: (u64, Option<&str>),
) -> Result<(), Problem> {
    let (bytes, sha256) = expected;
    let mut file = tokio::fs::File::from_std(scratch.reopen().map_err(|error| scratch_failed(&error))?);
    let mut hash = Sha256::new();
    let found = from.copy_into(key, &mut file, |piece| hash.update(piece)).await?;
    file.flush().await.map_err(|error| scratch_failed(&error))?;
    let found_sha256 = hex(&hash.finalize());
    if found != bytes || sha256.is_some_and(|sha256| sha256 != found_sha256) {
        return Err(Problem::new(500, format!("{key} is damaged"))
            .detail(format!("{found} bytes with the hash {found_sha256}; {bytes} bytes were expected"))
            .hint("genba serve check lists all that is wrong"));
    }
    to.put_file(to_key, scratch.path()).await?;
    match to.bytes_of(to_key).await? {
        Some(there) if there == bytes => Ok(()),
        there => Err(Problem::new(500, format!("{to_key} did not arrive"))
            .detail(format!("{there:?} of {bytes} bytes are there"))),
    }
}
