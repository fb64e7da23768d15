//! `genba serve backup TO`: the data folder as it is now, into another folder, while uploads go on.
//! Owns: the order: nothing is deleted while it copies, then all rows at one moment, then the objects that these name.

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;

use sqlx::Executor;

use crate::chores::copied::{self, Copied};
use crate::chores::place::{Place, done};
use crate::storage::database::{Database, FILE, Kind, failed};
use crate::storage::settings::{self, Hold};
use crate::storage::store::Store;
use crate::words::problem::Problem;

/// `to`: a folder that is not there yet, or is empty.
pub fn backup(place: &Place, to: &Path) -> Result<Copied, Problem> {
    if place.db.is_some() || place.store.is_some() {
        return Err(Problem::bad_request("genba serve backup copies a data folder")
            .detail("a server with --db or --store has its data elsewhere")
            .hint("pg_dump copies the database; copy the bucket after it, never before (docs/serve.md)"));
    }
    let target = Place { data: to.to_owned(), db: None, store: None };
    if to.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(
            Problem::conflict(format!("{} is not empty", to.display())).hint("name a folder that does not exist yet")
        );
    }
    done(async {
        let (database, store) = place.existing()?.storage().await?;
        target.make_folder(to)?;
        let mut hold = settings::hold_deletions(&database).await?;
        let copied = copy(&database, &store, to, &mut hold).await;
        hold.release().await?;
        database.close().await;
        copied
    })
}

async fn copy(database: &Database, store: &Store, to: &Path, hold: &mut Hold) -> Result<Copied, Problem> {
    debug_assert_eq!(database.kind, Kind::Sqlite);
    take_place(to)?;
    let file = to.join(FILE);
    let rows = sqlx::query("VACUUM INTO $1").bind(file.display().to_string());
    if let Err(error) = database.pool.execute(rows).await {
        // Else an empty one would pass for that of a server without recordings.
        let _ = std::fs::remove_file(&file);
        return Err(failed(&error));
    }
    let to = std::path::absolute(to).map_err(|error| Problem::internal("the folder", &error))?;
    let (copy, target) = (Database::embedded(&to).await?, Store::embedded(&to)?);
    settings::release_all_deletions(&copy).await?;
    let copied = copied::objects(&copy, store, &target, hold).await;
    copy.close().await;
    copied
}

/// The database's file, still empty: SQLite fills such a one. Of two backups into one folder only one can make it.
fn take_place(to: &Path) -> Result<(), Problem> {
    File::create_new(to.join(FILE)).map(drop).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Problem::conflict(format!("another backup into {} is under way", to.display()))
            .hint("name a folder that does not exist yet"),
        _ => Problem::new(503, format!("cannot write into {}", to.display())).detail(error.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_backups_that_found_the_folder_empty_one_takes_it() {
        let folder = tempfile::tempdir().expect("a folder");
        take_place(folder.path()).expect("nobody was here");
        let problem = take_place(folder.path()).expect_err("another one was");
        assert!(problem.status == 409 && problem.title.contains("another backup"), "{problem:?}");
    }
}
