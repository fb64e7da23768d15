//! The one SQL layer: SQLite inside of the data folder, or PostgreSQL, by the same statements.
//! Owns: connections, transactions, and which failure of a database is a full disk. Never: knows what a table means.

mod layout;

use std::io::ErrorKind;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::Stream;
use sqlx::any::{AnyArguments, AnyConnectOptions, AnyPoolOptions, AnyRow};
use sqlx::migrate::MigrateError;
use sqlx::{Any, AnyConnection, AnyPool, Arguments, AssertSqlSafe, Connection, Encode, Executor, Transaction, Type};
use url::Url;

use crate::storage::database::layout::{Unfit, prepare};
use crate::words::problem::{Problem, log};

pub use layout::{Kind, Older};

/// SQLite's file in the data folder.
pub const FILE: &str = "genba.sqlite";
/// Its name in the folder of a backup until all objects are there: nobody serves what is not whole.
pub const UNFINISHED: &str = "genba.sqlite.unfinished";
const CONNECTIONS_MAX: u32 = 8;
const WAIT_S: u64 = 8;
/// For an answer of PostgreSQL. sqlx sets no TCP keepalive, so without this a request would wait for a lost host until the kernel gives up: minutes
/// for what was not delivered, without an end for what was. Longer than a statement may wait for a lock, shorter than proxies wait for an answer.
const ANSWERED_WITHIN: Duration = Duration::from_secs(45);
/// For a connection that somebody gave back: what is begun on it is rolled back, or the connection is closed.
const RELEASED_WITHIN: Duration = Duration::from_secs(5);
/// No row within a transaction, which sqlx does not see where nobody waited for the answer to BEGIN; an error where such a one has failed.
const IS_ALONE: &str = "SELECT 1 WHERE now() = statement_timestamp()";
/// Of `/health`: who asks gives up soon.
const HEALTHY_WITHIN: Duration = Duration::from_secs(WAIT_S);
/// SQLite's SQLITE_FULL and PostgreSQL's disk_full.
const FULL: [&str; 2] = ["13", "53100"];
/// SQLite's SQLITE_BUSY with its two finer kinds, and PostgreSQL's lock_not_available, query_canceled and deadlock_detected: of two that wait
/// for each other it rolls one back, which may try again.
const BUSY: [&str; 6] = ["5", "261", "517", "55P03", "57014", "40P01"];
/// PostgreSQL's admin_shutdown, crash_shutdown and cannot_connect_now.
const GONE: [&str; 3] = ["57P01", "57P02", "57P03"];
/// Whoever waits for a lock gives up after a while, PostgreSQL ends a statement before nobody waits for it (it would go on, and others beside it),
/// a transaction whose server is gone ends, and PostgreSQL closes the connections of a lost host after a minute. Without the last four settings a
/// transaction of `begin_patient` would keep its lock there for two hours. Migrations run within these limits, too.
const POSTGRES_LIMITS: [&str; 7] = [
    "SET lock_timeout = '20s'",
    "SET statement_timeout = '40s'",
    "SET idle_in_transaction_session_timeout = '120s'",
    "SET tcp_keepalives_idle = 30",
    "SET tcp_keepalives_interval = 10",
    "SET tcp_keepalives_count = 3",
    "SET tcp_user_timeout = '60s'",
];

#[derive(Clone)]
pub struct Database {
    pub pool: AnyPool,
    pub kind: Kind,
    /// Changes that this server began.
    changes: Arc<AtomicU64>,
}

impl Database {
    /// In that folder; made where it is missing.
    pub async fn embedded(folder: &Path, older: Older) -> Result<Database, Problem> {
        Database::in_file(&folder.join(FILE), older).await
    }

    pub async fn in_file(file: &Path, older: Older) -> Result<Database, Problem> {
        let place = Url::from_file_path(file)
            .map_err(|()| Problem::bad_request(format!("{} is no absolute path", file.display())))?;
        let address = format!("sqlite://{}?mode=rwc", place.path());
        Database::open(&address, Kind::Sqlite, &file.display().to_string(), older).await
    }

    /// `postgres://…`, whose password no message repeats.
    pub async fn postgres(address: &str, older: Older) -> Result<Database, Problem> {
        let place = Url::parse(address).ok().filter(|url| ["postgres", "postgresql"].contains(&url.scheme()));
        let Some(place) = place else {
            return Err(Problem::bad_request("--db takes an address that begins with postgres://")
                .hint("genba serve --db postgres://USER:PASSWORD@HOST/DATABASE"));
        };
        let shown = format!("{}{}", place.host_str().unwrap_or("localhost"), place.path());
        Database::open(address, Kind::Postgres, &shown, older).await
    }

