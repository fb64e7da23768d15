//! Connections: how many are open, which of them goes when another one comes, and how long one may say nothing.
//! Owns: each socket from its beginning to its end. Never: knows what a request asks for.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use axum::response::Response;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tower_service::Service;

use crate::routes::exchange::visit::Visit;
use crate::rules::pace::{Bounds, READERS};
use crate::serve::paced::Paced;

/// Of the descriptors that this process may have, at most half: the others are for files, the database and processes that read.
const CONNECTIONS_MAX: usize = 4096;
/// A browser opens a dozen.
const BROWSER_CONNECTIONS_MAX: usize = 256;
/// Until a request's headers are there, and between two requests. Proxies keep an idle connection for a minute.
const HEADER_TIME: Duration = Duration::from_secs(75);
/// Anybody may send them, and each connection keeps its own in memory until their end. An address alone has 64 KiB at most.
const HEADERS_BYTES_MAX: usize = 128 << 10;
/// Until a connection is tried again that could not be taken.
const AGAIN: Duration = Duration::from_millis(200);

#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub connections_max: usize,
    pub header_time: Duration,
    /// How fast an answer is taken at least.
    pub readers: Bounds,
}

pub struct Connections {
    limits: Limits,
    router: Router,
    /// True once the server ends.
    ending: watch::Receiver<bool>,
    tasks: JoinSet<()>,
    open: Vec<Connection>,
    is_bound_said: bool,
    is_failure_said: bool,
}

struct Connection {
    task: AbortHandle,
    visit: Arc<Visit>,
}

impl Limits {
    /// As many descriptors as the system lets this process have, and connections for half of them.
    pub fn of_process() -> Limits {
        let limit = getrlimit(Resource::Nofile);
        // It may be without a bound that the kernel would take: then it stays as it is.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
        Limits::at_most(CONNECTIONS_MAX)
    }

    /// Of the descriptors that this process may have already.
    pub fn of_browsers() -> Limits {
        Limits::at_most(BROWSER_CONNECTIONS_MAX)
    }

    fn at_most(connections_max: usize) -> Limits {
        let descriptors = getrlimit(Resource::Nofile).current.and_then(|count| usize::try_from(count).ok());
        let connections_max = descriptors.map_or(connections_max, |count| (count / 2).clamp(1, connections_max));
        Limits { connections_max, header_time: HEADER_TIME, readers: READERS }
    }
}

impl Connections {
    pub fn new(router: Router, limits: Limits, ending: watch::Receiver<bool>) -> Connections {
        Connections {
            limits,
            router,
            ending,
            tasks: JoinSet::new(),
            open: Vec::new(),
            is_bound_said: false,
            is_failure_said: false,
        }
    }

    /// Until the server ends and every request that is under way is answered.
    pub async fn take_all(mut self, listener: TcpListener) {
        let mut ending = self.ending.clone();
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                _ = ending.wait_for(|is_ending| *is_ending) => break,
            };
            match accepted {
                Ok((stream, address)) => {
                    self.make_room().await;
                    self.take(stream, address);
                }
                Err(error) => {
                    if !std::mem::replace(&mut self.is_failure_said, true) {
                        eprintln!("warning: cannot take a connection: {error}; it is tried again, and said once");
                    }
                    tokio::time::sleep(AGAIN).await;
                }
            }
        }
        drop(listener);
        while self.tasks.join_next().await.is_some() {}
    }

    /// Anybody can connect. So the connection goes that is worth least; one on which somebody known waits for an answer stays.
    async fn make_room(&mut self) {
        while self.tasks.try_join_next().is_some() {}
        if self.open.len() < self.limits.connections_max {
            return;
        }
        self.open.retain(|connection| !connection.task.is_finished());
        if self.open.len() < self.limits.connections_max {
            return;
        }
        if !std::mem::replace(&mut self.is_bound_said, true) {
            eprintln!(
                "warning: {} connections are open, the most that genba keeps: for each new one it closes the one that was idle longest (said once)",
                self.limits.connections_max
            );
        }
        let worths = self.open.iter().map(|connection| connection.visit.worth()).enumerate();
        let least = worths.filter(|(_, worth)| !(worth.is_known && worth.is_busy)).min_by_key(|(_, worth)| *worth);
        match least {
            Some((position, _)) => self.open.swap_remove(position).task.abort(),
            None => {
                self.tasks.join_next().await;
                self.open.retain(|connection| !connection.task.is_finished());
            }
        }
    }

    fn take(&mut self, stream: TcpStream, address: SocketAddr) {
        // An answer's last piece does not wait for the reader's acknowledgement of the one before.
        let _ = stream.set_nodelay(true);
        let visit = Visit::begin();
        let (router, asked) = (self.router.clone(), Arc::clone(&visit));
        let service = service_fn(move |request| answered(router.clone(), Arc::clone(&asked), address, request));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.header_time)
            .max_buf_size(HEADERS_BYTES_MAX)
            .serve_connection(TokioIo::new(Paced::within(self.limits.readers, stream)), service);
        let mut ending = self.ending.clone();
        let task = self.tasks.spawn(async move {
            let mut connection = std::pin::pin!(connection);
            // Whoever goes away in between is no failure.
            tokio::select! {
                _ = connection.as_mut() => return,
                _ = ending.wait_for(|is_ending| *is_ending) => connection.as_mut().graceful_shutdown(),
            }
            let _ = connection.await;
        });
        self.open.push(Connection { task, visit });
    }
}

