//! `genba serve backup TO`: the data folder as it is now, into another folder, while uploads go on.
//! Owns: the order: nothing is deleted while it copies, then all rows at one moment, then the objects that these name, and the name of the database
//! last.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::chores::copied::{self, Copied};
use crate::chores::place::{Place, done, is_unfinished};
use crate::storage::database::{Database, FILE, UNFINISHED};
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
    if is_unfinished(to) {
        return Err(taken(to));
    }
    if to.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(not_empty(to));
    }
    done(async {
        let (database, store) = place.existing()?.storage().await?;
        target.make_folder(to)?;
        let scratch = place.scratch()?;
        let mut hold = settings::hold_deletions(&database).await?;
        let copied = copy(&database, &store, to, &scratch, &mut hold).await;
        copied::let_go(hold).await;
        database.close().await;
        copied
    })
}

async fn copy(
    database: &Database,
    store: &Store,
    to: &Path,
    scratch: &Path,
    hold: &mut Hold,
) -> Result<Copied, Problem> {
    let to = std::path::absolute(to).map_err(|error| Problem::internal("the folder", &error))?;
    let unfinished = take_place(&to)?;
    let rows = copied::rows(database, &unfinished).await?;
    let target = Store::embedded(&to)?;
    let copied = copied::objects(&rows, store, &target, scratch, hold).await;
    rows.close().await;
    let copied = copied?;
    finish(&unfinished, &to).map_err(|error| not_written(&to, &error))?;
    Ok(copied)
}

/// The database's file, still empty: SQLite fills such a one. Of two backups into one folder only one can make it.
fn take_place(to: &Path) -> Result<PathBuf, Problem> {
    let unfinished = to.join(UNFINISHED);
    File::create_new(&unfinished).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => taken(to),
        _ => not_written(to, &error),
    })?;
    // Another one may have ended since somebody looked.
    if to.join(FILE).exists() {
        let _ = std::fs::remove_file(&unfinished);
        return Err(not_empty(to));
    }
    Ok(unfinished)
}

/// Whatever the moment at which the machine stops: under its own name the database is whole, and so are the objects, which were synced before.
fn finish(unfinished: &Path, to: &Path) -> std::io::Result<()> {
    File::open(unfinished)?.sync_all()?;
    std::fs::rename(unfinished, to.join(FILE))?;
    File::open(to)?.sync_all()?;
    // Where the folder's own name is, which may be new.
    to.parent().map_or(Ok(()), |parent| File::open(parent)?.sync_all())
}

fn taken(to: &Path) -> Problem {
    Problem::conflict(format!("another backup into {} is running, or has failed", to.display()))
        .hint("name a folder that does not exist yet; what a failed backup left can be removed")
}

fn not_empty(to: &Path) -> Problem {
    Problem::conflict(format!("{} is not empty", to.display())).hint("name a folder that does not exist yet")
}

fn not_written(to: &Path, error: &std::io::Error) -> Problem {
    Problem::new(503, format!("cannot write into {}", to.display())).detail(error.to_string())
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use sha2::{Digest, Sha256};

    use crate::chores::check::check;
    use crate::storage::contents;
    use crate::words::random::hex;

    use super::*;

    const CONTENT: &[u8] = b"some bytes";

    fn names(folder: &Path) -> Vec<String> {
        let entries = folder.read_dir().expect("a folder").map(|entry| entry.expect("an entry").file_name());
        let mut names: Vec<String> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    fn changed(place: &Place, change: impl AsyncFnOnce(Database, Store) -> Result<(), Problem>) {
        done(async {
            let (database, store) = place.storage().await?;
            change(database.clone(), store).await?;
            database.close().await;
            Ok(())
        })
        .expect("a data folder");
    }

    #[test]
    fn of_two_backups_that_found_the_folder_empty_one_takes_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let unfinished = take_place(folder.path()).expect("nobody was here");
        let problem = take_place(folder.path()).expect_err("another one was");
        assert!(problem.status == 409 && problem.title.contains("another backup"), "{problem:?}");
        // The other one ended in between.
        finish(&unfinished, folder.path()).expect("it has its name");
        let problem = take_place(folder.path()).expect_err("it is there");
        assert!(problem.status == 409 && problem.title.contains("is not empty"), "{problem:?}");
        assert_eq!(names(folder.path()), [FILE]);
    }

    #[test]
    fn a_backup_without_all_objects_is_nothing_to_serve() {
        let folder = tempfile::tempdir().expect("a folder");
        let in_folder = |name: &str| Place { data: folder.path().join(name), db: None, store: None };
        let (place, torn, whole) = (in_folder("data"), in_folder("torn"), in_folder("whole"));
        let sha256 = hex(&Sha256::digest(CONTENT));
        // Its object is missing.
        changed(&place, async |database, _| contents::adopt(&database, &sha256, CONTENT.len() as u64).await);
        backup(&place, &torn.data).expect_err("an object is missing");
        assert_eq!(names(&torn.data), [UNFINISHED, "objects"]);
        let problem = check(&torn).expect_err("it is not whole");
        assert!(problem.title.contains("is not finished") && problem.hint.is_some(), "{problem:?}");
        let served = done(async { torn.storage().await.map(drop) });
        assert_eq!(served, Err(problem));
        let again = backup(&place, &torn.data).expect_err("the folder is taken");
        assert!(again.title.contains("another backup into") && again.hint.is_some(), "{again:?}");
        changed(&place, async |_, store| store.put(&store.content(&sha256), Bytes::from_static(CONTENT)).await);
        backup(&place, &whole.data).expect("a backup");
        assert_eq!(names(&whole.data), [FILE, "objects"]);
        let checked = check(&whole).expect("it can be checked");
        assert!(checked.contents == 1 && checked.faults.is_empty(), "{checked:?}");
    }
}