    async fn open(address: &str, kind: Kind, shown: &str, older: Older) -> Result<Database, Problem> {
        sqlx::any::install_default_drivers();
        let cannot = |error: sqlx::Error| match is_full(&error) {
            true => Problem::disk_full(),
            false => Problem::new(503, format!("cannot open the database {shown}")).detail(plain(&error)),
        };
        let options = AnyConnectOptions::from_str(address).map_err(cannot)?;
        let made = AnyPoolOptions::new()
            .max_connections(CONNECTIONS_MAX)
            .acquire_timeout(Duration::from_secs(WAIT_S))
            .after_connect(move |connection, _| {
                Box::pin(async move {
                    if kind == Kind::Sqlite {
                        // A commit is on the disk before anybody is told of it.
                        for setting in ["busy_timeout = 20000", "journal_mode = WAL", "synchronous = FULL"] {
                            connection.execute(AssertSqlSafe(format!("PRAGMA {setting}"))).await?;
                        }
                    } else {
                        for setting in POSTGRES_LIMITS {
                            connection.execute(setting).await?;
                        }
                    }
                    Ok(())
                })
            })
            .after_release(move |connection, _| {
                Box::pin(async move {
                    // The pool's own look at the connection has no limit, and keeps its place in the pool meanwhile.
                    if kind == Kind::Postgres {
                        let alone = within(Some(RELEASED_WITHIN), connection.fetch_optional(IS_ALONE)).await?;
                        return Ok(alone.is_some());
                    }
                    if connection.is_in_transaction() {
                        // Behind the rollback that was asked for.
                        connection.ping().await?;
                    }
                    // On a full disk SQLite rolls back by itself. sqlx's own rollback fails then, and it would begin nothing on this one any more.
                    Ok(!connection.is_in_transaction())
                })
            })
            .connect_with(options.clone())
            .await;
        let pool = match made {
            Err(sqlx::Error::PoolTimedOut) => return Err(cannot(refusal(&options).await)),
            made => made.map_err(cannot)?,
        };
        prepare(&pool, kind, older).await.map_err(|unfit| not_opened(shown, &unfit))?;
        Ok(Database { pool, kind, changes: Arc::default() })
    }

    /// Of statements that belong together. SQLite takes the turn to write at once: a reader that wants to write later would fail.
    pub async fn begin(&self) -> Result<Transaction<'static, Any>, Problem> {
        // Relaxed: a count and nothing beside it.
        self.changes.fetch_add(1, Ordering::Relaxed);
        let words = if self.kind == Kind::Sqlite { "BEGIN IMMEDIATE" } else { "BEGIN" };
        answered(self.kind, self.pool.begin_with(words)).await.map_err(|error| failed(&error))
    }

    /// Of one that waits for something else than the database, however long that takes: PostgreSQL does not end it meanwhile.
    pub async fn begin_patient(&self) -> Result<Transaction<'static, Any>, Problem> {
        let mut transaction = self.begin().await?;
        if self.kind == Kind::Postgres {
            let setting = Statement::new("SET LOCAL idle_in_transaction_session_timeout = 0");
            setting.execute(&mut transaction).await?;
        }
        Ok(transaction)
    }

    /// How many changes this server began.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    pub async fn is_there(&self) -> bool {
        within(Some(HEALTHY_WITHIN), sqlx::query("SELECT 1").execute(&self.pool)).await.is_ok()
    }

    pub async fn close(&self) {
        match self.kind {
            Kind::Sqlite => self.pool.close().await,
            // The pool waits for each connection in use, and one of them may wait for a host that is lost.
            Kind::Postgres => {
                let _ = tokio::time::timeout(RELEASED_WITHIN, self.pool.close()).await;
            }
        }
    }
}

/// What a connection belongs to.
pub fn kind_of(connection: &AnyConnection) -> Kind {
    if connection.backend_name() == <sqlx::Postgres as sqlx::Database>::NAME { Kind::Postgres } else { Kind::Sqlite }
}

/// What a request asks of the database goes through here. A file needs no limit: it is there, or an error says that it is not.
pub async fn answered<Answer>(
    kind: Kind,
    asked: impl Future<Output = Result<Answer, sqlx::Error>>,
) -> Result<Answer, sqlx::Error> {
    within((kind == Kind::Postgres).then_some(ANSWERED_WITHIN), asked).await
}

async fn within<Answer>(
    limit: Option<Duration>,
    asked: impl Future<Output = Result<Answer, sqlx::Error>>,
) -> Result<Answer, sqlx::Error> {
    let Some(limit) = limit else { return asked.await };
    let answer = tokio::time::timeout(limit, asked).await;
    answer.unwrap_or_else(|_| Err(sqlx::Error::Io(ErrorKind::TimedOut.into())))
}

