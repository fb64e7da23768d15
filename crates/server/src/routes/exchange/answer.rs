//! How every answer looks: problems as JSON, headers that keep browsers from doing more than they were asked to.
//! Owns: the headers. Never: decides what an answer says.

use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY, RETRY_AFTER,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::words::problem::Problem;

pub const UPLOAD_OFFSET: HeaderName = HeaderName::from_static("upload-offset");
pub const UPLOAD_COMPLETE: HeaderName = HeaderName::from_static("upload-complete");
const CROSS_ORIGIN_RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
const NOTHING_ALLOWED: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub type Answered = Result<Response, Problem>;

#[derive(Serialize)]
struct Said<'p> {
    title: &'p str,
    status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'p str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'p str>,
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let said = Said {
            title: &self.title,
            status: self.status,
            detail: self.detail.as_deref(),
            hint: self.hint.as_deref(),
        };
        let body = genba_text::json::compact(&said).unwrap_or_default();
        let mut response =
            with_type(StatusCode::from_u16(self.status).unwrap_or_default(), "application/problem+json", body);
        if self.status >= 500 && StatusCode::from_u16(self.status).is_err() {
            *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        }
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after_s {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let Some(offset) = self.upload_offset {
            headers.insert(UPLOAD_OFFSET, HeaderValue::from(offset));
        }
        if self.status == 401 {
            headers.insert(axum::http::header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

pub fn json(status: StatusCode, value: &impl Serialize) -> Answered {
    match genba_text::json::compact(value) {
        Ok(body) => Ok(with_type(status, "application/json", body)),
        Err(error) => Err(Problem::internal("an answer in JSON", &error)),
    }
}

pub fn with_type(status: StatusCode, content_type: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

pub fn empty() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

/// A page with its own policy.
pub fn page(status: StatusCode, policy: &str, body: impl Into<Body>) -> Answered {
    let mut response = with_type(status, "text/html; charset=utf-8", body);
    let policy = HeaderValue::from_str(policy).map_err(|error| Problem::internal("the policy of a page", &error))?;
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    Ok(response)
}

/// What every answer has, whoever made it.
pub fn guard(headers: &mut HeaderMap) {
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(NOTHING_ALLOWED));
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    let fixed = [
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (CROSS_ORIGIN_RESOURCE_POLICY, "same-origin"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
}
