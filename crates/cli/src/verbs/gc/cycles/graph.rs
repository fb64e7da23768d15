//! A kind of cycles as a graph: its classes, and what refers to what.
//! Owns: which references are drawn. Never: decides where (web/cycles does), or what to drop.

use std::cmp::Reverse;

use genba_heap::found::{Cycles, Node};
use genba_profile::figures;
use serde::Serialize;

use super::words::{self, Classes};

/// References of one kind: more of them are a tangle.
const ARROWS_MAX: usize = 24;

/// Classes, and what refers to what.
#[derive(Default, Serialize)]
pub struct Graph {
    boxes: Vec<Class>,
    arrows: Vec<Arrow>,
    /// References that are not drawn.
    #[serde(skip)]
    pub left_out: usize,
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

impl Graph {
    /// Those at the places `dropped`, then the most frequent ones.
    pub fn of(group: &Cycles, dropped: &[usize], classes: &impl Classes) -> Graph {
        let is_dropped = |place: usize| dropped.contains(&place);
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
        Graph { boxes: boxes.collect(), left_out: group.references.len() - arrows.len(), arrows }
    }
}

#[cfg(test)]
mod tests {
    use genba_heap::found::Reference;
    use genba_heap::steps::Step;

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

    fn dropped(graph: &Graph) -> Vec<&str> {
        graph.arrows.iter().filter(|arrow| arrow.is_dropped).map(|arrow| arrow.name.as_str()).collect()
    }

    #[test]
    fn those_to_drop_are_marked_and_classes_have_their_objects() {
        let references =
            vec![reference(NODE, LIST, "a", 3), reference(LIST, NODE, "b", 2), reference(NODE, NODE, "c", 1)];
        let group = Cycles { references, members: vec![(NODE, 4), (LIST, 1)], ..Cycles::default() };
        let graph = Graph::of(&group, &[2], &Numbers);
        assert_eq!(dropped(&graph), [".c"]);
        let boxes: Vec<_> = graph.boxes.iter().map(|one| (one.name.as_str(), one.objects.as_deref())).collect();
        assert_eq!(boxes, [("Node", Some("4 objects")), ("list", Some("1 object"))]);
        let ends: Vec<_> = graph.arrows.iter().map(|arrow| (arrow.from, arrow.to, arrow.line.as_str())).collect();
        assert_eq!(ends, [(0, 1, "Node.a → list"), (1, 0, "list.b → Node"), (0, 0, "Node.c → Node")]);
        assert_eq!(dropped(&Graph::of(&group, &[0, 1], &Numbers)), [".a", ".b"]);
        assert_eq!(dropped(&Graph::of(&group, &[], &Numbers)), Vec::<&str>::new());
    }

    #[test]
    fn of_many_references_the_most_frequent_are_drawn_and_the_one_to_drop() {
        let references = (0..40).map(|number| reference(NODE, NODE, &number.to_string(), number)).collect();
        let group = Cycles { references, ..Cycles::default() };
        let graph = Graph::of(&group, &[1], &Numbers);
        let names: Vec<_> = graph.arrows.iter().map(|arrow| arrow.name.clone()).collect();
        let expected: Vec<_> = std::iter::once(1).chain(17..40).map(|number| format!(".{number}")).collect();
        assert_eq!((names, graph.left_out), (expected, 16));
        assert_eq!(graph.boxes.first().and_then(|one| one.objects.as_deref()), None);
    }
}
