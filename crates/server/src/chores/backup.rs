//! `genba serve backup TO`: the data folder as it is now, into another folder, while uploads go on.
//! Owns: the order: nothing is deleted while it copies, then all rows at one moment, then the objects that these name.

use std::path::Path;

use sqlx::Executor;

use crate::chores::copied::{self, Copied};
use crate::chores::place::{Place, done};
use crate::storage::database::{Database, FILE, Kind, failed};
use crate::storage::settings;
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
        settings::hold_deletions(&database, true).await?;
        let copied = copy(&database, &store, to).await;
        settings::hold_deletions(&database, false).await?;
        database.close().await;
        copied
    })
}

async fn copy(database: &Database, store: &Store, to: &Path) -> Result<Copied, Problem> {
    debug_assert_eq!(database.kind, Kind::Sqlite);
    let file = to.join(FILE).display().to_string();
    let rows = sqlx::query("VACUUM INTO $1").bind(file);
    database.pool.execute(rows).await.map_err(|error| failed(&error))?;
    let to = std::path::absolute(to).map_err(|error| Problem::internal("the folder", &error))?;
    let (copy, target) = (Database::embedded(&to).await?, Store::embedded(&to)?);
    settings::hold_deletions(&copy, false).await?;
    let copied = copied::objects(&copy, store, &target).await;
    copy.close().await;
    copied
}
