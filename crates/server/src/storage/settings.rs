//! Settings that all servers of one database share.
//! Owns: their names. Never: those of one process; the command line has them.

use sqlx::any::AnyRow;
use sqlx::{Any, Transaction};

use crate::storage::database::{Database, Statement};
use crate::storage::recordings::get;
use crate::storage::tokens::commit;
use crate::words::moment::{HOUR_MS, MINUTE_MS, now_ms};
use crate::words::problem::Problem;
use crate::words::random;

const KEEP_DAYS: &str = "keep_days";
/// Of each backup and move a row of its own, whose name begins so: one that ends releases no other.
const HELD_UNTIL: &str = "deletions_held_until_ms";
const HELD_MS: i64 = 6 * HOUR_MS;
const RENEWED_EVERY_MS: i64 = MINUTE_MS;

/// Of one who copies objects: meanwhile none is deleted. It ends by itself, should the one who copies die.
pub struct Hold {
    database: Database,
    name: String,
    until_ms: i64,
    tried_ms: i64,
}

impl Hold {
    /// With each object, however short or long a copy takes: the row is written once a minute.
    pub async fn renew(&mut self) -> Result<(), Problem> {
        let now_ms = now_ms();
        if now_ms - self.tried_ms < RENEWED_EVERY_MS {
            return Ok(());
        }
        self.tried_ms = now_ms;
        match set(&self.database, &self.name, Some((now_ms + HELD_MS).to_string())).await {
            Ok(()) => self.until_ms = now_ms + HELD_MS,
            // It holds for long yet: a later object renews it.
            Err(_) if now_ms < self.until_ms => {}
            Err(problem) => return Err(problem),
        }
        Ok(())
    }

    pub async fn release(self) -> Result<(), Problem> {
        set(&self.database, &self.name, None).await
    }
}

/// None: recordings are kept for good.
pub async fn keep_days(database: &Database) -> Result<Option<u32>, Problem> {
    Ok(find(database, KEEP_DAYS).await?.and_then(|value| value.parse().ok()))
}

pub async fn set_keep_days(database: &Database, days: Option<u32>) -> Result<(), Problem> {
    set(database, KEEP_DAYS, days.map(|days| days.to_string())).await
}

pub async fn hold_deletions(database: &Database) -> Result<Hold, Problem> {
    forget_ended(database).await?;
    let (name, now_ms) = (format!("{HELD_UNTIL}:{}", random::id()?), now_ms());
    let until_ms = now_ms + HELD_MS;
    set(database, &name, Some(until_ms.to_string())).await?;
    Ok(Hold { database: database.clone(), name, until_ms, tried_ms: now_ms })
}

/// Rows of backups and moves that were killed.
async fn forget_ended(database: &Database) -> Result<(), Problem> {
    let mut transaction = database.begin().await?;
    let mut statement = say_held(Statement::new("DELETE FROM settings WHERE "));
    statement.say(" AND CAST(value AS BIGINT) < ");
    statement.value(now_ms());
    statement.execute(&mut transaction).await?;
    commit(transaction).await
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

#[cfg(test)]
mod tests {
    use crate::storage::database::Older;

    use super::*;

    #[test]
    fn a_hold_is_renewed_once_a_minute() {
        held(async |database, mut hold| {
            // As if it had ended by itself.
            set(&database, &hold.name, None).await.expect("no setting");
            hold.renew().await.expect("it is too early");
            assert_eq!(are_deletions_held(&database).await, Ok(false));
            hold.tried_ms -= RENEWED_EVERY_MS;
            hold.renew().await.expect("a setting");
            assert_eq!(are_deletions_held(&database).await, Ok(true));
            hold.release().await.expect("no setting");
            assert_eq!(are_deletions_held(&database).await, Ok(false));
            database.close().await;
        });
    }

    #[test]
    fn a_renewal_that_fails_ends_no_copy_while_the_hold_lasts() {
        held(async |database, mut hold| {
            database.close().await;
            hold.tried_ms -= RENEWED_EVERY_MS;
            hold.renew().await.expect("it lasts yet");
            hold.tried_ms -= RENEWED_EVERY_MS;
            hold.until_ms -= HELD_MS;
            hold.renew().await.expect_err("it has ended");
        });
    }

    fn held(test: impl AsyncFnOnce(Database, Hold)) {
        let folder = tempfile::tempdir().expect("a folder");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let database = Database::embedded(folder.path(), Older::Grows).await.expect("a database");
            let hold = hold_deletions(&database).await.expect("a setting");
            test(database, hold).await;
        });
    }
}
