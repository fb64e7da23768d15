//! Pages for whoever sits at this machine: the server's smallest form, which `genba view` is.
//! Owns: the connections (the server's own, fewer of them), and what every answer says to a browser. Never: knows what is on a page, or who
//! may have it; the site that is served does.

use std::borrow::Cow;
use std::future::Future;
use std::hash::Hash;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Extension, Request, State};
use axum::http::header::HOST;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use tokio::sync::watch;

use crate::routes::exchange::answer::{guard, page, with_type};
use crate::routes::exchange::visit::Visit;
use crate::serve::connections::{Connections, Limits};
use crate::serve::making::Pages;

/// What is behind each address. No method is called by two threads for the same page at once.
pub trait Site: Send + Sync + 'static {
    /// What somebody asked for. Two that are equal are the same page, made once for all who wait for it.
    type Page: Clone + Eq + Hash + Send + Sync + 'static;

    /// Whether whoever asks may have it; the error is the answer then. It takes no time: no file is read.
    fn judge(&self, asked: &Asked) -> Result<Found<Self::Page>, Answer>;

    fn make(&self, page: &Self::Page) -> Answer;
}

/// What whoever may have it gets.
pub enum Found<P> {
    Page(P),
    /// Takes no time, so it waits for no turn among the pages that are made.
    Known(Answer),
}

/// A request, as far as an answer depends on it.
pub struct Asked {
    /// GET or HEAD.
    pub is_reading: bool,
    pub host: Option<String>,
    pub path: String,
    pub query: String,
}

#[derive(Clone)]
pub struct Answer {
    status: u16,
    /// What a page may do in the browser; words are no page.
    policy: Option<Cow<'static, str>>,
    body: Bytes,
}

impl Answer {
    #[must_use]
    pub fn text(status: u16, words: &str) -> Answer {
        Answer { status, policy: None, body: format!("{words}\n").into() }
    }

    #[must_use]
    pub fn page(status: u16, policy: impl Into<Cow<'static, str>>, body: String) -> Answer {
        Answer { status, policy: Some(policy.into()), body: body.into() }
    }

    #[must_use]
    pub fn status(&self) -> u16 {
        self.status
    }

    /// None: words.
    #[must_use]
    pub fn policy(&self) -> Option<&str> {
        self.policy.as_deref()
    }

    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        match self.policy {
            Some(policy) => page(status, &policy, self.body).unwrap_or_else(IntoResponse::into_response),
            None => with_type(status, "text/plain; charset=utf-8", self.body),
        }
    }
}

/// Serves the site until `end` is there, and gives that. A page that is under way then is nobody's any more.
pub fn serve_here<S: Site, E>(listener: TcpListener, site: S, end: impl Future<Output = E>) -> io::Result<E> {
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended = runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let (_never_ends, ending) = watch::channel(false);
        let taking = Connections::new(router(site), Limits::of_browsers(), ending).take_all(listener);
        tokio::select! {
            end = end => Ok(end),
            () = taking => Err(io::Error::other("no connection is taken any more")),
        }
    });
    runtime.shutdown_background();
    ended
}

struct Here<S: Site> {
    site: Arc<S>,
    pages: Arc<Pages<S::Page, Answer>>,
}

fn router<S: Site>(site: S) -> Router {
    let site = Arc::new(site);
    let maker = Arc::clone(&site);
    let pages = Pages::new(move |of: &S::Page| maker.make(of));
    Router::new().fallback(answered::<S>).with_state(Arc::new(Here { site, pages }))
}

/// Dropped when the connection ends, and then nobody waits here for the page.
async fn answered<S: Site>(
    State(here): State<Arc<Here<S>>>,
    Extension(visit): Extension<Arc<Visit>>,
    request: Request,
) -> Response {
    let asked = Asked {
        is_reading: matches!(*request.method(), Method::GET | Method::HEAD),
        host: request.headers().get(HOST).and_then(|host| host.to_str().ok()).map(str::to_owned),
        path: request.uri().path().to_owned(),
        query: request.uri().query().unwrap_or_default().to_owned(),
    };
    let answer = match here.site.judge(&asked) {
        Err(refusal) => refusal,
        Ok(found) => {
            visit.note_known();
            match found {
                Found::Known(answer) => answer,
                Found::Page(page) => {
                    let made = here.pages.page(page).await;
                    made.unwrap_or_else(|| Answer::text(500, "genba failed to make this page"))
                }
            }
        }
    };
    let mut response = answer.into_response();
    guard(response.headers_mut());
    response
}
