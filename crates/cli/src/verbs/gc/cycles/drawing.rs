//! The garbage in cycles for its page: each kind as a graph, and the words of the screen around it.
//! Owns: which references are drawn. Never: decides where (web/cycles does); forms a sentence of its own.

use std::cmp::Reverse;

use genba_format::masking;
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
    no_shape: Option<&'static str>,
    held: Option<String>,
    advice: Option<String>,
}

impl Graph {
    /// The references to drop, then the most frequent ones. Where each of several is enough, it is the one that is advised first.
    pub fn of(group: &Cycles, breaks: &Breaks, classes: &impl Classes) -> Graph {
        let dropped = if breaks.each { breaks.drop.get(..1).unwrap_or_default() } else { &breaks.drop };
        let is_dropped = |place: usize| dropped.iter().any(|drop| drop.reference == place);
        let count = |place: usize| group.references.get(place).map_or(0, |reference| reference.count);
        let mut drawn: Vec<usize> = (0..group.references.len()).collect();
        drawn.sort_by_key(|&place| (!is_dropped(place), Reverse(count(place))));
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
        argv: masking::masked(page.argv.iter().map(String::as_str)),
        about: text::about(page),
        kinds: kinds.collect(),
        more: text::more(page),
        end: text::end(page),
    };
    genba_text::json::pretty(&picture).map_err(|error| Failure::ours(format!("cannot write JSON: {error}")))
}

#[cfg(test)]
mod tests {
    use genba_heap::found::Reference;
    use genba_heap::steps::Step;

    use super::super::page::Drop;
    use super::*;

    struct Numbers;

    impl Classes for Numbers {
        fn name(&self, row: u64) -> &str {
            ["object", "Node", "list"].get(row as usize).copied().unwrap_or("Other")
        }
    }

    const NODE: Node = Node { row: 1, is_attributes: false };
    const LIST: Node = Node { row: 2, is_attributes: false };

    fn reference(from: Node, to: Node, name: &str, count: u64) -> Reference {
        Reference { from, to, step: Step::Attribute, is_many: false, count, name: name.to_owned() }
    }

    fn breaks(each: bool, places: &[usize]) -> Breaks {
        let drop = |&reference| Drop { reference, what: String::new(), how: String::new() };
        Breaks { each, drop: places.iter().map(drop).collect() }
    }

    fn dropped(graph: &Graph) -> Vec<&str> {
        graph.arrows.iter().filter(|arrow| arrow.is_dropped).map(|arrow| arrow.name.as_str()).collect()
    }

    #[test]
    fn one_reference_is_marked_where_each_is_enough_and_all_where_they_are_needed_together() {
        let references =
            vec![reference(NODE, LIST, "a", 3), reference(LIST, NODE, "b", 2), reference(NODE, NODE, "c", 1)];
        let group = Cycles { references, members: vec![(NODE, 4), (LIST, 1)], ..Cycles::default() };
        let graph = Graph::of(&group, &breaks(true, &[2, 0, 1]), &Numbers);
        assert_eq!(dropped(&graph), [".c"]);
        let boxes: Vec<_> = graph.boxes.iter().map(|one| (one.name.as_str(), one.objects.as_deref())).collect();
        assert_eq!(boxes, [("Node", Some("4 objects")), ("list", Some("1 object"))]);
        let ends: Vec<_> = graph.arrows.iter().map(|arrow| (arrow.from, arrow.to, arrow.line.as_str())).collect();
        assert_eq!(ends, [(0, 1, "Node.a → list"), (1, 0, "list.b → Node"), (0, 0, "Node.c → Node")]);
        assert_eq!(dropped(&Graph::of(&group, &breaks(false, &[0, 1]), &Numbers)), [".a", ".b"]);
        assert_eq!(dropped(&Graph::of(&group, &breaks(false, &[]), &Numbers)), Vec::<&str>::new());
    }

    #[test]
    fn of_many_references_the_most_frequent_are_drawn_and_the_one_to_drop() {
        let references = (0..40).map(|number| reference(NODE, NODE, &number.to_string(), number)).collect();
        let group = Cycles { references, ..Cycles::default() };
        let graph = Graph::of(&group, &breaks(true, &[1]), &Numbers);
        let names: Vec<_> = graph.arrows.iter().map(|arrow| arrow.name.clone()).collect();
        let expected: Vec<_> = std::iter::once(1).chain(17..40).map(|number| format!(".{number}")).collect();
        assert_eq!((names, graph.more.as_deref()), (expected, Some("16 more kinds of references")));
        assert_eq!(graph.boxes.first().and_then(|one| one.objects.as_deref()), None);
    }
}
