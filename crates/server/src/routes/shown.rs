//! A recording as its form in JSON, and who may see, read or change it.
//! Owns: that one which a caller may not see is as if it were not there. Never: changes one.

use axum::http::StatusCode;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::routes::exchange::answer::{Answered, json};
use crate::routes::state::Shared;
use crate::rules::access::{Caller, Scope};
use crate::storage::recordings::{Recording, State as Stands};
use crate::storage::settings;
use crate::words::moment::DAY_MS;
use crate::words::problem::Problem;

#[derive(Serialize)]
pub struct Shown<'r> {
    id: &'r str,
    name: &'r str,
    program: &'r str,
    state: &'static str,
    live: bool,
    owner: &'r str,
    host: Option<&'r str>,
    tags: &'r [String],
    created_ms: i64,
    sealed_ms: Option<i64>,
    bytes: u64,
    sha256: Option<&'r str>,
    url: String,
    facts: Option<Box<RawValue>>,
    kept_until_ms: Option<i64>,
    may: May,
}

#[derive(Serialize)]
struct May {
    change: bool,
}

impl<'r> Shown<'r> {
    pub fn of(recording: &'r Recording, caller: &Caller, keep_days: Option<u32>) -> Shown<'r> {
        let facts = recording.facts.as_ref().and_then(|facts| RawValue::from_string(facts.clone()).ok());
        let kept_until = |sealed_ms: i64| keep_days.map(|days| sealed_ms.saturating_add(i64::from(days) * DAY_MS));
        Shown {
            id: &recording.id,
            name: &recording.name,
            program: &recording.program,
            state: if recording.state == Stands::Sealed { "sealed" } else { "open" },
            live: recording.live,
            owner: &recording.owner,
            host: recording.host.as_deref(),
            tags: &recording.tags,
            created_ms: recording.created_ms,
            sealed_ms: recording.sealed_ms,
            bytes: recording.bytes,
            sha256: recording.sha256.as_deref(),
            url: format!("/r/{}", recording.id),
            facts,
            kept_until_ms: recording.sealed_ms.and_then(kept_until),
            may: May { change: caller.may_change(recording) },
        }
    }
}

pub async fn shown(state: &Shared, status: StatusCode, recording: &Recording, caller: &Caller) -> Answered {
    let keep_days = settings::keep_days(&state.keeper.database).await?;
    json(status, &Shown::of(recording, caller, keep_days))
}

/// One that this caller may see; else it is as if it were not there.
pub async fn visible(state: &Shared, id: &str, caller: &Caller) -> Result<Recording, Problem> {
    let recording = state.keeper.find(id).await?;
    match caller.may_see(&recording) {
        true => Ok(recording),
        false => Err(Problem::not_found("recording")),
    }
}

/// The same for whoever wants to know what is in it.
pub async fn readable(state: &Shared, id: &str, caller: &Caller) -> Result<Recording, Problem> {
    caller.needs(Scope::Read)?;
    visible(state, id, caller).await
}

pub async fn changeable(state: &Shared, id: &str, caller: &Caller) -> Result<Recording, Problem> {
    caller.needs(Scope::Write)?;
    let recording = visible(state, id, caller).await?;
    caller.needs_to_change(&recording)?;
    Ok(recording)
}
