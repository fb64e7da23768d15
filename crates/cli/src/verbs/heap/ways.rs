//! Ways to objects, merged from their roots on, as a tree; and the same as JSON, which docs/json.md describes.
//! Owns: what is one step for a reader, and the words. Keeps: what is absent is `null`.

use genba_heap::chains::{Chain, Held, Root};
use genba_heap::parents::Keeper;
use genba_heap::steps::Step;
use genba_profile::figures;
use genba_profile::report::printable;
use serde::Serialize;

use super::page::Page;
use super::text::{how, shortened};
use crate::words::failure::Failure;
use genba_text::quoted;

/// More branches of one place are told as a number, and deeper ones are no further to the right.
const BRANCHES_MAX: usize = 10;
/// Where a place has more branches than that, its keys are data: only those that lead to a tenth of its objects keep their names.
const KEY_ONE_IN: u64 = 10;
const INDENT_MAX: usize = 30;

/// One step, as a reader takes it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
struct Place {
    step: &'static str,
    name: Option<String>,
    /// In which file a frame's function is.
    file: Option<String>,
    class: Option<String>,
    /// Several such steps, one after the other.
    repeats: bool,
}

#[derive(Serialize)]
struct Node {
    #[serde(flatten)]
    place: Place,
    /// Of those that were looked at.
    objects: u64,
    ways: Vec<Node>,
}

/// By what all objects of the class are kept alive.
#[derive(Serialize)]
struct KeptBy {
    modules_and_locals: u64,
    frame_namespaces: u64,
    c_only: u64,
    /// By nothing: they are garbage.
    nothing: u64,
}

#[derive(Serialize)]
pub struct Ways {
    format: &'static str,
    version: u32,
    genba_version: String,
    pid: u32,
    python: String,
    argv: Vec<String>,
    class: String,
    objects: u64,
    looked_at: u64,
    kept_by: KeptBy,
    walked: String,
    pause_ns: u64,
    stopped_ns: u64,
    wait_ns: u64,
    walk_ns: u64,
    page_faults: Option<u64>,
    ways: Vec<Node>,
    #[serde(skip)]
    page: Page,
}

impl Ways {
    pub fn new(page: Page, class: String, held: Held, chains: &[Chain], names: &[(u64, String)]) -> Ways {
        let ways = tree(chains, names);
        let [nothing, modules_and_locals, frame_namespaces, c_only] = held.kept_by;
        Ways {
            format: "genba-heap-refs",
            version: 1,
            genba_version: page.genba_version.clone(),
            pid: page.pid,
            python: page.python.clone(),
            argv: page.argv.clone(),
            class,
            objects: held.total,
            looked_at: held.told,
            kept_by: KeptBy { modules_and_locals, frame_namespaces, c_only, nothing },
            walked: page.walked.clone(),
            pause_ns: page.pause_ns,
            stopped_ns: page.stopped_ns,
            wait_ns: page.wait_ns,
            walk_ns: page.walk_ns,
            page_faults: page.page_faults,
            ways,
            page,
        }
    }

    pub fn json(&self) -> Result<String, Failure> {
        let text = genba_text::json::pretty(self);
        text.map_err(|error| Failure::ours(format!("cannot write JSON: {error}")))
    }
}

fn tree(chains: &[Chain], names: &[(u64, String)]) -> Vec<Node> {
    let mut ways = Vec::new();
    for chain in chains {
        let mut level = &mut ways;
        for place in places(chain, names) {
            let known = level.iter().position(|node: &Node| node.place == place);
            let at = known.unwrap_or_else(|| {
                level.push(Node { place, objects: 0, ways: Vec::new() });
                level.len() - 1
            });
            let Some(node) = level.get_mut(at) else { break };
            node.objects += 1;
            level = &mut node.ways;
        }
    }
    merge_keys(&mut ways, None);
    sort(&mut ways);
    ways
}

