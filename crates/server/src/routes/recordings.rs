//! The list, and one recording: made, shown, renamed, deleted.
//! Owns: the list's form in JSON. Never: takes a recording's bytes (`routes/content.rs` does).

use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use crate::keeping::keeper::New;
use crate::routes::content::upload_whole;
use crate::routes::exchange::answer::{Answered, empty, json};
use crate::routes::exchange::asked::{Asked, Said, check_length, content_type, said};
use crate::routes::exchange::caller::Known;
use crate::routes::shown::{Shown, changeable, shown, visible};
use crate::routes::state::{AppState, Shared};
use crate::rules::access::{Caller, Scope};
use crate::rules::naming::{check_host, check_name, distinct_tags};
use crate::rules::search;
use crate::storage::listing::own::own_page;
use crate::storage::listing::{self, Condition, Filter, Mark, Matched, Order};
use crate::storage::settings;
use crate::storage::terms::{self, Kind};
use crate::words::moment::now_ms;
use crate::words::problem::Problem;
use crate::words::random;

const PAGE: u32 = 50;
const PAGE_MAX: u32 = 200;
const CHIPS_MAX: i64 = 6;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Listed {
    #[serde(default)]
    q: String,
    #[serde(default)]
    mine: bool,
    #[serde(default)]
    sort: Sort,
    limit: Option<u32>,
    cursor: Option<String>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Sort {
    #[default]
    Newest,
    Oldest,
    Cpu,
    Wall,
    Size,
}

#[derive(Serialize)]
struct Page<'r> {
    recordings: Vec<Shown<'r>>,
    next: Option<String>,
    reached: Option<Reached>,
    looked: Option<u64>,
    matched: u64,
    matched_is_least: bool,
    all: u64,
    all_bytes: u64,
    live: u64,
    chips: Vec<Chip>,
}

/// Where `next` goes on, for whoever has rows of earlier pages: which of them this page would have had.
#[derive(Serialize)]
struct Reached {
    place: i64,
    id: String,
}

#[derive(Serialize)]
struct Chip {
    query: String,
    label: String,
    count: u64,
}

pub async fn list(State(state): State<AppState>, Known(caller): Known, Asked(asked): Asked<Listed>) -> Answered {
    let database = &state.keeper.database;
    let limit = asked.limit.unwrap_or(PAGE);
    if !(1..=PAGE_MAX).contains(&limit) {
        return Err(Problem::bad_request(format!("limit is 1 to {PAGE_MAX}")));
    }
    let after = asked.cursor.as_deref().map(cursor).transpose()?;
    let order = match asked.sort {
        Sort::Newest => Order::Newest,
        Sort::Oldest => Order::Oldest,
        Sort::Cpu => Order::Cpu,
        Sort::Wall => Order::Wall,
        Sort::Size => Order::Size,
    };
    // A token that may only write sees what it wrote.
    let only_own = (!caller.may(Scope::Read)).then(|| caller.name.clone());
    let mine = if asked.mine { Some(caller.name.clone()) } else { only_own.clone() };
    let mut filter = Filter { owner: mine, ..search::filter(&asked.q, now_ms())? };
    let is_whole = filter == Filter { owner: only_own.clone(), ..Filter::default() };
    filter.conditions.extend(filter.owner.as_deref().map(Condition::of_owner));
    let (listed, _) = state.totals(None).await?;
    let plan = listing::plan(database, &filter, listed).await?;
    let mark = after.as_ref().map(|after| &after.mark);
    let page = match &only_own {
        Some(_) => own_page(database, &plan, order, mark, limit).await?,
        None => listing::page(database, &plan, order, mark, limit).await?,
    };
    let (all, all_bytes) = state.totals(only_own.as_deref()).await?;
    let live = listing::live(database, only_own.as_deref()).await?;
    let matched = match after.as_ref().and_then(|after| after.matched) {
        _ if is_whole => Matched::exactly(all),
        Some(matched) => matched,
        None => listing::matched(database, &plan, order).await?,
    };
    let chips = if caller.may(Scope::Read) { chips(&state, &caller).await? } else { Vec::new() };
    let keep_days = settings::keep_days(database).await?;
    let recordings = page.recordings.iter().map(|recording| Shown::of(recording, &caller, keep_days)).collect();
    let looked_before = after.map_or(0, |after| after.looked);
    // A token that may only write is not told how many others there are.
    let looked = page.looked.filter(|_| only_own.is_none()).map(|looked| looked_before + looked);
    let so_far = looked.unwrap_or(looked_before);
    let next = page.next.clone().map(|mark| Cursor { mark, looked: so_far, matched: Some(matched) }.said());
    let reached = page.next.map(|Mark { value, id }| Reached { place: value, id });
    let Matched { recordings: matched, is_least: matched_is_least } = matched;
    let told = Page { recordings, next, reached, looked, matched, matched_is_least, all, all_bytes, live, chips };
    json(StatusCode::OK, &told)
}

