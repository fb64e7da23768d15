//! The garbage in cycles for its page, or for that of a recording: each kind as a graph, and the words of the screen around it.
//! Owns: the order of things on the page. Never: forms a sentence of its own.

use genba_format::masking;
use serde::Serialize;

use super::graph::Graph;
use super::page::{Kind, Page};
use super::text;
use crate::words::failure::Failure;

#[derive(Serialize)]
struct Picture<'page> {
    genba_version: &'page str,
    /// Masked, as in a recording: the page is made to be passed on.
    argv: Vec<String>,
    about: String,
    kinds: Vec<Drawn<'page>>,
    more: Option<String>,
    end: String,
}

#[derive(Serialize)]
struct Drawn<'page> {
    title: String,
    graph: &'page Graph,
    /// References that are not drawn.
    more_references: Option<String>,
    no_shape: Option<&'static str>,
    held: Option<String>,
    advice: Option<String>,
}

/// Before a full collection of a recording.
pub struct Moment {
    pub page: Page,
    /// Since the recording began.
    pub at_ns: u64,
    pub file: String,
}

#[derive(Serialize)]
struct InRecording<'page> {
    moments: Vec<DrawnMoment<'page>>,
    notes: &'page [String],
}

#[derive(Serialize)]
struct DrawnMoment<'page> {
    pid: u32,
    at_ns: u64,
    file: &'page str,
    picture: Picture<'page>,
}

/// What the page holds.
pub fn numbers(page: &Page) -> Result<String, Failure> {
    json(&Picture::of(page))
}

/// What the page of a recording holds. `notes`: what it does not show.
pub fn numbers_in_recording(moments: &[Moment], notes: &[String]) -> Result<String, Failure> {
    let drawn = moments.iter().map(|moment| DrawnMoment {
        pid: moment.page.pid,
        at_ns: moment.at_ns,
        file: &moment.file,
        picture: Picture::of(&moment.page),
    });
    json(&InRecording { moments: drawn.collect(), notes })
}

fn json(drawn: &impl Serialize) -> Result<String, Failure> {
    genba_text::json::pretty(drawn).map_err(|error| Failure::ours(format!("cannot write JSON: {error}")))
}

impl Picture<'_> {
    fn of(page: &Page) -> Picture<'_> {
        let kinds = page.kinds.iter().map(|kind: &Kind| Drawn {
            title: text::title(kind),
            graph: &kind.graph,
            more_references: text::more_references(kind.graph.left_out),
            no_shape: kind.references.is_empty().then_some(text::NO_SHAPE),
            held: text::held(kind),
            advice: text::advice(kind),
        });
        Picture {
            genba_version: &page.genba_version,
            argv: masking::masked(page.argv.iter().map(String::as_str)),
            about: text::about(page),
            kinds: kinds.collect(),
            more: text::more(page),
            end: text::end(page),
        }
    }
}
