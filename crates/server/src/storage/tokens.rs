//! Tokens, and the sessions of browsers that logged in with one. Only hashes are stored.
//! Owns: which of them are valid at a time. Never: stores a secret; decides what a scope may do (`rules/access.rs`).

use sqlx::any::AnyRow;
use sqlx::{Any, Transaction};

use crate::storage::database::{Database, Statement, answered, failed, is_taken, kind_of, roll_back};
use crate::storage::recordings::get;
use crate::words::moment::{LATEST_MS, MINUTE_MS, now_ms};
use crate::words::problem::Problem;
use crate::words::random;

/// A token's use is noted so often at the most.
const NOTED_EVERY_MS: i64 = MINUTE_MS;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub name: String,
    /// Separated by commas.
    pub scopes: String,
    pub made_ms: i64,
    pub expires_ms: Option<i64>,
    pub used_ms: Option<i64>,
    pub revoked_ms: Option<i64>,
}

const COLUMNS: &str = "name, scopes, made_ms, expires_ms, used_ms, revoked_ms";

fn of_row(row: &AnyRow) -> Result<Token, Problem> {
    Ok(Token {
        name: get(row, "name")?,
        scopes: get(row, "scopes")?,
        made_ms: get(row, "made_ms")?,
        expires_ms: get(row, "expires_ms")?,
        used_ms: get(row, "used_ms")?,
        revoked_ms: get(row, "revoked_ms")?,
    })
}

/// Also a revoked one: whoever made a token wants to be asked for one.
pub async fn is_any(database: &Database) -> Result<bool, Problem> {
    Ok(!Statement::new("SELECT name FROM tokens LIMIT 1").rows(database).await?.is_empty())
}

pub async fn all(database: &Database) -> Result<Vec<Token>, Problem> {
    let mut statement = Statement::new("SELECT ");
    statement.say(COLUMNS);
    statement.say(" FROM tokens ORDER BY made_ms, name");
    statement.rows(database).await?.iter().map(of_row).collect()
}

pub async fn find(database: &Database, name: &str) -> Result<Option<Token>, Problem> {
    let mut statement = Statement::new("SELECT ");
    statement.say(COLUMNS);
    statement.say(" FROM tokens WHERE name = ");
    statement.value(name.to_owned());
    statement.rows(database).await?.first().map(of_row).transpose()
}

/// The secret, which nobody can ask for again. A revoked token's name stays taken: recordings have it as their owner's.
pub async fn add(database: &Database, name: &str, scopes: &str, expires_ms: Option<i64>) -> Result<String, Problem> {
    let secret = random::token()?;
    let mut transaction = database.begin().await?;
    let kind = kind_of(&transaction);
    let insert =
        sqlx::query("INSERT INTO tokens (name, hash, scopes, made_ms, expires_ms) VALUES ($1, $2, $3, $4, $5)")
            .bind(name.to_owned())
            .bind(random::hash(&secret))
            .bind(scopes.to_owned())
            .bind(now_ms())
            .bind(expires_ms)
            .execute(&mut *transaction);
    let made = answered(kind, insert).await;
    match made {
        Ok(_) => commit(transaction).await.map(|()| secret),
        Err(error) if is_taken(&error) => {
            roll_back(transaction).await?;
            let is_revoked = find(database, name).await?.is_some_and(|token| token.revoked_ms.is_some());
            let taken = Problem::conflict(format!("there is a token named {name} already"));
            Err(match is_revoked {
                true => taken.detail("it is revoked, and its name stays taken").hint("take another name"),
                false => taken.hint("take another name, or rotate that token"),
            })
        }
        Err(error) => Err(failed(&error)),
    }
}

/// A new secret in place of the old one, with which nobody comes in any more. It is valid for as long as the old one was when it was made. None:
/// there is no such token, or it is revoked.
pub async fn rotate(database: &Database, name: &str) -> Result<Option<String>, Problem> {
    let secret = random::token()?;
    let mut transaction = database.begin().await?;
    let now_ms = now_ms();
    // The columns on the right of `=` are those of the old one. NULL stays NULL.
    let mut statement =
        Statement::new("UPDATE tokens SET used_ms = NULL, expires_ms = CASE WHEN expires_ms - made_ms > ");
    statement.value(LATEST_MS - now_ms);
    statement.say(" THEN ");
    statement.value(LATEST_MS);
    statement.say(" ELSE expires_ms - made_ms + ");
    statement.value(now_ms);
    statement.say(" END, made_ms = ");
    statement.value(now_ms);
    statement.say(", hash = ");
    statement.value(random::hash(&secret));
    statement.say(" WHERE revoked_ms IS NULL AND name = ");
    statement.value(name.to_owned());
    let is_there = statement.execute(&mut transaction).await? == 1;
    end_sessions(&mut transaction, name).await?;
    commit(transaction).await?;
    Ok(is_there.then_some(secret))
}