/// Keys that are data become one item for each class of the values. `below`: how many places there are between these and a frame's namespace,
/// the keys of which are variables.
fn merge_keys(nodes: &mut Vec<Node>, below: Option<u8>) {
    if nodes.len() > BRANCHES_MAX && below != Some(1) {
        let objects: u64 = nodes.iter().map(|node| node.objects).sum();
        let mut merged = Vec::new();
        for mut node in std::mem::take(nodes) {
            if node.place.step == KEY && node.objects < objects.div_ceil(KEY_ONE_IN) {
                node.place = Place { step: ITEM, name: None, ..node.place };
            }
            add(&mut merged, node);
        }
        *nodes = merged;
    }
    for node in nodes {
        let below = if node.place.step == NAMESPACE { Some(0) } else { below.map(|below| below.saturating_add(1)) };
        merge_keys(&mut node.ways, below);
    }
}

fn add(nodes: &mut Vec<Node>, node: Node) {
    match nodes.iter_mut().find(|known| known.place == node.place) {
        Some(known) => {
            known.objects += node.objects;
            node.ways.into_iter().for_each(|way| add(&mut known.ways, way));
        }
        None => nodes.push(node),
    }
}

fn sort(nodes: &mut [Node]) {
    nodes.sort_by(|one, other| {
        other.objects.cmp(&one.objects).then_with(|| label(&one.place).cmp(&label(&other.place)))
    });
    nodes.iter_mut().for_each(|node| sort(&mut node.ways));
}

/// From the root on.
fn places(chain: &Chain, names: &[(u64, String)]) -> Vec<Place> {
    let class_of = |row: u64| names.iter().find(|(of, _)| *of == row).map(|(_, name)| name.clone());
    let plain = |step: &'static str| Place { step, name: None, file: None, class: None, repeats: false };
    let mut found = vec![match (&chain.root, chain.keeper) {
        (_, Keeper::Nobody) => plain("garbage"),
        _ if chain.is_cut => plain("longer"),
        (Root::Modules, _) => plain("modules"),
        (Root::Frame { function, file }, keeper) => Place {
            name: Some(function.clone()),
            file: Some(file.clone()),
            ..plain(if keeper == Keeper::Frame { NAMESPACE } else { "frame" })
        },
        (Root::C, _) => plain("c"),
    }];
    let mut links = chain.links.iter().rev().peekable();
    // `sys.modules` itself is its own root.
    if chain.root == Root::Modules && !chain.is_cut && links.len() > 1 {
        links.next();
    }
    while let Some(link) = links.next() {
        let mut place = Place {
            name: (!link.name.is_empty()).then(|| link.name.clone()),
            class: class_of(link.row),
            ..plain(word(link.step))
        };
        // The dict of an object's attributes is no place of its own.
        if link.step == Step::Attributes
            && let Some(key) = links.next_if(|next| next.step == Step::Key)
        {
            place = Place { name: Some(key.name.clone()), class: class_of(key.row), ..plain("attribute") };
        }
        match found.last_mut() {
            Some(last) if last.step == "modules" && place.step == "key" => *last = Place { step: "module", ..place },
            Some(last) if Place { repeats: false, ..last.clone() } == place => last.repeats = true,
            _ => found.push(place),
        }
    }
    found
}

/// Of a frame: the dict of its variables.
const NAMESPACE: &str = "namespace";
const KEY: &str = word(Step::Key);
const ITEM: &str = word(Step::Item);

pub const fn word(step: Step) -> &'static str {
    match step {
        Step::Plain => "reference",
        Step::Attribute => "attribute",
        Step::Attributes => "attributes",
        Step::Key => "key",
        Step::Item => "item",
        Step::AsKey => "as_key",
        Step::Local => "local",
    }
}

/// The step of a word.
pub fn step(text: &str) -> Option<Step> {
    (0..=u8::MAX).map_while(Step::of).find(|&step| word(step) == text)
}

