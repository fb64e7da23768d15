//! `genba serve move`: all rows and objects from a data folder to a database and a store that many servers share.
//! Owns: the order: rows at one moment, the objects that these name, a check, and the rows' commit last. What the folder's server takes meanwhile
//! stays behind.

use std::path::Path;

use futures_util::StreamExt;
use object_store::path::Path as Key;
use sqlx::any::AnyRow;
use sqlx::{Row, ValueRef};

use crate::chores::check::checked;
use crate::chores::copied::{self, Copied};
use crate::chores::place::{Place, done};
use crate::storage::database::{Database, FILE, Statement, failed};
use crate::storage::recordings::get;
use crate::storage::scratch;
use crate::storage::settings::{self, Hold};
use crate::storage::store::{Store, scratch_failed};
use crate::storage::tokens::commit;
use crate::words::problem::Problem;

/// Names of columns; those of whole numbers end with `#`.
const TABLES: [(&str, &[&str]); 8] = [
    ("settings", &["name", "value"]),
    ("tokens", &["name", "hash", "scopes", "made_ms#", "expires_ms#", "used_ms#", "revoked_ms#"]),
    ("sessions", &["hash", "token", "expires_ms#"]),
    ("contents", &["sha256", "bytes#", "uses#", "doomed#"]),
    ("chunks", &["recording", "starts_at#", "bytes#", "object"]),
    ("terms", &["kind", "word", "created_ms#", "recording"]),
    (
        "links",
        &[
            "code",
            "recording",
            "made_by",
            "made_ms#",
            "expires_ms#",
            "revoked_ms#",
            "revoked_by",
            "needs_token#",
            "fragment",
            "opened#",
        ],
    ),
    (
        "recordings",
        &[
            "id",
            "name",
            "state",
            "live#",
            "listed#",
            "owner",
            "host",
            "tags",
            "created_ms#",
            "touched_ms#",
            "sealed_ms#",
            "bytes#",
            "parts#",
            "sha256",
            "program",
            "cpu_ns#",
            "wall_ns#",
            "facts",
        ],
    ),
];
/// Rows of one statement.
const ROWS: usize = 200;
/// Of PostgreSQL, where each move leads.
const LOCK: &str = "LOCK TABLE recordings, contents, tokens IN SHARE ROW EXCLUSIVE MODE";

pub fn move_to(from: &Place, to: &Place) -> Result<Copied, Problem> {
    if from.db.is_some() || from.store.is_some() {
        return Err(
            Problem::bad_request("genba serve move copies a data folder").detail("--db and --store say where to")
        );
    }
    if to.db.is_none() || to.store.is_none() {
        return Err(Problem::bad_request("genba serve move wants to know where to")
            .hint("genba serve move --data DIR --db postgres://… --store s3://BUCKET"));
    }
    done(async {
        let (database, store) = from.existing()?.storage().await?;
        let (to_database, to_store) = to.storage().await?;
        if !used().rows(&to_database).await?.is_empty() {
            return Err(not_empty());
        }
        let scratch = from.scratch()?;
        // Of a move that was killed, before this one needs the room.
        scratch::clear(&scratch);
        let folder = scratch::make_folder(&scratch).map_err(|error| scratch_failed(&error))?;
        let mut hold = settings::hold_deletions(&database).await?;
        let copied = copy(&database, &store, folder.path(), &to_store, &mut hold).await;
        copied::let_go(hold).await;
        database.close().await;
        let (rows, copied) = copied?;
        let moved = move_rows(&rows, &to_database, &to_store).await;
        rows.close().await;
        to_database.close().await;
        moved.map(|()| copied)
    })
}

/// The rows as they are at one moment, in a folder for them, and all objects that they name: a server of the source may go on meanwhile.
async fn copy(
    database: &Database,
    from: &Store,
    folder: &Path,
    to: &Store,
    hold: &mut Hold,
) -> Result<(Database, Copied), Problem> {
    let folder = std::path::absolute(folder).map_err(|error| Problem::internal("the scratch folder", &error))?;
    let rows = copied::rows(database, &folder.join(FILE)).await?;
    match copied::objects(&rows, from, to, &folder, hold).await {
        Ok(copied) => Ok((rows, copied)),
        Err(problem) => {
            rows.close().await;
            Err(problem)
        }
    }
}

