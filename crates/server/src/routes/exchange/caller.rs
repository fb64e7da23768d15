//! Who sent a request: by a token, by a browser's session, or anybody on this machine while there is no token.
//! Owns: the cookie, the origin of browsers, and the names by which this server may be called. Never: decides what a caller may do.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::header::{AUTHORIZATION, COOKIE, HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use url::{Host, Url};

use crate::routes::exchange::visit::Visit;
use crate::routes::state::{AppState, Shared};
use crate::rules::access::Caller;
use crate::storage::tokens;
use crate::words::problem::Problem;

pub const COOKIE_NAME: &str = "genba_session";
const SEC_FETCH_SITE: &str = "sec-fetch-site";

/// Known, or 401.
pub struct Known(pub Caller);

/// None: nobody that the server knows; a page may then ask for a token.
pub struct Perhaps(pub Option<Caller>);

impl FromRequestParts<AppState> for Known {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Known, Problem> {
        caller(parts, state).await?.map(Known).ok_or_else(Problem::unauthorized)
    }
}

impl FromRequestParts<AppState> for Perhaps {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Perhaps, Problem> {
        match caller(parts, state).await {
            Ok(caller) => Ok(Perhaps(caller)),
            Err(problem) if problem.status == 401 => Ok(Perhaps(None)),
            Err(problem) => Err(problem),
        }
    }
}

async fn caller(parts: &Parts, state: &Shared) -> Result<Option<Caller>, Problem> {
    let found = found(parts, state).await?;
    if let (Some(_), Some(visit)) = (&found, parts.extensions.get::<Arc<Visit>>()) {
        visit.note_known();
    }
    Ok(found)
}

async fn found(parts: &Parts, state: &Shared) -> Result<Option<Caller>, Problem> {
    let found = of_headers(&parts.headers, state).await?;
    match found.is_none() && bearer(&parts.headers)?.is_some() {
        true => Err(wrong(state, peer(parts), "this token is not valid")),
        false => Ok(found),
    }
}

/// Whoever these headers are now, also long after the request came. A wrong token is nobody's, and not counted here.
pub async fn of_headers(headers: &HeaderMap, state: &Shared) -> Result<Option<Caller>, Problem> {
    let database = &state.keeper.database;
    if let Some(secret) = bearer(headers)? {
        return Ok(tokens::of_secret(database, secret).await?.map(Caller::of_token));
    }
    if let Some(secret) = cookie(headers)
        && let Some(token) = tokens::of_session(database, secret).await?
    {
        return Ok(Some(Caller::of_token(token)));
    }
    match state.needs_login().await? {
        true => Ok(None),
        false => Ok(Some(Caller::local())),
    }
}

/// Counted: who guesses waits.
pub fn wrong(state: &Shared, address: Option<IpAddr>, title: &str) -> Problem {
    match address.and_then(|address| state.guesses.note_wrong(address, Instant::now())) {
        None => Problem { title: title.to_owned(), ..Problem::unauthorized() },
        Some(seconds) => {
            let problem =
                Problem::new(429, "too many wrong tokens from this address").hint(format!("try again in {seconds} s"));
            Problem { retry_after_s: Some(seconds), ..problem }
        }
    }
}

pub fn peer(parts: &Parts) -> Option<IpAddr> {
    parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(address)| address.ip())
}

fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let Some(value) = headers.get(AUTHORIZATION) else { return Ok(None) };
    let words = value.to_str().ok().and_then(|words| words.split_once(' '));
    match words.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")) {
        Some((_, secret)) => Ok(Some(secret.trim())),
        None => Err(Problem::unauthorized().detail("the header Authorization does not begin with `Bearer`")),
    }
}

pub fn cookie(headers: &HeaderMap) -> Option<&str> {
    let lines = headers.get_all(COOKIE).into_iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(';')).find_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        (name == COOKIE_NAME).then_some(value)
    })
}

/// A page of another site must not send anything here, nor be taken for this server by a name that somebody made lead here.
pub async fn check_origin(method: &Method, headers: &HeaderMap, state: &Shared) -> Result<(), Problem> {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    if !state.needs_login().await? && !is_this_machine(host) {
        return Err(Problem::new(421, "without tokens this server answers to localhost and addresses of loopback only, such as 127.0.0.1 and [::1]")
            .hint("genba serve token add NAME makes the first token; then every name is answered to"));
    }
    if [Method::GET, Method::HEAD, Method::OPTIONS].contains(method) {
        return Ok(());
    }
    let said = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let is_own_site = said(SEC_FETCH_SITE).is_none_or(|site| ["same-origin", "none"].contains(&site));
    let is_own_origin =
        headers.get(ORIGIN).is_none_or(|origin| origin.to_str().is_ok_and(|origin| is_origin_of(origin, host)));
    match is_own_site && is_own_origin {
        true => Ok(()),
        false => Err(Problem::forbidden("a page of another site asked for this")),
    }
}

fn is_this_machine(host: &str) -> bool {
    Url::parse(&format!("http://{host}/")).is_ok_and(|url| {
        url.username().is_empty()
            && url.path() == "/"
            && match url.host() {
                // All of 127.0.0.0/8: a server may listen on each of them, and no name leads to another machine.
                Some(Host::Ipv4(address)) => address.is_loopback(),
                Some(Host::Ipv6(address)) => address.is_loopback(),
                Some(Host::Domain(name)) => name == "localhost",
                None => false,
            }
    })
}

/// Whoever ends TLS before this server knows whether it is https.
fn is_origin_of(origin: &str, host: &str) -> bool {
    ["http://", "https://"]
        .iter()
        .any(|scheme| origin.strip_prefix(scheme).is_some_and(|name| name.eq_ignore_ascii_case(host)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_this_machine_and_origins() {
        for host in ["127.0.0.1:8970", "localhost", "LOCALHOST:1", "[::1]:8970", "127.0.0.2:8970", "127.255.1.3"] {
            assert!(is_this_machine(host), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "127.0.0.1.evil.example:8970",
            "localhost@evil.example",
            "127.0.0.1/x",
            "[::2]:8970",
            "128.0.0.1",
            "10.0.0.1:8970",
        ] {
            assert!(!is_this_machine(host), "{host}");
        }
        assert!(is_origin_of("https://perf.example", "perf.example") && is_origin_of("http://a:8970", "A:8970"));
        for origin in ["null", "https://evil.example", "https://perf.example.evil", "perf.example", ""] {
            assert!(!is_origin_of(origin, "perf.example"), "{origin}");
        }
    }
}
