//! What is known about the garbage in cycles, and the same as JSON; docs/json.md describes it.
//! Owns: the keys. Keeps: what is absent is `null`.

pub mod kept;

use std::collections::{HashMap, HashSet};

use genba_heap::found::{Cycles, Node, Reference};
use genba_heap::steps::Step;
use genba_process::interpreter::Interpreter;
use serde::{Deserialize, Serialize};

use super::breaking::Breaking;
use super::graph::Graph;
use super::kinds::kinds;
use super::words::{self, Classes};
use crate::verbs::heap::asking::Asked;
use crate::verbs::heap::choice::Choice;
use crate::verbs::heap::page::{Page as Heap, Row};
use crate::verbs::heap::ways;
use crate::words::failure::Failure;

pub const FORMAT: &str = "genba-gc-cycles";
pub const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
pub struct Page {
    format: String,
    version: u32,
    pub genba_version: String,
    pub pid: u32,
    pub python: String,
    pub argv: Vec<String>,
    /// Before a full collection of a recording: when.
    pub walked_realtime_ns: Option<u64>,
    /// Objects that a full collection now would look at, and find unreachable.
    pub tracked: u64,
    pub would_free: u64,
    /// Of them, generators and coroutines: one that waits frees what it holds before the collector counts.
    pub generators: u64,
    /// With what the collector does not track and goes with them.
    pub objects: u64,
    pub bytes: u64,
    pub cycles: u64,
    /// Whether collections begin by themselves.
    pub automatic: bool,
    /// Objects in `gc.garbage`.
    pub in_gc_garbage: u64,
    pub kinds: Vec<Kind>,
    /// How many `--limit` left out.
    pub kinds_left_out: usize,
    /// All garbage by class.
    classes: Vec<Row>,
    walked: String,
    why_in_place: Option<String>,
    pause_ns: u64,
    stopped_ns: u64,
    wait_ns: u64,
    walk_ns: u64,
    page_faults: Option<u64>,
    #[serde(skip)]
    pub heap: Heap,
}

/// Cycles of one kind.
#[derive(Serialize, Deserialize)]
pub struct Kind {
    pub cycles: u64,
    pub objects: u64,
    pub bytes: u64,
    pub held_objects: u64,
    pub held_bytes: u64,
    pub largest: u64,
    pub classes: Vec<Members>,
    pub references: Vec<Edge>,
    pub breaks: Breaks,
    #[serde(skip)]
    pub graph: Graph,
}

#[derive(Serialize, Deserialize)]
pub struct Members {
    /// Null: those that have no row of their own here.
    pub class: Option<String>,
    /// Not the objects: the dicts of their attributes.
    pub is_attributes: bool,
    pub objects: u64,
}

#[derive(Serialize, Deserialize)]
pub struct Edge {
    from: Option<String>,
    from_attributes: bool,
    step: String,
    /// Null: it has none, or many.
    name: Option<String>,
    many: bool,
    to: Option<String>,
    to_attributes: bool,
    pub count: u64,
    #[serde(skip)]
    pub drawn: String,
}

/// What to drop.
#[derive(Serialize, Deserialize)]
pub struct Breaks {
    /// Whether each of them alone is enough, or all are needed.
    pub each: bool,
    pub drop: Vec<Drop>,
    /// What to do first where a class is in the cycle, whose references cannot be dropped.
    #[serde(default)]
    pub instead: Option<String>,
}

#[derive(Serialize, Deserialize)]
pub struct Drop {
    /// Its place in `references`.
    reference: usize,
    pub what: String,
    pub how: String,
}

/// Full names, and those without `__main__`.
struct Names {
    full: HashMap<u64, String>,
    short: HashMap<u64, String>,
    bear_weak: HashSet<u64>,
}

impl Classes for Names {
    fn name(&self, row: u64) -> &str {
        self.short.get(&row).map_or("object", String::as_str)
    }

    fn bears_weak(&self, row: u64) -> bool {
        self.bear_weak.contains(&row)
    }
}

impl Names {
    fn of(full: HashMap<u64, String>) -> Names {
        let short = full.iter().map(|(&row, name)| (row, name.strip_prefix("__main__.").unwrap_or(name).to_owned()));
        Names { short: short.collect(), full, bear_weak: HashSet::new() }
    }

    fn full(&self, node: Node) -> Option<String> {
        self.full.get(&node.row).cloned()
    }
}

impl Page {
    pub fn new(
        interpreter: &Interpreter,
        choice: &Choice,
        asked: Asked,
        limit: Option<usize>,
    ) -> Result<Page, Failure> {
        Page::of(asked, limit, |asked| Heap::new(interpreter, choice, asked))
    }