/// False: there is no such token, or it was revoked before.
pub async fn revoke(database: &Database, name: &str) -> Result<bool, Problem> {
    let mut transaction = database.begin().await?;
    let mut statement = Statement::new("UPDATE tokens SET revoked_ms = ");
    statement.value(now_ms());
    statement.say(" WHERE revoked_ms IS NULL AND name = ");
    statement.value(name.to_owned());
    let is_there = statement.execute(&mut transaction).await? == 1;
    end_sessions(&mut transaction, name).await?;
    commit(transaction).await?;
    Ok(is_there)
}

async fn end_sessions(transaction: &mut Transaction<'static, Any>, name: &str) -> Result<(), Problem> {
    let mut statement = Statement::new("DELETE FROM sessions WHERE token = ");
    statement.value(name.to_owned());
    statement.execute(transaction).await.map(drop)
}

pub async fn commit(transaction: Transaction<'static, Any>) -> Result<(), Problem> {
    answered(kind_of(&transaction), transaction.commit()).await.map_err(|error| failed(&error))
}

/// Whose it is, if it is valid now.
pub async fn of_secret(database: &Database, secret: &str) -> Result<Option<Token>, Problem> {
    let mut statement = Statement::new("SELECT ");
    statement.say(COLUMNS);
    statement.say(" FROM tokens WHERE hash = ");
    statement.value(random::hash(secret));
    let found = statement.rows(database).await?.first().map(of_row).transpose()?;
    valid(database, found).await
}

pub async fn of_session(database: &Database, secret: &str) -> Result<Option<Token>, Problem> {
    let mut statement = Statement::new("SELECT token FROM sessions WHERE expires_ms > ");
    statement.value(now_ms());
    statement.say(" AND hash = ");
    statement.value(random::hash(secret));
    let name = statement.rows(database).await?.first().map(|row| get::<String>(row, "token")).transpose()?;
    let Some(name) = name else { return Ok(None) };
    let found = find(database, &name).await?;
    valid(database, found).await
}

async fn valid(database: &Database, found: Option<Token>) -> Result<Option<Token>, Problem> {
    let now_ms = now_ms();
    let is_valid =
        |token: &Token| token.revoked_ms.is_none() && token.expires_ms.is_none_or(|expires_ms| expires_ms > now_ms);
    let Some(token) = found.filter(is_valid) else { return Ok(None) };
    if token.used_ms.is_none_or(|used_ms| used_ms + NOTED_EVERY_MS < now_ms) {
        Problem::unless_full(note_used(database, &token.name, now_ms).await)?;
    }
    Ok(Some(token))
}

async fn note_used(database: &Database, name: &str, now_ms: i64) -> Result<(), Problem> {
    let mut transaction = database.begin().await?;
    let mut statement = Statement::new("UPDATE tokens SET used_ms = ");
    statement.value(now_ms);
    statement.say(" WHERE name = ");
    statement.value(name.to_owned());
    statement.execute(&mut transaction).await?;
    commit(transaction).await
}

/// `secret`: the token's. None: it was rotated or revoked since somebody looked. That ended all its sessions, and none begins behind it.
pub async fn begin_session(
    database: &Database,
    token: &str,
    secret: &str,
    expires_ms: i64,
) -> Result<Option<String>, Problem> {
    let session = random::session()?;
    let mut transaction = database.begin().await?;
    // The row is locked from here on, and is first for whoever rotates, too.
    let mut statement = Statement::new("UPDATE tokens SET used_ms = ");
    statement.value(now_ms());
    statement.say(" WHERE revoked_ms IS NULL AND name = ");
    statement.value(token.to_owned());
    statement.say(" AND hash = ");
    statement.value(random::hash(secret));
    if statement.execute(&mut transaction).await? != 1 {
        roll_back(transaction).await?;
        return Ok(None);
    }
    let mut statement = Statement::new("DELETE FROM sessions WHERE expires_ms <= ");
    statement.value(now_ms());
    statement.execute(&mut transaction).await?;
    let mut statement = Statement::new("INSERT INTO sessions (hash, token, expires_ms) VALUES (");
    statement.value(random::hash(&session));
    statement.say(", ");
    statement.value(token.to_owned());
    statement.say(", ");
    statement.value(expires_ms);
    statement.say(")");
    statement.execute(&mut transaction).await?;
    commit(transaction).await?;
    Ok(Some(session))
}