/// The connection is busy until the answer's last byte is handed over.
async fn answered(
    mut router: Router,
    visit: Arc<Visit>,
    address: SocketAddr,
    request: Request<Incoming>,
) -> Result<Response, Infallible> {
    let asking = visit.ask();
    let mut request = request.map(Body::new);
    request.extensions_mut().insert(ConnectInfo(address));
    request.extensions_mut().insert(visit);
    let response = router.call(request).await?;
    Ok(response.map(|body| {
        Body::new(body.map_err(move |error| {
            let _ = &asking;
            error
        }))
    }))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use axum::routing::get;

    use super::*;

    const FEW: Limits = Limits { connections_max: 3, header_time: HEADER_TIME, readers: READERS };

    /// `asks` runs beside a server that knows whoever asks for `/known`.
    fn beside(limits: Limits, asks: impl FnOnce(SocketAddr) + Send + 'static) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        runtime.expect("threads").block_on(async {
            let known = |request: Request| async move {
                request.extensions().get::<Arc<Visit>>().expect("a connection").note_known();
                "known"
            };
            let router = Router::new().route("/known", get(known)).route("/", get(|| async { "page" }));
            let (end, ending) = watch::channel(false);
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let address = listener.local_addr().expect("its address");
            let serving = tokio::spawn(Connections::new(router, limits, ending).take_all(listener));
            tokio::task::spawn_blocking(move || asks(address)).await.expect("no assertion failed");
            end.send(true).expect("it listens");
            serving.await.expect("it ends");
        });
    }

    fn ask(stream: &mut TcpStream, path: &str) -> String {
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("it is sent");
        let (mut seen, mut buffer) = (Vec::new(), [0; 1024]);
        while !seen.ends_with(b"page") && !seen.ends_with(b"known") {
            let bytes = stream.read(&mut buffer).expect("an answer");
            assert!(bytes > 0, "the connection ended");
            seen.extend_from_slice(&buffer[..bytes]);
        }
        String::from_utf8(seen).expect("text")
    }

    fn is_closed(stream: &mut TcpStream) -> bool {
        matches!(stream.read(&mut [0; 1]), Ok(0) | Err(_))
    }

    #[test]
    fn the_longest_idle_stranger_goes_first_and_who_is_known_stays() {
        beside(FEW, |address| {
            let connect = || TcpStream::connect(address).expect("a connection");
            let mut known = connect();
            assert!(ask(&mut known, "/known").starts_with("HTTP/1.1 200"));
            let (mut silent, mut stranger) = (connect(), connect());
            assert!(ask(&mut stranger, "/").contains("content-length: 4"));
            let mut next = connect();
            assert!(ask(&mut next, "/").ends_with("page"));
            assert!(is_closed(&mut silent));
            assert!(ask(&mut known, "/known").ends_with("known") && ask(&mut stranger, "/").ends_with("page"));
        });
    }

    #[test]
    fn headers_that_are_too_long_are_not_kept() {
        beside(FEW, |address| {
            let asked = |header_bytes: usize| {
                let mut stream = TcpStream::connect(address).expect("a connection");
                let header = "y".repeat(header_bytes);
                // It may be closed before all of that is sent, and before the answer is read.
                let _ = write!(stream, "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX: {header}\r\n\r\n");
                let mut answer = String::new();
                let _ = stream.read_to_string(&mut answer);
                answer
            };
            assert!(asked(HEADERS_BYTES_MAX / 2).starts_with("HTTP/1.1 200"));
            assert!(!asked(2 * HEADERS_BYTES_MAX).contains("200 OK"));
        });
    }

    #[test]
    fn a_connection_that_never_finishes_its_headers_ends() {
        beside(Limits { header_time: Duration::from_millis(20), ..FEW }, |address| {
            let mut silent = TcpStream::connect(address).expect("a connection");
            let mut slow = TcpStream::connect(address).expect("a connection");
            slow.write_all(b"GET / HTTP/1.1\r\nHo").expect("it is sent");
            assert!(is_closed(&mut silent) && is_closed(&mut slow));
        });
    }
}