    /// `heap`: what is known of the walk besides.
    pub fn of(mut asked: Asked, limit: Option<usize>, heap: impl FnOnce(Asked) -> Heap) -> Result<Page, Failure> {
        let found = asked.answer.found.ok_or_else(|| Failure::ours("the answer of genba's library has no cycles"))?;
        let full: HashMap<u64, String> =
            asked.answer.classes.iter().map(|class| (class.row, Row::of(class.clone()).full_name())).collect();
        let bear_weak = asked.answer.classes.iter().filter(|class| class.bears_weak).map(|class| class.row).collect();
        let names = Names { bear_weak, ..Names::of(full) };
        let groups = std::mem::take(&mut asked.answer.cycles);
        let cycles = groups.iter().map(|group| group.cycles).sum();
        let mut groups = kinds(groups);
        let shown = limit.unwrap_or(groups.len()).min(groups.len());
        let kinds_left_out = groups.len() - shown;
        groups.truncate(shown);
        let kinds = groups.iter().map(|group| Kind::of(group, &names)).collect();
        let heap = heap(asked);
        Ok(Page {
            format: FORMAT.to_owned(),
            version: VERSION,
            genba_version: heap.genba_version.clone(),
            pid: heap.pid,
            python: heap.python.clone(),
            argv: heap.argv.clone(),
            walked_realtime_ns: heap.walked_realtime_ns,
            tracked: found.tracked,
            would_free: found.garbage,
            generators: heap.classes.iter().filter(|row| is_generator(row)).map(|row| row.count).sum(),
            objects: heap.objects,
            bytes: heap.bytes,
            cycles,
            automatic: found.off == 0,
            in_gc_garbage: found.garbage_list,
            kinds,
            kinds_left_out,
            classes: heap.classes.clone(),
            walked: heap.walked.clone(),
            why_in_place: heap.why_in_place.clone(),
            pause_ns: heap.pause_ns,
            stopped_ns: heap.stopped_ns,
            wait_ns: heap.wait_ns,
            walk_ns: heap.walk_ns,
            page_faults: heap.page_faults,
            heap,
        })
    }

    /// Before a full collection of a recording.
    pub const fn is_kept(&self) -> bool {
        self.walked_realtime_ns.is_some()
    }

    pub fn json(&self) -> Result<String, Failure> {
        let text = genba_text::json::pretty(self);
        text.map_err(|error| Failure::ours(format!("cannot write JSON: {error}")))
    }
}

fn is_generator(row: &Row) -> bool {
    let builtin = row.module.as_deref() == Some("builtins");
    builtin && row.name.as_deref().is_some_and(|name| ["generator", "coroutine", "async_generator"].contains(&name))
}

impl Kind {
    fn of(group: &Cycles, names: &Names) -> Kind {
        let breaks = Breaks::of(group, names);
        let mut classes: Vec<Members> = group
            .members
            .iter()
            .map(|&(node, objects)| Members { class: names.full(node), is_attributes: node.is_attributes, objects })
            .collect();
        classes.sort_by(|one, other| other.objects.cmp(&one.objects).then_with(|| one.class.cmp(&other.class)));
        Kind {
            cycles: group.cycles,
            objects: group.objects,
            bytes: group.bytes,
            held_objects: group.held_objects,
            held_bytes: group.held_bytes,
            largest: group.largest,
            classes,
            references: group.references.iter().map(|reference| Edge::of(reference, names)).collect(),
            graph: Graph::of(group, &breaks.dropped(), names),
            breaks,
        }
    }
}

impl Breaks {
    fn of(group: &Cycles, names: &impl Classes) -> Breaks {
        let is_class = |node: Node| words::is_class(node, &group.references, names);
        let is_fixed = |reference: &Reference| is_class(reference.from) || words::is_fixed(reference, names);
        let (each, mut places) = match Breaking::of(group, is_fixed) {
            Breaking::Each(places) => (true, places),
            Breaking::Together(places) => (false, places),
            Breaking::Unknown => (false, Vec::new()),
        };
        let at = |place: &usize| group.references.get(*place);
        let can_be_dropped = |place: &usize| at(place).is_some_and(|reference| !is_fixed(reference));
        if each && places.iter().any(can_be_dropped) {
            places.retain(can_be_dropped);
        }
        let is_of_class = |place: &usize| at(place).is_some_and(|one| is_class(one.from) || is_class(one.to));
        let mut fixed = places.iter().filter(|place| !can_be_dropped(place));
        if fixed.any(is_of_class) {
            return Breaks { each: false, drop: Vec::new(), instead: Some(words::MAKE_ONCE.to_owned()) };
        }
        let drop = places.into_iter().filter_map(|place| {
            let reference = at(&place)?;
            Some(Drop { reference: place, what: words::named(reference, names), how: words::done(reference, names) })
        });
        Breaks { each, drop: drop.collect(), instead: None }
    }

    /// Their places in `references`. Where each of several is enough, the one that is advised first.
    fn dropped(&self) -> Vec<usize> {
        let count = if self.each { 1 } else { self.drop.len() };
        self.drop.iter().take(count).map(|drop| drop.reference).collect()
    }
}