pub fn text(ways: &Ways) -> String {
    let mut text = format!(
        "process {} · CPython {} · {} of class {}: what keeps them alive\n\n{:>11} {:>7}  held by\n",
        ways.pid,
        printable(&ways.python),
        figures::counted(ways.objects, "object", "objects"),
        shortened(&printable(&ways.class)),
        "objects",
        "share",
    );
    lines(&ways.ways, 0, ways.looked_at, &mut text);
    text.push('\n');
    if ways.looked_at < ways.objects {
        text.push_str(&format!(
            "looked at {} of {}, evenly from all (--sample N takes more)\n",
            figures::count(ways.looked_at),
            figures::count(ways.objects)
        ));
    }
    let of_all = [
        (ways.kept_by.c_only, "by the interpreter or C code only"),
        (ways.kept_by.frame_namespaces, "by a frame's globals only, of no module in sys.modules"),
        (ways.kept_by.nothing, "by nothing: garbage that the collector has not freed"),
    ];
    for (count, words) in of_all.into_iter().filter(|(count, _)| *count > 0) {
        let (all, is) = (figures::counted(ways.objects, "object", "objects"), if count == 1 { "is" } else { "are" });
        text.push_str(&format!("of {all}, {} {is} held {words}\n", figures::count(count)));
    }
    text.push_str("each object is told with one of its shortest ways; it may have others\n");
    text.push_str(&how(&ways.page));
    text
}

fn lines(nodes: &[Node], depth: usize, all: u64, text: &mut String) {
    let indent = " ".repeat((2 * depth).min(INDENT_MAX));
    let line = |objects: u64, words: &str| {
        format!("{:>11} {:>5} %  {indent}{words}\n", figures::count(objects), figures::percent(objects, all))
    };
    let (shown, rest) = nodes.split_at(nodes.len().min(BRANCHES_MAX));
    for node in shown {
        text.push_str(&line(node.objects, &shortened(&printable(&label(&node.place)))));
        lines(&node.ways, depth + 1, all, text);
    }
    if !rest.is_empty() {
        let objects = rest.iter().map(|node| node.objects).sum();
        text.push_str(&line(objects, &figures::counted(rest.len() as u64, "more way", "more ways")));
    }
}

fn label(place: &Place) -> String {
    let name = place.name.as_deref().unwrap_or("?");
    let step = match place.step {
        "module" => return format!("module {name}"),
        "modules" => return "sys.modules".to_owned(),
        "c" => return "the interpreter or C code".to_owned(),
        "garbage" => return "nothing: garbage".to_owned(),
        "longer" => return "… (a way of more than 64 steps)".to_owned(),
        "frame" | NAMESPACE => {
            let file = place.file.as_deref().unwrap_or_default().rsplit('/').next().unwrap_or_default();
            return format!("frame of {name} ({file}){}", if place.step == "frame" { "" } else { ", its namespace" });
        }
        "attribute" => format!(".{name}"),
        "attributes" => ".__dict__".to_owned(),
        "key" => format!("[{}]", quoted(name, '"')),
        "item" => "[…]".to_owned(),
        "as_key" => "as a key".to_owned(),
        "local" => format!("local {name}"),
        _ => "refers to".to_owned(),
    };
    let repeats = if place.repeats { ", again and again" } else { "" };
    format!("{step}: {}{repeats}", place.class.as_deref().unwrap_or("?"))
}

#[cfg(test)]
mod tests {
    use super::{Step, label, lines, places, tree};
    use genba_heap::chains::{Chain, Link, Root};
    use genba_heap::parents::Keeper;

    fn told(root: Root, keeper: Keeper, links: &[(Step, &str, u64)]) -> Vec<String> {
        let names =
            [(1, "dict"), (2, "module"), (3, "app.Cache"), (4, "app.Leak")].map(|(row, name)| (row, name.to_owned()));
        let links = links.iter().rev().map(|&(step, name, row)| Link { step, name: name.to_owned(), row }).collect();
        places(&Chain { keeper, links, root, is_cut: false }, &names).iter().map(label).collect()
    }

