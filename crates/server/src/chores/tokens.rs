//! `genba serve token …`: the first way in.

use crate::chores::place::{Place, done};
use crate::routes::login::check_token_name;
use crate::rules::access::{self, Scope};
use crate::rules::naming::check_expiry;
use crate::storage::tokens::{self, Token};
use crate::words::moment::now_ms;
use crate::words::problem::Problem;

/// The secret. `scopes`: `read,write`.
pub fn add_token(place: &Place, name: &str, scopes: &str, expires_ms: Option<i64>) -> Result<String, Problem> {
    check_token_name(name)?;
    let scopes = access::words(&Scope::listed(scopes)?);
    // Whoever types an age never sees a time.
    let worded = |problem: Problem| Problem { detail: None, ..problem }.hint("--expires 90d, 1y or never");
    check_expiry("token", expires_ms, now_ms()).map_err(worded)?;
    done(async {
        let (database, _) = place.storage().await?;
        let secret = tokens::add(&database, name, &scopes, expires_ms).await;
        database.close().await;
        secret
    })
}

pub fn list_tokens(place: &Place) -> Result<Vec<Token>, Problem> {
    done(async {
        let (database, _) = place.existing()?.storage().await?;
        let found = tokens::all(&database).await;
        database.close().await;
        found
    })
}

pub fn rotate_token(place: &Place, name: &str) -> Result<String, Problem> {
    done(async {
        let (database, _) = place.existing()?.storage().await?;
        let rotated = tokens::rotate(&database, name).await;
        database.close().await;
        rotated?.ok_or_else(|| unknown(name))
    })
}

pub fn revoke_token(place: &Place, name: &str) -> Result<(), Problem> {
    done(async {
        let (database, _) = place.existing()?.storage().await?;
        let revoked = tokens::revoke(&database, name).await;
        database.close().await;
        if revoked? { Ok(()) } else { Err(unknown(name)) }
    })
}

fn unknown(name: &str) -> Problem {
    Problem::new(404, format!("there is no token named {name}, or it is revoked")).hint("genba serve token list")
}
