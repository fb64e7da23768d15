//! Settings that all servers of one database share.
//! Owns: their names. Never: those of one process; the command line has them.

use sqlx::any::AnyRow;
use sqlx::{Any, Transaction};

use crate::storage::database::{Database, Statement};
use crate::storage::recordings::get;
use crate::storage::tokens::commit;
use crate::words::moment::{HOUR_MS, now_ms};
use crate::words::problem::Problem;
use crate::words::random;

const KEEP_DAYS: &str = "keep_days";
/// Of each backup a row of its own, whose name begins so: one that ends releases no other.
const HELD_UNTIL: &str = "deletions_held_until_ms";
const HELD_MS: i64 = 6 * HOUR_MS;

/// None: recordings are kept for good.
pub async fn keep_days(database: &Database) -> Result<Option<u32>, Problem> {
    Ok(find(database, KEEP_DAYS).await?.and_then(|value| value.parse().ok()))
}

pub async fn set_keep_days(database: &Database, days: Option<u32>) -> Result<(), Problem> {
    set(database, KEEP_DAYS, days.map(|days| days.to_string())).await
}

/// While a backup copies objects, none is deleted. It ends by itself, should the one who copies die. The name is for `release_deletions`.
pub async fn hold_deletions(database: &Database) -> Result<String, Problem> {
    forget_ended(database).await?;
    let name = format!("{HELD_UNTIL}:{}", random::id()?);
    set(database, &name, Some((now_ms() + HELD_MS).to_string())).await?;
    Ok(name)
}

/// Rows of backups that were killed.
async fn forget_ended(database: &Database) -> Result<(), Problem> {
    let mut transaction = database.begin().await?;
    let mut statement = say_held(Statement::new("DELETE FROM settings WHERE "));
    statement.say(" AND CAST(value AS BIGINT) < ");
    statement.value(now_ms());
    statement.execute(&mut transaction).await?;
    commit(transaction).await
}

pub async fn release_deletions(database: &Database, held: &str) -> Result<(), Problem> {
    set(database, held, None).await
}

/// Of a copy, which nobody copies yet.
pub async fn release_all_deletions(database: &Database) -> Result<(), Problem> {
    let mut transaction = database.begin().await?;
    say_held(Statement::new("DELETE FROM settings WHERE ")).execute(&mut transaction).await?;
    commit(transaction).await
}

pub async fn are_deletions_held(database: &Database) -> Result<bool, Problem> {
    is_any_ahead(&all_held().rows(database).await?)
}

/// The same as that transaction sees it. SQLite's are one behind the other: a backup that begins later finds what this one changed.
pub async fn are_deletions_held_within(transaction: &mut Transaction<'static, Any>) -> Result<bool, Problem> {
    is_any_ahead(&all_held().rows_within(transaction).await?)
}

fn all_held() -> Statement {
    say_held(Statement::new("SELECT value FROM settings WHERE "))
}

fn say_held(mut statement: Statement) -> Statement {
    statement.say("name LIKE ");
    statement.value(format!("{HELD_UNTIL}%"));
    statement
}

fn is_any_ahead(rows: &[AnyRow]) -> Result<bool, Problem> {
    let now_ms = now_ms();
    for row in rows {
        if get::<String>(row, "value")?.parse::<i64>().is_ok_and(|until_ms| now_ms < until_ms) {
            return Ok(true);
        }
    }
    Ok(false)
}

async fn find(database: &Database, name: &'static str) -> Result<Option<String>, Problem> {
    let mut statement = Statement::new("SELECT value FROM settings WHERE name = ");
    statement.value(name.to_owned());
    statement.rows(database).await?.first().map(|row| get(row, "value")).transpose()
}

async fn set(database: &Database, name: &str, value: Option<String>) -> Result<(), Problem> {
    let mut transaction = database.begin().await?;
    let mut statement = Statement::new("DELETE FROM settings WHERE name = ");
    statement.value(name.to_owned());
    statement.execute(&mut transaction).await?;
    if let Some(value) = value {
        let mut statement = Statement::new("INSERT INTO settings (name, value) VALUES (");
        statement.value(name.to_owned());
        statement.say(", ");
        statement.value(value);
        statement.say(")");
        statement.execute(&mut transaction).await?;
    }
    commit(transaction).await
}