pub async fn roll_back(transaction: Transaction<'static, Any>) -> Result<(), Problem> {
    answered(kind_of(&transaction), transaction.rollback()).await.map_err(|error| failed(&error))
}

/// Why there is no connection: the pool tries again and again, and does not tell what it met.
async fn refusal(options: &AnyConnectOptions) -> sqlx::Error {
    let try_it = async {
        let mut connection = AnyConnection::connect_with(options).await?;
        for setting in if kind_of(&connection) == Kind::Postgres { &POSTGRES_LIMITS[..] } else { &[] } {
            connection.execute(*setting).await?;
        }
        Ok::<_, sqlx::Error>(())
    };
    let tried = tokio::time::timeout(Duration::from_secs(WAIT_S), try_it).await;
    tried.ok().and_then(Result::err).unwrap_or(sqlx::Error::PoolTimedOut)
}

fn not_opened(shown: &str, unfit: &Unfit) -> Problem {
    match unfit {
        Unfit::Older => Problem::conflict(format!("the database {shown} is of an older genba"))
            .detail("only a server changes its tables, as one of that older genba may still use them")
            .hint("run this command with that genba, or end its servers and start genba serve of this one first"),
        Unfit::Failed(error) => not_migrated(shown, error),
    }
}

fn not_migrated(shown: &str, error: &MigrateError) -> Problem {
    match error {
        MigrateError::VersionMissing(version) => {
            Problem::new(503, format!("the database {shown} was made by a newer genba"))
                .detail(format!("it has migration {version}, which this genba does not know"))
                .hint("serve it with that genba, or with a newer one")
        }
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) if is_full(error) => {
            Problem::disk_full()
        }
        error => Problem::new(503, format!("cannot prepare the database {shown}")).detail(error.to_string()),
    }
}

/// In words for whoever asked; the reason is for the log.
pub fn failed(error: &sqlx::Error) -> Problem {
    match error {
        error if is_full(error) => Problem::disk_full(),
        error if is_busy(error) => Problem::new(503, "the database is busy")
            .detail("somebody else changes the same for long, or an answer takes long to find")
            .hint("try again: what was acknowledged is safe"),
        sqlx::Error::PoolTimedOut => {
            Problem::new(503, "the database is busy").detail(format!("no connection was free for {WAIT_S} s"))
        }
        // Of `within` or of the kernel; or PostgreSQL ends, or begins.
        error if matches!(error, sqlx::Error::Io(_)) || has_code(error, &GONE) => {
            log(&format!("error: a statement of the database: {}", plain(error)));
            Problem::new(503, "the database does not answer")
                .detail("its host or the network may be lost")
                .hint("try again: what was acknowledged is safe")
        }
        error => Problem::internal("a statement of the database", &plain(error)),
    }
}

fn is_full(error: &sqlx::Error) -> bool {
    has_code(error, &FULL)
}

fn is_busy(error: &sqlx::Error) -> bool {
    has_code(error, &BUSY)
}

fn has_code(error: &sqlx::Error, codes: &[&str]) -> bool {
    error.as_database_error().and_then(|error| error.code()).is_some_and(|code| codes.contains(&code.as_ref()))
}

pub fn is_taken(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| error.is_unique_violation())
}

fn plain(error: &sqlx::Error) -> String {
    error.to_string().replace("error returned from database: ", "")
}

/// A statement that is put together: words of ours, and values, which are never part of the words.
#[derive(Default)]
pub struct Statement {
    words: String,
    values: AnyArguments,
    count: usize,
}

impl Statement {
    pub fn new(words: &'static str) -> Statement {
        let mut statement = Statement::default();
        statement.say(words);
        statement
    }

    pub fn say(&mut self, words: &'static str) {
        self.words.push_str(words);
    }

    pub fn value<Value>(&mut self, value: Value)
    where
        Value: for<'q> Encode<'q, Any> + Type<Any>,
    {
        self.count += 1;
        self.words.push_str(&format!("${}", self.count));
        // Numbers and texts can always be added.
        let _ = self.values.add(value);
    }

    pub async fn rows(self, database: &Database) -> Result<Vec<AnyRow>, Problem> {
        let query = sqlx::query_with(AssertSqlSafe(self.words), self.values);
        answered(database.kind, query.fetch_all(&database.pool)).await.map_err(|error| failed(&error))
    }

    /// One after the other, for more than memory should hold. No limit holds here: it is for data folders.
    pub fn stream(self, database: &Database) -> impl Stream<Item = Result<AnyRow, sqlx::Error>> + Send + Unpin {
        sqlx::query_with(AssertSqlSafe(self.words), self.values).fetch(&database.pool)
    }

