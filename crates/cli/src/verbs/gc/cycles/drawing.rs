//! The garbage in cycles for its page: each kind as a graph, and the words of the screen around it.
//! Owns: which references are drawn. Never: decides where (web/cycles does); forms a sentence of its own.

use genba_heap::found::{Cycles, Node};
use genba_profile::figures;
use serde::Serialize;

use super::page::{Breaks, Kind, Page};
use super::text;
use super::words::{self, Classes};
use crate::words::failure::Failure;

/// References of one kind: more of them are a tangle.
const ARROWS_MAX: usize = 24;

/// Classes, and what refers to what.
#[derive(Default, Serialize)]
pub struct Graph {
    boxes: Vec<Class>,
    arrows: Vec<Arrow>,
    /// References that are not drawn.
    more: Option<String>,
}

#[derive(Serialize)]
struct Class {
    name: String,
    /// None: not counted, since the cycle has too many classes.
    objects: Option<String>,
}

#[derive(Serialize)]
struct Arrow {
    /// Places in `boxes`.
    from: usize,
    to: usize,
    /// Empty: a reference without a name.
    name: String,
    count: String,
    /// The same without a picture.
    line: String,
    /// It is one of those to drop.
    is_dropped: bool,
}

#[derive(Serialize)]
struct Picture<'page> {
    genba_version: &'page str,
    argv: &'page [String],
    about: String,
    kinds: Vec<Drawn<'page>>,
    more: Option<String>,
    end: String,
}

#[derive(Serialize)]
struct Drawn<'page> {
    title: String,
    graph: &'page Graph,
    no_shape: Option<&'static str>,
    held: Option<String>,
    advice: Option<String>,
}

impl Graph {
    /// The references to drop, then the most frequent ones.
    pub fn of(group: &Cycles, breaks: &Breaks, classes: &impl Classes) -> Graph {
        let is_dropped = |place: usize| breaks.drop.iter().any(|drop| drop.reference == place);
        let mut drawn: Vec<usize> = (0..group.references.len()).collect();
        drawn.sort_by_key(|&place| !is_dropped(place));
        drawn.truncate(ARROWS_MAX);
        drawn.sort_unstable();
        let (mut nodes, mut arrows): (Vec<Node>, Vec<Arrow>) = (Vec::new(), Vec::new());
        let mut place_of = |node: Node| {
            nodes.iter().position(|&one| one == node).unwrap_or_else(|| {
                nodes.push(node);
                nodes.len() - 1
            })
        };
        for place in drawn {
            let Some(reference) = group.references.get(place) else { continue };
            arrows.push(Arrow {
                from: place_of(reference.from),
                to: place_of(reference.to),
                name: words::beside(reference),
                line: words::drawn(reference, classes),
                count: figures::count(reference.count),
                is_dropped: is_dropped(place),
            });
        }
        let objects = |node| group.members.iter().find(|&&(member, _)| member == node).map(|&(_, objects)| objects);
        let boxes = nodes.into_iter().map(|node| Class {
            name: words::node(node, classes),
            objects: objects(node).map(|count| figures::counted(count, "object", "objects")),
        });
        Graph { boxes: boxes.collect(), more: text::more_references(group.references.len() - arrows.len()), arrows }
    }
}

/// What the page holds.
pub fn numbers(page: &Page) -> Result<String, Failure> {
    let kinds = page.kinds.iter().map(|kind: &Kind| Drawn {
        title: text::title(kind),
        graph: &kind.graph,
        no_shape: kind.references.is_empty().then_some(text::NO_SHAPE),
        held: text::held(kind),
        advice: text::advice(kind),
    });
    let picture = Picture {
        genba_version: &page.genba_version,
        argv: &page.argv,
        about: text::about(page),
        kinds: kinds.collect(),
        more: text::more(page),
        end: text::end(page),
    };
    genba_text::json::pretty(&picture).map_err(|error| Failure::ours(format!("cannot write JSON: {error}")))
}
