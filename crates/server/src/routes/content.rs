//! The bytes of a recording: parts of an upload, a whole one, its seal, and back.
//! Owns: the headers of an upload. Never: answers before the bytes are on the disk.

use axum::body::{Body, HttpBody};
use axum::extract::{Path, Request, State};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, EXPECT};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use serde::Deserialize;

use crate::keeping::keeper::New;
use crate::keeping::uploading::{CHUNK_BYTES_MAX, Expected};
use crate::routes::exchange::answer::{Answered, UPLOAD_COMPLETE, UPLOAD_OFFSET, empty, with_type};
use crate::routes::exchange::asked::{self, Said};
use crate::routes::exchange::caller::Known;
use crate::routes::shown::{changeable, readable, shown, visible};
use crate::routes::state::{AppState, Shared};
use crate::rules::room::Taken;
use crate::storage::recordings::{Recording, State as Stands};
use crate::words::problem::Problem;

pub async fn upload_whole(state: &Shared, new: New, request: Request) -> Result<Recording, Problem> {
    let (room, body) = with_room(state, &new.owner, request).await?;
    let recording = state.keeper.upload(new, body.into_data_stream(), room).await?;
    state.metrics.uploaded_bytes.inc_by(recording.bytes);
    state.metrics.sealed.inc();
    Ok(recording)
}

/// Before anything of the body is read: so much of it is in memory at once.
async fn with_room(state: &Shared, token: &str, request: Request) -> Result<(Taken, Body), Problem> {
    let waits_for_word = request.headers().contains_key(EXPECT);
    let body = request.into_body();
    let bytes = body.size_hint().upper().unwrap_or(u64::MAX).min(CHUNK_BYTES_MAX as u64);
    match state.uploads.take(token, u32::try_from(bytes).unwrap_or(u32::MAX)).await {
        Ok(room) => Ok((room, body)),
        Err(problem) => {
            // Many a client reads the answer only after its last byte. One that waits for a word sends nothing before it.
            if !waits_for_word {
                asked::discard(body, CHUNK_BYTES_MAX).await;
            }
            Err(problem)
        }
    }
}

pub async fn standing(State(state): State<AppState>, Known(caller): Known, Path(id): Path<String>) -> Answered {
    let recording = visible(&state, &id, &caller).await?;
    let mut response = Response::new(Body::empty());
    note_standing(&mut response, &recording);
    Ok(response)
}

fn note_standing(response: &mut Response, recording: &Recording) {
    let is_whole = if recording.state == Stands::Sealed { "?1" } else { "?0" };
    response.headers_mut().insert(UPLOAD_OFFSET, HeaderValue::from(recording.bytes));
    response.headers_mut().insert(UPLOAD_COMPLETE, HeaderValue::from_static(is_whole));
}

pub async fn append(
    State(state): State<AppState>,
    Known(caller): Known,
    Path(id): Path<String>,
    request: Request,
) -> Answered {
    let recording = changeable(&state, &id, &caller).await?;
    let at = offset(request.headers())?;
    asked::check_length(request.headers(), CHUNK_BYTES_MAX as u64)?;
    let (room, body) = with_room(&state, &caller.name, request).await?;
    let part = asked::bytes(body, CHUNK_BYTES_MAX).await?;
    let length = part.len() as u64;
    let end = state.keeper.append(&recording, at, room.beside(part)).await?;
    state.metrics.uploaded_bytes.inc_by(length);
    // A sealed one that took a part is live again.
    if recording.live || recording.state == Stands::Sealed {
        Shared::learn_later(&state, &id);
    }
    let mut response = empty();
    response.headers_mut().insert(UPLOAD_OFFSET, HeaderValue::from(end));
    Ok(response)
}

fn offset(headers: &HeaderMap) -> Result<u64, Problem> {
    let value = headers.get(UPLOAD_OFFSET).and_then(|value| value.to_str().ok());
    let is_number = |value: &&str| value.bytes().all(|letter| letter.is_ascii_digit());
    value.filter(is_number).and_then(|value| value.parse().ok()).ok_or_else(|| {
        Problem::bad_request("the header Upload-Offset says where the bytes begin")
            .hint("Upload-Offset: 0 for the first ones")
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sealed {
    bytes: u64,
    sha256: String,
}

pub async fn seal(
    State(state): State<AppState>,
    Known(caller): Known,
    Path(id): Path<String>,
    Said(Sealed { bytes, sha256 }): Said<Sealed>,
) -> Answered {
    let recording = changeable(&state, &id, &caller).await?;
    if sha256.len() != 64 || !sha256.bytes().all(|letter| letter.is_ascii_digit() || (b'a'..=b'f').contains(&letter)) {
        return Err(Problem::bad_request("sha256 is 64 digits and letters from a to f"));
    }
    let sealed = state.keeper.seal(&recording, Some(&Expected { bytes, sha256 })).await?;
    state.metrics.sealed.inc();
    shown(&state, StatusCode::OK, &sealed, &caller).await
}

/// The file. Of an open recording what is acknowledged so far.
pub async fn download(State(state): State<AppState>, Known(caller): Known, Path(id): Path<String>) -> Answered {
    let recording = readable(&state, &id, &caller).await?;
    let body = Body::from_stream(state.keeper.pieces(&recording).await?);
    let mut response = with_type(StatusCode::OK, "application/octet-stream", body);
    note_standing(&mut response, &recording);
    let headers = response.headers_mut();
    headers.insert(CONTENT_LENGTH, HeaderValue::from(recording.bytes));
    if let Ok(name) = HeaderValue::from_str(&attachment(&recording.name)) {
        headers.insert(CONTENT_DISPOSITION, name);
    }
    Ok(response)
}

/// RFC 6266: letters that every browser takes, and the whole name percent-encoded.
fn attachment(name: &str) -> String {
    let is_plain = |letter: u8| letter.is_ascii_alphanumeric() || b"._-".contains(&letter);
    let encoded: String = name
        .bytes()
        .map(|letter| if is_plain(letter) { char::from(letter).to_string() } else { format!("%{letter:02X}") })
        .collect();
    let plain: String =
        name.chars().map(|letter| if letter.is_ascii() && is_plain(letter as u8) { letter } else { '_' }).collect();
    format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{encoded}")
}
