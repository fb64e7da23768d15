//! What a browser opens: the list's page, and the viewer's page of a recording or of a comparison.
//! Owns: who is sent to log in first, and pages that only hold words. Never: puts a text of a recording into a page itself.

use std::sync::LazyLock;

use axum::extract::{Path, State};
use axum::http::header::LOCATION;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;

use genba_page::{FOLLOW, LIST};
use genba_text::html::escaped;

use crate::reading::Ask;
use crate::routes::exchange::answer::{Answered, page};
use crate::routes::exchange::caller::Perhaps;
use crate::routes::shown::readable;
use crate::routes::state::{AppState, Shared};
use crate::routes::views::answered;
use crate::rules::access::Caller;
use crate::storage::recordings::{Recording, State as Stands};
use crate::words::problem::Problem;

/// Beside its own script: the server's own answers, pictures and icons that lie in the page.
static LIST_POLICY: LazyLock<String> = LazyLock::new(|| {
    let scripts = genba_page::script_hashes(LIST).join(" ");
    format!(
        "default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
});
const WORDS_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Holds no recording: what it shows it asks for.
pub async fn list() -> Answered {
    page(StatusCode::OK, &LIST_POLICY, LIST)
}

pub async fn recording(State(state): State<AppState>, Perhaps(caller): Perhaps, Path(id): Path<String>) -> Answered {
    let Some(caller) = caller else { return login_first(&format!("/r/{id}")) };
    let recording = match readable(&state, &id, &caller).await {
        Ok(recording) => recording,
        Err(problem) => return problem_page(&problem),
    };
    shown(recording_page(&state, &recording, true).await)
}

pub async fn comparison(
    State(state): State<AppState>,
    Perhaps(caller): Perhaps,
    Path((before, after)): Path<(String, String)>,
) -> Answered {
    let Some(caller) = caller else { return login_first(&format!("/compare/{before}/{after}")) };
    shown(compared(&state, &caller, &before, &after).await)
}

async fn compared(state: &Shared, caller: &Caller, before: &str, after: &str) -> Answered {
    let (before, after) = (readable(state, before, caller).await?, readable(state, after, caller).await?);
    let ask = Ask::Comparison { before_name: before.name.clone(), after_name: after.name.clone() };
    let answer = answered(&state.keeper, &ask, &[&before, &after]).await?;
    page(StatusCode::OK, genba_page::policy(), answer.body)
}

/// `may_follow`: the reader may ask for what comes next.
pub async fn recording_page(state: &Shared, recording: &Recording, may_follow: bool) -> Answered {
    let answer = answered(&state.keeper, &Ask::Page { name: recording.name.clone() }, &[recording]).await?;
    if recording.state == Stands::Sealed || !may_follow {
        return page(StatusCode::OK, genba_page::policy(), answer.body);
    }
    let words = String::from_utf8_lossy(&answer.body);
    let (followed, policy) = genba_page::followed(&words, FOLLOW, None);
    page(StatusCode::OK, &policy, followed)
}

fn shown(made: Answered) -> Answered {
    made.or_else(|problem| problem_page(&problem))
}

/// `next`: a path of this server.
pub fn login_first(next: &str) -> Answered {
    let next: String = url::form_urlencoded::byte_serialize(next.as_bytes()).collect();
    let mut response = Response::new(axum::body::Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    let place =
        HeaderValue::try_from(format!("/login?next={next}")).map_err(|error| Problem::internal("a header", &error))?;
    response.headers_mut().insert(LOCATION, place);
    Ok(response)
}

fn problem_page(problem: &Problem) -> Answered {
    let words: Vec<&str> = [&problem.detail, &problem.hint].into_iter().flatten().map(String::as_str).collect();
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    words_page(status, &problem.title, &words.join("\n")).map_err(|_| problem.clone())
}

const STYLE: &str = ":root{color-scheme:light dark}body{font:15px/1.6 system-ui,sans-serif;max-width:44em;margin:4em auto;padding:0 1em}h1{font-size:1.2em}p{white-space:pre-wrap;overflow-wrap:anywhere}";

pub fn words_page(status: StatusCode, title: &str, words: &str) -> Answered {
    let (title, words) = (escaped(title), escaped(words));
    let body = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
        <link rel=\"icon\" href=\"data:,\">\n<title>{title} · genba</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n<p>{words}</p>\n<p><a href=\"/\">All recordings</a></p>\n</body>\n</html>\n"
    );
    page(status, WORDS_POLICY, body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_no_html() {
        let response = words_page(StatusCode::GONE, "a <b>", "\"&\"").expect("a page");
        assert_eq!(response.status(), StatusCode::GONE);
    }

    #[test]
    fn the_list_has_one_script_and_its_hash() {
        assert_eq!(genba_page::script_hashes(LIST).len(), 1);
        assert!(LIST_POLICY.contains("'sha256-") && !LIST_POLICY.contains("script-src 'unsafe-inline'"));
    }
}
