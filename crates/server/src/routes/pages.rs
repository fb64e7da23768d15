//! What a browser opens: the list's page, and the viewer's page of a recording or of a comparison.
//! Owns: who is sent to log in first, and pages that only hold words. Never: puts a text of a recording into a page itself.

use std::convert::Infallible;
use std::sync::LazyLock;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::header::{CONTENT_LENGTH, LOCATION, REFRESH, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;

use genba_page::{FOLLOW, Following, LIST};
use genba_text::html::escaped;

use crate::reading::Ask;
use crate::routes::exchange::answer::{Answered, page};
use crate::routes::exchange::caller::Perhaps;
use crate::routes::shown::readable;
use crate::routes::state::{AppState, Shared};
use crate::routes::views::answered_to;
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
    shown(recording_page(&state, &recording, &caller.name, true).await)
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
    let answer = answered_to(state, &caller.name, &ask, &[&before, &after]).await?;
    page(StatusCode::OK, genba_page::policy(), answer.body)
}

/// `may_follow`: the reader may ask for what comes next.
pub async fn recording_page(state: &Shared, recording: &Recording, reader: &str, may_follow: bool) -> Answered {
    let ask = Ask::Page { name: recording.name.clone() };
    let body = answered_to(state, reader, &ask, &[recording]).await?.body;
    if recording.state == Stands::Sealed || !may_follow {
        return page(StatusCode::OK, genba_page::policy(), body);
    }
    following_page(&body)
}

/// In parts: the page itself is not copied.
fn following_page(body: &Bytes) -> Answered {
    let words = std::str::from_utf8(body).map_err(|error| Problem::internal("the page of a recording", &error))?;
    let Following { before: [head, middle], script, behind, policy } = genba_page::following(words, FOLLOW, None);
    let parts = [body.slice(head), body.slice(middle), Bytes::from(script), body.slice(behind)];
    let length: usize = parts.iter().map(Bytes::len).sum();
    let parts = stream::iter(parts.map(Ok::<_, Infallible>));
    let mut response = page(StatusCode::OK, &policy, Body::from_stream(parts))?;
    response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(length));
    Ok(response)
}

fn shown(made: Answered) -> Answered {
    made.or_else(|problem| problem_page(&problem))
}

/// `next`: a path of this server.
pub fn login_first(next: &str) -> Answered {
    let next: String = url::form_urlencoded::byte_serialize(next.as_bytes()).collect();
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    let place =
        HeaderValue::try_from(format!("/login?next={next}")).map_err(|error| Problem::internal("a header", &error))?;
    response.headers_mut().insert(LOCATION, place);
    Ok(response)
}

pub fn problem_page(problem: &Problem) -> Answered {
    let words: Vec<&str> = [&problem.detail, &problem.hint].into_iter().flatten().map(String::as_str).collect();
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = words_page(status, &problem.title, &words.join("\n")).map_err(|_| problem.clone())?;
    if let Some(seconds) = problem.retry_after_s {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        // A page that followed its recording would end here: no browser heeds the other header.
        response.headers_mut().insert(REFRESH, HeaderValue::from(seconds));
    }
    Ok(response)
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
    use futures_util::TryStreamExt;

    use super::*;

    #[test]
    fn words_are_no_html() {
        let response = words_page(StatusCode::GONE, "a <b>", "\"&\"").expect("a page");
        assert_eq!(response.status(), StatusCode::GONE);
    }

    #[test]
    fn a_page_that_may_be_there_later_is_asked_for_again() {
        let later = Problem { retry_after_s: Some(3), ..Problem::new(503, "no room") };
        let response = problem_page(&later).expect("a page");
        let seconds = HeaderValue::from(3_u32);
        assert_eq!([&response.headers()[RETRY_AFTER], &response.headers()[REFRESH]], [&seconds, &seconds]);
        let gone = problem_page(&Problem::new(404, "gone")).expect("a page");
        assert!(!gone.headers().contains_key(REFRESH));
    }

    #[test]
    fn a_page_that_follows_shares_the_bytes_of_the_page() {
        let body = Bytes::from_static(b"<html>\n<body>\nnumbers\n</body>\n</html>\n");
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let response = following_page(&body).expect("a page");
            let length = response.headers()[CONTENT_LENGTH].to_str().expect("digits").to_owned();
            let parts: Vec<Bytes> = response.into_body().into_data_stream().try_collect().await.expect("parts");
            let (followed, _) = genba_page::followed(std::str::from_utf8(&body).expect("text"), FOLLOW, None);
            let whole: Vec<u8> = parts.iter().flat_map(|part| part.to_vec()).collect();
            assert_eq!((whole, length), (followed.clone().into_bytes(), followed.len().to_string()));
            let own = body.as_ptr_range();
            let shared = parts.iter().filter(|part| own.contains(&part.as_ptr())).map(Bytes::len).sum::<usize>();
            assert_eq!(shared, body.len());
        });
    }

    #[test]
    fn the_list_has_one_script_and_its_hash() {
        assert_eq!(genba_page::script_hashes(LIST).len(), 1);
        assert!(LIST_POLICY.contains("'sha256-") && !LIST_POLICY.contains("script-src 'unsafe-inline'"));
    }
}