    #[test]
    fn a_module_and_attributes_are_one_step_each() {
        let links = [
            (Step::Plain, "", 1),
            (Step::Key, "app", 2),
            (Step::Attributes, "", 1),
            (Step::Key, "cache", 3),
            (Step::Attribute, "store", 1),
            (Step::Key, "hot", 4),
            (Step::Attribute, "next", 4),
            (Step::Attribute, "next", 4),
            (Step::Attribute, "next", 4),
        ];
        assert_eq!(
            told(Root::Modules, Keeper::Named, &links),
            [
                "module app",
                ".cache: app.Cache",
                ".store: dict",
                "[\"hot\"]: app.Leak",
                ".next: app.Leak, again and again"
            ]
        );
    }

    /// The tree of ways through a module's dict: keys, class of the value, and how the value leads on.
    fn shown(ways: &[(String, u64, &str)]) -> Vec<String> {
        let names = [(1, "dict"), (4, "A"), (5, "B"), (6, "list")].map(|(row, name)| (row, name.to_owned()));
        let link = |step, name: &str, row| Link { step, name: name.to_owned(), row };
        let chain = |(key, class, attribute): &(String, u64, &str)| Chain {
            keeper: Keeper::Named,
            links: vec![
                link(Step::Attribute, attribute, 6),
                link(Step::Key, key, *class),
                link(Step::Key, "CACHE", 1),
                link(Step::Attributes, "", 1),
                link(Step::Key, "app", 1),
                link(Step::Plain, "", 1),
            ],
            root: Root::Modules,
            is_cut: false,
        };
        let chains: Vec<Chain> = ways.iter().map(chain).collect();
        let mut text = String::new();
        lines(&tree(&chains, &names), 0, chains.len() as u64, &mut text);
        let last = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        last.skip(2).collect()
    }

    #[test]
    fn many_keys_are_one_way_for_each_class_of_their_values() {
        let mut ways: Vec<_> = (0..70).map(|number| (format!("user-{number}"), 4, "payload")).collect();
        ways.extend((0..29).map(|number| (format!("item-{number}"), 5, "other")));
        ways.push(("item-0".to_owned(), 5, "third"));
        let merged = ["70 70.0 % […]: A", "70 70.0 % .payload: list", "30 30.0 % […]: B", "29 29.0 % .other: list"];
        assert_eq!(shown(&ways), [&merged[..], &["1 1.0 % .third: list"]].concat());
        // A key that holds much keeps its name among many, and so do all where there are few.
        let hot = ways.iter().cloned().chain((0..100).map(|_| ("hot".to_owned(), 4, "payload")));
        assert_eq!(shown(&hot.collect::<Vec<_>>())[0], "100 50.0 % [\"hot\"]: A");
        assert_eq!(shown(&ways[..2])[0], "1 50.0 % [\"user-0\"]: A");
    }

    #[test]
    fn variables_of_a_namespace_keep_their_names() {
        let names = [(1, "dict"), (4, "A")].map(|(row, name)| (row, name.to_owned()));
        let chain = |number: u32| Chain {
            keeper: Keeper::Frame,
            links: vec![
                Link { step: Step::Key, name: format!("kept_{number}"), row: 4 },
                Link { step: Step::Plain, name: String::new(), row: 1 },
            ],
            root: Root::Frame { function: "main".to_owned(), file: "<string>".to_owned() },
            is_cut: false,
        };
        let mut text = String::new();
        lines(&tree(&(0..20).map(chain).collect::<Vec<_>>(), &names), 0, 20, &mut text);
        assert!(text.contains("[\"kept_0\"]: A"), "{text}");
    }

    #[test]
    fn each_root_is_named() {
        let frame = Root::Frame { function: "main".to_owned(), file: "/srv/app.py".to_owned() };
        let link = [(Step::Local, "kept", 4)];
        assert_eq!(told(frame.clone(), Keeper::Named, &link), ["frame of main (app.py)", "local kept: app.Leak"]);
        let link = [(Step::Plain, "", 4)];
        assert_eq!(told(frame, Keeper::Frame, &link), ["frame of main (app.py), its namespace", "refers to: app.Leak"]);
        assert_eq!(told(Root::C, Keeper::C, &link), ["the interpreter or C code", "refers to: app.Leak"]);
        assert_eq!(told(Root::C, Keeper::Nobody, &[]), ["nothing: garbage"]);
    }
}
