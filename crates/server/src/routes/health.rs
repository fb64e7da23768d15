//! Whether the server works, what it counts, and what it is.

use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;

use crate::keeping::uploading::CHUNK_BYTES_MAX;
use crate::routes::exchange::answer::{Answered, json, with_type};
use crate::routes::exchange::caller::Known;
use crate::routes::metrics::METRICS_TYPE;
use crate::routes::state::AppState;
use crate::rules::access::Scope;
use crate::storage::listing;
use crate::words::problem::Problem;

pub const OPENAPI: &str = include_str!("../../openapi.yaml");

#[derive(Serialize)]
struct Health {
    status: &'static str,
}

pub async fn health(State(state): State<AppState>) -> Answered {
    let health = state.health().await;
    match (health.database, health.store) {
        (true, true) => json(StatusCode::OK, &Health { status: "ok" }),
        (false, _) => Err(Problem::new(503, "the database does not answer")),
        (true, false) => Err(Problem::new(503, "the store of recordings does not answer")),
    }
}

pub async fn metrics(State(state): State<AppState>, Known(caller): Known) -> Answered {
    caller.needs(Scope::Read)?;
    let database = &state.keeper.database;
    let (recordings, bytes) = listing::totals(database, None).await?;
    let live = listing::live(database, None).await?;
    let text = state.metrics.text(recordings, bytes, live);
    Ok(with_type(StatusCode::OK, METRICS_TYPE, text))
}

#[derive(Serialize)]
struct Server {
    name: &'static str,
    version: &'static str,
    login: bool,
    limits: Limits,
}

#[derive(Serialize)]
struct Limits {
    chunk_bytes_max: usize,
    recording_bytes_max: u64,
}

pub async fn server(State(state): State<AppState>) -> Answered {
    let limits = Limits { chunk_bytes_max: CHUNK_BYTES_MAX, recording_bytes_max: state.keeper.recording_bytes_max };
    let (name, version, login) = ("genba", env!("CARGO_PKG_VERSION"), state.needs_login().await?);
    json(StatusCode::OK, &Server { name, version, login, limits })
}

pub async fn openapi() -> Answered {
    Ok(with_type(StatusCode::OK, "application/yaml", OPENAPI))
}
