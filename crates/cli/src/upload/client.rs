//! The requests of an upload: one function each, with the server's answer as a value.
//! Owns: the connection, its time limits, and that no redirect is followed. Never: tries again (`sending` decides that).
//! Partner: crates/server/openapi.yaml.

use std::io::Read;
use std::time::Duration;

use reqwest::Method;
use reqwest::blocking::{ClientBuilder, RequestBuilder, Response};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, LOCATION, RETRY_AFTER};
use reqwest::redirect::Policy;
use serde_json::{Value, json};

use super::address::Server;
use super::refusal::{Answer, Refusal};
use super::token::Token;

const CONNECT: Duration = Duration::from_secs(10);
/// Requests that tell little and ask for little.
pub const SMALL_REQUEST: Duration = Duration::from_secs(30);
/// The same of a recording that is pushed while it grows: at its end somebody waits for the program.
pub const SMALL_REQUEST_OF_LIVE: Duration = Duration::from_secs(10);
/// A piece over a slow line; `sending` then tries smaller ones.
const PIECE: Duration = Duration::from_secs(60);
/// The server reads the whole recording before it answers.
const SEAL: Duration = Duration::from_secs(600);
const ANSWER_BYTES_MAX: u64 = 1 << 20;
/// Words of an answer that are shown.
const WORDS_MAX: usize = 300;
const OFFSET: &str = "upload-offset";
const COMPLETE: &str = "upload-complete";

pub struct Client {
    http: reqwest::blocking::Client,
    server: Server,
    token: Option<HeaderValue>,
    small_request: Duration,
}

/// What is told about a recording when its upload begins.
#[derive(Clone, Debug)]
pub struct New {
    pub name: String,
    pub host: Option<String>,
    /// `key=value`
    pub tags: Vec<String>,
    /// The program still runs.
    pub is_live: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub chunk_bytes_max: u64,
    pub recording_bytes_max: Option<u64>,
}

/// How much of a recording a server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    pub bytes: u64,
    pub is_sealed: bool,
}

/// What became of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// On the server's disk: it now has so many bytes.
    Kept(u64),
    /// The piece does not begin where the server's bytes end: there.
    EndsAt(u64),
}

impl Client {
    pub fn new(server: &Server, token: Option<&Token>, small_request: Duration) -> Result<Client, Refusal> {
        // Another thread may have been here first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = ClientBuilder::new()
            .user_agent(concat!("genba/", env!("CARGO_PKG_VERSION")))
            .redirect(Policy::none())
            .connect_timeout(CONNECT);
        if server.is_here() {
            builder = builder.no_proxy();
        }
        if !server.is_encrypted() {
            // It needs none, and a machine that has none can push.
            builder = builder.tls_certs_only([]);
        }
        let http = builder.build().map_err(|_| Refusal::NoRoots)?;
        Ok(Client { http, server: server.clone(), token: token.map(Token::header), small_request })
    }

    /// Whether a genba server is there at all.
    pub fn limits(&self) -> Result<Limits, Refusal> {
        let strange = |found: String| Refusal::NotGenba(found);
        let answer = match self.ask(Method::GET, "api", self.small_request, |request| request) {
            Ok(answer) => answer,
            Err(Refusal::Answered(answer)) if !matches!(answer.status, 408 | 421 | 425 | 429 | 500..) => {
                return Err(strange(format!("/api answered {}", answer.status)));
            }
            Err(refusal) => return Err(refusal),
        };
        let found = body(answer)?;
        if found["name"] != "genba" {
            return Err(strange("/api did not answer as a genba server does".to_owned()));
        }
        let limits = &found["limits"];
        let chunk_bytes_max = limits["chunk_bytes_max"].as_u64().filter(|bytes| *bytes > 0);
        Ok(Limits {
            chunk_bytes_max: chunk_bytes_max.ok_or_else(|| strange("/api names no limits".to_owned()))?,
            recording_bytes_max: limits["recording_bytes_max"].as_u64(),
        })
    }

    /// The new recording's number.
    pub fn create(&self, new: &New) -> Result<String, Refusal> {
        let mut words = json!({ "name": new.name, "tags": new.tags, "live": new.is_live });
        if let Some(host) = &new.host {
            words["host"] = json!(host);
        }
        let answer =
            self.ask(Method::POST, "api/recordings", self.small_request, |request| as_json(request, &words))?;
        let found = body(answer)?;
        let id = found["id"].as_str().filter(|id| is_id(id));
        id.map(str::to_owned).ok_or_else(|| Refusal::NotGenba("it named no recording".to_owned()))
    }

    pub fn kept(&self, id: &str) -> Result<Kept, Refusal> {
        let answer = self.ask(Method::HEAD, &content(id), self.small_request, |request| request)?;
        let is_sealed = answer.headers().get(COMPLETE).is_some_and(|value| value == "?1");
        Ok(Kept { bytes: offset(&answer)?, is_sealed })
    }

