//! The garbage in cycles for its page: each kind as a graph, and the words of the screen around it.
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

/// What the page holds.
pub fn numbers(page: &Page) -> Result<String, Failure> {
    let kinds = page.kinds.iter().map(|kind: &Kind| Drawn {
        title: text::title(kind),
        graph: &kind.graph,
        more_references: text::more_references(kind.graph.left_out),
        no_shape: kind.references.is_empty().then_some(text::NO_SHAPE),
        held: text::held(kind),
        advice: text::advice(kind),
    });
    let picture = Picture {
        genba_version: &page.genba_version,
        argv: masking::masked(page.argv.iter().map(String::as_str)),
        about: text::about(page),
        kinds: kinds.collect(),
        more: text::more(page),
        end: text::end(page),
    };
    genba_text::json::pretty(&picture).map_err(|error| Failure::ours(format!("cannot write JSON: {error}")))
}