    pub async fn rows_within(self, transaction: &mut Transaction<'static, Any>) -> Result<Vec<AnyRow>, Problem> {
        let query = sqlx::query_with(AssertSqlSafe(self.words), self.values);
        let kind = kind_of(transaction);
        answered(kind, query.fetch_all(&mut **transaction)).await.map_err(|error| failed(&error))
    }

    pub async fn execute(self, transaction: &mut Transaction<'static, Any>) -> Result<u64, Problem> {
        let query = sqlx::query_with(AssertSqlSafe(self.words), self.values);
        let kind = kind_of(transaction);
        let done = answered(kind, query.execute(&mut **transaction)).await.map_err(|error| failed(&error))?;
        Ok(done.rows_affected())
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::error::Error;
    use std::fmt;

    use sqlx::error::DatabaseError;

    use super::*;

    /// An error of PostgreSQL's with that code.
    #[derive(Debug)]
    struct Coded(&'static str);

    impl fmt::Display for Coded {
        fn fmt(&self, words: &mut fmt::Formatter<'_>) -> fmt::Result {
            words.write_str(self.0)
        }
    }

    impl Error for Coded {}

    impl DatabaseError for Coded {
        fn message(&self) -> &str {
            self.0
        }

        fn code(&self) -> Option<Cow<'_, str>> {
            Some(Cow::Borrowed(self.0))
        }

        fn as_error(&self) -> &(dyn Error + Send + Sync + 'static) {
            self
        }

        fn as_error_mut(&mut self) -> &mut (dyn Error + Send + Sync + 'static) {
            self
        }

        fn into_error(self: Box<Self>) -> Box<dyn Error + Send + Sync + 'static> {
            self
        }

        fn kind(&self) -> sqlx::error::ErrorKind {
            sqlx::error::ErrorKind::Other
        }
    }

    #[test]
    fn whoever_lost_to_another_transaction_may_try_again() {
        for (code, title) in [
            ("55P03", "the database is busy"),
            ("40P01", "the database is busy"),
            ("57P01", "the database does not answer"),
        ] {
            let problem = failed(&sqlx::Error::Database(Box::new(Coded(code))));
            assert_eq!((problem.status, problem.title.as_str()), (503, title), "{code}");
        }
    }

    #[test]
    fn a_database_that_somebody_else_writes_for_long_is_busy() {
        let folder = tempfile::tempdir().expect("a folder");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let database = Database::embedded(folder.path(), Older::Grows).await.expect("a database");
            let _writing = database.begin().await.expect("a transaction");
            let mut other = database.pool.acquire().await.expect("a connection");
            other.execute("PRAGMA busy_timeout = 0").await.expect("a setting");
            let error = other.execute("BEGIN IMMEDIATE").await.expect_err("somebody else writes");
            assert_eq!(failed(&error).status, 503);
        });
    }

    #[test]
    fn a_change_that_found_the_disk_full_keeps_none_from_beginning() {
        let folder = tempfile::tempdir().expect("a folder");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let database = Database::embedded(folder.path(), Older::Grows).await.expect("a database");
            // More often than there are connections.
            for _ in 0..2 * CONNECTIONS_MAX {
                let mut transaction = database.begin().await.expect("a transaction");
                transaction.execute("PRAGMA max_page_count = 1").await.expect("a setting");
                let large = "INSERT INTO settings (name, value) VALUES ('large', hex(zeroblob(100000)))";
                let error = transaction.execute(large).await.expect_err("there is no room");
                assert_eq!(failed(&error).status, 507);
            }
            database.close().await;
        });
    }

    #[test]
    fn an_answer_that_never_comes_is_waited_for_no_longer_than_the_limit() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let never = std::future::pending::<Result<(), sqlx::Error>>();
            let error = within(Some(Duration::from_millis(1)), never).await.expect_err("nobody answers");
            let problem = failed(&error);
            assert_eq!((problem.status, problem.title.as_str()), (503, "the database does not answer"));
            assert_eq!(within(Some(Duration::from_secs(60)), async { Ok(7) }).await.expect("an answer"), 7);
        });
    }

    #[test]
    fn a_connection_says_what_it_belongs_to() {
        let folder = tempfile::tempdir().expect("a folder");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let database = Database::embedded(folder.path(), Older::Grows).await.expect("a database");
            let transaction = database.begin().await.expect("a transaction");
            assert_eq!(kind_of(&transaction), Kind::Sqlite);
            roll_back(transaction).await.expect("it is rolled back");
            database.close().await;
        });
    }
}
