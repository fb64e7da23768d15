//! The tables, as they grew.
//! Owns: the steps of each kind of database, and who may take them. Never: tells anybody why a database does not fit.

use sqlx::migrate::{Migrate, MigrateError, Migration, MigrationType, Migrator};
use sqlx::{AnyPool, Executor, SqlSafeStr};

/// Number, name, statements. One that was released stays as it is for good. (`sqlx::migrate!` would compile all of sqlx, SQLite too, a second time
/// for the macro.)
type Step = (i64, &'static str, &'static str);

const SQLITE: &[Step] = &[
    (1, "first", include_str!("../../../migrations/sqlite/0001_first.sql")),
    (2, "parts", include_str!("../../../migrations/sqlite/0002_parts.sql")),
];
const POSTGRES: &[Step] = &[
    (1, "first", include_str!("../../../migrations/postgres/0001_first.sql")),
    (2, "parts", include_str!("../../../migrations/postgres/0002_parts.sql")),
];
/// Where sqlx notes the steps that were taken.
const TABLE: &str = "_sqlx_migrations";
/// A row where that table is.
const IS_IN_SQLITE: &str = "SELECT name FROM sqlite_master WHERE name = '_sqlx_migrations'";
const IS_IN_POSTGRES: &str = "SELECT 1 WHERE to_regclass('_sqlx_migrations') IS NOT NULL";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Sqlite,
    Postgres,
}

/// What becomes of a database of an older genba.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Older {
    /// A server begins: all steps that are missing are taken.
    Grows,
    /// A server of that genba may use it: its tables do not change below it. One that is still empty is nobody's, and gets its tables.
    IsRefused,
}

#[derive(Debug)]
pub enum Unfit {
    Older,
    Failed(MigrateError),
}

impl From<MigrateError> for Unfit {
    fn from(error: MigrateError) -> Unfit {
        Unfit::Failed(error)
    }
}

pub async fn prepare(pool: &AnyPool, kind: Kind, older: Older) -> Result<(), Unfit> {
    let (steps, is_there) = match kind {
        Kind::Sqlite => (SQLITE, IS_IN_SQLITE),
        Kind::Postgres => (POSTGRES, IS_IN_POSTGRES),
    };
    if older == Older::IsRefused && is_older(pool, steps, is_there).await? {
        return Err(Unfit::Older);
    }
    let step = |&(version, name, statements): &Step| {
        Migration::new(version, name.into(), MigrationType::Simple, statements.into_sql_str(), false)
    };
    Migrator::with_migrations(steps.iter().map(step).collect()).run(pool).await?;
    Ok(())
}

async fn is_older(pool: &AnyPool, steps: &[Step], is_there: &'static str) -> Result<bool, MigrateError> {
    let mut connection = pool.acquire().await?;
    if connection.fetch_optional(is_there).await?.is_none() {
        return Ok(false);
    }
    let taken = connection.list_applied_migrations(TABLE).await?;
    let (last, newest) = (taken.iter().map(|step| step.version).max(), steps.iter().map(|step| step.0).max());
    Ok(last.is_some() && last < newest)
}