impl Edge {
    fn of(reference: &Reference, names: &Names) -> Edge {
        let is_named = !reference.is_many
            && (reference.step == Step::Key || !reference.name.is_empty() && reference.step != Step::Plain);
        Edge {
            from: names.full(reference.from),
            from_attributes: reference.from.is_attributes,
            step: ways::word(reference.step).to_owned(),
            name: is_named.then(|| reference.name.clone()),
            many: reference.is_many,
            to: names.full(reference.to),
            to_attributes: reference.to.is_attributes,
            count: reference.count,
            drawn: words::drawn(reference, names),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Breaks, Classes};
    use crate::verbs::gc::cycles::words::{self, MAKE_ONCE};
    use genba_heap::found::{Cycles, Node, Reference};
    use genba_heap::steps::Step;

    /// Weak references to those with a capital letter are possible.
    struct Names(&'static [&'static str]);

    impl Classes for Names {
        fn name(&self, row: u64) -> &str {
            usize::try_from(row).ok().and_then(|row| self.0.get(row)).copied().unwrap_or("object")
        }

        fn bears_weak(&self, row: u64) -> bool {
            self.name(row).starts_with(char::is_uppercase)
        }
    }

    /// What to drop, the best first, and what else to do. References: from, step, name, to; classes by their place.
    fn breaks(names: &'static [&'static str], references: &[(u64, Step, &str, u64)]) -> (Vec<String>, Option<String>) {
        let node = |row| Node { row, is_attributes: false };
        let references = references.iter().map(|&(from, step, name, to)| Reference {
            from: node(from),
            to: node(to),
            step,
            is_many: false,
            count: 1,
            name: name.to_owned(),
        });
        let breaks = Breaks::of(&Cycles { references: references.collect(), ..Cycles::default() }, &Names(names));
        (breaks.drop.into_iter().map(|drop| drop.what).collect(), breaks.instead)
    }

    #[test]
    fn fields_that_no_program_can_drop_are_not_proposed() {
        for (class, step, field) in [
            ("functools.partial", Step::Attribute, "args"),
            ("slice", Step::Attribute, "stop"),
            ("property", Step::Attribute, "fget"),
            ("staticmethod", Step::Attribute, "__func__"),
            ("types.GenericAlias", Step::Attribute, "__args__"),
            ("mappingproxy", Step::Plain, ""),
            ("list_iterator", Step::Plain, ""),
            ("itertools.chain", Step::Plain, ""),
            ("map", Step::Plain, ""),
            ("function", Step::Attribute, "__closure__"),
        ] {
            let names: &'static [&'static str] = Box::leak(Box::new([class, "list"]));
            let found = breaks(names, &[(0, step, field, 1), (1, Step::Item, "", 0)]);
            assert_eq!(found, (vec!["the list's items".to_owned()], None), "{class}");
        }
    }

    #[test]
    fn attributes_that_a_program_gave_are_proposed() {
        for class in ["functools.partial", "function", "tree_iterator"] {
            let names: &'static [&'static str] = Box::leak(Box::new([class, "list"]));
            let (drop, _) = breaks(names, &[(0, Step::Attribute, "cache", 1), (1, Step::Item, "", 0)]);
            assert_eq!(drop, [format!("{class}.cache"), "the list's items".to_owned()]);
        }
    }

    #[test]
    fn a_weak_reference_is_proposed_where_python_makes_one() {
        let how = |step, name: &str, class| {
            let names = Names(&["holder", "Node", "dict"]);
            let [from, to] = [0, class].map(|row| Node { row, is_attributes: false });
            words::done(&Reference { from, to, step, is_many: false, count: 1, name: name.to_owned() }, &names)
        };
        let (node, dict) = (1, 2);
        let held = "if something else holds that Node";
        let none = "set it to None when it is done";
        assert_eq!(how(Step::Attribute, "parent", node), format!("make it a weakref {held}, or {none}"));
        assert_eq!(how(Step::Attribute, "options", dict), none);
        let deleted = "del d['key'] or d.clear() when it is done";
        assert_eq!(how(Step::Key, "key", node), format!("{deleted}, or keep a weakref there {held}"));
        assert_eq!(how(Step::Key, "key", dict), deleted);
        let cleared = ".clear() it when it is done";
        assert_eq!(how(Step::Item, "", node), format!("{cleared}, or keep weakrefs there {held}"));
        assert_eq!(how(Step::Item, "", dict), cleared);
    }

    #[test]
    fn a_class_is_to_be_made_once() {
        let made_once = (Vec::new(), Some(MAKE_ONCE.to_owned()));
        let own = [(0, Step::Plain, "", 1), (1, Step::Item, "", 0)];
        assert_eq!(breaks(&["type", "tuple"], &own), made_once);
        let with_slot = [own[0], own[1], (0, Step::Attribute, "a", 2), (2, Step::Attribute, "__objclass__", 0)];
        // A metaclass of the program's.
        assert_eq!(breaks(&["Registry", "tuple", "member_descriptor"], &with_slot), made_once);
        // An object with such a class.
        let with_object = [own[0], own[1], (0, Step::Attribute, "default", 2), (2, Step::Plain, "", 0)];
        assert_eq!(breaks(&["type", "tuple", "Node"], &with_object), made_once);
        assert_eq!(breaks(&["NT", "list"], &[(0, Step::Plain, "", 1), (1, Step::Item, "", 0)]).1, None);
    }
}
