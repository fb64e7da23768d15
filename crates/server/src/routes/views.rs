//! Views as JSON: what `genba tree`, `genba report` and `genba diff` write, of a recording on the server.
//! Owns: the parameters. Never: forms a number; the process that reads does.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Deserialize;

use crate::keeping::keeper::Keeper;
use crate::keeping::uploading::unread_problem;
use crate::reading::{Answer, Ask, Asker, OrderBy, RowsBy, WeighedBy};
use crate::routes::exchange::answer::{Answered, with_type};
use crate::routes::exchange::asked::Asked;
use crate::routes::exchange::caller::Known;
use crate::routes::shown::readable;
use crate::routes::state::{AppState, Shared};
use crate::storage::recordings::Recording;
use crate::words::moment::{MINUTE_MS, now_ms};
use crate::words::problem::Problem;

/// All who open a link without a token: no token has this name, and so they leave room for those who have one.
pub const BY_LINK: &str = "/s";
const ROWS_MAX: usize = 100_000;
const BINS: u32 = 100;
const BINS_MAX: u32 = 1_000;
/// A live recording grows so often. A page of one that has nothing yet is loaded again then.
const GROWN_S: u32 = 1;
/// What has nothing for so long has lost its program: a page that was left open would ask for days.
const BEGUN_MS: u64 = 15 * MINUTE_MS.unsigned_abs();

/// Asks the process that reads, about these recordings.
pub async fn answered(keeper: &Keeper, ask: &Ask, recordings: &[&Recording]) -> Result<Answer, Problem> {
    let empty = recordings.iter().filter(|recording| recording.bytes == 0);
    if let Some(first_ms) = empty.map(|recording| recording.touched_ms).min() {
        let problem =
            Problem::conflict("nothing of this recording has arrived yet").hint("ask again when it has grown");
        // In both directions: a clock may have been set back since.
        let is_new = now_ms().abs_diff(first_ms) < BEGUN_MS;
        return Err(Problem { retry_after_s: is_new.then_some(GROWN_S), ..problem });
    }
    let contents: Vec<String> = recordings.iter().map(|recording| Keeper::content_name(recording)).collect();
    let names: Vec<&str> = contents.iter().map(String::as_str).collect();
    let files = async {
        let mut files = Vec::new();
        for recording in recordings {
            files.push(keeper.file_to_read(recording).await?);
        }
        Ok(files)
    };
    keeper.answers.answer(Asker::Reader, ask, &names, files).await.map_err(|unread| unread_problem(&unread))
}

