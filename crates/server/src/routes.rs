//! HTTP: what is behind each address. openapi.yaml describes all of it for those who ask from outside.
//! Owns: the table of routes, and what every request and answer goes through. Never: does a route's work (a file per subject).

mod content;
mod events;
pub mod exchange;
mod health;
mod links;
pub mod login;
mod metrics;
mod pages;
mod recordings;
mod shown;
pub mod state;
mod views;

use std::time::Duration;

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};

use crate::routes::state::AppState;
use crate::words::problem::Problem;

/// Of one request, streams apart: a large upload on a slow line takes a while.
const REQUEST_TIME: Duration = Duration::from_secs(600);

pub fn router(state: AppState) -> Router {
    Router::new()
        .route("/api", get(health::server))
        .route("/api/openapi.yaml", get(health::openapi))
        .route("/api/session", get(login::who).post(login::log_in).delete(login::log_out))
        .route("/api/recordings", get(recordings::list).post(recordings::create))
        .route("/api/recordings/{id}", get(recordings::get).patch(recordings::change).delete(recordings::delete))
        .route("/api/recordings/{id}/content", get(content::download).head(content::standing).patch(content::append))
        .route("/api/recordings/{id}/seal", post(content::seal))
        .route("/api/recordings/{id}/events", get(events::events))
        .route("/api/recordings/{id}/tree", get(views::tree))
        .route("/api/recordings/{id}/rows", get(views::rows))
        .route("/api/recordings/{id}/memory", get(views::memory))
        .route("/api/recordings/{before}/difference/{after}", get(views::difference))
        .route("/api/recordings/{id}/links", get(links::list).post(links::create))
        .route("/api/links/{code}", delete(links::revoke))
        .route("/api/tokens", get(login::list).post(login::create))
        .route("/api/tokens/{name}/rotate", post(login::rotate))
        .route("/api/tokens/{name}", delete(login::revoke))
        .route("/api/settings", get(login::settings).patch(login::change_settings))
        .route("/health", get(health::health))
        .route("/metrics", get(health::metrics))
        .route("/", get(pages::list))
        .route("/tokens", get(pages::list))
        .route("/settings", get(pages::list))
        .route("/login", get(pages::list))
        .route("/r/{id}", get(pages::recording))
        .route("/compare/{before}/{after}", get(pages::comparison))
        .route("/s/{code}", get(links::open))
        .route("/s/{code}/recording", get(links::shared))
        .fallback(|| async { Problem::not_found("address") })
        .method_not_allowed_fallback(|| async { Problem::new(405, "this address does not take that method") })
        .layer(from_fn_with_state(state.clone(), around))
        .with_state(state)
}

async fn around(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str).to_owned();
    let checked = match exchange::asked::check_address(request.uri()) {
        Ok(()) => exchange::caller::check_origin(request.method(), request.headers(), &state).await,
        refused => refused,
    };
    let mut response = match checked {
        Err(problem) => problem.into_response(),
        Ok(()) => match tokio::time::timeout(REQUEST_TIME, next.run(request)).await {
            Ok(response) => response,
            Err(_) => Problem::new(503, "the request took too long").into_response(),
        },
    };
    // axum's own words, for a path or a method that is none.
    let is_bare = response.status() == StatusCode::BAD_REQUEST && !response.headers().contains_key("content-type");
    if is_bare {
        response = Problem::bad_request("the address cannot be read").into_response();
    }
    exchange::answer::guard(response.headers_mut());
    state.metrics.note_request(&route, response.status().as_u16());
    response
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    const METHODS: [&str; 6] = ["get", "head", "post", "put", "patch", "delete"];

    /// `get /api/recordings/{}`
    fn named(method: &str, path: &str) -> String {
        let parts = path.split('/').map(|part| if part.starts_with('{') { "{}" } else { part });
        format!("{method} {}", parts.collect::<Vec<_>>().join("/"))
    }

    fn routed() -> BTreeSet<String> {
        let code = include_str!("routes.rs").split("#[cfg(test)]").next().unwrap_or_default();
        let of_entry = |entry: &'static str| {
            let (path, handlers) = entry.trim_start().strip_prefix('"')?.split_once('"')?;
            let handlers = handlers.split("\n        .").next().unwrap_or_default();
            let is_method = |method: &&&str| handlers.contains(&format!("{method}("));
            Some(METHODS.iter().filter(is_method).map(|method| named(method, path)).collect::<Vec<_>>())
        };
        code.split(".route(").skip(1).flat_map(|entry| of_entry(entry).expect("a path comes first")).collect()
    }

    /// Its layout is one path or method a line, so no reader of YAML is needed.
    fn described() -> BTreeSet<String> {
        let paths = super::health::OPENAPI.split("\npaths:\n").nth(1).expect("paths");
        let mut path = "";
        let mut found = BTreeSet::new();
        for line in paths.split("\ncomponents:\n").next().unwrap_or_default().lines() {
            if let Some(begun) = line.strip_prefix("  /").filter(|begun| begun.ends_with(':')) {
                path = begun.trim_end_matches(':');
            }
            if let Some(method) = line.strip_prefix("    ").and_then(|line| line.strip_suffix(':'))
                && METHODS.contains(&method)
            {
                found.insert(named(method, &format!("/{path}")));
            }
        }
        found
    }

    #[test]
    fn every_route_is_in_the_openapi_file_and_every_one_there_is_a_route() {
        let (routed, described) = (routed(), described());
        assert!(routed.len() > 30, "{routed:?}");
        assert_eq!(routed.difference(&described).collect::<Vec<_>>(), Vec::<&String>::new(), "not described");
        assert_eq!(described.difference(&routed).collect::<Vec<_>>(), Vec::<&String>::new(), "not routed");
    }
}
