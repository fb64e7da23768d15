//! A recording while it grows, as server-sent events: `grown`, `sealed`, `gone`.
//! Owns: how often the database is asked: another server may take the upload. Never: keeps a stream longer than the server lives.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde_json::value::RawValue;

use crate::routes::exchange::caller::Known;
use crate::routes::shown::readable;
use crate::routes::state::AppState;
use crate::storage::recordings::{self, Recording, State as Stands};
use crate::words::problem::Problem;

const ASKED_EVERY: Duration = Duration::from_secs(1);

struct Following {
    state: AppState,
    id: String,
    /// Bytes and facts that were told.
    told: Option<(u64, Option<String>)>,
    is_over: bool,
}

pub async fn events(
    State(state): State<AppState>,
    Known(caller): Known,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    readable(&state, &id, &caller).await?;
    let following = Following { state, id, told: None, is_over: false };
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
            match recordings::find(&self.state.keeper.database, &self.id).await {
                Ok(None) => return Some((Ok(Event::default().event("gone").data("{}")), self.over())),
                Ok(Some(recording)) if recording.state == Stands::Sealed => {
                    return Some((Ok(event("sealed", &recording)), self.over()));
                }
                Ok(Some(recording)) => {
                    let standing = Some((recording.bytes, recording.facts.clone()));
                    if self.told != standing {
                        self.told = standing;
                        return Some((Ok(event("grown", &recording)), self));
                    }
                }
                // The reader connects again, to a server whose database answers.
                Err(_) => return None,
            }
            tokio::select! {
                () = tokio::time::sleep(ASKED_EVERY) => {}
                _ = ending.changed() => {}
            }
        }
    }

    fn over(self) -> Following {
        Following { is_over: true, ..self }
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
