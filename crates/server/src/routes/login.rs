//! Logging in with a token, the tokens themselves, and settings.
//! Owns: the cookie's form, a token's form in JSON. Never: shows a token a second time.

use axum::extract::{Path, Request, State};
use axum::http::header::{ORIGIN, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use serde::{Deserialize, Serialize};

use crate::routes::exchange::answer::{Answered, empty, json};
use crate::routes::exchange::asked::{Said, content_type, said_within};
use crate::routes::exchange::caller::{COOKIE_NAME, Known, cookie, peer, wrong};
use crate::routes::state::AppState;
use crate::rules::access::{self, Caller, LOCAL, Scope, is_token_name};
use crate::rules::naming::check_expiry;
use crate::storage::database::Kind;
use crate::storage::settings;
use crate::storage::tokens::{self, Token};
use crate::words::moment::{DAY_MS, now_ms};
use crate::words::problem::Problem;

const SESSION_DAYS: i64 = 30;
/// Anybody may log in, and a token has less than 100 letters.
const LOG_IN_BYTES_MAX: usize = 4 << 10;
const KEEP_DAYS_MAX: u32 = 36_500;

#[derive(Serialize)]
struct Who {
    name: String,
    scopes: Vec<&'static str>,
    login: bool,
}

pub async fn who(State(state): State<AppState>, Known(Caller { name, scopes }): Known) -> Answered {
    let login = state.needs_login().await?;
    json(StatusCode::OK, &Who { name, scopes: scopes.into_iter().map(Scope::word).collect(), login })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LogIn {
    token: String,
}

pub async fn log_in(State(state): State<AppState>, request: Request) -> Answered {
    if content_type(request.headers()) != "application/json" {
        return Err(Problem::new(415, "this takes application/json"));
    }
    let (parts, body) = request.into_parts();
    let LogIn { token } = said_within(body, LOG_IN_BYTES_MAX).await?;
    let database = &state.keeper.database;
    // Who is here knows where to log in.
    let not_valid = || {
        let problem = wrong(&state, peer(&parts), "this token is not valid");
        Problem { hint: problem.hint.filter(|_| problem.retry_after_s.is_some()), ..problem }
    };
    let Some(known) = tokens::of_secret(database, &token).await? else {
        return Err(not_valid());
    };
    let latest_ms = now_ms() + SESSION_DAYS * DAY_MS;
    let expires_ms = known.expires_ms.map_or(latest_ms, |expires_ms| expires_ms.min(latest_ms));
    let Some(secret) = tokens::begin_session(database, &known.name, &token, expires_ms).await? else {
        return Err(not_valid());
    };
    with_cookie(&parts.headers, &secret, (expires_ms - now_ms()) / 1_000)
}

pub async fn log_out(State(state): State<AppState>, headers: HeaderMap) -> Answered {
    if let Some(secret) = cookie(&headers) {
        tokens::end_session(&state.keeper.database, secret).await?;
    }
    with_cookie(&headers, "", 0)
}

/// Lax: a link to a recording, in a chat, opens it. What changes something asks for this server's own origin as well.
fn with_cookie(headers: &HeaderMap, secret: &str, lives_s: i64) -> Answered {
    let is_https = |name: &str, word: &str| {
        headers.get(name).and_then(|value| value.to_str().ok()).is_some_and(|value| value.starts_with(word))
    };
    let secure =
        if is_https(ORIGIN.as_str(), "https:") || is_https("x-forwarded-proto", "https") { "; Secure" } else { "" };
    let words = format!("{COOKIE_NAME}={secret}; Path=/; HttpOnly; SameSite=Lax; Max-Age={lives_s}{secure}");
    let value = HeaderValue::try_from(words).map_err(|error| Problem::internal("a cookie", &error))?;
    let mut response = empty();
    response.headers_mut().insert(SET_COOKIE, value);
    Ok(response)
}

#[derive(Serialize)]
struct Shown<'t> {
    name: &'t str,
    scopes: Vec<&'t str>,
    made_ms: i64,
    expires_ms: Option<i64>,
    used_ms: Option<i64>,
    revoked_ms: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<&'t str>,
}

impl<'t> Shown<'t> {
    fn of(token: &'t Token, secret: Option<&'t str>) -> Shown<'t> {
        Shown {
            name: &token.name,
            scopes: token.scopes.split(',').collect(),
            made_ms: token.made_ms,
            expires_ms: token.expires_ms,
            used_ms: token.used_ms,
            revoked_ms: token.revoked_ms,
            token: secret,
        }
    }
}