/// The same for whoever takes the answer: it has its part of the room for answers until then. `reader`: a token's name, or `BY_LINK`.
pub async fn answered_to(
    state: &Shared,
    reader: &str,
    ask: &Ask,
    recordings: &[&Recording],
) -> Result<Answer, Problem> {
    let Answer { content_type, body } = answered(&state.keeper, ask, recordings).await?;
    Ok(Answer { content_type, body: state.answers.hold(reader, body).await? })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tree {
    weight: Option<WeighedBy>,
    #[serde(default)]
    inverted: bool,
    /// Per cent.
    min_share: Option<f64>,
}

pub async fn tree(
    State(state): State<AppState>,
    Known(caller): Known,
    Path(id): Path<String>,
    Asked(asked): Asked<Tree>,
) -> Answered {
    let recording = readable(&state, &id, &caller).await?;
    if asked.min_share.is_some_and(|share| !(0.0..=100.0).contains(&share)) {
        return Err(Problem::bad_request("min_share is 0 to 100 per cent"));
    }
    let ask = Ask::Tree { weight: asked.weight, inverted: asked.inverted, min_share: asked.min_share };
    said(answered_to(&state, &caller.name, &ask, &[&recording]).await?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rows {
    #[serde(default)]
    by: RowsBy,
    weight: Option<WeighedBy>,
    #[serde(default)]
    sort: OrderBy,
    /// 0: all.
    #[serde(default)]
    limit: usize,
}

pub async fn rows(
    State(state): State<AppState>,
    Known(caller): Known,
    Path(id): Path<String>,
    Asked(asked): Asked<Rows>,
) -> Answered {
    let recording = readable(&state, &id, &caller).await?;
    if asked.limit > ROWS_MAX {
        return Err(Problem::bad_request(format!("limit is 0 to {ROWS_MAX}")));
    }
    let limit = (asked.limit > 0).then_some(asked.limit);
    let ask = Ask::Rows { by: asked.by, weight: asked.weight, sort: asked.sort, limit };
    said(answered_to(&state, &caller.name, &ask, &[&recording]).await?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    from_ns: Option<u64>,
    to_ns: Option<u64>,
    bins: Option<u32>,
    process: Option<usize>,
}

pub async fn memory(
    State(state): State<AppState>,
    Known(caller): Known,
    Path(id): Path<String>,
    Asked(asked): Asked<Memory>,
) -> Answered {
    let recording = readable(&state, &id, &caller).await?;
    let bins = asked.bins.unwrap_or(BINS);
    if !(1..=BINS_MAX).contains(&bins) {
        return Err(Problem::bad_request(format!("bins is 1 to {BINS_MAX}")));
    }
    if asked.to_ns.is_some_and(|to_ns| to_ns <= asked.from_ns.unwrap_or(0)) {
        return Err(Problem::bad_request("to_ns is after from_ns"));
    }
    let ask = Ask::Memory { from_ns: asked.from_ns, to_ns: asked.to_ns, bins, process: asked.process };
    said(answered_to(&state, &caller.name, &ask, &[&recording]).await?)
}

/// A comparison takes none.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Difference {}

pub async fn difference(
    State(state): State<AppState>,
    Known(caller): Known,
    Path((before, after)): Path<(String, String)>,
    Asked(Difference {}): Asked<Difference>,
) -> Answered {
    let (before, after) = (readable(&state, &before, &caller).await?, readable(&state, &after, &caller).await?);
    let ask = Ask::Difference { before_name: before.name.clone(), after_name: after.name.clone() };
    said(answered_to(&state, &caller.name, &ask, &[&before, &after]).await?)
}

fn said(answer: Answer) -> Answered {
    Ok(with_type(StatusCode::OK, answer.content_type, answer.body))
}

#[cfg(test)]
mod tests {
    use axum::extract::Query;
    use axum::http::Uri;
    use serde::de::DeserializeOwned;

    use super::*;

    #[test]
    fn a_mistyped_parameter_gets_no_answer_to_another_question() {
        fn is_read<View: DeserializeOwned>(query: &str) -> bool {
            let address: Uri = format!("/view?{query}").parse().expect("an address");
            Query::<View>::try_from_uri(&address).is_ok()
        }
        assert!(is_read::<Tree>("weight=cpu&inverted=true&min_share=5") && !is_read::<Tree>("share=5"));
        assert!(is_read::<Rows>("by=line&sort=total&limit=3") && !is_read::<Rows>("by=line&limits=3"));
        assert!(is_read::<Memory>("from_ns=0&to_ns=10&bins=1&process=0") && !is_read::<Memory>("from=0&to=10"));
        assert!(is_read::<Difference>("") && !is_read::<Difference>("weight=wall"));
    }

    #[test]
    fn what_has_nothing_yet_is_asked_for_again() {
        Keeper::in_new_folder(async |keeper| {
            let ask = Ask::Tree { weight: None, inverted: false, min_share: None };
            let problem = answered(&keeper, &ask, &[&keeper.begun().await]).await.expect_err("it is empty");
            assert_eq!((problem.status, problem.retry_after_s), (409, Some(GROWN_S)));
            let begun = keeper.begun().await;
            let left = Recording { touched_ms: begun.touched_ms - 16 * MINUTE_MS, ..begun };
            let problem = answered(&keeper, &ask, &[&left]).await.expect_err("it is empty");
            assert_eq!((problem.status, problem.retry_after_s), (409, None));
        });
    }

    #[test]
    fn what_cannot_be_fetched_keeps_its_status() {
        Keeper::in_new_folder(async |keeper| {
            // Its parts are gone since its row was read, as behind a seal.
            let recording = Recording { bytes: 5, ..keeper.begun().await };
            let ask = Ask::Tree { weight: None, inverted: false, min_share: None };
            let problem = answered(&keeper, &ask, &[&recording]).await.expect_err("nothing can be read");
            assert_eq!((problem.status, problem.title.as_str()), (503, "the recording changed while it was read"));
        });
    }
}