pub async fn end_session(database: &Database, secret: &str) -> Result<(), Problem> {
    let mut transaction = database.begin().await?;
    let mut statement = Statement::new("DELETE FROM sessions WHERE hash = ");
    statement.value(random::hash(secret));
    statement.execute(&mut transaction).await?;
    commit(transaction).await
}

#[cfg(test)]
mod tests {
    use crate::storage::database::Older;

    use super::*;

    #[test]
    fn no_session_begins_with_a_secret_that_was_rotated_or_revoked_meanwhile() {
        let folder = tempfile::tempdir().expect("a folder");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let database = Database::embedded(folder.path(), Older::Grows).await.expect("a database");
            let expires_ms = now_ms() + MINUTE_MS;
            let old = add(&database, "lena", "read", None).await.expect("a token");
            let known = of_secret(&database, &old).await.expect("an answer").expect("it is valid");
            let new = rotate(&database, "lena").await.expect("an answer").expect("it is there");
            assert_eq!(begin_session(&database, &known.name, &old, expires_ms).await, Ok(None));
            let session = begin_session(&database, "lena", &new, expires_ms).await.expect("an answer");
            let session = session.expect("it is valid");
            let found = of_session(&database, &session).await.expect("an answer");
            assert_eq!(found.map(|token| token.name).as_deref(), Some("lena"));
            assert_eq!(revoke(&database, "lena").await, Ok(true));
            assert_eq!(begin_session(&database, "lena", &new, expires_ms).await, Ok(None));
            assert_eq!(of_session(&database, &session).await, Ok(None));
        });
    }

    #[test]
    fn a_token_that_is_rotated_is_valid_for_as_long_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let database = Database::embedded(folder.path(), Older::Grows).await.expect("a database");
            let expires_ms = now_ms() + MINUTE_MS;
            for (name, expires_ms) in [("short", Some(expires_ms)), ("latest", Some(LATEST_MS)), ("never", None)] {
                let old = add(&database, name, "read", expires_ms).await.expect("a token");
                let mut transaction = database.begin().await.expect("a transaction");
                let mut statement = Statement::new("UPDATE tokens SET made_ms = made_ms - 3600000 WHERE name = ");
                statement.value(name.to_owned());
                assert_eq!(statement.execute(&mut transaction).await, Ok(1));
                if name == "short" {
                    let statement =
                        Statement::new("UPDATE tokens SET expires_ms = expires_ms - 3600000 WHERE name = 'short'");
                    assert_eq!(statement.execute(&mut transaction).await, Ok(1));
                }
                commit(transaction).await.expect("it is older now");
                let before = find(&database, name).await.expect("an answer").expect("it is there");
                let is_expired = of_secret(&database, &old).await.expect("an answer").is_none();
                assert_eq!(is_expired, name == "short");
                let new = rotate(&database, name).await.expect("an answer").expect("it is there");
                let after = of_secret(&database, &new).await.expect("an answer").expect("it is valid");
                assert!(after.made_ms >= before.made_ms + 3_600_000, "{name}");
                let lifetime_ms = |token: &Token| token.expires_ms.map(|expires_ms| expires_ms - token.made_ms);
                match name {
                    "latest" => assert_eq!(after.expires_ms, Some(LATEST_MS)),
                    _ => assert_eq!(lifetime_ms(&after), lifetime_ms(&before), "{name}"),
                }
            }
        });
    }

    #[test]
    fn a_name_that_is_taken_is_no_hint_to_rotate_what_is_revoked() {
        let folder = tempfile::tempdir().expect("a folder");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let database = Database::embedded(folder.path(), Older::Grows).await.expect("a database");
            add(&database, "lena", "read", None).await.expect("a token");
            let taken = add(&database, "lena", "read", None).await.expect_err("it is taken");
            assert_eq!(taken.hint.as_deref(), Some("take another name, or rotate that token"));
            assert_eq!(revoke(&database, "lena").await, Ok(true));
            let taken = add(&database, "lena", "read", None).await.expect_err("it is taken");
            assert_eq!((taken.status, taken.hint.as_deref()), (409, Some("take another name")));
        });
    }
}