#[derive(Serialize)]
struct List<'t> {
    tokens: Vec<Shown<'t>>,
}

pub async fn list(State(state): State<AppState>, Known(caller): Known) -> Answered {
    caller.needs(Scope::Admin)?;
    let found = tokens::all(&state.keeper.database).await?;
    json(StatusCode::OK, &List { tokens: found.iter().map(|token| Shown::of(token, None)).collect() })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Made {
    name: String,
    scopes: Vec<String>,
    #[serde(default)]
    expires_ms: Option<i64>,
}

pub async fn create(State(state): State<AppState>, Known(caller): Known, Said(made): Said<Made>) -> Answered {
    caller.needs(Scope::Admin)?;
    check_token_name(&made.name)?;
    let scopes = access::words(&Scope::each(&made.scopes)?);
    check_expiry("token", made.expires_ms, now_ms())?;
    let database = &state.keeper.database;
    let secret = tokens::add(database, &made.name, &scopes, made.expires_ms).await?;
    shown(&state, StatusCode::CREATED, &made.name, Some(&secret)).await
}

/// `local` is who asks where nobody logs in: their recordings stay theirs.
pub fn check_token_name(name: &str) -> Result<(), Problem> {
    match is_token_name(name) && name != LOCAL {
        true => Ok(()),
        false => Err(Problem::bad_request(format!("`{name}` cannot be the name of a token"))
            .detail(
                "a name begins with a letter or a digit, has also . _ @ and -, and at most 64 of them; `local` is taken",
            )
            .hint("lena and lena@example.org are such names")),
    }
}

pub async fn rotate(State(state): State<AppState>, Known(caller): Known, Path(name): Path<String>) -> Answered {
    caller.needs(Scope::Admin)?;
    let database = &state.keeper.database;
    let known = tokens::find(database, &name).await?.ok_or_else(|| Problem::not_found("token"))?;
    let rotated = if known.revoked_ms.is_some() { None } else { tokens::rotate(database, &name).await? };
    match rotated {
        Some(secret) => shown(&state, StatusCode::OK, &name, Some(&secret)).await,
        None => {
            Err(Problem::conflict(format!("the token {name} is revoked")).hint("make a new one under another name"))
        }
    }
}

pub async fn revoke(
    State(state): State<AppState>,
    Known(caller): Known,
    Path(name): Path<String>,
) -> Result<Response, Problem> {
    caller.needs(Scope::Admin)?;
    let database = &state.keeper.database;
    tokens::find(database, &name).await?.ok_or_else(|| Problem::not_found("token"))?;
    tokens::revoke(database, &name).await?;
    Ok(empty())
}

async fn shown(state: &AppState, status: StatusCode, name: &str, secret: Option<&str>) -> Answered {
    let token = tokens::find(&state.keeper.database, name).await?.ok_or_else(|| Problem::not_found("token"))?;
    json(status, &Shown::of(&token, secret))
}

#[derive(Serialize)]
struct Settings {
    keep_days: Option<u32>,
    version: &'static str,
    database: &'static str,
    store: &'static str,
}

pub async fn settings(State(state): State<AppState>, Known(caller): Known) -> Answered {
    caller.needs(Scope::Read)?;
    settings_now(&state).await
}

async fn settings_now(state: &AppState) -> Answered {
    let keeper = &state.keeper;
    json(
        StatusCode::OK,
        &Settings {
            keep_days: settings::keep_days(&keeper.database).await?,
            version: env!("CARGO_PKG_VERSION"),
            database: if keeper.database.kind == Kind::Sqlite { "sqlite" } else { "postgres" },
            store: if keeper.store.is_folder() { "folder" } else { "s3" },
        },
    )
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Changed {
    /// Null: recordings are kept for good. It has to be said.
    #[serde(deserialize_with = "Option::deserialize")]
    keep_days: Option<u32>,
}

pub async fn change_settings(
    State(state): State<AppState>,
    Known(caller): Known,
    Said(changed): Said<Changed>,
) -> Answered {
    caller.needs(Scope::Admin)?;
    if changed.keep_days.is_some_and(|days| !(1..=KEEP_DAYS_MAX).contains(&days)) {
        return Err(Problem::bad_request(format!("keep_days is 1 to {KEEP_DAYS_MAX}, or null: for good")));
    }
    settings::set_keep_days(&state.keeper.database, changed.keep_days).await?;
    settings_now(&state).await
}
