//! HTTP around the site: connections, headers, and threads in which pages are made.
//! Owns: what every answer says to a browser (no other origin, no network, no copy kept). Never: decides what is behind an address.

use std::convert::Infallible;
use std::net::TcpListener;
use std::sync::Arc;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};

use crate::verbs::view::site::{Answer, Asked, Site};
use crate::words::failure::{Failure, say};

/// A page of a large recording takes memory while it is made.
const PAGES_AT_ONCE: usize = 2;
/// What the pages need: their own script and style, no request. The list sends a form.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Until the process ends.
pub fn serve(listener: TcpListener, site: Site) -> Result<(), Failure> {
    let cannot = |error: std::io::Error| Failure::ours(format!("cannot serve pages: {error}"));
    listener.set_nonblocking(true).map_err(cannot)?;
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().max_blocking_threads(PAGES_AT_ONCE).build().map_err(cannot)?;
    let site = Arc::new(site);
    runtime.block_on(async move {
        let listener = tokio::net::TcpListener::from_std(listener).map_err(cannot)?;
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    let site = Arc::clone(&site);
                    let service = service_fn(move |request| answered(Arc::clone(&site), request));
                    let connection =
                        http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service);
                    // A browser that goes away in between is no failure.
                    tokio::spawn(async move { drop(connection.await) });
                }
                Err(error) => {
                    // Too many open files, for one: the next moment may have room.
                    say(&format!("cannot take a connection: {error}"));
                    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
                }
            }
        }
    })
}

async fn answered(site: Arc<Site>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let asked = Asked {
        is_reading: matches!(*request.method(), Method::GET | Method::HEAD),
        host: request.headers().get(HOST).and_then(|host| host.to_str().ok()).map(str::to_owned),
        path: request.uri().path().to_owned(),
        query: request.uri().query().unwrap_or_default().to_owned(),
    };
    let made = tokio::task::spawn_blocking(move || site.answer(&asked)).await;
    // What panicked has said so on stderr; the server lives on.
    let answer = made.unwrap_or_else(|_| Answer::text(500, "genba failed to make this page"));
    Ok(response(answer))
}

fn response(answer: Answer) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(answer.body)));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let fixed: [(HeaderName, &'static str); 7] = [
        (CONTENT_TYPE, answer.content_type),
        (CONTENT_SECURITY_POLICY, POLICY),
        (CACHE_CONTROL, "no-store"),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in fixed {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
