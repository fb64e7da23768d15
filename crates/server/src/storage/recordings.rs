//! The table of recordings: what was uploaded by whom, and the facts that the list shows.
//! Owns: the rows, and that an upload grows at its end only. Never: looks at the bytes of a recording.

use sqlx::any::AnyRow;
use sqlx::{Any, Row, Transaction};

use crate::storage::database::{Database, Kind, Statement, answered, failed, kind_of};
use crate::words::problem::Problem;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It still grows.
    Open,
    Sealed,
}

impl State {
    fn word(self) -> &'static str {
        if self == State::Open { OPEN } else { SEALED }
    }
}

#[derive(Clone, Debug)]
pub struct Recording {
    pub id: String,
    pub name: String,
    pub state: State,
    pub live: bool,
    pub owner: String,
    pub host: Option<String>,
    pub tags: Vec<String>,
    pub created_ms: i64,
    pub touched_ms: i64,
    pub sealed_ms: Option<i64>,
    pub bytes: u64,
    /// In how many it was uploaded.
    pub parts: u64,
    pub sha256: Option<String>,
    pub program: String,
    /// JSON as `reading::Facts` writes it.
    pub facts: Option<String>,
}

/// What is read out of a recording for its row.
pub struct Known {
    pub program: String,
    /// None: the recording does not tell it.
    pub cpu_ns: Option<u64>,
    pub wall_ns: Option<u64>,
    pub facts: String,
    /// Its own, and those that were said of it.
    pub tags: Vec<String>,
}

const OPEN: &str = "open";
const SEALED: &str = "sealed";
pub const COLUMNS: &str =
    "id, name, state, live, owner, host, tags, created_ms, touched_ms, sealed_ms, bytes, parts, sha256, program, facts";

impl Recording {
    pub fn of_row(row: &AnyRow) -> Result<Recording, Problem> {
        let tags: String = get(row, "tags")?;
        Ok(Recording {
            id: get(row, "id")?,
            name: get(row, "name")?,
            state: if get::<String>(row, "state")? == SEALED { State::Sealed } else { State::Open },
            live: get::<i64>(row, "live")? != 0,
            owner: get(row, "owner")?,
            host: get(row, "host")?,
            tags: serde_json::from_str(&tags).unwrap_or_default(),
            created_ms: get(row, "created_ms")?,
            touched_ms: get(row, "touched_ms")?,
            sealed_ms: get(row, "sealed_ms")?,
            bytes: count(row, "bytes")?,
            parts: count(row, "parts")?,
            sha256: get(row, "sha256")?,
            program: get(row, "program")?,
            facts: get(row, "facts")?,
        })
    }

    pub fn is_listed(&self) -> bool {
        self.state == State::Sealed || self.live
    }
}

pub fn get<'r, Value>(row: &'r AnyRow, column: &str) -> Result<Value, Problem>
where
    Value: sqlx::Decode<'r, Any> + sqlx::Type<Any>,
{
    row.try_get(column).map_err(|error| failed(&error))
}

/// Never negative.
pub fn count(row: &AnyRow, column: &str) -> Result<u64, Problem> {
    get::<i64>(row, column).map(|value| u64::try_from(value).unwrap_or_default())
}

