//! Settings that all servers of one database share.
//! Owns: their names. Never: those of one process; the command line has them.

use sqlx::any::AnyRow;
use sqlx::{Any, Transaction};

use crate::storage::database::{Database, Statement};
use crate::storage::recordings::get;
use crate::storage::tokens::commit;
use crate::words::moment::{HOUR_MS, now_ms};
use crate::words::problem::Problem;

const KEEP_DAYS: &str = "keep_days";
const HELD_UNTIL: &str = "deletions_held_until_ms";
const HELD_MS: i64 = 6 * HOUR_MS;

/// None: recordings are kept for good.
pub async fn keep_days(database: &Database) -> Result<Option<u32>, Problem> {
    Ok(find(database, KEEP_DAYS).await?.and_then(|value| value.parse().ok()))
}

pub async fn set_keep_days(database: &Database, days: Option<u32>) -> Result<(), Problem> {
    set(database, KEEP_DAYS, days.map(|days| days.to_string())).await
}

/// While a backup copies objects, none is deleted. It ends by itself, should the one who copies die.
pub async fn hold_deletions(database: &Database, is_held: bool) -> Result<(), Problem> {
    let until_ms = is_held.then(|| (now_ms() + HELD_MS).to_string());
    set(database, HELD_UNTIL, until_ms).await
}

pub async fn are_deletions_held(database: &Database) -> Result<bool, Problem> {
    Ok(is_ahead(find(database, HELD_UNTIL).await?))
}

/// The same as that transaction sees it. SQLite's are one behind the other: a backup that begins later finds what this one changed.
pub async fn are_deletions_held_within(transaction: &mut Transaction<'static, Any>) -> Result<bool, Problem> {
    Ok(is_ahead(value(&look_up(HELD_UNTIL).rows_within(transaction).await?)?))
}

fn is_ahead(until_ms: Option<String>) -> bool {
    until_ms.and_then(|value| value.parse::<i64>().ok()).is_some_and(|until_ms| now_ms() < until_ms)
}

async fn find(database: &Database, name: &'static str) -> Result<Option<String>, Problem> {
    value(&look_up(name).rows(database).await?)
}

fn look_up(name: &'static str) -> Statement {
    let mut statement = Statement::new("SELECT value FROM settings WHERE name = ");
    statement.value(name.to_owned());
    statement
}

fn value(rows: &[AnyRow]) -> Result<Option<String>, Problem> {
    rows.first().map(|row| get(row, "value")).transpose()
}

async fn set(database: &Database, name: &'static str, value: Option<String>) -> Result<(), Problem> {
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
