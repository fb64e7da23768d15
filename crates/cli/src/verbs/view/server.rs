//! HTTP around the site: connections, headers, and pages for those who wait.
//! Owns: what every answer says to a browser (no other origin, no network, no copy kept); how many connections are open, and which of
//! them goes when another one comes. Never: decides what is behind an address.

use std::convert::Infallible;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

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
use rustix::process::{Resource, getrlimit};
use tokio::net::TcpStream;
use tokio::sync::mpsc::Receiver;
use tokio::task::{AbortHandle, JoinSet};

use crate::verbs::view::ends::End;
use crate::verbs::view::pages::Pages;
use crate::verbs::view::site::{Answer, Asked, Site, Versioned};
use crate::words::failure::{Failure, say};

/// What the pages need: their own script and style, no request. The list sends a form.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
/// A browser opens a dozen. Of the descriptors that this process may have, at most half.
const CONNECTIONS_MAX: usize = 256;
/// Until a connection is tried again that could not be taken: the next moment may have room.
const AGAIN: Duration = Duration::from_millis(200);

/// Until something ends it.
pub fn serve(listener: TcpListener, site: Site, mut ends: Receiver<End>) -> Result<End, Failure> {
    let cannot = |error: std::io::Error| Failure::ours(format!("cannot serve pages: {error}"));
    listener.set_nonblocking(true).map_err(cannot)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot)?;
    let ended = runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener).map_err(cannot)?;
        tokio::select! {
            end = ends.recv() => end.ok_or_else(|| Failure::ours("nothing waits for Ctrl-C any more")),
            never = take_connections(&listener, site) => never,
        }
    });
    // A page that is under way is nobody's any more.
    runtime.shutdown_background();
    ended
}

async fn take_connections<N>(listener: &tokio::net::TcpListener, site: Site) -> N {
    let site = Arc::new(site);
    let maker = Arc::clone(&site);
    let pages = Pages::new(move |of: &Versioned| maker.make(of));
    let mut connections = Connections::default();
    let mut is_failure_said = false;
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                connections.make_room().await;
                connections.take(stream, &site, &pages);
            }
            Err(error) => {
                if !std::mem::replace(&mut is_failure_said, true) {
                    say(&format!("cannot take a connection: {error}; genba tries again, and says this once"));
                }
                tokio::time::sleep(AGAIN).await;
            }
        }
    }
}

#[derive(Default)]
struct Connections {
    tasks: JoinSet<()>,
    /// The oldest first.
    open: Vec<Connection>,
    is_bound_said: bool,
}

struct Connection {
    task: AbortHandle,
    /// It sent the secret.
    is_trusted: Arc<AtomicBool>,
}

impl Connections {
    /// Any user of the machine can connect. So the oldest goes that has not sent the secret; whoever has it sends it at once.
    async fn make_room(&mut self) {
        while self.tasks.try_join_next().is_some() {}
        self.open.retain(|connection| !connection.task.is_finished());
        let connections_max = connections_max();
        if self.open.len() < connections_max {
            return;
        }
        if !std::mem::replace(&mut self.is_bound_said, true) {
            say(&format!(
                "{connections_max} connections are open, the most that genba keeps: for each new one it closes the oldest that has not sent the secret"
            ));
        }
        match self.open.iter().position(|connection| !connection.is_trusted.load(Ordering::Relaxed)) {
            Some(oldest) => self.open.remove(oldest).task.abort(),
            None => {
                self.tasks.join_next().await;
            }
        }
    }

    fn take(&mut self, stream: TcpStream, site: &Arc<Site>, pages: &Arc<Pages<Versioned, Answer>>) {
        let is_trusted = Arc::new(AtomicBool::new(false));
        let (site, pages, trust) = (Arc::clone(site), Arc::clone(pages), Arc::clone(&is_trusted));
        let service =
            service_fn(move |request| answered(Arc::clone(&site), Arc::clone(&pages), Arc::clone(&trust), request));
        let connection = http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service);
        // A browser that goes away in between is no failure.
        let task = self.tasks.spawn(async move { drop(connection.await) });
        self.open.push(Connection { task, is_trusted });
    }
}

fn connections_max() -> usize {
    let descriptors = getrlimit(Resource::Nofile).current.and_then(|count| usize::try_from(count).ok());
    descriptors.map_or(CONNECTIONS_MAX, |count| (count / 2).clamp(1, CONNECTIONS_MAX))
}

/// Who may ask is judged first. Dropped when the connection ends, and then nobody waits here for the page.
async fn answered(
    site: Arc<Site>,
    pages: Arc<Pages<Versioned, Answer>>,
    trust: Arc<AtomicBool>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let asked = Asked {
        is_reading: matches!(*request.method(), Method::GET | Method::HEAD),
        host: request.headers().get(HOST).and_then(|host| host.to_str().ok()).map(str::to_owned),
        path: request.uri().path().to_owned(),
        query: request.uri().query().unwrap_or_default().to_owned(),
    };
    let answer = match site.judge(&asked) {
        Err(refusal) => refusal,
        Ok(page) => {
            trust.store(true, Ordering::Relaxed);
            let made = pages.page(site.version(page)).await;
            made.unwrap_or_else(|| Answer::text(500, "genba failed to make this page"))
        }
    };
    Ok(response(answer))
}

fn response(answer: Answer) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(answer.body));
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