/// As large as the databases' whole numbers are.
pub fn stored(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

pub fn words_of_tags(tags: &[String]) -> String {
    serde_json::to_string(tags).unwrap_or_else(|_| "[]".to_owned())
}

/// Of a clock, in the row: below all times, so that it comes last where the longest is first.
pub const NOT_TOLD: i64 = -1;

pub async fn insert(transaction: &mut Transaction<'static, Any>, recording: &Recording) -> Result<(), Problem> {
    let kind = kind_of(transaction);
    let insert = sqlx::query(
        "INSERT INTO recordings (id, name, state, live, listed, owner, host, tags, created_ms, touched_ms, bytes, program, cpu_ns, wall_ns) \
         VALUES ($1, $2, 'open', $3, $3, $4, $5, $6, $7, $8, 0, $9, $10, $10)",
    )
    .bind(recording.id.clone())
    .bind(recording.name.clone())
    .bind(i64::from(recording.live))
    .bind(recording.owner.clone())
    .bind(recording.host.clone())
    .bind(words_of_tags(&recording.tags))
    .bind(recording.created_ms)
    .bind(recording.touched_ms)
    .bind(recording.program.clone())
    .bind(NOT_TOLD)
    .execute(&mut **transaction);
    answered(kind, insert).await.map(drop).map_err(|error| failed(&error))
}

pub async fn find(database: &Database, id: &str) -> Result<Option<Recording>, Problem> {
    let mut statement = Statement::new("SELECT ");
    statement.say(COLUMNS);
    statement.say(" FROM recordings WHERE id = ");
    statement.value(id.to_owned());
    statement.rows(database).await?.first().map(Recording::of_row).transpose()
}

/// Whether an owner has so many, open ones included. No row is read: an index has all of it.
pub async fn has_as_many(transaction: &mut Transaction<'static, Any>, owner: &str, most: u64) -> Result<bool, Problem> {
    let mut statement = Statement::new("SELECT state FROM recordings WHERE owner = ");
    statement.value(owner.to_owned());
    statement.say(" LIMIT 1 OFFSET ");
    statement.value(stored(most.saturating_sub(1)));
    Ok(!statement.rows_within(transaction).await?.is_empty())
}

/// As it is now; until the transaction ends nobody else changes it. SQLite's transactions come one after the other anyway.
pub async fn locked(
    database: &Database,
    transaction: &mut Transaction<'static, Any>,
    id: &str,
) -> Result<Option<Recording>, Problem> {
    let mut statement = Statement::new("SELECT ");
    statement.say(COLUMNS);
    statement.say(" FROM recordings WHERE id = ");
    statement.value(id.to_owned());
    if database.kind == Kind::Postgres {
        statement.say(" FOR UPDATE");
    }
    statement.rows_within(transaction).await?.first().map(Recording::of_row).transpose()
}

/// Those in a state that nobody touched since.
pub async fn untouched(
    database: &Database,
    state: State,
    live: Option<bool>,
    since_ms: i64,
) -> Result<Vec<Recording>, Problem> {
    let mut statement = Statement::new("SELECT ");
    statement.say(COLUMNS);
    statement.say(" FROM recordings WHERE state = ");
    statement.value(state.word().to_owned());
    statement.say(" AND touched_ms < ");
    statement.value(since_ms);
    if let Some(live) = live {
        statement.say(" AND live = ");
        statement.value(i64::from(live));
    }
    statement.say(" ORDER BY touched_ms, id");
    statement.rows(database).await?.iter().map(Recording::of_row).collect()
}

/// By one part. False: the upload's end is not there any more, or it is sealed.
pub async fn grow(
    transaction: &mut Transaction<'static, Any>,
    id: &str,
    from_bytes: u64,
    by_bytes: u64,
    now_ms: i64,
) -> Result<bool, Problem> {
    let mut statement = Statement::new("UPDATE recordings SET bytes = bytes + ");
    statement.value(stored(by_bytes));
    statement.say(", parts = parts + 1, touched_ms = ");
    statement.value(now_ms);
    statement.say(" WHERE state = 'open' AND id = ");
    statement.value(id.to_owned());
    statement.say(" AND bytes = ");
    statement.value(stored(from_bytes));
    Ok(statement.execute(transaction).await? == 1)
}

/// False: it grew in between, or somebody else has sealed it.
pub async fn seal(
    transaction: &mut Transaction<'static, Any>,
    id: &str,
    bytes: u64,
    sha256: &str,
    known: &Known,
    now_ms: i64,
) -> Result<bool, Problem> {
    let mut statement = Statement::new("UPDATE recordings SET state = 'sealed', live = 0, listed = 1, sealed_ms = ");
    statement.value(now_ms);
    statement.say(", touched_ms = ");
    statement.value(now_ms);
    statement.say(", sha256 = ");
    statement.value(sha256.to_owned());
    say_known(&mut statement, known);
    statement.say(" WHERE state = 'open' AND id = ");
    statement.value(id.to_owned());
    statement.say(" AND bytes = ");
    statement.value(stored(bytes));
    Ok(statement.execute(transaction).await? == 1)
}

/// A sealed recording grows again. False: it is not sealed any more, or with another content.
pub async fn reopen(
    transaction: &mut Transaction<'static, Any>,
    id: &str,
    bytes: u64,
    sha256: &str,
) -> Result<bool, Problem> {
    let mut statement = Statement::new(
        "UPDATE recordings SET state = 'open', live = 1, sealed_ms = NULL, sha256 = NULL WHERE state = 'sealed' AND id = ",
    );
    statement.value(id.to_owned());
    statement.say(" AND bytes = ");
    statement.value(stored(bytes));
    statement.say(" AND sha256 = ");
    statement.value(sha256.to_owned());
    Ok(statement.execute(transaction).await? == 1)
}

/// Until the transaction ends nobody reopens it. False: it is not sealed any more, or it grew and was sealed anew.
pub async fn lock_sealed(transaction: &mut Transaction<'static, Any>, id: &str, bytes: u64) -> Result<bool, Problem> {
    let mut statement = Statement::new("UPDATE recordings SET state = 'sealed' WHERE state = 'sealed' AND id = ");
    statement.value(id.to_owned());
    statement.say(" AND bytes = ");
    statement.value(stored(bytes));
    Ok(statement.execute(transaction).await? == 1)
}

/// Sealed before, while parts of them are left.
pub async fn sealed_with_parts(database: &Database, before_ms: i64) -> Result<Vec<Recording>, Problem> {
    let mut statement = Statement::new("SELECT ");
    statement.say(COLUMNS);
    statement.say(" FROM recordings WHERE state = 'sealed' AND sealed_ms < ");
    statement.value(before_ms);
    statement.say(" AND id IN (SELECT recording FROM chunks)");
    statement.rows(database).await?.iter().map(Recording::of_row).collect()
}

/// Of a live recording, as far as it is there. One that was sealed in between knows more.
pub async fn learn(transaction: &mut Transaction<'static, Any>, id: &str, known: &Known) -> Result<bool, Problem> {
    let mut statement = Statement::new("UPDATE recordings SET live = 1");
    say_known(&mut statement, known);
    statement.say(" WHERE state = 'open' AND id = ");
    statement.value(id.to_owned());
    Ok(statement.execute(transaction).await? == 1)
}

fn say_known(statement: &mut Statement, known: &Known) {
    statement.say(", program = ");
    statement.value(known.program.clone());
    statement.say(", cpu_ns = ");
    statement.value(known.cpu_ns.map_or(NOT_TOLD, stored));
    statement.say(", wall_ns = ");
    statement.value(known.wall_ns.map_or(NOT_TOLD, stored));
    statement.say(", facts = ");
    statement.value(known.facts.clone());
    statement.say(", tags = ");
    statement.value(words_of_tags(&known.tags));
}

pub async fn rename(
    transaction: &mut Transaction<'static, Any>,
    id: &str,
    name: &str,
    tags: &[String],
) -> Result<(), Problem> {
    let mut statement = Statement::new("UPDATE recordings SET name = ");
    statement.value(name.to_owned());
    statement.say(", tags = ");
    statement.value(words_of_tags(tags));
    statement.say(" WHERE id = ");
    statement.value(id.to_owned());
    statement.execute(transaction).await.map(drop)
}

/// The content that it used, as its row says now. None: it is gone already, or was touched since it was read as `untouched`.
pub async fn delete(
    transaction: &mut Transaction<'static, Any>,
    id: &str,
    untouched: Option<&Recording>,
) -> Result<Option<Option<String>>, Problem> {
    let mut statement = Statement::new("DELETE FROM recordings WHERE id = ");
    statement.value(id.to_owned());
    if let Some(Recording { state, touched_ms, bytes, .. }) = untouched {
        statement.say(" AND state = ");
        statement.value(state.word().to_owned());
        statement.say(" AND touched_ms = ");
        statement.value(*touched_ms);
        statement.say(" AND bytes = ");
        statement.value(stored(*bytes));
    }
    statement.say(" RETURNING sha256");
    statement.rows_within(transaction).await?.first().map(|row| get(row, "sha256")).transpose()
}