/// Last, in one transaction: before its end nobody sees anything, and a move that failed can be made again.
async fn move_rows(rows: &Database, to: &Database, to_store: &Store) -> Result<(), Problem> {
    name_parts(rows, to_store).await?;
    if let Some(fault) = checked(rows, to_store).await?.faults.first() {
        return Err(Problem::new(500, "what was copied is not whole").detail(fault.clone()));
    }
    let mut transaction = to.begin().await?;
    // Until it ends nobody else writes there: no server, and no second move that found it empty as well.
    Statement::new(LOCK).execute(&mut transaction).await?;
    if !used().rows_within(&mut transaction).await?.is_empty() {
        return Err(not_empty());
    }
    for (table, columns) in TABLES {
        let mut read = all_rows(table, columns).stream(rows);
        let mut batch = Vec::with_capacity(ROWS);
        while let Some(row) = read.next().await {
            batch.push(row.map_err(|error| failed(&error))?);
            if batch.len() == ROWS {
                write(table, columns, &batch)?.execute(&mut transaction).await?;
                batch.clear();
            }
        }
        if !batch.is_empty() {
            write(table, columns, &batch)?.execute(&mut transaction).await?;
        }
    }
    commit(transaction).await
}

/// As the other store does.
async fn name_parts(rows: &Database, to: &Store) -> Result<(), Problem> {
    let prefix = to.below_prefix(&Key::default());
    if prefix == Key::default() {
        return Ok(());
    }
    let mut statement = Statement::new("UPDATE chunks SET object = ");
    statement.value(format!("{prefix}/"));
    statement.say(" || object");
    let mut transaction = rows.begin().await?;
    statement.execute(&mut transaction).await?;
    commit(transaction).await
}

/// A row where somebody has used the database.
fn used() -> Statement {
    Statement::new(
        "SELECT 1 AS used FROM recordings UNION ALL SELECT 1 FROM contents UNION ALL SELECT 1 FROM tokens LIMIT 1",
    )
}

fn not_empty() -> Problem {
    Problem::conflict("the database is not empty").detail("it has recordings, contents or tokens already")
}

fn all_rows(table: &'static str, columns: &[&'static str]) -> Statement {
    let mut statement = Statement::new("SELECT ");
    say_names(&mut statement, columns);
    statement.say(" FROM ");
    statement.say(table);
    statement
}

fn write(table: &'static str, columns: &[&'static str], rows: &[AnyRow]) -> Result<Statement, Problem> {
    let mut statement = Statement::new("INSERT INTO ");
    statement.say(table);
    statement.say(" (");
    say_names(&mut statement, columns);
    statement.say(") VALUES ");
    for (position, row) in rows.iter().enumerate() {
        statement.say(if position == 0 { "(" } else { ", (" });
        for (place, column) in columns.iter().enumerate() {
            if place > 0 {
                statement.say(", ");
            }
            let name = column.trim_end_matches('#');
            let is_null = row.try_get_raw(name).map_err(|error| failed(&error))?.is_null();
            match (column.ends_with('#'), is_null) {
                (true, true) => statement.value(None::<i64>),
                (true, false) => statement.value(get::<i64>(row, name)?),
                (false, true) => statement.value(None::<String>),
                (false, false) => statement.value(get::<String>(row, name)?),
            }
        }
        statement.say(")");
    }
    if table == "settings" {
        // A server that was started there may have made some.
        statement.say(" ON CONFLICT (name) DO UPDATE SET value = excluded.value");
    }
    Ok(statement)
}

fn say_names(statement: &mut Statement, columns: &[&'static str]) {
    for (place, column) in columns.iter().enumerate() {
        if place > 0 {
            statement.say(", ");
        }
        statement.say(column.trim_end_matches('#'));
    }
}
