//! Links that are shared: made, listed, revoked, opened.
//! Owns: what a link opens: one recording's page, and nothing else. Never: tells why a code that does not exist does not.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::Response;
use serde::{Deserialize, Serialize};

use crate::routes::exchange::answer::{Answered, empty, json};
use crate::routes::exchange::asked::Said;
use crate::routes::exchange::caller::{Known, Perhaps};
use crate::routes::pages::{login_first, problem_page, recording_page, words_page};
use crate::routes::shown::{changeable, visible};
use crate::routes::state::{AppState, Shared};
use crate::routes::views::BY_LINK;
use crate::rules::access::Scope;
use crate::rules::naming::{check_expiry, check_fragment};
use crate::storage::links::{self, Link};
use crate::words::moment::now_ms;
use crate::words::problem::Problem;
use crate::words::random;

#[derive(Serialize)]
struct Shown<'l> {
    code: &'l str,
    url: String,
    recording: &'l str,
    made_by: &'l str,
    made_ms: i64,
    expires_ms: Option<i64>,
    revoked_ms: Option<i64>,
    revoked_by: Option<&'l str>,
    needs_token: bool,
    fragment: &'l str,
    opened: u64,
}

impl<'l> Shown<'l> {
    fn of(link: &'l Link) -> Shown<'l> {
        Shown {
            code: &link.code,
            url: format!("/s/{}", link.code),
            recording: &link.recording,
            made_by: &link.made_by,
            made_ms: link.made_ms,
            expires_ms: link.expires_ms,
            revoked_ms: link.revoked_ms,
            revoked_by: link.revoked_by.as_deref(),
            needs_token: link.needs_token,
            fragment: &link.fragment,
            opened: link.opened,
        }
    }
}

#[derive(Serialize)]
struct List<'l> {
    links: Vec<Shown<'l>>,
}

pub async fn list(State(state): State<AppState>, Known(caller): Known, Path(id): Path<String>) -> Answered {
    // Nothing of what is in it is told: a token that may only write lists the links that it made.
    let recording = visible(&state, &id, &caller).await?;
    let found = links::of_recording(&state.keeper.database, &recording.id).await?;
    // Whoever has a code can open it: only those who may make one see them.
    let found = if caller.may_change(&recording) { found } else { Vec::new() };
    json(StatusCode::OK, &List { links: found.iter().map(Shown::of).collect() })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Made {
    #[serde(default)]
    expires_ms: Option<i64>,
    #[serde(default)]
    needs_token: bool,
    #[serde(default)]
    fragment: String,
}

pub async fn create(
    State(state): State<AppState>,
    Known(caller): Known,
    Path(id): Path<String>,
    Said(made): Said<Made>,
) -> Answered {
    let recording = changeable(&state, &id, &caller).await?;
    check_fragment(&made.fragment)?;
    check_expiry("link", made.expires_ms, now_ms())?;
    let link = Link {
        code: random::code()?,
        recording: recording.id,
        made_by: caller.name,
        made_ms: now_ms(),
        expires_ms: made.expires_ms,
        revoked_ms: None,
        revoked_by: None,
        needs_token: made.needs_token,
        fragment: made.fragment,
        opened: 0,
    };
    match links::insert(&state.keeper.database, &link).await? {
        true => json(StatusCode::CREATED, &Shown::of(&link)),
        false => Err(Problem::conflict("the recording has as many links as it may have")
            .detail(format!("it has {}, ended ones included", links::LINKS_MAX))
            .hint("share one of its links, or push the file again and share that")),
    }
}

pub async fn revoke(State(state): State<AppState>, Known(caller): Known, Path(code): Path<String>) -> Answered {
    caller.needs(Scope::Write)?;
    let database = &state.keeper.database;
    let link = links::find(database, &code).await?.ok_or_else(|| Problem::not_found("link"))?;
    let recording = state.keeper.find(&link.recording).await?;
    if link.made_by != caller.name && !caller.may_change(&recording) {
        return Err(Problem::forbidden("this link is somebody else's").detail(format!(
            "{} made it, and {} uploaded the recording; only they or an admin may revoke it",
            link.made_by, recording.owner
        )));
    }
    links::revoke(database, &code, &caller.name).await?;
    Ok(empty())
}

/// Leads to the page, at what the maker of the link saw.
pub async fn open(State(state): State<AppState>, Perhaps(caller): Perhaps, Path(code): Path<String>) -> Answered {
    let link = match valid(&state, &code).await? {
        Ok(link) => link,
        Err(page) => return Ok(page),
    };
    if link.needs_token && caller.is_none() {
        return login_first(&format!("/s/{code}"));
    }
    let mut response = Response::new(axum::body::Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    let place = format!("/s/{code}/recording{}", link.fragment);
    response.headers_mut().insert(LOCATION, place.try_into().map_err(|error| Problem::internal("a header", &error))?);
    Ok(response)
}

pub async fn shared(State(state): State<AppState>, Perhaps(caller): Perhaps, Path(code): Path<String>) -> Answered {
    let link = match valid(&state, &code).await? {
        Ok(link) => link,
        Err(page) => return Ok(page),
    };
    if link.needs_token && caller.is_none() {
        return login_first(&format!("/s/{code}"));
    }
    let recording = state.keeper.find(&link.recording).await?;
    let page = match recording_page(&state, &recording, BY_LINK, false).await {
        Ok(page) => page,
        Err(problem) => return problem_page(&problem),
    };
    Problem::unless_full(links::note_opened(&state.keeper.database, &code).await)?;
    Ok(page)
}

async fn valid(state: &Shared, code: &str) -> Result<Result<Link, Response>, Problem> {
    let ended = |title: &str, words: &str| words_page(StatusCode::GONE, title, words).map(Err);
    match links::find(&state.keeper.database, code).await? {
        None => words_page(StatusCode::NOT_FOUND, "There is no such link", "It may have been copied in part.").map(Err),
        Some(link) if link.revoked_ms.is_some() => {
            ended("This link was revoked", "Whoever sent it can send you another one.")
        }
        Some(link) if link.is_expired() => ended("This link has expired", "Whoever sent it can send you another one."),
        Some(link) => Ok(Ok(link)),
    }
}