/// `next` of a page, for whoever asks on.
#[derive(Debug, PartialEq, Eq)]
struct Cursor {
    mark: Mark,
    /// By the pages so far, where each looks at a part of the list.
    looked: u64,
    /// As the first page counted it: the others need not. None: nobody counted yet.
    matched: Option<Matched>,
}

impl Cursor {
    /// `1795000000000,ab12cd34ef56gh78,10000,17,+`, where `+` says that more may match.
    fn said(&self) -> String {
        let Cursor { mark: Mark { value, id }, looked, matched } = self;
        let counted = matched.map(|Matched { recordings, is_least }| {
            let more = if is_least { "+" } else { "" };
            format!(",{looked},{recordings},{more}")
        });
        URL_SAFE_NO_PAD.encode(format!("{value},{id}{}", counted.unwrap_or_default()))
    }

    /// Of earlier versions, too: `VALUE,ID` and `VALUE,ID,MATCHED,+`. A page that was opened before the server was replaced goes on.
    fn of(words: &str) -> Option<Cursor> {
        let parts: Vec<&str> = words.split(',').collect();
        let (value, id, looked, counted) = match *parts.as_slice() {
            [value, id] => (value, id, "0", None),
            [value, id, recordings, more] => (value, id, "0", Some((recordings, more))),
            [value, id, looked, recordings, more] => (value, id, looked, Some((recordings, more))),
            _ => return None,
        };
        let matched = match counted {
            None => None,
            Some((recordings, more @ ("" | "+"))) => {
                Some(Matched { recordings: recordings.parse::<u32>().ok()?.into(), is_least: more == "+" })
            }
            Some(_) => return None,
        };
        let id = Some(id).filter(|id| random::is_id(id))?.to_owned();
        let mark = Mark { value: value.parse().ok()?, id };
        Some(Cursor { mark, looked: looked.parse::<u32>().ok()?.into(), matched })
    }
}

fn cursor(said: &str) -> Result<Cursor, Problem> {
    let bytes = URL_SAFE_NO_PAD.decode(said).ok();
    let words = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    words.as_deref().and_then(Cursor::of).ok_or_else(|| {
        Problem::bad_request("this cursor is none of this server's").hint("leave it out: the list begins anew")
    })
}

