//! Links that are shared: who has one may read one recording.
//! Owns: the rows, and when a link has ended. Never: decides who may make one.

use sqlx::any::AnyRow;
use sqlx::{Any, Transaction};

use crate::storage::database::{Database, Statement, answered, failed, kind_of, roll_back};
use crate::storage::recordings::{count, get};
use crate::storage::tokens::commit;
use crate::words::moment::now_ms;
use crate::words::problem::Problem;

/// Of one recording, ended ones included: they are listed at once.
pub const LINKS_MAX: i64 = 1_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    pub code: String,
    pub recording: String,
    pub made_by: String,
    pub made_ms: i64,
    pub expires_ms: Option<i64>,
    pub revoked_ms: Option<i64>,
    pub revoked_by: Option<String>,
    pub needs_token: bool,
    /// What the page shows first: empty, or `#` and the page's state.
    pub fragment: String,
    pub opened: u64,
}

const COLUMNS: &str =
    "code, recording, made_by, made_ms, expires_ms, revoked_ms, revoked_by, needs_token, fragment, opened";

impl Link {
    fn of_row(row: &AnyRow) -> Result<Link, Problem> {
        Ok(Link {
            code: get(row, "code")?,
            recording: get(row, "recording")?,
            made_by: get(row, "made_by")?,
            made_ms: get(row, "made_ms")?,
            expires_ms: get(row, "expires_ms")?,
            revoked_ms: get(row, "revoked_ms")?,
            revoked_by: get(row, "revoked_by")?,
            needs_token: get::<i64>(row, "needs_token")? != 0,
            fragment: get(row, "fragment")?,
            opened: count(row, "opened")?,
        })
    }

    pub fn is_expired(&self) -> bool {
        self.expires_ms.is_some_and(|expires_ms| expires_ms <= now_ms())
    }
}

/// False: its recording has as many as it may have.
pub async fn insert(database: &Database, link: &Link) -> Result<bool, Problem> {
    let mut transaction = database.begin().await?;
    let mut statement = Statement::new("SELECT code FROM links WHERE recording = ");
    statement.value(link.recording.clone());
    statement.say(" LIMIT 1 OFFSET ");
    statement.value(LINKS_MAX - 1);
    if !statement.rows_within(&mut transaction).await?.is_empty() {
        roll_back(transaction).await?;
        return Ok(false);
    }
    let kind = kind_of(&transaction);
    let insert = sqlx::query(
        "INSERT INTO links (code, recording, made_by, made_ms, expires_ms, needs_token, fragment, opened) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, 0)",
    )
    .bind(link.code.clone())
    .bind(link.recording.clone())
    .bind(link.made_by.clone())
    .bind(link.made_ms)
    .bind(link.expires_ms)
    .bind(i64::from(link.needs_token))
    .bind(link.fragment.clone())
    .execute(&mut *transaction);
    answered(kind, insert).await.map_err(|error| failed(&error))?;
    commit(transaction).await.map(|()| true)
}

pub async fn find(database: &Database, code: &str) -> Result<Option<Link>, Problem> {
    let mut statement = Statement::new("SELECT ");
    statement.say(COLUMNS);
    statement.say(" FROM links WHERE code = ");
    statement.value(code.to_owned());
    statement.rows(database).await?.first().map(Link::of_row).transpose()
}

/// The newest first.
pub async fn of_recording(database: &Database, recording: &str) -> Result<Vec<Link>, Problem> {
    let mut statement = Statement::new("SELECT ");
    statement.say(COLUMNS);
    statement.say(" FROM links WHERE recording = ");
    statement.value(recording.to_owned());
    statement.say(" ORDER BY made_ms DESC, code");
    statement.rows(database).await?.iter().map(Link::of_row).collect()
}

pub async fn revoke(database: &Database, code: &str, who: &str) -> Result<(), Problem> {
    let mut transaction = database.begin().await?;
    let mut statement = Statement::new("UPDATE links SET revoked_ms = ");
    statement.value(now_ms());
    statement.say(", revoked_by = ");
    statement.value(who.to_owned());
    statement.say(" WHERE revoked_ms IS NULL AND code = ");
    statement.value(code.to_owned());
    statement.execute(&mut transaction).await?;
    commit(transaction).await
}

pub async fn note_opened(database: &Database, code: &str) -> Result<(), Problem> {
    let mut transaction = database.begin().await?;
    let mut statement = Statement::new("UPDATE links SET opened = opened + 1 WHERE code = ");
    statement.value(code.to_owned());
    statement.execute(&mut transaction).await?;
    commit(transaction).await
}

pub async fn delete(transaction: &mut Transaction<'static, Any>, recording: &str) -> Result<(), Problem> {
    let mut statement = Statement::new("DELETE FROM links WHERE recording = ");
    statement.value(recording.to_owned());
    statement.execute(transaction).await.map(drop)
}
