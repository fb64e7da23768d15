//! A recording while it grows, as server-sent events: `grown`, `sealed`, `gone`.
//! Owns: how often the database is asked: another server may take the upload. Never: keeps a stream
//! longer than the server lives, or than its reader may read.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde_json::value::RawValue;

use crate::routes::exchange::caller::{Known, of_headers};
use crate::routes::shown::readable;
use crate::routes::state::AppState;
use crate::rules::access::Scope;
use crate::storage::recordings::{self, Recording, State as Stands};
use crate::words::problem::Problem;

const ASKED_EVERY: Duration = Duration::from_secs(1);
/// Who follows is asked for again before each event, and this often while nothing happens.
const KNOWN_FOR: Duration = Duration::from_secs(5);

struct Following {
    state: AppState,
    id: String,
    /// Of the request: its token, or its session.
    headers: HeaderMap,
    known_at: Instant,
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
    readable(&state, &id, &caller).await?;
    let following = Following { state, id, headers, known_at: Instant::now(), told: None, is_over: false };
    let events = stream::unfold(following, |following| async { following.next().await });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()).into_response())
}

impl Following {
    async fn next(mut self) -> Option<(Result<Event, Infallible>, Following)> {
        let mut ending = self.state.ending.clone();
        loop {
            if self.is_over || *ending.borrow() {
                return None;
            }
            // The reader connects again, to a server whose database answers.
            let recording = recordings::find(&self.state.keeper.database, &self.id).await.ok()?;
            let open = recording.as_ref().filter(|recording| recording.state == Stands::Open);
            let standing = open.map(|recording| (recording.bytes, recording.facts.clone()));
            let is_news = open.is_none() || self.told != standing;
            if is_news || self.known_at.elapsed() >= KNOWN_FOR {
                if !self.may_go_on(recording.as_ref()).await {
                    return None;
                }
                self.known_at = Instant::now();
            }
            if is_news {
                self.is_over = open.is_none();
                self.told = standing;
                let event = match &recording {
                    None => Event::default().event("gone").data("{}"),
                    Some(recording) if self.is_over => event("sealed", recording),
                    Some(recording) => event("grown", recording),
                };
                return Some((Ok(event), self));
            }
            tokio::select! {
                () = tokio::time::sleep(ASKED_EVERY) => {}
                _ = ending.changed() => {}
            }
        }
    }

    /// False: the token was revoked or has expired, the session has ended, or the database does not say.
    async fn may_go_on(&self, recording: Option<&Recording>) -> bool {
        match of_headers(&self.headers, &self.state).await {
            Ok(Some(caller)) => caller.may(Scope::Read) && recording.is_none_or(|recording| caller.may_see(recording)),
            Ok(None) | Err(_) => false,
        }
    }
}

#[derive(serde::Serialize)]
struct Grown {
    bytes: u64,
    facts: Option<Box<RawValue>>,
}

fn event(name: &str, recording: &Recording) -> Event {
    let facts = recording.facts.clone().and_then(|facts| RawValue::from_string(facts).ok());
    let data = serde_json::to_string(&Grown { bytes: recording.bytes, facts }).unwrap_or_default();
    Event::default().event(name).data(data)
}