/// What many would look for, with how many there are.
async fn chips(state: &Shared, caller: &Caller) -> Result<Vec<Chip>, Problem> {
    let counted = |query: String, label: String, count: u64| Chip { query, label, count };
    let mut chips = Vec::new();
    let words = state.frequent_words().await?;
    if let Some((_, count)) =
        words.iter().find(|((kind, word), _)| *kind == Kind::Who && *word == terms::folded(&caller.name))
    {
        chips.push(counted(format!("who:{}", caller.name), "mine".to_owned(), *count));
    }
    for kind in [Kind::Tag, Kind::Verdict] {
        let of_kind = words.iter().filter(|((known, _), _)| *known == kind);
        chips.extend(of_kind.take(CHIPS_MAX as usize).map(|((_, word), count)| {
            let is_plain = word.bytes().all(|letter| letter.is_ascii_alphanumeric() || b"-_.=".contains(&letter));
            let query =
                if is_plain { format!("{}:{word}", kind.word()) } else { format!("\"{}\"", word.replace('"', "")) };
            counted(query, word.clone(), *count)
        }));
    }
    Ok(chips)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Made {
    name: String,
    #[serde(default)]
    host: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    live: bool,
}

/// JSON begins an upload; any other body is the whole recording.
pub async fn create(State(state): State<AppState>, Known(caller): Known, request: Request) -> Answered {
    caller.needs(Scope::Write)?;
    let named = named(request.uri().query().unwrap_or_default())?;
    let recording = match content_type(request.headers()).as_str() {
        "application/json" => {
            let Made { name, host, tags, live } = said(request.into_body()).await?;
            state.keeper.create(checked(New { name, host, tags, live, owner: caller.name.clone() })?).await?
        }
        // What curl says when it is not told.
        "application/octet-stream" | "application/x-www-form-urlencoded" => {
            check_length(request.headers(), state.keeper.recording_bytes_max)?;
            let new = checked(New { owner: caller.name.clone(), ..named })?;
            upload_whole(&state, new, request).await?
        }
        _ => {
            return Err(Problem::new(
                415,
                "this takes application/octet-stream, a recording, or application/json, which begins an upload",
            )
            .hint("curl --data-binary @app.genba URL/api/recordings?name=app.genba"));
        }
    };
    let mut response = shown(&state, StatusCode::CREATED, &recording, &caller).await?;
    let place = format!("/api/recordings/{}", recording.id);
    response.headers_mut().insert(LOCATION, place.try_into().map_err(|error| Problem::internal("a header", &error))?);
    Ok(response)
}

fn checked(new: New) -> Result<New, Problem> {
    check_name(&new.name)?;
    new.host.iter().try_for_each(|host| check_host(host))?;
    Ok(New { tags: distinct_tags(new.tags)?, ..new })
}

fn named(query: &str) -> Result<New, Problem> {
    let mut new =
        New { name: "recording.genba".to_owned(), host: None, tags: Vec::new(), live: false, owner: String::new() };
    for (key, value) in url::form_urlencoded::parse(query.as_bytes()) {
        match key.as_ref() {
            "name" => new.name = value.into_owned(),
            "host" => new.host = Some(value.into_owned()),
            "tag" => new.tags.push(value.into_owned()),
            // Such as `tags`: the recording would be without them.
            _ => {
                return Err(Problem::bad_request(format!("`{key}` is no parameter of an upload")).hint(
                    "parameters are name, host and tag, which may be repeated: ?name=app.genba&tag=nightly&tag=main",
                ));
            }
        }
    }
    checked(new)
}

pub async fn get(State(state): State<AppState>, Known(caller): Known, Path(id): Path<String>) -> Answered {
    let recording = visible(&state, &id, &caller).await?;
    shown(&state, StatusCode::OK, &recording, &caller).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Changed {
    name: Option<String>,
    tags: Option<Vec<String>>,
}

pub async fn change(
    State(state): State<AppState>,
    Known(caller): Known,
    Path(id): Path<String>,
    Said(changed): Said<Changed>,
) -> Answered {
    let recording = changeable(&state, &id, &caller).await?;
    changed.name.iter().try_for_each(|name| check_name(name))?;
    let tags = changed.tags.map(distinct_tags).transpose()?;
    let now = state.keeper.change(&recording.id, changed.name, tags).await?;
    shown(&state, StatusCode::OK, &now, &caller).await
}

pub async fn delete(
    State(state): State<AppState>,
    Known(caller): Known,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let recording = changeable(&state, &id, &caller).await?;
    state.keeper.delete(&recording).await?;
    Ok(empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_says_where_the_list_goes_on_and_what_was_counted() {
        let id = random::id().expect("an id");
        for (value, recordings, is_least) in [(0, 0, true), (1_795_000_000_000, 1_000, true), (7, 17, false)] {
            let (mark, matched) = (Mark { value, id: id.clone() }, Matched { recordings, is_least });
            let said = Cursor { mark, looked: 10_000, matched: Some(matched) };
            assert_eq!(cursor(&said.said()), Ok(said));
        }
        let mark = || Mark { value: 7, id: id.clone() };
        let earlier = Matched { recordings: 1_000, is_least: true };
        for (words, matched) in [("7,{}", None), ("7,{},1000,+", Some(earlier))] {
            let said = URL_SAFE_NO_PAD.encode(words.replace("{}", &id));
            assert_eq!(cursor(&said), Ok(Cursor { mark: mark(), looked: 0, matched }));
        }
        let wrong = [
            "",
            "1",
            "1,",
            "1,{},3",
            "1,{},3,4",
            "x,{},3,4,",
            "1,{},-3,4,",
            "1,{},3,4,-",
            "1,{},3,4,+,",
            "1,short,3,4,+",
        ];
        for words in wrong.map(|words| words.replace("{}", &id)) {
            let problem = cursor(&URL_SAFE_NO_PAD.encode(&words)).expect_err(&words);
            assert!(problem.status == 400 && problem.hint.is_some(), "{words}: {problem:?}");
        }
        cursor("no base64!").expect_err("letters of no cursor");
    }

    #[test]
    fn a_mistyped_parameter_of_an_upload_is_refused() {
        let new = named("name=app.genba&tag=nightly&host=build-7&tag=main").expect("all are known");
        assert_eq!(
            (new.name.as_str(), new.tags.as_slice()),
            ("app.genba", ["nightly".to_owned(), "main".to_owned()].as_slice())
        );
        for query in ["name=app.genba&tags=nightly", "Name=app.genba", "x"] {
            assert_eq!(named(query).map(|new| new.name).map_err(|problem| problem.status), Err(400), "{query}");
        }
    }
}
