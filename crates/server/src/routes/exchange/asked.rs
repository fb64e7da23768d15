//! What a request says: its query and its JSON, taken apart strictly.
//! Owns: the words when they cannot be read. Never: reads a recording's bytes (`routes/content.rs` does).

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Uri};
use bytes::{Bytes, BytesMut};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::rules::pace::Pace;
use crate::words::problem::Problem;

const JSON_BYTES_MAX: usize = 64 << 10;
const NUL: &str = "no text of this server has one: PostgreSQL cannot keep it";

/// Of every request. `%00` is a NUL wherever it is: no other letters of an address hold these three.
pub fn check_address(address: &Uri) -> Result<(), Problem> {
    let has_nul = |words: &str| words.contains("%00");
    match has_nul(address.path()) || address.query().is_some_and(has_nul) {
        true => Err(Problem::bad_request("the address holds a NUL character (%00)").detail(NUL)),
        false => Ok(()),
    }
}

pub struct Asked<Words>(pub Words);

impl<Words: DeserializeOwned, State: Send + Sync> FromRequestParts<State> for Asked<Words> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Asked<Words>, Problem> {
        match Query::<Words>::from_request_parts(parts, state).await {
            Ok(Query(words)) => Ok(Asked(words)),
            Err(why) => Err(Problem::bad_request("the query cannot be read").detail(why.body_text())),
        }
    }
}

pub struct Said<Words>(pub Words);

impl<Words: DeserializeOwned, State: Send + Sync> FromRequest<State> for Said<Words> {
    type Rejection = Problem;

    async fn from_request(request: Request, _state: &State) -> Result<Said<Words>, Problem> {
        if content_type(request.headers()) != "application/json" {
            return Err(Problem::new(415, "this takes application/json"));
        }
        said(request.into_body()).await.map(Said)
    }
}

pub async fn said<Words: DeserializeOwned>(body: Body) -> Result<Words, Problem> {
    said_within(body, JSON_BYTES_MAX).await
}

pub async fn said_within<Words: DeserializeOwned>(body: Body, bytes_max: usize) -> Result<Words, Problem> {
    let bytes = bytes(body, bytes_max).await?;
    let unfit =
        |error: serde_json::Error| Problem::bad_request("the JSON is not what this takes").detail(error.to_string());
    // serde would take a list for an object, its fields in their order.
    let object = serde_json::from_slice::<serde_json::Map<String, Value>>(&bytes).map_err(unfit)?;
    if object.values().any(has_nul) {
        return Err(Problem::bad_request("a text of the JSON holds a NUL character").detail(NUL));
    }
    serde_json::from_value(object.into()).map_err(unfit)
}

fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(values) => values.iter().any(has_nul),
        Value::Object(fields) => fields.values().any(has_nul),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Without parameters, in small letters.
pub fn content_type(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// 413 at once, where a request says that its body is larger.
pub fn check_length(headers: &HeaderMap, bytes_max: u64) -> Result<(), Problem> {
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    match length.is_some_and(|length| length > bytes_max) {
        true => Err(too_large(bytes_max)),
        false => Ok(()),
    }
}

fn too_large(bytes_max: u64) -> Problem {
    Problem::new(413, "the body is too large").detail(format!("it has {bytes_max} bytes at most"))
}

/// 413 beyond that. It is in memory once: what came in pieces is not put together later.
pub async fn bytes(body: Body, bytes_max: usize) -> Result<Bytes, Problem> {
    let (mut pieces, mut pace, mut whole) = (body.into_data_stream(), Pace::begin(), BytesMut::new());
    while let Some(piece) = pace.next(&mut pieces).await? {
        if piece.len() > bytes_max - whole.len() {
            return Err(too_large(bytes_max as u64));
        }
        whole.extend_from_slice(&piece);
    }
    Ok(whole.freeze())
}

/// Reads so much of a body, or all of it, as long as it comes in time, and keeps nothing.
pub async fn discard(body: Body, bytes_max: usize) {
    let (mut pieces, mut pace, mut read) = (body.into_data_stream(), Pace::begin(), 0);
    while let Ok(Some(piece)) = pace.next(&mut pieces).await {
        read += piece.len();
        if read >= bytes_max {
            break;
        }
    }
}
