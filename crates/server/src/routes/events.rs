//! A recording while it grows, as server-sent events: `grown`, `sealed`, `gone`.
//! Owns: how often the database is asked, once for all streams of a recording: another server may take the upload. Never: keeps a stream
//! longer than five minutes, than the server lives, or than its reader may read.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, COOKIE};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde_json::value::RawValue;

use crate::keeping::looks::Look;
use crate::routes::exchange::caller::{Known, of_headers};
use crate::routes::shown::readable;
use crate::routes::state::{AppState, Credentials, Standing};
use crate::rules::access::{Caller, Scope};
use crate::storage::recordings::{self, Recording, State as Stands};
use crate::words::problem::Problem;

/// By each stream. What another one was told less than that ago is new enough where this one was not told it yet.
const ASKED_EVERY: Duration = Duration::from_secs(1);
/// Who follows is asked for again before each event, and this often while nothing happens.
const KNOWN_FOR: Duration = Duration::from_secs(5);
/// Events are short: the kernel takes them for hours from a reader who takes none. A browser connects again by itself.
const FOLLOWED_FOR: Duration = Duration::from_secs(300);

struct Following {
    state: AppState,
    id: String,
    began: Instant,
    standing: Arc<Look<Standing>>,
    /// Of the request: its token, or its session.
    headers: HeaderMap,
    follower: Arc<Look<Option<Caller>>>,
    known_at: Instant,
    /// When the look began that this stream knows of, and when it wants the next one.
    looked: Instant,
    due: Instant,
    /// Bytes and facts that were told.
    told: Option<(u64, Option<String>)>,
    is_over: bool,
}

pub async fn events(
    State(state): State<AppState>,
    Known(caller): Known,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let began = Instant::now();
    readable(&state, &id, &caller).await?;
    let (standing, follower) = (state.standings.of(id.clone()), state.followers.of(credentials(&headers)));
    let following = Following {
        state,
        id,
        began,
        standing,
        headers,
        follower,
        known_at: began,
        looked: began,
        due: began,
        told: None,
        is_over: false,
    };
    let events = stream::unfold(following, |following| async { following.next().await });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()).into_response())
}

impl Following {
    async fn next(mut self) -> Option<(Result<Event, Infallible>, Following)> {
        let mut ending = self.state.ending.clone();
        loop {
            if self.is_over || *ending.borrow() || self.began.elapsed() >= FOLLOWED_FOR {
                return None;
            }
            tokio::select! {
                () = tokio::time::sleep(self.due.saturating_duration_since(Instant::now())) => {}
                _ = ending.changed() => continue,
            }
            let (began, found) = self.look().await;
            (self.looked, self.due) = (began, Instant::now() + ASKED_EVERY);
            // The reader connects again, to a server whose database answers.
            let found = found.ok()?;
            let recording = found.as_deref();
            let open = recording.filter(|recording| recording.state == Stands::Open);
            let standing = open.map(|recording| (recording.bytes, recording.facts.clone()));
            let is_news = open.is_none() || self.told != standing;
            if is_news || self.known_at.elapsed() >= KNOWN_FOR {
                if !self.may_go_on(recording).await {
                    return None;
                }
                self.known_at = Instant::now();
            }
            if is_news {
                self.is_over = open.is_none();
                self.told = standing;
                let event = match recording {
                    None => Event::default().event("gone").data("{}"),
                    Some(recording) if self.is_over => event("sealed", recording),
                    Some(recording) => event("grown", recording),
                };
                return Some((Ok(event), self));
            }
        }
    }

    /// Newer than the last one. A look that lasts long is new enough for all who began to wait for it before it began.
    async fn look(&self) -> (Instant, Standing) {
        let (known, asked) = (self.looked, Instant::now());
        let is_new_enough =
            |began: Instant, _: &Standing| began > known && (began >= asked || began.elapsed() < ASKED_EVERY);
        let database = &self.state.keeper.database;
        let ask = async { recordings::find(database, &self.id).await.map(|found| found.map(Arc::new)) };
        self.standing.at(is_new_enough, ask).await
    }

    /// As it was when the recording was looked at, or later. False: the token was revoked or has expired, the session has ended, or the
    /// database does not say.
    async fn may_go_on(&self, recording: Option<&Recording>) -> bool {
        let looked = self.looked;
        let ask = async { of_headers(&self.headers, &self.state).await.ok().flatten() };
        let (_, caller) = self.follower.at(|began, _| began >= looked, ask).await;
        caller.is_some_and(|caller| {
            caller.may(Scope::Read) && recording.is_none_or(|recording| caller.may_see(recording))
        })
    }
}

fn credentials(headers: &HeaderMap) -> Credentials {
    [AUTHORIZATION, COOKIE].map(|name| headers.get_all(name).iter().map(|value| value.as_bytes().to_vec()).collect())
}

#[derive(serde::Serialize)]
struct Grown {
    bytes: u64,
    facts: Option<Box<RawValue>>,
}

fn event(name: &str, recording: &Recording) -> Event {
    let facts = recording.facts.clone().and_then(|facts| RawValue::from_string(facts).ok());
    let data = genba_text::json::compact(&Grown { bytes: recording.bytes, facts }).unwrap_or_default();
    Event::default().event(name).data(data.trim_end())
}