    pub fn send(&self, id: &str, at: u64, piece: Vec<u8>) -> Result<Sent, Refusal> {
        let end = at + piece.len() as u64;
        let request = self.request(Method::PATCH, &content(id), PIECE);
        let request = request.header(OFFSET, at).header(CONTENT_TYPE, "application/octet-stream").body(piece);
        let answer = request.send().map_err(|error| Refusal::of_request(&error))?;
        match answer.status().as_u16() {
            200..300 => {
                let kept = offset(&answer)?;
                if kept <= at || kept > end {
                    return Err(Refusal::NotGenba(format!(
                        "it was sent bytes {at} to {end} and says that it has {kept}"
                    )));
                }
                Ok(Sent::Kept(kept))
            }
            409 if answer.headers().contains_key(OFFSET) => Ok(Sent::EndsAt(offset(&answer)?)),
            _ => Err(self.refused(answer)),
        }
    }

    /// Nothing may be added after.
    pub fn seal(&self, id: &str, bytes: u64, sha256: &str) -> Result<(), Refusal> {
        let words = json!({ "bytes": bytes, "sha256": sha256 });
        self.ask(Method::POST, &format!("api/recordings/{id}/seal"), SEAL, |request| as_json(request, &words)).map(drop)
    }

    /// Of a sealed recording. None: the token may not look, or the server does not tell.
    pub fn sha256(&self, id: &str) -> Result<Option<String>, Refusal> {
        match self.ask(Method::GET, &format!("api/recordings/{id}"), self.small_request, |request| request) {
            Ok(answer) => Ok(body(answer)?["sha256"].as_str().map(str::to_owned)),
            Err(Refusal::Answered(Answer { status: 403, .. })) => Ok(None),
            Err(refusal) => Err(refusal),
        }
    }

    pub fn delete(&self, id: &str) -> Result<(), Refusal> {
        self.ask(Method::DELETE, &format!("api/recordings/{id}"), self.small_request, |request| request).map(drop)
    }

    fn ask(
        &self,
        method: Method,
        path: &str,
        time_max: Duration,
        with: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> Result<Response, Refusal> {
        let answer = with(self.request(method, path, time_max)).send().map_err(|error| Refusal::of_request(&error))?;
        if answer.status().is_success() { Ok(answer) } else { Err(self.refused(answer)) }
    }

    fn request(&self, method: Method, path: &str, time_max: Duration) -> RequestBuilder {
        let request = self.http.request(method, self.server.at(path)).timeout(time_max);
        match &self.token {
            Some(token) => request.header(AUTHORIZATION, token.clone()),
            None => request,
        }
    }

    fn refused(&self, answer: Response) -> Refusal {
        let status = answer.status();
        if status.is_redirection() {
            let to = answer.headers().get(LOCATION).and_then(|to| to.to_str().ok());
            let to = to.and_then(|to| answer.url().join(to).ok());
            return Refusal::Redirected(to.and_then(|to| to.as_str().strip_suffix("/api").map(shortened)));
        }
        let seconds = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        let found = body(answer).unwrap_or_default();
        let words = |key: &str| found[key].as_str().map(shortened);
        Refusal::Answered(Answer {
            status: status.as_u16(),
            title: words("title"),
            detail: words("detail"),
            hint: words("hint"),
            retry_after: seconds.map(Duration::from_secs),
            had_token: self.token.is_some(),
        })
    }
}

fn content(id: &str) -> String {
    format!("api/recordings/{id}/content")
}

/// It becomes part of an address, and of a name of a file.
pub fn is_id(id: &str) -> bool {
    const LETTERS_MAX: usize = 100;
    (1..=LETTERS_MAX).contains(&id.len())
        && id.bytes().all(|letter| letter.is_ascii_alphanumeric() || letter == b'-' || letter == b'_')
}

fn as_json(request: RequestBuilder, words: &Value) -> RequestBuilder {
    request.header(CONTENT_TYPE, "application/json").body(words.to_string())
}

/// Null where it is no JSON.
fn body(answer: Response) -> Result<Value, Refusal> {
    let mut bytes = Vec::new();
    let read = answer.take(ANSWER_BYTES_MAX).read_to_end(&mut bytes);
    read.map_err(|error| Refusal::Broken(error.to_string()))?;
    Ok(serde_json::from_slice(&bytes).unwrap_or_default())
}

fn offset(answer: &Response) -> Result<u64, Refusal> {
    let value = answer.headers().get(OFFSET).and_then(|value| value.to_str().ok()?.parse().ok());
    value.ok_or_else(|| Refusal::NotGenba("it does not say how many bytes it has".to_owned()))
}

fn shortened(words: &str) -> String {
    match words.char_indices().nth(WORDS_MAX) {
        Some((end, _)) => format!("{} …", &words[..end]),
        None => words.to_owned(),
    }
}
